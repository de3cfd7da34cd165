"""Properties of each member: hard links hold, soft links are weighed, labels set the start or are fixed."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from likewise import ConstrainedKMeans, COPKMeans, MKMeans, MPCKMeans, PCKMeans, SeededKMeans, Supervision
from likewise.evaluation import link_satisfaction
from likewise.exceptions import (
    InconsistentSupervisionError,
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    UnsupportedSupervisionError,
)
from likewise.supervision import sample_links
from profiles import fewer


@fewer(2)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_hard_links_all_hold_or_no_labelling_exists(seed, k):
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(7), 2))
    chosen = [pairs[p] for p in rng.permutation(len(pairs))[: rng.integers(1, 14)]]
    kinds = rng.uniform(size=len(chosen)) < 0.25
    hints = Supervision.from_links(
        7,
        must=[p for p, must in zip(chosen, kinds, strict=True) if must],
        cannot=[p for p, must in zip(chosen, kinds, strict=True) if not must],
        cannot_groups=[rng.permutation(7)[:3]] if seed % 3 == 0 else None,
    ).drop_conflicts()
    X = rng.normal(size=(7, 2))
    exists = any(
        link_satisfaction(np.array(labels), hints).share == 1.0
        for labels in itertools.product(range(k), repeat=7)
    )
    if exists:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # must-links may leave fewer than k components
            model = COPKMeans(k, random_state=0).fit(X, supervision=hints)
        n_components = hints.closure().n_components
        assert len(np.unique(model.labels_)) == min(k, n_components)
        assert model.violations_.share == 1.0
    else:
        with pytest.raises(
            InfeasibleSupervisionError, match=r"clusters no labelling satisfies them all|only \d clusters"
        ):
            COPKMeans(k, random_state=0).fit(X, supervision=hints)


def test_hard_links_cost_little_on_a_small_case_solved_by_enumeration():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    hints = Supervision.from_links(6, must=[(2, 3)], cannot=[(0, 1)])
    best = min(
        sum(np.square(X[rows] - X[rows].mean()).sum() for rows in parts if len(rows))
        for labels in itertools.product(range(2), repeat=6)
        if labels[2] == labels[3] and labels[0] != labels[1]
        for parts in [[np.flatnonzero(np.array(labels) == h) for h in range(2)]]
    )
    assert COPKMeans(2, n_init=10, random_state=0).fit(X, supervision=hints).objective_ == pytest.approx(best)


def test_hard_links_recover_from_a_dead_end():
    # A cycle of five needs three colours; all rows have the same nearest centre, so greedy assignment fails.
    X = np.vstack([np.zeros((5, 1)), np.ones((5, 1)) * 5])
    X += np.random.default_rng(0).normal(scale=0.01, size=X.shape)
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    model = COPKMeans(3, random_state=0).fit(X, supervision=Supervision.from_links(10, cannot=ring))
    assert model.violations_.share == 1.0
    with pytest.raises(
        InfeasibleSupervisionError, match=r"5 must-link components .* with 2 clusters no label"
    ):
        COPKMeans(2, random_state=0).fit(X, supervision=Supervision.from_links(10, cannot=ring))


def test_a_long_chain_of_links_does_not_overflow():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5000)
    X = rng.normal(size=(10_000, 2)) + 8 * y[:, None]
    chain = np.column_stack([np.arange(9999), np.arange(1, 10_000)])
    same = y[chain[:, 0]] == y[chain[:, 1]]
    hints = Supervision.from_links(10_000, must=chain[same], cannot=chain[~same])
    for model in (COPKMeans(2, random_state=0), PCKMeans(2, random_state=0)):
        assert adjusted_rand_score(y, model.fit(X, supervision=hints).labels_) == 1.0


def test_hard_methods_refuse_contradictions_and_soft_methods_warn():
    X = np.random.default_rng(0).normal(size=(6, 2))
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.raises(InconsistentSupervisionError, match="0 – 1 – 2"):
        COPKMeans(2).fit(X, supervision=hints)
    for cls in (PCKMeans, MKMeans, MPCKMeans):
        with pytest.warns(InconsistentSupervisionWarning, match="0 – 1 – 2"):
            model = cls(2, random_state=0).fit(X, supervision=hints)
        if cls is not MKMeans:
            assert model.violations_.share == pytest.approx(2 / 3)


def test_the_same_link_with_both_answers_is_a_contradiction():
    X = np.random.default_rng(0).normal(size=(6, 2))
    both = Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 0)])
    with pytest.warns(InconsistentSupervisionWarning, match="rows 0 and 1"):
        PCKMeans(2, random_state=0).fit(X, supervision=both)
    heavier = Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 0)], must_weights=1, cannot_weights=50)
    with pytest.warns(InconsistentSupervisionWarning):
        labels = PCKMeans(2, random_state=0).fit(X, supervision=heavier).labels_
    assert labels[0] != labels[1]


def test_soft_links_are_weighed_by_hand():
    # Rows 0, 2, 10, 12 and a must-link between 2 and 10. The mean squared distance between two rows is 52.
    X = np.array([[0.0], [2.0], [10.0], [12.0]])
    hints = Supervision.from_links(4, must=[(1, 2)])
    light = PCKMeans(2, must_weight=0.1, init=[[1.0], [11.0]]).fit(X, supervision=hints)
    assert light.labels_.tolist() == [0, 0, 1, 1]
    assert light.objective_ == pytest.approx(4 + 0.1 * 52)
    assert light.violations_.violated_must.tolist() == [[1, 2]]
    heavy = PCKMeans(2, must_weight=10, init=[[1.0], [11.0]]).fit(X, supervision=hints)
    assert heavy.labels_[1] == heavy.labels_[2]
    assert heavy.violations_.share == 1.0


def test_penalties_do_not_depend_on_the_units():
    # Without scaling the weights to the data, a quarter of the links is violated on raw wine.
    X, y = load_wine(return_X_y=True)
    hints = sample_links(y, 200, random_state=0)
    for cls in (PCKMeans, MPCKMeans):
        model = cls(3, random_state=0).fit(X, supervision=hints)
        assert model.violations_.share > 0.97
        again = cls(3, random_state=0).fit(X / 1000, supervision=hints)
        assert adjusted_rand_score(model.labels_, again.labels_) > 0.95


def test_links_of_weight_zero_have_no_effect():
    X = np.tile([[0.0], [1000.0]], (30, 1))
    hints = Supervision.from_links(60, must=[(i, i + 1) for i in range(0, 60, 2)], must_weights=1e-9)
    labels = PCKMeans(2, random_state=0).fit(X, supervision=hints).labels_
    assert len(set(labels[::2])) == len(set(labels[1::2])) == 1
    assert labels[0] != labels[1]


def test_all_links_recover_the_classes():
    X, y = load_iris(return_X_y=True)
    hints = Supervision.from_labels(y).to_links()
    for cls in (COPKMeans, PCKMeans, MPCKMeans):
        labels = cls(3, random_state=0).fit(X, supervision=hints).labels_
        assert adjusted_rand_score(y, labels) == 1.0, cls


@pytest.mark.parametrize("n_links", [20, 500])
@pytest.mark.long
def test_few_links_do_not_make_digits_worse_than_plain_kmeans(n_links):
    X, y = load_digits(return_X_y=True)
    plain, hinted = [], []
    for seed in range(3):
        plain.append(adjusted_rand_score(y, PCKMeans(10, n_init=1, random_state=seed).fit(X).labels_))
        hints = sample_links(y, n_links, random_state=seed)
        hinted.append(
            adjusted_rand_score(y, MPCKMeans(10, random_state=seed).fit(X, supervision=hints).labels_)
        )
    assert np.mean(hinted) > np.mean(plain)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_few_links_do_not_make_a_learned_metric_worse_than_no_links(metric):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    without, with_links = [], []
    for seed in range(5):
        model = MPCKMeans(3, metric=metric, n_init=3, random_state=seed)
        hints = sample_links(y, 20, random_state=seed)
        free = ~hints.touched
        without.append(adjusted_rand_score(y[free], model.fit(X).labels_[free]))
        with_links.append(adjusted_rand_score(y[free], model.fit(X, supervision=hints).labels_[free]))
    assert np.mean(with_links) > np.mean(without) - 0.02


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_links_that_the_fit_without_links_keeps_leave_it_as_it_is(metric):
    X = StandardScaler().fit_transform(load_wine().data)
    model = MPCKMeans(3, metric=metric, n_init=2, random_state=0).fit(X)
    labels = model.labels_
    hints = sample_links(labels, 30, random_state=0)
    again = model.fit(X, supervision=hints)
    assert again.violations_.share == 1.0
    assert adjusted_rand_score(labels, again.labels_) == 1.0


def test_mk_means_uses_links_for_the_metric_only():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = np.column_stack([2 * y + rng.normal(size=60), rng.normal(size=60)])
    hints = sample_links(y, 60, random_state=0)
    with_links = MKMeans(2, metric="diagonal", random_state=0).fit(X, supervision=hints)
    without = MKMeans(2, metric="diagonal", random_state=0).fit(X)
    assert not np.allclose(with_links.metrics_, without.metrics_)
    np.testing.assert_array_equal(with_links.predict(X), with_links.labels_)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("per_cluster", [True, False])
def test_the_learned_metric_has_the_documented_shape(metric, per_cluster):
    X, y = load_iris(return_X_y=True)
    model = MPCKMeans(3, metric=metric, per_cluster=per_cluster, random_state=0)
    model.fit(X, supervision=sample_links(y, 50, random_state=0))
    assert model.metrics_.shape == (3,) * per_cluster + (4,) * (1 + (metric == "full"))
    distances = model.transform(X[:7])
    A = model.metrics_ if per_cluster else np.stack([model.metrics_] * 3)
    for h in range(3):
        difference = X[:7] - model.cluster_centers_[h]
        matrix = np.diag(A[h]) if metric == "diagonal" else A[h]
        expected = np.sqrt(np.einsum("nd,de,ne->n", difference, matrix, difference))
        np.testing.assert_allclose(distances[:, h], expected, rtol=1e-6, atol=1e-9)


def test_labels_set_the_start_or_are_fixed():
    X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0]])
    hints = Supervision.from_labels(["a", None, None, "a", "b"])
    pinned = ConstrainedKMeans(2).fit(X, supervision=hints)
    assert pinned.labels_[[0, 3, 4]].tolist() == [0, 0, 1]
    assert pinned.classes_ == ("a", "b")
    seeded = SeededKMeans(2).fit(X, supervision=hints)
    assert seeded.labels_.tolist() == [0, 0, 0, 1, 1]  # row 3 leaves its class
    more = ConstrainedKMeans(3, random_state=0).fit(X, supervision=hints)
    assert len(np.unique(more.labels_)) == 3
    with pytest.raises(InfeasibleSupervisionError, match="2 classes, but n_clusters=1"):
        SeededKMeans(1).fit(X, supervision=hints)
    with pytest.raises(UnsupportedSupervisionError, match=r"supports 'labels' .* cannot use links"):
        SeededKMeans(2).fit(X, supervision=Supervision.from_links(5, must=[(0, 1)]))


@pytest.mark.parametrize("cls", [SeededKMeans, ConstrainedKMeans])
@pytest.mark.parametrize("init", ["hints", "k-means++", [[11.0], [1.0]]])
def test_cluster_c_is_class_c_for_any_start(cls, init):
    X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    hints = Supervision.from_labels(["low", "low", None, None, "high", "high"])
    for seed in range(4):
        model = cls(2, init=init, random_state=seed).fit(X, supervision=hints)
        assert [model.classes_[label] for label in model.labels_] == ["low"] * 3 + ["high"] * 3
        assert model.predict([[0.0], [12.0]]).tolist() == [model.labels_[0], model.labels_[5]]


@pytest.mark.long
def test_a_large_sparse_colouring_is_solved_and_a_dense_one_is_refused():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2000)
    pairs = rng.integers(0, 2000, (8000, 2))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]][:3800]
    hints = Supervision.from_links(2000, cannot=pairs)
    model = COPKMeans(3, n_init=1, max_iter=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(rng.normal(size=(2000, 2)), supervision=hints).violations_.share == 1.0
    dense = Supervision.from_links(60, cannot=[p for p in itertools.combinations(range(60), 2) if sum(p) % 3])
    with pytest.raises(InfeasibleSupervisionError, match="21 rows must be apart from one another"):
        COPKMeans(2, random_state=0).fit(rng.normal(size=(60, 2)), supervision=dense)
    cycle = Supervision.from_links(60, cannot=[(i, (i + 1) % 59) for i in range(59)])
    with pytest.raises(InfeasibleSupervisionError, match="no labelling satisfies them all"):
        COPKMeans(2, random_state=0).fit(rng.normal(size=(60, 2)), supervision=cycle)


def test_the_learned_metric_does_not_follow_later_parameters():
    X, y = load_iris(return_X_y=True)
    model = MPCKMeans(3, per_cluster=True, random_state=0)
    assert not hasattr(model, "metrics_")
    model.fit(X, supervision=sample_links(y, 50, random_state=0)).set_params(n_clusters=5, per_cluster=False)
    assert model.metrics_.shape == (3, 4, 4)


@pytest.mark.parametrize("cls", [PCKMeans, MPCKMeans])
def test_linked_rows_in_pieces_and_searches_in_threads_give_the_same_fit(cls, monkeypatch):
    from likewise.kmeans import _base, _mpck

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 4)) + 2.5 * rng.normal(size=(3, 4))[y]
    hints = sample_links(y, 60, balance=0.5, random_state=0)
    expected = cls(3, random_state=0).fit(X, supervision=hints)
    monkeypatch.setattr(_mpck, "_PIECE", 7)
    monkeypatch.setattr(_mpck, "_MANY_COSTS", 1)
    monkeypatch.setattr(_base, "get_n_threads", lambda work, n_jobs: 2)
    found = cls(3, random_state=0).fit(X, supervision=hints)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-12)


@pytest.mark.parametrize("cls", [PCKMeans, COPKMeans])
def test_groups_without_must_links_get_a_cluster_if_there_are_many_columns_and_clusters(cls):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 20)
    X = 4 * rng.normal(size=(40, 128))[y] + rng.normal(size=(800, 128))
    must = [(20 * group + a, 20 * group + a + 1) for group in range(10) for a in range(0, 10, 2)]
    hints = Supervision.from_links(800, must=must)
    for seed in range(3):
        model = cls(40, n_init=1, random_state=seed).fit(X, supervision=hints)
        assert adjusted_rand_score(y, model.labels_) > 0.95
