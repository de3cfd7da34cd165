"""Flexible constrained spectral clustering: by hand, reference implementations, properties, invalid input."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from likewise import Supervision
from likewise.exceptions import (
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    UnsupportedSupervisionError,
)
from likewise.spectral import FlexibleSpectralClustering, SpectralLearning, _pencil
from likewise.spectral._affinity import Graph, check_given_graph
from likewise.spectral._pair_constraints import count_implied, derive_implied_links
from likewise.spectral._pencil import Pencil
from likewise.supervision import sample_links
from profiles import fewer
from reference import spectral_links as twin

SEEDS = st.integers(0, 10_000)
# A ring of four rows: 0 - 1 and 2 - 3 are near (3), 1 - 2 and 3 - 0 are not (1).
RING = np.array([[0, 3, 0, 1], [3, 0, 1, 0], [0, 1, 0, 3], [1, 0, 3, 0]], dtype=float)
ACROSS = Supervision.from_links(4, must=[(0, 3), (1, 2)], cannot=[(0, 1)])


def to_dense(links):
    """Return the matrix of link terms as an array."""
    return links.make_term().toarray() + np.diag(links.diagonal)


def on_ring(n_clusters=2, **params):
    return FlexibleSpectralClustering(n_clusters, affinity="precomputed", random_state=0, **params)


def draw_case(seed, n=14, n_links=10):
    """Return a connected graph with random weights, three classes, and true links."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.05, 1, (n, n)) ** 3
    weights = weights + weights.T
    np.fill_diagonal(weights, 0)
    y = rng.permutation(np.arange(n) % 3)
    return weights, y, sample_links(y, n_links, random_state=seed)


def pencil(weights, hints, **how):
    links = derive_implied_links(hints, hints.closure(on_conflict="keep"))
    how = {"tol": 1e-10, "solver": "auto", "rng": np.random.RandomState(0)} | how
    return Pencil(Graph.from_weights(weights), links, **how)


# ---------------------------------------------------------------------- by hand


def test_links_determine_the_cut_of_the_ring():
    # y = (1, -1, -1, 1): Q = y y' - I, so its largest eigenvalue is 3 / 4 after division by the degrees, 4.
    # y' L y / 4 = 2 * 3 / 4; lambda (3/4 - 3/8) = 3/2; beta / vol = 3/8, vol = 16.
    model = on_ring(level=0.5).fit(RING, supervision=ACROSS)
    assert model.labels_.tolist() in ([0, 1, 1, 0], [1, 0, 0, 1])
    np.testing.assert_allclose(model.costs_, [1.5])
    np.testing.assert_allclose(model.beta_, 6.0)
    np.testing.assert_allclose(model.eigenvalues_, [1 + 4 * 3 / 8])
    assert model.level_ == 0.5
    assert model.violations_.share == 1.0
    assert model.embedding_.shape == (4, 1)


def test_a_low_level_keeps_the_plain_cut():
    # With beta / vol = -3/4 the plain cut is feasible too: -1/4 + 3/4 > 0, at a cost of 2 * 1 / 4.
    model = on_ring(level=-1.0).fit(RING, supervision=ACROSS)
    assert model.labels_.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    np.testing.assert_allclose(model.costs_, [0.5])
    np.testing.assert_allclose(model.eigenvalues_, [1 - 0.75])


def test_more_clusters_than_the_links_support():
    with pytest.raises(
        InfeasibleSupervisionError, match=r"requires 2 .*level=0.5.* only 1 positive.*level='auto'"
    ):
        on_ring(3, level=0.5).fit(RING, supervision=ACROSS)


def test_auto_succeeds_where_a_level_is_infeasible():
    model = on_ring(3).fit(RING, supervision=ACROSS)
    assert len(np.unique(model.labels_)) == 3


