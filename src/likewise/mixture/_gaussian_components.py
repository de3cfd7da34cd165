"""Gaussians: densities of blocks of rows, and the maximum-likelihood update.

Methods take rows as returned by `Covariances.prepare`, centred at the mean of the data. Each kind of
covariance is one class. Blocks return sums, which can be merged in any grouping.

Tables of shape (n, C) are in column-major order, so that operations on each row run along contiguous memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.linalg import solve_triangular

CovarianceType = Literal["full", "tied", "diag", "spherical"]
COVARIANCE_TYPES: tuple[str, ...] = get_args(CovarianceType)

_LOG_2PI = float(np.log(2 * np.pi))
# Gaussians with less mass than this are not updated: their mean would be noise.
_EMPTY = 1e-8


@dataclass(frozen=True, eq=False)
class ComponentMoments:
    """Sums over rows, weighted by responsibilities. Two sets of rows are merged with ``+``.

    `second` has shape (C, d, d) for full covariances, (d, d) for tied and (C, d) for the others.
    """

    counts: np.ndarray
    sums: np.ndarray
    second: np.ndarray

    def __add__(self, other: ComponentMoments) -> ComponentMoments:
        return ComponentMoments(
            self.counts + other.counts, self.sums + other.sums, self.second + other.second
        )

    def __mul__(self, factor: float) -> ComponentMoments:
        return ComponentMoments(self.counts * factor, self.sums * factor, self.second * factor)

    def share_evenly(self, *, tied: bool) -> ComponentMoments:
        """Return the moments if every Gaussian had an equal share of every row."""

        def compute_mean(sums: np.ndarray) -> np.ndarray:
            return np.broadcast_to(sums.mean(axis=0), sums.shape)

        return ComponentMoments(
            compute_mean(self.counts),
            compute_mean(self.sums),
            self.second if tied else compute_mean(self.second),
        )


@dataclass(frozen=True, eq=False)
class Gaussians:
    """C Gaussians: means (C, d), covariances in the shape of their kind, and whitening factors."""

    kind: Covariances
    means: np.ndarray
    covariances: np.ndarray
    factors: np.ndarray
    log_dets: np.ndarray  # (C,), of the factors: minus half the log-determinants of the covariances

    @classmethod
    def from_covariances(cls, kind: Covariances, means: np.ndarray, covariances: np.ndarray) -> Gaussians:
        factors, log_dets = kind.compute_factors(covariances, means.shape[1])
        return cls(kind, means, covariances, factors, np.broadcast_to(log_dets, (len(means),)))

    def log_density(self, X: np.ndarray) -> np.ndarray:
        """Return ``log N(x; mean_c, covariance_c)`` of prepared rows, shape (n, C)."""
        squared = self.kind.compute_squared_distances(X, self.means, self.factors)
        squared *= -0.5
        squared += self.log_dets - 0.5 * self.means.shape[1] * _LOG_2PI
        return squared

    @classmethod
    def estimate(cls, kind: Covariances, moments: ComponentMoments, ridge: float) -> Gaussians:
        """Return the maximum-likelihood Gaussians, with a ridge on the covariances."""
        means = moments.sums / moments.counts[:, None]
        return cls.from_covariances(kind, means, kind.estimate(moments, moments.counts, means, ridge))

    def update(self, moments: ComponentMoments, ridge: float) -> Gaussians:
        """Return the maximum-likelihood Gaussians, with a ridge on the covariances.

        A Gaussian without rows keeps its mean and covariance.
        """
        alive = moments.counts > _EMPTY
        counts = np.where(alive, moments.counts, 1.0)
        means = np.where(alive[:, None], moments.sums / counts[:, None], self.means)
        covariances = self.kind.estimate(moments, counts, means, ridge)
        if self.kind.name != "tied":
            covariances[~alive] = self.covariances[~alive]
        return Gaussians.from_covariances(self.kind, means, covariances)


class Covariances(ABC):
    """Base class of the kinds of covariance."""

    name: CovarianceType

    def prepare(self, X: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Return the centred rows in float64, and anything else that is computed once per row."""
        return np.subtract(X, mean, dtype=np.float64)

    def count_numbers_per_row(self, n_components: int, n_features: int) -> int:
        """Return the number of values per row in the largest table of a block."""
        return n_components + n_features

    @abstractmethod
    def compute_moments(self, X: np.ndarray, resp: np.ndarray) -> ComponentMoments:
        """Return the moments of prepared rows under responsibilities of shape (n, C)."""

    @abstractmethod
    def estimate(
        self, moments: ComponentMoments, counts: np.ndarray, means: np.ndarray, ridge: float
    ) -> np.ndarray:
        """Return the covariances about `means`; `counts` are the counts of the moments, or 1 if empty."""

    @abstractmethod
    def compute_factors(self, covariances: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors that whiten a row, and the logarithms of their determinants."""

    @abstractmethod
    def compute_squared_distances(self, X: np.ndarray, means: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Return squared Mahalanobis distances, shape (n, C)."""

    @abstractmethod
    def count_parameters(self, n_components: int, n_features: int) -> int:
        """Return the number of free parameters of the covariances."""

    @abstractmethod
    def as_matrices(self, covariances: np.ndarray, n_components: int, n_features: int) -> np.ndarray:
        """Return the covariances as full matrices, shape (C, d, d)."""


class FullCovariances(Covariances):
    """One covariance matrix per Gaussian."""

    name: CovarianceType = "full"

    def count_numbers_per_row(self, n_components: int, n_features: int) -> int:
        return n_components * n_features

    def compute_moments(self, X: np.ndarray, resp: np.ndarray) -> ComponentMoments:
        n, d = X.shape
        weighted = (resp[:, :, None] * X[:, None, :]).reshape(n, resp.shape[1] * d)
        return ComponentMoments(resp.sum(axis=0), resp.T @ X, (weighted.T @ X).reshape(-1, d, d))

    def estimate(
        self, moments: ComponentMoments, counts: np.ndarray, means: np.ndarray, ridge: float
    ) -> np.ndarray:
        found: np.ndarray = moments.second / counts[:, None, None] - means[:, :, None] * means[:, None, :]
        found += ridge * np.eye(found.shape[1])
        return found

    def compute_factors(self, covariances: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        pairs = [_compute_inverse_factor(covariance) for covariance in covariances]
        # Concatenated, so that one matrix product whitens a row for all Gaussians.
        factors = np.concatenate([factor for factor, _ in pairs], axis=1)
        return factors, np.array([log_det for _, log_det in pairs])

    def compute_squared_distances(self, X: np.ndarray, means: np.ndarray, factors: np.ndarray) -> np.ndarray:
        (n, d), n_components = X.shape, len(means)
        shifts = np.einsum("cd,dce->ce", means, factors.reshape(d, n_components, d)).ravel()
        whitened = X @ factors
        whitened -= shifts
        np.square(whitened, out=whitened)
        return whitened.reshape(n, n_components, d) @ np.ones(d)

    def count_parameters(self, n_components: int, n_features: int) -> int:
        return n_components * n_features * (n_features + 1) // 2

    def as_matrices(self, covariances: np.ndarray, n_components: int, n_features: int) -> np.ndarray:
        return covariances


class TiedCovariances(Covariances):
    """One covariance matrix for all Gaussians."""

    name: CovarianceType = "tied"

    def compute_moments(self, X: np.ndarray, resp: np.ndarray) -> ComponentMoments:
        return ComponentMoments(resp.sum(axis=0), resp.T @ X, (X * resp.sum(axis=1)[:, None]).T @ X)

    def estimate(
        self, moments: ComponentMoments, counts: np.ndarray, means: np.ndarray, ridge: float
    ) -> np.ndarray:
        mass = moments.counts
        found: np.ndarray = (moments.second - (mass[:, None] * means).T @ means) / max(mass.sum(), _EMPTY)
        found += ridge * np.eye(len(found))
        return found

    def compute_factors(self, covariances: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        factor, log_det = _compute_inverse_factor(covariances)
        return factor, np.array([log_det])

    def compute_squared_distances(self, X: np.ndarray, means: np.ndarray, factors: np.ndarray) -> np.ndarray:
        rows, centres = X @ factors, means @ factors
        squared: np.ndarray = ((-2.0 * centres) @ rows.T).T
        squared += np.einsum("nd,nd->n", rows, rows)[:, None]
        squared += np.einsum("cd,cd->c", centres, centres)
        return squared

    def count_parameters(self, n_components: int, n_features: int) -> int:
        return n_features * (n_features + 1) // 2

    def as_matrices(self, covariances: np.ndarray, n_components: int, n_features: int) -> np.ndarray:
        return np.broadcast_to(covariances, (n_components, n_features, n_features))


class DiagonalCovariances(Covariances):
    """One variance per feature and Gaussian. Prepared rows are (x, x^2), shape (n, 2 d)."""

    name: CovarianceType = "diag"

    def prepare(self, X: np.ndarray, mean: np.ndarray) -> np.ndarray:
        n, d = X.shape
        both = np.empty((n, 2 * d))
        np.subtract(X, mean, out=both[:, :d], dtype=np.float64)
        np.square(both[:, :d], out=both[:, d:])
        return both

    def count_numbers_per_row(self, n_components: int, n_features: int) -> int:
        return n_components + 2 * n_features

    def compute_moments(self, X: np.ndarray, resp: np.ndarray) -> ComponentMoments:
        sums, second = np.split(resp.T @ X, 2, axis=1)
        return ComponentMoments(resp.sum(axis=0), sums, second)

    def estimate(
        self, moments: ComponentMoments, counts: np.ndarray, means: np.ndarray, ridge: float
    ) -> np.ndarray:
        found: np.ndarray = np.maximum(moments.second / counts[:, None] - np.square(means), 0.0) + ridge
        return found

    def compute_factors(self, covariances: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        raised = _raise_small_variances(covariances)
        return 1 / np.sqrt(raised), -0.5 * np.log(raised).sum(axis=1)

    def compute_squared_distances(self, X: np.ndarray, means: np.ndarray, factors: np.ndarray) -> np.ndarray:
        precision = np.square(factors)
        squared: np.ndarray = (np.hstack([-2.0 * means * precision, precision]) @ X.T).T
        squared += np.einsum("cd,cd,cd->c", means, means, precision)
        return squared

    def count_parameters(self, n_components: int, n_features: int) -> int:
        return n_components * n_features

    def as_matrices(self, covariances: np.ndarray, n_components: int, n_features: int) -> np.ndarray:
        return covariances[:, :, None] * np.eye(n_features)


class SphericalCovariances(DiagonalCovariances):
    """One variance per Gaussian; stored as (C,), used as a diagonal of equal entries."""

    name: CovarianceType = "spherical"

    def estimate(
        self, moments: ComponentMoments, counts: np.ndarray, means: np.ndarray, ridge: float
    ) -> np.ndarray:
        found: np.ndarray = super().estimate(moments, counts, means, ridge).mean(axis=1)
        return found

    def compute_factors(self, covariances: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        raised = _raise_small_variances(covariances)
        return 1 / np.sqrt(raised[:, None]), -0.5 * n_features * np.log(raised)

    def compute_squared_distances(self, X: np.ndarray, means: np.ndarray, factors: np.ndarray) -> np.ndarray:
        return super().compute_squared_distances(X, means, np.broadcast_to(factors, means.shape))

    def count_parameters(self, n_components: int, n_features: int) -> int:
        return n_components

    def as_matrices(self, covariances: np.ndarray, n_components: int, n_features: int) -> np.ndarray:
        return covariances[:, None, None] * np.eye(n_features)


def _raise_small_variances(variances: np.ndarray) -> np.ndarray:
    """Return the variances, bounded below relative to their mean so that distances stay finite."""
    raised: np.ndarray = np.maximum(variances, max(1e-12 * float(variances.mean()), 1e-300))
    return raised


KINDS: dict[str, Covariances] = {
    kind.name: kind
    for kind in (FullCovariances(), TiedCovariances(), DiagonalCovariances(), SphericalCovariances())
}


def _compute_inverse_factor(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the upper triangular W with W W' the inverse of the covariance, and log |W|.

    If rounding has made the matrix indefinite, its diagonal is raised until it is positive definite.
    """
    d = len(covariance)
    lift = 0.0
    while True:
        try:
            lower = np.linalg.cholesky(covariance + lift * np.eye(d))
            break
        except np.linalg.LinAlgError:
            lift = max(10 * lift, 1e-12 * float(np.trace(covariance)) / d, 1e-300)
    factor = solve_triangular(lower, np.eye(d), lower=True).T
    return factor, -float(np.log(np.diag(lower)).sum())
