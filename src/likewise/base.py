"""The public contract for estimators that take hints, and the validation that all of them share.

Derive a clusterer from :class:`HintedClusterer` and any other estimator from :class:`HintedEstimator`. List
the kinds of hint that it uses in ``supported_hints`` and the values that its parameters may have in
``parameter_rules``; call :func:`validate_fit` in `fit` and :func:`validate_rows` in `predict` or `transform`.
:func:`likewise.testing.check_hinted_estimator` tests the result. Names that ``__all__`` does not list are
private.
"""

from __future__ import annotations

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._compat import HAS_CALLBACKS, BaseEstimator, CallbackSupportMixin, ClusterMixin
from likewise.backends import (
    Block,
    Rows,
    as_rows,
    is_distributed,
    make_dense_blocks,
    scale_to_unit_length,
    standardize_csr,
)
from likewise.exceptions import (
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    LikewiseError,
    LikewiseWarning,
    LongFitWarning,
    SupervisionError,
    TooFewClustersWarning,
    UnsupportedSupervisionError,
)
from likewise.supervision import Closure, Supervision
from likewise.supervision.cliques import find_too_large_clique
from likewise.supervision.row_checks import check_row_labels

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike

__all__ = [
    "HintedClusterer",
    "HintedEstimator",
    "Rule",
    "validate_fit",
    "validate_rows",
]

Described = TypeVar("Described", LikewiseError, LikewiseWarning)


@dataclass(frozen=True)
class Rule:
    """Which values a parameter may have.

    Parameters
    ----------
    expected : str
        The values in words, for the error message: "<parameter> must be <expected>, got <value>."
    holds : callable
        Takes a value and returns whether it is allowed.

    Examples
    --------
    >>> from likewise.base import Rule
    >>> even = Rule("an even integer", lambda value: isinstance(value, int) and value % 2 == 0)
    >>> even.holds(4), even.holds(5)
    (True, False)
    """

    expected: str
    holds: Callable[[Any], bool]

    @classmethod
    def integer(cls, low: int) -> Rule:
        """Return the rule that a parameter is an integer of at least `low`.

        Parameters
        ----------
        low : int
            The smallest allowed value.

        Returns
        -------
        rule : Rule
            The rule. It rejects booleans.
        """
        return cls(
            f"an integer of at least {low}",
            lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and bool(v >= low),
        )

    @classmethod
    def real(cls, low: float, *, strict: bool = False) -> Rule:
        """Return the rule that a parameter is a finite number of at least `low`.

        Parameters
        ----------
        low : float
            The lower bound.
        strict : bool, default=False
            Whether the number must be greater than `low`.

        Returns
        -------
        rule : Rule
            The rule. It rejects booleans.
        """
        return cls(
            f"a number {'above' if strict else 'of at least'} {low:g}",
            lambda v: (
                isinstance(v, int | float | np.integer | np.floating)
                and not isinstance(v, bool)
                and bool(np.isfinite(v))
                and bool(v > low if strict else v >= low)
            ),
        )

    @classmethod
    def choice(cls, *options: Any) -> Rule:
        """Return the rule that a parameter is one of the options.

        Parameters
        ----------
        *options : object
            The allowed values. A value is allowed if it is equal to an option and has the same type.

        Returns
        -------
        rule : Rule
            The rule.
        """
        return cls(
            "one of " + ", ".join(map(repr, options)),
            lambda v: any(v is o or (type(v) is type(o) and v == o) for o in options),
        )

    @classmethod
    def either(cls, *rules: Rule) -> Rule:
        """Return the rule that a parameter satisfies at least one of the rules.

        Parameters
        ----------
        *rules : Rule
            The alternatives.

        Returns
        -------
        rule : Rule
            The combined rule. Its error message lists the alternatives.
        """
        return cls(
            " or ".join(rule.expected for rule in rules), lambda v: any(rule.holds(v) for rule in rules)
        )


def check_parameters(estimator: Any, rules: Mapping[str, Rule] | None = None) -> None:
    """Raise a ValueError if a parameter of an estimator breaks its rule, by default in `parameter_rules`."""
    for name, rule in (estimator.parameter_rules if rules is None else rules).items():
        value = getattr(estimator, name)
        if not rule.holds(value):
            raise ValueError(f"{type(estimator).__name__}: {name} must be {rule.expected}, got {value!r}.")