def test_a_single_cluster_also_satisfies_must_links():
    chain = Supervision.from_links(4, must=[(0, 1), (1, 2), (2, 3)])  # Q has one positive eigenvalue, 3
    with pytest.raises(InfeasibleSupervisionError, match=r"requires 1 .*but 0 exist.*cannot-links"):
        on_ring(level=0.5).fit(RING, supervision=chain)


def test_a_level_that_the_trivial_vector_meets_exactly():
    # One must-link: sum(Q) / vol = 2 / 16, and half of the largest eigenvalue, 1/4, is the same.
    hints = Supervision.from_links(4, must=[(0, 3)])
    solved = pencil(RING, hints).find_feasible(0.125, 1)
    assert np.isfinite(solved.vectors).all()
    assert np.isfinite(on_ring().fit(RING, supervision=hints).embedding_).all()


# ---------------------------------------------------------------------- twins


@given(SEEDS)
@fewer(2)
def test_stated_and_implied_links(seed):
    y = np.random.default_rng(seed).integers(0, 3, 12)
    hints = sample_links(y, 9, random_state=seed)
    if seed % 2:
        hints |= Supervision.from_links(
            12, must_groups=[np.flatnonzero(y == y[0])[:4]] if (y == y[0]).sum() > 1 else []
        )
        firsts = np.unique(y, return_index=True)[1]
        hints |= Supervision.from_links(12, cannot_groups=[firsts] if len(firsts) > 1 else [])
    closure = hints.closure()
    expected = twin.make_implied_matrix(hints)
    found = derive_implied_links(hints, closure)
    # A link stated by a pair and by a group counts twice.
    np.testing.assert_array_equal(np.sign(to_dense(found).round(9)), expected)
    if seed % 2 == 0:
        np.testing.assert_allclose(to_dense(found), expected, atol=1e-12)
        np.testing.assert_allclose(found.compute_row_sums(), expected.sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(count_implied(hints, closure), np.abs(expected).sum(axis=1), atol=1e-12)


def test_weights_of_implied_links():
    hints = Supervision.from_links(
        5, must=[(0, 1), (1, 2)], cannot=[(0, 3), (2, 3)], must_weights=[1, 3], cannot_weights=[4, 5]
    )
    Q = to_dense(derive_implied_links(hints, hints.closure()))
    expected = np.zeros((5, 5))
    expected[:3, :3] = 2.0
    expected[3, :3] = expected[:3, 3] = -5.0
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(Q, expected)


def test_a_contradictory_cannot_link_is_added_as_stated():
    hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 2)], cannot_weights=3)
    grouped = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot_groups=[[0, 2]], cannot_group_weights=3)
    for stated in (hints, grouped):
        Q = to_dense(derive_implied_links(stated, stated.closure(on_conflict="keep")))
        assert (Q[0, 1], Q[1, 2], Q[0, 2], Q[0, 3]) == (1, 1, -2, 0)


@given(SEEDS, st.sampled_from([-1.0, -0.2, 0.05, 0.3, 0.6]))
def test_the_dense_solver_against_the_printed_problem(seed, share):
    weights, _, hints = draw_case(seed)
    solver = pencil(weights, hints)
    level = share * solver.compute_link_eigenvalues(2)[-1]
    lambdas, vectors, costs = twin.flexible_solutions(weights, twin.make_implied_matrix(hints), level)
    found = solver.find_feasible(level, 2)
    np.testing.assert_allclose(found.costs, costs[:2], atol=1e-6)
    np.testing.assert_allclose(found.eigenvalues, lambdas[:2], rtol=1e-5, atol=1e-8)
    overlap = np.abs(np.einsum("ij,ij->j", found.vectors, vectors[:, :2]))
    if len(costs) < 3 or np.diff(costs[:3]).min() > 1e-4:
        np.testing.assert_allclose(overlap, 1, atol=1e-5)


