"""What the metric learners share: the door, the learned matrix and its use."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from likewise._compat import with_callbacks
from likewise.base import HintedEstimator, Progress, Rule, choice, either, warn_caller
from likewise.metric._matrix import components_of, is_positive_definite, total_covariance
from likewise.supervision import Supervision

IS_PRIOR: Rule = either(
    choice("identity", "covariance"),
    Rule(
        "a positive definite array of shape (n_features, n_features)",
        lambda v: hasattr(v, "__len__") and not isinstance(v, str),
    ),
)


@dataclass(frozen=True)
class Learned:
    """What a learner found.

    `components` is L of shape (n_components, n_features), in the metric M = L^T L; `objective` the value of
    what the method minimises or maximises, where it states one.
    """

    components: np.ndarray
    n_iter: int = 1
    converged: bool = True
    objective: float | None = None

    @classmethod
    def metric(cls, M: np.ndarray, **more: Any) -> Learned:
        """Make one from the matrix M itself."""
        return cls(components_of(M), **more)


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HintedEstimator):
    """Base of the metric learners: hints in, a linear map out in which plain distances respect them."""

    _max_iter: ClassVar[int] = 1  # for learners without the parameter

    @abstractmethod
    def _learn(self, X: np.ndarray, hints: Supervision, progress: Progress) -> Learned:
        """Return the metric for rows X (float64, centred) and hints, of which there may be none."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, supervision: Any = None) -> Any:
        """Learn the metric from the hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. With none, distances stay as they are.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        X = self._check_X(X, reset=True)
        hints = self._check_supervision(supervision, len(X), y)
        progress = Progress(self, X, 1)
        progress.begin(getattr(self, "max_iter", self._max_iter))
        rows = np.asarray(X, dtype=np.float64)
        self._mean = rows.mean(axis=0)
        learned = self._learn(rows - self._mean, hints, progress)  # distances lose fewer digits there
        progress.end()
        progress.finish()
        self.components_ = learned.components
        self._n_features_out = len(learned.components)
        if hasattr(self, "max_iter"):
            self.n_iter_ = max(1, learned.n_iter)
        if learned.objective is not None:
            self.objective_ = learned.objective
        if not learned.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {learned.n_iter} iterations before its metric settled. "
                "Raise max_iter, or tol.",
                ConvergenceWarning,
            )
        return self

    @property
    def metric_(self) -> np.ndarray:
        """The learned matrix M of shape (n_features, n_features): d(x, y)² = (x - y)ᵀ M (x - y)."""
        check_is_fitted(self, "components_")
        with np.errstate(over="ignore"):
            M: np.ndarray = self.components_.T @ self.components_
        if not np.isfinite(M).all():
            raise OverflowError(
                f"{type(self).__name__}: the rows of fit were so small that metric_ is too large for a "
                "float. Use components_, transform or distances, or fit X multiplied by a constant."
            )
        return M

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows mapped so that their Euclidean distances are the learned ones."""
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        mapped: np.ndarray = (X @ self.components_.T).astype(X.dtype, copy=False)
        return mapped

    def distances(self, A: Any, B: Any = None) -> np.ndarray:
        """Return the learned distance of each row of A to each row of B, or of A, as (len(A), len(B))."""
        mapped = self.transform(A)
        out: np.ndarray = pairwise_distances(mapped, None if B is None else self.transform(B))
        return out

    def _prior(self, X: np.ndarray) -> np.ndarray:
        """Return the matrix that the parameter `prior` means for these rows."""
        name, d = type(self).__name__, X.shape[1]
        prior: Any = self.prior
        if not isinstance(prior, str):
            try:
                M = np.array(prior, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{name}: prior is not an array of numbers: {error}.") from error
            if M.shape != (d, d) or not np.isfinite(M).all() or not np.allclose(M, M.T):
                raise ValueError(
                    f"{name}: prior must be finite, symmetric and of shape {(d, d)}, got shape {M.shape}."
                )
            if not is_positive_definite(M):
                raise ValueError(
                    f"{name}: prior must be positive definite, but it has an eigenvalue of "
                    f"{np.linalg.eigvalsh(M)[0]:.3g}. Add a little to its diagonal."
                )
            return (M + M.T) / 2.0
        if prior == "identity":
            return np.eye(d)
        total = total_covariance(X)
        if not is_positive_definite(total):
            raise ValueError(
                f"{name}: prior='covariance' wants the inverse of the covariance, but these {len(X)} rows "
                f"vary in {np.linalg.matrix_rank(total)} of {d} directions only. Use prior='identity', or "
                "reduce the columns first, for instance with PCA."
            )
        inverse: np.ndarray = np.linalg.inv(total)
        return (inverse + inverse.T) / 2.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