def check_no_times(X: Any, owner: str) -> None:
    """Raise an error for dates, times or durations, which NumPy would convert to numbers in some unit."""
    columns = getattr(X, "dtypes", None)
    kinds = {} if columns is None or not hasattr(columns, "items") else dict(columns.items())
    times = {name: dtype for name, dtype in kinds.items() if getattr(dtype, "kind", "") in "mM"}
    if times:
        name, dtype = next(iter(times.items()))
        what = f"the column {name!r} of X holds times ({dtype})"
    elif getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        what = f"X holds times ({X.dtype})"
    else:
        return
    raise ValueError(
        f"{owner}: {what}; expected numbers. Choose a unit, for example days since the first: "
        "(t - t.min()) / np.timedelta64(1, 'D')."
    )


def describe_too_few_clusters(
    kind: type[Described],
    owner: str,
    closure: Closure,
    n_clusters: int,
    hints: Supervision,
    rows: np.ndarray | None = None,
) -> Described | None:
    """Return an error or a warning if more than `n_clusters` rows must be in different clusters, else None.

    The closure and the hints may cover only `rows`.
    """
    apart = find_too_large_clique(closure, n_clusters)
    if not len(apart):
        return None
    listed = ", ".join(hints._name_rows(apart[:10].tolist(), among=rows)) + (", …" if len(apart) > 10 else "")
    return kind(
        f"{{estimator}}: {len(apart)} rows must be apart from one another (rows {listed}), but there are "
        f"only {n_clusters} clusters, so not all of these cannot-links can hold.",
        f"Ask for at least {len(apart)} clusters, or drop some of the links.",
        rows=(apart if rows is None else rows[apart]).tolist(),
        parameter="n_clusters",
        kinds=("links",),
        estimator=owner,
    )


def warn_caller(message: str | Warning, category: type[Warning] = LikewiseWarning) -> None:
    """Warn with the stack level of the line that called likewise or scikit-learn.

    A warning that is passed as an object keeps its class and its fields.
    """
    frame = inspect.currentframe()
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "likewise",
        "sklearn",
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


_LONG = 60.0  # seconds of a fit that is announced beforehand


def warn_if_long(estimator: Any, seconds: float, suggestion: str) -> None:
    """Warn before a fit that is expected to take more than a minute."""
    if seconds > _LONG:
        minutes = max(round(seconds / 60), 1)
        warn_caller(
            LongFitWarning(
                f"{{estimator}}: this fit will take about {minutes} minute(s) on one core.",
                suggestion,
                estimator=type(estimator).__name__,
            )
        )


@dataclass(frozen=True)
class Warned:
    """A warning that was caught during a fit, possibly in another process, to be repeated to the caller."""

    category: type[Warning]
    message: LikewiseWarning | str

    @classmethod
    def from_record(cls, record: warnings.WarningMessage, before: str = "") -> Warned:
        """Store a warning recorded by `warnings.catch_warnings`, with `before` in front of its text."""
        message = record.message
        if isinstance(message, LikewiseWarning):
            return cls(record.category, message.add_text_before(before) if before else message)
        return cls(record.category, f"{before}{message}")


def repeat_warnings(warned: Iterable[Warned]) -> None:
    """Repeat the first warning of each category to the caller, with the number of the others."""
    found: dict[type[Warning], list[Warned]] = {}
    for one in warned:
        found.setdefault(one.category, []).append(one)
    for category, several in found.items():
        message = several[0].message
        if len(several) > 1:
            also = f"({len(several) - 1} more such warning(s) from other fits.)"
            message = f"{message} {also}" if isinstance(message, str) else message.add_text(also)
        warn_caller(message, category)