@given(SEEDS, st.sampled_from([-1.0, 0.05, 0.4]))
@fewer(4)
def test_the_other_solvers_against_the_dense_one(seed, share):
    weights, _, hints = draw_case(seed, n=60, n_links=40)
    dense = pencil(weights, hints)
    level = share * dense.compute_link_eigenvalues(2)[-1]
    every = dense.find_feasible(level, 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pencil, "DENSE_ROWS", 10)
        factored, searched = pencil(weights, hints), pencil(csr_array(weights), hints)
        np.testing.assert_allclose(
            factored.compute_link_eigenvalues(2), dense.compute_link_eigenvalues(2), rtol=1e-6
        )
        few, first = factored.find_feasible(level, 2), searched.find_feasible(level, 2)
    for found, n in ((few, 10), (first, 2)):
        # They consider the n solutions with the smallest lambda.
        near = np.sort(np.argsort(every.eigenvalues, kind="stable")[:n])[:2]
        np.testing.assert_allclose(found.costs, every.costs[near], rtol=1e-4)
        np.testing.assert_allclose(found.eigenvalues, every.eigenvalues[near], rtol=1e-3)


def test_many_rows_with_a_sparse_graph():
    y = np.arange(600) % 3
    X = np.random.default_rng(0).normal(size=(600, 3)) + 4 * np.eye(3)[y]
    hints = sample_links(y, 60, random_state=0)
    model = FlexibleSpectralClustering(3, level=-0.3, n_neighbors=15, random_state=0).fit(
        X, supervision=hints
    )
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert (model.predict(X) == model.labels_)[~hints.touched].mean() > 0.99


def test_auto_refines_the_selected_level():
    above, right = np.arange(800) % 2, np.arange(800) // 400
    X = np.random.default_rng(0).normal(size=(800, 2)) + 4 * np.column_stack([right, above])
    hints = sample_links(above, 400, random_state=0)
    model = FlexibleSpectralClustering(2, n_neighbors=15, random_state=0).fit(X, supervision=hints)
    assert model.level_ is not None
    direct = FlexibleSpectralClustering(2, level=model.level_, n_neighbors=15, random_state=0)
    direct.fit(X, supervision=hints)
    np.testing.assert_allclose(model.costs_, direct.costs_, rtol=1e-5)
    np.testing.assert_array_equal(model.labels_, direct.labels_)


def test_a_thin_graph_against_the_dense_solver():
    rng = np.random.default_rng(0)
    along = np.linspace(1, 60, 600) + rng.uniform(0, 0.05, 600)
    X = np.column_stack([np.cos(along / 10) * along, np.sin(along / 10) * along])
    weights = SpectralLearning(2, n_neighbors=6, random_state=0).fit(X).affinity_matrix_
    hints = sample_links((along > 20).astype(int) + (along > 40), 40, balance=0.5, random_state=0)
    searched = pencil(csr_array(weights), hints)
    dense = pencil(weights, hints, solver="dense")
    for share in (-1.0, 0.05, 0.6):
        level = share * dense.compute_link_eigenvalues(2)[-1]
        every, found = dense.find_feasible(level, 600), searched.find_feasible(level, 2)
        near = np.sort(np.argsort(every.eigenvalues, kind="stable")[:2])
        np.testing.assert_allclose(found.costs, every.costs[near], rtol=1e-4)
        np.testing.assert_allclose(found.eigenvalues, every.eigenvalues[near], rtol=1e-4)
        assert found.converged


