"""The EM loop of the mixture family, and its passes over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from likewise._seeding import HintedSubset
from likewise.backends import Block, Rows
from likewise.base import FitProgress
from likewise.mixture._factors import log_sum_exp
from likewise.mixture._gaussian_components import ComponentMoments, Covariances, Gaussians

# Maximum number of values in a table of a piece of rows, so that tables fit into the second-level cache. With
# full covariances there are Gaussians x features values per row.
_PIECE_NUMBERS = 65_536
_LEAST_WEIGHT = 1e-8


@dataclass(frozen=True, eq=False)
class Mixture:
    """The parameters of a mixture: class weights (K,), Gaussian weights per class (K, S), K * S Gaussians.

    The Gaussians describe rows minus `mean`, because distances lose fewer digits around the origin.
    """

    log_weights: np.ndarray
    log_within: np.ndarray
    gaussians: Gaussians
    mean: np.ndarray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.log_weights)

    def log_components(self, X: np.ndarray) -> np.ndarray:
        """Return ``log pi_mk N(x; mean_mk, covariance_mk)`` of prepared rows, shape (n, K, S)."""
        joint = self.gaussians.log_density(X)
        joint += self.log_within.ravel()
        return joint.reshape(len(X), *self.log_within.shape)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return the rows in the form that the Gaussians take."""
        return self.gaussians.kind.prepare(X, self.mean)

    def iterate_pieces(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows that fit the cache, and the prepared rows of each; at least one."""
        for rows in split_rows(X, self.gaussians.kind, len(self.gaussians.means)):
            yield rows, self.prepare(X[rows])

    def log_joint(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of the rows, and ``log a_m p_m(x)`` of the rows of each, shape (n, K)."""
        for rows, piece in self.iterate_pieces(X):
            yield rows, log_sum_exp(self.log_components(piece)) + self.log_weights

    def predict_without_links(self, X: np.ndarray) -> np.ndarray:
        """Return the most likely class of each row, regardless of links."""
        labels = np.empty(len(X), dtype=np.int32)
        for rows, joint in self.log_joint(X):
            labels[rows] = joint.argmax(axis=1)
        return labels

    def compute_posterior(self, X: np.ndarray) -> np.ndarray:
        """Return the probability of each class for each row, shape (n, K)."""
        found = np.empty((len(X), self.n_classes))
        for rows, joint in self.log_joint(X):
            found[rows] = np.exp(joint - log_sum_exp(joint)[:, None])
        return found

    def log_density(self, X: np.ndarray) -> np.ndarray:
        """Return the log density of each row."""
        found = np.empty(len(X))
        for rows, joint in self.log_joint(X):
            found[rows] = log_sum_exp(joint)
        return found


def split_rows(X: np.ndarray, kind: Covariances, n_components: int) -> list[slice]:
    """Return slices of the rows that fit the cache, at least one."""
    step = min(max(_PIECE_NUMBERS // kind.count_numbers_per_row(n_components, X.shape[1]), 64), 4096)
    return [slice(lo, min(lo + step, len(X))) for lo in range(0, max(len(X), 1), step)]


@dataclass(frozen=True, eq=False)
class Expectations:
    """The result of an E-step: sums over rows. Two sets of rows are merged with ``+``.

    Attributes
    ----------
    moments : ComponentMoments
        The moments of the Gaussians.
    class_counts : ndarray of shape (K,)
        Expected number of class variables in each class; must-linked rows may share one.
    bound : float
        The log-likelihood, or a bound on it.
    """

    moments: ComponentMoments
    class_counts: np.ndarray
    bound: float

    def __add__(self, other: Expectations) -> Expectations:
        counts = self.class_counts + other.class_counts
        return Expectations(self.moments + other.moments, counts, self.bound + other.bound)

    def __mul__(self, factor: float) -> Expectations:
        return Expectations(self.moments * factor, self.class_counts * factor, self.bound * factor)


class Relations(Protocol):
    """The linked rows. Each member of the family computes their expected classes in its own way."""

    rows: np.ndarray

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class (H, K), the class counts (K,), and the bound.

        `log_density` has shape (H, K): ``log p_m(x)`` of each row under each class.
        """

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return new log class weights from the counts of all class variables, including unlinked rows."""

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the class of each row (H,), taking its links into account."""


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """The result of one start, with the bound of each iteration."""

    mixture: Mixture
    bounds: list[float]
    n_iter: int
    converged: bool

    @property
    def bound(self) -> float:
        """The bound of the last E-step."""
        return self.bounds[-1]


def compute_closed_weights(counts: np.ndarray) -> np.ndarray:
    """Return log weights proportional to the counts, with a small lower bound."""
    found: np.ndarray = np.log(np.maximum(counts / counts.sum(), _LEAST_WEIGHT))
    return found - log_sum_exp(found)


class MixtureSteps:
    """The E-step and the M-step over all rows.

    Hinted rows are gathered once; `relations` refers to them, numbered from 0. All other rows are processed
    in blocks.
    """

    def __init__(self, rows: Rows, named: HintedSubset, relations: Relations | None, *, ridge: float) -> None:
        self.rows, self.named, self.relations, self.ridge = rows, named, relations, ridge
        at = np.empty(0, dtype=np.int64) if relations is None else relations.rows
        self.linked, self._linked_X = named.rows[at], named.X[at]
        self.n_free = float(len(rows) - len(at))

    def expect(self, mixture: Mixture) -> Expectations:
        """E-step: return the expected moments of all rows."""
        found = self.expect_free(mixture)
        return found if self.relations is None else found + self.expect_linked(mixture)

    def expect_free(self, mixture: Mixture) -> Expectations:
        """Return the expectations of the unlinked rows, in one pass over the blocks."""
        return self.rows.sum(partial(expect_block, self.free_mixture(mixture), self.linked))

    def free_mixture(self, mixture: Mixture) -> Mixture:
        """Return the mixture with the class weights of unlinked rows, if the relations distinguish them."""
        log_free = getattr(self.relations, "log_free", None)
        return mixture if log_free is None else replace(mixture, log_weights=log_free)

    def expect_linked(self, mixture: Mixture) -> Expectations:
        """Return the expectations of the linked rows."""
        assert self.relations is not None
        X = mixture.prepare(self._linked_X)
        components = mixture.log_components(X)
        density = log_sum_exp(components)
        mass, counts, bound = self.relations.expect(mixture.log_weights, density)
        resp = mass[:, :, None] * np.exp(components - density[:, :, None])
        resp = resp.reshape(len(X), mixture.log_within.size)
        return Expectations(mixture.gaussians.kind.compute_moments(X, resp), counts, bound)

    def maximise(self, mixture: Mixture, expected: Expectations) -> Mixture:
        """M-step: return the mixture that maximises the expected log-likelihood."""
        if self.relations is None:
            log_weights = compute_closed_weights(expected.class_counts)
        else:
            log_weights = self.relations.update_weights(
                expected.class_counts, mixture.log_weights, self.n_free
            )
        return maximise(mixture, expected, log_weights, self.ridge)

    def has_settled(self, bounds: list[float], tol: float) -> bool:
        """Return True if the bound has changed by less than `tol` in the last iteration."""
        return len(bounds) > 1 and abs(bounds[-1] - bounds[-2]) < tol

    def predict_without_links(self, mixture: Mixture) -> np.ndarray:
        """Return the most likely class of each hinted row, regardless of links."""
        return mixture.predict_without_links(self.named.X)

    def predict_hinted_labels(self, mixture: Mixture) -> np.ndarray:
        """Return the class of each hinted row, taking its links into account."""
        labels = self.predict_without_links(mixture)
        if self.relations is not None:
            density = log_sum_exp(mixture.log_components(mixture.prepare(self._linked_X)))
            labels[self.relations.rows] = self.relations.predict_labels(mixture.log_weights, density)
        return labels


def maximise(mixture: Mixture, expected: Expectations, log_weights: np.ndarray, ridge: float) -> Mixture:
    """Return the mixture with these class weights and all other parameters from the expectations."""
    gaussians = mixture.gaussians.update(expected.moments, ridge)
    within = expected.moments.counts.reshape(mixture.log_within.shape)
    log_within = np.log(np.maximum(within, _LEAST_WEIGHT))
    log_within -= log_sum_exp(log_within)[:, None]
    return Mixture(log_weights, log_within, gaussians, mixture.mean)


def expect_block(mixture: Mixture, without: np.ndarray, block: Block) -> Expectations:
    """Return the expectations of the rows of a block, except the rows in `without`."""
    first, last = _find_in_block(without, block.rows)
    at = without[first:last] - block.rows.start
    kind, n_components = mixture.gaussians.kind, mixture.log_within.size
    moments, total = None, 0.0
    for rows, X in mixture.iterate_pieces(block.X):
        joint = mixture.log_components(X)
        joint += mixture.log_weights[:, None]
        joint = joint.reshape(len(X), n_components)
        peak = joint.max(axis=1, keepdims=True)
        joint -= peak
        np.exp(joint, out=joint)
        norm = joint.sum(axis=1, keepdims=True)
        density = np.log(norm) + peak
        np.divide(1.0, norm, out=norm)
        first, last = _find_in_block(at, rows)
        if first < last:
            here = at[first:last] - rows.start
            density[here] = norm[here] = 0.0
        total += float(density.sum())
        joint *= norm
        part = kind.compute_moments(X, joint)
        moments = part if moments is None else moments + part
    assert moments is not None
    return Expectations(moments, moments.counts.reshape(mixture.log_within.shape).sum(axis=1), total)


def _find_in_block(rows: np.ndarray, block: slice) -> Any:
    """Return the first and last position in the sorted `rows` that is in a block."""
    return np.searchsorted(rows, [block.start, block.stop])


def run_em(
    steps: MixtureSteps,
    start: Mixture,
    *,
    max_iter: int,
    tol: float,
    progress: FitProgress | None = None,
) -> MixtureFit:
    """Alternate E- and M-steps until the bound per row changes by less than `tol`."""
    fit = MixtureFit(start, [], 0, False)
    for n_iter in range(1, max_iter + 1):
        expected = steps.expect(fit.mixture)
        bounds = [*fit.bounds, expected.bound / len(steps.rows)]
        mixture = steps.maximise(fit.mixture, expected)
        fit = MixtureFit(mixture, bounds, n_iter, steps.has_settled(bounds, tol))
        stop = progress.step() if progress is not None else False
        if fit.converged or stop:
            return replace(fit, converged=True)
    return fit
