"""The structured hinge loss of CliqueLabelGraph: against enumeration, a linear SVM, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from likewise.multilabel import CliqueLabelGraph
from likewise.multilabel._clique import HingeLoss
from likewise.multilabel._clique_model import (
    CliqueGraph,
    LabelGroup,
    compute_relaxed_margins,
    improve_labels,
)
from profiles import fewer
from reference import multilabel as twin

seeds = st.integers(0, 2**32 - 1)
OVERLAPPING = ((0, 1, 2), (1, 2, 3), (4, 5))


def problem(seed, n=60, d=2, k=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0.3).astype(float)
    Y[:, -1] *= 1 - Y[:, 0]
    Y[0], Y[1] = 0, 1
    return X, Y


def pairs_of(graph, weights):
    edges = graph.compute_edge_weights(weights)
    return dict(zip(map(tuple, graph.graph.edges.tolist()), edges.tolist(), strict=True))


# ---------------------------------------------------------------------- labellings with the highest score


def test_cliques_that_share_a_pair_add_their_weights():
    graph = CliqueGraph(6, OVERLAPPING, 6)
    weights = np.arange(1.0, 8.0)  # 01, 02, 12; 12, 13, 23; 45
    assert pairs_of(graph, weights) == {(0, 1): 1, (0, 2): 2, (1, 2): 3 + 4, (1, 3): 5, (2, 3): 6, (4, 5): 7}
    assert graph.compute_clique_norms(weights) == pytest.approx([14**0.5, 77**0.5, 7])


@fewer(2)
@given(seeds, st.floats(0.1, 10))
def test_small_groups_are_labelled_exactly(seed, scale):
    rng = np.random.default_rng(seed)
    graph = CliqueGraph(6, OVERLAPPING, 6)
    odds, weights = scale * rng.normal(size=(5, 6)), scale * rng.normal(size=7)
    best, margins, pairs = (
        graph.find_best(odds, weights),
        graph.compute_margins(odds, weights),
        pairs_of(graph, weights),
    )
    every = twin.labellings(6)
    for o, found, margin in zip(odds, best, margins, strict=True):
        scores = np.array([twin.graph_score(o, pairs, y) for y in every])
        assert twin.graph_score(o, pairs, found) == pytest.approx(scores.max())
        wanted = [scores[every[:, k] == 1].max() - scores[every[:, k] == 0].max() for k in range(6)]
        np.testing.assert_allclose(margin, wanted, atol=1e-9)


def test_the_relaxation_finds_the_best_labelling_of_nearly_all_trees():
    lost = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        tree = tuple((int(rng.integers(k)), k) for k in range(1, 8))
        relaxed, exact = CliqueGraph(8, tree, 2), CliqueGraph(8, tree, 8)
        odds, weights = rng.normal(size=(6, 8)), 2 * rng.normal(size=7)
        pairs = pairs_of(exact, weights)
        for o, found, best in zip(
            odds, relaxed.find_best(odds, weights), exact.find_best(odds, weights), strict=True
        ):
            lost.append(twin.graph_score(o, pairs, best) - twin.graph_score(o, pairs, found))
    assert min(lost) > -1e-9
    assert np.mean(np.array(lost) < 1e-9) > 0.95


@pytest.mark.parametrize("seed", range(8))
def test_relaxed_labellings_are_close_to_the_best_and_cannot_be_improved_by_one_label(seed):
    rng = np.random.default_rng(seed)
    cliques = ((0, 1, 2, 3), (2, 3, 4, 5), (0, 5, 6))
    graph, exact = CliqueGraph(7, cliques, 2), CliqueGraph(7, cliques, 7)
    odds, weights = rng.normal(size=(20, 7)), rng.normal(size=len(graph.pairs))
    pairs = pairs_of(graph, weights)
    found, best = graph.find_best(odds, weights), exact.find_best(odds, weights)
    scores, most = (
        np.array([twin.graph_score(o, pairs, y) for o, y in zip(odds, labels, strict=True)])
        for labels in (found, best)
    )
    assert (scores <= most + 1e-9).all()
    assert np.mean(scores > most - 1e-9) >= 0.6
    for o, y, score in zip(odds, found, scores, strict=True):
        for k in range(7):
            changed = y.copy()
            changed[k] = 1 - changed[k]
            assert twin.graph_score(o, pairs, changed) <= score + 1e-9


def test_climbing_changes_the_label_that_gains_most_first():
    group = LabelGroup(np.arange(2), np.arange(1), np.array([[0, 1]]))
    assert improve_labels(group, np.array([[1.0, 2.0]]), np.array([-3.0]), np.array([[1, 1]])).tolist() == [
        [0, 1]
    ]
    assert compute_relaxed_margins(group, np.array([[1.0, 2.0]]), np.array([-3.0])) == pytest.approx(
        np.array([[-1.0, 1.0]]) / 2, abs=1
    )


# ---------------------------------------------------------------------- the objective


@fewer(2)
@given(seeds, st.floats(0.2, 3))
def test_the_bound_at_the_current_rivals_is_the_sum_of_hinges(seed, margin):
    rng = np.random.default_rng(seed)
    X, Y = problem(seed, n=8)
    graph = CliqueGraph(4, ((0, 1, 3), (1, 2, 3)), 4)
    loss = HingeLoss(X, Y, 1.0, margin)
    found, weights = rng.normal(size=(4, 3)), rng.normal(size=6)
    plane = loss.make_plane(graph, loss.find_rivals(graph, found, weights))
    odds, pairs = X @ found[:, :-1].T + found[:, -1], pairs_of(graph, weights)
    wanted = sum(twin.hinge(o, pairs, y, margin) for o, y in zip(odds, Y, strict=True))
    theta = np.append(found.ravel(), weights)
    assert plane.b - plane.a @ theta == pytest.approx(wanted)
    # At other parameters it is a lower bound.
    other = theta + rng.normal(size=len(theta))
    odds = X @ other[:12].reshape(4, 3)[:, :-1].T + other[:12].reshape(4, 3)[:, -1]
    pairs = pairs_of(graph, other[12:])
    assert (
        plane.b - plane.a @ other
        <= sum(twin.hinge(o, pairs, y, margin) for o, y in zip(odds, Y, strict=True)) + 1e-9
    )


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_without_cliques_it_is_one_support_vector_machine_per_label(C):
    X, Y = problem(0)
    found = HingeLoss(X, Y, C, 1.0).fit(CliqueGraph(4, (), 6), max_iter=500, tol=1e-4)
    total = 0.0
    for y in Y.T:
        svm = LinearSVC(C=C, loss="hinge", dual=True, max_iter=10**6, tol=1e-6, random_state=0).fit(X, y)
        score = svm.decision_function(X)
        total += (np.sum(svm.coef_**2) + svm.intercept_[0] ** 2) / (2 * C)
        total += np.maximum(1 - score * (2 * y - 1), 0).sum()
    assert found.objective == pytest.approx(total, rel=2e-4)
    assert found.gap <= 1e-4


def test_the_optimum_with_clique_weights_equals_that_of_a_general_solver():
    X, Y = problem(3, n=10, d=1, k=3)
    graph = CliqueGraph(3, ((0, 1), (1, 2)), 3)
    C, margin = 0.5, 1.0
    found = HingeLoss(X, Y, C, margin).fit(graph, max_iter=500, tol=1e-5)
    every = twin.labellings(3)

    def constraints(v):
        w, weights, xi = v[:6].reshape(3, 2), v[6:8], v[8:]
        odds, pairs = X @ w[:, :-1].T + w[:, -1], pairs_of(graph, weights)
        return np.array(
            [
                xi[i]
                + twin.graph_score(odds[i], pairs, Y[i])
                - twin.graph_score(odds[i], pairs, y)
                - margin * np.sum(y != Y[i])
                for i in range(10)
                for y in every
            ]
        )

    def objective(v):
        smooth = np.sqrt(v[6:8] ** 2 + 1e-12).sum()
        return v[8:].sum() + (v[:6] @ v[:6] + smooth**2 / 2) / (2 * C)

    start = np.append(np.full(8, 0.1), np.full(10, 5.0))
    best = minimize(
        objective,
        start,
        constraints={"type": "ineq", "fun": constraints},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-9},
    )
    assert found.objective == pytest.approx(best.fun, rel=1e-3)


def test_clique_weights_follow_the_norms_of_their_pairs():
    X, Y = problem(1, n=200)
    graph = CliqueGraph(4, ((0, 3), (1, 2)), 4)
    found = HingeLoss(X, Y, 1.0, 1.0).fit(graph, max_iter=500, tol=1e-3)
    norms = graph.compute_clique_norms(found.weights)
    assert found.clique_weights.mean() == pytest.approx(1)
    # Labels 0 and 3 exclude each other; 1 and 2 are unrelated.
    assert norms[0] > 3 * norms[1]
    assert found.clique_weights[0] > 1.5


# ---------------------------------------------------------------------- the estimator


def exclusive(n=400, seed=0):
    """Return two labels, the stronger of which excludes the other, and an unrelated third label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    scores = X + 0.3 * rng.normal(size=(n, 3))
    positive = scores > 0
    return X, np.column_stack(
        [
            positive[:, 0] & (scores[:, 0] > scores[:, 1]),
            positive[:, 1] & (scores[:, 1] >= scores[:, 0]),
            positive[:, 2],
        ]
    ).astype(int)


