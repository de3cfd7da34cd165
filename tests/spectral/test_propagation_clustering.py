"""Propagation clustering: by hand, properties, and effects of links on classes."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from likewise import PropagationClustering, Supervision
from likewise.spectral._classes import _merge_classes, normalize_shares, propagate_classes
from likewise.supervision import sample_links
from profiles import fewer


def blobs(centers, size=30, spread=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(centers)), size)
    return np.asarray(centers, dtype=float)[y] + spread * rng.normal(size=(len(y), 2)), y


def fit(X, k, hints=None, **more):
    return PropagationClustering(k, random_state=0, **more).fit(X, supervision=hints)


def test_without_links_clear_clusters_are_found():
    X, y = blobs([(0, 0), (5, 0), (0, 5)])
    assert adjusted_rand_score(y, fit(X, 3).labels_) == 1.0


def test_a_must_link_joins_two_initial_clusters_and_a_cannot_link_starts_a_class():
    # Four blobs in a row, two of them near: k-means with three clusters joins the near ones.
    X, y = blobs([(0, 0), (1.6, 0), (8, 0), (16, 0)], spread=0.2)
    start = fit(X, 3).labels_
    assert start[0] == start[30]
    assert len({start[0], start[60], start[90]}) == 3
    wanted = np.array([0, 1, 2, 2])[y]
    rows = [int(np.flatnonzero(y == c)[0]) for c in range(4)]
    middle = PropagationClustering(3, random_state=0).fit(X)._ready.medoids
    hints = Supervision.from_links(
        len(X), must=[(rows[2], rows[3])], cannot=[(rows[0], rows[1]), (rows[0], rows[2]), (rows[1], rows[2])]
    )
    joined = hints | Supervision.from_links(
        len(X), must=[(m, rows[y[m]]) for m in middle.tolist() if m not in rows]
    )
    model = fit(X, 3, joined)
    assert adjusted_rand_score(wanted, model.labels_) == 1.0
    assert model.violations_.share == 1.0


def test_a_row_cannot_linked_to_all_classes_but_one_gets_that_class():
    X, y = blobs([(0, 0), (6, 0)])
    first = fit(X, 2)
    a, b = first._ready.medoids.tolist()
    stray = int(np.flatnonzero((y == y[a]) & (np.arange(len(y)) != a))[0])
    hints = Supervision.from_links(len(X), cannot=[(a, b), (a, stray)])
    model = fit(X, 2, hints)
    assert model.labels_[stray] == model.labels_[b] != model.labels_[a]
    assert model.propagation_.class_of[stray] == model.propagation_.class_of[b]


def test_shares_sum_to_one_and_linked_rows_have_their_class():
    X, y = blobs([(0, 0), (2, 0), (0, 2)], spread=0.8)
    model = fit(X, 3, sample_links(y, 60, random_state=1))
    np.testing.assert_allclose(model.cluster_proba_.sum(axis=1), 1.0)
    assert (model.cluster_proba_ >= 0).all()
    placed = model.propagation_.class_of >= 0
    own = model.propagation_.shares[placed, model.propagation_.class_of[placed]]
    assert placed.any()
    assert own.min() > 0.9
    assert model.propagation_.unreached.min() >= 0
    assert model.propagation_.unreached[placed].max() < 0.1


def test_many_links_recover_classes_of_any_shape():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(150, 2))
    y = (np.floor(X[:, 0] * 2) + np.floor(X[:, 1] * 2)).astype(int) % 2  # a chessboard
    assert adjusted_rand_score(y, fit(X, 2).labels_) < 0.3
    hints = sample_links(y, 600, random_state=0)
    assert adjusted_rand_score(y, fit(X, 2, hints).labels_) > 0.9


@fewer(4)
@given(seed=st.integers(0, 1000), n_links=st.integers(0, 40))
def test_true_links_are_satisfied(seed, n_links):
    X, y = blobs([(0, 0), (3, 0), (0, 3)], size=12, seed=seed)
    hints = sample_links(y, n_links, random_state=seed) if n_links else None
    model = fit(X, 3, hints)
    if hints is not None and len(hints.must):
        i, j = hints.must.T
        assert (model.labels_[i] == model.labels_[j]).mean() > 0.9


def test_reusing_a_graph_does_not_change_the_result():
    X, y = blobs([(0, 0), (2, 0), (0, 2)], spread=0.7)
    before = fit(X, 3)
    hints = sample_links(y, 20, random_state=0)
    plain = fit(X, 3, hints)
    taken = PropagationClustering(3, random_state=0).reuse_graph(before).fit(X, supervision=hints)
    assert taken._ready is before._ready
    np.testing.assert_array_equal(taken.cluster_proba_, plain.cluster_proba_)


@pytest.mark.parametrize("change", [{"n_clusters": 4}, {"restart": 0.2}, {"random_state": 1}])
def test_a_graph_of_other_parameters_or_rows_is_not_reused(change):
    X, _ = blobs([(0, 0), (2, 0), (0, 2)], spread=0.7)
    before = fit(X, 3)
    other = PropagationClustering(**{"n_clusters": 3, "random_state": 0} | change).reuse_graph(before).fit(X)
    assert other._ready is not before._ready
    moved = PropagationClustering(3, random_state=0).reuse_graph(before).fit(X + 1.0)
    assert moved._ready is not before._ready


def test_kmeans_starts_from_the_centres_of_another_model():
    X, y = blobs([(0, 0), (8, 0), (0, 8), (8, 8)], size=20)  # two clusters: left and right, or up and down
    by_seed = [PropagationClustering(2, random_state=seed, n_init=1) for seed in range(8)]
    found = {tuple(model.fit(X).labels_[np.unique(y, return_index=True)[1]]) for model in by_seed}
    assert len({labels if labels[0] == 0 else tuple(1 - c for c in labels) for labels in found}) > 1
    for before in by_seed:
        after = PropagationClustering(2, random_state=9).start_from(before).fit(X[1:])
        np.testing.assert_array_equal(after.labels_, before.labels_[1:])
    more = PropagationClustering(3, random_state=9).start_from(by_seed[0]).fit(X)
    np.testing.assert_array_equal(more.labels_, PropagationClustering(3, random_state=9).fit(X).labels_)


def test_reusing_an_unfitted_model_has_no_effect():
    X, _ = blobs([(0, 0), (5, 0)])
    model = PropagationClustering(2, random_state=0).reuse_graph(PropagationClustering(2, random_state=0))
    assert len(np.unique(model.fit(X).labels_)) == 2


def test_violations_refer_to_the_last_fit():
    X, _ = blobs([(0, 0), (5, 0)], size=5)
    model = PropagationClustering(2, random_state=0)
    with pytest.raises(NotFittedError):
        model.violations_  # noqa: B018
    model.fit(X, supervision=Supervision.from_links(10, must=[(0, 1)], cannot=[(0, 9), (1, 8)]))
    assert (model.violations_.n_must, model.violations_.n_cannot) == (1, 2)
    assert pickle.loads(pickle.dumps(model)).violations_.n_cannot == 2
    assert model.fit(X).violations_.n_cannot == 0


@pytest.mark.filterwarnings("ignore::likewise.exceptions.TooFewClustersWarning")
def test_more_groups_than_clusters_are_reported():
    X, _ = blobs([(0, 0), (5, 0)], size=5)
    a, b = fit(X, 2)._ready.medoids.tolist()
    c = next(row for row in range(10) if row not in (a, b))
    hints = Supervision.from_links(10, cannot=[(a, b), (b, c), (a, c)])
    model = fit(X, 2, hints)
    assert len(np.unique(model.labels_)) == 2
    assert model.violations_.share < 1


def test_classes_are_merged_at_the_lowest_cost():
    alike = np.array([[-1, 0.5, 0.4], [0.5, -1, 0.1], [0.4, 0.1, -1.0]])
    clusters = _merge_classes(alike, np.array([100.0, 90.0, 2.0]), 2)
    assert clusters.tolist() == [0, 1, 1] or clusters.tolist() == [0, 1, 0]
    cost = {(0, 2): 100 * 2 * 0.6, (1, 2): 90 * 2 * 0.9}
    assert (clusters[2] == clusters[0]) == (cost[0, 2] < cost[1, 2])
    apart = alike.copy()
    apart[0, 2] = apart[2, 0] = -1
    assert _merge_classes(apart, np.array([100.0, 90.0, 2.0]), 2).tolist() == [0, 1, 1]


def test_a_row_of_zero_shares_gets_equal_shares():
    found = normalize_shares(np.array([[1.0, 3.0, -1.0], [0.0, -2.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.25, 0.75, 0.0], [1 / 3] * 3])


def test_new_rows_get_the_cluster_around_them():
    X, y = blobs([(0, 0), (5, 0), (0, 5)])
    model = fit(X, 3, sample_links(y, 30, random_state=0))
    new, true = blobs([(0, 0), (5, 0), (0, 5)], seed=9)
    assert adjusted_rand_score(true, model.predict(new)) == 1.0
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


@pytest.mark.parametrize("restart", [0, 1, -0.1, np.nan, "0.1"])
def test_a_restart_outside_0_and_1_is_refused(restart):
    with pytest.raises(ValueError, match="restart must be a number above 0 and below 1"):
        PropagationClustering(2, restart=restart).fit([[0.0], [1.0]])


def test_cannot_linked_rows_without_a_class_are_apart():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    model = fit(X, 2, Supervision.from_links(8, cannot=[(0, 1)]))
    assert model.labels_[0] != model.labels_[1]
    assert model.violations_.share == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_true_links_are_satisfied_for_any_rows(seed):
    X, y = blobs([(0, 0), (3, 0), (0, 3)], size=20, seed=seed)
    assert fit(X, 3, sample_links(y, 80, random_state=seed)).violations_.share == 1.0


def test_few_random_true_links_do_not_make_overlapping_clusters_worse():
    gains = []
    for seed in range(8):
        X, y = blobs([(0, 0), (2, 0)], size=150, spread=1.0, seed=seed)
        hints = sample_links(y, 20, random_state=seed)
        without, free = fit(X, 2), ~hints.touched
        with_links = PropagationClustering(2, random_state=0).reuse_graph(without).fit(X, supervision=hints)
        scores = [adjusted_rand_score(y[free], model.labels_[free]) for model in (without, with_links)]
        gains.append(scores[1] - scores[0])
    assert np.mean(gains) > -0.02


def test_rows_linked_to_medoids_count_whether_or_not_guesses_do():
    X, y = blobs([(0, 0), (2, 0), (1, 2)], spread=1.0)
    ready = fit(X, 3)._ready
    pairs = np.array([(medoid, row) for row in range(0, 90, 4) for medoid in ready.medoids if row != medoid])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    closure = Supervision.from_links(len(y), must=pairs[same], cannot=pairs[~same]).closure()
    counted, not_counted = (
        propagate_classes(ready, closure, 3, count_guesses=count) for count in (True, False)
    )
    assert counted.anchors.counted.any()
    np.testing.assert_array_equal(counted.shares, not_counted.shares)
