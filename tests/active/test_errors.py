"""Interviews whose answers may be wrong: believed answers, suspects, and unreliable annotators."""

import json
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from likewise import MPCKMeans
from likewise.active import Answer, Interview, Question, RandomPairs, simulate
from likewise.active._evidence import collect_votes, get_metric_answers, list_pairs
from likewise.exceptions import SupervisionError
from likewise.oracles import LabelOracle, NoisyOracle, make_oracle
from likewise.supervision import Supervision

N, K = 120, 3


def blobs(gap=4.5, seed=1):
    rng = np.random.default_rng(seed)
    y = np.arange(N) % K
    return gap * np.eye(K)[y] + rng.normal(size=(N, K)), y


X, Y = blobs()


def answer_all(interview, oracle, n, annotator=None):
    for _ in range(n):
        question = interview.ask()
        if question is None:
            break
        interview.tell(question, oracle.answer(question), annotator=annotator)
    return interview


def score(interview):
    return adjusted_rand_score(Y, interview.labels_)


def test_wrong_answers_do_not_undo_the_rest():
    kept, certain = [], []
    for seed in range(2):
        oracle = NoisyOracle(Y, rate=0.1, random_state=seed)
        kept.append(score(answer_all(Interview(X, n_clusters=K, random_state=seed), oracle, 50)))
        certain.append(score(answer_all(Interview(X, n_clusters=K, random_state=seed, errors=0), oracle, 50)))
    assert min(kept) > 0.9
    assert np.mean(kept) > np.mean(certain) + 0.1


def test_planted_wrong_answers_are_suspected_with_their_reasons():
    interview = answer_all(Interview(X, n_clusters=K), LabelOracle(Y), 40)
    assert interview.suspects == ()
    i, j = 0, 1  # of different classes
    for other in (3, 4):  # other answers about both
        interview.tell(Question.pair(i if Y[other] == Y[i] else j, other), "SAME")
    interview.tell(Question.pair(i, j), "SAME")
    suspect = interview.suspects[0]
    assert suspect.question.key == Question.pair(i, j).key
    assert suspect.chance > 0.5 > suspect.predicted
    assert suspect.against or suspect.rows
    assert not suspect.confirmed
    assert "wrong with probability" in str(suspect)
    before = suspect.chance
    interview.confirm(suspect.question)
    again = [s for s in interview.suspects if s.question.key == suspect.question.key]
    assert not again or (again[0].chance < before and again[0].confirmed)
    with pytest.raises(SupervisionError, match="no answer about rows 7, 8 to confirm"):
        interview.confirm(Question.pair(7, 8))


def test_the_rate_is_estimated_with_an_interval():
    rates = []
    for rate in (0.0, 0.15):
        found = answer_all(
            Interview(X, n_clusters=K), NoisyOracle(Y, rate=rate, random_state=5), 60
        ).error_rate
        assert found.low <= found.mean <= found.high
        rates.append(found.mean)
    assert rates[0] < 0.06
    assert rates[1] > rates[0] + 0.04
    assert Interview(X, n_clusters=K).error_rate is None
    assert answer_all(Interview(X, n_clusters=K, errors=0), LabelOracle(Y), 5).error_rate is None


@pytest.mark.parametrize("rate", [0.5, 1, 1.5, -0.1, "often", None, True])
def test_rates_that_say_nothing_are_refused(rate):
    with pytest.raises(ValueError, match="errors must be"):
        Interview(X, n_clusters=K, errors=rate)


def test_certain_answers_are_never_doubted():
    interview = answer_all(Interview(X, n_clusters=K, errors=0), NoisyOracle(Y, rate=0.2), 30)
    assert interview.suspects == ()
    closure = interview.state().closure
    for reply in interview.replies:
        (pair, sign), *_ = list_pairs(reply)
        if sign > 0:
            assert closure.component[pair[0]] == closure.component[pair[1]]


def test_a_model_that_takes_links_as_certain_is_left_alone():
    model = MPCKMeans(n_clusters=K)
    interview = answer_all(Interview(X, model=model, strategy=RandomPairs()), NoisyOracle(Y, rate=0.2), 12)
    assert interview.suspects == ()
    assert interview.error_rate is None


