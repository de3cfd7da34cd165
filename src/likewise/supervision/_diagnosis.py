"""Reports on hints: a table for notebooks; counts, coverage, contradictions and redundancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise._repr_html import list_some, render_table
from likewise.exceptions import SupervisionError
from likewise.supervision._closure import Closure
from likewise.supervision._labels import Labels
from likewise.supervision._links import TRIPLET_ANSWERS, Links, RowGroups
from likewise.supervision.row_checks import FloatArray, IntArray, check_row_labels

if TYPE_CHECKING:
    from likewise.supervision._supervision import Supervision

_MOST_PAIRS = 1_000_000  # pairs of a must-link and a cannot-link for the coherence; more are sampled
_BLOCK = 2_000_000  # maximum number of values in memory during a comparison


@dataclass(frozen=True)
class Diagnosis:
    """Statistics of a set of hints, which print as a readable report.

    Parameters
    ----------
    n_samples : int
        The number of rows.
    n_must, n_cannot : int
        The numbers of stated must-links and cannot-links.
    n_must_groups, n_cannot_groups : int
        The numbers of stated groups.
    n_group_pairs : int
        The number of pairs in the groups.
    n_triplets : int
        The number of triplets.
    answers : dict of str to int
        The number of triplets with each answer.
    n_bags, n_labelled_bags : int
        The numbers of bags and of labelled bags.
    n_labels, n_classes : int
        The numbers of labelled rows and of different labels.
    coverage : float
        The fraction of rows with at least one hint; a row in an unlabelled bag has none.
    n_cannot_only : int
        The number of rows with cannot-links but without must-links.
    component_sizes : tuple of int
        The sizes of the must-link components with at least two rows, the largest first.
    n_conflicts : int
        The number of cannot-links within a must-link component.
    n_triplet_conflicts : int
        The number of triplets with more than one answer.
    n_redundant_must : int
        The number of must-links that can be removed without changing the components; a group counts as links
        from its first row to the others.
    n_redundant_cannot : int
        The number of cannot-links between components that another cannot-link or a cannot-link group
        separates.
    min_clusters : int
        A lower bound on the number of clusters that the links and labels require, from a set of components
        that are pairwise cannot-linked. The actual minimum may be larger.
    informativeness : float or None
        The fraction of links that a clustering without hints violates (Davidson, Wagstaff and Basu 2006): the
        information that the method would not have found without hints. Groups count as all their pairs. None
        if no such clustering is given.
    coherence : float or None
        The fraction of pairs of a must-link and a cannot-link that do not act along the same direction (same
        paper). Each link is the segment between its two rows; neither segment, projected on the line of the
        other, may overlap it. Groups are left out. More than 10^6 such pairs are sampled with a fixed seed.
        None if the rows are not given.

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
    6 rows; 4 of them have hints (67%)
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
        lines = [f"{self.n_samples} rows; {touched} of them have hints ({self.coverage:.0%})"]
        if self.n_must + self.n_cannot + self.n_must_groups + self.n_cannot_groups:
            links = f"links       {self.n_must} must, {self.n_cannot} cannot"
            if self.n_group_pairs:
                groups = f"{self.n_must_groups} must group(s), {self.n_cannot_groups} cannot group(s)"
                links += f", {groups} for {self.n_group_pairs} more"
            largest = f", the largest of {self.component_sizes[0]}" if self.component_sizes else ""
            lines += [
                links,
                f"components  {len(self.component_sizes)} of two rows or more{largest}; "
                f"{self.n_cannot_only} row(s) in cannot-links only",
                f"conflicts   {self.n_conflicts or 'none'}",
                f"redundant   {self.n_redundant_must} of the must-links, {self.n_redundant_cannot} of the "
                "cannot-links",
            ]
        if self.n_triplets:
            counts = ", ".join(f"{count} {word}" for word, count in self.answers.items() if count)
            twice = f"; {self.n_triplet_conflicts} with two answers" if self.n_triplet_conflicts else ""
            lines.append(f"triplets    {self.n_triplets}: {counts}{twice}")
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


def diagnose(hints: Supervision, X: Any = None, labels: Any = None) -> Diagnosis:
    """Compute the statistics. Linear in rows and hints, plus at most 10^6 comparisons for the coherence."""
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
    n_must_edges = len(links.must) + len(links.must_groups.list_star_edges())
    twice = (hints.triplets[1:] == hints.triplets[:-1]).all(axis=1)
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
        # Triplets are sorted, and equal answers are not repeated.
        n_triplet_conflicts=int((twice & ~np.append(False, twice)[:-1]).sum()),
        n_redundant_must=n_must_edges - (hints.n_samples - closed.n_components),
        n_redundant_cannot=_count_redundant_cannot(links, closed),
        min_clusters=max(_count_clique(closed), len(hints.classes), 1),
        informativeness=None if labels is None else compute_informativeness(links, labels, hints.n_samples),
        coherence=None if X is None else compute_coherence(links, X, hints.n_samples),
    )


def _count_redundant_cannot(links: Links, closed: Closure) -> int:
    n_between = len(links.cannot) - int(_compare_pairs(closed.component, links.cannot).sum())
    groups = closed.cannot_groups
    if not len(groups):
        return n_between - len(closed.cannot)
    # The product of two rows of the incidence matrix is positive where a group contains both components.
    member = groups._make_incidence(closed.n_components)
    stated = np.asarray(member[closed.cannot[:, 0]].multiply(member[closed.cannot[:, 1]]).sum(axis=1))
    return n_between - len(closed.cannot) + int((stated > 0).sum())


