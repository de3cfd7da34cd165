"""How likely each answer is, given what is true: fixed, or learned from how hints and clusters disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

NoiseKind = Literal["uniform", "confusion"]
# Before any hint is seen, a learned noise counts as many answers as this for each true relation, wrong ones
# with probability epsilon. Few hints then leave the noise near epsilon, and many outvote it.
PRIOR_COUNT = 20.0


@dataclass(frozen=True, eq=False)
class Noise:
    """How people answer: the probability of each answer for each true relation.

    Attributes
    ----------
    pairs : ndarray of shape (2, 2)
        Row: what is true, together or apart. Column: what is said, must-link or cannot-link.
    triplets : ndarray of shape (4, 4)
        Row: what is true, column: what is said; both in the order AB, AC, BC, NEITHER.
    """

    pairs: np.ndarray
    triplets: np.ndarray

    @classmethod
    def uniform(cls, pair_epsilon: float, triplet_epsilon: float) -> Noise:
        """Return the noise of Pei et al. 2016, tables 3.1 and 3.2: each wrong answer is equally likely."""
        return cls(_uniform(2, pair_epsilon), _uniform(4, triplet_epsilon))

    def logs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of both tables."""
        return np.log(self.pairs), np.log(self.triplets)


def _uniform(size: int, epsilon: float) -> np.ndarray:
    table = np.full((size, size), epsilon / (size - 1))
    np.fill_diagonal(table, 1.0 - epsilon)
    return table


def _exchangeable(counts: np.ndarray) -> np.ndarray:
    """Return counts (4, 4) in which AB, AC and BC have been averaged over."""
    mean = np.empty((4, 4))
    right = np.trace(counts[:3, :3])
    mean[:3, :3] = counts[:3, :3][~np.eye(3, dtype=bool)].mean()
    np.fill_diagonal(mean[:3, :3], right / 3)
    mean[:3, 3] = counts[:3, 3].mean()
    mean[3, :3] = counts[3, :3].mean()
    mean[3, 3] = counts[3, 3]
    return mean


def learn_noise(kind: NoiseKind, prior: Noise, counts: tuple[np.ndarray, np.ndarray]) -> Noise:
    """Return the most probable noise, given the expected counts of (true relation, answer).

    For "confusion" each row of a table has a Dirichlet prior whose mode is the row of `prior`; for "uniform"
    the one probability of a wrong answer has the Beta prior that follows. `prior_log_density` is the
    logarithm of either, up to a constant, so what is returned maximises counts and prior together.

    AB, AC and BC share their numbers: hints keep the rows of a triplet in ascending order, so that which of
    the three an answer is called tells nothing.
    """
    tables = []
    for table, seen in zip((prior.pairs, prior.triplets), counts, strict=True):
        total = np.maximum(seen, 0.0) + PRIOR_COUNT * table
        if kind == "confusion":
            total = total if len(total) == 2 else _exchangeable(total)
            tables.append(total / total.sum(axis=1, keepdims=True))
        else:
            wrong = total[~np.eye(len(total), dtype=bool)].sum() / total.sum()
            # Beyond chance the answers would be read as their opposite; the density falls on either side
            # of its mode, so that the nearest allowed value is the best one.
            tables.append(_uniform(len(table), min(wrong, 0.9 * (1.0 - 1.0 / len(table)))))
    return Noise(*tables)


def prior_log_density(noise: Noise, prior: Noise) -> float:
    """Return the logarithm of the prior density of a learned noise, up to a constant."""
    pairs, triplets = noise.logs()
    return PRIOR_COUNT * float((prior.pairs * pairs).sum() + (prior.triplets * triplets).sum())
