"""The posterior of the weights: its prior, particles, most probable weights, and the probabilities they give.

Particles are draws from the posterior, updated with new answers by sequential Monte Carlo: they are weighted
by the likelihood of new answers, resampled, and moved by slice sampling (Pei 2017, section 4.3.3). Many new
answers are introduced gradually (tempering). The most probable weights are found by L-BFGS from several
starts (section 4.3.4).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from likewise.bayesian._answer_network import AnswerNetwork
from likewise.kernels.softmax import add_masses, differentiate_softmax, mix_logits, rotate, transpose

_TINY = 1e-300
# Minimum share of effective particles after a step.
ENOUGH = 0.5
# A slice shrinks by about half each time; a particle that finds no point in this many trials stays unchanged.
_MAX_SHRINKS = 60
_NUMBERS_AT_ONCE = 1 << 19  # logits of particles that are moved together, few enough for the cache
_ROWS_AT_ONCE = 2048  # rows whose logits are computed together for one model, few enough for the cache
# Ridge regression gives logits that differ by about 1; this factor makes clusters clear but not certain.
_STRETCH = 4.0


@dataclass(frozen=True)
class Prior:
    """log P(W | X) = -lambda/2 |W|^2 - tau mean_i H(p_i) + balance H(mean_i p_i); (4.3) has no balance."""

    precision: float
    tau: float
    balance: float

    def compute_row_part(self, logits: np.ndarray) -> np.ndarray:
        """Return the terms that depend on rows, (S,), for logits (S, k, n) whose maximum of each row is 0."""
        n_models, _, n = logits.shape
        if not n or not (self.tau or self.balance):
            return np.zeros(n_models)
        p = np.exp(logits)
        mass, mixed = np.empty((2, n_models, n))
        add_masses(p, logits, mass, mixed)
        # H(p) = log of the mass - sum of p times logit, where p is divided by the mass
        entropy = (np.log(mass) - mixed / mass).mean(axis=1)
        value = -self.tau * entropy
        if self.balance:
            mean = np.matmul(p, (1.0 / mass)[:, :, None])[:, :, 0] / n
            value -= self.balance * (mean * np.log(np.maximum(mean, _TINY))).sum(axis=1)
        return np.asarray(value)


@dataclass(frozen=True, eq=False)
class Target:
    """The log-density of the weights without their Gaussian prior: prior of the rows, and answers."""

    prior: Prior  # the prior of the weights
    network: AnswerNetwork  # the answers
    # (n_rows, n_columns) the features of hinted rows, which may include more rows than the network, then of
    # the rows that the prior uses
    features: np.ndarray
    answered: np.ndarray  # positions of the rows of the network in `features`
    n_hinted: int  # number of hinted rows in `features`

    def compute_logits(self, W: np.ndarray) -> np.ndarray:
        """Return the logits of all rows for weights of shape (S, k, n_columns), shape (S, k, n)."""
        flat = W.reshape(-1, W.shape[2]) @ self.features.T
        return np.asarray(flat.reshape(*W.shape[:2], -1))

    def compute_answer_part(self, logits: np.ndarray) -> np.ndarray:
        """Return log P(answers | W), (S,), for logits of hinted rows whose maximum over clusters is 0."""
        if not len(self.answered):
            return np.zeros(len(logits))
        out = np.empty((len(logits), len(self.answered), logits.shape[1]))
        p = np.exp(logits)
        mass = p.sum(axis=1)
        if self.network.is_plain:
            transpose(p, 1.0 / mass, np.zeros_like(mass), self.answered, out)
            return self.network.sum_over_clusters(out)
        transpose(logits, np.ones_like(mass), -np.log(mass), self.answered, out)
        return self.network.log_likelihood(out)

    def compute_value(self, logits: np.ndarray) -> np.ndarray:
        """Return the log-density without the Gaussian prior, shape (S,)."""
        logits = logits - logits.max(axis=1, keepdims=True)
        hinted, seen = logits[:, :, : self.n_hinted].copy(), logits[:, :, self.n_hinted :].copy()
        return self.compute_answer_part(hinted) + self.prior.compute_row_part(seen)


@dataclass(frozen=True, eq=False)
class Tempered:
    """The log-density between two posteriors of the same rows and prior, or from the Gaussian to one.

    (1 - degree) times that of `old`, or nothing if it is None, plus degree times that of `new`. It is a sum
    of a part of the answers, and a part of the rows that the prior uses.
    """

    old: Target | None
    new: Target
    degree: float

    def compute_answer_part(self, logits: np.ndarray) -> np.ndarray:
        """Return the part of the answers, (S,), for logits of hinted rows whose maximum is 0."""
        value = self.degree * self.new.compute_answer_part(logits)
        if self.old is not None and self.degree < 1.0:
            value += (1.0 - self.degree) * self.old.compute_answer_part(logits)
        return value

    def _get_share(self) -> float:
        return self.degree if self.old is None else 1.0

    def compute_row_part(self, logits: np.ndarray) -> np.ndarray:
        """Return the part of the rows, (S,), for logits of these rows whose maximum is 0."""
        return self._get_share() * self.new.prior.compute_row_part(logits)

    def get_max_of_rows(self, n_clusters: int) -> float:
        """Return the largest possible part of the rows: no doubt about any row, and equal clusters."""
        return self._get_share() * self.new.prior.balance * np.log(n_clusters) * (1.0 + 1e-9)


def compute_effective_number(log_weight: np.ndarray) -> float:
    """Return the effective number of particles: 1 / sum of squared weights."""
    weight = np.exp(log_weight - log_weight.max())
    return float(weight.sum() ** 2 / (weight @ weight))


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


@dataclass(frozen=True, eq=False)
class Particles:
    """Draws of the weights, with what was computed for them."""

    W: np.ndarray  # (S, k, n_columns)
    logits: np.ndarray  # (S, k, n) of all rows of the target
    value: np.ndarray  # (S,) their log-density


def move_by_slices(
    particles: Particles, density: Tempered, n_moves: int, rng: np.random.Generator
) -> Particles:
    """Return the particles after `n_moves` moves, which leave the density invariant.

    The arrays of `particles` are overwritten.

    Elliptical slice sampling (Murray, Adams & MacKay 2010): a particle and a draw from the Gaussian span an
    ellipse, on which a point of the slice is searched in a shrinking interval of angles. There is nothing to
    tune, and the logits at an angle are a linear combination of two known logits. The part of the answers is
    computed first: most points are outside the slice whatever the part of the rows may be.
    """
    compute_logits, n_hinted = density.new.compute_logits, density.new.n_hinted
    W, at, now = particles.W, particles.logits, particles.value
    n_clusters, n_rows = at.shape[1:]
    most = density.get_max_of_rows(n_clusters)
    scratch = np.empty(n_rows)

    def compute_parts(which: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return the log-density at the angles, or -inf if its first part shows it to be below the level."""
        x, y = np.cos(angle[which]), np.sin(angle[which])
        hinted = np.empty((len(which), n_clusters, n_hinted))
        mix_logits(at, there, which, x, y, 0, scratch, hinted)
        value = density.compute_answer_part(hinted)
        hope = np.flatnonzero(value + most > level)
        seen = np.empty((len(hope), n_clusters, n_rows - n_hinted))
        mix_logits(at, there, which[hope], x[hope], y[hope], n_hinted, scratch, seen)
        found = np.full(len(which), -np.inf)
        found[hope] = value[hope] + density.compute_row_part(seen)
        return found

    size = max(1, _NUMBERS_AT_ONCE // max(n_clusters * n_rows, 1))
    for _ in range(n_moves):
        other = rng.standard_normal(W.shape) / np.sqrt(density.new.prior.precision)
        there = compute_logits(other)
        level = now + np.log1p(-rng.random(len(W)))
        angle = rng.random(len(W)) * 2 * np.pi
        low, high = angle - 2 * np.pi, angle.copy()
        seek = np.arange(len(W))
        for _ in range(_MAX_SHRINKS):
            parts = [seek[lo : lo + size] for lo in range(0, len(seek), size)]
            found = np.concatenate([compute_parts(part, level[part]) for part in parts])
            fits = found > level[seek]
            done = seek[fits]
            now[done] = found[fits]
            for here, far in ((at, there), (W, other)):
                rotate(here, far, done, np.cos(angle[done]), np.sin(angle[done]))
            seek = seek[~fits]
            if not len(seek):
                break
            back = angle[seek] < 0
            low[seek] = np.where(back, angle[seek], low[seek])
            high[seek] = np.where(back, high[seek], angle[seek])
            angle[seek] = low[seek] + rng.random(len(seek)) * (high[seek] - low[seek])
    return Particles(W, at, now)


def carry(
    W: np.ndarray, old: Target | None, new: Target, n_moves: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Move particles from the posterior `old` to the posterior `new`; return them and the number of steps.

    If `old` is None, particles are draws from the Gaussian prior. Each step keeps half of the particles
    effective, then resamples and moves them. `old` and `new` must have the same prior, and the same features
    in the same order.
    """
    degree, n_steps, logits = 0.0, 0, new.compute_logits(W)
    before, gain = np.zeros(len(W)), new.compute_value(logits)
    while degree < 1.0:
        if old is not None:
            before = old.compute_value(logits)
            gain = new.compute_value(logits) - before
        further = find_next_degree(gain, degree)
        at = resample_systematically((further - degree) * gain, rng.random())
        degree = further
        particles = Particles(W[at], logits[at], before[at] + degree * gain[at])
        particles = move_by_slices(particles, Tempered(old, new, degree), n_moves, rng)
        W, logits, gain = particles.W, particles.logits, particles.value / degree
        n_steps += 1
    return W, n_steps


def log_joint(
    W: np.ndarray, features: np.ndarray, prior: Prior, network: AnswerNetwork
) -> tuple[float, np.ndarray]:
    """Return log P(W, answers | X), eq. (4.13), up to a constant, and its gradient, shape (k, n_columns).

    `features` contains all rows in order, shape (n_samples, n_columns).
    """
    k, n = len(W), len(features)
    blocks = [features[lo : lo + _ROWS_AT_ONCE] for lo in range(0, n, _ROWS_AT_ONCE)]
    parts = np.empty((2, len(blocks), k, min(n, _ROWS_AT_ONCE)))  # logits and their exponentials
    masses, mean = [], np.zeros(k)
    for block, logits, raised in zip(blocks, *parts, strict=True):
        logits, raised = logits[:, : len(block)], raised[:, : len(block)]
        np.matmul(W, block.T, out=logits)
        logits -= logits.max(axis=0)
        np.exp(logits, out=raised)
        masses.append(raised.sum(axis=0))
        mean += raised @ (1.0 / masses[-1]) / n
    # The derivative of the prior by p is t = tau log p - balance log mean, up to a constant over clusters; by
    # the logits it is p (t - <p, t>), and <p, t> is the prior of a row. The sign of the tau term is plus,
    # unlike in the text below (4.13).
    by_mean = -prior.balance * np.log(np.maximum(mean, _TINY))
    value = -prior.precision / 2 * float((W**2).sum())
    gradient = -prior.precision * W
    by_logits = np.empty_like(parts[0, 0])
    for block, mass, logits, raised in zip(blocks, masses, *parts, strict=True):
        inverse, log_mass = 1.0 / mass, np.log(mass)
        value += differentiate_softmax(logits, raised, inverse, log_mass, prior.tau, by_mean, by_logits) / n
        gradient += by_logits[:, : len(block)] @ block / n
    if len(network.rows):
        at, place = np.divmod(network.rows, _ROWS_AT_ONCE)
        log_mass = np.log(np.concatenate(masses)[network.rows])
        log_likelihood, answer_gradient = network.compute_gradient(parts[0, at, :, place] - log_mass[:, None])
        value += log_likelihood
        gradient += answer_gradient.T @ features[network.rows]
    return value, gradient


@dataclass(frozen=True, eq=False)
class Mode:
    """The result of one optimisation."""

    W: np.ndarray
    value: float
    n_iter: int
    converged: bool


def find_mode(
    W: np.ndarray,
    features: np.ndarray,
    prior: Prior,
    network: AnswerNetwork,
    *,
    max_iter: int,
    tol: float,
    done: Callable[[], bool] = lambda: False,
) -> Mode:
    """Maximise the log-posterior from W until convergence, `max_iter` steps, or until `done` returns True."""

    features = np.asfortranarray(features)  # products with few columns take less time

    def compute_loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = log_joint(flat.reshape(W.shape), features, prior, network)
        return -value, -gradient.ravel()

    def call_progress(intermediate_result: object) -> None:
        if done():
            raise StopIteration

    found = minimize(
        compute_loss,
        W.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=call_progress,
        options={"maxiter": max_iter, "ftol": tol, "gtol": 1e-5},
    )
    return Mode(found.x.reshape(W.shape), -float(found.fun), int(found.nit), found.status not in (1, 99))


def draw_starts(features: np.ndarray, n_clusters: int, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return weights that separate the clusters of k-means, one for each of `n` random starts.

    The weights are a scaled ridge regression on the clusters; a logistic regression is no better a start.
    """
    found = []
    gram = features.T @ features + 0.1 * len(features) * np.eye(features.shape[1])
    for seed in rng.integers(np.iinfo(np.int32).max, size=max(n, 0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
            means = KMeans(n_clusters, n_init=1, random_state=int(seed)).fit(features[:, :-1])
        member = np.eye(n_clusters)[means.labels_] - 1.0 / n_clusters
        found.append(_STRETCH * np.linalg.solve(gram, features.T @ member).T)
    return found


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior after a fit, from which the next fit may continue."""

    prior: Prior  # the prior of the weights
    network: AnswerNetwork  # the answers
    features: np.ndarray  # (n_samples, n_columns) the features of the rows
    seen: np.ndarray  # the rows that the prior of the particles uses
    W: np.ndarray  # (n_particles, n_clusters, n_columns) the particles
    mode: np.ndarray  # (n_clusters, n_columns) the most probable weights
    n_refits: int  # number of fits that continued from a previous fit

    def is_reusable(self, features: np.ndarray, shape: tuple[int, ...], prior: Prior) -> bool:
        """Return True if the particles are draws for these rows and this prior."""
        return self.W.shape == shape and self.prior == prior and np.array_equal(features, self.features)

    def predict_proba(self, features: np.ndarray) -> np.ndarray:
        """Return the cluster probabilities of new rows for each particle, (S, n, k)."""
        S, k, _ = self.W.shape
        with threadpool_limits(1):
            logits = (features @ self.W.reshape(S * k, -1).T).reshape(-1, S, k)
        logits -= logits.max(axis=2, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=2, keepdims=True)
        return logits.transpose(1, 0, 2)

    def compute_proba(self) -> np.ndarray:
        """Return the cluster probabilities of the rows of the fit for each particle, given the answers."""
        r = self.predict_proba(self.features)
        if len(self.network.rows):
            r[:, self.network.rows] = self.network.compute_row_posterior(self._get_log_proba_of_answered())
        return r

    def _get_log_proba_of_answered(self) -> np.ndarray:
        """Return the log-probabilities of the hinted rows without the answers, (S, m, k)."""
        logits = np.einsum("skd,nd->snk", self.W, self.features[self.network.rows])
        return np.ascontiguousarray(log_softmax(logits, axis=2))

    def number_groups(self) -> np.ndarray:
        """Return the connected component of each hinted row, and -1 for other rows."""
        groups = np.full(len(self.features), -1)
        groups[self.network.rows] = self.network.component
        return groups

    def put_right(self, together: np.ndarray, pairs: np.ndarray) -> None:
        """Correct the probabilities `together` of pairs in the same component, in place.

        The clusters of such rows are not independent given the weights: the first row is fixed to each
        cluster in turn, and the posterior of the others is computed.
        """
        groups = self.number_groups()
        a, b = pairs.T
        linked = np.flatnonzero((groups[a] == groups[b]) & (groups[a] >= 0) & (a != b))
        if not len(linked):
            return
        log_p = self._get_log_proba_of_answered()
        place = np.searchsorted(self.network.rows, pairs[linked])
        for i in np.unique(place[:, 0]):
            mine = place[:, 0] == i
            shared = self.network.compute_together(log_p, int(i)).mean(axis=0)
            together[linked[mine]] = shared[place[mine, 1]]


def compute_together(r: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the probability that each pair is together, if clusters are independent given the weights."""
    shared = np.einsum("snk,snk->n", r[:, pairs[:, 0]], r[:, pairs[:, 1]]) / len(r)
    return np.where(pairs[:, 0] == pairs[:, 1], 1.0, np.clip(shared, 0.0, 1.0))


def check_rows(given: Any, n: int, *, width: int | None = None, what: str = "rows") -> np.ndarray:
    """Check rows, or pairs and triplets of rows: integers from 0 to n - 1."""
    rows = np.asarray([tuple(item) for item in given] if width else given)
    if rows.size == 0:
        return np.zeros((0, width) if width else 0, dtype=np.int64)
    if rows.ndim != (2 if width else 1) or (width and rows.shape[1] != width):
        raise ValueError(f"{what} must have shape (n{f', {width}' if width else ','}), got {rows.shape}.")
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"{what} must contain row numbers: integers from 0 to {n - 1}.")
    return rows.astype(np.int64)
