"""Checks for estimators that take hints.

:func:`check_hinted_estimator` checks how an estimator handles hints, as scikit-learn's ``check_estimator``
checks the rest of the interface. Run both.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from likewise.exceptions import InfeasibleSupervisionError, SupervisionError, UnsupportedSupervisionError
from likewise.supervision import KINDS, Supervision, sample_links, sample_triplets

__all__ = ["check_hinted_estimator", "hinted_estimator_checks"]


def _make_problem(kinds: frozenset[str]) -> tuple[np.ndarray, np.ndarray, Supervision]:
    """Return three blobs of 20 rows, their classes, and correct hints of the given kinds."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 3)) + 6 * np.eye(3)[y]
    hints = Supervision.empty(60)
    if "links" in kinds:
        hints = hints | sample_links(y, 30, random_state=0)
    if "triplets" in kinds:
        hints = hints | sample_triplets(y, 30, random_state=0)
    if "labels" in kinds:
        hints = hints | Supervision.from_labels([c if i % 5 == 0 else None for i, c in enumerate(y.tolist())])
    if "bags" in kinds:
        bags = (np.arange(60) % 20).tolist()
        hints = hints | Supervision.from_bags(bags, {b: {0, 1, 2} for b in range(20)})
    return X, y, hints


def _fit(estimator: Any, X: np.ndarray, hints: Any, n_clusters: int = 3) -> Any:
    model = clone(estimator)
    known = model.get_params(deep=False)
    wanted: dict[str, Any] = {"n_clusters": n_clusters, "random_state": 0}
    # Some methods refuse a part of a kind unless they are set to drop it; all other refusals are checked.
    wanted |= {name: "drop" for name in ("cannot", "neither") if known.get(name) == "refuse"}
    model.set_params(**{name: value for name, value in wanted.items() if name in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, supervision=hints)


def _get_outcome(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the result of a fit: the clusters of the rows, or the transformed rows."""
    return np.asarray(model.labels_ if hasattr(model, "labels_") else model.transform(X))


def _get_clusters(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the clusters of the model, or those of k-means in the space that it learned."""
    if hasattr(model, "labels_"):
        return np.asarray(model.labels_)
    return np.asarray(KMeans(3, n_init=10, random_state=0).fit_predict(model.transform(X)))


def _same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    return len(a) == len(b) and adjusted_rand_score(a, b) == 1.0


def check_uses_supported_hints(estimator: Any) -> None:
    """Hints of every supported kind are accepted, and correct hints preserve well-separated clusters."""
    X, y, hints = _make_problem(estimator.supported_hints)
    labels = _get_clusters(_fit(estimator, X, hints), X)
    assert labels.shape == (60,), labels.shape
    assert adjusted_rand_score(y, labels) > 0.9, adjusted_rand_score(y, labels)


def check_refuses_unsupported_hints(estimator: Any) -> None:
    """An unsupported kind of hint raises an error that names it; it is never dropped."""
    for kind in set(KINDS) - estimator.supported_hints:
        X, _, hints = _make_problem(frozenset({kind}))
        _assert_raises(UnsupportedSupervisionError, kind, estimator, X, hints)


def check_refuses_other_rows(estimator: Any) -> None:
    """Hints for another number of rows, and objects that are not hints, raise an error."""
    X, y, hints = _make_problem(estimator.supported_hints)
    _assert_raises(SupervisionError, "59", estimator, X, hints[:59])
    _assert_raises(SupervisionError, "ndarray", estimator, X, y)


def check_refuses_hints_as_y(estimator: Any) -> None:
    """Hints passed as y, which is ignored, raise an error that says how to pass them."""
    X, _, hints = _make_problem(estimator.supported_hints)
    message = None
    try:
        clone(estimator).fit(X, hints)
    except SupervisionError as raised:
        message = str(raised)
    assert message is not None, f"{type(estimator).__name__} ignored hints that were passed as y"
    assert "supervision=" in message, message


def check_no_hints(estimator: Any) -> None:
    """None and an empty Supervision give the same result."""
    X, _, _ = _make_problem(frozenset())
    bare, empty = _fit(estimator, X, None), _fit(estimator, X, Supervision.empty(60))
    np.testing.assert_array_equal(_get_outcome(bare, X), _get_outcome(empty, X))


def check_deterministic(estimator: Any) -> None:
    """The same seed gives the same labels, also with pickled hints, and fit does not change its input."""
    X, _, hints = _make_problem(estimator.supported_hints)
    before, pickled = X.copy(), pickle.dumps(hints)
    first = _fit(estimator, X, hints)
    again = _fit(estimator, X, pickle.loads(pickled))
    np.testing.assert_array_equal(_get_outcome(first, X), _get_outcome(again, X))
    np.testing.assert_array_equal(X, before)
    assert pickle.loads(pickled) == hints
    copy = pickle.loads(pickle.dumps(first))
    use = "predict" if hasattr(first, "predict") else "transform"
    np.testing.assert_array_equal(getattr(copy, use)(X), getattr(first, use)(X))


def check_link_order(estimator: Any) -> None:
    """Neither the order of the links nor the order of the rows in a link changes the result."""
    if "links" not in estimator.supported_hints:
        return
    X, _, hints = _make_problem(frozenset({"links"}))
    turned = Supervision.from_links(60, must=hints.must[::-1, ::-1], cannot=hints.cannot[::-1, ::-1])
    one, other = _fit(estimator, X, hints), _fit(estimator, X, turned)
    np.testing.assert_allclose(_get_outcome(one, X), _get_outcome(other, X), rtol=1e-6, atol=1e-6)


def check_k_one_with_cannot(estimator: Any) -> None:
    """A cannot-link with a single cluster is refused."""
    if "links" not in estimator.supported_hints or not hasattr(estimator, "n_clusters"):
        return
    X, _, _ = _make_problem(frozenset())
    hints = Supervision.from_links(60, cannot=[(0, 59)])
    _assert_raises(InfeasibleSupervisionError, "n_clusters=1", estimator, X, hints, n_clusters=1)


def check_dtypes_and_layouts(estimator: Any) -> None:
    """float32, integer, Fortran-ordered and read-only data give the same clusters as float64 data."""
    X, _, hints = _make_problem(estimator.supported_hints)
    X = np.round(X * 16)
    expected = _fit(estimator, X, hints)
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (X.astype(np.float32), X.astype(np.int64), np.asfortranarray(X), frozen):
        model = _fit(estimator, other, hints)
        assert _same_partition(_get_clusters(expected, X), _get_clusters(model, other)), other.dtype
    centers = getattr(_fit(estimator, X.astype(np.float32), hints), "cluster_centers_", None)
    assert centers is None or centers.dtype == np.float32


def check_predict_agrees(estimator: Any) -> None:
    """For rows without hints, predict agrees with the labels of the fit."""
    if not hasattr(estimator, "predict"):
        return
    X, _, hints = _make_problem(estimator.supported_hints)
    model = _fit(estimator, X, hints)
    free = ~hints.touched
    np.testing.assert_array_equal(model.predict(X)[free], model.labels_[free])


def _assert_raises(
    wanted: type[Exception], words: str, estimator: Any, X: Any, hints: Any, n_clusters: int = 3
) -> None:
    message = None
    try:
        _fit(estimator, X, hints, n_clusters)
    except wanted as raised:
        message = str(raised)
    assert message is not None, f"{type(estimator).__name__} accepted what it should refuse ({words})"
    assert words in message, f"the message does not name {words!r}: {message}"


def hinted_estimator_checks() -> Iterator[Any]:
    """Yield all checks, for parametrised tests.

    Yields
    ------
    check : callable
        Takes an estimator, and raises an error if it fails the check.
    """
    yield from (
        check
        for name, check in globals().items()
        if name.startswith("check_") and name != "check_hinted_estimator"
    )


def check_hinted_estimator(estimator: Any) -> None:
    """Run all checks on an estimator that takes ``fit(X, supervision=hints)``.

    Parameters
    ----------
    estimator : estimator
        An instance; it is cloned for each check.

    Raises
    ------
    AssertionError
        If a check fails. Errors that the estimator raises unexpectedly are passed on.

    Examples
    --------
    >>> from likewise import PCKMeans
    >>> from likewise.testing import check_hinted_estimator
    >>> check_hinted_estimator(PCKMeans())
    """
    for check in hinted_estimator_checks():
        check(estimator)
