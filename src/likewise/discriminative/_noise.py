"""Probabilities of answers given the truth: fixed, or learned from disagreement of hints and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

NoiseKind = Literal["uniform", "confusion"]
# Pseudo-count of the prior of a learned noise for each true relation, with errors at the rate epsilon. With
# few hints the noise stays near epsilon; many hints outweigh the prior.
PRIOR_COUNT = 20.0


@dataclass(frozen=True, eq=False)
class Noise:
    """The probability of each answer for each true relation.

    Parameters
    ----------
    pairs : ndarray of shape (2, 2)
        Rows are the true relation, together or apart; columns are the answer, must-link or cannot-link.
    triplets : ndarray of shape (4, 4)
        Rows are the true relation, columns are the answer; both in the order AB, AC, BC, NEITHER.

    Examples
    --------
    >>> from likewise.discriminative import Noise
    >>> Noise.uniform(0.1, 0.3).pairs.tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """

    pairs: np.ndarray
    triplets: np.ndarray

    @classmethod
    def uniform(cls, pair_epsilon: float, triplet_epsilon: float) -> Noise:
        """Return the noise in which all wrong answers are equally likely (Pei 2017, tables 3.1 and 3.2).

        Parameters
        ----------
        pair_epsilon : float
            Probability that the answer about a pair is wrong.
        triplet_epsilon : float
            Probability that the answer about a triplet is wrong.

        Returns
        -------
        noise : Noise
            The noise.
        """
        return cls(_make_uniform_table(2, pair_epsilon), _make_uniform_table(4, triplet_epsilon))

    def compute_logs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of both tables.

        Returns
        -------
        pairs : ndarray of shape (2, 2)
            The logarithm of `pairs`.
        triplets : ndarray of shape (4, 4)
            The logarithm of `triplets`.
        """
        return np.log(self.pairs), np.log(self.triplets)


def _make_uniform_table(size: int, epsilon: float) -> np.ndarray:
    table = np.full((size, size), epsilon / (size - 1))
    np.fill_diagonal(table, 1.0 - epsilon)
    return table


def _make_exchangeable(counts: np.ndarray) -> np.ndarray:
    """Return counts of shape (4, 4), averaged over the order of AB, AC and BC."""
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
    the single error probability has the corresponding Beta prior. The result maximises the likelihood of the
    counts times this prior, whose logarithm is `compute_prior_log_density`, up to a constant.

    AB, AC and BC share their probabilities: the rows of a triplet are stored in ascending order, so the three
    names are interchangeable.
    """
    tables = []
    for table, seen in zip((prior.pairs, prior.triplets), counts, strict=True):
        total = np.maximum(seen, 0.0) + PRIOR_COUNT * table
        if kind == "confusion":
            total = total if len(total) == 2 else _make_exchangeable(total)
            tables.append(total / total.sum(axis=1, keepdims=True))
        else:
            wrong = total[~np.eye(len(total), dtype=bool)].sum() / total.sum()
            # Above chance level, answers would mean their opposite. The density is unimodal, so the nearest
            # allowed value is the best.
            tables.append(_make_uniform_table(len(table), min(wrong, 0.9 * (1.0 - 1.0 / len(table)))))
    return Noise(*tables)


def compute_prior_log_density(noise: Noise, prior: Noise) -> float:
    """Return the logarithm of the prior density of a learned noise, up to a constant."""
    pairs, triplets = noise.compute_logs()
    return PRIOR_COUNT * float((prior.pairs * pairs).sum() + (prior.triplets * triplets).sum())
