"""QUIRE: by hand, both forms against explicit inverses, many groups, and a subset of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from likewise.active.strategies import QUIRE
from likewise.active.strategies._placing import PlacedRows, standardize_columns
from likewise.active.strategies._quire import compute_own_values, compute_predictions
from profiles import fewer
from reference import strategies as twin
from reference.strategies import line, make_state


def test_means_and_variances_by_hand():
    # One placed row in each group, so distant that their kernel is 0.
    X = line(0, 1, 100)
    places = PlacedRows.from_state(make_state(X, cannot=[(0, 2)], n_clusters=2))
    mean, variance, log_det = compute_predictions(X, places, 0.5, 1.0)
    near = np.exp(-0.5)
    assert mean[1] == pytest.approx([near / 2, -near / 2])
    assert variance == pytest.approx([1.5, 2 - near**2 / 2, 1.5])
    assert log_det == pytest.approx(2 * np.log(2))
    own, log_det_all = compute_own_values(X, np.arange(3), 0.5, 1.0)
    assert own == pytest.approx([2 / (4 - near**2), 2 / (4 - near**2), 0.5])
    assert log_det_all == pytest.approx(np.log(2 * (4 - near**2)))


@pytest.mark.parametrize("form", ["printed", "exact"])
@fewer(2)
@given(seed=st.integers(0, 10**6), ridge=st.sampled_from([0.3, 1.0]), n=st.integers(5, 10))
def test_scores_equal_those_with_all_inverses(form, seed, ridge, n):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    state = make_state(X, must=[(0, 1)], cannot=[(0, 2)], n_clusters=2, random_state=seed)
    placed, y = [0, 1, 2], np.array([1.0, 1.0, -1.0])
    K = rbf_kernel(standardize_columns(X), gamma=0.7)
    value = twin.quire_printed if form == "printed" else twin.quire_exact
    values = {s: value(K, ridge, placed, y, s) for s in range(3, n)}
    if form == "exact":  # without the term that is equal for all rows
        block = K[np.ix_(placed, placed)] + ridge * np.eye(3)
        values = {s: v - y @ np.linalg.solve(block, y) for s, v in values.items()}
    questions = QUIRE(form, ridge=ridge, gamma=0.7).choose(state, n - 3)
    rows = [({*question.rows} - {*placed}).pop() for question in questions]
    assert rows == sorted(values, key=values.get)
    assert [-question.score for question in questions] == pytest.approx([values[row] for row in rows])


def test_with_three_groups_the_value_is_the_mean_of_one_against_the_rest():
    X = np.random.default_rng(5).normal(size=(9, 2))
    state = make_state(X, cannot=[(0, 1), (0, 2), (1, 2)], n_clusters=3)
    K = rbf_kernel(standardize_columns(X), gamma=0.5)
    sides = 2 * np.eye(3) - 1
    values = {s: np.mean([twin.quire_printed(K, 1.0, [0, 1, 2], y, s) for y in sides]) for s in range(3, 9)}
    questions = QUIRE().choose(state, 6)
    assert [-question.score for question in questions] == pytest.approx(sorted(values.values()))
    assert "smallest worst-case loss" in str(questions[0].reason)


def test_the_matrix_of_all_rows_is_inverted_once(monkeypatch):
    from likewise.active.strategies import _quire

    calls = []

    def counted(*args):
        calls.append(args)
        return compute_own_values(*args)

    monkeypatch.setattr(_quire, "compute_own_values", counted)
    X, cache = np.random.default_rng(0).normal(size=(20, 2)), {}
    for cannot in ([(0, 1)], [(0, 1), (0, 2)]):
        QUIRE().choose(make_state(X, cannot=cannot, n_clusters=2, cache=cache), 1)
    assert len(calls) == 1
    QUIRE("exact").choose(make_state(X, cannot=[(0, 1)], n_clusters=2), 1)
    assert len(calls) == 1


def test_of_many_rows_a_pool_is_looked_at_and_the_others_come_last():
    X = np.random.default_rng(1).normal(size=(40, 2))
    state = make_state(X, cannot=[(0, 1)], n_clusters=2, random_state=3)
    questions = QUIRE(max_rows=10).choose(state, 38)
    scores = [question.score for question in questions]
    assert scores == sorted(scores, reverse=True)
    assert len(questions) == 38
    assert 8 <= len({score for score in scores if score > min(scores)}) <= 10
    other = QUIRE(max_rows=10).choose(make_state(X, cannot=[(0, 1)], n_clusters=2, random_state=4), 8)
    assert [question.rows for question in other] != [question.rows for question in questions[:8]]


def test_a_small_ridge_keeps_the_scores_finite():
    X = np.random.default_rng(2).normal(size=(300, 2))
    question = QUIRE(ridge=1e-3).choose(make_state(X, cannot=[(0, 1)], n_clusters=2), 1)[0]
    assert np.isfinite(question.score)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: QUIRE("plain"), "form must be one of 'printed', 'exact', got 'plain'"),
        (lambda: QUIRE(ridge=0), "ridge must be .*, got 0"),
        (lambda: QUIRE(gamma=-1), "gamma must be .* or None, got -1"),
        (lambda: QUIRE(max_rows=1), "max_rows must be an integer of at least 2, got 1"),
    ],
)
def test_bad_parameters_are_refused(made, message):
    with pytest.raises(ValueError, match=message):
        made()
