"""The objective of the softmax model, its gradient, and the variational EM loop that maximises it.

With q, the distributions of the clusters of the hinted rows, the bound (3.7) of Pei (2017) is maximised by
two alternating steps (`HintedObjective.maximise`): mean field over q, equations (3.8) to (3.11)
(`HintTerms.expect` in ``_hints.py``), and L-BFGS over the weights of `Objective`, the terms of (3.6) and
(3.7) that depend on them.

Hinted rows are in memory and processed together. All other rows are processed in blocks, in memory, on disk
or on Dask; a block returns sums. Probabilities are stored as clusters x rows: sums over clusters then add
contiguous rows of memory, which is several times faster than many short sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, log_softmax

from likewise.backends import Block, Rows, add_in_pairs, as_rows, get_scratch, open_thread_map, split_rows
from likewise.discriminative._hints import (
    HintTerms,
    Noise,
    NoiseKind,
    compute_prior_log_density,
    learn_noise,
)

T = TypeVar("T")

_TINY = 1e-300
_NO_ROWS = np.empty(0, dtype=np.int64)
# Number of rows that are processed at a time, so that intermediate results need little memory.
_PART = 8192
# A sweep costs less than a gradient, and a converged q reduces the number of gradients.
_SWEEPS = 10
_SWEEP_TOL = 1e-3
# A few steps are enough to raise the bound; converging for a q that is about to change would be wasteful.
_CLIMB_STEPS = 5
_CLIMB_TOL = 1e-7

# Computes the features of rows in float64, which L-BFGS needs.
See = Callable[[np.ndarray], np.ndarray]


def as_they_are(X: np.ndarray) -> np.ndarray:
    """Return the rows in float64, without a copy if they already are."""
    return np.asarray(X, dtype=np.float64)


def split_block(n_rows: int) -> Iterator[slice]:
    """Yield the parts of a block, which are processed one after another."""
    for at in range(0, n_rows, _PART):
        yield slice(at, min(at + _PART, n_rows))


def _transform_part(see: See, X: np.ndarray) -> np.ndarray:
    """Return the features of a part of a block; the buffer is reused for the next part."""
    if X.dtype != np.float64:
        room = get_scratch("rows", X.shape, np.float64)
        room[...] = X
        X = room
    return see(X)


def _compute_powers(W: np.ndarray, Z: np.ndarray, e: np.ndarray, u: np.ndarray) -> None:
    """Write the logits minus the largest logit of each row to `u`, and their exponentials to `e`.

    The probabilities p are `e` up to a factor per row; using `e` saves two divisions per entry.
    """
    np.matmul(W[:, :-1], Z.T, out=u)
    u += W[:, -1:]
    u -= u.max(axis=0)
    np.exp(u, out=e)


def _compute_block_powers(see: See, W: np.ndarray, block: Block) -> np.ndarray:
    """Return the exponentials and logits of a block, shape (2 k, n)."""
    out, k = np.empty((2 * len(W), len(block))), len(W)
    for part in split_block(len(block)):
        _compute_powers(W, _transform_part(see, block.X[part]), out[:k, part], out[k:, part])
    return out


@dataclass(frozen=True, eq=False)
class _Forward:
    """Sums over rows: the probabilities, and one more value.

    `stored` is True if the probabilities of the rows were stored.
    """

    p: np.ndarray
    value: float
    stored: bool = True

    def __add__(self, other: _Forward) -> _Forward:
        return _Forward(self.p + other.p, self.value + other.value, self.stored and other.stored)


def _sum_block_forward(see: See, W: np.ndarray, hinted_rows: np.ndarray, block: Block) -> _Forward:
    """Return the weighted sums of p and of <p, log p> over the unhinted rows of a block."""
    weight, k, kept = block.get_weight_without(hinted_rows), len(W), block.kept
    total, plogp = np.zeros(k), 0.0
    size = min(len(block), _PART)
    room = get_scratch("powers", (2 * k, size), np.float64) if kept is None else kept
    for part in split_block(len(block)):
        here = room[:, : part.stop - part.start] if kept is None else room[:, part]
        e, u = here[:k], here[k:]
        _compute_powers(W, _transform_part(see, block.X[part]), e, u)
        norm = e.sum(axis=0)
        share = weight[part] / norm
        total += e @ share
        plogp += float(np.einsum("kn,kn->n", e, u) @ share - np.log(norm) @ weight[part])
    return _Forward(total, plogp, kept is not None)


def _sum_block_backward(
    see: See, W: np.ndarray, hinted_rows: np.ndarray, clarity: float, log_mean: np.ndarray, block: Block
) -> np.ndarray:
    """Return the contribution of the unhinted rows of a block to the gradient, up to a common factor.

    The gradient of the information term with respect to the logits is p (s - <p, s>), where s is its
    derivative with respect to p, up to a constant. `clarity` is the weight of an unhinted row in the second
    entropy relative to the first. Stored values of the block are not modified, so a pass can be repeated.
    """
    weight, k, kept = block.get_weight_without(hinted_rows), len(W), block.kept
    gradient = np.zeros(W.shape)
    size = min(len(block), _PART)
    room, more = get_scratch("steps", (k, size), np.float64), get_scratch("powers", (k, size), np.float64)
    for part in split_block(len(block)):
        Z, s = _transform_part(see, block.X[part]), room[:, : part.stop - part.start]
        if kept is None:
            e = more[:, : part.stop - part.start]
            _compute_powers(W, Z, e, s)
            s *= clarity
        else:
            e = kept[:k, part]
            np.multiply(kept[k:, part], clarity, out=s)
        norm = e.sum(axis=0)
        s -= log_mean[:, None]
        s -= np.einsum("kn,kn->n", e, s) / norm
        s *= e
        s *= weight[part] / norm
        gradient[:, :-1] += s @ Z
        gradient[:, -1] += s.sum(axis=1)
    return gradient


class _HintedPart:
    """Some hinted rows, with buffers for their probabilities to avoid allocations."""

    def __init__(self, Z: np.ndarray, weight: np.ndarray, which: slice, k: int) -> None:
        self.Z, self.weight, self.which = Z[which], weight[which], which
        self.p, self.t = np.empty((k, len(self.Z))), np.empty((k, len(self.Z)))

    def sum_forward(self, W: np.ndarray, q: np.ndarray) -> _Forward:
        """Return the weighted sum of p and the sum of <q, log p>."""
        _compute_powers(W, self.Z, self.p, self.t)
        norm = self.p.sum(axis=0)
        self.p /= norm
        self.t -= np.log(norm)
        # einsum does not copy the slice, which is not contiguous; vdot would.
        return _Forward(self.p @ self.weight, float(np.einsum("kn,kn->", q[:, self.which], self.t)))

    def sum_backward(self, q: np.ndarray, m: float, log_mean: np.ndarray) -> np.ndarray:
        """Return their contribution to the gradient; hinted rows are only in the first entropy."""
        s = np.multiply.outer(-log_mean, self.weight)
        s -= np.einsum("kn,kn->n", self.p, s)
        s *= self.p
        s += (q[:, self.which] - self.p) / m
        return np.column_stack([s @ self.Z, s.sum(axis=1)])


class Objective:
    """The objective of the weights W (clusters x columns, the last column is the bias) for given q.

    .. math::

        \\frac1m \\sum_{i \\in I} \\sum_k q_{ik} \\log p_{ik}
        + \\tau \\Big[ H\\big(\\sum_i r_i p_i\\big) - \\sum_{i \\in U} u_i H(p_i) \\Big] - \\alpha \\|W\\|^2

    A value and its gradient need two passes over the rows. The first computes the mean of p, which the second
    needs. In between, p is stored with the rows if there is memory for it, and otherwise computed again.

    Parameters
    ----------
    rows : Rows
        Rows with their weights in the information term; r contains the weights divided by the sum over all
        rows, u divided by the sum over unhinted rows.
    Z, weight : ndarray
        The features of the hinted rows, before `offset` and `scale`, and their weights.
    n_clusters : int
        The number of clusters.
    m, tau, alpha : float
        The total weight of the hints, and the weights of the information term and the penalty. The bias is
        not penalised.
    hinted_rows : ndarray
        The positions of the hinted rows in `rows`, in the order of Z. They are ignored there. Empty if `rows`
        contains only unhinted rows.
    see : callable
        Computes the features of rows, before `offset` and `scale`.
    offset, scale : ndarray, optional
        Subtracted from the columns, and then divided by. They are applied to the weights instead of the rows,
        which is cheaper.
    """

    def __init__(
        self,
        rows: Rows,
        Z: np.ndarray,
        weight: np.ndarray,
        n_clusters: int,
        *,
        m: float,
        tau: float,
        alpha: float,
        hinted_rows: np.ndarray = _NO_ROWS,
        see: See = as_they_are,
        offset: np.ndarray | None = None,
        scale: np.ndarray | None = None,
    ) -> None:
        self._rows, self._see, self._hinted, self._Z = rows, see, np.sort(hinted_rows), Z
        self.m, self._tau, self._alpha = m, tau, alpha
        hinted_weight = float(weight.sum())
        total = rows.total_weight + (0.0 if len(hinted_rows) else hinted_weight)
        self._share = 1.0 / total
        self._few = [_HintedPart(Z, weight / total, which, n_clusters) for which in split_rows(len(Z))]
        self.shape = (n_clusters, Z.shape[1] + 1)
        self._offset = offset
        self._scale = np.append(np.ones(Z.shape[1]) if scale is None else scale, 1.0)
        self._passes = tau > 0 and len(hinted_rows) < len(rows)
        if self._passes:
            nowhere = partial(_compute_block_powers, see, np.zeros(self.shape))
            self._kept = rows.make_column(np.float64, nowhere, 2 * n_clusters)
        # The weight of an unhinted row in the second entropy relative to the first. Rounding must not give
        # weight to unhinted rows whose weights are all 0.
        free = 1.0 - hinted_weight / total
        self._clarity = 1.0 / free if free > 1e-12 else 0.0

    @classmethod
    def from_rows(
        cls, rows: Rows, hinted_rows: np.ndarray, n_clusters: int, *, see: See, **terms: Any
    ) -> Objective:
        """Return the objective for rows in memory, on disk or on Dask; hinted rows are read once."""
        Z = see(rows.take(hinted_rows))
        return cls(
            rows, Z, rows.get_weights(hinted_rows), n_clusters, hinted_rows=hinted_rows, see=see, **terms
        )

    @classmethod
    def from_memory(
        cls, Z: np.ndarray, weight: np.ndarray, hinted_rows: np.ndarray, n_clusters: int, **terms: Any
    ) -> Objective:
        """Return the objective for rows in memory, given their features."""
        free = np.ones(len(Z), dtype=bool)
        free[hinted_rows] = False
        rows = as_rows(Z[free], weight=weight[free])
        return cls(rows, Z[hinted_rows], weight[hinted_rows], n_clusters, **terms)

    def _fold_weights(self, W: np.ndarray) -> np.ndarray:
        """Return the weights that apply to the columns of `see`."""
        folded: np.ndarray = W / self._scale
        if self._offset is not None:
            folded[:, -1] -= folded[:, :-1] @ self._offset
        return folded

    def log_p_hinted(self, W: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities of the hinted rows, (n_hinted, n_clusters)."""
        W = self._fold_weights(W)
        logits = self._Z @ W[:, :-1].T + W[:, -1]
        log_p: np.ndarray = log_softmax(logits, axis=1)
        return log_p

    def compute_value_and_gradient(
        self, W: np.ndarray, q: np.ndarray, mean_of: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient; q has shape (n_clusters, n_hinted).

        If the rows are a batch, `mean_of` converts their mean of p to the mean for the balance of the
        clusters; the result is treated as a constant.
        """
        mean, value, stored = np.zeros(len(W)), -self._alpha * float((W[:, :-1] ** 2).sum()), True
        scaled = self._fold_weights(W)
        if self._few:
            found = self._sum_over_hinted(lambda few: few.sum_forward(scaled, q))
            mean, value = found.p, value + found.value / self.m
        if self._passes:
            recipe = partial(_compute_block_powers, self._see, scaled)
            work = partial(_sum_block_forward, self._see, scaled, self._hinted)
            found = self._rows.sum(work, self._kept, new_recipe=recipe, overwrite=True)
            mean, stored = mean + self._share * found.p, found.stored
            value += self._tau * self._share * self._clarity * found.value
        if mean_of is not None:
            mean = mean_of(mean)
        log_mean = np.log(np.maximum(mean, _TINY))  # a cluster may become empty
        value -= self._tau * float(mean @ log_mean)
        gradient = np.zeros(self.shape)
        if self._few:
            gradient += self._sum_over_hinted(lambda few: few.sum_backward(q, self.m, self._tau * log_mean))
        if self._passes:
            back = partial(_sum_block_backward, self._see, scaled, self._hinted, self._clarity, log_mean)
            # If p was not stored, each part is computed again and used while it is in the cache.
            gradient += self._tau * self._share * self._rows.sum(back, self._kept if stored else None)
        if self._offset is not None:
            gradient[:, :-1] -= np.multiply.outer(gradient[:, -1], self._offset)
        gradient /= self._scale
        gradient[:, :-1] -= 2.0 * self._alpha * W[:, :-1]
        return value, gradient

    def _sum_over_hinted(self, work: Callable[[_HintedPart], T]) -> T:
        """Return the sum of `work` over the parts of the hinted rows."""
        if len(self._few) == 1:  # the usual case; small fits consist of many small steps
            return work(self._few[0])
        with open_thread_map(min(self._rows.threads, len(self._few))) as each:
            total: T = add_in_pairs(each(work, self._few))
        return total

    def maximise(
        self, W: np.ndarray, q: np.ndarray, *, max_iter: int, tol: float
    ) -> tuple[np.ndarray, float]:
        """Maximise from W by at most `max_iter` L-BFGS steps; return weights and value, never worse."""

        def compute_loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.compute_value_and_gradient(flat.reshape(W.shape), q)
            return -value, -gradient.ravel()

        found = minimize(
            compute_loss,
            W.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-7},
        )
        return found.x.reshape(W.shape), -float(found.fun)


@dataclass(frozen=True, eq=False)
class VariationalState:
    """The state of a fit: weights (clusters x columns), q (hinted rows x clusters), and the noise."""

    W: np.ndarray
    q: np.ndarray
    noise: Noise


@dataclass(frozen=True, eq=False)
class DiscriminativeFit:
    """The final state of a fit, the bound after each iteration, and whether it converged."""

    state: VariationalState
    bounds: tuple[float, ...]
    converged: bool

    def continue_from(self, other: DiscriminativeFit) -> DiscriminativeFit:
        """Return this fit with the bounds of an earlier fit before its own."""
        return replace(self, bounds=other.bounds + self.bounds)


@dataclass(frozen=True, eq=False)
class HintedObjective:
    """The objective of the weights, the hints, and the prior of their noise."""

    objective: Objective
    terms: HintTerms
    prior: Noise
    learned: NoiseKind | None = None

    def start(self, W: np.ndarray) -> VariationalState:
        """Return the initial state for given weights; q contains the probabilities of the model."""
        return VariationalState(W, np.exp(self.objective.log_p_hinted(W)), self.prior)

    def compute_bound(self, state: VariationalState, value: float, *, hard: bool = False) -> float:
        """Return the lower bound, eq. (3.7), given the value of the objective of the weights.

        It includes the log-prior of a learned noise, up to a constant. With hard hints the share of satisfied
        hints replaces their log-likelihood, which is 0 or minus infinity.
        """
        if not self.terms.total_weight:
            return value
        m = self.objective.m
        value += float(entr(state.q).sum()) / m
        if hard:
            return value + sum(float(np.trace(seen)) for seen in self.terms.compute_counts(state.q)) / m
        if self.learned is not None:
            value += compute_prior_log_density(state.noise, self.prior) / m
        return value + self.terms.log_likelihood(state.q, state.noise) / m

    def maximise(
        self,
        state: VariationalState,
        *,
        max_iter: int,
        tol: float,
        hard: bool = False,
        learn: bool = False,
        done: Callable[[], bool] = lambda: False,
    ) -> DiscriminativeFit:
        """Alternate until an iteration changes the bound by no more than `tol`.

        q continues from the last iteration: initialising it again could lower the bound.
        """
        bounds: list[float] = []
        converged = False
        while len(bounds) < max_iter and not converged:
            state, value = self._iterate(state, hard=hard, learn=learn)
            bounds.append(self.compute_bound(state, value, hard=hard))
            converged = len(bounds) > 1 and abs(bounds[-1] - bounds[-2]) <= tol
            if done():
                break
        return DiscriminativeFit(state, tuple(bounds), converged)

    def _iterate(self, state: VariationalState, *, hard: bool, learn: bool) -> tuple[VariationalState, float]:
        W, q, noise = state.W, state.q.copy(), state.noise
        if len(self.terms):
            log_p = self.objective.log_p_hinted(W)
            self.terms.expect(log_p, q, None if hard else noise, max_sweeps=_SWEEPS, tol=_SWEEP_TOL)
            if learn and self.learned is not None:
                noise = learn_noise(self.learned, self.prior, self.terms.compute_counts(q))
        target = np.ascontiguousarray(q.T)
        W, value = self.objective.maximise(W, target, max_iter=_CLIMB_STEPS, tol=_CLIMB_TOL)
        return VariationalState(W, q, noise), value
