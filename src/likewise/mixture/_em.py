"""The one EM loop of the mixture family, and the pass over the rows that it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from likewise._threads import block_map, row_blocks
from likewise.base import Progress
from likewise.mixture._gaussians import Covariances, Gaussians, Moments
from likewise.mixture._network import lse

# A block of rows is worked through in pieces whose tables (8 bytes x rows x numbers per row, which are
# components x features for full covariances) stay in the second-level cache.
_PIECE_NUMBERS = 65_536
_LEAST_WEIGHT = 1e-8


@dataclass(frozen=True, eq=False)
class Mixture:
    """Parameters: class weights (K,), component weights within each class (K, S), K * S Gaussians."""

    log_weights: np.ndarray
    log_within: np.ndarray
    gaussians: Gaussians

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.log_weights)

    def log_components(self, X: np.ndarray) -> np.ndarray:
        """Return log (pi_mk N(x; mean_mk, covariance_mk)) of prepared rows, shape (n, K, S)."""
        joint = self.gaussians.log_density(X)
        joint += self.log_within.ravel()
        return joint.reshape(len(X), *self.log_within.shape)


@dataclass(frozen=True, eq=False)
class Expected:
    """What an E-step hands to the M-step: moments of components, counts of class variables, the bound."""

    moments: Moments
    class_counts: np.ndarray
    bound: float


class Relations(Protocol):
    """Rows that links speak of. A member of the family says what their classes are expected to be."""

    rows: np.ndarray

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return each row's mass in each class (H, K), the counts of class variables (K,), and the bound.

        `log_density` has shape (H, K): log p_m(x) of each row under each class.
        """

    def weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return new log class weights from the counts of all class variables, free rows included."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Where one start ended."""

    mixture: Mixture
    bounds: list[float]
    n_iter: int
    converged: bool

    @property
    def bound(self) -> float:
        """The bound of the last E-step."""
        return self.bounds[-1]


def closed_weights(counts: np.ndarray) -> np.ndarray:
    """Return log weights in proportion to the counts, none below the least."""
    found: np.ndarray = np.log(np.maximum(counts / counts.sum(), _LEAST_WEIGHT))
    return found - lse(found)


class Steps:
    """The two steps of EM over all rows: free rows in blocks, hinted rows in one place."""

    def __init__(
        self, X: np.ndarray, middle: np.ndarray, relations: Relations | None, *, ridge: float, threads: int
    ) -> None:
        self.X, self.middle, self.relations = X, middle, relations
        self.ridge, self.threads = ridge, threads
        self.free = np.ones(len(X), dtype=bool)
        if relations is not None:
            self.free[relations.rows] = False
        self.n_free = float(self.free.sum())

    def pieces(self, rows: slice, kind: Covariances, n_components: int) -> list[slice]:
        """Cut a block of rows into pieces that fit the cache."""
        step = min(max(_PIECE_NUMBERS // kind.numbers_per_row(n_components, self.X.shape[1]), 64), 4096)
        return [slice(lo, min(lo + step, rows.stop)) for lo in range(rows.start, rows.stop, step)]

    def block(self, rows: slice | np.ndarray, kind: Covariances) -> np.ndarray:
        """Return rows as a kind of covariance wants them, centred at the middle of the data."""
        return kind.prepared(self.X[rows], self.middle)

    def blocks_of(self, block: slice, mixture: Mixture) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the pieces of a block of rows, and what they hold as the mixture wants it."""
        gaussians = mixture.gaussians
        for rows in self.pieces(block, gaussians.kind, len(gaussians.means)):
            yield rows, self.block(rows, gaussians.kind)

    def expect(self, mixture: Mixture) -> Expected:
        """E-step: add up the moments of all rows under their expected classes and components."""

        def of_block(block: slice) -> tuple[Moments, float]:
            moments, total = None, 0.0
            for rows, X in self.blocks_of(block, mixture):
                joint = mixture.log_components(X)
                joint += mixture.log_weights[:, None]
                joint = joint.reshape(len(X), -1)
                peak = joint.max(axis=1, keepdims=True)
                joint -= peak
                np.exp(joint, out=joint)
                norm = joint.sum(axis=1, keepdims=True)
                free = self.free[rows]
                total += float((np.log(norm) + peak)[free, 0].sum())
                joint *= np.where(free, 1 / norm[:, 0], 0.0)[:, None]
                part = mixture.gaussians.kind.moments(X, joint)
                moments = part if moments is None else moments + part
            assert moments is not None
            return moments, total

        with block_map(self.threads) as over:
            parts = list(over(of_block, row_blocks(len(self.X))))
        moments, bound = parts[0]
        for more, extra in parts[1:]:
            moments, bound = moments + more, bound + extra
        counts = moments.counts.reshape(mixture.log_within.shape).sum(axis=1)
        if self.relations is not None:
            X = self.block(self.relations.rows, mixture.gaussians.kind)
            components = mixture.log_components(X)
            density = lse(components)
            mass, linked, extra = self.relations.expect(mixture.log_weights, density)
            resp = mass[:, :, None] * np.exp(components - density[:, :, None])
            moments = moments + mixture.gaussians.kind.moments(X, resp.reshape(len(X), -1))
            counts, bound = counts + linked, bound + extra
        return Expected(moments, counts, bound / len(self.X))

    def maximise(self, mixture: Mixture, expected: Expected) -> Mixture:
        """M-step: Gaussians, component weights and class weights from the same expectations."""
        gaussians = mixture.gaussians.updated(expected.moments, self.ridge)
        within = expected.moments.counts.reshape(mixture.log_within.shape)
        log_within = np.log(np.maximum(within, _LEAST_WEIGHT))
        log_within -= lse(log_within)[:, None]
        if self.relations is None:
            log_weights = closed_weights(expected.class_counts)
        else:
            log_weights = self.relations.weights(expected.class_counts, mixture.log_weights, self.n_free)
        return Mixture(log_weights, log_within, gaussians)

    def own_labels(self, mixture: Mixture) -> np.ndarray:
        """Return the class that each row would have if no link spoke of it."""
        labels = np.empty(len(self.X), dtype=np.int32)
        for rows, X in self.blocks_of(slice(0, len(self.X)), mixture):
            labels[rows] = (lse(mixture.log_components(X)) + mixture.log_weights).argmax(axis=1)
        return labels

    def labels(self, mixture: Mixture) -> np.ndarray:
        """Return the class of each row; of a row in links the one that they make likeliest."""
        labels = self.own_labels(mixture)
        if self.relations is not None:
            X = self.block(self.relations.rows, mixture.gaussians.kind)
            density = lse(mixture.log_components(X))
            mass, _, _ = self.relations.expect(mixture.log_weights, density)
            labels[self.relations.rows] = mass.argmax(axis=1)
        return labels


def climb(
    steps: Steps,
    start: Mixture,
    *,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Fit:
    """Alternate E- and M-steps until the bound, a mean over rows, changes by less than `tol`."""
    fit = Fit(start, [], 0, False)
    for n_iter in range(1, max_iter + 1):
        expected = steps.expect(fit.mixture)
        change = expected.bound - fit.bound if fit.bounds else np.inf
        mixture = steps.maximise(fit.mixture, expected)
        fit = Fit(mixture, [*fit.bounds, expected.bound], n_iter, bool(abs(change) < tol))
        stop = progress.step() if progress is not None else False
        if fit.converged or stop:
            return replace(fit, converged=True)
    return fit