def test_an_interview_that_is_loaded_asks_the_same_and_has_the_same_labels(tmp_path):
    oracle = NoisyOracle(Y, rate=0.1, random_state=2)
    for n in (9, 33):
        interview = answer_all(Interview(X, n_clusters=K, random_state=2), oracle, n)
        interview.save(tmp_path / "held.json")
        loaded = Interview.load(tmp_path / "held.json", X)
        assert loaded.ask() == interview.ask()
        np.testing.assert_array_equal(loaded.labels_, interview.labels_)
        assert [s.reply for s in loaded.suspects] == [s.reply for s in interview.suspects]


def test_an_interview_saved_before_errors_were_known_goes_on(tmp_path):
    path = tmp_path / "old.json"
    answer_all(Interview(X, n_clusters=K), LabelOracle(Y), 6).save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["errors"]
    path.write_text(json.dumps(content), encoding="utf-8")
    loaded = Interview.load(path, X)
    assert loaded.errors == "learn"
    assert answer_all(loaded, LabelOracle(Y), 5).n_answers == 11


def test_with_two_clusters_the_first_link_is_checked():
    two = Y < 2
    X2, y2 = X[two], Y[two]
    interview = Interview(X2, n_clusters=2)
    first = interview.ask()
    assert y2[first.rows[0]] != y2[first.rows[1]]
    interview.tell(first, "SAME")  # wrong
    check = interview.ask()
    assert "this question checks it" in str(check.reason)
    answer_all(interview, LabelOracle(y2), 25)
    assert adjusted_rand_score(y2, interview.labels_) > 0.9


def test_hints_given_beforehand_are_certain():
    given = Supervision.from_links(N, must=[(0, 3)], cannot=[(0, 1)])
    interview = Interview(X, n_clusters=K, supervision=given)
    interview.tell(Question.pair(0, 1), "SAME")
    interview.tell(Question.pair(0, 3), "DIFFERENT")
    assert interview.labels_[0] == interview.labels_[3] != interview.labels_[1]


def test_answers_to_one_pair_add_up_and_negative_weights_reverse_them():
    interview = Interview(X, n_clusters=K)
    for answer in ("SAME", "SAME", "DIFFERENT"):
        interview.tell(Question.pair(0, 3), answer)
    votes = collect_votes(Supervision.empty(N), interview.replies, N)
    assert (votes.must.tolist(), votes.must_weights.tolist()) == ([[0, 3]], [2.0])
    assert (votes.cannot.tolist(), votes.cannot_weights.tolist()) == ([[0, 3]], [1.0])
    turned = collect_votes(Supervision.empty(N), interview.replies, N, [1.0, -2.0, 0.0])
    assert (turned.must_weights.tolist(), turned.cannot_weights.tolist()) == ([1.0], [2.0])


def test_the_metric_is_learned_at_numbers_of_answers_that_depend_on_nothing_else():
    due = [get_metric_answers(n) for n in range(1, 200)]
    assert due == sorted(due)
    assert all(d <= n for n, d in enumerate(due, start=1))
    assert len(set(due[8:100])) < 12


# ---------------------------------------------------------------------- unreliable annotators


class Stubborn:
    """Gives one answer to everything."""

    def __init__(self, answer):
        self.word = answer

    def answer(self, question):
        return self.word


class Liar:
    """Says the opposite of the truth."""

    def answer(self, question):
        truth = LabelOracle(Y).answer(question)
        return Answer.DIFFERENT if truth is Answer.SAME else Answer.SAME


class Guesser:
    """Answers at random, and the same question alike."""

    def answer(self, question):
        return ("SAME", "DIFFERENT")[np.random.default_rng(question.key[1]).integers(2)]


@pytest.mark.parametrize("oracle", [Stubborn("SAME"), Stubborn("DIFFERENT"), Liar(), Guesser()])
def test_who_answers_badly_gets_labels_and_an_honest_word(oracle):
    interview = answer_all(Interview(X, n_clusters=K), oracle, 15)
    assert len(np.unique(interview.labels_)) >= 1
    seen = interview.progress()
    assert seen.error_rate == interview.error_rate.mean
    assert seen.n_suspects == len(interview.suspects)
    assert seen.advice


def test_answers_that_disagree_with_the_rows_are_reported():
    seen = answer_all(Interview(X, n_clusters=K), Liar(), 30).progress()
    assert seen.start_accuracy < 0.3
    assert "disagree with the rows" in seen.advice


