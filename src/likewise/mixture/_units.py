"""Conversion of stated links to units and factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from likewise.exceptions import InfeasibleSupervisionError, UnsupportedSupervisionError
from likewise.mixture._factors import FactorNetwork, GroupFactor
from likewise.supervision import Supervision

# Maximum number of labellings, K^g, of a group of g units that is enumerated.
ENUMERATED = 20_000
_BATCH_CELLS = 2_000_000


def build_pair_network(hints: Supervision) -> FactorNetwork:
    """Return the network in which every link is a separate factor, as in Yu, Elhabian & Whitaker.

    A row in r links is in r factors. A must-link group is one factor over all its rows; a cannot-link
    group is one factor per pair. The weight of a link is the multiplicity of its factor.
    """
    rows = find_hinted_rows(hints)
    n_rows, n_must, n_groups = len(rows), len(hints.must), len(hints.must_groups)
    cannot, cannot_weights = list_cannot_links(hints)
    place = np.searchsorted
    must_units = n_rows + np.arange(n_must + n_groups)
    unit = np.concatenate(
        [
            np.arange(n_rows),
            np.repeat(must_units[:n_must], 2),
            must_units[n_must:][hints.must_groups.group_of],
        ]
    )
    member = np.concatenate(
        [np.arange(n_rows), place(rows, hints.must.ravel()), place(rows, hints.must_groups.members)]
    )
    return FactorNetwork(
        rows,
        _build_membership(unit, member, n_rows + n_must + n_groups, n_rows),
        must_units,
        np.concatenate([hints.must_weights, hints.must_groups.weights]),
        place(rows, cannot),
        cannot_weights,
    )


@dataclass(frozen=True, eq=False)
class Units:
    """Must-link components as units, and the cannot-links between them."""

    rows: np.ndarray
    members: csr_array
    edges: np.ndarray  # (E, 2) units, each pair once
    edge_weights: np.ndarray  # total weight of the cannot-links between the two units
    sizes: np.ndarray

    @classmethod
    def from_hints(cls, hints: Supervision) -> Units:
        """Return the units of the closure; if links contradict one another, the must-links win."""
        closure = hints.closure(on_conflict="drop")
        rows = find_hinted_rows(hints)
        names, unit = np.unique(closure.component[rows], return_inverse=True)
        stated, weights = list_cannot_links(hints)
        ends = np.sort(np.searchsorted(names, closure.component[stated]), axis=1)
        apart = ends[:, 0] != ends[:, 1]
        keys, edge = np.unique(ends[apart, 0] * len(names) + ends[apart, 1], return_inverse=True)
        return cls(
            rows,
            _build_membership(unit, np.arange(len(rows)), len(names), len(rows)),
            np.column_stack(np.divmod(keys, len(names))),
            np.bincount(edge, weights=weights[apart], minlength=len(keys)),
            closure.sizes[names],
        )


def component_network(units: Units, n_classes: int) -> tuple[FactorNetwork, np.ndarray]:
    """Return the network in which must-link components are units and connected groups of them are factors.

    Also returns the cannot-links (pairs of units) of the groups that are too large to enumerate.
    """
    n_units = units.members.shape[0]
    graph = coo_array((np.ones(len(units.edges)), units.edges.T), shape=(n_units, n_units))
    n_groups, group = connected_components(csr_array(graph), directed=False)
    size = np.bincount(group, minlength=n_groups)
    edge_group = group[units.edges[:, 0]] if len(units.edges) else np.empty(0, dtype=np.int64)
    largest = int(np.log(ENUMERATED) / np.log(max(n_classes, 2)) + 1e-9)
    singles = np.flatnonzero(size[group] == 1)
    pairs = units.edges[size[edge_group] == 2]
    small = [
        factor
        for g in range(3, largest + 1)
        for factor in _enumerate_groups(
            units.edges, edge_group, group, np.flatnonzero(size == g), g, n_classes
        )
    ]
    network = FactorNetwork(
        units.rows,
        units.members,
        singles,
        np.ones(len(singles)),
        pairs,
        np.ones(len(pairs)),
        tuple(small),
        n_approximate=int((size > max(largest, 2)).sum()),
    )
    return network, units.edges[size[edge_group] > max(largest, 2)]


def _enumerate_groups(
    edges: np.ndarray, edge_group: np.ndarray, group: np.ndarray, which: np.ndarray, size: int, n_classes: int
) -> list[GroupFactor]:
    """Return the factors of the groups `which`, all of one size, in batches of limited memory."""
    if not len(which):
        return []
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], which)
    units = order[starts[:, None] + np.arange(size)]
    differ = ~np.eye(n_classes, dtype=bool)
    by_group = np.argsort(edge_group, kind="stable")
    first, last = (np.searchsorted(edge_group[by_group], which, side) for side in ("left", "right"))
    factors = []
    step = max(1, _BATCH_CELLS // n_classes**size)
    for lo in range(0, len(which), step):
        allowed = np.ones((len(which[lo : lo + step]), *([n_classes] * size)), dtype=bool)
        for g, members in enumerate(units[lo : lo + step], start=lo):
            for a, b in np.searchsorted(members, edges[by_group[first[g] : last[g]]]):
                shape = [n_classes if axis in (a, b) else 1 for axis in range(size)]
                allowed[g - lo] &= differ.reshape(shape)
            if not allowed[g - lo].any():
                raise InfeasibleSupervisionError(
                    f"n_clusters={n_classes}: {size} must-link components are connected by "
                    f"{last[g] - first[g]} cannot-links that no labelling satisfies.",
                    "Use more clusters, drop a cannot-link, or use "
                    "{PairwiseGaussianMixture}(relations='pairs'), which weighs links one by one.",
                    parameter="n_clusters",
                    kinds=("links",),
                    terms=("PairwiseGaussianMixture",),
                )
        factors.append(GroupFactor(units[lo : lo + step], allowed, np.ones(len(allowed))))
    return factors


def find_hinted_rows(hints: Supervision) -> np.ndarray:
    """Return the linked rows, sorted."""
    return np.flatnonzero(hints.select_kinds("links").touched)


def list_cannot_links(hints: Supervision) -> tuple[np.ndarray, np.ndarray]:
    """Return all cannot-linked pairs and their weights, including the pairs of groups."""
    pairs, weights = hints.cannot_groups.list_pairs()
    return np.concatenate([hints.cannot, pairs]), np.concatenate([hints.cannot_weights, weights])


def refuse_large_groups(hints: Supervision, n_clusters: int, name: str) -> None:
    """Raise an error if a cannot-link group has more rows than there are classes."""
    largest = max((len(group) for group in hints.drop_conflicts().cannot_groups), default=0)
    if largest > n_clusters:
        raise InfeasibleSupervisionError(
            f"{{estimator}}: a cannot-link group has {largest} rows, no two of which can share a cluster, "
            f"but n_clusters={n_clusters}.",
            "Use more clusters, or use {PairwiseGaussianMixture}(relations='pairs'), which weighs links "
            "one by one.",
            parameter="n_clusters",
            kinds=("links",),
            estimator=name,
            terms=("PairwiseGaussianMixture",),
        )


def has_weights(hints: Supervision) -> bool:
    """Return True if some link has a weight other than 1."""
    links = hints.links
    groups = (links.must_groups.weights, links.cannot_groups.weights)
    return any((weights != 1).any() for weights in (links.must_weights, links.cannot_weights, *groups))


def refuse_weights(hints: Supervision, name: str, way_on: str) -> None:
    """Raise an error if links have weights, for methods that cannot use them."""
    if has_weights(hints):
        raise UnsupportedSupervisionError(
            "{estimator}: links carry weights, but this method treats links as hard constraints.",
            f"{way_on}, or pass links without weights.",
            kinds=("links",),
            estimator=name,
            terms=("PairwiseGaussianMixture",),
        )


def _build_membership(unit: np.ndarray, member: np.ndarray, n_units: int, n_rows: int) -> csr_array:
    return csr_array(coo_array((np.ones(len(unit)), (unit, member)), shape=(n_units, n_rows)))