def _compare_pairs(values: npt.NDArray[Any], pairs: IntArray) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = values[pairs[:, 0]] == values[pairs[:, 1]]
    return same


def _count_clique(closed: Closure) -> int:
    """Return the size of a clique of cannot-linked components: a stated group, or one found greedily.

    The greedy search starts with the component with the most edges, and always adds the candidate with the
    most edges.
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


# ---------------------------------------------------------------------- in a notebook


def render_hints(hints: Supervision) -> str:
    """Return an HTML table of the kinds of hints, with the number and the first few of each."""
    rows: list[tuple[str, int, str]] = []
    for name, pairs, sign in (("must-links", hints.must, "="), ("cannot-links", hints.cannot, "≠")):
        rows.append(
            (name, len(pairs), list_some([f"{i} {sign} {j}" for i, j in pairs[:5].tolist()], len(pairs)))
        )
    for name, groups, sign in (
        ("must-link groups", hints.must_groups, "="),
        ("cannot-link groups", hints.cannot_groups, "≠"),
    ):
        few = [list_some(list(map(str, group.tolist()))) for group, _ in zip(groups, range(2), strict=False)]
        rows.append((name, len(groups), "; ".join(f"{sign} {group}" for group in few)))
    triplets = [
        f"{' '.join(map(str, rows_))}: {word}"
        for rows_, word in zip(hints.triplets[:5].tolist(), hints.answer_words[:5], strict=True)
    ]
    rows.append(("triplets", len(hints.triplets), list_some(triplets, len(hints.triplets))))
    n_labels = int((hints.label_codes >= 0).sum())
    rows.append(("labelled rows", n_labels, f"classes {list_some(list(map(str, hints.classes)))}"))
    if hints.bags is not None:
        n_known = sum(labels is not None for labels in hints.bags.labels)
        rows.append(("bags", len(hints.bags), f"{n_known} of them labelled"))
    shown = [row for row in rows if row[1]]
    n_hinted = int(hints.touched.sum())
    title = f"Supervision: {hints.n_samples:,} rows, {n_hinted:,} of them in hints"
    return render_table(
        title, ("hints", "number", "such as"), shown, [] if shown else ["There are no hints."]
    )


# ---------------------------------------------------------------------- Davidson, Wagstaff and Basu 2006


def compute_informativeness(links: Links, labels: Any, n_samples: int) -> float | None:
    """Return the fraction of links that a clustering violates, None if there are no links."""
    codes = Labels.from_array(labels).codes
    if len(codes) != n_samples or (codes < 0).any():
        raise SupervisionError(f"labels must give a cluster to each of {n_samples} rows, got {len(codes)}.")
    total = len(links.must) + len(links.cannot) + links.must_groups.n_pairs + links.cannot_groups.n_pairs
    wrong = int((~_compare_pairs(codes, links.must)).sum()) + int(_compare_pairs(codes, links.cannot).sum())
    wrong += links.must_groups.n_pairs - _count_pairs_together(links.must_groups, codes)
    wrong += _count_pairs_together(links.cannot_groups, codes)
    return wrong / total if total else None


def _count_pairs_together(groups: RowGroups, codes: IntArray) -> int:
    """Count the pairs of members of a group in the same cluster, without enumerating them."""
    keys = groups.group_of * (int(codes.max(initial=0)) + 1) + codes[groups.members]
    counts = np.unique(keys, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def compute_coherence(links: Links, X: Any, n_samples: int) -> float | None:
    """Return the fraction of (must, cannot) pairs without overlap, None if there are no such pairs."""
    if not hasattr(X, "__array__") and not isinstance(X, list | tuple):
        raise SupervisionError(f"X must be a dense table of numbers, got {type(X).__name__}.")
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != n_samples:
        raise SupervisionError(f"X must have shape ({n_samples}, n_features), got {rows.shape}.")
    if not np.isfinite(rows).all():
        raise SupervisionError("X contains values that are not finite; impute or remove them first.")
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
        coherent += int((~_has_overlap(must, cannot) & ~_has_overlap(cannot, must)).sum())
    return coherent / len(numbers)


def _has_overlap(a: FloatArray, b: FloatArray) -> npt.NDArray[np.bool_]:
    """Return whether segment a, projected on the line of segment b, overlaps segment b.

    Both have the shape (n, 2, n_features). If b runs from 0 to 1 along its line, an end of a is at ``(a -
    b_0) . (b_1 - b_0) / |b_1 - b_0|^2``. A single common point is not an overlap, nor is a projection to a
    point. Nothing overlaps b if its two rows are equal.
    """
    along = b[:, 1] - b[:, 0]
    squared = np.einsum("nd,nd->n", along, along)
    at = np.einsum("ned,nd->ne", a - b[:, :1], along)
    at = at / np.where(squared > 0, squared, 1.0)[:, None]
    length = np.minimum(at.max(axis=1), 1.0) - np.maximum(at.min(axis=1), 0.0)
    # Rounding errors of a right angle are not an overlap.
    overlaps: npt.NDArray[np.bool_] = length > 1e-9
    return overlaps
