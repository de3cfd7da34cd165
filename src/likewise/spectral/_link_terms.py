"""Links as a signed matrix over the rows, stored in factored form that is linear in the links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack

from likewise.spectral._operator import LowRank
from likewise.supervision import Closure, RowGroups, Supervision


@dataclass(frozen=True, eq=False)
class LinkTerms:
    """The symmetric matrix Q whose entry (i, j) is the sum of the weights of the terms with both i and j.

    The diagonal is 0. A link is a term with two rows; a group is one term, regardless of its size.

    Attributes
    ----------
    columns : csr_array of shape (n_samples, n_terms)
        1 for the rows of each term.
    weights : ndarray of shape (n_terms,)
        Positive for must-links, negative for cannot-links.
    """

    columns: csr_array
    weights: np.ndarray

    def __bool__(self) -> bool:
        return len(self.weights) > 0

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal matrix to add to the sum of outer products so that its diagonal becomes 0."""
        return -np.asarray(self.columns @ self.weights)

    def make_term(self, strength: float = 1.0) -> LowRank:
        """Return `strength` times the sum of outer products; the caller adds `strength` times `diagonal`."""
        return LowRank(self.columns, strength * self.weights)

    def compute_row_sums(self) -> np.ndarray:
        """Return the sum of each row of Q."""
        sums: np.ndarray = self.columns @ (self.weights * self.columns.sum(axis=0)) + self.diagonal
        return sums

    def toarray(self) -> np.ndarray:
        """Return Q as a dense array."""
        whole: np.ndarray = self.make_term().toarray()
        np.fill_diagonal(whole, 0.0)
        return whole


def get_stated_links(hints: Supervision) -> LinkTerms:
    """Return the stated links, without implied links."""
    n, links = hints.n_samples, hints.links
    return _concatenate(
        [
            (_make_pair_matrix(links.must, n), links.must_weights),
            (_make_pair_matrix(links.cannot, n), -links.cannot_weights),
            (_make_member_matrix(links.must_groups, n), links.must_groups.weights),
            (_make_member_matrix(links.cannot_groups, n), -links.cannot_groups.weights),
        ]
    )


def count_stated(hints: Supervision) -> np.ndarray:
    """Return the number of stated links of each row; each pair in a group counts as a link."""
    columns = get_stated_links(hints).columns
    counts: np.ndarray = columns @ (columns.sum(axis=0) - 1.0)
    return counts


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
            (of_row @ _make_member_matrix(groups, closure.n_components), -groups.weights),
            (_make_pair_matrix(hints.cannot[clash], n), -hints.cannot_weights[clash]),
            (_make_pair_matrix(both[0], n), -both[1]),
        ]
    )


def count_implied(hints: Supervision, closure: Closure) -> np.ndarray:
    """Return the number of rows to which each row is linked, by stated or implied links."""
    links = hints.links
    plain = Supervision.from_links(
        hints.n_samples,
        links.must,
        links.cannot,
        must_groups=list(links.must_groups),
        cannot_groups=list(links.cannot_groups),
    )
    together = closure.sizes[closure.component] - 1.0
    # The row sums are the number of must-links minus the number of cannot-links.
    return np.maximum(2.0 * together - derive_implied_links(plain, closure).compute_row_sums(), 0.0)


def with_mean_weight(hints: Supervision, mean: float) -> Supervision:
    """Return the links with weights rescaled to this mean, for comparisons with a number of links."""
    links = hints.links
    parts = (links.must_weights, links.cannot_weights, links.must_groups.weights, links.cannot_groups.weights)
    factor = mean / float(np.concatenate(parts).mean())
    return Supervision.from_links(
        hints.n_samples,
        links.must,
        links.cannot,
        must_weights=factor * parts[0],
        cannot_weights=factor * parts[1],
        must_groups=list(links.must_groups),
        cannot_groups=list(links.cannot_groups),
        must_group_weights=factor * parts[2],
        cannot_group_weights=factor * parts[3],
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


def _make_member_matrix(groups: RowGroups, n: int) -> csr_array:
    at = (groups.members, groups.group_of)
    return csr_array((np.ones(len(groups.members)), at), shape=(n, len(groups)))


def _concatenate(parts: list[tuple[csr_array, np.ndarray]]) -> LinkTerms:
    columns = csr_array(hstack([csr_array(part) for part, _ in parts], format="csr"))
    return LinkTerms(columns, np.concatenate([weights for _, weights in parts]).astype(np.float64))
