"""Labels in cliques: against enumeration, against logistic regression, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.exceptions import ConvergenceWarning

from likewise.multilabel import BinaryRelevance, CliqueLabelGraph
from likewise.multilabel import _clique_model as model_module
from likewise.multilabel._clique import CliqueFit, SoftMargin, extend_graph, generate_cliques
from likewise.multilabel._clique_model import LabelGraph
from profiles import fewer
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)


def draw_graph(rng, k, share=0.5):
    j, k_ = np.triu_indices(k, 1)
    kept = rng.random(len(j)) < share
    return LabelGraph(k, np.column_stack([j[kept], k_[kept]]))


def pairs_of(graph, weights):
    return dict(zip(map(tuple, graph.edges.tolist()), weights, strict=True))


def problem(seed, n=60, d=2, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.3).astype(int)
    Y[:, -1] |= Y[:, 0] & (rng.random(n) < 0.7)
    Y[0], Y[1] = 0, 1
    return X, Y


@given(seeds, st.integers(1, 5), st.floats(0.1, 30.0))
def test_expectations_are_sums_over_all_labellings(seed, k, scale):
    rng = np.random.default_rng(seed)
    graph = draw_graph(rng, k)
    weights, odds = scale * rng.normal(size=len(graph.edges)), scale * rng.normal(size=(4, k))
    expected = graph.expect(odds, weights)
    sums, variances = graph.compute_pair_moments(odds, weights)
    best = graph.find_best(odds, weights)
    every, pairs = twin.labellings(k), pairs_of(graph, weights)
    scores = np.array([[twin.graph_score(o, pairs, y) for y in every] for o in odds])
    totals = np.logaddexp.reduce(scores, axis=1)
    joint = np.exp(scores - totals[:, None])
    np.testing.assert_allclose(expected.log_total, totals.sum(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(expected.proba, joint @ every, atol=1e-9)
    both = joint @ (every[:, :, None] * every[:, None, :]).reshape(len(every), -1)
    off = ~np.eye(k, dtype=bool)
    np.testing.assert_allclose(sums[off], both.sum(axis=0).reshape(k, k)[off], atol=1e-9)
    np.testing.assert_allclose(variances[off], (both * (1 - both)).sum(axis=0).reshape(k, k)[off], atol=1e-9)
    np.testing.assert_allclose(expected.joined, sums[tuple(graph.edges.T)], atol=1e-9)
    for i in range(4):
        np.testing.assert_allclose(twin.graph_score(odds[i], pairs, best[i]), scores[i].max())


def test_rows_may_be_processed_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    graph = draw_graph(rng, 5, share=0.7)
    weights, odds = rng.normal(size=len(graph.edges)), rng.normal(size=(50, 5))
    whole, pairs, best = (
        graph.expect(odds, weights),
        graph.compute_pair_moments(odds, weights),
        graph.find_best(odds, weights),
    )
    monkeypatch.setattr(model_module, "_BLOCK", 7 << 5)
    parts = graph.expect(odds, weights)
    np.testing.assert_allclose(parts.proba, whole.proba)
    np.testing.assert_allclose(parts.joined, whole.joined)
    np.testing.assert_allclose(parts.log_total, whole.log_total)
    np.testing.assert_allclose(graph.compute_pair_moments(odds, weights), pairs)
    np.testing.assert_array_equal(graph.find_best(odds, weights), best)


@fewer(2)
@given(seeds, st.integers(1, 4), st.floats(0, 3))
def test_the_loss_follows_the_formula_and_its_gradient_is_right(seed, k, margin):
    rng = np.random.default_rng(seed)
    X, Y = problem(seed, n=8, k=k)
    graph = draw_graph(rng, k)
    found, weights = rng.normal(size=(k, 3)), rng.normal(size=len(graph.edges))
    loss = SoftMargin(X, Y.astype(float), 0.7, margin)
    odds, pairs = X @ found[:, :-1].T + found[:, -1], pairs_of(graph, weights)
    wanted = sum(twin.soft_margin(o, pairs, y, margin) for o, y in zip(odds, Y, strict=True))
    wanted += (np.sum(found[:, :-1] ** 2) + np.sum(weights**2)) / 1.4
    np.testing.assert_allclose(loss.compute_value(graph, found, weights)[0], wanted)

    def split(at):
        return at[: found.size].reshape(found.shape), at[found.size :]

    at = np.append(found.ravel(), weights)
    off = check_grad(
        lambda a: loss.compute_value(graph, *split(a))[0],
        lambda a: np.append(
            loss.compute_value(graph, *split(a))[1].ravel(), loss.compute_value(graph, *split(a))[2]
        ),
        at,
    )
    assert off < 1e-4


@fewer(4)
@given(seeds)
def test_without_edges_and_margin_it_is_logistic_regression(seed):
    X, Y = problem(seed)
    ours = CliqueLabelGraph(margin=0, max_rounds=0).fit(X, Y)
    assert ours.cliques_ == []
    assert not ours.pair_weights_.any()
    theirs = BinaryRelevance().fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("margin", [0.0, 0.5, 2.0])
def test_probabilities_are_frequencies_for_any_margin(margin):
    Y = np.column_stack([np.arange(100) < 7, np.arange(100) % 5 > 1]).astype(int)
    model = CliqueLabelGraph(margin=margin, max_rounds=0).fit(np.zeros((100, 1)), Y)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.07, 0.6]], atol=1e-3)


def test_a_gain_is_the_decrease_of_the_loss():
    X, Y = problem(1, n=400)
    loss = SoftMargin(X, Y.astype(float), 1.0, 0.0)
    bare = LabelGraph(3, np.empty((0, 2), dtype=np.int64))
    start = loss.fit(bare, CliqueFit(np.zeros((3, 3)), np.zeros(0), 0), max_iter=500, tol=1e-7)
    gains = loss.compute_gains(bare, start)
    best = np.unravel_index(gains.argmax(), gains.shape)
    assert set(best) == {0, 2}
    graph, fitted = extend_graph(bare, start, [(0, 2)])
    before, after = loss.compute_value(graph, fitted.coef, fitted.weights)[0], np.inf
    for weight in np.linspace(-4, 4, 801):
        after = min(after, loss.compute_value(graph, fitted.coef, np.array([weight]))[0])
    # The gain is exact only to second order at v = 0, since the loss is not quadratic.
    assert 0.7 < gains[best] / (before - after) < 1.4
    full = loss.fit(graph, fitted, max_iter=500, tol=1e-7)
    assert before - loss.compute_value(graph, full.coef, full.weights)[0] >= before - after
    assert loss.compute_gains(graph, full)[0, 2] == 0.0


def none(k):
    return LabelGraph(k, np.empty((0, 2), dtype=np.int64))


def net(k, **gains):
    found = np.full((k, k), -1.0)
    for pair, gain in gains.items():
        j, i = map(int, pair[1:])
        found[i, j] = found[j, i] = gain
    return found


def test_cliques_are_generated_greedily():
    gains = net(6, e01=9, e02=4, e12=3, e03=2, e13=-1, e23=-2, e45=1)
    # Label 2 adds 4 + 3 to (0, 1); label 3 would then add 2 - 1 - 2 < 0.
    assert generate_cliques(gains, none(6), 4, 6) == [(0, 1, 2), (4, 5)]
    assert generate_cliques(gains, none(6), 2, 6) == [(0, 1), (4, 5)]
    assert generate_cliques(net(3), none(3), 4, 6) == []


def test_existing_edges_cost_a_clique_nothing():
    graph = LabelGraph(4, np.array([[0, 1], [1, 2]]))
    assert generate_cliques(net(4, e01=7, e12=7), graph, 3, 6) == []
    assert generate_cliques(net(4, e01=-7, e13=2), graph, 3, 6) == [(1, 3)]
    assert generate_cliques(net(4, e03=2, e13=2), graph, 3, 6) == [(0, 1, 3)]


def test_groups_do_not_exceed_the_maximum_size():
    graph = LabelGraph(6, np.array([[0, 1], [1, 2], [3, 4]]))
    assert generate_cliques(net(6, e03=9, e05=1), graph, 4, 4) == [(0, 5)]
    assert generate_cliques(net(6, e03=9, e05=1), graph, 4, 5) == [(0, 3)]
    assert generate_cliques(net(6, e03=9, e05=10), graph, 4, 5) == [(0, 5)]  # one clique per group and round


@fewer(4)
@given(seeds, st.integers(2, 5), st.integers(2, 4))
def test_the_graph_is_the_union_of_its_cliques_in_groups_of_bounded_size(seed, max_group, clique_size):
    X, Y = problem(seed, n=120, k=7)
    model = CliqueLabelGraph(max_group=max_group, clique_size=clique_size, min_gain=0.0).fit(X, Y)
    edges = {(a, b) for clique in model.cliques_ for a in clique for b in clique if a != b}
    joined = {tuple(map(str, pair)) for pair in np.argwhere(model.pair_weights_)}
    assert joined <= edges
    assert all(2 <= len(clique) <= clique_size for clique in model.cliques_)
    assert np.bincount(model._graph.part).max() <= max_group


def test_one_of_two_labels():
    there, which = np.arange(80) % 2, np.arange(80) // 2 % 2
    Y = np.column_stack([there * which, there * (1 - which), there])
    model = CliqueLabelGraph(margin=0, C=100).fit(there[:, None], Y)
    assert model.pair_weights_[0, 1] < 0
    np.testing.assert_allclose(model.predict_proba([[1.0]])[0, :2], 0.5, atol=0.02)
    model.set_params(prediction="map")
    assert model.predict([[1.0]])[0, :2].sum() == 1  # either, never both
    assert model.predict([[0.0]]).tolist() == [[0, 0, 0]]
    np.testing.assert_array_equal(model.pair_weights_, model.pair_weights_.T)


def test_labels_that_the_row_explains_need_no_edge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    Y = (rng.random((500, 2)) < 1 / (1 + np.exp(-3 * X))).astype(int)
    assert np.corrcoef(Y.T)[0, 1] > 0.3
    assert CliqueLabelGraph().fit(X, Y).cliques_ == []


def test_a_fit_that_stops_early_says_so():
    X, Y = problem(0)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations.*StandardScaler, or raise max_iter"):
        CliqueLabelGraph(max_iter=2).fit(X, Y)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"C": 0}, "C must be"),
        ({"margin": -1}, "margin must be a number of at least 0"),
        ({"clique_size": 1}, "clique_size must be an integer of at least 2"),
        ({"max_group": 13}, "max_group must be an integer from 2 to 12"),
        ({"min_gain": -1}, "min_gain must be"),
        ({"max_rounds": -1}, "max_rounds must be"),
        ({"prediction": "best"}, "prediction must be one of"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError, match=words):
        CliqueLabelGraph(**params).fit(*problem(0))