@pytest.mark.parametrize("n_neighbors", [None, 10])
@pytest.mark.parametrize(
    "hints", [{"must": [(0, 3)]}, {"cannot": [(0, 1)]}, {"must": [(0, 3)], "cannot": [(0, 1)]}]
)
def test_one_or_two_links_among_many_rows(n_neighbors, hints):
    y = np.arange(510) % 3
    X = np.random.default_rng(0).normal(size=(510, 3)) + 4 * np.eye(3)[y]
    hints = Supervision.from_links(510, **hints)
    model = FlexibleSpectralClustering(3, n_neighbors=n_neighbors, random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    with pytest.raises(InfeasibleSupervisionError, match="eigenvector"):
        model.set_params(level=0.9, n_clusters=4).fit(X, supervision=hints)


@pytest.mark.parametrize("sparse", [False, True])
def test_links_that_leave_nothing_feasible_are_reported_by_every_solver(sparse, monkeypatch):
    monkeypatch.setattr(_pencil, "DENSE_ROWS", 2)
    chain = Supervision.from_links(4, must=[(0, 1), (1, 2), (2, 3)])
    with pytest.raises(InfeasibleSupervisionError, match="but 0 exist"):
        on_ring(level=0.5).fit(csr_array(RING) if sparse else RING, supervision=chain)


# ---------------------------------------------------------------------- laws


@given(SEEDS, st.sampled_from([-0.5, 0.2, 0.7]))
@fewer(2)
def test_feasible_vectors_satisfy_the_links_to_the_level(seed, share):
    weights, _, hints = draw_case(seed)
    solver = pencil(weights, hints)
    level = share * solver.compute_link_eigenvalues(1)[0]
    found = solver.find_feasible(level, 14)
    half = weights.sum(axis=1) ** -0.5
    Q = half[:, None] * twin.make_implied_matrix(hints) * half
    assert (np.einsum("ij,ij->j", found.vectors, Q @ found.vectors) > level - 1e-9).all()
    assert (np.diff(found.costs) >= 0).all()


def three_clouds(n=90):
    y = np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, 3)) + 4 * np.eye(3)[y], y


def test_no_links_is_plain_spectral_clustering():
    X, _ = three_clouds()
    model = FlexibleSpectralClustering(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, SpectralLearning(3, random_state=0).fit(X).labels_)
    assert model.level_ is None
    assert model.beta_ is None
    np.testing.assert_allclose(model.costs_, 1 - model.eigenvalues_[1:])


@pytest.mark.parametrize("level", ["auto", -0.5, 0.2])
def test_the_unit_of_the_weights_does_not_matter(level):
    X, y = three_clouds()
    links = sample_links(y, 40, random_state=1)
    heavy = Supervision.from_links(90, links.must, links.cannot, must_weights=1e6, cannot_weights=1e6)
    one, other = (
        FlexibleSpectralClustering(3, level=level, random_state=0).fit(X, supervision=hints)
        for hints in (links, heavy)
    )
    assert adjusted_rand_score(one.labels_, other.labels_) == 1.0


def test_a_group_equals_its_pairs():
    X, _ = three_clouds()
    groups = Supervision.from_links(90, must_groups=[[0, 3, 6]], cannot_groups=[[0, 1, 2]])
    pairs = Supervision.from_links(90, must=[(0, 3), (0, 6), (3, 6)], cannot=[(0, 1), (0, 2), (1, 2)])
    one, other = (
        FlexibleSpectralClustering(3, level=0.1, random_state=0).fit(X, supervision=hints)
        for hints in (groups, pairs)
    )
    np.testing.assert_allclose(one.costs_, other.costs_)
    assert adjusted_rand_score(one.labels_, other.labels_) == 1.0


@pytest.mark.parametrize("level", ["auto", 0.0, 0.25])
def test_two_clusters_are_divided_by_sign(level):
    X, y = three_clouds()
    hints = sample_links(y > 0, 60, random_state=0)
    model = FlexibleSpectralClustering(2, level=level, random_state=0).fit(X, supervision=hints)
    if model.level_ is not None:
        np.testing.assert_array_equal(model.labels_, model.embedding_[:, 0] * (1 - model.costs_[0]) > 0)
    np.testing.assert_array_equal(model.predict(X)[~hints.touched], model.labels_[~hints.touched])


