"""Base class of the multi-label classifiers: validation of X and Y, and predictions from probabilities."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from likewise._compat import BaseEstimator, ClassifierMixin
from likewise.base import Rule, check_no_times, check_parameters

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike


SHARE = Rule("a number from 0 to 1", lambda v: Rule.real(0).holds(v) and bool(v <= 1))
RATE = Rule("a number from 0 up to, not including, 1", lambda v: Rule.real(0).holds(v) and bool(v < 1))
PER_LABEL = Rule(
    "an array of such numbers, one per label", lambda v: hasattr(v, "__len__") and not isinstance(v, str)
)
IS_THRESHOLD: Rule = Rule.either(SHARE, PER_LABEL)


class MultilabelClassifier(ClassifierMixin, BaseEstimator):
    """Base class of the multi-label classifiers: ``fit(X, Y)`` with one column of Y per label.

    A subclass has a parameter `threshold`, lists the allowed values of its other parameters in
    ``parameter_rules``, and defines ``_fit`` and ``_compute_probabilities`` or ``_compute_odds``, which
    receive validated rows.
    """

    classes_: np.ndarray

    parameter_rules: ClassVar[dict[str, Rule]] = {}
    threshold: Any

    @abstractmethod
    def _fit(self, X: Any, labels: LabelColumns) -> None:
        """Learn from rows X (float64, dense or CSR) and labels."""

    def _compute_probabilities(self, X: Any) -> np.ndarray:
        """Return the probability of each label for checked rows, of shape (n_samples, n_labels)."""
        return np.asarray(expit(self._compute_odds(X)))

    def _compute_odds(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label for checked rows, of shape (n_samples, n_labels)."""
        return np.asarray(logit(np.clip(self._compute_probabilities(X), 1e-300, 1.0 - 1e-16)))

    def _predict(self, X: Any) -> np.ndarray:
        """Return 1 where the probability of a label is above its threshold, for checked rows."""
        threshold = self._check_per_label("threshold", self.threshold)
        return (self._compute_probabilities(X) > threshold).astype(np.int64)

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
        check_is_fitted(self, "classes_")
        return self._predict(self._check_X(X, reset=False))

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log-odds of each label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_odds : ndarray of shape (n_samples, n_labels)
            The logarithm of p / (1 - p), where p are the probabilities of `predict_proba`.
        """
        check_is_fitted(self, "classes_")
        return self._compute_odds(self._check_X(X, reset=False))

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


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """A validated label matrix, and the names of its columns."""

    Y: np.ndarray  # (n_samples, n_labels) of uint8 in C order; 1 where a row has a label
    names: tuple[str, ...]

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.names)

    @property
    def counts(self) -> np.ndarray:
        """The number of rows with each label."""
        counts: np.ndarray = self.Y.sum(axis=0, dtype=np.int64)
        return counts


def check_labels(Y: Any, *, who: str = "") -> LabelColumns:
    """Validate a label matrix (dense, sparse or a DataFrame, whose columns name the labels); make it dense.

    1 or True means that a row has a label. `who` is the caller, with which error messages begin.

    >>> labels = check_labels([[1, 0], [1, 1], [0, 0]])
    >>> labels.names, labels.counts.tolist()
    (('0', '1'), [2, 1])
    """
    who = f"{who}: " if who else ""
    if Y is None:
        raise ValueError(f"{who}requires y to be passed, but the target y is None.")
    names = _get_column_names(Y, who)
    values = _check_two_axes(Y, who)
    for axis, size in zip(("row", "column"), values.shape, strict=True):
        if not size:
            raise ValueError(
                f"{who}Y must have at least one {axis}; got shape {values.shape}. Pass one row per sample "
                "and one column per label."
            )
    return LabelColumns(_check_zeros_and_ones(values, who), names or tuple(map(str, range(values.shape[1]))))


def _get_column_names(Y: Any, who: str) -> tuple[str, ...] | None:
    """Return the column names of a DataFrame as strings, or None for other types."""
    if not (hasattr(Y, "columns") and hasattr(Y, "to_numpy")):
        return None
    names = tuple(map(str, Y.columns))
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"{who}two columns of Y have the name {twice[0]!r}. Label names must be unique when converted to "
            "text: rename a column, or merge the two."
        )
    return names


def _check_two_axes(Y: Any, who: str) -> np.ndarray:
    if sparse.issparse(Y):
        values = Y.toarray()
    else:
        try:
            values = np.asarray(Y.to_numpy() if hasattr(Y, "to_numpy") else Y)
            if values.dtype.kind == "O" and hasattr(Y, "isna"):
                values = np.where(Y.isna(), np.nan, values)
        except ValueError as error:
            raise ValueError(
                f"{who}Y is not a matrix: its rows have different lengths. Convert lists of labels "
                "with sklearn.preprocessing.MultiLabelBinarizer().fit_transform(Y)."
            ) from error
    if values.ndim != 2:
        raise ValueError(
            f"{who}Y must have one column per label, shape (n_samples, n_labels); got shape {values.shape}. "
            "Pass one label as Y.reshape(-1, 1). Only binary classification is supported, label by label: "
            "turn a column of classes into labels with sklearn.preprocessing.LabelBinarizer()"
            ".fit_transform(y). A continuous target is for regressors."
        )
    return values


def _check_zeros_and_ones(values: np.ndarray, who: str) -> np.ndarray:
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values, dtype=np.uint8)
    try:
        if values.dtype.kind not in "iufO":
            raise TypeError
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who}Y must contain 0 and 1, or False and True; got values of {values.dtype}, such as "
            f"{values.flat[0]!r}. Turn names of labels into columns with "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(Y)."
        ) from None
    missing = np.isnan(numbers)
    if missing.any():
        i, k = np.argwhere(missing)[0]
        raise ValueError(
            f"{who}Y contains NaN: {int(missing.sum())} value(s), the first in row {i}, column {k}. A label "
            "that was not recorded is a 0: Y.fillna(0), or numpy.nan_to_num(Y)."
        )
    other = (numbers != 0.0) & (numbers != 1.0)
    if other.any():
        i, k = np.argwhere(other)[0]
        raise ValueError(
            f"{who}Y must contain only 0 and 1; got {numbers[i, k]:g} in row {i}, column {k}. Convert it, "
            "for instance with Y > 0."
        )
    return np.ascontiguousarray(numbers, dtype=np.uint8)
