"""Unusual hints and rows, invalid parameters: a clear error, a warning, or a sensible result."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from likewise import Supervision
from likewise.discriminative import DiscriminativeClustering
from likewise.exceptions import (
    InconsistentSupervisionError,
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    SupervisionError,
    TooFewClustersWarning,
    UnsupportedSupervisionError,
)
from likewise.supervision import sample_links, sample_triplets

X, Y = load_iris(return_X_y=True)


def fit_model(hints, rows=X, n_clusters=3, **parameters):
    return DiscriminativeClustering(n_clusters, n_init=2, random_state=0, **parameters).fit(
        rows, supervision=hints
    )


def is_sound(model, n_rows=150, n_clusters=3):
    return (
        model.labels_.shape == (n_rows,)
        and set(np.unique(model.labels_)) <= set(range(n_clusters))
        and np.isfinite(model.coef_).all()
        and np.isfinite(model.intercept_).all()
        and np.isfinite(model.lower_bounds_).all()
        and np.allclose(model.hinted_proba_.sum(axis=1), 1.0)
    )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"tau": -1}, "tau must be a number of at least 0"),
        ({"alpha": 0}, "alpha must be a number above 0"),
        ({"epsilon": 0.5}, "epsilon must be a number from 0 to below 0.5, got 0.5"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": "soft"}, "epsilon"),
        ({"noise": "learn"}, "noise must be one of None, 'uniform', 'confusion', got 'learn'"),
        ({"neither": "keep"}, "neither must be one of 'use', 'drop'"),
        ({"fourier_features": 0}, "fourier_features must be one of None or an integer of at least 1"),
        ({"gamma": 0}, "gamma"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": np.nan}, "tol"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"epsilon": 0, "noise": "uniform"}, "Set epsilon above 0, or noise=None"),
    ],
)
def test_errors_name_the_invalid_parameter_and_the_expected_value(parameters, words):
    with pytest.raises(ValueError, match=words):
        DiscriminativeClustering(**{"n_clusters": 3, **parameters}).fit(X)


def test_labels_and_bags_are_refused():
    with pytest.raises(UnsupportedSupervisionError, match=r"cannot use labels"):
        fit_model(Supervision.from_labels([0, 1] + [None] * 148))


def test_one_cluster():
    for hints in (
        Supervision.from_links(150, cannot=[(0, 1)]),
        Supervision.from_triplets(150, [(0, 1, 2)], "AB"),
    ):
        with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
            fit_model(hints, n_clusters=1)
    together = Supervision.from_links(150, must=[(0, 1)]) | Supervision.from_triplets(
        150, [(0, 1, 2)], "NEITHER"
    )
    model = fit_model(together, n_clusters=1)
    assert set(model.labels_) == {0}
    assert model.score(X) == 0.0


def test_a_triplet_of_two_rows_cannot_be_made():
    with pytest.raises(SupervisionError, match="three different rows"):
        Supervision.from_triplets(150, [(0, 0, 1)], "AB")


CONTRADICTORY = {
    "links": Supervision.from_links(150, must=[(0, 1), (1, 2)], cannot=[(0, 2)]),
    "triplets": Supervision.from_triplets(150, [(0, 1, 2), (0, 1, 3)], ["AB", "AC"]),
    "both": Supervision.from_triplets(150, [(0, 1, 2)], "AB") | Supervision.from_links(150, must=[(0, 2)]),
}


@pytest.mark.parametrize("kind", CONTRADICTORY)
def test_contradictions_raise_an_error_if_hints_are_hard_and_a_warning_if_soft(kind):
    with pytest.raises(InconsistentSupervisionError):
        fit_model(CONTRADICTORY[kind], epsilon=0)
    with pytest.warns(InconsistentSupervisionWarning, match="contradict the must-links"):
        model = fit_model(CONTRADICTORY[kind])
    assert is_sound(model)


def test_all_links_on_one_row():
    hints = Supervision.from_links(
        150, must=[(0, i) for i in range(1, 50)], cannot=[(0, i) for i in range(50, 150)]
    )
    model = fit_model(hints)
    assert is_sound(model)
    assert model.violations_.share == 1.0


def test_hints_about_every_row_leave_none_for_the_second_entropy():
    chain = Supervision.from_links(150, must=[(i, i + 1) for i in range(149) if (i + 1) % 50])
    across = Supervision.from_links(150, cannot=[(0, 50), (50, 100), (0, 100)])
    model = fit_model(chain | across)
    assert len(model.hinted_) == 150
    assert is_sound(model)
    assert adjusted_rand_score(Y, model.labels_) > 0.85


def test_duplicate_rows():
    rows = np.repeat(X[[0, 60, 120]], 20, axis=0)
    hints = Supervision.from_links(60, must=[(0, 1)], cannot=[(0, 20), (20, 40)])
    model = fit_model(hints, rows)
    assert is_sound(model, 60)
    assert len({tuple(set(model.labels_[k : k + 20])) for k in (0, 20, 40)}) == 3


def test_rows_that_are_all_equal_and_columns_that_are_constant():
    hints = Supervision.from_links(150, must=[(0, 1)], cannot=[(0, 2)])
    with pytest.warns(ConvergenceWarning, match="found 2 distinct clusters of the 3"):
        model = fit_model(hints, np.ones((150, 3)))
    assert is_sound(model)
    padded = np.column_stack([X, np.full(150, 1e9)])
    model = fit_model(sample_links(Y, 40, random_state=0), padded)
    assert is_sound(model)
    assert adjusted_rand_score(Y, model.labels_) > 0.5


def test_a_hundred_links_for_each_row():
    rows, truth = make_blobs(300, centers=3, cluster_std=3.0, random_state=0)
    model = fit_model(sample_links(truth, 15_000, random_state=0), rows)
    assert is_sound(model, 300)
    np.testing.assert_allclose(adjusted_rand_score(truth, model.labels_), 1.0)


def test_more_clusters_than_classes():
    rows, truth = make_blobs(120, centers=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="of the 6"):  # two classes; some clusters stay empty
        model = fit_model(sample_links(truth, 60, random_state=0), rows, n_clusters=6)
    assert is_sound(model, 120, 6)
    assert adjusted_rand_score(truth, model.labels_) > 0.7


def test_as_many_clusters_as_rows():
    model = fit_model(Supervision.from_links(4, cannot=[(0, 1)]), X[[0, 50, 100, 149]], n_clusters=4)
    assert is_sound(model, 4, 4)


def test_a_must_group_of_all_rows_and_a_cannot_group_larger_than_the_clusters():
    with pytest.warns(ConvergenceWarning, match="found 1 distinct clusters"):
        model = fit_model(Supervision.from_links(150, must_groups=[range(150)]))
    assert len(set(model.labels_)) == 1
    with pytest.warns(TooFewClustersWarning, match="6 rows must be apart"):
        model = fit_model(Supervision.from_links(150, cannot_groups=[[0, 1, 60, 61, 120, 121]]))
    assert is_sound(model)
    assert model.violations_.share > 0.6


def test_hints_that_no_clustering_can_satisfy_are_reported():
    hints = Supervision.from_links(150, cannot_groups=[[0, 50, 100, 149]])
    with pytest.raises(InfeasibleSupervisionError, match="4 rows must be apart from one another"):
        fit_model(hints, epsilon=0)
    with pytest.warns(TooFewClustersWarning, match="4 rows must be apart from one another"):
        model = fit_model(hints)
    assert is_sound(model)


def test_too_few_iterations_are_reported():
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        model = fit_model(sample_triplets(Y, 60, random_state=0), max_iter=1)
    assert not model.converged_


def test_rows_that_are_not_finite_are_refused():
    rows = X.copy()
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit_model(None, rows)
    with pytest.raises(ValueError, match="NaN"):
        fit_model(None).predict_proba(rows)


def test_far_rows_are_predicted_without_overflow():
    p = fit_model(None).predict_proba(np.full((1, 4), 1e200))
    np.testing.assert_allclose(p.sum(), 1.0)
