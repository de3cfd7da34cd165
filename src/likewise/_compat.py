"""Differences between the supported versions of scikit-learn, and typed stubs of its base classes.

scikit-learn has no type annotations: a class derived from its `BaseEstimator` has an unknown base, and type
checkers then accept any attribute, misspelt ones included. Under `TYPE_CHECKING` the bases are declared here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state as _check_random_state

if TYPE_CHECKING:
    from typing import Self

    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike

    HAS_CALLBACKS: bool
    Method = TypeVar("Method", bound=Callable[..., Any])

    class BaseEstimator:
        """Parameters by name, as in scikit-learn."""

        n_features_in_: int

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters."""

        def set_params(self, **params: Any) -> Self:
            """Set parameters."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            """Return the names of the parameters."""

        def __getstate__(self) -> dict[str, Any]:
            """Return the state to pickle."""

        def __sklearn_tags__(self) -> Any:
            """Return the estimator tags."""

        def get_metadata_routing(self) -> Any:
            """Return the metadata requests."""

        def set_fit_request(self, **requests: bool | str | None) -> Self:
            """Request metadata such as ``supervision`` for ``fit``."""

        def set_score_request(self, **requests: bool | str | None) -> Self:
            """Request metadata such as ``sample_weight`` for ``score``."""

    class ClusterMixin:
        """A clusterer of scikit-learn."""

    class ClassifierMixin:
        """A classifier of scikit-learn."""

    class TransformerMixin:
        """A transformer of scikit-learn."""

        def fit_transform(self, X: MatrixLike, y: ArrayLike | None = None, **fit_params: Any) -> np.ndarray:
            """Fit, and transform the same rows."""

        def set_output(self, *, transform: str | None = None) -> Self:
            """Choose the container that ``transform`` returns."""

    class ClassNamePrefixFeaturesOutMixin:
        """Output column names derived from the class name."""

        def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
            """Return the names of the columns that ``transform`` returns."""

    class MetaEstimatorMixin:
        """An estimator that fits another one."""

    class CallbackSupportMixin:
        """Callbacks during ``fit``, in scikit-learn 1.9 and newer."""

    def with_callbacks(method: Method) -> Method:
        """Run the callbacks around ``fit``."""

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MetaEstimatorMixin,
        TransformerMixin,
    )

    try:  # scikit-learn 1.9 and newer
        from sklearn.callback import CallbackSupportMixin, with_callbacks

        HAS_CALLBACKS = True
    except ImportError:
        HAS_CALLBACKS = False

        class CallbackSupportMixin:
            """Placeholder for versions of scikit-learn without callbacks."""

        def with_callbacks(method):
            """Return the method unchanged."""
            return method


# A `RandomState` for a seed, as in scikit-learn.
check_random_state: Callable[[RandomStateLike], np.random.RandomState] = singledispatch(_check_random_state)


@check_random_state.register  # type: ignore[attr-defined]
def _share_stream(random_state: np.random.Generator) -> np.random.RandomState:
    """Return a `RandomState` that shares the stream of a generator.

    >>> first, second = (check_random_state(np.random.default_rng(0)) for _ in range(2))
    >>> first.randint(10**6) == second.randint(10**6)
    True
    """
    return np.random.RandomState(random_state.bit_generator)


__all__ = [
    "HAS_CALLBACKS",
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "MetaEstimatorMixin",
    "TransformerMixin",
    "check_random_state",
    "with_callbacks",
]