class FitProgress:
    """Reports the starts and iterations of a fit to scikit-learn's callbacks, if there are any."""

    def __init__(self, estimator: Any, X: Any, n_starts: int) -> None:
        self._estimator = estimator
        self._X = X
        self._n_begun = 0
        self._fit: Any = None
        self._start: Any = None
        if HAS_CALLBACKS and getattr(estimator, "_skl_callbacks", None):
            self._fit = estimator._init_callback_context(max_subtasks=n_starts)
            self._fit.call_on_fit_task_begin(estimator=estimator, X=X)

    def begin(self, max_iter: int) -> None:
        """Report that a start of the algorithm begins."""
        if self._fit is not None:
            self._start = self._fit.subcontext(task_name=f"start {self._n_begun}", max_subtasks=max_iter)
            self._n_begun += 1
            self._start.call_on_fit_task_begin(estimator=self._estimator, X=self._X)

    def step(self) -> bool:
        """Report that an iteration is done. Return True if a callback requests a stop."""
        if self._start is None:
            return False
        task = self._start.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X)
        return bool(task.call_on_fit_task_end(estimator=self._estimator, X=self._X))

    def end(self) -> None:
        """Report that the current start is over."""
        if self._start is not None:
            self._start.call_on_fit_task_end(estimator=self._estimator, X=self._X)
            self._start = None

    def finish(self) -> None:
        """Report that the fit is over."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(estimator=self._estimator, X=self._X)


def _describe_kind(X: Any) -> str:
    """Return the name of the type of X for an error message."""
    return f"a Dask {type(X).__name__}" if is_distributed(X) else type(X).__name__


def _look(block: Block) -> tuple[int, int, float]:
    """Return row, column and value of the first non-finite entry of a block, or -1, -1, largest magnitude."""
    X = block.X
    largest = max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))
    if np.isfinite(largest):  # a maximum with NaN in it is NaN
        return -1, -1, largest
    row, column = np.argwhere(~np.isfinite(X))[0]
    return int(row), int(column), float(X[row, column])


def check_finite(X: Rows, name: str) -> float:
    """Return the largest absolute value; raise a ValueError if a value is not finite."""
    most = 0.0
    for number, (row, column, largest) in enumerate(X.map(_look)):
        if row >= 0:
            called = "" if X.names is None else f" ({X.names[column]!r})"
            raise ValueError(
                f"{name}: block {number} of X has {largest} in its row {row}, column {column}{called}, which "
                f"is row {X.blocks[number].start + row} of all; rows and columns are counted from 0. Input X "
                "must not contain NaN or infinity: drop such rows, or impute the values."
            )
        most = max(most, largest)
    return most


# Weighted sums of squares above the first are close to overflow, weights below the second to underflow.
_LARGEST_SUM = float(np.finfo(np.float64).max) * 2.0**-100
_SMALLEST_WEIGHT = 2.0**-900


# Methods that take hints. Their errors about unknown keywords say how to pass them.
_TAKE_HINTS = ("fit", "fit_predict", "fit_transform", "partial_fit")


def explain_keywords(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method with an error for unknown keywords that says how to pass hints."""
    parameters = inspect.signature(method).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return method
    known = [one.name for one in parameters][1:]

    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                how = (
                    f"Did you mean {near[0]}?"
                    if near
                    else "Pass hints as one object, such as supervision=Supervision.from_links(len(X), "
                    "must=[(0, 3)], cannot=[(1, 7)]) or Supervision.from_labels([...])."
                )
                raise TypeError(
                    f"{type(self).__name__}.{method.__name__} has no parameter {name!r}; it takes "
                    f"{', '.join(known)}. {how}"
                )
        return method(self, *args, **keywords)

    return call


