"""Units and factors of linked rows, and inference over them: exact, or by belief propagation.

A *unit* is a set of rows that share one class variable. A *factor* is one unit, two units that must differ,
or a small group of units with cannot-links among some of them. The unnormalised probability of a labelling z
of a factor is ``prod_u a[z_u] p(rows of u | z_u)`` if every cannot-link holds, and 0 otherwise. All tables
hold logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from likewise.exceptions import InfeasibleSupervisionError, UnsupportedSupervisionError
from likewise.supervision import Supervision

# Maximum number of labellings, K^g, of a group of g units that is enumerated.
ENUMERATED = 20_000
_BATCH_CELLS = 2_000_000


def log_sum_exp(table: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials along the last axis."""
    if table.shape[-1] == 1:
        return table[..., 0]
    if len(table) > table.shape[-1]:
        # Reductions over many short rows are several times faster in column-major order.
        table = np.asfortranarray(table)
    peak = table.max(axis=-1, keepdims=True)
    found: np.ndarray = np.log(np.exp(table - peak).sum(axis=-1)) + peak[..., 0]
    return found


def log_sum_exp_of_others(table: np.ndarray) -> np.ndarray:
    """Return, for each entry, the log-sum-exp of the *other* entries of its row.

    The largest entry is left out before the others are summed. Subtracting an entry from the sum of all
    would cancel to 0 if one class has all the mass.
    """
    n, k = table.shape
    if k == 1:
        return np.full_like(table, -np.inf)
    table = np.asfortranarray(table)
    at = table.argmax(axis=1)
    rows = np.arange(n)
    peak = table[rows, at]
    rest = table.copy()
    rest[rows, at] = -np.inf
    second = rest.max(axis=1)
    scaled = np.exp(rest - second[:, None])  # 0 for the largest entry
    sum_rest = scaled.sum(axis=1)
    # Others of the largest entry: the rest. Others of any other entry: the largest, and the rest minus it.
    others = np.exp(second - peak)[:, None] * np.maximum(sum_rest[:, None] - scaled, 0.0)
    found = np.log1p(others) + peak[:, None]
    found[rows, at] = np.log(sum_rest) + second
    return found


