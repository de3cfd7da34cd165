"""Thresholds that maximise F1: against all possible thresholds, and from incomplete labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from likewise.datasets import make_label_tree
from likewise.multilabel import LatentHierarchyClassifier, _combined
from likewise.multilabel._combined import cross_fit, find_best_thresholds
from likewise.multilabel._em import infer
from reference import multilabel as twin


def test_thresholds_by_hand():
    chances = np.array([[0.9, 0.2], [0.8, 0.2], [0.3, 0.1], [0.1, 0.1]])
    Z = np.array([[1, 0], [1, 0], [0, 0], [0, 0]])
    # The threshold of the first label is halfway between 0.8 and 0.3; the second was never recorded.
    np.testing.assert_allclose(find_best_thresholds(chances, Z, np.zeros(2)), [0.55, 0.5])
    # If half is missing, 2 recorded labels indicate 4 true ones: F1 is 1 with all rows predicted.
    assert find_best_thresholds(chances, Z, np.array([0.5, 0.5]))[0] == pytest.approx(0.05)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    rate=st.sampled_from([0.0, 0.2, 0.5]),
    ties=st.booleans(),
)
def test_no_other_threshold_is_better(seed, n, rate, ties):
    rng = np.random.default_rng(seed)
    chances = rng.choice([0.1, 0.3, 0.5, 0.9], (n, 2)) if ties else rng.random((n, 2))
    Z = (rng.random((n, 2)) < 0.5).astype(np.uint8)
    for c, threshold in enumerate(find_best_thresholds(chances, Z, np.full(2, rate))):
        z = Z[:, c].astype(bool)
        if not z.any():
            assert threshold == 0.5
            continue
        found = twin.f1_with_gaps(chances[:, c] > threshold, z, rate)
        cuts = [cut - 0.01 for cut in chances[:, c]] if ties else [*chances[:, c], 0.0]
        every = [
            twin.f1_with_gaps(chances[:, c] > cut, z, rate) for cut in cuts if (chances[:, c] > cut).any()
        ]
        assert found == pytest.approx(max(every))


def test_equal_probabilities():
    assert 0 <= find_best_thresholds(np.full((4, 1), 0.4), np.ones((4, 1)), np.zeros(1))[0] < 0.4
    assert np.isfinite(find_best_thresholds(np.zeros((4, 1)), np.ones((4, 1)), np.zeros(1))).all()


@pytest.mark.parametrize("seed", range(3))
def test_gaps_hardly_change_thresholds(seed):
    data = make_label_tree(3000, 6, missing_rate=0.4, random_state=seed)
    fit, other, new = slice(0, 600), slice(600, 2000), slice(2000, None)
    model = LatentHierarchyClassifier(missing_rate=0.4).fit(data.X[fit], data.Z[fit])
    at_half = f1_score(data.Y[new], model.predict(data.X[new]), average="macro")
    with_gaps = model.calibrate(data.X[other], data.Z[other])
    assert with_gaps is model
    found = f1_score(data.Y[new], model.predict(data.X[new]), average="macro")
    thresholds = find_best_thresholds(model.predict_proba(data.X[other]), data.Y[other], np.zeros(6))
    best = f1_score(data.Y[new], model.predict_proba(data.X[new]) > thresholds, average="macro")
    assert abs(found - best) < 0.03
    assert found > at_half - 0.01
    np.testing.assert_array_equal(model.decision_function(data.X) > 0, model.predict(data.X) == 1)


def test_default_thresholds_come_from_classifiers_that_have_not_seen_the_row():
    data = make_label_tree(400, 5, missing_rate=0.3, random_state=0)
    model = LatentHierarchyClassifier().fit(data.X, data.Z)
    posterior = infer(model._model, data.X, data.Z.astype(np.uint8))
    _, chances, _ = cross_fit(data.X, data.Z.astype(np.uint8), model._model, posterior, 1.0, combine=True)
    wanted = find_best_thresholds(chances, data.Z, model.missing_rates_)
    np.testing.assert_array_equal(model.thresholds_, wanted)
    seen = find_best_thresholds(model.predict_proba(data.X), data.Z, model.missing_rates_)
    assert (seen != wanted).any()


def test_given_thresholds_are_kept():
    data = make_label_tree(400, 5, missing_rate=0.3, random_state=0)
    plain = LatentHierarchyClassifier(threshold=[0.1, 0.2, 0.3, 0.4, 0.5]).fit(data.X, data.Z)
    np.testing.assert_array_equal(plain.thresholds_, [0.1, 0.2, 0.3, 0.4, 0.5])
    np.testing.assert_array_equal(plain.predict(data.X), plain.predict_proba(data.X) > plain.thresholds_)


def test_thresholds_of_many_rows_come_from_a_sample_with_enough_records(monkeypatch):
    data = make_label_tree(3000, 5, missing_rate=0.3, random_state=0)
    fit, new = slice(0, 2000), slice(2000, None)
    whole = LatentHierarchyClassifier().fit(data.X[fit], data.Z[fit])
    monkeypatch.setattr(_combined, "_FEWEST_ROWS", 400)
    monkeypatch.setattr(_combined, "_FEWEST_RECORDS", 60)
    rarest = data.Z[fit].sum(axis=0).min()
    posterior = infer(whole._model, data.X[fit], data.Z[fit].astype(np.uint8))
    Z = data.Z[fit].astype(np.uint8)
    rows, chances, _ = cross_fit(data.X[fit], Z, whole._model, posterior, 1.0, combine=True)
    assert len(chances) == len(rows) == 2000 // int(2000 / max(400, 2000 * 60 / rarest)) < 2000
    part = LatentHierarchyClassifier().fit(data.X[fit], data.Z[fit])
    np.testing.assert_array_equal(part.coef_, whole.coef_)  # which all rows determine
    scores = [f1_score(data.Y[new], model.predict(data.X[new]), average="macro") for model in (whole, part)]
    assert scores[1] > scores[0] - 0.02
    order = np.random.default_rng(0).permutation(2000)
    turned = LatentHierarchyClassifier().fit(data.X[fit][order], data.Z[fit][order])
    np.testing.assert_allclose(turned.thresholds_, part.thresholds_, atol=1e-6)