class HintedEstimator(CallbackSupportMixin, BaseEstimator):
    """Base class of estimators that take hints: ``fit(X, supervision=hints)``.

    Hints are routed by default if scikit-learn's metadata routing is enabled.

    Attributes
    ----------
    supported_hints : frozenset of str
        The kinds of hint that the estimator uses, out of "links", "triplets", "labels" and "bags". Hints of
        any other kind are refused with an error. Set by each subclass.
    parameter_rules : dict of str to Rule
        Which values each parameter may have. Set by each subclass.

    Examples
    --------
    A transformer that divides each column by the mean difference between must-linked rows:

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.base import HintedEstimator, validate_fit, validate_rows
    >>> class LinkScaler(HintedEstimator):
    ...     supported_hints = frozenset({"links"})
    ...
    ...     def fit(self, X, y=None, *, supervision=None):
    ...         X, hints = validate_fit(self, X, y, supervision)
    ...         first, second = hints.must.T
    ...         self.scale_ = np.abs(X[first] - X[second]).mean(axis=0)
    ...         return self
    ...
    ...     def transform(self, X):
    ...         return validate_rows(self, X) / self.scale_
    >>> hints = Supervision.from_links(3, must=[(0, 1), (1, 2)])
    >>> scaler = LinkScaler().fit([[0, 0], [1, 10], [2, 20]], supervision=hints)
    >>> scaler.transform([[3, 30]])
    array([[3., 3.]])
    """

    feature_names_in_: np.ndarray

    supported_hints: ClassVar[frozenset[str]] = frozenset()
    parameter_rules: ClassVar[dict[str, Rule]] = {}
    _reads_blocks: ClassVar[bool] = False  # whether `fit` takes rows that are not in memory
    _splits_new_rows: ClassVar[bool] = False  # whether `predict` bounds its memory for any number of rows
    # How `fit` takes sparse rows: not at all, as dense blocks, or as they are.
    _sparse_rows: ClassVar[Literal["refused", "dense blocks", "sparse"]] = "refused"
    _rescales_rows: ClassVar[bool] = False  # whether rows too small to square are multiplied first
    _may_scale_rows: ClassVar[bool] = False  # whether metric="cosine" scales rows to unit length
    _has_unit_rows: bool = False  # whether rows are scaled to unit length
    # Powers of two that rows and weights are multiplied by; 1 unless squares or sums over- or underflow.
    _row_unit: float = 1.0
    _weight_unit: float = 1.0
    _largest_squares: float = 0.0  # a bound on the sum of the squares of all differences from a row
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"supervision": True}

    _check_parameters: ClassVar[Callable[..., None]] = check_parameters

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in vars(cls).keys() & set(_TAKE_HINTS):
            setattr(cls, name, explain_keywords(vars(cls)[name]))

    def _check_X(self, X: Any, *, reset: bool) -> np.ndarray:
        """Validate the rows: finite, two-dimensional. float32 is kept; other types become float64."""
        if type(X) is not np.ndarray or X.dtype.kind not in "fiub":
            check_no_times(X, type(self).__name__)
        if type(X) is not np.ndarray and (isinstance(X, Rows) or is_distributed(X)):
            raise TypeError(
                f"{type(self).__name__} works on rows in memory, and {_describe_kind(X)} reads them in "
                "blocks. Pass an array, or use a method of the k-means or mixture family."
            )
        is_sparse = not isinstance(X, np.ndarray) and issparse(X)
        if is_sparse and self._sparse_rows == "refused":
            raise TypeError(
                f"{type(self).__name__} takes dense rows, and X is sparse. Reduce X to about a hundred "
                "columns with sklearn.decomposition.TruncatedSVD, or use a method that takes sparse rows, "
                "such as PCKMeans."
            )
        checked: np.ndarray = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], order="C", accept_sparse="csr"
        )
        if is_sparse:
            checked = standardize_csr(checked)
        if reset:
            largest = max(float(checked.max()), -float(checked.min()))
            self._choose_row_unit(largest, checked.dtype, checked.shape[0] * checked.shape[1])
        return checked

    def _check_array(self, X: Any, *, reset: bool) -> Any:
        """Return validated rows in memory, with ``metric="cosine"`` scaled to unit length."""
        checked = self._check_X(X, reset=reset)
        if reset and self._may_scale_rows:
            self._has_unit_rows = getattr(self, "metric", None) == "cosine"
        return scale_to_unit_length(checked) if self._has_unit_rows else checked

    def _check_largest(self, largest: float, dtype: Any, size: int) -> None:
        """Raise an error for values so large that a sum of squared differences would overflow."""
        if largest > float(np.sqrt(np.finfo(dtype).max / (4.0 * size))):
            raise ValueError(
                f"{type(self).__name__}: X has a value of size {largest:.3g}, too large to square in "
                f"{dtype}. Divide X by a constant, or pass float64."
            )

    def _choose_row_unit(self, largest: float, dtype: Any, size: int) -> None:
        """Choose the factor for rows that are too small to square, or raise an error for their size."""
        info = np.finfo(dtype)
        if largest > float(np.sqrt(info.max / (4.0 * size))):
            self._check_largest(largest, dtype, size)
        self._row_unit = 1.0
        if self._rescales_rows and 0.0 < largest < float(info.tiny) ** 0.25:  # fourth powers underflow
            self._row_unit = float(np.ldexp(1.0, min(-int(np.frexp(largest)[1]), info.maxexp - 28)))
        elif 0.0 < largest < 8.0 * float(np.sqrt(float(info.smallest_subnormal))):
            raise ValueError(
                f"{type(self).__name__}: the largest value of X is {largest:.3g}, too small to square in "
                f"{dtype}. Multiply X by a constant, or pass float64."
            )
        self._largest_squares = 4.0 * size * (largest * self._row_unit) ** 2

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        """Return validated rows, which may be read in blocks, multiplied by ``_row_unit``.

        With ``metric="cosine"`` they are scaled to unit length instead.
        """
        is_mapped = isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub" and X.size
        if type(X) is np.ndarray or not (isinstance(X, Rows) or is_mapped or is_distributed(X)):
            checked = self._check_X(X, reset=reset)
            is_split = self._sparse_rows == "dense blocks" and issparse(checked)
            rows = make_dense_blocks(checked) if is_split else as_rows(checked)
        else:
            check_no_times(X, type(self).__name__)
            rows = as_rows(X)
            if not len(rows) or not rows.shape[1]:
                raise ValueError(
                    f"{type(self).__name__}: X has {len(rows)} rows and {rows.shape[1]} columns; at least "
                    "one is needed."
                )
            self._check_columns(rows, reset=reset)
            most = check_finite(rows, type(self).__name__)
            if reset:
                self._choose_row_unit(most, rows.dtype, rows.shape[0] * rows.shape[1])
        if reset and self._may_scale_rows:
            self._has_unit_rows = getattr(self, "metric", None) == "cosine"
        if self._has_unit_rows:
            self._largest_squares = 4.0 * rows.shape[0] * rows.shape[1]
            return rows.transform(scale_to_unit_length)
        if self._row_unit == 1.0:
            return rows
        largest = check_finite(rows, type(self).__name__) * self._row_unit
        self._check_largest(largest, rows.dtype, rows.shape[0] * rows.shape[1])
        return rows.transform(partial(np.multiply, self._row_unit))

    def _check_columns(self, X: Rows, *, reset: bool) -> None:
        """Check the number of columns, and their names if they have names, as scikit-learn does."""
        known = getattr(self, "feature_names_in_", None)
        if not reset and X.names is not None and known is not None:
            if list(known) != list(X.names):
                raise ValueError(
                    f"{type(self).__name__}: the feature names should match those that were passed during "
                    f"fit: {', '.join(map(str, known))}; got {', '.join(X.names)}."
                )
            return
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset and X.names is not None:
            self.feature_names_in_ = np.asarray(X.names, dtype=object)

    def _check_weight(self, sample_weight: Any, n_samples: int) -> np.ndarray:
        """Validate the row weights: one per row, finite, non-negative, not all 0. None means all 1."""
        if sample_weight is None:
            return np.ones(n_samples)
        weight: np.ndarray = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
        name = type(self).__name__
        if weight.shape != (n_samples,):
            raise ValueError(
                f"{name}: sample_weight must have one weight per row, shape ({n_samples},); got "
                f"{weight.shape}."
            )
        if (weight < 0).any() or not weight.any():
            raise ValueError(f"{name}: sample_weight must not be negative, and not zero for every row.")
        return weight

    def _with_weights(self, rows: Rows, sample_weight: Any) -> Rows:
        """Return the rows with their weights. Weights that are all 1 take no memory."""
        if sample_weight is None:
            return rows
        if rows.is_distributed and is_distributed(sample_weight):  # validated on the cluster
            return rows.with_weights(sample_weight)
        return rows.with_weights(self._check_weight(sample_weight, len(rows)))

    def _weigh_rows(self, rows: Rows, sample_weight: Any, *, reset: bool = True) -> Rows:
        """Return the rows with their weights, in the unit that the first call determines (with `reset`).

        Weights are multiplied by a power of two if weighted sums of squares would over- or underflow.
        Estimators that trade off hints against rows multiply the weights of hints by ``_weight_unit`` too.
        """
        if sample_weight is not None:
            rows = self._with_weights(rows, sample_weight)
        if reset:
            self._weight_unit = 1.0
            if not rows.is_distributed:
                if rows.heaviest * self._largest_squares > _LARGEST_SUM:
                    self._weight_unit = float(np.ldexp(1.0, -int(np.frexp(rows.heaviest)[1])))
                elif rows.heaviest < _SMALLEST_WEIGHT:
                    self._weight_unit = 2.0**400
        if self._weight_unit == 1.0:
            return rows
        return rows.with_weights(rows.get_weights(np.arange(len(rows))) * self._weight_unit)

    def _check_fit(
        self, X: Any, y: Any, supervision: Any, *, in_blocks: bool = False
    ) -> tuple[Any, Supervision]:
        """Validate the parameters, the rows and the hints, in the order in which users can correct them.

        X is returned as an array, or with `in_blocks` as :class:`Rows`.
        """
        self._check_parameters()
        given = X
        X = self._check_rows(X, reset=True) if in_blocks else self._check_array(X, reset=True)
        hints = self._check_supervision(supervision, X.shape[0], y, given=given)
        return X, hints

    def _check_supervision(
        self, supervision: Any, n_samples: int, y: Any = None, *, given: Any
    ) -> Supervision:
        """Check the type of the hints, their number of rows, and that the estimator supports their kinds.

        `given` is X as the caller passed it: hints made by index are compared with the index of a data frame.
        """
        name = type(self).__name__
        if isinstance(y, Supervision):
            raise SupervisionError(
                "{estimator}: y is ignored, so pass the hints by name: fit(X, supervision=hints).",
                parameter="supervision",
                estimator=name,
            )
        if supervision is None:
            return Supervision.empty(n_samples)
        if not isinstance(supervision, Supervision):
            raise SupervisionError(
                "{estimator}: supervision must be a likewise.Supervision, got "
                f"{type(supervision).__name__}.",
                "Make one with Supervision.from_links(len(X), must=[(0, 3)], cannot=[(1, 7)]).",
                parameter="supervision",
                estimator=name,
            )
        if supervision.n_samples != n_samples:
            raise SupervisionError(
                f"{{estimator}}: the hints are for {supervision.n_samples} rows, but X has {n_samples}.",
                "Index the hints with the rows that you kept: hints[rows].",
                parameter="supervision",
                estimator=name,
            )
        if supervision._index is not None:
            check_row_labels(supervision, given, name)
        if refused := supervision.kinds - self.supported_hints:
            kept = ", ".join(repr(kind) for kind in sorted(self.supported_hints)) or "no hints"
            convert = (
                ", or convert the others to links with hints.to_links()"
                if "links" in self.supported_hints
                else ""
            )
            raise UnsupportedSupervisionError(
                f"{{estimator}} supports {kept} and cannot use {', '.join(sorted(refused))}.",
                "Keep the supported hints with "
                f"hints.select_kinds({', '.join(map(repr, sorted(self.supported_hints)))}){convert}.",
                kinds=refused,
                estimator=name,
            )
        return supervision

    def _compute_soft_closure(
        self,
        hints: Supervision,
        what_then: str = "All are weighed against one another.",
        rows: np.ndarray | None = None,
    ) -> Closure:
        """Return the closure of the links, with a warning about contradictions.

        The hints may cover only `rows`; the warning then refers to these.
        """
        closure = hints.closure(on_conflict="keep")
        if len(closure.conflicts):
            names, chain = closure._trace_conflict(hints._name_rows, rows)
            warn_caller(
                InconsistentSupervisionWarning(
                    f"{{estimator}}: {len(closure.conflicts)} cannot-link(s) contradict the must-links, "
                    f"the first between rows {names[0]} and {names[-1]}, which are joined through "
                    f"{' – '.join(names)}. {what_then}",
                    "hints.drop_conflicts() lets the must-links win.",
                    rows=(chain[0], chain[-1]),
                    chain=chain,
                    kinds=("links",),
                    estimator=type(self).__name__,
                )
            )
        too_few = self._describe_too_few_clusters(TooFewClustersWarning, closure, hints, rows)
        if too_few is not None:
            warn_caller(too_few)
        return closure

    def _compute_hard_closure(self, hints: Supervision, rows: np.ndarray) -> Closure:
        """Return the closure of hints that cover only `rows`; raise an error for contradictions."""
        closure = hints.closure(on_conflict="keep")
        if len(closure.conflicts):
            raise closure._make_conflict_error(hints._name_rows, rows)
        too_few = self._describe_too_few_clusters(InfeasibleSupervisionError, closure, hints, rows)
        if too_few is not None:
            raise too_few
        return closure

    def _describe_too_few_clusters(
        self, kind: type[Described], closure: Closure, hints: Supervision, rows: np.ndarray | None
    ) -> Described | None:
        n_clusters = getattr(self, "n_clusters", None)
        if not isinstance(n_clusters, int | np.integer) or not getattr(self, "fixed_n_clusters", True):
            return None
        if getattr(self, "cannot", None) == "drop":  # cannot-links are not used
            return None
        n_pairs = n_clusters * (n_clusters + 1) // 2  # among n_clusters + 1 rows
        if len(closure.cannot) < n_pairs and not len(closure.cannot_groups.weights):
            return None
        return describe_too_few_clusters(
            kind, type(self).__name__, closure, int(n_clusters or 1), hints, rows
        )

    def __getstate__(self) -> Any:
        """Return the state to pickle, without Dask collections, which are useless outside their cluster."""
        state = super().__getstate__()
        left = [name for name, value in state.items() if is_distributed(value)]
        for name in left:
            warn_caller(
                f"{type(self).__name__}: {name} is on a Dask cluster and is not saved with the model. Save "
                "it separately if you need it, with the methods of a Dask array.",
                LikewiseWarning,
            )
        return {name: value for name, value in state.items() if name not in left}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse_rows != "refused"
        return tags