def compute_pair_posterior(
    log_unary: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both marginals and the log normaliser of each pair of units whose classes must differ.

    The table ``exp(first[m] + second[m'])`` without its diagonal is never built: the cost is O(K) per pair.
    """
    others = log_sum_exp_of_others(log_unary)
    first, second = pairs.T
    joint_first = log_unary[first] + others[second]
    joint_second = log_unary[second] + others[first]
    log_z = log_sum_exp(joint_first)
    joint_first -= log_z[:, None]
    joint_second -= log_z[:, None]
    return np.exp(joint_first), np.exp(joint_second), log_z


def compute_pair_prior(log_weights: np.ndarray, weight: float) -> tuple[np.ndarray, float]:
    """Return the expected class counts and the log normaliser of pairs of total `weight` under the prior."""
    first, _, log_z = compute_pair_posterior(log_weights[None], np.zeros((1, 2), dtype=np.int64))
    return 2 * weight * first[0], weight * float(log_z[0])


@dataclass(frozen=True, eq=False)
class GroupFactor:
    """Enumerated groups of equal size: their units (G, g) and which of the K^g labellings are allowed."""

    units: np.ndarray
    allowed: np.ndarray  # (G, K, …, K) bool
    weights: np.ndarray

    def merge_alike(self) -> GroupFactor:
        """Return one group for each distinct table of allowed labellings, with the summed weight.

        Under the prior, groups differ only in these tables, and few of them are distinct.
        """
        flat = np.packbits(self.allowed.reshape(len(self.allowed), -1), axis=1)
        _, at, sort = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        weights = np.bincount(sort.ravel(), weights=self.weights)
        return GroupFactor(self.units[at], self.allowed[at], weights)

    def _compute_scores(self, log_unary: np.ndarray) -> np.ndarray:
        """Return the unnormalised log probability of every labelling, shape (G, K, …, K)."""
        n_groups, size, k = log_unary.shape
        table = np.where(self.allowed, 0.0, -np.inf)
        for place in range(size):
            shape = (n_groups, *(k if axis == place else 1 for axis in range(size)))
            table = table + log_unary[:, place].reshape(shape)
        return table

    def find_most_probable(self, log_unary: np.ndarray) -> np.ndarray:
        """Return the labels (G, g) of the most probable labelling of each group."""
        n_groups, size, k = log_unary.shape
        best = self._compute_scores(log_unary).reshape(n_groups, -1).argmax(axis=1)
        return np.stack(np.unravel_index(best, (k,) * size), axis=1)

    def compute_posterior(self, log_unary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the marginals (G, g, K) and log normalisers (G,), given `log_unary` of shape (G, g, K)."""
        n_groups, size, _ = log_unary.shape
        table = self._compute_scores(log_unary)
        axes = tuple(range(1, size + 1))
        log_z = log_sum_exp(table.reshape(n_groups, -1))
        table = np.exp(table - log_z.reshape(-1, *([1] * size)))
        marginals = [
            table.sum(axis=tuple(axis for axis in axes if axis != place + 1)) for place in range(size)
        ]
        return np.stack(marginals, axis=1), log_z


@dataclass(frozen=True, eq=False)
class FactorNetwork:
    """Units and the factors over them.

    Attributes
    ----------
    rows : ndarray of shape (H,)
        The linked rows.
    members : csr_array of shape (n_units, H)
        1 if the row is in the unit.
    singles, single_weights
        Factors of one unit.
    pairs, pair_weights
        Factors of two units whose classes differ.
    groups : tuple of GroupFactor
        Enumerated groups of three or more units. No unit is in two of them.
    n_approximate : int
        Number of larger groups, which are not treated exactly.
    """

    rows: np.ndarray
    members: csr_array
    singles: np.ndarray
    single_weights: np.ndarray
    pairs: np.ndarray
    pair_weights: np.ndarray
    groups: tuple[GroupFactor, ...] = ()
    n_approximate: int = 0
    _at_pairs: csr_array = field(init=False)  # sums over the ends of pairs, weighted, into units
    _sorts: tuple[GroupFactor, ...] = field(init=False)

    def __post_init__(self) -> None:
        n_pairs = len(self.pairs)
        where = (self.pairs.T.ravel(), np.arange(2 * n_pairs))
        at_pairs = coo_array(
            (np.tile(self.pair_weights, 2), where), shape=(self.members.shape[0], 2 * n_pairs)
        )
        object.__setattr__(self, "_at_pairs", csr_array(at_pairs))
        object.__setattr__(self, "_sorts", tuple(group.merge_alike() for group in self.groups))

    @property
    def n_free(self) -> float:
        """The total weight of the factors of one unit."""
        return float(self.single_weights.sum())

    def infer(self, log_unary: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the mass of each unit in each class, summed over its factors, and the log normaliser.

        `log_unary` has shape (n_units, K): log prior of the class plus log density of the rows of the unit.
        """
        mass = np.zeros_like(log_unary)
        single = log_unary[self.singles]
        log_z = log_sum_exp(single)
        mass[self.singles] += self.single_weights[:, None] * np.exp(single - log_z[:, None])
        total = float(self.single_weights @ log_z)
        if len(self.pairs):
            first, second, log_z = compute_pair_posterior(log_unary, self.pairs)
            mass += self._at_pairs @ np.concatenate([first, second])
            total += float(self.pair_weights @ log_z)
        for group in self.groups:
            marginals, log_z = group.compute_posterior(log_unary[group.units])
            mass[group.units] += group.weights[:, None, None] * marginals  # no unit is in two groups
            total += float(group.weights @ log_z)
        return mass, total

    def compute_prior(self, log_weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected class counts and the log normaliser under the prior and the cannot-links.

        Factors of one unit are left out: their log normaliser is 0, because the weights sum to 1.
        """
        counts, total = np.zeros_like(log_weights), 0.0
        if len(self.pairs):
            counts, total = compute_pair_prior(log_weights, float(self.pair_weights.sum()))
        for group in self._sorts:
            unary = np.broadcast_to(log_weights, (*group.units.shape, len(log_weights)))
            marginals, log_z = group.compute_posterior(unary)
            counts += np.einsum("g,guk->k", group.weights, marginals)
            total += float(group.weights @ log_z)
        return counts, total


class LoopyGroups:
    """Belief propagation over cannot-links. A message to a class is the log sum over the other classes.

    Messages are kept between calls as a warm start.
    """

    # Messages are averaged with their previous values; without damping they oscillate on cycles.
    _DAMPING, _SWEEPS, _TOL = 0.3, 50, 1e-6

    def __init__(self, edges: np.ndarray) -> None:
        self.units, ends = np.unique(edges, return_inverse=True)
        ends = ends.reshape(-1, 2)
        # Each edge occurs twice: message e goes from source to target, and its reverse is e ± E.
        self.source = np.concatenate([ends[:, 0], ends[:, 1]])
        self.target = np.concatenate([ends[:, 1], ends[:, 0]])
        n_edges = len(self.source)
        self.reverse = (np.arange(n_edges) + n_edges // 2) % n_edges
        ones = np.ones(n_edges)
        self.incoming = csr_array(
            coo_array((ones, (self.target, np.arange(n_edges))), shape=(len(self.units), n_edges))
        )
        self._messages: np.ndarray | None = None

    def infer(self, log_unary: np.ndarray) -> tuple[np.ndarray, float]:
        """Return beliefs (n_units, K) and Bethe's approximation of the log normaliser."""
        n_classes = log_unary.shape[1]
        if self._messages is None or self._messages.shape[1] != n_classes:
            self._messages = np.full((len(self.source), n_classes), -np.log(n_classes))
        messages = self._messages
        for _ in range(self._SWEEPS):
            new = log_sum_exp_of_others(self._compute_cavities(log_unary, messages))
            new -= log_sum_exp(new)[:, None]
            new = np.logaddexp(np.log1p(-self._DAMPING) + new, np.log(self._DAMPING) + messages)
            moved = np.abs(np.exp(new) - np.exp(messages)).max()
            messages = new
            if moved < self._TOL:
                break
        self._messages = messages
        belief = log_unary + self.incoming @ messages
        log_z = log_sum_exp(belief)
        # Bethe free energy: nodes plus edges, minus the node-edge terms (two per edge).
        cavities = self._compute_cavities(log_unary, messages)
        half = len(cavities) // 2
        edge = log_sum_exp(cavities[:half] + log_sum_exp_of_others(cavities[half:]))
        joint = log_sum_exp(cavities[self.reverse] + messages)
        return np.exp(belief - log_z[:, None]), float(log_z.sum() + edge.sum() - joint.sum())

    def _compute_cavities(self, log_unary: np.ndarray, messages: np.ndarray) -> np.ndarray:
        """Return the belief of each source without the message that comes back along the edge."""
        belief = log_unary + self.incoming @ messages
        cavity = belief[self.source] - messages[self.reverse]
        return cavity - log_sum_exp(cavity)[:, None]


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
