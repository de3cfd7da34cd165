"""The leading eigenvectors, by every solver, against the dense decomposition."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from likewise.spectral import _eigen
from likewise.spectral._eigen import Eigen, compute_leading_eigenvectors
from likewise.spectral._operator import LowRank, SpectralOperator

ITERATIVE = ("auto", "arpack", "inverse", "lobpcg")


@pytest.fixture(scope="module", autouse=True)
def no_whole_matrices():
    """Use the solvers for large problems on small ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_eigen, "_SMALL", 0)
        yield


def rng(seed=0):
    return np.random.RandomState(seed)


def assert_agrees(operator, eigen, k, tol=1e-6, missed=0.0):
    """Check values, residuals and orthonormality, for any basis of a repeated eigenvalue.

    `missed` is how far below a value of the same rank one may be, as a share of the largest.
    """
    whole = operator.toarray()
    expected = np.linalg.eigvalsh(whole)[::-1]
    size = max(1e-12, np.abs(expected).max())
    assert eigen.converged
    assert eigen.vectors.shape == (len(whole), k)
    assert_allclose(eigen.values, expected[:k], atol=max(5 * tol, missed) * size)
    assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(k), atol=1e-8)
    assert (
        np.linalg.norm(whole @ eigen.vectors - eigen.vectors * eigen.values, axis=0).max() <= 5 * tol * size
    )


def same_span(A, B, atol=1e-4):
    assert_allclose(A @ (A.T @ B), B, atol=atol)


def knn(X, n_neighbors=8):
    graph = kneighbors_graph(X, n_neighbors)
    return sparse.csr_array(0.5 * (graph + graph.T))


def normalise(weights, terms=()):
    return SpectralOperator(weights, 1 / np.sqrt(np.asarray(weights.sum(axis=1)).ravel()), terms)


def cloud(n=600, seed=0):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(n, 6)) + 3 * draw.normal(size=(5, 6))[draw.integers(0, 5, n)]


def surface(n=600, seed=0):
    return np.random.default_rng(seed).random((n, 2)) * [4, 1]


def with_link(operator, i, j, weight=1.0):
    n = operator.shape[0]
    link = sparse.csr_array(([weight, weight], ([i, j], [j, i])), shape=(n, n))
    return normalise(sparse.csr_array(operator.weights + link), operator.terms)


@st.composite
def problems(draw):
    draws = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(24, 90))
    weights = np.triu(
        draws.random((n, n)) * (draws.random((n, n)) < draw(st.sampled_from([0.03, 0.2, 1.0]))), 1
    )
    weights += weights.T
    if draw(st.booleans()):
        weights[: n // 3, n // 3 :] = weights[n // 3 :, : n // 3] = 0
    terms = [
        LowRank(draws.normal(size=(n, r)), draws.normal(size=r) * draw(st.sampled_from([0.1, 3.0])))
        for r in draw(st.lists(st.integers(1, 4), max_size=2))
    ]
    operator = SpectralOperator(
        sparse.csr_array(weights) if draw(st.booleans()) else weights,
        1 / np.sqrt(weights.sum(axis=1) + 0.1),
        terms,
        draws.normal(size=n) if draw(st.booleans()) else None,
        draw(st.sampled_from([0.0, -3.0, 1.0])),
    )
    return operator, draw(st.integers(1, n // 8)), draw(st.integers(0, 1000))


# ---------------------------------------------------------------------- by hand


def test_a_path_of_three():
    path = SpectralOperator(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    eigen = compute_leading_eigenvectors(path, 3, rng=rng())
    assert_allclose(eigen.values, [np.sqrt(2), 0, -np.sqrt(2)], atol=1e-12)
    assert_allclose(eigen.vectors[:, 0], [0.5, np.sqrt(0.5), 0.5], atol=1e-12)
    assert eigen.solver == "dense"


@pytest.mark.parametrize("k", [1, 2])
def test_two_rows(k):
    pair = SpectralOperator(sparse.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]])))
    assert_allclose(compute_leading_eigenvectors(pair, k, rng=rng()).values, [2.0, -2.0][:k], atol=1e-12)


@pytest.mark.parametrize("missing", [0, 1])
def test_nearly_all_eigenvectors(missing):
    operator = normalise(knn(cloud(40)))
    assert_agrees(operator, compute_leading_eigenvectors(operator, 40 - missing, rng=rng()), 40 - missing)


# ---------------------------------------------------------------------- twins


@given(problems(), st.sampled_from(ITERATIVE))
def test_every_solver_agrees_with_the_dense_solver(problem, solver):
    operator, k, seed = problem
    if solver == "inverse" and operator.graph is None:
        solver = "arpack"
    assert_agrees(
        operator, compute_leading_eigenvectors(operator, k, tol=1e-6, solver=solver, rng=rng(seed)), k
    )


