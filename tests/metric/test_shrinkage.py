"""Metrics learned from few hints are shrunk towards the identity, depending on held-out hints."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from likewise import Supervision
from likewise.exceptions import ThinSupervisionWarning
from likewise.metric import ITML, LSML, MMC, RCA, RelativeSVM, SparseLP
from likewise.metric._shrinkage import _draw_held_out_pairs, _find_first_near_best, shrink
from likewise.supervision import sample_links, sample_triplets

WINE, WINE_Y = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)
IRIS, IRIS_Y = load_iris(return_X_y=True)
IRIS = StandardScaler().fit_transform(IRIS)
LEARNERS = [RCA(cannot="drop"), ITML(), MMC(), MMC(diagonal=True)]


@pytest.fixture(autouse=True)
def as_learned():
    """Keep the shrinkage that conftest.py disables for the other files."""


def k_means(X, y):
    return adjusted_rand_score(y, KMeans(len(np.unique(y)), n_init=5, random_state=0).fit_predict(X))


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ThinSupervisionWarning")
@pytest.mark.parametrize("model", LEARNERS, ids=str)
def test_few_links_do_not_hurt_k_means(model):
    plain = k_means(WINE, WINE_Y)
    lost = []
    for seed in range(4):
        hints = sample_links(WINE_Y, 20, random_state=seed)
        lost.append(plain - k_means(clone(model).fit(WINE, supervision=hints).transform(WINE), WINE_Y))
    assert np.mean(lost) <= 0.02
    if isinstance(model, MMC):  # without shrinkage the metric does harm
        raw = clone(model).set_params(shrinkage=0).fit(WINE, supervision=hints).transform(WINE)
        assert k_means(raw, WINE_Y) < plain - 0.1


@pytest.mark.parametrize("model", LEARNERS, ids=str)
def test_many_links_are_followed(model):
    found = clone(model).fit(IRIS, supervision=sample_links(IRIS_Y, 500, random_state=0))
    assert found.shrinkage_ <= 0.5
    assert k_means(found.transform(IRIS), IRIS_Y) > k_means(IRIS, IRIS_Y) + 0.05


def test_links_unrelated_to_the_columns_do_not_change_distances():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 5)), rng.integers(0, 3, 100)
    hints = sample_links(y, 60, random_state=0)
    with pytest.warns(ThinSupervisionWarning, match="ITML: held-out hints do not support .* shrinkage=0 to"):
        model = ITML().fit(X, supervision=hints)
    assert model.shrinkage_ == 1.0
    np.testing.assert_array_equal(model.metric_, np.eye(5))
    learned = ITML(shrinkage=0).fit(X, supervision=hints)
    assert learned.shrinkage_ == 0.0
    assert model.bounds_ == learned.bounds_  # from the fit to all rows
    assert not np.allclose(learned.metric_, np.eye(5))


def test_by_hand_a_metric_is_shrunk_halfway_to_the_identity():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])  # T = diag(1/2, 2)
    hints = Supervision.from_links(4, must=[(2, 3)], cannot=[(0, 2)])
    M = MMC(shrinkage=0).fit(X, supervision=hints).metric_
    c = (0.5 * M[0, 0] + 2 * M[1, 1]) / 2.5
    half = MMC(shrinkage=0.5).fit(X, supervision=hints)
    np.testing.assert_allclose(half.metric_, 0.5 * M / c + 0.5 * np.eye(2), atol=1e-10)
    np.testing.assert_allclose(shrink(M, np.eye(2), X, 1.0), np.eye(2))
    assert half.shrinkage_ == 0.5


def test_a_metric_is_shrunk_towards_its_prior():
    prior = np.diag([1.0, 4.0, 1.0, 2.0])
    hints = sample_links(IRIS_Y, 30, random_state=0)
    np.testing.assert_allclose(ITML(prior=prior, shrinkage=1).fit(IRIS, supervision=hints).metric_, prior)


def test_few_directions_stay_few():
    hints = sample_links(IRIS_Y, 60, balance=1.0, random_state=0)
    model = RCA(2).fit(IRIS, supervision=hints)
    assert model.components_.shape == (2, 4)
    assert model.shrinkage_ == 0.0


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ThinSupervisionWarning")
@pytest.mark.parametrize("model", LEARNERS, ids=str)
def test_the_order_of_rows_does_not_change_the_shrinkage(model):
    hints, order = sample_links(WINE_Y, 80, random_state=1), np.random.RandomState(0).permutation(178)
    one = clone(model).fit(WINE, supervision=hints)
    other = clone(model).fit(WINE[order], supervision=hints[order])
    assert one.shrinkage_ == other.shrinkage_
    np.testing.assert_allclose(other.metric_, one.metric_, rtol=1e-2, atol=1e-2)


def test_without_hints_and_without_the_parameter_nothing_is_chosen():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ITML().fit(IRIS).shrinkage_ == 0.0
        assert not hasattr(RelativeSVM().fit(IRIS), "shrinkage_")
        # Without must-links RCA learns nothing.
        cannot = Supervision.from_links(150, cannot=[(0, 60), (1, 120)])
        assert RCA(cannot="drop").fit(IRIS, supervision=cannot).shrinkage_ == 0.0


def test_groups_and_must_links_alone_are_held_out_too():
    groups = Supervision.from_links(10, must_groups=[[0, 1, 2, 3]], cannot_groups=[[0, 8, 9]])
    pairs, apart, weight = _draw_held_out_pairs(groups, 10, np.random.RandomState(0))
    assert apart.tolist() == [False] * 3 + [True] * 2
    assert len(weight) == 5
    assert set(pairs[:3].ravel()) == {0, 1, 2, 3}
    alone = Supervision.from_links(10, must=[(0, 1), (2, 3)])
    _, apart, _ = _draw_held_out_pairs(alone, 10, np.random.RandomState(0))
    assert apart[2:].all()
    assert not apart[:2].any()


def test_by_hand_rca_shrinkage_depends_on_rows_in_chunklets_and_free_parameters():
    hints = Supervision.from_links(150, must=[(0, 1), (1, 2), (60, 61)])
    assert RCA().fit(IRIS, supervision=hints).shrinkage_ == 10 / (10 + 3)  # 5 rows in 2 chunklets
    labels = Supervision.from_labels(IRIS_Y.tolist())
    assert RCA().fit(IRIS, supervision=labels).shrinkage_ == 10 / (10 + 147)


def test_by_hand_the_first_candidate_within_one_standard_error():
    losses = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.9, 1.0, 0.9], [0.5, 1.2, 0.5, 1.2]])
    # Means 1, .95 and .85. The last is the best; the second exceeds it by .1, with errors of about .2.
    assert _find_first_near_best(losses, np.ones(4), 1.0) == 0
    assert _find_first_near_best(losses[:2], np.ones(4), 1.0) == 1  # .05 over, error .025
    assert _find_first_near_best(losses[:2], np.ones(4), 3.0) == 0
    assert _find_first_near_best(np.zeros((3, 4)), np.ones(4), 1.0) == 0


@pytest.mark.parametrize("model", [LSML(), SparseLP()], ids=str)
def test_few_triplets_do_not_make_k_means_worse_than_none(model):
    without, with_triplets = [], []
    for seed in range(5):
        hints = sample_triplets(WINE_Y, 10, neither=False, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ThinSupervisionWarning)
            mapped = clone(model).fit(WINE, supervision=hints).transform(WINE)
        for found, rows in ((without, WINE), (with_triplets, mapped)):
            labels = KMeans(3, n_init=5, random_state=seed).fit(rows).labels_
            found.append(adjusted_rand_score(WINE_Y, labels))
    assert np.mean(with_triplets) > np.mean(without) - 0.02


@pytest.mark.parametrize("model", [LSML(), SparseLP()], ids=str)
def test_many_triplets_are_followed(model):
    hints = sample_triplets(WINE_Y, 300, neither=False, random_state=0)
    assert clone(model).fit(WINE, supervision=hints).shrinkage_ < 0.5


@pytest.mark.parametrize("cls", [LSML, SparseLP])
def test_a_single_triplet_leaves_the_prior_with_a_warning(cls):
    hints = Supervision.from_triplets(178, [(0, 1, 100)], "AB")
    with pytest.warns(ThinSupervisionWarning, match=f"{cls.__name__}: held-out hints do not support"):
        model = cls().fit(WINE, supervision=hints)
    assert model.shrinkage_ == 1.0
    np.testing.assert_allclose(model.metric_, np.eye(13), atol=1e-9)
