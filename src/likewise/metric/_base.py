"""Base class of the metric learners, and hints as differences of rows and comparisons of distances."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from likewise._compat import ClassNamePrefixFeaturesOutMixin, TransformerMixin, with_callbacks
from likewise._typing import ArrayLike, MatrixLike
from likewise.base import FitProgress, HintedEstimator, Rule, warn_caller
from likewise.exceptions import (
    InconsistentSupervisionWarning,
    SupervisionError,
    ThinSupervisionWarning,
    UnsupportedSupervisionError,
)
from likewise.metric._shrinkage import (
    FOLDS,
    Learn,
    choose_shrinkage,
    compute_components,
    compute_scale,
    compute_total_covariance,
    is_positive_definite,
    shrink,
)
from likewise.supervision import RowGroups, Supervision

Unused = Literal["refuse", "drop"]
IS_UNUSED: Rule = Rule.choice("refuse", "drop")
# Maximum number of pairs in groups; learners visit each pair, so more would take very long.
_MOST_PAIRS = 1_000_000
IS_PRIOR: Rule = Rule.either(
    Rule.choice("identity", "covariance"),
    Rule(
        "a positive definite array of shape (n_features, n_features)",
        lambda v: hasattr(v, "__len__") and not isinstance(v, str),
    ),
)

IS_SHARE: Rule = Rule("a number from 0 to 1", lambda v: Rule.real(0).holds(v) and bool(v <= 1))
IS_SHRINKAGE: Rule = Rule.either(Rule.choice("auto"), IS_SHARE)


@dataclass(frozen=True)
class LearnedTransform:
    """The result of a metric learner.

    `components` is the map L of shape (n_components, n_features), with M = L^T L; `objective` is the value of
    the method's objective, if it has one.
    """

    components: np.ndarray
    n_iter: int = 1
    converged: bool = True
    objective: float | None = None

    @classmethod
    def from_matrix(cls, M: np.ndarray, **more: Any) -> LearnedTransform:
        """Return the result for the metric M."""
        return cls(compute_components(M), **more)


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HintedEstimator):
    """Base class of metric learners: they learn a linear map whose Euclidean distances agree with hints."""

    n_iter_: int
    objective_: float

    _max_iter: ClassVar[int] = 1  # for learners without the parameter `max_iter`
    prior: Any  # set only by learners with this parameter
    components_: np.ndarray
    shrinkage_: float
    neither: Unused  # set only by learners that use triplets

    @abstractmethod
    def _learn(self, X: np.ndarray, hints: Supervision, progress: FitProgress) -> LearnedTransform:
        """Return the metric for rows X (float64, centred) and hints, which may be empty."""

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Learn the metric from the hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. Without hints the metric is the prior, which is the identity by default.

        Returns
        -------
        self : object
            The fitted metric learner.
        """
        X, hints = self._check_fit(X, y, supervision)
        rows = np.asarray(X, dtype=np.float64)
        self._mean = rows.mean(axis=0)
        learned = self._learn_and_shrink(rows - self._mean, hints, X)  # centred for numerical accuracy
        self.components_ = learned.components
        self._n_features_out = len(learned.components)
        if hasattr(self, "max_iter"):
            self.n_iter_ = max(1, learned.n_iter)
        if learned.objective is not None:
            self.objective_ = learned.objective
        if not learned.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {learned.n_iter} iterations without converging. "
                "Increase max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _learn_and_shrink(self, rows: np.ndarray, hints: Supervision, X: Any) -> LearnedTransform:
        """Learn the metric, and shrink it towards the prior if the learner has the parameter `shrinkage`."""
        shrinkage = self._get_shrinkage() if hints else 0.0
        progress = FitProgress(self, X, 1 + FOLDS * (shrinkage == "auto"))

        def learn(learner: MetricLearner, rows: np.ndarray, hints: Supervision) -> LearnedTransform:
            progress.begin(getattr(self, "max_iter", self._max_iter))
            learned = learner._learn(rows, hints, progress)
            progress.end()
            return learned

        learned = learn(self, rows, hints)
        if shrinkage != 0.0:
            learned, shrinkage = self._shrink(learned, rows, hints, shrinkage, learn)
        progress.finish()
        if hasattr(self, "shrinkage"):
            self.shrinkage_ = float(shrinkage)
        return learned

    def _shrink(
        self,
        learned: LearnedTransform,
        rows: np.ndarray,
        hints: Supervision,
        shrinkage: Any,
        learn: Callable[..., LearnedTransform],
    ) -> tuple[LearnedTransform, float]:
        """Shrink a learned metric towards the prior; return it with the shrinkage that was used.

        Rows are divided by their scale to avoid overflow, and components multiplied by it.
        ``prior="covariance"`` is recomputed from the scaled rows; other priors are fixed.
        """
        size = compute_scale(rows)
        follows_rows = isinstance(getattr(self, "prior", None), str) and self.prior == "covariance"
        unit_rows, scaled = rows / size, learned.components * size
        M = scaled.T @ scaled
        prior = self._make_prior(unit_rows) if hasattr(self, "prior") else np.eye(rows.shape[1])
        scaled_prior = prior if follows_rows else prior * size * size
        if np.allclose(M, scaled_prior, atol=1e-8 * np.abs(scaled_prior).max()):
            return learned, 0.0
        if shrinkage == "auto":
            # The folds fit a copy, so the attributes that `_learn` sets come from the fit to all hints.
            learner_copy = copy(self)

            def learn_again(X: np.ndarray, some: Supervision) -> np.ndarray:
                return learn(learner_copy, X * size, some).components * size

            shrinkage = self._choose_shrinkage(unit_rows, hints, prior, learn_again)
            if shrinkage == 1.0:
                warn_caller(
                    f"{type(self).__name__}: held-out hints do not support the metric learned from the "
                    "others, so the prior metric (the identity by default) is used. Add hints, or pass "
                    "shrinkage=0 to use the learned metric anyway.",
                    ThinSupervisionWarning,
                )
        if shrinkage == 0.0:
            return learned, 0.0
        components = compute_components(shrink(M, prior, unit_rows, shrinkage))
        return replace(learned, components=components / size if follows_rows else components), shrinkage

    def _choose_shrinkage(self, X: np.ndarray, hints: Supervision, prior: np.ndarray, learn: Learn) -> float:
        """Return the shrinkage of the metric of rows X, chosen by cross-validation."""
        comparisons = None
        if "triplets" in self.supported_hints:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all hints has already issued them
                comparisons = get_comparisons(self, X, hints, self.neither)
        return choose_shrinkage(X, hints, comparisons, prior, learn, self._get_n_errors())

    def _get_n_errors(self) -> float:
        """Return the number of standard errors within which a larger shrinkage is preferred."""
        return 2.0

    def _get_shrinkage(self) -> Any:
        """Return the parameter `shrinkage`, or 0 if the learner has no such parameter."""
        return getattr(self, "shrinkage", 0.0)

    @property
    def metric_(self) -> np.ndarray:
        """The learned matrix M of shape (n_features, n_features): d(x, y)² = (x - y)ᵀ M (x - y)."""
        check_is_fitted(self, "components_")
        with np.errstate(over="ignore"):
            M: np.ndarray = self.components_.T @ self.components_
        if not np.isfinite(M).all():
            raise OverflowError(
                f"{type(self).__name__}: the values of X were so small that entries of metric_ exceed the "
                "range of a float. Use components_, transform or distances, or multiply X by a constant."
            )
        return M

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Map rows so that their Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        mapped : ndarray of shape (n_samples, n_components)
            The mapped rows.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return (self._make_features(X) @ self.components_.T).astype(X.dtype, copy=False)

    def _make_features(self, X: np.ndarray) -> np.ndarray:
        """Return the features that the linear map applies to, by default the columns."""
        return X

    def distances(self, A: Any, B: Any = None) -> np.ndarray:
        """Return the learned distance of each row of A to each row of B.

        Parameters
        ----------
        A : array-like of shape (n_rows_a, n_features)
            The first rows.
        B : array-like of shape (n_rows_b, n_features), optional
            The second rows. None means the rows of A.

        Returns
        -------
        distances : ndarray of shape (n_rows_a, n_rows_b)
            The distances.
        """
        mapped = self.transform(A)
        return pairwise_distances(mapped, None if B is None else self.transform(B))

    def _make_prior(self, X: np.ndarray) -> np.ndarray:
        """Return the matrix of the parameter `prior` for these rows."""
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
                    f"{np.linalg.eigvalsh(M)[0]:.3g}. Add a small value to its diagonal."
                )
            return (M + M.T) / 2.0
        if prior == "identity":
            return np.eye(d)
        total = compute_total_covariance(X)
        if not is_positive_definite(total):
            raise ValueError(
                f"{name}: prior='covariance' needs an invertible covariance matrix, but the {len(X)} rows "
                f"vary in only {np.linalg.matrix_rank(total)} of {d} directions. Use prior='identity', or "
                "reduce the number of columns first, for instance with PCA."
            )
        inverse: np.ndarray = np.linalg.inv(total)
        return (inverse + inverse.T) / 2.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# ---------------------------------------------------------------------- hints