class HintedClusterer(ClusterMixin, HintedEstimator):
    """Base class of clusterers that take hints. A subclass has a parameter `n_clusters` and sets `labels_`.

    Examples
    --------
    Gaussian mixtures that start from the means of the labelled rows:

    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> from likewise import Supervision
    >>> from likewise.base import HintedClusterer, Rule, validate_fit, validate_rows
    >>> class SeededMixture(HintedClusterer):
    ...     supported_hints = frozenset({"labels"})
    ...     parameter_rules = {"n_clusters": Rule.integer(1)}
    ...
    ...     def __init__(self, n_clusters=2, *, random_state=None):
    ...         self.n_clusters = n_clusters
    ...         self.random_state = random_state
    ...
    ...     def fit(self, X, y=None, *, supervision=None):
    ...         X, hints = validate_fit(self, X, y, supervision)
    ...         means = None
    ...         if len(hints.classes) == self.n_clusters:
    ...             means = [X[hints.label_codes == c].mean(axis=0) for c in range(self.n_clusters)]
    ...         mixture = GaussianMixture(self.n_clusters, means_init=means, random_state=self.random_state)
    ...         self.mixture_ = mixture.fit(X)
    ...         self.labels_ = self.mixture_.predict(X)
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return self.mixture_.predict(validate_rows(self, X))
    >>> X = [[0.0], [0.2], [0.4], [5.0], [5.2], [5.4]]
    >>> hints = Supervision.from_labels([None, "low", None, "high", None, None])
    >>> model = SeededMixture().fit(X, supervision=hints)
    >>> [hints.classes[label] for label in model.predict([[0.1], [5.1]])]
    ['low', 'high']
    """

    n_clusters: int
    labels_: np.ndarray

    def _check_fit(
        self, X: Any, y: Any, supervision: Any, *, in_blocks: bool = False
    ) -> tuple[Any, Supervision]:
        X, hints = super()._check_fit(X, y, supervision, in_blocks=in_blocks)
        self._check_n_clusters(self.n_clusters, X.shape[0], hints)
        return X, hints

    def _check_n_clusters(self, n_clusters: int, n_samples: int, hints: Supervision) -> None:
        if n_clusters > n_samples:
            raise ValueError(
                f"{type(self).__name__}: n_samples={n_samples} should be >= n_clusters={n_clusters}. "
                "Ask for fewer clusters."
            )
        if n_clusters == 1 and (len(hints.cannot) or len(hints.cannot_groups.weights)):
            raise InfeasibleSupervisionError(
                "{estimator}: with n_clusters=1 all rows are together: no cannot-link can hold.",
                "Ask for at least two clusters, or drop the cannot-links.",
                parameter="n_clusters",
                kinds=("links",),
                estimator=type(self).__name__,
            )
        if "labels" in hints.kinds and n_clusters < len(hints.classes):
            raise InfeasibleSupervisionError(
                f"{{estimator}}: the labels name {len(hints.classes)} classes, but n_clusters={n_clusters}.",
                "Ask for at least as many clusters as there are classes.",
                parameter="n_clusters",
                kinds=("labels",),
                estimator=type(self).__name__,
            )

    def _check_init_array(self, init: Any, shape: tuple[int, int]) -> np.ndarray:
        """Validate starting points that were passed as an array."""
        try:
            given = np.array(init, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{type(self).__name__}: init is not an array of numbers: {error}.") from error
        if given.shape != shape or not np.isfinite(given).all():
            raise ValueError(
                f"{type(self).__name__}: init must be finite and of shape {shape}, got shape {given.shape}."
            )
        return given

    def _warn_few_clusters(self, labels: np.ndarray | int, n_clusters: int, why: str) -> bool:
        """Warn and return True if there are fewer than `n_clusters` clusters.

        `labels` are the labels, or the number of distinct labels.
        """
        found = labels if isinstance(labels, int) else len(np.unique(labels))
        if found < n_clusters:
            warn_caller(
                f"{type(self).__name__} found {found} distinct clusters of the {n_clusters} asked for. {why}",
                ConvergenceWarning,
            )
        return found < n_clusters

    @abstractmethod
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Cluster the rows of X, guided by the hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. None means no hints.

        Returns
        -------
        self : object
            The fitted clusterer.
        """

    def fit_predict(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> np.ndarray:
        """Fit the clusterer and return the cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. None means no hints.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row, for clusterers whose `fit` has this parameter.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row, the attribute `labels_`.
        """
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.fit(X, supervision=supervision, **weight).labels_

    def _warn_not_converged(self, n_iter: int) -> None:
        warn_caller(
            f"{type(self).__name__} stopped after {n_iter} iterations before its labels settled. "
            "Increase max_iter or tol.",
            ConvergenceWarning,
        )


def validate_fit(
    estimator: HintedEstimator, X: Any, y: Any = None, supervision: Supervision | None = None
) -> tuple[np.ndarray, Supervision]:
    """Validate everything that `fit` was given.

    Parameters
    ----------
    estimator : HintedEstimator
        The estimator that is being fitted. Its parameters are validated too.
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : ignored
        Hints that are passed as `y` are an error.
    supervision : Supervision, optional
        The hints.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows in C order, as float64, or as float32 if they were float32.
    supervision : Supervision
        The hints, all of a kind in `supported_hints`; an object without hints if None was given.

    Raises
    ------
    ValueError
        A parameter breaks its rule, X is not a finite numeric array, or there are fewer rows than clusters.
    SupervisionError
        The hints are about other rows or of an unsupported kind, or cannot hold with `n_clusters` clusters.
    """
    rows, hints = estimator._check_fit(X, y, supervision)
    return rows, hints


def validate_rows(estimator: HintedEstimator, X: Any) -> np.ndarray:
    """Validate the rows that a fitted estimator is used on, in `predict` or `transform`.

    Parameters
    ----------
    estimator : HintedEstimator
        The estimator. A `NotFittedError` is raised if it is not fitted.
    X : array-like of shape (n_samples, n_features)
        The rows, with the columns of those in `fit`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows in C order, as float64, or as float32 if they were float32.
    """
    check_is_fitted(estimator)
    return estimator._check_X(X, reset=False)
