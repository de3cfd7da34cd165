"""Class variables tied by links: units, the factors they are in, and exact inference over each factor.

A *unit* is a set of rows that share one class variable. A *factor* is one unit, two units that must differ,
or a small group of units with cannot-links among some of them. Its unnormalised probability of a labelling z
is ``prod_u a[z_u] p(rows of u | z_u)`` wherever every cannot-link holds, and 0 elsewhere. Everything is in
logarithms.
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
        # What is done to each of many short rows is several times faster column by column.
        table = np.asfortranarray(table)
    peak = table.max(axis=-1, keepdims=True)
    found: np.ndarray = np.log(np.exp(table - peak).sum(axis=-1)) + peak[..., 0]
    return found


def log_sum_exp_of_others(table: np.ndarray) -> np.ndarray:
    """Return for each entry the log-sum-exp of the *other* entries of its row.

    The largest entry is taken out of the sum before the others are added, so nothing cancels: subtracting
    from the sum of all would leave nothing where one class has all the mass.
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
    scaled = np.exp(rest - second[:, None])  # the largest is 0 here
    sum_rest = scaled.sum(axis=1)
    # Without the largest: only the rest. Without another one: the largest, and the rest less that one.
    others = np.exp(second - peak)[:, None] * np.maximum(sum_rest[:, None] - scaled, 0.0)
    found = np.log1p(others) + peak[:, None]
    found[rows, at] = np.log(sum_rest) + second
    return found


def compute_pair_posterior(
    log_unary: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two marginals and the log normaliser of pairs of units whose classes must differ.

    The table ``exp(first[m] + second[m'])`` with an empty diagonal is never written out: O(K) a pair.
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
    """Return the expected counts and the log normaliser of pairs of so much weight, without densities."""
    first, _, log_z = compute_pair_posterior(log_weights[None], np.zeros((1, 2), dtype=np.int64))
    return 2 * weight * first[0], weight * float(log_z[0])


@dataclass(frozen=True, eq=False)
class GroupFactor:
    """Groups of the same size, enumerated: units (G, g) and whether each of K^g labellings is allowed."""

    units: np.ndarray
    allowed: np.ndarray  # (G, K, …, K) bool
    weights: np.ndarray

    def merge_alike(self) -> GroupFactor:
        """Return each sort of group once, with the weight of all that are like it.

        Without densities, groups differ only by which labellings are allowed, and there are few sorts.
        """
        flat = np.packbits(self.allowed.reshape(len(self.allowed), -1), axis=1)
        _, at, sort = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        weights = np.bincount(sort.ravel(), weights=self.weights)
        return GroupFactor(self.units[at], self.allowed[at], weights)

    def _compute_scores(self, log_unary: np.ndarray) -> np.ndarray:
        """Return the log probability of every labelling, unnormalised, shape (G, K, …, K)."""
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
        """Return the marginals (G, g, K) and log normalisers (G,) under unaries of shape (G, g, K)."""
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
        The rows that some link speaks of.
    members : csr_array of shape (n_units, H)
        1 where a unit holds a row.
    singles, single_weights
        Units that are factors by themselves, each once.
    pairs, pair_weights
        Pairs of units whose classes differ.
    groups : tuple of GroupFactor
        Groups of three units or more, enumerated. No unit is in two of them.
    n_approximate : int
        How many larger groups are not treated exactly.
    """

    rows: np.ndarray
    members: csr_array
    singles: np.ndarray
    single_weights: np.ndarray
    pairs: np.ndarray
    pair_weights: np.ndarray
    groups: tuple[GroupFactor, ...] = ()
    n_approximate: int = 0
    _at_pairs: csr_array = field(init=False)  # adds what each end of each pair has to its unit, by weight
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
        """The weight of the factors of one unit."""
        return float(self.single_weights.sum())

    def infer(self, log_unary: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the mass of each unit in each class, summed over its factors, and the log normaliser.

        `log_unary` has shape (n_units, K): the prior of the class plus the log density of the unit's rows.
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
        """Return what the cannot-links alone make of the class weights: expected counts, log normaliser.

        Factors of one unit are left out: theirs is 0 for weights that add up to 1.
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