def test_exclusive_labels_are_connected():
    X, Y = exclusive()
    model = CliqueLabelGraph(loss="hinge", prediction="map").fit(X, Y)
    assert model.cliques_ == [("0", "1")]
    assert model.pair_weights_[0, 1] < -0.5
    assert model.clique_weights_.tolist() == [1.0]
    assert not (model.predict(X)[:, :2].sum(axis=1) > 1).mean() > 0.02
    bare = CliqueLabelGraph(loss="hinge", prediction="map", max_rounds=0).fit(X, Y)
    assert bare.cliques_ == []
    new, truth = exclusive(seed=1)
    right, without = ((m.predict(new) == truth).all(axis=1).mean() for m in (model, bare))
    assert right > without


def test_groups_may_be_too_large_to_enumerate():
    rng = np.random.default_rng(0)
    which = rng.integers(6, size=200)
    Y = np.eye(6, dtype=int)[which]  # each row has one of six labels
    X = 1.5 * Y + rng.normal(size=(200, 6))
    model = CliqueLabelGraph(loss="hinge", max_group=2, clique_size=3, min_gain=0.1, max_rounds=1, C=0.1)
    model.fit(X, Y)
    assert np.bincount(model._graph.graph.part).max() > 2
    assert (model.predict(X) == Y).mean() > 0.85


def test_probabilities_rise_with_the_margin_and_labels_of_all_rows_stay():
    X, Y = problem(2, n=150)
    Y = np.column_stack([Y, np.ones(150), np.zeros(150)]).astype(int)
    model = CliqueLabelGraph(loss="hinge").fit(X, Y)
    shares, odds = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(shares, 1 / (1 + np.exp(-odds)))
    np.testing.assert_allclose(shares[:, 4], 150.5 / 151)
    np.testing.assert_allclose(shares[:, 5], 0.5 / 151)
    assert np.mean(model.predict(X)[:, :4] == Y[:, :4]) > 0.75


def test_a_hinge_without_a_margin_is_refused():
    with pytest.raises(ValueError, match="loss='hinge' needs a margin above 0, got margin=0"):
        CliqueLabelGraph(loss="hinge", margin=0).fit(*problem(0))


def test_a_fit_that_stops_early_says_so():
    with pytest.warns(
        ConvergenceWarning, match="after 3 cutting planes with a duality gap of .*raise max_iter"
    ):
        CliqueLabelGraph(loss="hinge", max_iter=3).fit(*problem(0))
