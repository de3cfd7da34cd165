"""Binary relevance: an independent logistic regression for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.validation import check_is_fitted

from likewise.base import Rule
from likewise.multilabel._base import PER_LABEL, RATE, LabelColumns, MultilabelClassifier

if TYPE_CHECKING:
    from likewise._typing import MatrixLike


class BinaryRelevance(MultilabelClassifier):
    """One logistic regression per label, with probabilities corrected for labels that were not recorded.

    The baseline for methods that model dependence between labels. scikit-learn's
    ``MultiOutputClassifier(LogisticRegression(C))`` models the recorded labels. If a fraction α of the true
    labels was not recorded, independent of the row,

    .. math::

        P(\\text{recorded} \\mid x) = (1 - \\alpha) P(\\text{present} \\mid x),

    so the probabilities are divided by 1 - α and clipped at 1. A label is then predicted above the threshold
    t if the probability of the regression is above (1 - α) t.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty on the coefficients, as in scikit-learn's ``LogisticRegression``.
    missing_rate : float or array of shape (n_labels,), default=0.0
        The fraction α of true labels that was not recorded, from 0 to below 1, for all labels or for each.
        It is not learned.
    threshold : float or array of shape (n_labels,), default=0.5
        A label is predicted if its probability is above this.
    max_iter : int, default=1000
        Maximum number of iterations of each regression.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The names of the labels.
    coef_ : ndarray of shape (n_labels, n_features)
        The coefficients; 0 for a label that all rows or no rows have.
    intercept_ : ndarray of shape (n_labels,)
        The intercepts.
    n_features_in_ : int
        The number of columns of X.
    n_iter_ : int
        The largest number of iterations of a regression.

    Notes
    -----
    A label that all rows or no rows have cannot be learned; its probability is (n₁ + ½) / (n + 1) for any
    row, where n₁ of n rows have it.

    Examples
    --------
    The second label is recorded on half of the rows that have it.

    >>> from likewise.multilabel import BinaryRelevance
    >>> X = [[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]] * 4
    >>> Y = [[0, 0]] * 3 + [[1, 1]] * 3 + [[0, 0]] * 3 + [[1, 0]] * 3
    >>> BinaryRelevance().fit(X, Y * 2).predict([[1.5]])
    array([[1, 0]])
    >>> BinaryRelevance(missing_rate=[0, 0.5]).fit(X, Y * 2).predict([[1.5]])
    array([[1, 1]])
    """

    coef_: np.ndarray
    intercept_: Any
    n_iter_: int

    parameter_rules: ClassVar[dict[str, Rule]] = {
        "C": Rule.real(0, strict=True),
        "missing_rate": Rule.either(RATE, PER_LABEL),
        "max_iter": Rule.integer(1),
    }

    def __init__(
        self, C: float = 1.0, *, missing_rate: Any = 0.0, threshold: Any = 0.5, max_iter: int = 1000
    ) -> None:
        self.C = C
        self.missing_rate = missing_rate
        self.threshold = threshold
        self.max_iter = max_iter

    def _fit(self, X: Any, labels: LabelColumns) -> None:
        self._check_per_label("missing_rate", self.missing_rate, below=1.0)
        n, d = X.shape
        varies = (labels.counts > 0) & (labels.counts < n)
        self.coef_ = np.zeros((labels.n_labels, d))
        self.intercept_ = logit((labels.counts + 0.5) / (n + 1.0))
        self.n_iter_ = 1
        if varies.any():
            regression = LogisticRegression(C=self.C, max_iter=self.max_iter)
            fitted = MultiOutputClassifier(regression).fit(X, labels.Y[:, varies])
            self.coef_[varies] = np.vstack([one.coef_ for one in fitted.estimators_])
            self.intercept_[varies] = np.hstack([one.intercept_ for one in fitted.estimators_])
            self.n_iter_ = max(int(one.n_iter_[0]) for one in fitted.estimators_)

    def _compute_recorded_logits(self, X: Any) -> np.ndarray:
        """Return the log-odds that each label would be recorded."""
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def _compute_probabilities(self, X: Any) -> np.ndarray:
        rate = self._check_per_label("missing_rate", self.missing_rate, below=1.0)
        return np.minimum(expit(self._compute_recorded_logits(X)) / (1.0 - rate), 1.0)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log-odds that a label is recorded, minus those at which its probability is one half.

        Unlike the probabilities they are not clipped.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decision : ndarray of shape (n_samples, n_labels)
            Positive where the probability of a label is above one half.
        """
        check_is_fitted(self, "classes_")
        rate = self._check_per_label("missing_rate", self.missing_rate, below=1.0)
        odds = self._compute_recorded_logits(self._check_X(X, reset=False))
        return np.asarray(odds - logit((1.0 - rate) / 2.0))