@given(problems(), st.integers(0, 3), st.booleans())
def test_any_start_leads_to_the_same_result(problem, kind, whole):
    operator, k, seed = problem
    n = operator.shape[0]
    start = (
        rng(seed).normal(size=(n, k)),
        np.zeros((n, k)),
        np.eye(n, 1),
        np.linalg.eigh(operator.toarray())[1][:, :k],  # the wrong end, and invariant
    )[kind]
    if whole:
        start = Eigen(np.zeros(k), start, 0, "warm", True)
    eigen = compute_leading_eigenvectors(operator, k, start=start, tol=1e-6, rng=rng(seed))
    # One start in a thousand of the last two kinds ends with a pair that is next to the one it missed.
    assert_agrees(operator, eigen, k, missed=0.05 if kind >= 2 else 0.0)


# ---------------------------------------------------------------------- hard spectra


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("k", [3, 7, 9])
def test_seven_components_have_the_eigenvalue_one_seven_times(solver, k):
    parts = [knn(cloud(60, seed), 5) for seed in range(6)]
    weights = sparse.csr_array(sparse.block_diag([*parts, parts[0]]))  # equal components: every value twice
    operator = normalise(weights)
    eigen = compute_leading_eigenvectors(operator, k, tol=1e-6, solver=solver, rng=rng())
    assert_agrees(operator, eigen, k)


@pytest.mark.parametrize("handed_on", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_disconnected_thin_graphs_with_eigenvalues_close_to_one(seed, handed_on):
    # Lanczos on the inverse finds one copy of the eigenvalue 1 and mistakes values just below for the others.
    draws = np.random.default_rng(seed)
    X = (
        draws.normal(size=(450, 1 + seed % 2))
        + 4 * draws.normal(size=(6, 1 + seed % 2))[draws.integers(0, 6, 450)]
    )
    operator = normalise(knn(X, 4))
    start = (
        compute_leading_eigenvectors(with_link(operator, 3, 400), 10, rng=rng(seed)) if handed_on else None
    )
    assert_agrees(
        operator, compute_leading_eigenvectors(operator, 10, start=start, tol=1e-6, rng=rng(seed)), 10
    )


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("shift", [0.0, 1.0, -2.0])
def test_a_multiple_of_the_identity(solver, shift):
    operator = SpectralOperator(sparse.csr_array((400, 400)), shift=shift)
    eigen = compute_leading_eigenvectors(operator, 5, solver=solver, rng=rng())
    assert_allclose(eigen.values, shift, atol=1e-9)
    assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(5), atol=1e-9)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_terms_that_raise_and_lower_eigenvalues(solver):
    n = 600
    bags = sparse.csr_array((np.ones(n), (np.arange(n), np.arange(n) % 8)), shape=(n, 8))
    terms = [
        LowRank(bags, np.r_[np.full(4, 2.0), np.full(4, -2.0)]),
        LowRank(np.ones((n, 1)), np.array([-0.1])),
    ]
    for X in (cloud(n), surface(n)):
        operator = normalise(knn(X), terms)
        eigen = compute_leading_eigenvectors(operator, 9, tol=1e-6, solver=solver, rng=rng())
        assert_agrees(operator, eigen, 9)
        assert eigen.values[0] > 1.5


def test_dense_weights():
    X = cloud(400)
    weights = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 20)
    operator = normalise(weights)
    eigen = compute_leading_eigenvectors(operator, 6, tol=1e-6, rng=rng())
    assert eigen.solver == "arpack"
    assert_agrees(operator, eigen, 6)


# ---------------------------------------------------------------------- the choice


def test_surfaces_are_factorised_and_clouds_are_not():
    assert compute_leading_eigenvectors(normalise(knn(surface())), 4, rng=rng()).solver == "inverse"
    thick = normalise(knn(np.random.default_rng(0).normal(size=(600, 8))))
    assert compute_leading_eigenvectors(thick, 4, rng=rng()).solver == "arpack"
    both = sparse.csr_array(sparse.block_diag([knn(surface()), thick.weights]))
    assert compute_leading_eigenvectors(normalise(both), 4, rng=rng()).solver == "arpack"


def test_small_matrices_use_the_dense_solver(monkeypatch):
    monkeypatch.setattr(_eigen, "_SMALL", 600)
    assert compute_leading_eigenvectors(normalise(knn(cloud())), 4, rng=rng()).solver == "dense"


# ---------------------------------------------------------------------- from a start


