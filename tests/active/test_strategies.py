"""Strategies by hand and against their twins: which row, which group, which pair, and why."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.covariance import ledoit_wolf

from likewise import Supervision
from likewise.active import Question, State
from likewise.active.strategies import (
    FarthestFirst,
    MarginalUncertainty,
    MinMax,
    NodeUncertainty,
    NormalizedPointUncertainty,
)
from likewise.active.strategies._exploration import is_exploring
from likewise.active.strategies._marginal import least_certain
from likewise.active.strategies._node_to_pairs import Places, Placing, place
from likewise.active.strategies._node_uncertainty import (
    disagreement,
    mahalanobis_neighbors,
    mixture_entropy,
)
from likewise.active.strategies._point_uncertainty import (
    normalized_uncertainty,
    probabilities,
    similarities,
)
from likewise.exceptions import LikewiseError
from reference import strategies as twin


def line(*points):
    return np.array(points, dtype=float)[:, None]


def told(X, must=(), cannot=(), asked=None, **more):
    """A state in which these links were asked for, unless `asked` says otherwise."""
    pairs = [*must, *cannot] if asked is None else asked
    return State.of(
        X,
        Supervision.from_links(len(X), must=list(must) or None, cannot=list(cannot) or None),
        asked=frozenset(Question.pair(*pair).key for pair in pairs),
        n_answers=len(pairs),
        **more,
    )


def asked_by(strategy, X, y, k, seed=0, budget=1000):
    """All pairs that a strategy asks of an oracle that knows y."""
    must, cannot, asked = [], [], []
    while len(asked) < budget:
        state = told(X, must, cannot, asked, n_clusters=k, seed=seed)
        found = strategy.choose(state, 1)
        if not found:
            break
        asked.append(found[0].rows)
        (must if y[asked[-1][0]] == y[asked[-1][1]] else cannot).append(asked[-1])
    return asked, Places.of(told(X, must, cannot, asked, n_clusters=k, seed=seed))


def first_row(n, seed=0):
    return int(State.of(np.zeros((n, 1)), seed=seed).rng().integers(n))


# ---------------------------------------------------------------------- groups, read off the answers


def test_groups_are_components_that_are_all_apart_and_a_row_in_the_middle_is_not_one():
    X = line(0, 1, 2, 3, 4, 5, 6)
    places = Places.of(told(X, must=[(0, 1), (2, 3)], cannot=[(0, 2), (4, 1)], n_clusters=3))
    assert [rows.tolist() for rows in places.members] == [[0, 1], [2, 3]]
    assert places.group.tolist() == [0, 0, 1, 1, -1, -1, -1]
    assert places.begun == (4,)
    assert places.unplaced.tolist() == [4, 5, 6]


def test_a_row_apart_from_all_groups_but_one_of_k_is_in_that_one():
    X = line(0, 1, 2, 3, 4)
    links = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1)]}
    assert Places.of(told(X, **links, n_clusters=2)).group.tolist() == [0, 0, 1, 1, 1]
    assert Places.of(told(X, **links, n_clusters=3)).group.tolist() == [0, 0, 1, 1, -1]
    assert Places.of(told(X, **links)).group.tolist() == [0, 0, 1, 1, -1]


def test_what_is_implied_of_one_row_implies_more():
    # 4 is not with 0, so it is with 2; 5 is not with 4, so it is with 0.
    links = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1), (4, 5)]}
    places = Places.of(told(line(0, 1, 2, 3, 4, 5), **links, n_clusters=2))
    assert places.group.tolist() == [0, 0, 1, 1, 1, 0]


def test_a_row_apart_from_k_groups_opens_one_more():
    places = Places.of(told(line(0, 1, 2), cannot=[(0, 1), (0, 2), (1, 2)], n_clusters=2))
    assert sorted(places.group.tolist()) == [0, 1, 2]


def test_a_row_apart_from_what_is_implied_of_every_group_opens_one_more():
    # With two clusters 4 is with 2 and 6 is with 0, so 5, apart from both, is with neither.
    links = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (4, 1), (6, 2), (5, 4), (5, 6)]}
    places = Places.of(told(line(0, 1, 2, 3, 4, 5, 6), **links, n_clusters=2))
    assert places.group.tolist() == [0, 0, 1, 1, 1, 2, 0]


def test_hints_given_beforehand_begin_nothing():
    places = Places.of(told(line(0, 1, 2, 3), must=[(0, 1)], cannot=[(0, 2), (2, 3)], asked=[]))
    assert places.begun == ()
    assert places.members[0].tolist() == [0, 1]


def test_labels_and_groups_of_cannot_links_make_groups_too():
    hints = Supervision.from_labels(["a", "b", None, "a", "c"])
    places = Places.of(State.of(line(0, 1, 2, 3, 4), hints, n_clusters=3))
    assert places.group.tolist() == [0, 1, -1, 0, 2]
    cannot = Supervision.from_links(5, must=[(0, 4)], cannot_groups=[[0, 1, 2]])
    places = Places.of(State.of(line(0, 1, 2, 3, 4), cannot))
    assert places.group.tolist() == [0, 1, 2, -1, 0]


def test_without_answers_a_row_drawn_by_the_seed_is_the_first_group():
    firsts = {Places.of(State.of(np.zeros((50, 1)), seed=seed)).members[0][0] for seed in range(20)}
    assert len(firsts) > 5


# ---------------------------------------------------------------------- from a row to pairs


def test_a_row_is_asked_against_the_nearest_row_of_each_group_nearest_group_first():
    X = line(0, 1, 10, 12, 30, 6)
    groups = {"must": [(0, 1), (2, 3)], "cannot": [(0, 2), (0, 4), (2, 4)]}
    asked = []
    for _ in range(3):
        state = told(X, groups["must"], groups["cannot"] + asked, n_clusters=4)
        asked.append(FarthestFirst().choose(state, 1)[0].rows)
    assert asked == [(2, 5), (1, 5), (4, 5)]
    assert FarthestFirst().choose(told(X, groups["must"], groups["cannot"] + asked, n_clusters=4), 1) == []


def test_several_questions_are_about_different_rows_first():
    X = line(0, 10, 4, 6, 5)
    found = FarthestFirst().choose(told(X, cannot=[(0, 1)], n_clusters=2), 100)
    rows = [({*question.rows} - {0, 1}).pop() for question in found]
    assert sorted(rows[:3]) == [2, 3, 4]
    # Then the other group of each, and in the end the rows that are not placed among one another.
    assert len(found) == 9
    assert len({question.key for question in found}) == 9


def test_every_group_of_a_row_comes_before_another_row_of_the_same_group():
    X = line(0, 1, 10, 11, 5)
    state = told(X, must=[(0, 1), (2, 3)], cannot=[(0, 2)], n_clusters=3)
    assert [question.rows for question in MinMax().choose(state, 4)] == [(1, 4), (2, 4), (0, 4), (3, 4)]


def test_a_question_without_a_result_makes_way_for_another_row_and_comes_back_last():
    X = line(0, 10, 4, 6)
    state = told(X, cannot=[(0, 1)], asked=[(0, 1), (0, 2)], n_clusters=2)
    assert [question.rows for question in MinMax().choose(state, 3)] == [(1, 3), (1, 2), (0, 3)]


def test_a_row_that_was_begun_is_finished_first():
    X = line(0, 10, 20, 14, 100)
    state = told(X, cannot=[(0, 1), (0, 2), (1, 2), (1, 3)], n_clusters=4)
    question = MinMax().choose(state, 1)[0]
    assert question.rows == (2, 3)
    assert "told apart from some groups already" in question.why


def test_unsure_of_a_begun_row_goes_on_with_its_next_group():
    X = line(0, 10, 20, 14, 100)
    cannot = [(0, 1), (0, 2), (1, 2), (1, 3)]
    state = told(X, cannot=cannot, asked=[*cannot, (2, 3)], n_clusters=4)
    assert MinMax().choose(state, 1)[0].rows == (0, 3)


def test_likely_groups_are_asked_before_near_ones():
    state = told(line(0, 10, 4), cannot=[(0, 1)])
    likely = Placing(np.array([2]), lambda row: "is tried", likely=lambda row: np.array([0.2, 0.8]))
    near = Placing(np.array([2]), lambda row: "is tried")
    assert place(state, Places.of(state), likely, 1)[0].rows == (1, 2)
    assert place(state, Places.of(state), near, 1)[0].rows == (0, 2)


# ---------------------------------------------------------------------- farthest first, min-max


def test_the_walk_goes_to_the_farthest_row():
    question = FarthestFirst().choose(told(line(0, 1, 5, 9), cannot=[(0, 3)], n_clusters=3), 1)[0]
    assert (question.rows, question.score) == ((2, 3), 4.0)
    assert question.why.startswith("Row 2 lies farthest from the rows placed so far; row 3 is the nearest")


def test_consolidation_draws_rows_by_the_seed():
    X = np.arange(60.0)[:, None]
    drawn = {
        FarthestFirst().choose(told(X, cannot=[(0, 59)], n_clusters=2, seed=seed), 1)[0].rows
        for seed in range(10)
    }
    assert len(drawn) > 5


def test_without_a_number_of_clusters_the_walk_ends_when_few_rows_are_alone():
    X = np.arange(30.0)[:, None]
    few = told(X, must=[(0, 1)], cannot=[(0, 20)])
    assert is_exploring(few, Places.of(few))
    many = told(X, must=[(0, j) for j in range(1, 19)], cannot=[(0, 20)])
    assert not is_exploring(many, Places.of(many))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_min_max_asks_what_its_twin_with_a_memory_asks(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    y = np.concatenate([np.arange(k), rng.integers(k, size=12 - k)])
    wanted, groups = twin.min_max(X, y, k, first_row(12, seed))
    asked, places = asked_by(MinMax(), X, y, k, seed)
    assert asked == wanted
    assert {frozenset(rows) for rows in groups} == {frozenset(rows.tolist()) for rows in places.members}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_explore_asks_what_its_twin_with_a_memory_asks(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, 2))
    y = np.concatenate([np.arange(k), rng.integers(k, size=15 - k)])
    wanted, groups = twin.explore(X, y, k, first_row(15, seed))
    asked, places = asked_by(FarthestFirst(), X, y, k, seed, budget=len(wanted))
    assert asked == wanted
    assert len(groups) == k == places.n_groups


# ---------------------------------------------------------------------- point uncertainty


def test_similarities_and_uncertainty_by_hand():
    leaves = np.array([[1, 1], [1, 2], [2, 2], [2, 1], [3, 3]])
    places = Places.of(told(np.zeros((5, 1)), must=[(0, 1)], cannot=[(0, 2)]))
    found = similarities(leaves, places)
    # Row 3 shares a leaf with row 0 once and with row 2 once, of two trees.
    assert found[3].tolist() == [0.25, 0.5]
    chance = probabilities(found)
    assert chance[3] == pytest.approx([1 / 3, 2 / 3])
    assert chance[4].tolist() == [0.5, 0.5]
    entropy = -(1 / 3 * np.log(1 / 3) + 2 / 3 * np.log(2 / 3))
    assert normalized_uncertainty(chance)[3] == pytest.approx(entropy / (2 / 3 * 1 + 1 / 3 * 2))
    assert normalized_uncertainty(chance)[4] == pytest.approx(np.log(2) / 1.5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_normalized_uncertainty_equals_its_twin(seed):
    rng = np.random.default_rng(seed)
    leaves = rng.integers(4, size=(10, 6))
    state = told(np.zeros((10, 1)), must=[(0, 1), (2, 3)], cannot=[(0, 2), (0, 4), (2, 4)])
    places = Places.of(state)
    found = normalized_uncertainty(probabilities(similarities(leaves, places)))
    wanted = [twin.normalized_uncertainty(leaves, places.members, row) for row in range(10)]
    assert found == pytest.approx(wanted)


def test_point_uncertainty_scores_and_asks_the_likeliest_group_first():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(6, 1, (30, 2))])
    labels = np.repeat([0, 1], 30)
    state = told(X, cannot=[(0, 30)], n_clusters=2, labels=labels)
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
    strategy.choose(told(X, cannot=[(0, 5)], labels=labels, cache=cache), 1)
    ((_, first),) = cache.values()
    strategy.choose(told(X, cannot=[(0, 5)], labels=1 - labels, cache=cache), 1)
    ((_, same),) = cache.values()
    assert same is first
    strategy.choose(told(X, cannot=[(0, 5)], labels=np.array([0, 0, 1, 1, 1, 1]), cache=cache), 1)
    ((_, other),) = cache.values()
    assert other is not first


# ---------------------------------------------------------------------- node uncertainty


def test_local_uncertainty_by_hand():
    neighbors = np.array([[1, 2], [0, 2], [1, 3], [2, 1]])
    assert disagreement(np.array([0, 0, 1, 1]), neighbors).tolist() == [0.5, 0.5, 0.5, 0.5]
    assert disagreement(np.array([0, 0, 0, 1]), neighbors).tolist() == [0.0, 0.0, 0.5, 1.0]


def test_local_uncertainty_equals_its_twin_by_the_mahalanobis_distance():
    rng = np.random.default_rng(3)
    # Columns that are correlated and of unlike scales.
    X = rng.normal(size=(120, 3)) @ np.array([[1.0, 0.8, 0], [0, 0.6, 0], [0, 0, 50.0]])
    labels = rng.integers(3, size=120)
    scale = X.std(axis=0)
    covariance = ledoit_wolf((X - X.mean(axis=0)) / scale)[0] * np.outer(scale, scale)
    wanted = twin.disagreement(X, labels, 10, covariance)
    found = disagreement(labels, mahalanobis_neighbors(X, 10))
    assert found == pytest.approx(wanted)
    assert np.abs(found - twin.disagreement(X, labels, 10, np.eye(3))).mean() > 0.05
    # The shrinkage is slight: what the plain covariance finds is almost the same.
    assert np.abs(found - twin.disagreement(X, labels, 10, np.cov(X.T))).mean() < 0.05


@pytest.mark.parametrize("columns", [1, 4, 30])
def test_neighbours_exclude_the_row_and_survive_columns_that_say_nothing(columns):
    X = np.zeros((12, columns))
    X[:, 0] = np.arange(12)
    neighbors = mahalanobis_neighbors(X, 3)
    assert neighbors.shape == (12, 3)
    assert not (neighbors == np.arange(12)[:, None]).any()
    assert sorted(neighbors[0].tolist()) == [1, 2, 3]
    assert mahalanobis_neighbors(X[:2], 3).tolist() == [[1], [0]]


def two_bells():
    """Rows at the quantiles of two normal distributions that overlap, ascending, and their halves."""
    bell = norm.ppf((np.arange(40) + 0.5) / 40)
    points = np.sort(np.concatenate([bell - 2, bell + 2]))
    return points[:, None], np.repeat([0, 1], 40)


def test_global_uncertainty_is_largest_between_the_clusters():
    X, labels = two_bells()
    entropy = mixture_entropy(X, labels, 0)
    assert entropy == pytest.approx(entropy[::-1], abs=1e-3)
    assert set(np.argsort(entropy)[-2:].tolist()) == {39, 40}
    assert (np.diff(entropy[10:40]) > 0).all()
    assert (entropy >= 0).all()
    assert entropy.max() <= np.log(2) + 1e-12
    state = told(X, cannot=[(0, 79)], n_clusters=2, labels=labels)
    question = NodeUncertainty("global").choose(state, 1)[0]
    assert {39, 40} & {*question.rows}
    assert "may be of" in question.why


def test_global_uncertainty_looks_at_the_embedding_of_the_model():
    bells, labels = two_bells()
    order = np.random.default_rng(0).permutation(80)

    class Model:
        embedding_ = bells[order]

    X = np.random.default_rng(1).normal(size=(80, 4))
    ends = (int(np.flatnonzero(order == 0)[0]), int(np.flatnonzero(order == 79)[0]))
    state = told(X, cannot=[ends], n_clusters=2, labels=labels[order], model=Model())
    question = NodeUncertainty("global").choose(state, 1)[0]
    assert {39, 40} & {*order[list(question.rows)].tolist()}


def test_ties_of_the_local_measure_are_broken_by_the_seed():
    X, labels = np.arange(40.0)[:, None], np.zeros(40)
    drawn = {
        NodeUncertainty().choose(told(X, cannot=[(0, 39)], n_clusters=2, labels=labels, seed=seed), 1)[0].rows
        for seed in range(10)
    }
    assert len(drawn) > 5


def test_node_uncertainty_explores_first_and_the_graph_is_found_once(monkeypatch):
    from likewise.active.strategies import _node_uncertainty

    calls = []

    def counted(X, k):
        calls.append(k)
        return mahalanobis_neighbors(X, k)

    monkeypatch.setattr(_node_uncertainty, "mahalanobis_neighbors", counted)
    X, cache = line(0, 1, 2, 7, 8, 9), {}
    more = {"labels": np.array([0, 0, 1, 1, 1, 1]), "cache": cache}
    exploring = NodeUncertainty("local", 2).choose(told(X, cannot=[(0, 5)], n_clusters=3, **more), 1)[0]
    assert calls == []
    assert "farthest" in exploring.why
    for _ in range(2):
        question = NodeUncertainty("local", 2).choose(told(X, cannot=[(0, 5)], n_clusters=2, **more), 1)[0]
    assert calls == [2]
    assert (question.rows, question.score) == ((0, 2), 1.0)
    assert question.why.startswith("Row 2 has 100% of its neighbours in other clusters")


# ---------------------------------------------------------------------- marginal uncertainty


class Sure:
    """Gives the probabilities that it was made with."""

    def __init__(self, proba):
        self.proba = np.asarray(proba, dtype=float)

    def predict_proba(self, X):
        return self.proba


def test_the_pair_nearest_to_a_coin_toss_is_asked():
    model = Sure([[1, 0], [0.9, 0.1], [0.6, 0.4], [0, 1]])
    found = MarginalUncertainty().choose(told(np.zeros((4, 1)), model=model), 3)
    # 0-2: 0.6, 2-3: 0.4 and 1-2: 0.58; the last is nearest to a half.
    assert found[0].rows == (1, 2)
    assert {found[1].rows, found[2].rows} == {(0, 2), (2, 3)}
    assert found[0].score == pytest.approx(-(0.58 * np.log(0.58) + 0.42 * np.log(0.42)))
    assert "chance 0.58" in found[0].why


def test_the_pair_nearest_to_a_coin_toss_is_passed_over_once_asked_or_implied():
    model = Sure([[1, 0], [0.9, 0.1], [0.6, 0.4], [0, 1]])
    assert MarginalUncertainty().choose(
        told(np.zeros((4, 1)), must=[(1, 3)], cannot=[(2, 3)], model=model), 1
    )[0].rows == (0, 2)
    state = told(np.zeros((4, 1)), asked=[(1, 2), (0, 2)], model=model)
    assert MarginalUncertainty().choose(state, 1)[0].rows == (2, 3)


def test_samples_are_averaged_as_pairs():
    class Particles:
        def membership_samples(self):
            # The two samples call the clusters by other names; rows 0 and 1 are together in both.
            return np.array([[[1, 0], [1, 0], [1, 0]], [[0, 1], [0, 1], [1, 0]]], dtype=float)

    found = MarginalUncertainty().choose(told(np.zeros((3, 1)), model=Particles()), 3)
    assert {question.rows for question in found[:2]} == {(0, 2), (1, 2)}
    assert found[0].score == pytest.approx(np.log(2))
    assert found[2].rows == (0, 1)
    assert found[2].score == pytest.approx(0, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), entries=st.sampled_from([1, 20, 1000]))
def test_blocks_find_the_least_certain_pairs_that_the_twin_finds(seed, n, entries):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([0.5] * 3, size=11)
    allowed = rng.uniform(size=(11, 11)) < 0.6
    gaps = twin.marginal_uncertainty(proba, lambda i, j: allowed[i, j])
    pairs, chance = least_certain(proba, n, lambda i, j: allowed[i, j], entries)
    wanted = sorted(gaps, key=gaps.get)[:n]
    assert [tuple(pair) for pair in pairs.tolist()] == wanted
    assert np.abs(chance - 0.5) == pytest.approx([gaps[pair] for pair in wanted])


# ---------------------------------------------------------------------- bad input


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="scope must be one of 'local', 'global', got 'near'"):
        NodeUncertainty("near")
    with pytest.raises(ValueError, match="n_neighbors must be an integer of at least 1, got 0"):
        NodeUncertainty("local", 0)
    with pytest.raises(ValueError, match=r"n_trees must be an integer of at least 1, got 2\.5"):
        NormalizedPointUncertainty(2.5)


@pytest.mark.parametrize(
    "strategy", [NormalizedPointUncertainty(), NodeUncertainty(), NodeUncertainty("global")]
)
def test_strategies_that_look_at_clusters_want_some(strategy):
    with pytest.raises(ValueError, match="no model was fitted: give the interview a model"):
        strategy.choose(told(line(0, 1, 2), cannot=[(0, 2)], n_clusters=2), 1)


def test_a_model_without_probabilities_is_refused():
    with pytest.raises(LikewiseError, match="but no model was fitted"):
        MarginalUncertainty().choose(told(line(0, 1)), 1)
    with pytest.raises(LikewiseError, match="but object gives none"):
        MarginalUncertainty().choose(told(line(0, 1), model=object()), 1)
