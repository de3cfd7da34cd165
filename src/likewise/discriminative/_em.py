"""The variational EM loop, for soft and hard hints and for learned noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr

from likewise.discriminative._hints import HintTerms
from likewise.discriminative._noise import Noise, NoiseKind, compute_prior_log_density, learn_noise
from likewise.discriminative._softmax import Objective

# A sweep costs less than a gradient, and a converged q reduces the number of gradients.
_SWEEPS = 10
_SWEEP_TOL = 1e-3
# A few steps are enough to raise the bound; converging for a q that is about to change would be wasteful.
_CLIMB_STEPS = 5
_CLIMB_TOL = 1e-7


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
