"""Active spectral clustering: by hand, against all pairs and dense eigenvectors, and its questions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from likewise import Supervision
from likewise.active.strategies import ActiveSpectral
from likewise.active.strategies import _spectral as asc
from likewise.spectral import FlexibleSpectralClustering, SpectralLearning
from profiles import fewer
from reference import strategies as twin
from reference.strategies import line, make_state


class Embedded:
    """A model with an embedding and nothing else."""

    def __init__(self, embedding):
        self.embedding_ = np.asarray(embedding, dtype=float)


def blobs(n_clusters, n=60, seed=0, apart=6.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_clusters
    return rng.normal(size=(n, 3)) + apart * rng.normal(size=(n_clusters, 3))[y], y


# ---------------------------------------------------------------------- by hand


def test_without_answers_the_surest_pair_is_asked_first():
    # One column of mean square 1: the relaxed relation is the product, clipped to -1 and 1.
    u = [-1.2, -0.5, 0.1, 1.0, np.sqrt(5 - 1.44 - 0.25 - 0.01 - 1)]
    assert np.mean(np.square(u)) == pytest.approx(1)
    state = make_state(np.zeros((5, 1)), n_clusters=2, model=Embedded(np.array(u)[:, None]))
    questions = ActiveSpectral().choose(state, 10)
    found = {question.rows: question.score for question in questions}
    for i, j in itertools.combinations(range(5), 2):
        assert found[i, j] == pytest.approx(1 + min(1, abs(u[i] * u[j])) ** 2, abs=1e-8)
    scores = [question.score for question in questions]
    assert scores == sorted(scores, reverse=True)
    assert questions[0].score == 2
    assert questions[-1].rows == (1, 2)  # a product of -0.05
    assert str(questions[-1].reason) == (
        "The eigenvectors separate them; the answers so far join them with probability 0.50."
    )


def test_the_chance_of_an_answer_comes_from_the_answers_by_hand():
    # Rows 0 and 1 differ, and 1 and 2 differ: Q has the leading eigenvalue 1 + sqrt(2) with the vector
    # (1, -sqrt(2), 1) / 2, so that of rows 0 and 2 it says (1 + sqrt(2)) / 4 = .60 ...
    u = np.array([1.0, -1.0, -1.0, 1.0])
    links = {"cannot": [(0, 1), (1, 2)], "n_clusters": None}
    state = make_state(np.zeros((4, 1)), **links, model=Embedded(u[:, None]), labels=np.array([0, 1, 1, 0]))
    question = ActiveSpectral().choose(state, 1)[0]
    # ... where the relaxation says -1: that pair is the most likely to be wrong.
    assert question.rows == (0, 2)
    assert question.score == pytest.approx(2 + (1 + np.sqrt(2)) / 2)
    assert str(question.reason) == (
        "The eigenvectors separate them; the answers so far join them with probability 0.80."
    )
    # A relaxation that agrees with the answers leaves no reason to ask.
    agreed = make_state(
        np.zeros((4, 1)),
        **links,
        model=Embedded([[1.0], [-1.0], [1.0], [-1.0]]),
        labels=np.array([0, 1, 0, 1]),
    )
    questions = ActiveSpectral().choose(agreed, 6)
    assert questions[-1].rows == (0, 2)
    assert questions[-1].score == pytest.approx(2 - (1 + np.sqrt(2)) / 2)


@fewer(2)
@given(seed=st.integers(0, 10**6), n_links=st.integers(1, 9))
def test_scores_equal_those_of_the_published_rule(seed, n_links):
    rng = np.random.default_rng(seed)
    n = 9
    u = rng.normal(size=n)
    u *= np.sqrt(n) / np.linalg.norm(u)
    # A tree of answers by three groups: connected and without contradiction, so that there is one leading
    # singular value (a signed tree can be switched to a positive one).
    rows, y = rng.permutation(n), rng.integers(3, size=n)
    pairs = [(rows[i], rows[rng.integers(i)]) for i in range(1, min(n_links, n - 1) + 1)]
    must = [p for p in pairs if y[p[0]] == y[p[1]]]
    cannot = [p for p in pairs if y[p[0]] != y[p[1]]]
    state = make_state(np.zeros((n, 1)), must, cannot, model=Embedded(u[:, None]), labels=(u > 0).astype(int))
    wanted = twin.compute_expected_errors(twin.make_answer_matrix(n, must, cannot), np.outer(u, u))
    found = {question.rows: question.score for question in ActiveSpectral().choose(state, n * n)}
    assert set(found) == {pair for pair in wanted if state.knows(*pair) == "unknown"}
    for pair, score in found.items():
        assert score == pytest.approx(wanted[pair], abs=1e-7)


@fewer(2)
@given(seed=st.integers(0, 10**6), with_groups=st.booleans())
def test_the_rank_one_answers_are_the_leading_singular_vectors(seed, with_groups):
    rng = np.random.default_rng(seed)
    n, rows = 12, rng.permutation(12)[:10]
    pairs = rng.permutation(list(itertools.combinations(range(n), 2)))[: rng.integers(1, 14)]
    values = rng.choice([-1, 1], size=len(pairs))
    groups = [[0, 3, 5, 7]] if with_groups else []
    hints = Supervision.from_links(
        n, must=pairs[values > 0], cannot=pairs[values < 0], must_groups=groups or None
    )
    Q = twin.make_answer_matrix(n, pairs[values > 0], pairs[values < 0])
    for group in groups:
        Q[np.ix_(group, group)] = 1
    Q = Q[np.ix_(rows, rows)]
    sigma, vector = asc.approximate_answers(hints.links, rows, n)
    singular = np.linalg.svd(Q)[1]
    if not (Q - np.eye(len(Q))).any():
        assert not vector.any()
        return
    assert abs(sigma) == pytest.approx(singular[0])
    assert_allclose(Q @ vector, sigma * vector, atol=1e-8)
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_of_equal_groups_of_answers_the_first_in_the_order_counts():
    hints = Supervision.from_links(5, must=[(0, 1)], cannot=[(2, 3)])
    sigma, vector = asc.approximate_answers(hints.links, np.array([4, 3, 0, 1, 2]), 5)
    assert sigma == pytest.approx(2)
    assert_allclose(np.outer(vector, vector)[[1, 1, 4], [1, 4, 4]], [0.5, -0.5, 0.5])
    assert vector[[0, 2, 3]].tolist() == [0, 0, 0]


def test_many_answers_give_the_same_as_the_dense_solver(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    pairs = np.array([(i, rng.integers(i)) for i in range(1, 60)])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    hints = Supervision.from_links(60, must=pairs[same], cannot=pairs[~same], must_groups=[[1, 4, 9]])
    dense = asc.approximate_answers(hints.links, np.arange(60), 60)
    monkeypatch.setattr(asc, "_DENSE_ROWS", 5)
    few = asc.approximate_answers(hints.links, np.arange(60), 60)
    assert few[0] == pytest.approx(dense[0])
    assert_allclose(np.outer(few[1], few[1]), np.outer(dense[1], dense[1]), atol=1e-6)


def test_ties_go_to_one_row_order_drawn_from_the_seed():
    # All pairs are equally sure: the questions are about the first row of the order, one after the other.
    u = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])[:, None]
    for seed in range(5):
        state = make_state(np.zeros((6, 1)), n_clusters=2, random_state=seed, model=Embedded(u))
        questions = ActiveSpectral().choose(state, 5)
        first = np.random.default_rng(seed).permutation(6)[0]
        assert all(first in question.rows for question in questions)


def test_one_column_is_scaled_by_the_degrees_of_the_models_graph():
    u, degrees = np.array([0.5, -2.0, 1.0]), np.array([1.0, 2.0, 4.0])
    factors = asc.compute_relation_factors(u[:, None], 2, degrees)
    scaled = u * np.sqrt(degrees.sum() / (degrees @ u**2))
    assert_allclose(2 * factors @ factors.T - 1, np.outer(scaled, scaled))


def test_the_scale_of_one_eigenvector_does_not_matter():
    u = np.random.default_rng(0).normal(size=(12, 1))
    rows = [
        [q.rows for q in ActiveSpectral().choose(make_state(u, n_clusters=2, model=Embedded(c * u)), 4)]
        for c in (1, -7.5, 1e-6)
    ]
    assert rows[0] == rows[1] == rows[2]


def test_rows_of_k_eigenvectors_are_compared_by_their_angle():
    z = [[2, 0, 0], [0, 0, 5], [1, np.sqrt(3), 0], [0, 0.1, 0]]
    questions = ActiveSpectral().choose(make_state(np.zeros((4, 1)), n_clusters=3, model=Embedded(z)), 6)
    scores = {question.rows: question.score for question in questions}
    assert scores[0, 2] == pytest.approx(1)  # 60 degrees: probability 1/2
    assert scores[2, 3] == pytest.approx(1 + (np.sqrt(3) - 1) ** 2)
    assert [question.score for question in questions[:4]] == pytest.approx([2] * 4)


def test_k_minus_one_columns_are_corners_of_a_simplex():
    corners = np.array([[1, 0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
    factors = asc.compute_relation_factors(corners[[0, 0, 1, 2]] * 4, 3)
    chance = factors @ factors.T
    assert_allclose(chance, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-12)


# ---------------------------------------------------------------------- the graph of its own


def test_what_is_known_is_written_into_the_graph():
    X = line(0, 1, 2, 3, 4)
    graph = asc.build_similarity_graph(X, 1)
    plain = graph.toarray()
    assert (plain == plain.T).all()
    assert plain[0, 1] > 0
    assert plain[0, 3] == 0
    constrained = asc.constrain_graph(
        graph, make_state(X, must=[(0, 3), (3, 4)], cannot=[(0, 1)]), np.arange(5)
    ).toarray()
    wanted = plain.copy()
    wanted[0, 3] = wanted[3, 0] = wanted[0, 4] = wanted[4, 0] = 1
    wanted[3, 4] = wanted[4, 3] = 1 if plain[3, 4] else 0
    wanted[0, 1] = wanted[1, 0] = 0
    assert_allclose(constrained, wanted)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_few_eigenvectors_equal_those_of_the_dense_solver(monkeypatch, k):
    X, _ = blobs(k, 80, apart=2.0)
    constrained = asc.constrain_graph(
        asc.build_similarity_graph(X, 10), make_state(X, must=[(0, 1)], cannot=[(0, 5)]), np.arange(80)
    )
    dense = asc.compute_eigenvectors(constrained, k)
    monkeypatch.setattr(asc, "_DENSE_ROWS", 5)
    few = asc.compute_eigenvectors(constrained, k)
    assert dense.shape == few.shape == (80, 1 if k == 2 else k)
    overlap = np.linalg.svd(np.linalg.qr(dense)[0].T @ np.linalg.qr(few)[0])[1]
    assert_allclose(overlap, 1, atol=1e-3)


def test_the_relaxed_indicator_parts_a_graph_that_falls_into_two():
    X, y = blobs(2, 40, apart=20.0)
    weights = asc.constrain_graph(asc.build_similarity_graph(X, 10), make_state(X), np.arange(40))
    u = asc.compute_eigenvectors(weights, 2)[:, 0]
    # The graph falls into two parts, on each of which it is constant.
    assert len(np.unique(np.round(u[y == 0], 9))) == len(np.unique(np.round(u[y == 1], 9))) == 1
    assert u[y == 0][0] * u[y == 1][0] < 0
    # D u is orthogonal to the constant vector, as for the normalised cut.
    degrees = np.asarray(weights.sum(axis=1))
    assert (degrees * u).sum() == pytest.approx(0, abs=1e-6)


@fewer(4)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([2, 3]))
def test_the_pair_found_is_the_best_of_all_that_can_be_asked(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2))
    pairs = rng.permutation(14)[:8].reshape(4, 2)
    state = make_state(X, must=pairs[:2], cannot=pairs[2:], n_clusters=k, random_state=seed)
    weights = asc.constrain_graph(
        asc.build_similarity_graph(asc.standardize_columns(X), 15), state, np.arange(14)
    )
    vectors = asc.compute_eigenvectors(weights, k)
    if k == 2:
        degrees = np.asarray(weights.sum(axis=1))
        u = vectors[:, 0] * np.sqrt(degrees.sum() / (degrees @ vectors[:, 0] ** 2))
        relaxed = np.outer(u, u)
    else:
        z = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        relaxed = 2 * z @ z.T - 1
    sigma, v = asc.approximate_answers(state.closure.links, np.arange(14), 14)
    errors = asc.compute_expected_error(relaxed, sigma * np.outer(v, v))
    best = max(
        errors[i, j] for i, j in itertools.combinations(range(14), 2) if state.knows(i, j) == "unknown"
    )
    question = ActiveSpectral().choose(state, 1)[0]
    assert question.score == pytest.approx(best, abs=1e-6)


def test_the_graph_is_made_once_and_the_eigenvectors_once_for_what_is_known(monkeypatch):
    calls = []

    def counted(name, function):
        def call(*args):
            calls.append(name)
            return function(*args)

        monkeypatch.setattr(asc, name, call)

    counted("build_similarity_graph", asc.build_similarity_graph)
    counted("compute_eigenvectors", asc.compute_eigenvectors)
    X, cache = blobs(2, 30)[0], {}
    for must in ([], [], [(0, 1)]):
        ActiveSpectral().choose(make_state(X, must=must, n_clusters=2, cache=cache), 1)
    assert calls == ["build_similarity_graph", "compute_eigenvectors", "compute_eigenvectors"]


# ---------------------------------------------------------------------- with models


@pytest.mark.parametrize(
    "model", [SpectralLearning(2, random_state=0), FlexibleSpectralClustering(2, random_state=0)]
)
def test_the_embedding_of_a_spectral_model_is_used(model):
    X, _ = blobs(2, 40, apart=1.5)
    model.fit(X)
    question = ActiveSpectral().choose(make_state(X, n_clusters=2, model=model, labels=model.labels_), 1)[0]
    factors = asc.compute_relation_factors(model.embedding_, 2)
    relaxed = np.clip(2 * (factors @ factors.T)[np.triu_indices(40, 1)] - 1, -1, 1)
    assert question.score == pytest.approx(max(1 + relaxed**2))


def test_of_many_rows_a_pool_is_looked_at_and_then_all():
    X = np.random.default_rng(0).normal(size=(12, 2))
    strategy = ActiveSpectral(max_rows=5)
    questions = strategy.choose(make_state(X, n_clusters=2, random_state=1), 66)
    assert len({question.key for question in questions}) == 66
    seen = {row for question in questions[:10] for row in question.rows}
    assert len(seen) == 5
    assert all(str(question.reason) == "Drawn at random." for question in questions[10:])


@pytest.mark.parametrize("parameter", ["n_neighbors", "max_rows"])
def test_bad_parameters_are_refused(parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be an integer of at least .*, got 0"):
        ActiveSpectral(**{parameter: 0})
