"""What a set of hints is worth, told before any clustering: counts, coverage, contradictions, redundancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise.exceptions import SupervisionError
from likewise.supervision._closure import Closure
from likewise.supervision._groups import Groups
from likewise.supervision._index import check_row_labels
from likewise.supervision._labels import Labels
from likewise.supervision._links import Links
from likewise.supervision._rows import FloatArray, IntArray
from likewise.supervision._triplets import TRIPLET_ANSWERS

if TYPE_CHECKING:
    from likewise.supervision._supervision import Supervision

_MOST_PAIRS = 1_000_000  # of a must-link and a cannot-link; coherence is estimated from so many
_BLOCK = 2_000_000  # numbers held at once while they are compared


@dataclass(frozen=True)
class Diagnosis:
    """What is inside a set of hints, and how far it carries. ``str()`` of it is a readable report.

    Attributes
    ----------
    n_samples : int
        The number of rows.
    n_must, n_cannot : int
        Stated pairs.
    n_must_groups, n_cannot_groups : int
        Stated groups.
    n_group_pairs : int
        The pairs that the groups stand for.
    n_triplets : int
        Triplets, and in `answers` how often each answer was given.
    answers : dict of str to int
        See `n_triplets`.
    n_bags, n_labelled_bags : int
        Bags, and those whose labels are known.
    n_labels, n_classes : int
        Labelled rows, and the different labels.
    coverage : float
        The share of rows that some hint speaks of; a row in an unlabelled bag is not one.
    n_cannot_only : int
        Rows that are in a cannot-link and in no must-link.
    component_sizes : tuple of int
        The sizes of the must-link components of two rows or more, the largest first.
    n_conflicts : int
        Cannot-links inside a must-link component.
    n_triplet_conflicts : int
        Triplets that were given more than one answer.
    n_redundant_must : int
        Must-links beyond those that it takes to join their components; a group counts as links from its
        first row to the others.
    n_redundant_cannot : int
        Cannot-links between components that another cannot-link or a cannot group keeps apart already.
    min_clusters : int
        Fewer clusters than this cannot meet the links and labels: as many components were found that are
        all apart from one another. It is a lower bound; the least number may be larger.
    informativeness : float or None
        The share of links that a clustering made without hints gets wrong (Davidson, Wagstaff and Basu
        2006): what the links tell that the method would not have found. Groups count with all their pairs.
    coherence : float or None
        The share of pairs of a must-link and a cannot-link that do not pull along the same direction
        (same paper): with each link the segment between its two rows, the projection of either segment on
        the other's line does not overlap the other segment. Groups are left out. Beyond 10^6 such pairs it
        is estimated from 10^6 of them, drawn with a fixed seed.

    References
    ----------
    I. Davidson, K. Wagstaff and S. Basu (2006), Measuring constraint-set utility for partitional clustering
    algorithms, PKDD.

    Examples
    --------
    >>> from likewise import Supervision
    >>> hints = Supervision.from_links(6, must=[(0, 1), (1, 2), (0, 2)], cannot=[(2, 3), (0, 3)])
    >>> found = hints.diagnose(labels=[0, 0, 1, 1, 1, 1])
    >>> found.n_redundant_must, found.n_redundant_cannot, found.informativeness
    (1, 1, 0.6)
    >>> print(found)
    6 rows; hints speak of 4 of them (67%)
    links       3 must, 2 cannot
    components  1 of two rows or more, the largest of 3; 1 row(s) in cannot-links only
    conflicts   none
    redundant   1 of the must-links, 1 of the cannot-links
    clusters    at least 2
    links are   60% informative
    """

    n_samples: int
    n_must: int
    n_cannot: int
    n_must_groups: int
    n_cannot_groups: int
    n_group_pairs: int
    n_triplets: int
    answers: dict[str, int]
    n_bags: int
    n_labelled_bags: int
    n_labels: int
    n_classes: int
    coverage: float
    n_cannot_only: int
    component_sizes: tuple[int, ...]
    n_conflicts: int
    n_triplet_conflicts: int
    n_redundant_must: int
    n_redundant_cannot: int
    min_clusters: int
    informativeness: float | None
    coherence: float | None

    def __str__(self) -> str:
        touched = round(self.coverage * self.n_samples)
        lines = [f"{self.n_samples} rows; hints speak of {touched} of them ({self.coverage:.0%})"]
        if self.n_must + self.n_cannot + self.n_must_groups + self.n_cannot_groups:
            lines += self._link_lines()
        if self.n_triplets:
            said = ", ".join(f"{count} {word}" for word, count in self.answers.items() if count)
            twice = f"; {self.n_triplet_conflicts} with two answers" if self.n_triplet_conflicts else ""
            lines.append(f"triplets    {self.n_triplets}: {said}{twice}")
        if self.n_bags:
            lines.append(f"bags        {self.n_bags}, {self.n_labelled_bags} of them labelled")
        if self.n_labels:
            lines.append(f"labels      {self.n_labels} of {self.n_classes} class(es)")
        if self.min_clusters > 1:
            lines.append(f"clusters    at least {self.min_clusters}")
        worth = [
            f"{value:.0%} {word}"
            for value, word in ((self.informativeness, "informative"), (self.coherence, "coherent"))
            if value is not None
        ]
        return "\n".join([*lines, f"links are   {', '.join(worth)}"] if worth else lines)

    def _link_lines(self) -> list[str]:
        links = f"links       {self.n_must} must, {self.n_cannot} cannot"
        if self.n_group_pairs:
            groups = f"{self.n_must_groups} must group(s), {self.n_cannot_groups} cannot group(s)"
            links += f", {groups} for {self.n_group_pairs} more"
        largest = f", the largest of {self.component_sizes[0]}" if self.component_sizes else ""
        redundant = (
            f"{self.n_redundant_must} of the must-links, {self.n_redundant_cannot} of the cannot-links"
        )
        return [
            links,
            f"components  {len(self.component_sizes)} of two rows or more{largest}; "
            f"{self.n_cannot_only} row(s) in cannot-links only",
            f"conflicts   {self.n_conflicts or 'none'}",
            f"redundant   {redundant}",
        ]


def diagnose(hints: Supervision, X: Any = None, labels: Any = None) -> Diagnosis:
    """Look through hints. Linear in rows and hints; coherence costs at most 10^6 comparisons of rows."""
    check_row_labels(hints, X)
    check_row_labels(hints, labels, what="labels")
    links = hints.links
    closed = hints.closure(on_conflict="drop")
    in_must = closed.sizes[closed.component] > 1
    in_cannot = np.zeros(hints.n_samples, dtype=bool)
    in_cannot[links.cannot.reshape(-1)] = True
    in_cannot[links.cannot_groups.members] = True
    sizes = np.sort(closed.sizes[closed.sizes > 1])[::-1]
    bags = hints.bags
    counts = np.bincount(hints.answers, minlength=len(TRIPLET_ANSWERS))
    return Diagnosis(
        n_samples=hints.n_samples,
        n_must=len(links.must),
        n_cannot=len(links.cannot),
        n_must_groups=len(links.must_groups),
        n_cannot_groups=len(links.cannot_groups),
        n_group_pairs=links.must_groups.n_pairs + links.cannot_groups.n_pairs,
        n_triplets=len(hints.triplets),
        answers=dict(zip(TRIPLET_ANSWERS, counts.tolist(), strict=True)),
        n_bags=len(bags) if bags is not None else 0,
        n_labelled_bags=sum(known is not None for known in bags.labels) if bags is not None else 0,
        n_labels=int((hints.label_codes >= 0).sum()),
        n_classes=len(hints.classes),
        coverage=float(hints.touched.mean()),
        n_cannot_only=int((in_cannot & ~in_must).sum()),
        component_sizes=tuple(sizes.tolist()),
        n_conflicts=len(closed.conflicts),
        n_triplet_conflicts=_triplet_conflicts(hints.triplets),
        n_redundant_must=_redundant_must(links, closed),
        n_redundant_cannot=_redundant_cannot(links, closed),
        min_clusters=max(_clique(closed), len(hints.classes), 1),
        informativeness=None if labels is None else informativeness(links, labels, hints.n_samples),
        coherence=None if X is None else coherence(links, X, hints.n_samples),
    )


def _triplet_conflicts(rows: IntArray) -> int:
    """Count the triplets that stand more than once; the rows are sorted, and no statement is repeated."""
    same = (rows[1:] == rows[:-1]).all(axis=1)
    starts = same & ~np.concatenate([[False], same[:-1]]) if len(same) else same
    return int(starts.sum())


def _redundant_must(links: Links, closed: Closure) -> int:
    n_edges = len(links.must) + int(np.maximum(np.diff(links.must_groups.indptr) - 1, 0).sum())
    return n_edges - (len(closed.component) - closed.n_components)


def _redundant_cannot(links: Links, closed: Closure) -> int:
    n_between = len(links.cannot) - int(_same(closed.component, links.cannot).sum())
    groups = closed.cannot_groups
    if not len(groups):
        return n_between - len(closed.cannot)
    # Edges of components are rows of an incidence matrix multiplied: above 0 where a group holds both ends.
    ones = np.ones(len(groups.members), dtype=np.int32)
    shape = (closed.n_components, len(groups))
    member = csr_array((ones, (groups.members, groups.group_of)), shape=shape)
    stated = np.asarray(member[closed.cannot[:, 0]].multiply(member[closed.cannot[:, 1]]).sum(axis=1))
    return n_between - len(closed.cannot) + int((stated > 0).sum())


def _same(values: npt.NDArray[Any], pairs: IntArray) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = values[pairs[:, 0]] == values[pairs[:, 1]]
    return same


def _clique(closed: Closure) -> int:
    """Return the size of a set of components all apart: a stated group, or one grown from the edges.

    It is grown from the component with the most edges, always by the candidate with the most edges.
    """
    largest = int(np.diff(closed.cannot_groups.indptr).max(initial=0))
    if not len(closed.cannot):
        return largest
    ends = np.concatenate([closed.cannot, closed.cannot[:, ::-1]])
    n = closed.n_components
    graph = csr_array((np.ones(len(ends), dtype=np.int8), ends.T), shape=(n, n))
    degree = np.diff(graph.indptr)
    candidates = np.array([int(np.argmax(degree))])
    size = 0
    while len(candidates):
        best = candidates[np.argmax(degree[candidates])]
        near = graph.indices[graph.indptr[best] : graph.indptr[best + 1]]
        candidates = near if size == 0 else np.intersect1d(candidates, near)
        size += 1
    return max(size, largest)


# ---------------------------------------------------------------------- Davidson, Wagstaff and Basu 2006


def informativeness(links: Links, labels: Any, n_samples: int) -> float | None:
    """Return the share of links that a clustering gets wrong, None if there are no links."""
    codes = Labels.of(labels).codes
    if len(codes) != n_samples or (codes < 0).any():
        raise SupervisionError(f"labels must give a cluster to each of {n_samples} rows, got {len(codes)}.")
    total = len(links.must) + len(links.cannot) + links.must_groups.n_pairs + links.cannot_groups.n_pairs
    wrong = int((~_same(codes, links.must)).sum()) + int(_same(codes, links.cannot).sum())
    wrong += links.must_groups.n_pairs - _pairs_together(links.must_groups, codes)
    wrong += _pairs_together(links.cannot_groups, codes)
    return wrong / total if total else None


def _pairs_together(groups: Groups, codes: IntArray) -> int:
    """Count the pairs of groups' members that share a cluster, without building them."""
    keys = groups.group_of * (int(codes.max(initial=0)) + 1) + codes[groups.members]
    counts = np.unique(keys, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def coherence(links: Links, X: Any, n_samples: int) -> float | None:
    """Return the share of (must, cannot) pairs without overlap, None if there is no such pair."""
    if not hasattr(X, "__array__") and not isinstance(X, list | tuple):
        raise SupervisionError(f"X must be a dense table of numbers, got {type(X).__name__}.")
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != n_samples:
        raise SupervisionError(f"X must have shape ({n_samples}, n_features), got {rows.shape}.")
    if not np.isfinite(rows).all():
        raise SupervisionError("X holds values that are not finite; fill or drop them first.")
    n_must, n_cannot = len(links.must), len(links.cannot)
    total = n_must * n_cannot
    if not total:
        return None
    if total > _MOST_PAIRS:
        numbers = np.random.RandomState(0).randint(0, total, size=_MOST_PAIRS, dtype=np.int64)
    else:
        numbers = np.arange(total, dtype=np.int64)
    step = max(_BLOCK // max(rows.shape[1], 1), 1)
    coherent = 0
    for start in range(0, len(numbers), step):
        m, c = np.divmod(numbers[start : start + step], n_cannot)
        must, cannot = rows[links.must[m]], rows[links.cannot[c]]
        coherent += int((~_overlaps(must, cannot) & ~_overlaps(cannot, must)).sum())
    return coherent / len(numbers)


def _overlaps(a: FloatArray, b: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell whether segment a, projected on the line of segment b, overlaps segment b.

    Both are of shape (n, 2, n_features). With b from 0 to 1 along its line, an end of a stands at
    ``(a - b_0) . (b_1 - b_0) / |b_1 - b_0|^2``. A shared point alone, or a segment that projects to a point,
    is no overlap; neither is anything if the two rows of b are the same.
    """
    along = b[:, 1] - b[:, 0]
    squared = np.einsum("nd,nd->n", along, along)
    at = np.einsum("ned,nd->ne", a - b[:, :1], along)
    at = at / np.where(squared > 0, squared, 1.0)[:, None]
    length = np.minimum(at.max(axis=1), 1.0) - np.maximum(at.min(axis=1), 0.0)
    # What rounding leaves of a right angle is not an overlap.
    overlaps: npt.NDArray[np.bool_] = length > 1e-9
    return overlaps
