"""Strategies that use a model, by hand and against their twins: scores and selected questions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.covariance import ledoit_wolf

from likewise.active.strategies import (
    MarginalUncertainty,
    NodeUncertainty,
    NormalizedPointUncertainty,
)
from likewise.active.strategies._marginal import find_least_certain
from likewise.active.strategies._node_uncertainty import (
    compute_density_entropy,
    compute_disagreement,
    compute_mixture_entropy,
    find_mahalanobis_neighbors,
)
from likewise.active.strategies._placing import PlacedRows
from likewise.active.strategies._point_uncertainty import (
    compute_group_similarities,
    compute_normalized_uncertainty,
    compute_probabilities,
    draw_some_of_each,
)
from likewise.exceptions import LikewiseError
from profiles import fewer
from reference import strategies as twin
from reference.strategies import line, make_state

# ---------------------------------------------------------------------- point uncertainty


def test_similarities_and_uncertainty_by_hand():
    leaves = np.array([[1, 1], [1, 2], [2, 2], [2, 1], [3, 3]])
    places = PlacedRows.from_state(make_state(np.zeros((5, 1)), must=[(0, 1)], cannot=[(0, 2)]))
    found = compute_group_similarities(leaves, places)
    # Row 3 shares a leaf with row 0 once and with row 2 once, of two trees.
    assert found[3].tolist() == [0.25, 0.5]
    chance = compute_probabilities(found)
    assert chance[3] == pytest.approx([1 / 3, 2 / 3])
    assert chance[4].tolist() == [0.5, 0.5]
    entropy = -(1 / 3 * np.log(1 / 3) + 2 / 3 * np.log(2 / 3))
    assert compute_normalized_uncertainty(chance)[3] == pytest.approx(entropy / (2 / 3 * 1 + 1 / 3 * 2))
    assert compute_normalized_uncertainty(chance)[4] == pytest.approx(np.log(2) / 1.5)


@fewer(2)
@given(seed=st.integers(0, 10**6))
def test_normalized_uncertainty_equals_its_twin(seed):
    rng = np.random.default_rng(seed)
    leaves = rng.integers(4, size=(10, 6))
    state = make_state(np.zeros((10, 1)), must=[(0, 1), (2, 3)], cannot=[(0, 2), (0, 4), (2, 4)])
    places = PlacedRows.from_state(state)
    found = compute_normalized_uncertainty(compute_probabilities(compute_group_similarities(leaves, places)))
    wanted = [twin.compute_normalized_uncertainty(leaves, places.members, row) for row in range(10)]
    assert found == pytest.approx(wanted)


def test_point_uncertainty_scores_and_asks_the_likeliest_group_first():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(6, 1, (30, 2))])
    labels = np.repeat([0, 1], 30)
    state = make_state(X, cannot=[(0, 30)], n_clusters=2, labels=labels)
    questions = NormalizedPointUncertainty(n_trees=20).choose(state, 58)
    rows = [({*question.rows} - {0, 30}).pop() for question in questions]
    assert sorted(rows) == sorted(set(range(60)) - {0, 30})
    assert all(a.score >= b.score for a, b in itertools.pairwise(questions))
    likely = [
        row for row, question in zip(rows, questions, strict=True) if (row < 30) == (0 in question.rows)
    ]
    assert len(likely) >= 55


def test_the_forest_is_kept_while_the_labels_stay():
    cache = {}
    X, labels = line(0, 1, 2, 7, 8, 9), np.array([0, 0, 0, 1, 1, 1])
    strategy = NormalizedPointUncertainty(n_trees=5)
    strategy.choose(make_state(X, cannot=[(0, 5)], labels=labels, cache=cache), 1)
    ((_, first),) = cache.values()
    strategy.choose(make_state(X, cannot=[(0, 5)], labels=1 - labels, cache=cache), 1)
    ((_, same),) = cache.values()
    assert same is first
    strategy.choose(make_state(X, cannot=[(0, 5)], labels=np.array([0, 0, 1, 1, 1, 1]), cache=cache), 1)
    ((_, other),) = cache.values()
    assert other is not first


def test_a_forest_for_many_rows_sees_some_of_every_cluster():
    labels = np.zeros(1000, dtype=np.int64)
    labels[[3, 5, 8]] = 1
    some = draw_some_of_each(labels, 100, 0)
    assert {3, 5, 8} <= {*some.tolist()}
    assert 100 <= len(some) <= 103
    assert (np.diff(some) > 0).all()
    assert draw_some_of_each(labels, 1000, 0).tolist() == list(range(1000))
    assert draw_some_of_each(labels, 100, 1).tolist() != some.tolist()


# ---------------------------------------------------------------------- node uncertainty


def test_local_uncertainty_by_hand():
    neighbors = np.array([[1, 2], [0, 2], [1, 3], [2, 1]])
    assert compute_disagreement(np.array([0, 0, 1, 1]), neighbors).tolist() == [0.5, 0.5, 0.5, 0.5]
    assert compute_disagreement(np.array([0, 0, 0, 1]), neighbors).tolist() == [0.0, 0.0, 0.5, 1.0]


def test_local_uncertainty_equals_its_twin_by_the_mahalanobis_distance():
    rng = np.random.default_rng(3)
    # Correlated columns with different scales.
    X = rng.normal(size=(120, 3)) @ np.array([[1.0, 0.8, 0], [0, 0.6, 0], [0, 0, 50.0]])
    labels = rng.integers(3, size=120)
    scale = X.std(axis=0)
    covariance = ledoit_wolf((X - X.mean(axis=0)) / scale)[0] * np.outer(scale, scale)
    wanted = twin.disagreement(X, labels, 10, covariance)
    found = compute_disagreement(labels, find_mahalanobis_neighbors(X, 10))
    assert found == pytest.approx(wanted)
    assert np.abs(found - twin.disagreement(X, labels, 10, np.eye(3))).mean() > 0.05
    # The shrinkage is small: the plain covariance gives almost the same neighbours.
    assert np.abs(found - twin.disagreement(X, labels, 10, np.cov(X.T))).mean() < 0.05


@pytest.mark.parametrize("columns", [1, 4, 30])
def test_neighbours_exclude_the_row_and_survive_columns_that_say_nothing(columns):
    X = np.zeros((12, columns))
    X[:, 0] = np.arange(12)
    neighbors = find_mahalanobis_neighbors(X, 3)
    assert neighbors.shape == (12, 3)
    assert not (neighbors == np.arange(12)[:, None]).any()
    assert sorted(neighbors[0].tolist()) == [1, 2, 3]
    assert find_mahalanobis_neighbors(X[:2], 3).tolist() == [[1], [0]]


def test_many_rows_of_many_columns_are_searched_cell_by_cell(monkeypatch):
    from likewise.active.strategies import _node_uncertainty

    X = np.random.default_rng(0).normal(size=(400, 9)) * np.arange(1, 10)
    exact = find_mahalanobis_neighbors(X, 5)
    monkeypatch.setattr(_node_uncertainty, "_EXACT_ROWS", 100)
    found = find_mahalanobis_neighbors(X, 5)  # few enough to compare all rows
    assert np.mean(np.sort(found, axis=1) == np.sort(exact, axis=1)) > 0.999
    called = []
    monkeypatch.setattr(
        "likewise.backends.neighbors.find_near_rows_by_cells", lambda *args: called.append(args)
    )
    find_mahalanobis_neighbors(X[:, :8], 5)
    assert called == []
    find_mahalanobis_neighbors(X, 5)
    assert len(called) == 1


def two_bells():
    """Rows at the quantiles of two normal distributions that overlap, ascending, and their halves."""
    bell = norm.ppf((np.arange(40) + 0.5) / 40)
    points = np.sort(np.concatenate([bell - 2, bell + 2]))
    return points[:, None], np.repeat([0, 1], 40)


def test_global_uncertainty_is_largest_between_the_clusters():
    X, labels = two_bells()
    entropy = compute_mixture_entropy(X, labels, 0)
    assert entropy == pytest.approx(entropy[::-1], abs=1e-3)
    assert set(np.argsort(entropy)[-2:].tolist()) == {39, 40}
    assert (np.diff(entropy[10:40]) > 0).all()
    assert (entropy >= 0).all()
    assert entropy.max() <= np.log(2) + 1e-12
    state = make_state(X, cannot=[(0, 79)], n_clusters=2, labels=labels)
    question = NodeUncertainty("global").choose(state, 1)[0]
    assert {39, 40} & {*question.rows}
    assert "may belong to any of" in str(question.reason)


def test_global_uncertainty_looks_at_the_embedding_of_the_model():
    bells, labels = two_bells()
    order = np.random.default_rng(0).permutation(80)

    class Model:
        embedding_ = bells[order]

    X = np.random.default_rng(1).normal(size=(80, 4))
    ends = (int(np.flatnonzero(order == 0)[0]), int(np.flatnonzero(order == 79)[0]))
    state = make_state(X, cannot=[ends], n_clusters=2, labels=labels[order], model=Model())
    question = NodeUncertainty("global").choose(state, 1)[0]
    assert {39, 40} & {*order[list(question.rows)].tolist()}


@fewer(4)
@given(seed=st.integers(0, 10**6), columns=st.integers(1, 3))
def test_density_uncertainty_equals_its_twin(seed, columns):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(25, columns)), np.append([0, 1, 2], rng.integers(3, size=22))
    assert compute_density_entropy(X, labels, 0) == pytest.approx(twin.density_entropy(X, labels), abs=1e-9)


def test_density_uncertainty_needs_no_gaussian_clusters():
    # A ring around a disc: one Gaussian each would find the disc uncertain, which the densities do not.
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    radius = np.where(np.arange(400) < 100, rng.uniform(0, 0.5, 400), rng.uniform(2, 2.4, 400))
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    labels = (radius > 1).astype(int)
    assert compute_density_entropy(X, labels, 0).max() < 0.1
    border = (radius > 2.2).astype(int)  # labels that cut through the ring
    uncertain = compute_density_entropy(X, border, 0)
    assert uncertain[radius > 1].min() > uncertain[radius < 1].mean()


def test_densities_are_estimated_from_a_sample_of_many_rows(monkeypatch):
    from likewise.active.strategies import _node_uncertainty

    X, labels = two_bells()
    whole = compute_density_entropy(X, labels, 0)
    monkeypatch.setattr(_node_uncertainty, "_DENSITY_ROWS", 40)
    sampled = compute_density_entropy(X, labels, 0)
    assert np.corrcoef(whole, sampled)[0, 1] > 0.9
    assert not np.array_equal(whole, sampled)


def test_identical_and_single_rows_have_an_entropy():
    assert compute_density_entropy(np.zeros((4, 2)), np.array([0, 0, 1, 1]), 0) == pytest.approx(
        [-(1 / 3 * np.log(1 / 3) + 2 / 3 * np.log(2 / 3))] * 4
    )
    assert compute_density_entropy(np.zeros((1, 2)), np.array([0]), 0).tolist() == [0]


def test_compound_uncertainty_is_the_mean_of_local_and_density():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(40, 2)), np.append([0, 1, 2], rng.integers(3, size=37))
    model = type("Model", (), {"embedding_": X})()
    state = make_state(X, cannot=[(0, 1), (0, 2), (1, 2)], n_clusters=3, labels=labels, model=model)
    local = compute_disagreement(labels, find_mahalanobis_neighbors(X, 10))
    wanted = (local + twin.density_entropy(X, labels) / np.log(3)) / 2
    question = NodeUncertainty("compound").choose(state, 1)[0]
    assert question.score == pytest.approx(wanted[3:].max())
    assert "uncertain by its neighbours and by all rows" in str(question.reason)
    assert NodeUncertainty("compound").name == "node-compound"


def test_ties_of_the_local_measure_are_broken_by_the_seed():
    X, labels = np.arange(40.0)[:, None], np.zeros(40)
    drawn = {
        NodeUncertainty()
        .choose(make_state(X, cannot=[(0, 39)], n_clusters=2, labels=labels, random_state=seed), 1)[0]
        .rows
        for seed in range(10)
    }
    assert len(drawn) > 5


def test_node_uncertainty_explores_first_and_the_graph_is_found_once(monkeypatch):
    from likewise.active.strategies import _node_uncertainty

    calls = []

    def counted(X, k):
        calls.append(k)
        return find_mahalanobis_neighbors(X, k)

    monkeypatch.setattr(_node_uncertainty, "find_mahalanobis_neighbors", counted)
    X, cache = line(0, 1, 2, 7, 8, 9), {}
    more = {"labels": np.array([0, 0, 1, 1, 1, 1]), "cache": cache}
    exploring = NodeUncertainty("local", 2).choose(make_state(X, cannot=[(0, 5)], n_clusters=3, **more), 1)[0]
    assert calls == []
    assert "farthest" in str(exploring.reason)
    for _ in range(2):
        question = NodeUncertainty("local", 2).choose(
            make_state(X, cannot=[(0, 5)], n_clusters=2, **more), 1
        )[0]
    assert calls == [2]
    assert (question.rows, question.score) == ((0, 2), 1.0)
    assert str(question.reason).startswith("Row 2 has 100% of its neighbours in other clusters")


# ---------------------------------------------------------------------- marginal uncertainty


class Sure:
    """Gives the probabilities that it was made with."""

    def __init__(self, proba):
        self.proba = np.asarray(proba, dtype=float)

    def predict_proba(self, X):
        return self.proba


def test_the_pair_nearest_to_a_coin_toss_is_asked():
    model = Sure([[1, 0], [0.9, 0.1], [0.6, 0.4], [0, 1]])
    found = MarginalUncertainty().choose(make_state(np.zeros((4, 1)), model=model), 3)
    # 0-2: 0.6, 2-3: 0.4 and 1-2: 0.58; the last is nearest to a half.
    assert found[0].rows == (1, 2)
    assert {found[1].rows, found[2].rows} == {(0, 2), (2, 3)}
    assert found[0].score == pytest.approx(-(0.58 * np.log(0.58) + 0.42 * np.log(0.42)))
    assert "probability 0.58" in str(found[0].reason)


def test_the_pair_nearest_to_a_coin_toss_is_passed_over_once_asked_or_implied():
    model = Sure([[1, 0], [0.9, 0.1], [0.6, 0.4], [0, 1]])
    assert MarginalUncertainty().choose(
        make_state(np.zeros((4, 1)), must=[(1, 3)], cannot=[(2, 3)], model=model), 1
    )[0].rows == (0, 2)
    state = make_state(np.zeros((4, 1)), asked=[(1, 2), (0, 2)], model=model)
    assert MarginalUncertainty().choose(state, 1)[0].rows == (2, 3)


def test_samples_are_averaged_as_pairs():
    class Particles:
        def membership_samples(self):
            # The two samples number the clusters differently; rows 0 and 1 are together in both.
            return np.array([[[1, 0], [1, 0], [1, 0]], [[0, 1], [0, 1], [1, 0]]], dtype=float)

    found = MarginalUncertainty().choose(make_state(np.zeros((3, 1)), model=Particles()), 3)
    assert {question.rows for question in found[:2]} == {(0, 2), (1, 2)}
    assert found[0].score == pytest.approx(np.log(2))
    assert found[2].rows == (0, 1)
    assert found[2].score == pytest.approx(0, abs=1e-9)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), entries=st.sampled_from([1, 20, 1000]))
def test_blocks_find_the_least_certain_pairs_that_the_twin_finds(seed, n, entries):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([0.5] * 3, size=11)
    allowed = rng.uniform(size=(11, 11)) < 0.6
    gaps = twin.marginal_uncertainty(proba, lambda i, j: allowed[i, j])
    pairs, chance = find_least_certain(proba, n, lambda i, j: allowed[i, j], entries)
    wanted = sorted(gaps, key=gaps.get)[:n]
    assert [tuple(pair) for pair in pairs.tolist()] == wanted
    assert np.abs(chance - 0.5) == pytest.approx([gaps[pair] for pair in wanted])


# ---------------------------------------------------------------------- bad input


def test_bad_parameters_are_refused():
    with pytest.raises(
        ValueError, match="scope must be one of 'local', 'global', 'density', 'compound', got 'near'"
    ):
        NodeUncertainty("near")
    with pytest.raises(ValueError, match="n_neighbors must be an integer of at least 1, got 0"):
        NodeUncertainty("local", 0)
    with pytest.raises(ValueError, match=r"n_trees must be an integer of at least 1, got 2\.5"):
        NormalizedPointUncertainty(2.5)


@pytest.mark.parametrize(
    "strategy", [NormalizedPointUncertainty(), NodeUncertainty(), NodeUncertainty("global")]
)
def test_strategies_that_look_at_clusters_want_some(strategy):
    with pytest.raises(ValueError, match="no model was fitted: pass a model to the interview"):
        strategy.choose(make_state(line(0, 1, 2), cannot=[(0, 2)], n_clusters=2), 1)


def test_a_model_without_probabilities_is_refused():
    with pytest.raises(LikewiseError, match="but no model was fitted"):
        MarginalUncertainty().choose(make_state(line(0, 1)), 1)
    with pytest.raises(LikewiseError, match="but object has none"):
        MarginalUncertainty().choose(make_state(line(0, 1), model=object()), 1)