def test_a_liar_beside_an_honest_annotator_does_little_harm():
    honest, liar = LabelOracle(Y), Liar()
    interview = Interview(X, n_clusters=K)
    for turn in range(45):
        question = interview.ask()
        if question is None:
            break
        who, oracle = ("Ann", honest) if turn % 3 else ("Lou", liar)
        interview.tell(question, oracle.answer(question), annotator=who)
    assert score(interview) > 0.7


def test_two_people_who_disagree_on_everything_leave_the_rows_to_decide():
    interview = Interview(X, n_clusters=K)
    start = score(interview)
    for _ in range(20):
        question = interview.ask()
        interview.tell(question, LabelOracle(Y).answer(question), annotator="Ann")
        interview.tell(question, Liar().answer(question), annotator="Lou")
    assert score(interview) >= start - 0.1
    assert len(interview.contradictions) > 0


def test_errors_between_look_alikes_do_less_harm_than_to_certain_answers():
    hard, y = blobs(gap=3.0)
    finals = {"learn": [], 0: []}
    for errors, seed in product(finals, range(2)):
        oracle = make_oracle("look-alike", y, hard, rate=0.15, random_state=seed)
        interview = Interview(hard, n_clusters=K, random_state=seed, errors=errors)
        finals[errors].append(simulate(interview, oracle, 60, y_true=y, every=60).final)
    assert np.mean(finals["learn"]) > np.mean(finals[0]) + 0.05


def make_merged_groups(annotators=("Ann", "Ann")):
    """Link two groups of three rows by a single SAME answer of the last annotator."""
    interview = Interview(X, n_clusters=K, random_state=0)
    groups = [np.flatnonzero(mask)[:3] for mask in (Y == 0, Y == 1)]
    for (i, j, k), annotator in zip(groups, annotators, strict=True):
        interview.tell(Question.pair(int(i), int(j)), "SAME", annotator=annotator)
        interview.tell(Question.pair(int(j), int(k)), "SAME", annotator=annotator)
    interview.tell(Question.pair(int(groups[0][1]), int(groups[1][1])), "SAME", annotator=annotators[1])
    return interview, groups


def is_across(question, groups):
    i, j = question.rows
    return (i in groups[0] and j in groups[1]) or (j in groups[0] and i in groups[1])


def test_the_only_link_between_two_groups_is_checked_once():
    interview, groups = make_merged_groups()
    check = interview.ask()
    assert is_across(check, groups)
    assert "the only link between groups of 3 and 3 rows" in str(check.reason)
    interview.tell(check, "SAME")
    assert not is_across(interview.ask(), groups)
    assert len(np.unique(interview.labels_[np.concatenate(groups)])) == 1


def test_a_contradicting_check_splits_the_groups():
    interview, groups = make_merged_groups()
    interview.tell(interview.ask(), "DIFFERENT")
    labels = [set(interview.labels_[group].tolist()) for group in groups]
    assert [len(found) for found in labels] == [1, 1]
    assert labels[0] != labels[1]


def test_nobody_checks_their_own_answer_where_others_can():
    interview, groups = make_merged_groups(("Ann", "Bob"))
    assert is_across(interview.ask(annotator="Ann"), groups)
    assert not is_across(interview.ask(annotator="Bob"), groups)
    alone, groups = make_merged_groups(("Bob", "Bob"))
    assert is_across(alone.ask(annotator="Bob"), groups)


def test_certain_answers_are_not_checked():
    interview, groups = make_merged_groups()
    certain = Interview(X, n_clusters=K, random_state=0, errors=0)
    for reply in interview.replies:
        certain.tell(reply.question, reply.answer)
    assert not is_across(certain.ask(), groups)


def test_a_pile_can_be_checked_before_any_pair_was_asked():
    interview = Interview(X, n_clusters=6, random_state=0)
    interview.tell(Question.piles([0, 3, 6, 9]), [[0, 3, 6, 9]])
    assert interview.ask() is not None


def test_somebody_who_says_same_to_everything_is_reported():
    interview = Interview(X, n_clusters=K, random_state=0)
    for _ in range(15):
        interview.tell(interview.ask(), "SAME")
    seen = interview.progress()
    assert "nothing separates the clusters" in seen.advice
    assert seen.worth_asking
