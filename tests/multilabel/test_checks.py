"""scikit-learn's checks on the multi-label classifiers, and replacements for those that do not apply."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise import multilabel
from likewise.multilabel._base import MultilabelClassifier

CLASSIFIERS = [
    cls
    for cls in (getattr(multilabel, name) for name in multilabel.__all__)
    if inspect.isclass(cls) and issubclass(cls, MultilabelClassifier)
]

VALUES = "passes a target of 1 and 2, but labels are 0 and 1"
SHAPES = "expects the shapes of a classifier with a single target: (n,) predicted, (n, 2) probabilities"
ONE_AXIS = "passes a one-dimensional target, although the tags rule that out"
EXPECTED = {
    "check_estimators_dtypes": VALUES,
    "check_classifier_data_not_an_array": VALUES,
    "check_fit2d_1feature": VALUES,
    "check_estimator_sparse_array": SHAPES,
    "check_estimator_sparse_matrix": SHAPES,
    "check_classifiers_train": SHAPES,
    "check_classifiers_classes": ONE_AXIS,
    "check_decision_proba_consistency": ONE_AXIS,
    "check_classifier_multioutput": "expects the values of a label in classes_, not the names of labels",
}


def with_checks():
    """Return a decorator that runs scikit-learn's checks, those that must fail with only one classifier."""
    decorator = parametrize_with_checks(
        [cls() for cls in CLASSIFIERS], expected_failed_checks=lambda estimator: EXPECTED
    )
    arguments, cases = decorator.mark.args
    kept = []
    for case in cases:
        estimator, check = getattr(case, "values", case)
        if check.func.__name__ not in EXPECTED or isinstance(estimator, multilabel.BinaryRelevance):
            kept.append(case)
    return pytest.mark.parametrize(arguments, kept, **decorator.mark.kwargs)


@with_checks()
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------- replacements

N = 60


def problem(d=3, k=3):
    rng = np.random.default_rng(0)
    X = np.round(8 * rng.normal(size=(N, d)))
    Y = (X @ rng.normal(size=(d, k)) + 4 * rng.normal(size=(N, k)) > 2).astype(int)
    return X, Y


def small(cls):
    model = cls()
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)


@every_classifier
def test_every_type_of_table_gives_the_same_model(cls):
    X, Y = problem()
    wanted = small(cls).fit(X, Y).predict_proba(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    tables = (
        X.astype(np.float32),
        X.astype(np.int32),
        np.asfortranarray(X),
        frozen,
        X.tolist(),
        pd.DataFrame(X, columns=list("abc")),
        sparse.csr_array(X),
        sparse.csr_matrix(X),
        sparse.coo_array(X),
    )
    for rows, labels in [*((rows, Y) for rows in tables), (X, sparse.csr_array(Y)), (X, pd.DataFrame(Y))]:
        model = small(cls).fit(rows, labels)
        np.testing.assert_allclose(model.predict_proba(rows), wanted, atol=1e-5)


@every_classifier
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_shapes_and_agreement_of_predictions(cls, d, k):
    X, Y = problem(d, k)
    model = small(cls).fit(X, Y)
    shares, labels = model.predict_proba(X), model.predict(X)
    assert shares.shape == labels.shape == (N, k)
    assert labels.dtype == np.int64
    assert shares.min() >= 0
    assert shares.max() <= 1
    cuts = getattr(model, "thresholds_", 0.5)  # one per label if the estimator sets them
    np.testing.assert_array_equal(labels, (shares > cuts).astype(int))
    assert ((shares > 0.5) == Y).mean() > 0.7  # thresholds for F1 sacrifice accuracy
    if hasattr(model, "decision_function"):
        decision = model.decision_function(X)
        assert decision.shape == (N, k)
        np.testing.assert_array_equal(decision > 0, labels == 1)
        for column in range(k):
            order = np.argsort(decision[:, column])
            assert (np.diff(shares[order, column]) >= -1e-12).all()


@every_classifier
def test_columns_name_the_labels(cls):
    X, Y = problem()
    model = small(cls).fit(X, pd.DataFrame(Y, columns=["sad", "quiet", "slow"]))
    assert model.classes_.tolist() == ["sad", "quiet", "slow"]
    assert model.classes_.dtype == object
    assert small(cls).fit(X, Y).classes_.tolist() == ["0", "1", "2"]
    if hasattr(model, "hierarchy_"):
        assert model.hierarchy_.names == ("sad", "quiet", "slow")