@pytest.mark.parametrize("n_links", [10, 50, 200])
def test_links_do_not_make_it_worse(n_links):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    plain = adjusted_rand_score(y, FlexibleSpectralClustering(3, random_state=0).fit(X).labels_)
    scores = [
        adjusted_rand_score(
            y,
            FlexibleSpectralClustering(3, random_state=0)
            .fit(X, supervision=sample_links(y, n_links, random_state=seed))
            .labels_,
        )
        for seed in range(3)
    ]
    assert np.mean(scores) > plain - 0.02
    if n_links == 200:
        assert np.mean(scores) > plain + 0.2  # 0.44 without links, some 0.8 with


def test_labels_given_as_links():
    X, y = three_clouds()
    hints = Supervision.from_labels([int(c) if i < 30 else None for i, c in enumerate(y)])
    model = FlexibleSpectralClustering(3, level=0.5, as_links=True, random_state=0).fit(X, supervision=hints)
    assert model.violations_.share == 1.0
    assert adjusted_rand_score(y[30:], model.labels_[30:]) > 0.8
    with pytest.raises(UnsupportedSupervisionError, match="labels"):
        FlexibleSpectralClustering(3).fit(X, supervision=hints)


def test_a_refit_with_the_last_eigenvectors():
    X, y = three_clouds()
    model = FlexibleSpectralClustering(3, warm_start=True, random_state=0)
    for n_links in (0, 30, 60, 0):
        hints = sample_links(y, n_links, random_state=0) if n_links else None
        cold = FlexibleSpectralClustering(3, random_state=0).fit(X, supervision=hints)
        assert adjusted_rand_score(model.fit(X, supervision=hints).labels_, cold.labels_) == 1.0


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("level", [1.0, 2, np.nan, "high", None, True])
def test_invalid_levels(level):
    with pytest.raises(ValueError, match="level must be a number below 1 or one of 'auto'"):
        on_ring(level=level).fit(RING)


def test_contradictory_links_are_traded_off():
    hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.warns(InconsistentSupervisionWarning, match="FlexibleSpectralClustering.*rows 0 and 2"):
        model = on_ring().fit(RING, supervision=hints)
    assert np.isfinite(model.embedding_).all()


def test_one_cluster():
    hints = Supervision.from_links(4, must=[(0, 1)])
    assert on_ring(1).fit(RING, supervision=hints).labels_.tolist() == [0] * 4
    with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
        on_ring(1).fit(RING, supervision=ACROSS)


@pytest.mark.parametrize("rows", [10, 500])
@pytest.mark.parametrize("sparse", [False, True])
def test_disconnected_graphs_and_isolated_rows(rows, sparse, monkeypatch):
    monkeypatch.setattr(_pencil, "DENSE_ROWS", rows)
    block = np.ones((10, 10)) - np.eye(10)
    weights = np.zeros((31, 31))
    for first in (0, 10, 20):
        weights[first : first + 10, first : first + 10] = block
    y = np.repeat([0, 1, 2], [10, 10, 11])  # row 30 is isolated except for the links
    hints = Supervision.from_links(31, must=[(30, 29), (0, 1), (10, 11)], cannot=[(0, 10), (10, 20), (0, 30)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for level in ("auto", -0.5):
            model = on_ring(3, level=level).fit(csr_array(weights) if sparse else weights, supervision=hints)
            assert np.isfinite(model.embedding_).all()
            assert adjusted_rand_score(y[:30], model.labels_[:30]) == 1.0


def test_a_graph_without_edges():
    solved = pencil(np.zeros((4, 4)), ACROSS).find_feasible(0.1, 1)
    # Only the links are left: y = (1, -1, -1, 1).
    np.testing.assert_allclose(np.abs(solved.vectors[:, 0]), 0.5)
    assert check_given_graph(np.zeros((4, 4))).degrees.tolist() == [1.0] * 4


def test_duplicate_rows():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 12, axis=0)
    hints = Supervision.from_links(24, must=[(0, 1)], cannot=[(0, 23)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = FlexibleSpectralClustering(2, random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(np.arange(24) // 12, model.labels_) == 1.0
