"""Interviews by hand: questions, answers, their implications, and invalid input."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise import COPKMeans, DiscriminativeClustering, MPCKMeans, SeededKMeans, Supervision
from likewise.active import (
    Answer,
    FarthestFirst,
    GroupQuestions,
    Interview,
    MarginalUncertainty,
    NodeUncertainty,
    NormalizedPointUncertainty,
    Question,
    RandomPairs,
    Reply,
    UncertainRegions,
)
from likewise.exceptions import LikewiseError, SupervisionError, UnsupportedSupervisionError
from likewise.spectral import PropagationClustering

X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [5.4]])
Y = [0, 0, 0, 1, 1, 1]


def interview(**more):
    return Interview(X, **{"n_clusters": 2, "strategy": RandomPairs(), "random_state": 3} | more)


class Counting(MPCKMeans):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y=None, *, supervision=None, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, supervision=supervision)


class Listed:
    """Asks given questions, regardless of what is known."""

    name = "listed"
    needs = frozenset()

    def __init__(self, *pairs):
        self.pairs = pairs

    def choose(self, state, n):
        return [Question.pair(*pair) for pair in self.pairs]


# ---------------------------------------------------------------------- questions and answers


def test_the_question_stays_until_something_is_reported():
    asking = interview()
    question = asking.ask()
    assert asking.ask() == question == asking.ask(1)[0]
    asking.tell(question, "SAME")
    assert asking.ask().key != question.key
    assert asking.n_answers == 1


def test_batches_are_distinct_and_leave_out_what_others_think_about():
    asking = interview()
    for_ann = asking.ask(3)
    for_bob = asking.ask(3, exclude=for_ann)
    assert len({q.key for q in [*for_ann, *for_bob]}) == 6
    assert asking.ask(exclude=for_ann[0]).key != for_ann[0].key
    assert len(asking.ask(1000)) == 15


def test_a_link_comes_of_each_answer_and_unsure_says_nothing():
    asking = interview()
    asking.tell(Question.pair(1, 0), Answer.SAME, annotator="Ann", time="2026-03-09", seconds=2)
    asking.tell(Question.pair(0, 3), "different")
    asking.tell(Question.pair(2, 4), Answer.UNSURE)
    assert asking.supervision == Supervision.from_links(6, must=[(0, 1)], cannot=[(0, 3)])
    assert [reply.answer for reply in asking.replies] == ["SAME", "DIFFERENT", "UNSURE"]
    assert asking.replies[0].annotator == "Ann"
    assert Question.pair(2, 4).key not in {question.key for question in asking.ask(100)}


def test_triplets_are_taken_in_the_order_of_their_rows():
    asking = interview()
    asking.tell(Question.triplet(4, 1, 0), "BC")
    asking.tell(Question.triplet(1, 2, 3), "UNSURE")
    assert asking.supervision == Supervision.from_triplets(6, [(0, 1, 4)], "AB")
    # MPCKMeans supports links, so it gets the links that the triplet implies.
    assert asking.labels_[0] == asking.labels_[1] != asking.labels_[4]
    assert {q.key for q in asking.ask(100)}.isdisjoint({("pair", (0, 1)), ("pair", (0, 4)), ("pair", (1, 4))})


def test_a_model_that_supports_triplets_gets_them():
    asking = interview(model=DiscriminativeClustering(n_clusters=2))
    asking.tell(Question.triplet(0, 1, 4), "AB")
    assert asking.model_.labels_.shape == (6,)
    assert asking.supervision.kinds == {"triplets"}


def test_skipping_is_remembered_and_costs_nothing():
    asking = interview(budget=4)
    question = asking.ask()
    asking.skip(question)
    assert asking.ask().key != question.key
    assert (asking.n_answers, asking.left, len(asking.history)) == (0, 4, 1)
    assert asking.supervision == Supervision.empty(6)


def test_undo_is_an_event():
    asking = interview()
    first = asking.ask()
    asking.tell(first, "SAME")
    second = asking.ask()
    asking.skip(second)
    assert asking.undo().question == second
    assert asking.ask() == second
    assert asking.undo().reply.answer is Answer.SAME
    assert asking.ask() == first
    assert [event.kind for event in asking.history] == ["answer", "skip", "undo", "undo"]
    assert [event.undoes for event in asking.history] == [None, None, 1, 0]
    with pytest.raises(SupervisionError, match="no answer to undo"):
        asking.undo()


def test_an_older_answer_can_be_undone():
    asking = interview()
    asking.tell(Question.pair(0, 1), "SAME")
    asking.tell(Question.pair(0, 2), "SAME")
    asking.undo(Question.pair(1, 0))
    assert asking.supervision.must.tolist() == [[0, 2]]
    with pytest.raises(SupervisionError, match="no answer about rows 0, 1 to undo"):
        asking.undo(Question.pair(0, 1))


def test_an_answer_nobody_asked_for_is_welcome():
    asking = interview(strategy=FarthestFirst())
    asking.tell(Question.pair(2, 5), "DIFFERENT")
    assert asking.state().knows(2, 5) == "cannot"


# ---------------------------------------------------------------------- contradictions


def test_contradictions_are_shown_with_their_chain_and_go_with_an_undo():
    asking = interview()
    for pair, answer in [((0, 1), "SAME"), ((1, 2), "SAME"), ((0, 2), "DIFFERENT"), ((4, 5), "SAME")]:
        asking.tell(Question.pair(*pair), answer)
    (found,) = asking.contradictions
    assert (found.rows, found.chain) == ((0, 2), (0, 1, 2))
    assert [reply.question.rows for reply in found.replies] == [(0, 1), (1, 2), (0, 2)]
    assert str(found) == "rows 0 and 2 are cannot-linked, but must-links connect them: 0 = 1 = 2"
    assert len(asking.labels_) == len(X)  # no warning, no error
    assert asking.state().knows(0, 2) == "must"
    asking.undo(Question.pair(1, 2))
    assert asking.contradictions == ()
    assert asking.state().knows(0, 2) == "cannot"
    assert len(asking.history) == 5


def test_two_people_who_disagree_are_both_kept():
    asking = interview()
    question = asking.ask()
    asking.tell(question, "DIFFERENT", annotator="Ann")
    asking.tell(question, "SAME", annotator="Bob")
    assert [reply.annotator for reply in asking.contradictions[0].replies] == ["Ann", "Bob"]
    assert asking.contradictions[0].rows == question.rows
    assert asking.n_answers == 2


def test_the_same_answer_twice_is_one_link():
    asking = interview()
    question = asking.ask()
    asking.tell(question, "SAME")
    once = asking.supervision
    asking.tell(question, "SAME")
    assert asking.supervision == once
    assert asking.contradictions == ()


def test_a_hard_method_goes_on_after_a_contradiction():
    asking = interview(model=COPKMeans(n_clusters=2))
    asking.tell(Question.pair(0, 3), "SAME")
    asking.tell(Question.pair(0, 3), "DIFFERENT")
    assert asking.labels_[0] == asking.labels_[3]


# ---------------------------------------------------------------------- models


def test_a_fit_is_made_only_when_there_is_news_and_somebody_looks():
    Counting.fits = 0
    asking = interview(model=Counting(n_clusters=2))
    asking.tell(asking.ask(), "DIFFERENT")
    asking.ask()
    assert Counting.fits == 0  # random pairs need no labels
    _ = asking.labels_, asking.labels_, asking.model_
    assert Counting.fits == 1
    asking.tell(asking.ask(), "UNSURE")
    _ = asking.labels_
    assert Counting.fits == 1  # there was no answer
    asking.tell(asking.ask(), "SAME")
    _ = asking.labels_
    assert Counting.fits == 2


def test_a_strategy_that_looks_at_labels_costs_one_fit_an_answer():
    Counting.fits = 0
    asking = interview(model=Counting(n_clusters=2), strategy=NodeUncertainty("local"))
    for answers in range(1, 4):
        asking.ask()
        _ = asking.ask(2), asking.labels_, asking.finished
        assert Counting.fits == answers
        i, j = asking.ask().rows
        asking.tell(Question.pair(i, j), "SAME" if Y[i] == Y[j] else "DIFFERENT")


def test_the_given_model_is_not_touched_and_gets_the_seed():
    model = MPCKMeans(n_clusters=2)
    asking = interview(model=model, random_state=11)
    assert asking.model_.random_state == 11
    assert model.random_state is None
    assert not hasattr(model, "labels_")
    assert interview(model=MPCKMeans(n_clusters=2, random_state=5)).model_.random_state == 5


def test_a_pipeline_is_a_model_where_hints_are_routed():
    model = make_pipeline(StandardScaler(), MPCKMeans(n_clusters=2))
    with config_context(enable_metadata_routing=True):
        asking = interview(model=model, strategy=NodeUncertainty("local"))
        asking.tell(asking.ask(), "DIFFERENT")
        asking.tell(Question.triplet(0, 1, 4), "AB")
        assert asking.ask() is not None
        assert asking.labels_ is asking.model_[-1].labels_
        assert asking.model_[-1].random_state == asking.random_state


def test_the_default_model_and_strategy():
    asking = Interview(X, n_clusters=2)
    assert isinstance(asking.model_, PropagationClustering)
    assert asking.strategy == UncertainRegions()
    assert Interview(X, model=MPCKMeans(n_clusters=2)).strategy == NodeUncertainty("local")
    assert Interview(X).strategy == GroupQuestions()


def test_a_strategy_may_be_given_by_its_name():
    named, made = interview(strategy="npu"), interview(strategy=NormalizedPointUncertainty())
    assert named.strategy == made.strategy
    assert named.ask() == made.ask()
    assert interview(strategy="default").strategy == interview(strategy=None).strategy


def test_the_name_of_a_strategy_brings_the_model_that_it_needs_unless_one_is_given():
    assert type(interview(strategy="info").model).__name__ == "BayesianClustering"
    assert interview(strategy="info").model.n_clusters == 2
    assert isinstance(interview(strategy="npu", model=MPCKMeans(n_clusters=2)).model, MPCKMeans)
    with pytest.raises(LikewiseError, match="needs posterior draws"):
        interview(strategy="info", model=MPCKMeans(n_clusters=2))


def test_without_a_model_questions_can_be_asked_but_rows_not_labelled():
    asking = Interview(X, strategy=FarthestFirst())
    assert asking.ask() is not None
    with pytest.raises(ValueError, match=r"no model to label the rows. Pass n_clusters, or model"):
        _ = asking.labels_


def test_groups_open_as_answers_demand():
    asking = interview(n_clusters=None, discover=True)
    assert len(set(asking.labels_)) == 2
    assert asking.state().n_clusters is None
    for pair in [(0, 2), (2, 5), (0, 5), (0, 3)]:
        asking.tell(Question.pair(*pair), "DIFFERENT")
    assert asking.model_.n_clusters == 3  # 3 may be with 2 or with 5
    asking.tell(Question.pair(3, 5), "DIFFERENT")
    asking.tell(Question.pair(3, 2), "DIFFERENT")
    assert asking.model_.n_clusters == 4
    assert len(set(asking.labels_[[0, 2, 3, 5]])) == 4


def test_given_hints_are_not_asked_again():
    hints = Supervision.from_links(6, must_groups=[[0, 1, 2], [3, 4, 5]])
    asking = interview(supervision=hints)
    assert {question.key for question in asking.ask(100)} == {
        ("pair", (i, j)) for i in range(3) for j in range(3, 6)
    }
    asking.tell(asking.ask(), "DIFFERENT")
    assert asking.finished
    assert asking.given == hints


# ---------------------------------------------------------------------- the end


def test_the_budget_ends_it_and_a_late_answer_is_kept():
    asking = interview(budget=2)
    first, second = asking.ask(5)
    assert asking.ask(exclude=[first, second]) is None
    asking.tell(first, "SAME")
    assert asking.left == 1
    assert len(asking.ask(5)) == 1
    asking.tell(second, "UNSURE")
    assert asking.ask() is None
    assert asking.ask(5) == []
    assert asking.finished
    asking.tell(Question.pair(4, 5), "SAME")
    assert (asking.n_answers, asking.left) == (3, 0)
    asking.budget = 4
    assert not asking.finished


@pytest.mark.parametrize("strategy", [None, RandomPairs(), FarthestFirst()])
@pytest.mark.parametrize("say", ["SAME", "DIFFERENT", "UNSURE", "truth"])
def test_a_budget_beyond_all_pairs_ends_cleanly(strategy, say):
    asking = interview(strategy=strategy, budget=1000, n_clusters=2)
    while (question := asking.ask()) is not None:
        i, j = question.rows
        asking.tell(question, ("SAME" if Y[i] == Y[j] else "DIFFERENT") if say == "truth" else say)
        assert asking.n_answers <= 15
    assert asking.finished
    assert asking.ask(3) == []
    if say == "UNSURE":
        assert asking.n_answers == 15
    if say == "truth":
        assert asking.labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])


@pytest.mark.filterwarnings("ignore:.*rows of X are equal")
def test_two_rows_have_one_question():
    asking = Interview([[0.0], [1.0]], n_clusters=2)
    asking.tell(asking.ask(), "DIFFERENT")
    assert asking.finished
    assert asking.labels_[0] != asking.labels_[1]


@pytest.mark.filterwarnings("ignore:.*distinct clusters.*")
@pytest.mark.filterwarnings("ignore:.*rows of X are equal")
def test_identical_rows_can_be_asked_about():
    asking = Interview(np.ones((5, 2)), n_clusters=2)
    while (question := asking.ask()) is not None:
        asking.tell(question, "SAME" if sum(row < 3 for row in question.rows) != 1 else "DIFFERENT")
    assert asking.state().knows(0, 2) == "must"
    assert np.isfinite(asking.labels_).all()


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"n_clusters": 7}, ValueError, "n_clusters=7, but there are only 6 rows"),
        ({"n_clusters": 1}, ValueError, "an integer of at least 2"),
        ({"n_clusters": 2.0}, ValueError, "an integer of at least 2"),
        ({"random_state": None}, ValueError, "random_state must be"),
        ({"budget": -1}, ValueError, "budget must be"),
        ({"discover": "yes"}, ValueError, "discover must be True or False"),
        ({"strategy": RandomPairs}, TypeError, r"a strategy such as RandomPairs\(\)"),
        ({"strategy": "npv"}, ValueError, "there is no strategy 'npv'; did you mean 'npu'?"),
        ({"strategy": 7}, TypeError, "or the name of a strategy, such as 'npu'; got 7"),
        ({"n_clusters": None, "strategy": "info"}, ValueError, "needs a model. Pass n_clusters"),
        ({"model": MPCKMeans}, TypeError, "must be an estimator such as"),
        ({"model": MPCKMeans(n_clusters=3)}, ValueError, "Set only one of them"),
        ({"model": KMeans(n_clusters=2)}, UnsupportedSupervisionError, "does not support hints"),
        (
            {"model": SeededKMeans(n_clusters=2)},
            UnsupportedSupervisionError,
            "answers of an interview are links",
        ),
        (
            {"strategy": MarginalUncertainty(), "model": MPCKMeans(n_clusters=2)},
            LikewiseError,
            "needs probabilities",
        ),
        (
            {"strategy": "info", "model": DiscriminativeClustering(n_clusters=2)},  # it has probabilities
            LikewiseError,
            "'info' needs posterior draws, which DiscriminativeClustering does not have. Use Bayesian",
        ),
        ({"n_clusters": None, "strategy": NodeUncertainty()}, ValueError, "needs a model. Pass n_clusters"),
        ({"supervision": Supervision.empty(5)}, SupervisionError, "hints for the 6 rows"),
        ({"supervision": [(0, 1)]}, SupervisionError, "hints for the 6 rows"),
        (
            {"supervision": Supervision.from_bags([0, 0, 1, 1, 2, 2], {0: ["a"], 1: ["b"]})},
            UnsupportedSupervisionError,
            r"cannot use bags. Convert the hints to links with hints.to_links\(\)",
        ),
    ],
)
def test_what_an_interview_cannot_begin_with(more, error, message):
    with pytest.raises(error, match=message):
        interview(**more)


def test_rows_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        Interview([[0.0], [np.nan]], n_clusters=2)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda a: a.tell((0, 1), "SAME"), SupervisionError, "expected a Question"),
        (
            lambda a: a.tell(Question.pair(0, 6), "SAME"),
            SupervisionError,
            "contains row 6, but the rows are numbered",
        ),
        (lambda a: a.tell(Question.pair(0, 1), "perhaps"), SupervisionError, "does not answer a pair"),
        (lambda a: a.tell(Question.pair(0, 1), "AB"), SupervisionError, "does not answer a pair"),
        (lambda a: a.skip(Question.pair(0, 9)), SupervisionError, "of another interview"),
        (lambda a: a.ask(0), ValueError, "n must be an integer of at least 1"),
        (lambda a: a.ask(exclude=[(0, 1)]), SupervisionError, "expected questions"),
    ],
)
def test_what_cannot_be_asked_or_reported_changes_nothing(act, error, message):
    asking = interview()
    with pytest.raises(error, match=message):
        act(asking)
    assert asking.history == ()


@pytest.mark.parametrize("pairs", [[(0, 1)], [(2, 3), (2, 3)], [(2, 3), (3, 4)]])
def test_a_strategy_that_breaks_the_rules_is_found_out(pairs):
    asking = interview(strategy=Listed(*pairs))
    asking.tell(Question.pair(0, 1), "SAME")
    with pytest.raises(LikewiseError, match="This is a bug in the strategy"):
        asking.ask()


def test_it_says_what_it_is():
    asking = interview(budget=5)
    asking.tell(asking.ask(), "UNSURE")
    assert repr(asking) == "Interview(6 rows, strategy 'random': 1 answers, 4 left)"


# ---------------------------------------------------------------------- programs that replace answers


def test_replaced_answers_are_those_of_a_new_interview():
    asking, fresh = Interview(X, n_clusters=2), Interview(X, n_clusters=2)
    for answer in ("SAME", "DIFFERENT", "SAME"):
        asking.tell(asking.ask(), answer)
    replies = [Reply(Question.pair(0, 1), "SAME"), Reply(Question.pair(2, 3), "DIFFERENT")]
    asking.replace(replies, [Question.pair(1, 4)])
    for reply in replies:
        fresh.tell(reply.question, reply.answer)
    fresh.skip(Question.pair(1, 4))
    assert asking.history == fresh.history
    assert asking.ask() == fresh.ask()
    np.testing.assert_array_equal(asking.labels_, fresh.labels_)
    with pytest.raises(SupervisionError, match="row 99"):
        asking.replace([Reply(Question.pair(0, 99), "SAME")])


def test_an_answer_counts_as_often_as_its_weight():
    once, twice = Interview(X, n_clusters=2), Interview(X, n_clusters=2)
    replies = [Reply(Question.pair(0, 1), "SAME"), Reply(Question.pair(1, 3), "DIFFERENT")]
    once.replace(replies)
    before = once.error_rate.mean
    once.replace(replies, weights=[3.0, 1.0])
    for reply in (*replies, replies[0], replies[0]):
        twice.tell(reply.question, reply.answer)
    assert once.error_rate.mean == twice.error_rate.mean != before
    once.replace(replies)
    assert once.error_rate.mean == before


def test_a_branch_shares_the_fits_but_not_the_answers():
    Counting.fits = 0
    asking = Interview(X, model=Counting(2))
    asking.tell(Question.pair(0, 3), "DIFFERENT")
    labels = asking.labels_
    other = asking.branch()
    assert (other.n_answers, asking.n_answers) == (0, 1)
    other.replace(asking.replies)
    np.testing.assert_array_equal(other.labels_, labels)
    assert Counting.fits == 1


def test_labels_after_the_first_answers():
    asking = interview()
    before = asking.labels_
    asking.tell(Question.pair(0, 3), "SAME")
    np.testing.assert_array_equal(asking.labels_after(0), before)
    np.testing.assert_array_equal(asking.labels_after(1), asking.labels_)
    with pytest.raises(ValueError, match="n_answers must be"):
        asking.labels_after(-1)
