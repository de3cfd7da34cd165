"""Kernel k-means with links: by hand, reference implementations, properties, invalid input."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.preprocessing import StandardScaler

from likewise import Supervision, datasets
from likewise.evaluation import purity_score
from likewise.exceptions import (
    DatasetNotFoundError,
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
)
from likewise.kernels.kernel_kmeans import find_best_gains
from likewise.spectral import ConstrainedKernelKMeans, SpectralLearning
from likewise.spectral._affinity import Graph
from likewise.spectral._kernel_kmeans import Association, Sums
from likewise.supervision import sample_links
from profiles import fewer
from reference import spectral_links as twin

SEEDS = st.integers(0, 10_000)
OBJECTIVES = ("normalized_cut", "ratio_association", "ratio_cut")
# Six rows in a line; every edge is 2 except the middle edge, which is 1.
LINE = np.diag([2.0, 2, 1, 2, 2], 1) + np.diag([2.0, 2, 1, 2, 2], -1)


def on_line(n_clusters=2, **params):
    return ConstrainedKernelKMeans(n_clusters, affinity="precomputed", random_state=0, **params)


def draw_case(seed, n=12, sparse=False):
    """Return a random association with two groups, and its dense matrix."""
    rng = np.random.default_rng(seed)
    near = rng.uniform(-0.3, 1, (n, n)) * (rng.uniform(size=(n, n)) < 0.6)
    near = near + near.T
    columns = (rng.uniform(size=(n, 2)) < 0.4) * rng.uniform(0.5, 1, (n, 2))
    strengths, added, mass = rng.normal(size=2), rng.normal(size=n), rng.uniform(0.5, 2, n)
    whole = near + (columns * strengths) @ columns.T + np.diag(added)
    made = Association(csr_array(near) if sparse else near, csc_array(columns), strengths, added, mass)
    return made, whole, rng


# ---------------------------------------------------------------------- by hand


def test_the_line_is_cut_in_the_middle():
    # deg = 9 on either side, cut = 1: 1/9 + 1/9.
    model = on_line().fit(LINE)
    assert model.labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(model.objective_, 2 / 9)


@pytest.mark.parametrize(("objective", "value"), [("ratio_association", -16 / 3), ("ratio_cut", 2 / 3)])
def test_other_objectives_by_hand(objective, value):
    # 8 of weight inside each three rows, and a cut of 1.
    model = on_line(objective=objective).fit(LINE)
    assert adjusted_rand_score([0, 0, 0, 1, 1, 1], model.labels_) == 1.0
    np.testing.assert_allclose(model.objective_, value)


def test_links_move_the_cut():
    # The mean degree is 3, so a link adds half of it, 1.5, to the matrix, in both directions.
    # {0, 1}: deg 6, cut 2; {2, ..., 5}: deg 12, cut 2, and the must-link adds 2 * 1.5.
    hints = Supervision.from_links(6, must=[(2, 3)], cannot=[(1, 2)])
    model = on_line(link_weight=0.5).fit(LINE, supervision=hints)
    assert adjusted_rand_score([0, 0, 1, 1, 1, 1], model.labels_) == 1.0
    np.testing.assert_allclose(model.objective_, 2 / 6 + 2 / 12 - 3 / 12)
    assert model.violations_.share == 1.0


def compute_added_by_links(hints, weights=LINE, **params):
    """Return the matrix that links add to the similarities."""
    made = on_line(**params)._make_association(Graph.from_weights(weights), hints, hints.closure())
    return made.multiply(np.eye(6)) - weights


def test_the_total_weight_of_links_is_the_mean_cluster_size():
    # n / (k C) = 6 / (2 * 3) of the largest similarity, which is 2; implied links do not count.
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(2, 5)], must_weights=[1, 3])
    expected = np.zeros((6, 6))
    expected[0, 1], expected[1, 2], expected[2, 5] = 2, 6, -2
    np.testing.assert_allclose(compute_added_by_links(hints), expected + expected.T, atol=1e-12)
    group = Supervision.from_links(6, must_groups=[[0, 1, 2, 3]])  # six pairs, each of weight 1/2
    expected = np.zeros((6, 6))
    expected[:4, :4] = 1 - np.eye(4)
    np.testing.assert_allclose(compute_added_by_links(group), expected, atol=1e-12)


def test_implied_links_share_the_total_weight():
    # (0, 1), (1, 2) and the cannot-link (2, 5) imply three more: six links, each of weight 1/2 of 2.
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(2, 5)])
    expected = np.zeros((6, 6))
    expected[:3, :3] = 1 - np.eye(3)
    expected[:3, 5] = expected[5, :3] = -1
    np.testing.assert_allclose(compute_added_by_links(hints, implied=True), expected, atol=1e-12)


def test_the_scale_of_the_similarities_does_not_matter():
    hints = Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 2)])
    np.testing.assert_allclose(
        compute_added_by_links(hints, 1e3 * LINE), 1e3 * compute_added_by_links(hints), atol=1e-9
    )


def test_250_right_links_do_not_lower_the_purity_on_coil20():
    """Golden, 2026-11-17, links and fit of seed 0: 0.753; 0.740 without links."""
    from sklearn.decomposition import PCA

    try:
        coil = datasets.load("coil20")
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    X = PCA(10, svd_solver="covariance_eigh").fit_transform(np.asarray(coil.X, dtype=float))
    squares = pairwise_distances(X, metric="sqeuclidean")
    similarities = np.exp(-squares / squares[np.triu_indices(len(X), 1)].mean())
    hints = sample_links(coil.y, 250, random_state=0)
    model = ConstrainedKernelKMeans(20, affinity="precomputed", n_init=3, random_state=0)
    assert purity_score(coil.y, model.fit(similarities, supervision=hints).labels_) > 0.73


def test_max_links_limits_the_weight_of_a_row():
    hints = Supervision.from_links(6, must_groups=[[0, 1, 2, 3, 4]])
    graph = Graph.from_weights(LINE)
    model = on_line(max_links=2.0, link_weight=0.5)
    made = model._make_association(graph, hints, hints.closure())
    links = made.multiply(np.eye(6)) - LINE
    expected = np.zeros((6, 6))
    expected[:5, :5] = 0.5 * 3 * 2 / 4  # four links per row, of which two count
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(links, expected, atol=1e-12)


# ---------------------------------------------------------------------- twins


@given(SEEDS, st.floats(0.0, 3.0))
def test_compiled_steps_of_sparse_graphs_equal_the_formulas(seed, shift):
    (sparse, _, rng), (dense, _, _) = draw_case(seed, sparse=True), draw_case(seed)
    labels = np.concatenate([np.arange(4), rng.integers(0, 4, 8)])
    sums, plain = Sums.from_labels(sparse, labels, 5), Sums.from_labels(dense, labels, 5)  # one is empty
    np.testing.assert_array_equal(sparse.move_all(labels, sums, shift), dense.move_all(labels, plain, shift))
    best = np.empty(12)
    every = sums.linked, sums.inner, sums.mass, sums.sizes
    find_best_gains(sparse.own, sparse.mass, *every, labels, np.empty(5), best)
    np.testing.assert_allclose(
        best, plain.compute_gains(dense, np.arange(12), labels).max(axis=1), atol=1e-12
    )


@given(SEEDS, st.booleans())
@fewer(2)
def test_products_values_and_units(seed, sparse):
    made, whole, rng = draw_case(seed, sparse=sparse)
    block = rng.normal(size=(12, 2))
    np.testing.assert_allclose(made.multiply(block), whole @ block, atol=1e-12)
    np.testing.assert_allclose(made.own, whole.diagonal(), atol=1e-12)
    labels = rng.permutation(np.arange(12) % 3)
    np.testing.assert_allclose(
        Sums.from_labels(made, labels, 3).value, twin.association_value(whole, made.mass, labels), atol=1e-12
    )
    component = np.unique(rng.integers(0, 6, 12), return_inverse=True)[1]
    units = made.merge_units(component)
    of_units = rng.integers(0, 3, component.max() + 1)
    np.testing.assert_allclose(
        Sums.from_labels(units, of_units, 3).value,
        Sums.from_labels(made, of_units[component], 3).value,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        units.own,
        [whole[np.ix_(component == u, component == u)].sum() for u in range(len(of_units))],
        atol=1e-12,
    )


@given(SEEDS)
@fewer(2)
def test_nearness_against_explicit_feature_vectors(seed):
    made, whole, rng = draw_case(seed)
    labels = rng.permutation(np.arange(12) % 3)
    shift = max(-made.bound_eigenvalues(np.random.RandomState(0)), 0.0) + 0.1
    sums = Sums.from_labels(made, labels, 3)
    near = sums.compute_nearness(sums.linked, made.mass, shift)
    near[np.arange(12), labels] += 2 * shift / sums.mass[labels]
    far = twin.distances_to_means(whole, made.mass, labels, 3, shift)
    constant = shift / made.mass + whole.diagonal() / made.mass**2
    np.testing.assert_allclose(constant[:, None] - near, far, atol=1e-8)
    moved = made.move_all(labels, sums, shift)
    if len(np.unique(far.argmin(axis=1))) == 3:
        np.testing.assert_array_equal(moved, far.argmin(axis=1))


@given(SEEDS, st.booleans())
@fewer(4)
def test_gains_are_differences_of_values(seed, sparse):
    made, whole, rng = draw_case(seed, sparse=sparse)
    labels = rng.permutation(np.r_[np.arange(11) % 2, 2])  # one cluster of a single row
    gains = Sums.from_labels(made, labels, 4).compute_gains(made, np.arange(12), labels)
    before = twin.association_value(whole, made.mass, labels)
    for i in range(12):
        for c in range(4):
            moved = labels.copy()
            moved[i] = c
            np.testing.assert_allclose(
                gains[i, c], twin.association_value(whole, made.mass, moved) - before, atol=1e-9
            )


@given(SEEDS)
@fewer(2)
def test_the_smallest_shift_makes_the_kernel_positive_definite(seed):
    made, whole, _ = draw_case(seed)
    half = made.mass**-0.5
    least = np.linalg.eigvalsh(half[:, None] * whole * half)[0]
    np.testing.assert_allclose(made.bound_eigenvalues(np.random.RandomState(0)), least, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_smallest_shift_of_many_rows_is_a_bound(sparse):
    made, whole, _ = draw_case(0, n=300, sparse=sparse)
    half = made.mass**-0.5
    least = np.linalg.eigvalsh(half[:, None] * whole * half)[0]
    found = made.bound_eigenvalues(np.random.RandomState(0))
    assert 1.05 * least - 1 < found <= least + 1e-9


# ---------------------------------------------------------------------- laws


@given(SEEDS, st.booleans(), st.integers(2, 5))
@fewer(2)
def test_no_step_lowers_the_objective(seed, sparse, k):
    made, _, rng = draw_case(seed, n=20, sparse=sparse)
    shift = max(-made.bound_eigenvalues(np.random.RandomState(0)), 0.0)
    labels = made.fill_empty(rng.integers(0, k, 20), k)
    assert set(labels) == set(range(k))
    for _ in range(10):
        sums = Sums.from_labels(made, labels, k)
        moved = made.move_all(labels, sums, shift)
        assert Sums.from_labels(made, moved, k).value >= sums.value - 1e-9
        assert set(moved) == set(range(k))
        labels = moved
    sums = Sums.from_labels(made, labels, k)
    before = sums.value
    n_moves = made.move_single_rows(labels, sums)
    fresh = Sums.from_labels(made, labels, k)
    np.testing.assert_allclose(sums.linked, fresh.linked, atol=1e-9)
    np.testing.assert_allclose(sums.inner, fresh.inner, atol=1e-9)
    np.testing.assert_array_equal(sums.sizes, fresh.sizes)
    assert fresh.value > before if n_moves else fresh.value == pytest.approx(before)
    assert set(labels) == set(range(k))


def three_clouds(n=90):
    y = np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, 3)) + 3 * np.eye(3)[y], y


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_single_move_improves_the_result(objective):
    X, y = three_clouds()
    hints = sample_links(y, 40, random_state=0)
    model = ConstrainedKernelKMeans(3, objective=objective, random_state=0).fit(X, supervision=hints)
    made = model._make_association(Graph.from_weights(model.affinity_matrix_), hints, hints.closure())
    labels = model.labels_.astype(np.int64)
    sums = Sums.from_labels(made, labels, 3)
    assert sums.compute_gains(made, np.arange(90), labels).max() < 1e-8
    np.testing.assert_allclose(model.objective_, (3 if objective == "normalized_cut" else 0) - sums.value)


def test_without_links_the_cut_is_no_worse_than_spectral_clustering():
    X = load_iris().data
    model = ConstrainedKernelKMeans(3, random_state=0).fit(X)
    W = model.affinity_matrix_
    spectral = SpectralLearning(3, random_state=0).fit(X).labels_
    assert model.objective_ <= 3 - twin.association_value(W, W.sum(axis=1), spectral) + 1e-12
    np.testing.assert_allclose(model.objective_, 3 - twin.association_value(W, W.sum(axis=1), model.labels_))


def test_a_group_equals_its_pairs():
    X, _ = three_clouds()
    groups = Supervision.from_links(90, must_groups=[[0, 3, 6]], cannot_groups=[[0, 1, 2]])
    pairs = Supervision.from_links(90, must=[(0, 3), (0, 6), (3, 6)], cannot=[(0, 1), (0, 2), (1, 2)])
    one, other = (ConstrainedKernelKMeans(3, random_state=0).fit(X, supervision=h) for h in (groups, pairs))
    np.testing.assert_allclose(one.objective_, other.objective_)
    np.testing.assert_allclose(one.shift_, other.shift_)


def test_sparse_and_dense_graphs_give_the_same_result():
    X, y = three_clouds()
    hints = sample_links(y, 30, random_state=0)
    graph = ConstrainedKernelKMeans(3, n_neighbors=10, random_state=0).fit(X).affinity_matrix_
    sparse, dense = (
        on_line(3).fit(weights, supervision=hints) for weights in (csr_array(graph), graph.toarray())
    )
    np.testing.assert_allclose(sparse.objective_, dense.objective_)
    assert adjusted_rand_score(sparse.labels_, dense.labels_) == 1.0


@pytest.mark.parametrize("n_links", [10, 50, 200])
def test_links_do_not_make_it_worse(n_links):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    plain = adjusted_rand_score(y, ConstrainedKernelKMeans(3, random_state=0).fit(X).labels_)
    scores = [
        adjusted_rand_score(
            y,
            ConstrainedKernelKMeans(3, random_state=0)
            .fit(X, supervision=sample_links(y, n_links, random_state=seed))
            .labels_,
        )
        for seed in range(3)
    ]
    assert np.mean(scores) > plain - 0.02


def test_heavier_links_improve_the_result_with_many_links():
    X, y = load_iris(return_X_y=True)
    X, hints = StandardScaler().fit_transform(X), sample_links(y, 200, random_state=0)
    heavy = ConstrainedKernelKMeans(3, link_weight=0.3, implied=True, max_links=2.0, random_state=0)
    assert adjusted_rand_score(y, heavy.fit(X, supervision=hints).labels_) > 0.65  # 0.44 without links


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_new_rows_get_the_cluster_of_similar_rows(objective):
    X, y = three_clouds()
    hints = sample_links(y, 20, random_state=0)
    model = ConstrainedKernelKMeans(3, objective=objective, random_state=0).fit(X, supervision=hints)
    assert (model.predict(X) == model.labels_)[~hints.touched].mean() > 0.95
    new = np.random.default_rng(1).normal(size=(60, 3)) + 3 * np.eye(3)[np.arange(60) % 3]
    assert adjusted_rand_score(np.arange(60) % 3, model.predict(new)) > 0.7


def test_a_new_row_without_similar_rows_goes_to_the_largest_cluster():
    model = on_line().fit(LINE, supervision=Supervision.from_links(6, cannot=[(1, 2)], cannot_weights=9))
    sizes = np.bincount(model.labels_)
    assert sizes.min() < sizes.max()
    assert model.predict(np.zeros((2, 6))).tolist() == [sizes.argmax()] * 2


def test_a_refit_starts_from_the_last_result():
    X, y = three_clouds()
    model = ConstrainedKernelKMeans(3, warm_start=True, random_state=0)
    for n_links in (0, 30, 31):
        hints = sample_links(y, n_links, random_state=0) if n_links else None
        cold = ConstrainedKernelKMeans(3, random_state=0).fit(X, supervision=hints)
        assert model.fit(X, supervision=hints).objective_ <= cold.objective_ + 0.01
        assert adjusted_rand_score(model.labels_, cold.labels_) > 0.9


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("objective", "cut"),
        ("link_weight", 0),
        ("link_weight", np.nan),
        ("link_weight", "kulis"),
        ("max_links", -1),
        ("implied", "yes"),
        ("shift", -0.1),
        ("shift", "least"),
        ("max_iter", 0),
    ],
)
def test_invalid_parameters(name, value):
    with pytest.raises(ValueError, match=f"ConstrainedKernelKMeans: {name} must be"):
        on_line(**{name: value}).fit(LINE)


def test_a_small_shift_never_raises_the_objective():
    X, y = three_clouds()
    hints = sample_links(y, 40, random_state=0)
    none = ConstrainedKernelKMeans(3, shift=0.0, random_state=0).fit(X, supervision=hints)
    least = ConstrainedKernelKMeans(3, random_state=0).fit(X, supervision=hints)
    assert none.shift_ == 0.0 < least.shift_
    np.testing.assert_allclose(none.objective_, least.objective_, rtol=0.02)


def test_a_shift_too_large_for_batch_steps():
    model = on_line(shift=1e6).fit(LINE)  # single moves need none
    np.testing.assert_allclose(model.objective_, 2 / 9)


def test_too_few_rounds_are_reported():
    X, y = three_clouds(300)
    hints = sample_links(y, 100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ConstrainedKernelKMeans(3, max_iter=1, n_init=1, objective="ratio_cut", random_state=0).fit(
            X + np.random.default_rng(5).normal(size=X.shape) * 2, supervision=hints
        )


def test_contradictory_links_are_traded_off():
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.warns(InconsistentSupervisionWarning, match="ConstrainedKernelKMeans.*rows 0 and 2"):
        model = on_line().fit(LINE, supervision=hints)
    assert np.isfinite(model.objective_)


def test_one_cluster():
    assert (
        on_line(1).fit(LINE, supervision=Supervision.from_links(6, must=[(0, 5)])).labels_.tolist() == [0] * 6
    )
    with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
        on_line(1).fit(LINE, supervision=Supervision.from_links(6, cannot=[(0, 5)]))


@pytest.mark.parametrize("k", [5, 6])
def test_nearly_as_many_clusters_as_rows(k):
    hints = Supervision.from_links(6, must=[(0, 1), (2, 3)])
    assert set(on_line(k).fit(LINE, supervision=hints).labels_.tolist()) == set(range(k))


@pytest.mark.parametrize("sparse", [False, True])
def test_disconnected_graphs_and_isolated_rows(sparse):
    weights = np.zeros((21, 21))
    weights[:10, :10] = weights[10:20, 10:20] = 1 - np.eye(10)
    hints = Supervision.from_links(21, must=[(20, 0)], cannot=[(20, 10)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = on_line().fit(csr_array(weights) if sparse else weights, supervision=hints)
    assert adjusted_rand_score(np.r_[np.repeat([0, 1], 10), 0], model.labels_) == 1.0


def test_rows_that_are_all_equal():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = ConstrainedKernelKMeans(3, random_state=0).fit(np.ones((12, 2)))
    assert np.isfinite(model.objective_)
    assert set(model.labels_.tolist()) == {0, 1, 2}
