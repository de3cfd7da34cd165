"""Units and factors of linked rows, and exact inference over each factor.

A *unit* is a set of rows that share one class variable. A *factor* is one unit, two units that must differ,
or a small group of units with cannot-links among some of them. The unnormalised probability of a labelling z
of a factor is ``prod_u a[z_u] p(rows of u | z_u)`` if every cannot-link holds, and 0 otherwise. All tables
hold logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array, csr_array


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
