"""Base class of the multi-label classifiers: validation of X and Y, and predictions from probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from likewise._compat import BaseEstimator, ClassifierMixin
from likewise.base import Rule, check_no_times, check_parameters, either, real
from likewise.multilabel._label_matrix import LabelColumns, check_labels

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike


def is_share(v: Any) -> bool:
    """Return True for a number from 0 to 1."""
    return real(0).holds(v) and bool(v <= 1)


def _is_array(v: Any) -> bool:
    return hasattr(v, "__len__") and not isinstance(v, str)


SHARE = Rule("a number from 0 to 1", is_share)
PER_LABEL = Rule("an array of such numbers, one per label", _is_array)
IS_THRESHOLD: Rule = either(SHARE, PER_LABEL)


class MultilabelClassifier(ClassifierMixin, BaseEstimator):
    """Base class of the multi-label classifiers: ``fit(X, Y)`` with one column of Y per label.

    A subclass has a parameter `threshold`, lists the allowed values of its other parameters in
    ``parameter_rules``, and defines ``_fit`` and ``_compute_probabilities``, which receive validated rows.
    """

    classes_: np.ndarray

    parameter_rules: ClassVar[dict[str, Rule]] = {}
    threshold: Any

    @abstractmethod
    def _fit(self, X: Any, labels: LabelColumns) -> None:
        """Learn from rows X (float64, dense or CSR) and labels."""

    @abstractmethod
    def _compute_probabilities(self, X: Any) -> np.ndarray:
        """Return the probability of each label for checked rows, of shape (n_samples, n_labels)."""

    def fit(self, X: MatrixLike, Y: ArrayLike) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            1 where a row has a label and 0 elsewhere. The columns of a DataFrame name the labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._check_fit(X, Y)
        self._fit(X, labels)
        return self

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probability of each label for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_labels)
            The probability that the row has the label.
        """
        check_is_fitted(self, "classes_")
        return self._compute_probabilities(self._check_X(X, reset=False))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Y : ndarray of int, shape (n_samples, n_labels)
            1 where a label is predicted and 0 elsewhere.
        """
        return self._apply_threshold(self.predict_proba(X))

    def _apply_threshold(self, probabilities: np.ndarray) -> np.ndarray:
        """Return 1 where a probability is above the threshold and 0 elsewhere."""
        return (probabilities > self._check_per_label("threshold", self.threshold)).astype(np.int64)

    def _check_fit(self, X: Any, Y: Any) -> tuple[Any, LabelColumns]:
        """Validate parameters, rows and labels."""
        check_parameters(self, {"threshold": IS_THRESHOLD} | self.parameter_rules)
        X = self._check_X(X, reset=True)
        labels = check_labels(Y, who=type(self).__name__)
        check_consistent_length(X, labels.Y)
        self.classes_ = np.array(labels.names, dtype=object)
        if not isinstance(self.threshold, str):  # "f1" has already been validated
            self._check_per_label("threshold", self.threshold)
        return X, labels

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Validate the rows: finite, two-dimensional, dense or CSR, converted to float64."""
        check_no_times(X, type(self).__name__)
        return validate_data(self, X, reset=reset, dtype=np.float64, order="C", accept_sparse="csr")

    def _check_columns(self, Y: Any, labels: LabelColumns) -> None:
        """Raise an error if the columns of Y differ from those in `fit`."""
        who = type(self).__name__
        if labels.n_labels != len(self.classes_):
            raise ValueError(
                f"{who}: Y has {labels.n_labels} column(s); fit had {len(self.classes_)} labels. Give the "
                "same columns, in the same order."
            )
        if hasattr(Y, "columns") and labels.names != tuple(self.classes_):
            wrong = next((a, b) for a, b in zip(labels.names, self.classes_, strict=True) if a != b)
            raise ValueError(
                f"{who}: Y has column {wrong[0]!r} where fit had {wrong[1]!r}. Give the same columns, in the "
                "same order: Y[list(model.classes_)]."
            )

    def _check_per_label(self, name: str, value: Any, *, below: float = np.inf) -> np.ndarray:
        """Return one number from 0 to 1 per label, from a single number or an array."""
        n_labels = len(self.classes_)
        try:
            numbers = np.asarray(value, dtype=np.float64)
            fits = numbers.shape in ((), (n_labels,))
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ValueError(
                f"{type(self).__name__}: {name} must be one number, or one for each of the {n_labels} "
                f"labels; got {value!r}."
            )
        if not ((numbers >= 0.0) & (numbers <= 1.0) & (numbers < below)).all():
            upper = "to 1" if below > 1.0 else f"up to, not including, {below:g}"
            raise ValueError(f"{type(self).__name__}: {name} must be from 0 {upper}; got {value!r}.")
        return np.broadcast_to(numbers, (n_labels,))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags
