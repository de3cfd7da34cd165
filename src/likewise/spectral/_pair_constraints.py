"""Pairwise constraints from links and bags: evaluated for the edges of a graph, or as a factored matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, issparse, vstack

from likewise.spectral._affinity import Graph
from likewise.spectral._operator import LowRank
from likewise.supervision import Bags, Closure, RowGroups, Supervision, sort_values

_BLOCK = 1 << 22  # number of pairs of rows that are processed at once
_MOST_SETS = 4_000  # maximum number of label sets, or of linked components, for a table of all pairs


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The distinct label sets of the bags, and the label set of the bag of each row."""

    holds: csr_array  # (n_sets, n_classes) 1 if a set contains a class
    of_row: np.ndarray  # (n_samples,) the set of each row; -1 if it is unknown
    classes: tuple[Any, ...]  # the names of the classes, sorted

    @classmethod
    def from_bags(cls, bags: Bags | None, n_samples: int) -> LabelSets:
        """Build from the label sets of the bags, if there are any."""
        if bags is None:
            return cls.from_codes([], np.full(n_samples, -1, dtype=np.int64))
        return cls.from_codes(list(bags.labels), bags.codes)

    @classmethod
    def from_codes(cls, sets_of: list[Any], codes: np.ndarray) -> LabelSets:
        """Build from ``sets_of[codes[i]]`` for each row i; None, or a code of -1, means unknown."""
        sets = list(dict.fromkeys(labels for labels in sets_of if labels is not None))
        classes = tuple(sort_values({label for one in sets for label in one}))
        number = {label: c for c, label in enumerate(classes)}
        at = [(s, number[label]) for s, one in enumerate(sets) for label in one]
        s, c = np.array(at, dtype=np.int64).reshape(-1, 2).T
        holds = csr_array((np.ones(len(s)), (s, c)), shape=(len(sets), len(classes)))
        holds.sort_indices()
        place: dict[Any, int] = {labels: s for s, labels in enumerate(sets)} | {None: -1}
        of_code = np.array([*(place[labels] for labels in sets_of), -1], dtype=np.int64)
        return cls(holds, of_code[codes], classes)

    @property
    def sizes(self) -> np.ndarray:
        """The number of classes in each set."""
        return np.diff(self.holds.indptr)

    @property
    def known(self) -> np.ndarray:
        """A mask of the rows whose label set is known."""
        return self.of_row >= 0

    def make_indicators(self) -> csr_array:
        """Return 1 for each row and each label of its bag, shape (n_samples, n_classes)."""
        allowed = csr_array(self.make_members() @ self.holds)
        allowed.sort_indices()
        return allowed

    def make_members(self) -> csr_array:
        """Return 1 for each row and its set, shape (n_samples, n_sets)."""
        rows = np.flatnonzero(self.known)
        shape = (len(self.of_row), len(self.sizes))
        return csr_array((np.ones(len(rows)), (rows, self.of_row[rows])), shape=shape)

    def find_disjoint(self) -> np.ndarray:
        """Return a mask of the pairs of sets that share no class, shape (n_sets, n_sets)."""
        return (self.holds @ self.holds.T).toarray() == 0

    def get_single_classes(self) -> np.ndarray:
        """Return the class of each row whose bag has a single label, -1 for other rows."""
        of_set = np.full(len(self.sizes) + 1, -1, dtype=np.int64)
        single = np.flatnonzero(self.sizes == 1)
        of_set[single] = self.holds.indices[self.holds.indptr[single]]
        return of_set[self.of_row]


