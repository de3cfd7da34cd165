"""Active spectral clustering: by hand, against all pairs and dense eigenvectors, and what is asked."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from likewise.active.strategies import ActiveSpectral
from likewise.active.strategies import _spectral as asc
from likewise.spectral import FlexibleSpectralClustering, SpectralLearning
from reference import strategies as twin
from reference.strategies import line, told


class Embedded:
    """A model with an embedding and nothing else."""

    def __init__(self, embedding):
        self.embedding_ = np.asarray(embedding, dtype=float)


def blobs(n_clusters, n=60, seed=0, apart=6.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_clusters
    return rng.normal(size=(n, 3)) + apart * rng.normal(size=(n_clusters, 3))[y], y


# ---------------------------------------------------------------------- by hand


def test_the_expected_error_by_hand():
    # One column of mean square 1: P is the product, cut off at -1 and 1.
    u = [-1.2, -0.5, 0.1, 1.0, np.sqrt(5 - 1.44 - 0.25 - 0.01 - 1)]
    assert np.mean(np.square(u)) == pytest.approx(1)
    state = told(np.zeros((5, 1)), n_clusters=2, model=Embedded(np.array(u)[:, None]))
    questions = ActiveSpectral().choose(state, 10)
    assert questions[0].rows == (1, 2)
    assert questions[0].score == pytest.approx(1 - 0.05**2)
    assert questions[0].why == "The eigenvectors put them together with chance 0.47."
    found = {question.rows: question.score for question in questions}
    for i, j in itertools.combinations(range(5), 2):
        assert found[i, j] == pytest.approx(twin.expected_error(u[i] * u[j]), abs=1e-12)
    scores = [question.score for question in questions]
    assert scores == sorted(scores, reverse=True)


def test_the_scale_of_one_eigenvector_does_not_matter():
    u = np.random.default_rng(0).normal(size=(12, 1))
    rows = [
        [q.rows for q in ActiveSpectral().choose(told(u, n_clusters=2, model=Embedded(c * u)), 4)]
        for c in (1, -7.5, 1e-6)
    ]
    assert rows[0] == rows[1] == rows[2]


def test_rows_of_k_eigenvectors_are_compared_by_their_angle():
    z = [[2, 0, 0], [0, 0, 5], [1, np.sqrt(3), 0], [0, 0.1, 0]]
    questions = ActiveSpectral().choose(told(np.zeros((4, 1)), n_clusters=3, model=Embedded(z)), 6)
    assert questions[0].rows == (0, 2)  # 60 degrees: a chance of one half
    assert questions[0].score == pytest.approx(1)
    assert questions[1].rows == (2, 3)
    assert questions[1].score == pytest.approx(1 - (np.sqrt(3) - 1) ** 2)
    assert [question.score for question in questions[2:]] == pytest.approx([0] * 4)


def test_k_minus_one_columns_are_corners_of_a_simplex():
    corners = np.array([[1, 0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
    factors = asc.relation_factors(corners[[0, 0, 1, 2]] * 4, 3)
    chance = factors @ factors.T
    assert_allclose(chance, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-12)


# ---------------------------------------------------------------------- the graph of its own


def test_what_is_known_is_written_into_the_graph():
    X = line(0, 1, 2, 3, 4)
    graph = asc.similarity_graph(X, 1)
    plain = graph.toarray()
    assert (plain == plain.T).all()
    assert plain[0, 1] > 0
    assert plain[0, 3] == 0
    told_of = asc.told_graph(graph, told(X, must=[(0, 3), (3, 4)], cannot=[(0, 1)]), np.arange(5)).toarray()
    wanted = plain.copy()
    wanted[0, 3] = wanted[3, 0] = wanted[0, 4] = wanted[4, 0] = 1
    wanted[3, 4] = wanted[4, 3] = 1 if plain[3, 4] else 0
    wanted[0, 1] = wanted[1, 0] = 0
    assert_allclose(told_of, wanted)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_few_eigenvectors_equal_those_of_the_dense_solver(monkeypatch, k):
    X, _ = blobs(k, 80, apart=2.0)
    told_of = asc.told_graph(
        asc.similarity_graph(X, 10), told(X, must=[(0, 1)], cannot=[(0, 5)]), np.arange(80)
    )
    dense = asc.eigenvectors(told_of, k)
    monkeypatch.setattr(asc, "_DENSE_ROWS", 5)
    few = asc.eigenvectors(told_of, k)
    assert dense.shape == few.shape == (80, 1 if k == 2 else k)
    overlap = np.linalg.svd(np.linalg.qr(dense)[0].T @ np.linalg.qr(few)[0])[1]
    assert_allclose(overlap, 1, atol=1e-3)


def test_the_relaxed_indicator_parts_a_graph_that_falls_into_two():
    X, y = blobs(2, 40, apart=20.0)
    weights = asc.told_graph(asc.similarity_graph(X, 10), told(X), np.arange(40))
    u = asc.eigenvectors(weights, 2)[:, 0]
    # The graph falls into two parts, on each of which it is constant.
    assert len(np.unique(np.round(u[y == 0], 9))) == len(np.unique(np.round(u[y == 1], 9))) == 1
    assert u[y == 0][0] * u[y == 1][0] < 0
    # D u is orthogonal to the constant vector, as for the normalised cut.
    degrees = np.asarray(weights.sum(axis=1))
    assert (degrees * u).sum() == pytest.approx(0, abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([2, 3]))
def test_the_pair_found_is_the_best_of_all_that_can_be_asked(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2))
    pairs = rng.permutation(14)[:8].reshape(4, 2)
    state = told(X, must=pairs[:2], cannot=pairs[2:], n_clusters=k, seed=seed)
    weights = asc.told_graph(asc.similarity_graph(asc.standardized(X), 15), state, np.arange(14))
    vectors = asc.eigenvectors(weights, k)
    if k == 2:
        u = vectors[:, 0] / np.sqrt(np.mean(vectors**2))
        P = np.outer(u, u)
    else:
        z = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        P = 2 * z @ z.T - 1
    best = max(
        twin.expected_error(P[i, j])
        for i, j in itertools.combinations(range(14), 2)
        if state.knows(i, j) == "unknown"
    )
    question = ActiveSpectral().choose(state, 1)[0]
    assert question.score == pytest.approx(best)
    assert twin.expected_error(P[question.rows]) == pytest.approx(best)


def test_the_graph_is_made_once_and_the_eigenvectors_once_for_what_is_known(monkeypatch):
    calls = []

    def counted(name, function):
        def call(*args):
            calls.append(name)
            return function(*args)

        monkeypatch.setattr(asc, name, call)

    counted("similarity_graph", asc.similarity_graph)
    counted("eigenvectors", asc.eigenvectors)
    X, cache = blobs(2, 30)[0], {}
    for must in ([], [], [(0, 1)]):
        ActiveSpectral().choose(told(X, must=must, n_clusters=2, cache=cache), 1)
    assert calls == ["similarity_graph", "eigenvectors", "eigenvectors"]


# ---------------------------------------------------------------------- with models


@pytest.mark.parametrize(
    "model", [SpectralLearning(2, random_state=0), FlexibleSpectralClustering(2, random_state=0)]
)
def test_the_embedding_of_a_spectral_model_is_used(model):
    X, _ = blobs(2, 40, apart=1.5)
    model.fit(X)
    question = ActiveSpectral().choose(told(X, n_clusters=2, model=model, labels=model.labels_), 1)[0]
    factors = asc.relation_factors(model.embedding_, 2)
    chance = np.clip((factors @ factors.T)[np.triu_indices(40, 1)], 0, 1)
    assert question.score == pytest.approx(max(1 - (2 * chance - 1) ** 2))


def test_of_many_rows_a_pool_is_looked_at_and_then_all():
    X = np.random.default_rng(0).normal(size=(12, 2))
    strategy = ActiveSpectral(max_rows=5)
    questions = strategy.choose(told(X, n_clusters=2, seed=1), 66)
    assert len({question.key for question in questions}) == 66
    seen = {row for question in questions[:10] for row in question.rows}
    assert len(seen) == 5
    assert all(question.why == "Drawn at random." for question in questions[10:])


@pytest.mark.parametrize("parameter", ["n_neighbors", "max_rows"])
def test_bad_parameters_are_refused(parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be an integer of at least .*, got 0"):
        ActiveSpectral(**{parameter: 0})
