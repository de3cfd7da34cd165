"""The loop of the family: k-means without hints, the objective, the metric step, empty clusters, threads."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import euclidean_distances
from threadpoolctl import threadpool_limits

from likewise import ConstrainedKMeans, COPKMeans, MKMeans, MPCKMeans, PCKMeans, SeededKMeans, Supervision
from likewise.backends import as_rows
from likewise.kmeans._loop import ClusterStats, KMeansSteps, Metric, compute_means
from likewise.kmeans._mpck import FarthestRows, LinkedRows, MetricLearning, Penalty, compute_inverse_metric
from likewise.supervision import sample_links
from profiles import fewer
from reference.kmeans import gather_hints, scatter

PLAIN = [COPKMeans, ConstrainedKMeans, PCKMeans, SeededKMeans]


@pytest.mark.parametrize("cls", PLAIN)
@pytest.mark.parametrize("seed", range(2))
def test_without_hints_it_is_scikit_learns_kmeans_from_the_same_start(cls, seed):
    X, _ = load_digits(return_X_y=True)
    X = X + np.random.default_rng(9).normal(scale=1e-3, size=X.shape)  # whole numbers would give exact ties
    start = X[np.random.default_rng(seed).permutation(len(X))[:10]]
    theirs = KMeans(10, init=start, n_init=1, algorithm="lloyd").fit(X)
    ours = cls(10, init=start).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    assert ours.objective_ == pytest.approx(theirs.inertia_)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)
    assert ours.score(X) == pytest.approx(theirs.score(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@fewer(2)
@given(seed=st.integers(0, 10**6), constant=st.booleans())
def test_no_sweep_and_no_move_of_the_centres_raises_the_objective(seed, constant):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 3)) + 2 * np.eye(3)[y]
    hints = sample_links(y, 40, noise=0.2, random_state=seed % 1000)
    penalty = Penalty(1.0, 1.0, 4.0, 0.0, 4.0) if constant else Penalty(1.0, 1.0, 0.0, 1.0, None)
    named = gather_hints(X, hints)
    linked = LinkedRows(as_rows(X), named, penalty, np.random.RandomState(0))
    steps = KMeansSteps(X, 3, hinted=linked)
    A = rng.uniform(0.5, 2, size=(1, 3))
    metric = Metric(A, np.log(A).sum(axis=1))
    centers, previous, values = rng.normal(size=(3, 3)), None, []
    for _ in range(8):
        found = steps.assign(centers, metric, previous)
        values.append(found.objective)
        centers, previous = compute_means(found.stats, centers), found.hinted_labels
    assert (np.diff(values) <= 1e-8 * np.abs(values[:-1])).all(), values


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("per_cluster", [True, False])
def test_the_metric_step_is_the_papers_formula(diagonal, per_cluster):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    X -= X.mean(axis=0)
    hints = Supervision.from_links(
        240,
        must=[(0, 1), (2, 3), (4, 5)],
        cannot=[(6, 7), (8, 9)],
        must_groups=[[10, 11, 12]],
        cannot_groups=[[13, 14, 15]],
    )
    penalty = Penalty(1.0, 1.0, 0.0, 1.0, None)
    linked = LinkedRows(as_rows(X), gather_hints(X, hints), penalty, np.random.RandomState(0))
    steps = KMeansSteps(X, 3, hinted=linked, learning=MetricLearning(diagonal, per_cluster, 1e-9, linked))
    metric = Metric(np.ones((1, 3)))
    labels = rng.integers(0, 3, 240).astype(np.int32)
    labels[:10] = [0, 1, 1, 1, 2, 0, 1, 1, 0, 2]  # breaks two must-links and a cannot-link
    moments = None if not per_cluster else "diagonal" if diagonal else "full"
    stats = ClusterStats.from_labels(X, labels, np.ones(240), 3, moments=moments)
    centers = compute_means(stats, X[:3])
    learned = steps.learning.fit_metric(
        stats, steps.second, centers, labels[linked.rows], metric, steps.scale
    )
    np.testing.assert_allclose(centers, [X[labels == h].mean(axis=0) for h in range(3)])

    far = FarthestRows(X, np.empty((0, 3)), np.empty((0, 3)), np.random.RandomState(0)).find_farthest(metric)[
        1
    ]
    S = scatter(X, labels, centers, hints, 3, np.repeat(far, 3, axis=0))
    mass = np.bincount(labels, minlength=3)
    if not per_cluster:  # pooled: both halves of a violated must-link go to the same metric
        S, mass = S.sum(axis=0)[None], np.array([240])
    if diagonal:
        expected = mass[:, None] / np.stack([np.diag(s) for s in S])
    else:
        expected = mass[:, None, None] * np.linalg.inv(S)
    np.testing.assert_allclose(learned.A, expected, rtol=1e-8)
    dets = np.log(expected).sum(axis=1) if diagonal else np.linalg.slogdet(expected)[1]
    np.testing.assert_allclose(learned.log_det, dets, rtol=1e-8)


def test_a_scatter_that_is_not_positive_still_gives_a_metric():
    for scatter_ in (np.array([[4.0, -1.0, 0.0]]), np.diag([4.0, -1.0, 0.0])[None]):
        metric = compute_inverse_metric(scatter_, np.array([2.0]), np.ones(3), 0.01)
        assert np.isfinite(metric.log_det).all()
        A = metric.A[0] if metric.diagonal else np.linalg.eigvalsh(metric.A[0])
        assert (np.atleast_1d(A) > 0).all()
    nothing = compute_inverse_metric(np.zeros((1, 2)), np.array([0.0]), np.ones(2), 0.01)
    assert np.isfinite(nothing.A).all()
    assert np.isfinite(nothing.log_det).all()


def test_the_farthest_pair_is_exact_for_few_rows_and_a_lower_bound_for_many():
    rng = np.random.default_rng(0)
    for n in (100, 5000):
        X = rng.normal(size=(n, 4))
        metric = Metric(np.array([[1.0, 5.0, 0.2, 1.0]]), np.zeros(1))
        reach, far = FarthestRows(
            X, np.empty((0, 4)), np.empty((0, 4)), np.random.RandomState(0)
        ).find_farthest(metric)
        Z = X * np.sqrt(metric.A[0])
        exact = max(np.square(Z - z).sum(axis=1).max() for z in Z)
        assert reach[0] == pytest.approx(metric.compute_lengths(far)[0, 0])
        assert 0.9 * exact <= reach[0] <= exact * (1 + 1e-12)
        if n == 100:
            assert reach[0] == pytest.approx(exact)


def test_units_do_not_matter_to_a_learned_metric():
    X, y = load_iris(return_X_y=True)
    hints = sample_links(y, 60, random_state=0)
    for metric in ("diagonal", "full"):
        # the same start, and the metric from the first iteration on, so that no Euclidean step intervenes
        model = MPCKMeans(3, metric=metric, init="hints", n_init=1, random_state=0)
        labels = model.fit(X, supervision=hints).labels_
        scaled = model.fit(X * [1.0, 100.0, 0.01, 7.0], supervision=hints).labels_
        np.testing.assert_array_equal(labels, scaled)


@pytest.mark.parametrize("cls", [PCKMeans, MPCKMeans, COPKMeans])
def test_no_cluster_is_left_empty(cls):
    # Three distant groups, and a start whose second centre is not the nearest of any row.
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]], 10, axis=0) + np.random.default_rng(0).normal(
        size=(30, 2)
    )
    start = np.array([[0.0, 0.0], [1000.0, 1000.0], [20.0, 0.0]])
    hints = Supervision.from_links(30, must=[(0, 1)], cannot=[(0, 29)])
    labels = cls(3, init=start).fit(X, supervision=hints).labels_
    assert sorted(np.bincount(labels).tolist()) == [10, 10, 10]


@pytest.mark.parametrize("cls", [PCKMeans, MPCKMeans, MKMeans, COPKMeans, SeededKMeans, ConstrainedKMeans])
def test_fewer_distinct_rows_than_clusters_is_reported(cls):
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters of the 3"):
        labels = cls(3, random_state=0).fit(X).labels_
    assert len(np.unique(labels[:5])) == len(np.unique(labels[5:])) == 1


def test_zero_variance_columns_and_duplicate_rows_give_finite_results():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.column_stack([rng.normal(size=40) + 6 * y, np.ones(40), np.zeros(40)])
    X[1] = X[0]
    hints = sample_links(y, 20, random_state=0)
    for metric in ("diagonal", "full"):
        for per_cluster in (True, False):
            model = MPCKMeans(2, metric=metric, per_cluster=per_cluster, random_state=0).fit(
                X, supervision=hints
            )
            assert np.isfinite(model.metrics_).all()
            assert np.isfinite(model.objective_)
            assert len(np.unique(model.labels_ * 2 + y)) == 2


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 100_000)
    X = rng.normal(size=(100_000, 8)) + rng.normal(size=(5, 8))[y]
    hints = sample_links(y, 200, random_state=0)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            model = MPCKMeans(5, metric="diagonal", n_init=1, max_iter=8, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found.append(model.fit(X, supervision=hints))
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_array_equal(found[0].metrics_, found[1].metrics_)


def test_a_fit_that_does_not_converge_gives_a_warning():
    X, _ = load_digits(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        PCKMeans(10, n_init=1, max_iter=2, tol=0, random_state=0).fit(X)


def test_a_row_weight_is_equivalent_to_copies_of_the_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + np.repeat([[0, 0], [5, 0], [0, 5]], 10, axis=0)
    weight = rng.integers(1, 4, 30)
    start = X[[0, 10, 20]]
    for cls in (PCKMeans, MPCKMeans):
        weighted = cls(3, init=start).fit(X, sample_weight=weight)
        copied = cls(3, init=start).fit(np.repeat(X, weight, axis=0))
        np.testing.assert_allclose(weighted.cluster_centers_, copied.cluster_centers_, atol=1e-8)
        assert weighted.objective_ == pytest.approx(copied.objective_)


def test_the_penalty_of_a_far_pair_in_a_cannot_group_is_not_negative():
    X = np.random.default_rng(0).normal(size=(1000, 50))
    squared = euclidean_distances(X, squared=True)
    u, v = np.unravel_index(squared.argmax(), squared.shape)
    reach, _ = FarthestRows(X, np.empty((0, 50)), X[[u, v, 0]], np.random.RandomState(0)).find_farthest(
        Metric(np.ones((1, 50)))
    )
    assert reach[0] == pytest.approx(squared.max())


@pytest.mark.parametrize(
    "model", [PCKMeans(4), MPCKMeans(4), MPCKMeans(4, metric="diagonal", per_cluster=True)]
)
def test_the_objective_of_float32_rows_keeps_its_digits(model):
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0], [6, 0], [1e4, 1e4], [1e4 + 6, 1e4]])
    X = (rng.normal(size=(400, 2)) + np.repeat(centers, 100, axis=0)).astype(np.float32)
    model = clone(model).set_params(init=centers)
    single = model.fit(X).objective_
    assert single == pytest.approx(model.fit(X.astype(np.float64)).objective_, rel=0.05)


def test_a_hinted_row_of_weight_zero_goes_to_its_nearest_cluster():
    X = np.repeat([[0.0], [10.0], [20.0]], 10, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(30, 1))
    weight = np.ones(30)
    weight[[25, 26]] = 0
    hints = Supervision.from_links(30, must=[(25, 26)])
    for cls in (COPKMeans, PCKMeans, MPCKMeans):
        for seed in range(3):
            model = cls(3, random_state=seed).fit(X, supervision=hints, sample_weight=weight)
            np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_rows_of_weight_zero_do_not_change_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [4, 0], [0, 4]], 20, axis=0)
    far = np.vstack([X, [[1e5, 1e5], [1e5, -1e5]]])
    weight = np.r_[np.ones(60), 0, 0]
    for cls in (PCKMeans, MPCKMeans):
        alone = cls(3, init=X[[0, 20, 40]]).fit(X)
        beside = cls(3, init=X[[0, 20, 40]]).fit(far, sample_weight=weight)
        np.testing.assert_array_equal(alone.labels_, beside.labels_[:60])


def test_all_rows_in_one_must_group_stay_together_and_do_not_take_long():
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    hints = Supervision.from_links(20_000, must_groups=[np.arange(20_000)])
    with pytest.warns(ConvergenceWarning, match="1 distinct clusters"):
        labels = PCKMeans(3, n_init=1, random_state=0).fit(X, supervision=hints).labels_
    assert len(np.unique(labels)) == 1


def test_without_links_the_lowest_objective_wins():
    X = load_iris().data
    kept = MKMeans(3, random_state=0).fit(X)
    for n_init in range(1, 5):
        assert kept.objective_ <= MKMeans(3, n_init=n_init, random_state=0).fit(X).objective_ + 1e-9