@dataclass(frozen=True, eq=False)
class RowLabelSets:
    """The label sets that constrain each row: its own and those of rows that it is must-linked with."""

    sets: LabelSets  # the label sets
    # (n_kinds, n_sets) the label sets of each kind of row: first each set alone, then combinations joined by
    # must-links
    holds: csr_array
    of_row: np.ndarray  # (n_samples,) the kind of each row; -1 if nothing is known

    @classmethod
    def from_closure(cls, sets: LabelSets, closure: Closure | None = None) -> RowLabelSets:
        """Apply the label set of each row to all rows of its must-link component."""
        n_sets = len(sets.sizes)
        alone = csr_array(eye_array(n_sets))
        if closure is None or closure.n_components == len(closure.component):
            return cls(sets, alone, sets.of_row)
        rows = np.flatnonzero(sets.known)
        pairs = np.unique(np.column_stack([closure.component[rows], sets.of_row[rows]]), axis=0)
        counts = np.bincount(pairs[:, 0], minlength=closure.n_components)
        several = np.flatnonzero(counts > 1)
        kind = np.full(closure.n_components, -1, dtype=np.int64)
        kind[pairs[:, 0]] = pairs[:, 1]
        kind[several] = n_sets + np.arange(len(several))
        joined = pairs[counts[pairs[:, 0]] > 1]
        lots = csr_array(
            (np.ones(len(joined)), (kind[joined[:, 0]] - n_sets, joined[:, 1])), shape=(len(several), n_sets)
        )
        return cls(sets, csr_array(vstack([alone, lots])), kind[closure.component])

    @cached_property
    def _meets(self) -> csr_array:
        """The number of sets of each kind that share a class with each set."""
        meet = csr_array(self.sets.holds @ self.sets.holds.T)
        meet.data[:] = 1.0
        return csr_array(self.holds @ meet)

    @cached_property
    def _table(self) -> np.ndarray | None:
        """A mask of the pairs of kinds that are apart, with 'unknown' as the last kind; None if too large."""
        sizes = np.diff(self.holds.indptr)
        if len(sizes) > _MOST_SETS:
            return None
        return np.pad((self._meets @ self.holds.T).toarray() < np.outer(sizes, sizes), (0, 1))

    def are_apart(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return a mask of the pairs of rows (i[t], j[t]) that have two label sets without a common class."""
        a, b = self.of_row[i], self.of_row[j]
        if self._table is not None:
            return self._table[a, b]
        found, sizes = (a >= 0) & (b >= 0), np.diff(self.holds.indptr)
        at = np.flatnonzero(found)
        for part in np.array_split(at, max(len(at) // _BLOCK, 1)):
            meeting = self._meets[a[part]].multiply(self.holds[b[part]]).sum(axis=1)
            found[part] = np.asarray(meeting).ravel() < sizes[a[part]] * sizes[b[part]]
        return found

    def find_clash(self) -> tuple[int, int] | None:
        """Return two must-linked rows whose label sets share no class, or None."""
        for kind in range(len(self.sets.sizes), self.holds.shape[0]):
            sets = self.holds.indices[self.holds.indptr[kind] : self.holds.indptr[kind + 1]]
            apart = np.argwhere((self.sets.holds[sets] @ self.sets.holds[sets].T).toarray() == 0)
            if len(apart):
                rows = np.flatnonzero(self.of_row == kind)
                i, j = (rows[self.sets.of_row[rows] == s][0] for s in sets[apart[0]])
                return min(int(i), int(j)), max(int(i), int(j))
        return None


def _make_link_test(closure: Closure) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function that returns a mask of the pairs of rows with a stated or implied cannot-link."""
    n, groups = closure.n_components, closure.cannot_groups
    edges = closure.cannot[closure.cannot[:, 0] != closure.cannot[:, 1]]  # in conflicts the must-links win
    named = np.unique(np.concatenate([edges.ravel(), groups.members]))
    place = np.full(n, len(named))
    place[named] = np.arange(len(named))
    of_row = place[closure.component]
    if len(named) <= _MOST_SETS:
        table = np.zeros((len(named) + 1, len(named) + 1), dtype=bool)
        a, b = place[edges].T
        table[a, b] = table[b, a] = True
        for members in groups:
            table[np.ix_(place[members], place[members])] = True
        np.fill_diagonal(table, False)
        return lambda i, j: table[of_row[i], of_row[j]]
    keys = np.unique(place[edges].min(axis=1) * n + place[edges].max(axis=1))
    shape = (len(named) + 1, len(groups))
    of_group = csr_array(
        (np.ones(len(groups.members)), (place[groups.members], groups.group_of)), shape=shape
    )

    def are_apart(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        a, b = of_row[i], of_row[j]
        found = np.isin(np.minimum(a, b) * n + np.maximum(a, b), keys)
        at = np.flatnonzero((a != b) & (a < len(named)) & (b < len(named)))
        for part in np.array_split(at, len(at) // _BLOCK + 1):
            shared = of_group[a[part]].multiply(of_group[b[part]]).sum(axis=1)
            found[part] |= np.asarray(shared).ravel() > 0
        return found

    return are_apart


class ApartPairs:
    """The pairs of rows that cannot belong together, by stated and implied links and by label sets."""

    def __init__(self, closure: Closure | None = None, sets: LabelSets | None = None) -> None:
        self._tests: list[Callable[[np.ndarray, np.ndarray], np.ndarray]] = []
        if closure is not None and (len(closure.cannot) or len(closure.cannot_groups)):
            self._tests.append(_make_link_test(closure))
        if sets is not None and len(sets.sizes):
            self._tests.append(RowLabelSets.from_closure(sets, closure).are_apart)

    def __bool__(self) -> bool:
        return bool(self._tests)

    def are_apart(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return a mask of the pairs (i[t], j[t]) that cannot belong together."""
        found = np.zeros(len(i), dtype=bool)
        for test in self._tests:
            found |= test(i, j)
        return found

    def cut(self, weights: Any, also: Any = None) -> Any:
        """Return the weights with 0 for pairs that are apart and for pairs in the mask `also(i, j)`."""

        def are_marked(i: np.ndarray, j: np.ndarray) -> np.ndarray:
            return self.are_apart(i, j) | also(i, j) if also is not None else self.are_apart(i, j)

        if issparse(weights):
            i = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
            data = np.where(are_marked(i, weights.indices), 0.0, weights.data)
            kept = csr_array((data, weights.indices.copy(), weights.indptr.copy()), shape=weights.shape)
            kept.eliminate_zeros()
            return kept
        cut = weights.copy()
        n = len(weights)
        step = max(_BLOCK // n, 1)
        for first in range(0, n, step):
            block = cut[first : first + step]
            i = np.repeat(np.arange(first, first + len(block)), n)
            block[are_marked(i, np.tile(np.arange(n), len(block))).reshape(block.shape)] = 0.0
        return cut


def make_component_matrix(closure: Closure) -> csr_array:
    """Return the indicator columns of must-link components of two or more rows, (n_samples, n_components)."""
    rows = np.flatnonzero(closure.sizes[closure.component] > 1)
    names, column = np.unique(closure.component[rows], return_inverse=True)
    return csr_array((np.ones(len(rows)), (rows, column)), shape=(len(closure.component), len(names)))


@dataclass(frozen=True, eq=False)
class LinkedGraph:
    """A graph modified by links: similarity 1 for must-linked rows, 0 for cannot-linked rows.

    The matrix is ``weights`` plus the low-rank ``terms`` plus ``diag(diagonal)``; ``degrees`` are its row
    sums.
    """

    weights: Any
    degrees: np.ndarray
    terms: list[LowRank]
    diagonal: np.ndarray | None

    @classmethod
    def from_closure(cls, graph: Graph, closure: Closure, sets: LabelSets | None = None) -> LinkedGraph:
        """Apply stated and implied links, and the cannot-links implied by disjoint label sets."""
        apart, together = ApartPairs(closure, sets), make_component_matrix(closure)
        if not together.shape[1]:
            weights = apart.cut(graph.weights) if apart else graph.weights
            return cls(weights, Graph.from_weights(weights).degrees, [], None)
        component, linked = closure.component, np.diff(together.indptr) > 0

        def is_certain(i: np.ndarray, j: np.ndarray) -> np.ndarray:
            return linked[i] & (component[i] == component[j])

        weights = apart.cut(graph.weights, is_certain)
        own = np.asarray(graph.weights.diagonal())  # 0 without self-loops
        added = np.where(linked, closure.sizes[component] - 1.0 + own, 0.0)
        degrees = Graph.from_weights(weights, added=added).degrees
        # Ones for all pairs of a component; `diagonal` restores the original diagonal.
        terms = [LowRank(together, np.ones(together.shape[1]))]
        return cls(weights, degrees, terms, np.where(linked, own - 1.0, 0.0))


def derive_single_label_links(hints: Supervision) -> Supervision:
    """Return the must-links that bags of a single label imply, and the cannot-links between such bags."""
    sets = LabelSets.from_bags(hints.bags, hints.n_samples)
    labels = [sets.classes[c] if c >= 0 else None for c in sets.get_single_classes()]
    return Supervision.from_labels(labels, missing=None).to_links()


@dataclass(frozen=True, eq=False)
class LinkTerms:
    """The symmetric matrix Q whose entry (i, j) is the sum of the weights of the terms with both i and j.

    The diagonal is 0. A link is a term with two rows; a group is one term, regardless of its size.
    """

    columns: csr_array  # (n_samples, n_terms) 1 for the rows of each term
    weights: np.ndarray  # (n_terms,) positive for must-links, negative for cannot-links

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal matrix to add to the sum of outer products so that its diagonal becomes 0."""
        return -np.asarray(self.columns @ self.weights)

    def make_term(self, strength: float = 1.0) -> LowRank:
        """Return `strength` times the sum of outer products; the caller adds `strength` times `diagonal`."""
        return LowRank(self.columns, strength * self.weights)

    def compute_row_sums(self) -> np.ndarray:
        """Return the sum of each row of Q."""
        return self.columns @ (self.weights * self.columns.sum(axis=0)) + self.diagonal


def get_stated_links(hints: Supervision) -> LinkTerms:
    """Return the stated links, without implied links."""
    n, links = hints.n_samples, hints.links
    return _concatenate(
        [
            (_make_pair_matrix(links.must, n), links.must_weights),
            (_make_pair_matrix(links.cannot, n), -links.cannot_weights),
            (make_member_matrix(links.must_groups, n), links.must_groups.weights),
            (make_member_matrix(links.cannot_groups, n), -links.cannot_groups.weights),
        ]
    )


def derive_implied_links(hints: Supervision, closure: Closure) -> LinkTerms:
    """Return the stated and implied links.

    All rows of a must-link component are linked, with the mean weight of its must-links. All rows of two
    components with cannot-links between them are cannot-linked, with the largest weight of these links. A
    cannot-link within a component, a contradiction, is added as stated.
    """
    n, component = hints.n_samples, closure.component
    own = np.zeros(closure.n_components)  # the weight of the term of each component
    inside = component[np.concatenate([hints.must[:, 0], hints.must_groups.members])]
    given = np.concatenate([hints.must_weights, hints.must_groups.weights[hints.must_groups.group_of]])
    total = np.bincount(inside, weights=given, minlength=len(own))
    np.divide(total, np.bincount(inside, minlength=len(own)), out=own, where=total > 0)

    ends = np.sort(component[hints.cannot], axis=1)
    clash = ends[:, 0] == ends[:, 1]
    edges, place = np.unique(ends[~clash], axis=0, return_inverse=True)
    heaviest = np.zeros(len(edges))
    np.maximum.at(heaviest, place.ravel(), hints.cannot_weights[~clash])
    groups = closure.cannot_groups
    # The term of two components also cannot-links the rows within each component; add that weight back.
    own += np.bincount(edges.ravel(), weights=np.repeat(heaviest, 2), minlength=len(own))
    own += np.bincount(groups.members, weights=groups.weights[groups.group_of], minlength=len(own))
    of_row = csr_array((np.ones(n), component, np.arange(n + 1)), shape=(n, closure.n_components))
    used = np.flatnonzero(own)
    clashing = hints.cannot_groups if len(closure.conflicts) else RowGroups.from_lists(None, n, what="groups")
    both = _find_group_conflicts(clashing, component)
    return _concatenate(
        [
            (of_row[:, used], own[used]),
            (of_row @ _make_pair_matrix(edges, closure.n_components), -heaviest),
            (of_row @ make_member_matrix(groups, closure.n_components), -groups.weights),
            (_make_pair_matrix(hints.cannot[clash], n), -hints.cannot_weights[clash]),
            (_make_pair_matrix(both[0], n), -both[1]),
        ]
    )


def count_implied(hints: Supervision, closure: Closure) -> np.ndarray:
    """Return the number of rows to which each row is linked, by stated or implied links."""
    plain = derive_implied_links(_reweight(hints, np.ones_like), closure)
    together = closure.sizes[closure.component] - 1.0
    # The row sums are the number of must-links minus the number of cannot-links.
    return np.maximum(2.0 * together - plain.compute_row_sums(), 0.0)


def with_mean_weight_one(hints: Supervision) -> Supervision:
    """Return the links with weights of mean 1, so that their sum can be compared with a number of links."""
    links = hints.links
    parts = (links.must_weights, links.cannot_weights, links.must_groups.weights, links.cannot_groups.weights)
    factor = 1.0 / float(np.concatenate(parts).mean())
    return _reweight(hints, lambda weights: factor * weights)


def _reweight(hints: Supervision, change: Callable[[np.ndarray], np.ndarray]) -> Supervision:
    links = hints.links
    return Supervision.from_links(
        hints.n_samples,
        links.must,
        links.cannot,
        must_weights=change(links.must_weights),
        cannot_weights=change(links.cannot_weights),
        must_groups=list(links.must_groups),
        cannot_groups=list(links.cannot_groups),
        must_group_weights=change(links.must_groups.weights),
        cannot_group_weights=change(links.cannot_groups.weights),
    )


def _find_group_conflicts(groups: RowGroups, component: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of must-linked rows in a cannot-link group, and their weights."""
    pairs, weights = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    for rows, weight in zip(groups, groups.weights, strict=True):
        order = rows[np.argsort(component[rows], kind="stable")]
        same = component[order][1:] == component[order][:-1]
        pairs.append(np.column_stack([order[:-1][same], order[1:][same]]))
        weights.append(np.full(int(same.sum()), weight))
    return np.concatenate(pairs), np.concatenate(weights)


def _make_pair_matrix(pairs: np.ndarray, n: int) -> csr_array:
    at = (pairs.ravel(), np.repeat(np.arange(len(pairs)), 2))
    return csr_array((np.ones(2 * len(pairs)), at), shape=(n, len(pairs)))


def make_member_matrix(groups: RowGroups, n: int) -> csr_array:
    at = (groups.members, groups.group_of)
    return csr_array((np.ones(len(groups.members)), at), shape=(n, len(groups)))


def _concatenate(parts: list[tuple[csr_array, np.ndarray]]) -> LinkTerms:
    columns = csr_array(hstack([csr_array(part) for part, _ in parts], format="csr"))
    return LinkTerms(columns, np.concatenate([weights for _, weights in parts]).astype(np.float64))
