"""Information gain: by hand, against all pairs and triplets, with BayesianClustering, and invalid input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.active import Interview, InterviewState
from likewise.active.strategies import InformationGain, MarginalUncertainty
from likewise.active.strategies._information_gain import order_by_disagreement
from likewise.bayesian import BayesianClustering
from likewise.bayesian._pair_scores import score_triplets
from likewise.discriminative import DiscriminativeClustering
from likewise.exceptions import LikewiseError
from likewise.oracles import LabelOracle
from profiles import fewer
from reference import bayesian as bayesian_twin
from reference.strategies import Draws, line, make_state


def draw_samples(seed, n=10, k=2, n_draws=4):
    return np.random.default_rng(seed).dirichlet([0.6] * k, size=(n_draws, n))


# ---------------------------------------------------------------------- pairs


def test_what_draws_differ_on_is_asked_and_not_what_all_are_unsure_of():
    sure, unsure = [1.0, 0.0], [0.5, 0.5]
    draws = Draws([[sure, sure, unsure, sure], [sure, sure, unsure, [0.0, 1.0]]])
    state = make_state(np.zeros((4, 1)), model=draws)
    question = InformationGain().choose(state, 1)[0]
    assert question.rows == (0, 3)
    q = np.array([0.95, 0.05])
    gain = np.log(2) + (q * np.log(q)).sum()
    assert question.score == pytest.approx(gain)
    assert str(question.reason) == f"The expected information gain about the model is {gain:.3f} nats."
    assert 2 not in question.rows
    # The entropy of the answer does not distinguish the two.
    asked = MarginalUncertainty().choose(state, 5)
    assert any(2 in found.rows for found in asked if found.score == pytest.approx(np.log(2)))


@fewer(2)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([2, 3]), n=st.integers(1, 5))
def test_the_best_pairs_that_can_be_asked_are_found(seed, k, n):
    samples = draw_samples(seed, k=k)
    rng = np.random.default_rng(seed)
    links = rng.permutation(10)[:6].reshape(3, 2)
    state = make_state(np.zeros((10, 1)), must=links[:2], cannot=links[2:], model=Draws(samples))
    scores = bayesian_twin.pair_scores(samples, 0.05, "info")
    open_pairs = [p for p in itertools.combinations(range(10), 2) if state.knows(*p) == "unknown"]
    wanted = sorted((scores[pair] for pair in open_pairs), reverse=True)[:n]
    found = InformationGain().choose(state, n)
    assert [question.score for question in found] == pytest.approx(wanted)
    assert [scores[question.rows] for question in found] == pytest.approx(wanted)


def test_a_real_model_is_asked_for_its_best_pair_and_ties_come_last():
    X = np.random.default_rng(1).normal(size=(12, 2))
    hints = Supervision.from_links(12, must=[(0, 1), (2, 3)], cannot=[(1, 2)])
    model = BayesianClustering(2, n_particles=12, random_state=0).fit(X, supervision=hints)
    state = InterviewState.from_data(X, hints, model=model)
    every = InformationGain().choose(state, 66)
    assert every[0].rows == tuple(model.best_pairs().pairs[0])
    assert len(every) == 66 - 6  # six pairs among 0, 1, 2 and 3 are known
    hints |= Supervision.from_links(12, must=[(4, 5)], cannot=[(5, 6), (6, 7)])
    model.fit(X, supervision=hints)
    state = InterviewState.from_data(X, hints, model=model)
    every = InformationGain().choose(state, 66)
    # Answers connect rows 4, 6 and 7 without settling all of their pairs.
    tied = [at for at, question in enumerate(every) if {*question.rows} <= {4, 5, 6, 7}]
    assert len(tied) == 2
    assert min(tied) == len(every) - 2


def test_marginal_uncertainty_looks_at_the_mean_of_the_particles():
    X = np.random.default_rng(2).normal(size=(25, 2))
    model = BayesianClustering(3, n_particles=20, random_state=0).fit(X)
    question = MarginalUncertainty().choose(InterviewState.from_data(X, model=model), 1)[0]
    chance = model.co_membership_proba()[np.triu_indices(25, 1)]
    at = chance[np.abs(chance - 0.5).argmin()]
    assert question.score == pytest.approx(-(at * np.log(at) + (1 - at) * np.log(1 - at)))
    assert abs(model.co_membership_proba(pairs=[question.rows])[0] - 0.5) == pytest.approx(abs(at - 0.5))
    mode = model.predict_proba(X)
    assert abs((mode @ mode.T)[question.rows] - at) > 1e-6


# ---------------------------------------------------------------------- pools


def test_rows_that_draws_differ_on_come_first_whatever_the_clusters_are_called():
    samples = np.tile(np.eye(2)[[0, 1] * 4], (3, 1, 1))
    samples[1, 5] = samples[1, 5, ::-1]
    state = make_state(np.zeros((8, 1)))
    assert [order[0] for order in order_by_disagreement(state, Draws(samples))][:1] == [5]
    before = [order.tolist() for order in order_by_disagreement(state, Draws(samples))]
    samples[2] = samples[2, :, ::-1]
    assert [order.tolist() for order in order_by_disagreement(state, Draws(samples))] == before


def test_of_many_rows_those_that_draws_differ_on_are_looked_at():
    samples = np.tile(np.eye(2)[np.arange(40) % 2], (2, 1, 1)) * 0.98 + 0.01
    samples[1, 17] = samples[1, 17, ::-1]
    state = make_state(np.zeros((40, 1)), model=Draws(samples))
    best = InformationGain().choose(state, 1)[0]
    pooled = InformationGain(max_rows=6).choose(state, 1)[0]
    assert 17 in best.rows
    assert 17 in pooled.rows
    assert pooled.score == pytest.approx(best.score)
    assert len(InformationGain(max_rows=6).choose(state, 1000)) == 40 * 39 / 2


# ---------------------------------------------------------------------- triplets


@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_among_few_rows_the_best_triplet_of_all_is_found(seed):
    samples = draw_samples(seed, n=8, k=3)
    state = make_state(np.zeros((8, 1)), must=[(0, 1), (1, 2)], model=Draws(samples))
    every = [t for t in itertools.combinations(range(8), 3) if t != (0, 1, 2)]
    scores = dict(zip(every, score_triplets(samples, every), strict=True))
    questions = InformationGain("triplet").choose(state, 60)
    assert [question.rows for question in questions[:1]] == [max(scores, key=scores.get)]
    assert len(questions) == 55
    assert [scores[question.rows] for question in questions] == sorted(scores.values(), reverse=True)


def test_among_many_rows_candidates_come_near_the_best_triplet():
    samples = draw_samples(4, n=60, k=3, n_draws=8)
    state = make_state(np.zeros((60, 1)), model=Draws(samples))
    best = score_triplets(samples, list(itertools.combinations(range(60), 3))).max()
    found = InformationGain("triplet", n_candidates=4000).choose(state, 1)[0]
    assert found.kind == "triplet"
    assert found.score > 0.9 * best
    assert len(InformationGain("triplet", n_candidates=10).choose(state, 30)) == 30


def test_an_interview_by_triplets_learns_from_them():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = rng.normal(size=(45, 2)) + 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    model = BayesianClustering(3, n_particles=16, n_moves=2, n_init=1, warm_start=True)
    interview = Interview(
        X, model=model, strategy=InformationGain("triplet", n_candidates=500), random_state=0
    )
    oracle = LabelOracle(y)
    for _ in range(4):
        question = interview.ask()
        assert question.kind == "triplet"
        interview.tell(question, oracle.answer(question))
    assert "triplets" in interview.supervision.kinds


def test_two_rows_make_no_triplet_and_are_asked_as_a_pair():
    state = make_state(line(0, 1), model=Draws(draw_samples(0, n=2)))
    assert [question.rows for question in InformationGain("triplet").choose(state, 3)] == [(0, 1)]


# ---------------------------------------------------------------------- bad input


def test_a_model_without_draws_is_refused_with_a_way_on():
    X = line(0, 1, 2, 5, 6, 7)
    model = DiscriminativeClustering(n_clusters=2, random_state=0).fit(X)
    with pytest.raises(
        LikewiseError, match=r"DiscriminativeClustering has only one set.*BayesianClustering.*Marginal"
    ):
        InformationGain().choose(make_state(X, model=model), 1)
    with pytest.raises(LikewiseError, match="but no model was fitted"):
        InformationGain("triplet").choose(make_state(X), 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kind": "bag"}, "kind must be one of 'pair', 'triplet', got 'bag'"),
        ({"max_rows": 2}, "max_rows must be an integer of at least 3, got 2"),
        ({"n_candidates": 0}, "n_candidates must be an integer of at least 1, got 0"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        InformationGain(**parameters)