@dataclass(frozen=True)
class Pairs:
    """Differences between linked rows, shape (n_pairs, n_features) and never zero, and their weights."""

    must: np.ndarray
    must_weights: np.ndarray
    cannot: np.ndarray
    cannot_weights: np.ndarray


@dataclass(frozen=True)
class Comparisons:
    """Comparisons "row i is closer to j than to k" as rows (i, j, k), shape (n, 3), and their weights."""

    rows: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def get_near_differences(self, X: np.ndarray) -> np.ndarray:
        """Return the differences that should be small."""
        return X[self.rows[:, 0]] - X[self.rows[:, 1]]

    def get_far_differences(self, X: np.ndarray) -> np.ndarray:
        """Return the differences that should be large."""
        return X[self.rows[:, 0]] - X[self.rows[:, 2]]


def get_stated_pairs(estimator: Any, X: np.ndarray, hints: Supervision) -> Pairs:
    """Return the stated links as differences of rows, with groups expanded; warn about contradictions."""
    estimator._compute_soft_closure(hints)
    count = hints.must_groups.n_pairs + hints.cannot_groups.n_pairs
    if count > _MOST_PAIRS:
        raise SupervisionError(
            f"{{estimator}}: the groups contain {count} links; expected at most {_MOST_PAIRS}, because each "
            f"link is visited separately.",
            "Pass fewer links, as pairs, or use RCA, whose cost depends on rows, not links.",
            kinds=("links",),
            estimator=type(estimator).__name__,
        )
    if count:
        must, must_weights = _expand_groups(hints.must, hints.must_weights, hints.must_groups)
        cannot, cannot_weights = _expand_groups(hints.cannot, hints.cannot_weights, hints.cannot_groups)
        hints = Supervision.from_links(  # merges equal pairs and keeps the larger weight
            len(X), must, cannot, must_weights=must_weights, cannot_weights=cannot_weights
        )
    close = X[hints.must[:, 0]] - X[hints.must[:, 1]]
    apart = X[hints.cannot[:, 0]] - X[hints.cannot[:, 1]]
    differ, distinct = close.any(axis=1), apart.any(axis=1)
    if not distinct.all():
        i, j = hints.cannot[~distinct][0]
        _warn_identical(
            estimator, int((~distinct).sum()), f"cannot-link(s), the first between rows {i} and {j}"
        )
    return Pairs(close[differ], hints.must_weights[differ], apart[distinct], hints.cannot_weights[distinct])


