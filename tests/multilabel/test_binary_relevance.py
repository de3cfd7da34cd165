"""BinaryRelevance equals scikit-learn's classifier, with probabilities corrected for missing labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from likewise.multilabel import BinaryRelevance
from profiles import fewer


def problem(seed, n=40, d=3, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.5).astype(int)
    Y[0], Y[1] = 0, 1
    return X, Y


@fewer(2)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 10.0]))
def test_without_missing_labels_it_equals_scikit_learn(seed, C):
    X, Y = problem(seed)
    ours = BinaryRelevance(C).fit(X, Y)
    theirs = MultiOutputClassifier(LogisticRegression(C=C, max_iter=1000)).fit(X, Y)
    wanted = np.column_stack([p[:, 1] for p in theirs.predict_proba(X)])
    np.testing.assert_allclose(ours.predict_proba(X), wanted, rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@fewer(2)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.9), st.floats(0.1, 0.9))
def test_a_missing_rate_rescales_the_threshold(seed, rate, threshold):
    X, Y = problem(seed)
    plain = BinaryRelevance().fit(X, Y).predict_proba(X)
    model = BinaryRelevance(missing_rate=rate, threshold=threshold).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), np.minimum(plain / (1 - rate), 1), rtol=1e-12)
    near = np.isclose(plain, (1 - rate) * threshold, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X)[~near], (plain > (1 - rate) * threshold)[~near])


def test_decisions_agree_with_predictions_and_grow_beyond_certainty():
    X, Y = problem(0)
    model = BinaryRelevance(missing_rate=[0.0, 0.6, 0.9]).fit(X, Y)
    decision, shares = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_array_equal(decision > 0, model.predict(X) == 1)
    assert (shares[:, 2] == 1).sum() > 1
    assert len(np.unique(decision[:, 2])) == len(X)


def test_a_label_that_never_varies():
    Y = np.column_stack([np.zeros(9), np.ones(9), np.arange(9) % 2]).astype(int)
    model = BinaryRelevance().fit(np.arange(9.0)[:, None], Y)
    np.testing.assert_allclose(model.predict_proba([[100.0]])[0, :2], [0.05, 0.95])
    assert model.predict([[100.0]])[0, :2].tolist() == [0, 1]
    assert not model.coef_[:2].any()
    assert np.isfinite(model.decision_function([[100.0]])).all()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"C": 0}, "C must be a number above 0"),
        ({"missing_rate": 1.0}, "missing_rate must be .* not including, 1.*got 1.0"),
        ({"missing_rate": -0.1}, "missing_rate"),
        ({"missing_rate": [0.1, 0.2]}, "each of the 3 labels"),
        ({"missing_rate": [0.1, 0.2, 1.0]}, "missing_rate must be from 0 up to, not including, 1"),
        ({"missing_rate": "auto"}, "missing_rate"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        BinaryRelevance(**params).fit(*problem(0))
