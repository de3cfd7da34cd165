"""Particles: draws of the weights from their posterior, updated with new answers.

Sequential Monte Carlo: particles are weighted by the likelihood of new answers, resampled, and moved by slice
sampling (Pei 2017, section 4.3.3). Many new answers are introduced gradually (tempering).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from likewise.bayesian._answer_network import AnswerNetwork
from likewise.bayesian._prior import Prior

# Minimum share of effective particles after a step.
ENOUGH = 0.5
# A slice shrinks by about half each time; a particle that finds no point in this many trials stays unchanged.
_MAX_SHRINKS = 60


@dataclass(frozen=True, eq=False)
class Target:
    """The log-density of the weights apart from their Gaussian prior: the prior of the rows, and the answers.

    Attributes
    ----------
    prior : Prior
        The prior of the weights.
    network : AnswerNetwork
        The answers.
    features : ndarray of shape (n_rows, n_columns)
        The features of hinted rows, which may include more rows than the network, then of the rows that the
        prior uses.
    answered : ndarray
        Positions of the rows of the network in `features`.
    n_hinted : int
        Number of hinted rows in `features`.
    """

    prior: Prior
    network: AnswerNetwork
    features: np.ndarray
    answered: np.ndarray
    n_hinted: int

    def compute_logits(self, W: np.ndarray) -> np.ndarray:
        """Return the logits of all rows for weights of shape (S, k, n_columns), shape (S, k, n)."""
        flat = W.reshape(-1, W.shape[2]) @ self.features.T
        return np.asarray(flat.reshape(*W.shape[:2], -1))

    def compute_value(self, logits: np.ndarray) -> np.ndarray:
        """Return the log-density without the Gaussian prior, shape (S,); the logits are overwritten."""
        value = np.zeros(len(logits))
        if len(self.answered):
            # SciPy's log_softmax also handles infinite logits, and takes 1.5 times as long.
            log_p = logits[:, :, self.answered]
            log_p -= log_p.max(axis=1, keepdims=True)
            log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
            value += self.network.log_likelihood(np.ascontiguousarray(log_p.transpose(0, 2, 1)))
        return value + self.prior.compute_row_part(logits[:, :, self.n_hinted :])


def compute_effective_number(log_weight: np.ndarray) -> float:
    """Return the effective number of particles: 1 / sum of squared weights."""
    return float(np.exp(2 * logsumexp(log_weight) - logsumexp(2 * log_weight)))


def resample_systematically(log_weight: np.ndarray, start: float) -> np.ndarray:
    """Return the indices of the resampled particles, each repeated in proportion to its weight.

    `start`, from 0 to below 1, is the only random number.
    """
    n = len(log_weight)
    steps = np.cumsum(np.exp(log_weight - logsumexp(log_weight)))
    steps[-1] = 1.0
    return np.minimum(np.searchsorted(steps, (start + np.arange(n)) / n, side="right"), n - 1)


def find_next_degree(gain: np.ndarray, degree: float) -> float:
    """Return the next temperature between `degree` and 1 at which enough particles stay effective."""
    wanted = ENOUGH * len(gain)
    if compute_effective_number((1.0 - degree) * gain) >= wanted:
        return 1.0
    low, high = 0.0, 1.0 - degree
    for _ in range(30):
        middle = (low + high) / 2
        if compute_effective_number(middle * gain) >= wanted:
            low = middle
        else:
            high = middle
    return degree + max(low, 1e-6)


def move_by_slices(
    W: np.ndarray,
    value: Callable[[np.ndarray], np.ndarray],
    logits: Callable[[np.ndarray], np.ndarray],
    precision: float,
    n_moves: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the particles after `n_moves` moves, which leave the density invariant.

    Elliptical slice sampling (Murray, Adams & MacKay 2010): a particle and a draw from the Gaussian span an
    ellipse, on which a point of the slice is searched in a shrinking interval of angles. There is nothing to
    tune, and the logits at an angle are a linear combination of two known logits.
    """
    at = logits(W)
    now = value(at.copy())
    for _ in range(n_moves):
        other = rng.standard_normal(W.shape) / np.sqrt(precision)
        there = logits(other)
        level = now + np.log1p(-rng.random(len(W)))
        angle = rng.random(len(W)) * 2 * np.pi
        low, high = angle - 2 * np.pi, angle.copy()
        seek = np.arange(len(W))
        W, at, now = W.copy(), at.copy(), now.copy()
        for _ in range(_MAX_SHRINKS):
            cos, sin = np.cos(angle[seek])[:, None, None], np.sin(angle[seek])[:, None, None]
            tried = at[seek] * cos + there[seek] * sin
            found = value(tried.copy())
            fits = found > level[seek]
            done = seek[fits]
            W[done] = W[done] * cos[fits] + other[done] * sin[fits]
            at[done], now[done] = tried[fits], found[fits]
            seek = seek[~fits]
            if not len(seek):
                break
            back = angle[seek] < 0
            low[seek] = np.where(back, angle[seek], low[seek])
            high[seek] = np.where(back, high[seek], angle[seek])
            angle[seek] = low[seek] + rng.random(len(seek)) * (high[seek] - low[seek])
    return W


def carry(
    W: np.ndarray, old: Target | None, new: Target, n_moves: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Move particles from the posterior `old` to the posterior `new`; return them and the number of steps.

    If `old` is None, particles are draws from the Gaussian prior. Each step keeps half of the particles
    effective, then resamples and moves them. `old` and `new` must have the same features in the same order.
    """
    before = old.compute_value if old is not None else _return_zero
    degree, n_steps = 0.0, 0
    while degree < 1.0:
        logits = new.compute_logits(W)
        gain = new.compute_value(logits.copy()) - before(logits)
        further = find_next_degree(gain, degree)
        log_weight = (further - degree) * gain
        W = W[resample_systematically(log_weight, rng.random())]
        degree = further

        def compute_value(logits: np.ndarray, degree: float = degree) -> np.ndarray:
            if degree == 1.0:
                return new.compute_value(logits)
            part = (1.0 - degree) * before(logits.copy()) if old is not None else 0.0
            return np.asarray(degree * new.compute_value(logits) + part)

        W = move_by_slices(W, compute_value, new.compute_logits, new.prior.precision, n_moves, rng)
        n_steps += 1
    return W, n_steps


def _return_zero(logits: np.ndarray) -> np.ndarray:
    return np.zeros(len(logits))