def _expand_groups(
    pairs: np.ndarray, weights: np.ndarray, groups: RowGroups
) -> tuple[np.ndarray, np.ndarray]:
    each, shares = groups.list_pairs()
    return np.concatenate([pairs, each]), np.concatenate([weights, shares])


def get_comparisons(estimator: Any, X: np.ndarray, hints: Supervision, neither: Unused) -> Comparisons:
    """Return two comparisons for each answered triplet: a and b are closer to each other than to c.

    The answer NEITHER contains no comparison; `neither` sets whether it raises an error or is dropped.
    """
    name = type(estimator).__name__
    is_answered = hints.answers < 3
    if neither == "refuse" and not is_answered.all():
        raise UnsupportedSupervisionError(
            f"{{estimator}}: {int((~is_answered).sum())} of {len(is_answered)} triplets have the answer "
            "NEITHER, which contains no comparison.",
            "{estimator}(neither='drop') learns from the other triplets.",
            parameter="neither",
            kinds=("triplets",),
            estimator=name,
        )
    rows, code = hints.triplets[is_answered], hints.answers[is_answered]
    twice = (rows[1:] == rows[:-1]).all(axis=1)  # triplets are sorted, and equal ones were merged
    if twice.any():
        first = tuple(rows[1:][twice][0].tolist())
        warn_caller(
            InconsistentSupervisionWarning(
                f"{{estimator}}: {int(twice.sum())} triplet(s) have contradictory answers, the first of them "
                f"for rows {first}. All answers are used and traded off against one another.",
                rows=first,
                kinds=("triplets",),
                estimator=name,
            )
        )
    order = np.array([(0, 1, 2), (0, 2, 1), (1, 2, 0)])[code]
    a, b, c = np.take_along_axis(rows, order, axis=1).T
    comparisons = Comparisons(
        np.concatenate([np.column_stack([a, b, c]), np.column_stack([b, a, c])]),
        np.tile(hints.triplet_weights[is_answered], 2),
    )
    same = ~comparisons.get_far_differences(X).any(axis=1)
    if same.any():
        i, _, k = comparisons.rows[same][0]
        _warn_identical(estimator, int(same.sum()), f"comparison(s), the first between rows {i} and {k}")
    return comparisons


def _warn_identical(estimator: Any, count: int, what: str) -> None:
    warn_caller(
        f"{type(estimator).__name__}: {count} {what}, would separate identical rows, which no metric can do.",
        InconsistentSupervisionWarning,
    )