@pytest.mark.parametrize("rows", [cloud, surface])
@pytest.mark.parametrize("handed_on", ["eigen", "array", "unpickled"])
def test_warm_equals_cold_after_one_link(rows, handed_on):
    before = normalise(knn(rows(1000)))
    old = compute_leading_eigenvectors(before, 5, tol=1e-7, rng=rng())
    start = {"eigen": old, "array": old.vectors, "unpickled": pickle.loads(pickle.dumps(old))}[handed_on]
    after = with_link(before, 3, 700)
    cold = compute_leading_eigenvectors(after, 5, tol=1e-7, rng=rng())
    warm = compute_leading_eigenvectors(after, 5, start=start, tol=1e-7, rng=rng())
    assert warm.solver == "warm"
    assert_agrees(after, warm, 5, 1e-7)
    assert_allclose(warm.values, cold.values, atol=1e-7)
    same_span(warm.vectors, cold.vectors)


def test_a_warm_start_needs_fewer_products():
    before = normalise(knn(cloud(3000)))
    old = compute_leading_eigenvectors(before, 5, rng=rng())
    after = with_link(before, 3, 700)
    warm = compute_leading_eigenvectors(after, 5, start=old, rng=rng())
    assert 2 * warm.n_products < compute_leading_eigenvectors(after, 5, rng=rng()).n_products


@pytest.mark.parametrize("seed", range(2))
def test_a_new_leading_vector_orthogonal_to_the_start_is_found(seed):
    # The start contains eigenvectors of the first component; the term is in the second.
    first, second = knn(cloud(800, 1)), knn(cloud(800, 2))
    weights = sparse.csr_array(sparse.block_diag([first, second]))
    part = compute_leading_eigenvectors(normalise(first), 4, tol=1e-8, rng=rng())
    start = np.vstack([part.vectors, np.zeros((800, 4))])
    rows = np.zeros((1600, 1))
    rows[900:950] = 1.0
    for terms in ([LowRank(rows, np.array([3.0]))], []):
        operator = normalise(weights, terms)
        assert_agrees(
            operator, compute_leading_eigenvectors(operator, 4, start=start, tol=1e-6, rng=rng(seed)), 4
        )


def test_a_start_with_factors_of_another_graph_converges():
    old = compute_leading_eigenvectors(normalise(knn(surface(seed=1))), 4, rng=rng())
    assert old.inverse is not None
    operator = normalise(knn(cloud()))
    assert_agrees(operator, compute_leading_eigenvectors(operator, 4, start=old, tol=1e-6, rng=rng()), 4)


def test_factors_are_not_pickled():
    old = compute_leading_eigenvectors(normalise(knn(surface())), 4, rng=rng())
    copy = pickle.loads(pickle.dumps(old))
    assert copy.inverse is None
    assert_array_equal(copy.vectors, old.vectors)


# ---------------------------------------------------------------------- always the same


@pytest.mark.parametrize("solver", [*ITERATIVE, "dense"])
def test_same_seed_same_vectors_and_signs(solver):
    operator = normalise(knn(cloud()))
    one, two = (compute_leading_eigenvectors(operator, 4, solver=solver, rng=rng(3)) for _ in range(2))
    assert_array_equal(one.vectors, two.vectors)
    largest = one.vectors[np.abs(one.vectors).argmax(axis=0), np.arange(4)]
    assert (largest > 0).all()
    assert (np.diff(one.values) <= 0).all()


def test_a_generator_is_accepted():
    operator = normalise(knn(cloud()))
    assert_agrees(
        operator, compute_leading_eigenvectors(operator, 4, tol=1e-6, rng=np.random.default_rng(0)), 4
    )


def test_the_operator_is_not_modified():
    operator = normalise(knn(surface()))
    before = operator.weights.toarray()
    compute_leading_eigenvectors(operator, 4, rng=rng())
    assert_array_equal(operator.weights.toarray(), before)
    assert_allclose(operator.toarray(), operator.toarray().T, atol=1e-14)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"k": 0}, "k=0 eigenvectors for a matrix of 100 rows; expected from 1 to 100"),
        ({"k": 101}, "k=101 eigenvectors"),
        ({"solver": "amg"}, "expected one of 'auto'.*got 'amg'"),
        ({"solver": "inverse"}, "Use 'auto'"),
        ({"start": np.ones((99, 3))}, r"\(99, 3\); expected \(100, m\)"),
        ({"start": np.ones(100)}, r"\(100,\); expected"),
    ],
)
def test_bad_input(change, sentence):
    arguments = {"k": 3, **change}
    with pytest.raises(ValueError, match=sentence):
        compute_leading_eigenvectors(
            SpectralOperator(np.eye(100)), arguments.pop("k"), rng=rng(), **arguments
        )
