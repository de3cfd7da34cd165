"""Degenerate and invalid input: multi-label baselines give valid results or clear errors, and no warnings."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise.multilabel import BinaryRelevance, ChowLiuTree, CliqueLabelGraph, FastTag

N = 30
RNG = np.random.default_rng(0)
X0 = RNG.normal(size=(N, 3))
Y0 = (X0 @ RNG.normal(size=(3, 3)) + RNG.normal(size=(N, 3)) > 0.3).astype(int)
NEVER, ALWAYS = np.zeros((N, 1), dtype=int), np.ones((N, 1), dtype=int)

MODELS = [
    BinaryRelevance(),
    BinaryRelevance(missing_rate=0.3),
    ChowLiuTree(),
    ChowLiuTree(edges="attracting", prediction="map"),
    CliqueLabelGraph(),
    CliqueLabelGraph(margin=0, min_gain=0, prediction="map"),
    FastTag(random_state=0),
    FastTag(0.5, 0.1, n_layers=2),
    FastTag(0.0, 0.1, n_layers=1),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
plain_models = pytest.mark.parametrize(
    "model", [BinaryRelevance(), ChowLiuTree(), CliqueLabelGraph(), FastTag(random_state=0)], ids=repr
)

ODD = {
    "a label that no row has": (X0, np.hstack([Y0, NEVER])),
    "a label that every row has": (X0, np.hstack([ALWAYS, Y0])),
    "nothing varies": (X0, np.hstack([ALWAYS, NEVER])),
    "no labels at all": (X0, np.zeros((N, 4), dtype=int)),
    "equal labels": (X0, Y0[:, [0, 0, 1, 0]]),
    "opposite labels": (X0, np.column_stack([Y0[:, 0], 1 - Y0[:, 0]])),
    "a row with no labels": (X0, Y0 * (np.arange(N) > 0)[:, None]),
    "one label": (X0, Y0[:, :1]),
    "one label that no row has": (X0, NEVER),
    "two labels": (X0, Y0[:, :2]),
    "more labels than rows": (X0[:6], np.random.default_rng(1).integers(0, 2, size=(6, 15))),
    "a label on one row": (X0, np.hstack([Y0, (np.arange(N) == 7)[:, None]])),
    "constant features": (np.hstack([X0, ALWAYS]), Y0),
    "only constant features": (np.ones((N, 2)), Y0),
    "features of zeros": (np.zeros((N, 2)), Y0),
    "sparse rows of zeros": (sparse.csr_array((N, 2)), Y0),
    "equal features": (X0[:, [0, 0, 0]], Y0),
    "more features than rows": (RNG.normal(size=(N, 50)), Y0),
    "two rows": (X0[:2], np.array([[0, 1], [1, 1]])),
    "one row": (X0[:1], np.array([[0, 1]])),
    "separable rows": (np.sign(X0), (X0 > 0).astype(int)),
}


@every_model
@pytest.mark.parametrize("name", ODD)
def test_degenerate_input_gives_a_valid_result(model, name):
    X, Y = ODD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(model).fit(X, Y)
        shares, labels, decision = model.predict_proba(X), model.predict(X), model.decision_function(X)
    assert shares.shape == labels.shape == decision.shape == Y.shape
    assert np.isfinite(decision).all()
    assert ((shares >= 0) & (shares <= 1)).all()
    assert set(np.unique(labels)) <= {0, 1}
    frequency = Y.mean(axis=0)
    if len(Y) > 1:
        assert (labels[:, frequency == 0] == 0).all()
        assert (labels[:, frequency == 1] == 1).all()
    for value in vars(model).values():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all()


@every_model
@pytest.mark.parametrize(
    ("X", "Y", "words"),
    [
        (X0, np.where(np.arange(N)[:, None] == 4, np.nan, Y0), "NaN: 3 value.*row 4, column 0"),
        (X0, Y0 + 1, "only 0 and 1; got 2"),
        (X0, 2 * Y0 - 1, "got -1"),
        (X0, Y0[:, 0], "one column per label"),
        (X0, Y0[:, :0], "at least one column"),
        (X0, None, "requires y to be passed"),
        (X0, Y0.astype(str), "must contain 0 and 1"),
    ],
)
def test_bad_labels_are_refused(model, X, Y, words):
    with pytest.raises(ValueError, match=words) as refused:
        clone(model).fit(X, Y)
    assert str(refused.value).startswith(type(model).__name__)


@plain_models
@pytest.mark.parametrize(
    ("X", "words"),
    [
        (X0[:-1], "inconsistent numbers of samples"),
        (np.where(X0[3, 1] == X0, np.nan, X0), "NaN"),
        (np.where(X0[3, 1] == X0, np.inf, X0), "infinity"),
        (X0[:, 0], "Expected 2D array"),
        (X0[:0], "0 sample"),
    ],
)
def test_bad_rows_are_refused(model, X, words):
    with pytest.raises(ValueError, match=words):
        clone(model).fit(X, Y0)


@plain_models
def test_a_threshold_for_each_label(model):
    model = clone(model).fit(X0, Y0)
    shares = model.predict_proba(X0)
    model.set_params(threshold=[0.0, 0.3, 1.0])
    np.testing.assert_array_equal(model.predict(X0), (shares > [0.0, 0.3, 1.0]).astype(int))
    model.set_params(threshold=0.2)
    np.testing.assert_array_equal(model.predict(X0), (shares > 0.2).astype(int))


@plain_models
@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (1.5, "threshold must be a number from 0 to 1"),
        ("high", "threshold must be"),
        (None, "threshold must be"),
        ([0.5, 0.5], "each of the 3 labels"),
        ([0.5, 0.5, 1.1], "threshold must be from 0 to 1"),
        ([0.5, 0.5, np.nan], "threshold must be from 0 to 1"),
        (["a", "b", "c"], "one for each of the 3"),
    ],
)
def test_bad_thresholds(model, threshold, words):
    with pytest.raises(ValueError, match=words):
        clone(model).set_params(threshold=threshold).fit(X0, Y0)


@every_model
def test_a_fit_can_be_repeated_and_kept(model):
    model = clone(model).fit(X0, Y0)
    shares = model.predict_proba(X0)
    np.testing.assert_array_equal(clone(model).fit(X0, Y0).predict_proba(X0), shares)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X0), shares)


@pytest.mark.parametrize(
    "model", [BinaryRelevance(), ChowLiuTree(), CliqueLabelGraph(), FastTag(0.3, 0.1, n_layers=1)], ids=repr
)
def test_the_order_of_rows_and_of_labels_does_not_matter(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4)) > 0.3).astype(int)
    shares = clone(model).fit(X, Y).predict_proba(X)
    rows, columns = rng.permutation(300), rng.permutation(4)
    other = clone(model).fit(X[rows], Y[rows][:, columns]).predict_proba(X)
    np.testing.assert_allclose(other, shares[:, columns], atol=2e-3)


@plain_models
@pytest.mark.parametrize("k", [1, 3])
def test_in_scikit_learns_searches(model, k):
    Y = Y0[:, :k].copy()
    Y[:3], Y[3:6] = 0, 1
    scores = cross_val_score(model, X0, Y, cv=2, scoring="f1_micro", error_score="raise")
    assert np.isfinite(scores).all()
    assert cross_val_predict(model, X0, Y, cv=2, method="predict_proba").shape == (N, k)
    pipe = make_pipeline(StandardScaler(), model)
    grid = {f"{type(model).__name__.lower()}__threshold": [0.3, 0.5]}
    search = GridSearchCV(pipe, grid, scoring="f1_micro", cv=2, error_score="raise").fit(X0, Y)
    assert search.predict(X0).shape == (N, k)
