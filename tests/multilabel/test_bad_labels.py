"""Degenerate and invalid input to LatentHierarchyClassifier: valid results or clear errors, no warnings."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from likewise.multilabel import LatentHierarchyClassifier

N = 40
RNG = np.random.default_rng(0)
X0 = RNG.normal(size=(N, 3))
TOP = X0[:, 0] + RNG.logistic(size=N) > -0.5
Y0 = np.column_stack([TOP, TOP & (X0[:, 1] > 0), X0[:, 2] > 0.5]).astype(int)
NEVER, ALWAYS = np.zeros((N, 1), dtype=int), np.ones((N, 1), dtype=int)

ODD = {
    "a label that no row has": (X0, np.hstack([Y0, NEVER])),
    "a label that every row has": (X0, np.hstack([ALWAYS, Y0])),
    "nothing varies": (X0, np.hstack([ALWAYS, NEVER])),
    "nothing recorded": (X0, np.zeros((N, 4), dtype=int)),
    "everything recorded": (X0, np.ones((N, 3), dtype=int)),
    "equal labels": (X0, Y0[:, [0, 0, 1, 0]]),
    "opposite labels": (X0, np.column_stack([Y0[:, 0], 1 - Y0[:, 0]])),
    "rows with no labels": (X0, Y0 * (np.arange(N) > 5)[:, None]),
    "one label": (X0, Y0[:, :1]),
    "one label that no row has": (X0, NEVER),
    "one label that every row has": (X0, ALWAYS),
    "two labels": (X0, Y0[:, :2]),
    "more labels than rows": (X0[:6], np.random.default_rng(1).integers(0, 2, size=(6, 15))),
    "a label on one row": (X0, np.hstack([Y0, (np.arange(N) == 7)[:, None]])),
    "a constant feature": (np.hstack([X0, ALWAYS]), Y0),
    "only constant features": (np.ones((N, 2)), Y0),
    "sparse rows of zeros": (sparse.csr_array((N, 2)), Y0),
    "more features than rows": (RNG.normal(size=(N, 90)), Y0),
    "huge features": (1e6 * X0, Y0),
    "two rows": (X0[:2], np.array([[0, 1], [1, 1]])),
    "one row": (X0[:1], np.array([[0, 1]])),
    "separable rows": (np.sign(X0), (X0 > 0).astype(int)),
}
MODELS = [
    LatentHierarchyClassifier(),
    LatentHierarchyClassifier(missing_rate="per-label", threshold="f1"),
    LatentHierarchyClassifier(structure="dag"),
]
# What these change depends on the labels, and not on the features.
VARIANTS = [
    LatentHierarchyClassifier(rate_from="em"),
    LatentHierarchyClassifier(missing_rate=0, decode="map"),
    LatentHierarchyClassifier(structure="dag", missing_rate=0),
    LatentHierarchyClassifier(start=("counts", "chow-liu", "star"), n_init=2, random_state=0),
]
ODD_LABELS = [
    "a label that no row has",
    "a label that every row has",
    "nothing varies",
    "nothing recorded",
    "everything recorded",
    "equal labels",
    "one label that every row has",
    "more labels than rows",
    "one row",
]


@pytest.mark.parametrize(("model", "name"), [*product(MODELS, ODD), *product(VARIANTS, ODD_LABELS)], ids=repr)
def test_degenerate_input_gives_a_valid_result(model, name):
    X, Y = ODD[name]
    model = LatentHierarchyClassifier(**model.get_params()).fit(X, Y)
    chances, labels, decision = model.predict_proba(X), model.predict(X), model.decision_function(X)
    completed = model.complete_labels(X, Y)
    assert chances.shape == labels.shape == decision.shape == completed.shape == Y.shape
    assert np.isfinite(decision).all()
    for table in (chances, completed):
        assert ((table >= 0) & (table <= 1)).all()
    np.testing.assert_allclose(completed[Y == 1], 1.0)
    assert set(np.unique(labels)) <= {0, 1}
    frequency = Y.mean(axis=0)
    if len(Y) > 2:
        assert (labels[:, frequency == 0] == 0).all()
        assert (labels[:, frequency == 1] == 1).all()
    for value in (model.coef_, model.intercept_, model.missing_rates_, model.objective_history_):
        assert np.isfinite(value).all()
    assert 0 <= model.missing_rate_ <= 0.95
    assert np.isfinite(model.hierarchy_.scores).all()
    assert (model.hierarchy_.margins >= 0).all()
    assert all(not Y[s.row, int(s.label)] for s in model.suggest(X, Y))


@pytest.mark.parametrize("structure_step", ["literal", "intercept", "profile"])
@pytest.mark.parametrize("name", ["equal labels", "more labels than rows", "nothing varies", "one label"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tree_steps_accept_degenerate_input(structure_step, name):
    X, Y = ODD[name]
    model = LatentHierarchyClassifier(structure_step=structure_step, max_iter=8).fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.hierarchy_.is_tree


def test_equal_labels_are_parent_and_child():
    found = LatentHierarchyClassifier().fit(X0, Y0[:, [0, 0]]).hierarchy_
    assert len(found.edges) == 1


@pytest.mark.parametrize(
    ("X", "Y", "words"),
    [
        (X0, np.where(np.arange(N)[:, None] == 4, np.nan, Y0), "NaN: 3 value.*row 4, column 0"),
        (X0, Y0 + 1, "only 0 and 1; got 2"),
        (X0, 2 * Y0 - 1, "got -1"),
        (X0, 0.5 * Y0, r"got 0\.5"),
        (X0, Y0[:, 0], "one column per label"),
        (X0, Y0[:, :0], "at least one column"),
        (X0, None, "requires y to be passed"),
        (X0, Y0.astype(str), "must contain 0 and 1"),
        (X0, [["cat"], ["cat", "dog"]] * 20, "MultiLabelBinarizer"),
        (X0, pd.DataFrame(Y0, columns=["a", "b", "a"]), "two columns of Y have the name 'a'"),
        (X0[:-1], Y0, "inconsistent numbers of samples"),
        (X0[:0], Y0[:0], "0 sample"),
        (X0[:, 0], Y0, "2D array"),
        (np.where(X0[3, 1] == X0, np.nan, X0), Y0, "NaN"),
        (np.where(X0[3, 1] == X0, np.inf, X0), Y0, "infinity"),
    ],
)
def test_bad_tables_are_refused(X, Y, words):
    with pytest.raises(ValueError, match=words):
        LatentHierarchyClassifier().fit(X, Y)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"missing_rate": 1}, "missing_rate must be .*not including, 1.*got 1"),
        ({"missing_rate": -0.1}, "missing_rate must be"),
        ({"missing_rate": np.nan}, "missing_rate must be"),
        ({"missing_rate": None}, "missing_rate must be"),
        ({"missing_rate": "each"}, "missing_rate must be .*'per-label'"),
        ({"missing_rate": [0.1, 0.2]}, "each of the 3 labels"),
        ({"missing_rate": [0.1, 0.2, 1.0]}, "up to, not including, 1"),
        ({"threshold": [0.5, 0.5]}, "each of the 3 labels"),
        ({"threshold": [0.5, 0.5, 1.5]}, "from 0 to 1"),
        ({"threshold": "best"}, "'f1'.*got 'best'"),
        ({"structure": "graph"}, "structure must be"),
        ({"start": "best"}, "start must be"),
        ({"start": ()}, "start must be"),
        ({"start": ["star"]}, "a tuple of these"),
        ({"structure_step": "refit"}, "structure_step must be"),
        ({"rate_from": "rows"}, "rate_from must be"),
        ({"l2": 0}, "l2 must be a number above 0"),
        ({"relaxation": 0}, "relaxation must be"),
        ({"relaxation": 0.5}, "below 0.5"),
        ({"annealing": 0.05}, "annealing must be"),
        ({"annealing": (0.05, 1.0)}, "annealing must be"),
        ({"n_init": 0}, "n_init must be"),
        ({"decode": "max"}, "decode must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError, match=words) as refused:
        LatentHierarchyClassifier(**params).fit(X0, Y0)
    assert str(refused.value).startswith("LatentHierarchyClassifier: ")


METHODS = ["complete_labels", "suggest", "calibrate"]


@cache
def fit_plain():
    """Fit ordinary rows once, for tests of calls that are refused."""
    return LatentHierarchyClassifier().fit(X0, pd.DataFrame(Y0, columns=list("abc")))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("X", "Y", "words"),
    [
        (X0, Y0[:, :2], "Y has 2 column.*fit had 3"),
        (X0, pd.DataFrame(Y0, columns=["a", "b", "d"]), "column 'd' where fit had 'c'"),
        (X0, pd.DataFrame(Y0[:, ::-1], columns=list("cba")), r"Y\[list\(model.classes_\)\]"),
        (X0, Y0 + 1, "only 0 and 1"),
        (X0[:3], Y0, "inconsistent numbers of samples"),
        (X0[:, :2], Y0, "2 features"),
    ],
)
def test_tables_that_do_not_match_the_fit(method, X, Y, words):
    with pytest.raises(ValueError, match=words):
        getattr(fit_plain(), method)(X, Y)


@pytest.mark.parametrize("method", [*METHODS, "predict", "predict_proba", "decision_function"])
def test_methods_need_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(LatentHierarchyClassifier(), method)(*((X0, Y0) if method in METHODS else (X0,)))


@pytest.mark.parametrize("top", [0, -1, 1.5, True, None])
def test_suggestions_are_counted_from_one(top):
    model = fit_plain()
    with pytest.raises(ValueError, match="top must be an integer of at least 1"):
        model.suggest(X0, Y0, top=top)
    with pytest.raises(ValueError, match="least must be a number"):
        model.suggest(X0, Y0, least="likely")
