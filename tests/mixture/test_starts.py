"""Starts: made in the space that links suggest, chosen by the links that their classes explain."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from likewise import (
    EquivalenceGaussianMixture,
    PairwiseGaussianMixture,
    PosteriorConstrainedGaussianMixture,
    Supervision,
)
from likewise.backends import ArrayRows
from likewise.supervision import sample_links
from reference.problems import corners


@pytest.mark.parametrize(
    ("model", "wide"),
    [
        (PairwiseGaussianMixture(2), 2),
        (PairwiseGaussianMixture(2), 3),
        (PairwiseGaussianMixture(2, relations="components"), 3),
        (EquivalenceGaussianMixture(2), 2),
        (PosteriorConstrainedGaussianMixture(2), 3),
    ],
    ids=["pairs of 2", "pairs of 3", "components", "equivalence", "posterior"],
)
def test_sixteen_links_find_the_intended_split(model, wide):
    found = 0
    for seed in range(8):
        X, y, hints = corners(seed, wide)
        model.set_params(random_state=seed, n_init=4, tol=1e-3).fit(X, supervision=hints)
        found += adjusted_rand_score(y, model.labels_) > 0.7
    assert found >= 7


def test_without_links_the_corners_are_split_the_other_way():
    X, y, _ = corners(0, 3)
    assert adjusted_rand_score(y, PairwiseGaussianMixture(2, random_state=0).fit(X).labels_) < 0.1


def test_more_starts_end_no_worse():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 2)) + 4 * rng.normal(size=(5, 2))[np.arange(120) % 5]

    def bound(n_init):
        return PairwiseGaussianMixture(5, n_init=n_init, init="k-means++", random_state=0).fit(X).lower_bound_

    # The first of ten starts equals the single start; the choice is made after 15 iterations.
    assert bound(10) >= bound(1) - 1e-6


@pytest.mark.parametrize("init", ["hints", "k-means", "k-means++"])
def test_every_way_to_start_finds_clear_clusters(init):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + 9 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    hints = Supervision.from_links(90, must=[(0, 3), (1, 4)], cannot=[(0, 1)])
    for n_subclusters in (1, 2):
        model = PairwiseGaussianMixture(3, n_subclusters=n_subclusters, init=init, random_state=0)
        assert adjusted_rand_score(y, model.fit(X, supervision=hints).labels_) == 1.0
        assert model.means_.shape == (3 * n_subclusters, 2)


def test_an_array_is_the_only_start():
    X, _, hints = corners(0, 2)
    means = X[:2]
    one, many = (
        PairwiseGaussianMixture(2, init=start, n_init=n_init, random_state=seed).fit(X, supervision=hints)
        for start, n_init, seed in ((means, 1, 0), (means.tolist(), 9, 5))
    )
    np.testing.assert_array_equal(one.means_, many.means_)
    np.testing.assert_array_equal(one.lower_bounds_, many.lower_bounds_)


def test_the_start_is_chosen_by_the_links_that_its_classes_explain():
    # The split into left and right is far more likely; the links ask for top and bottom.
    X, y, hints = corners(4, 3)
    model = PairwiseGaussianMixture(2, random_state=0, n_init=6).fit(X, supervision=hints)
    sideways = PairwiseGaussianMixture(2, init=[[-3.0, 0.0], [3.0, 0.0]]).fit(X, supervision=hints)
    assert adjusted_rand_score(y, model.predict(X)) > 0.7
    assert sideways.lower_bound_ > model.lower_bound_


@pytest.mark.parametrize(
    "cls", [PairwiseGaussianMixture, EquivalenceGaussianMixture, PosteriorConstrainedGaussianMixture]
)
def test_twenty_links_do_not_hurt_on_wine(cls):
    X, y = load_wine(return_X_y=True)
    X, gains = StandardScaler().fit_transform(X), []
    for seed in range(3):
        half = np.random.RandomState(seed).permutation(len(y))[: len(y) // 2]
        hints = sample_links(y, 20, rows=half, random_state=seed)
        free = ~hints.touched
        without, told = (
            cls(3, n_init=3, random_state=seed).fit(X, supervision=each).labels_ for each in (None, hints)
        )
        gains.append(adjusted_rand_score(y[free], told[free]) - adjusted_rand_score(y[free], without[free]))
    assert np.mean(gains) > -0.02  # starts from the hints alone: -0.04 for GM-PR


def test_a_fit_with_hints_includes_the_starts_of_the_fit_without_hints():
    X, _, hints = corners(0, 3)
    rows, drawn = {}, {}
    for name, each in (("without", Supervision.empty(200)), ("with", hints)):
        model, rng = PairwiseGaussianMixture(2, n_init=3), np.random.RandomState(0)
        ground = model._prepare_fit(ArrayRows(X), each, rng)
        drawn[name] = [start.gaussians.means for start in model._make_starts(ground, rng)]
        rows[name] = len(drawn[name])
    assert rows == {"without": 3, "with": 6}
    np.testing.assert_array_equal(drawn["without"], drawn["with"][3:])


def test_must_links_alone_do_not_choose_the_start_that_merges_classes():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for seed in range(3):
        hints = sample_links(y, 200, balance=1.0, random_state=seed)
        model = PairwiseGaussianMixture(3, n_init=3, random_state=seed).fit(X, supervision=hints)
        assert model.weights_.min() > 0.2
        assert adjusted_rand_score(y, model.predict(X)) > 0.9


def test_subclusters_follow_shapes_that_one_gaussian_cannot():
    rng = np.random.default_rng(0)
    angle = np.pi * rng.uniform(size=300)
    y = np.arange(300) % 2
    moons = np.where(
        y[:, None] == 0,
        np.column_stack([np.cos(angle), np.sin(angle)]),
        np.column_stack([1 - np.cos(angle), 0.4 - np.sin(angle)]),
    )
    X = moons + 0.08 * rng.normal(size=(300, 2))
    must = [(i, i + 2) for i in range(0, 60, 3)]
    hints = Supervision.from_links(300, must=must, cannot=[(i, i + 1) for i in range(60, 100, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, four = (
            PairwiseGaussianMixture(2, n_subclusters=s, random_state=0).fit(X, supervision=hints)
            for s in (1, 4)
        )
    assert adjusted_rand_score(y, four.labels_) > 0.95 > adjusted_rand_score(y, one.labels_) + 0.2
