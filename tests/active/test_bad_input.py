"""Small, degenerate and invalid input for interviews, with every kind of question."""

import numpy as np
import pytest

from likewise.active import Answer, FarthestFirst, FillTray, Interview, OddOne, Piles, Question, RandomPairs
from likewise.exceptions import FileFormatError, SupervisionError
from likewise.oracles import LabelOracle

pytestmark = pytest.mark.filterwarnings("ignore:.*(distinct clusters|before its labels settled).*")
STRATEGIES = [None, RandomPairs(), FarthestFirst(), FillTray(), FillTray(size=3)]
every = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
EIGHT = np.arange(16.0).reshape(8, 2)


def answer_all(interview, answer):
    """Answer everything; the rows or the budget must end it."""
    while (question := interview.ask()) is not None:
        interview.tell(question, answer(question))
        assert interview.n_answers < 500
    return interview


class Asks:
    """Asks one tray and no more."""

    name, needs = "asks", frozenset()

    def __init__(self, question):
        self.question = question

    def choose(self, state, n):
        return [self.question] if state.can_ask(self.question) else []


# ---------------------------------------------------------------------- few rows, equal rows, many clusters


@every
@pytest.mark.parametrize("X", [[[0.0], [1.0]], [[3.0, 3.0], [3.0, 3.0]]])
@pytest.mark.parametrize("y", [[0, 0], [0, 1]])
@pytest.mark.filterwarnings("ignore:.*rows of X are equal")
def test_two_rows_have_one_question(strategy, X, y):
    asking = answer_all(Interview(X, n_clusters=2, strategy=strategy), LabelOracle(y).answer)
    assert asking.n_answers == 1
    assert asking.state().knows(0, 1) == ("must" if y[0] == y[1] else "cannot")
    assert len(asking.labels_) == 2
    assert asking.progress().advice == "There is nothing left to ask."


def test_one_row_has_none():
    asking = Interview([[0.0]])
    assert asking.ask() is None
    with pytest.raises(ValueError, match="n_clusters=2, but there are only 1 rows"):
        Interview([[0.0]], n_clusters=2)


@every
@pytest.mark.filterwarnings("ignore:.*rows of X are equal")
def test_identical_rows_are_distinguished_by_the_answers_alone(strategy):
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    asking = answer_all(Interview(np.ones((8, 2)), n_clusters=3, strategy=strategy), LabelOracle(y).answer)
    rows = np.arange(8)
    known = asking.state().relations(rows[:, None], rows[None, :])
    assert (known == np.where(y[:, None] == y[None, :], 1, -1)).all()
    assert np.isfinite(asking.labels_).all()
    assert np.isfinite(asking.progress().changed)


@every
def test_as_many_clusters_as_rows(strategy):
    asking = answer_all(Interview(EIGHT, n_clusters=8, strategy=strategy), LabelOracle(np.arange(8)).answer)
    assert (asking.state().relations(np.arange(7), np.arange(1, 8)) == -1).all()
    assert asking.contradictions == ()


@every
def test_more_clusters_than_rows_are_refused(strategy):
    with pytest.raises(ValueError, match="n_clusters=9, but there are only 8 rows"):
        Interview(EIGHT, n_clusters=9, strategy=strategy)


# ---------------------------------------------------------------------- budgets and odd oracles


@every
@pytest.mark.parametrize("say", ["truth", "unsure", "twice"])
def test_a_budget_larger_than_all_pairs_ends_cleanly(strategy, say):
    y = np.array([0, 0, 0, 1, 1, 1])
    asking = Interview(EIGHT[:6], n_clusters=2, strategy=strategy, budget=10_000)
    truth = LabelOracle(y).answer
    if say == "twice":
        while (question := asking.ask()) is not None:
            asking.tell(question, truth(question))
            asking.tell(question, truth(question))
    else:
        answer_all(asking, truth if say == "truth" else lambda question: Answer.UNSURE)
    assert asking.finished
    assert asking.left > 9_900
    assert asking.contradictions == ()
    pairs = [reply for reply in asking.replies if reply.question.kind == "pair"]
    assert len({reply.question.key for reply in pairs}) <= 15
    if say == "unsure":
        assert len(pairs) == 15
        assert not asking.supervision
    else:
        assert np.array_equal(asking.labels_ == asking.labels_[0], y == 0)


def test_the_budget_counts_a_tray_as_one_question():
    asking = Interview(EIGHT, n_clusters=2, strategy=FillTray(size=4), budget=2)
    for _ in range(2):
        asking.tell(question := asking.ask(), LabelOracle(np.arange(8) // 4).answer(question))
    assert (asking.n_answers, asking.left, asking.ask()) == (2, 0, None)


def test_an_answer_to_another_tray_is_kept_as_that():
    asking = Interview(EIGHT, n_clusters=2, strategy=Asks(Question.piles([0, 1, 2])))
    other = Question.piles([3, 4, 5])
    asking.tell(other, [[3, 4], [5]])
    assert asking.ask() == Question.piles([0, 1, 2])
    assert asking.state().knows(3, 5) == "cannot"


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda a: a.tell(Question.piles([0, 1, 8]), [[0, 1]]),
            "contains row 8, but the rows are numbered 0 to 7",
        ),
        (lambda a: a.tell(Question.odd([0, 1, 8]), OddOne(8)), "contains row 8"),
        (lambda a: a.skip(Question.odd([0, 1, 9])), "contains row 9"),
        (lambda a: a.tell(Question.piles([0, 1, 2]), [[0, 1], [3]]), "row 3 is not in the question"),
        (lambda a: a.tell(Question.piles([0, 1, 2]), [[0, 1], [1, 2]]), "row 1 occurs twice"),
        (lambda a: a.tell(Question.piles([0, 1, 2]), [[0, 1, 2], []]), "a pile is empty"),
        (lambda a: a.tell(Question.piles([0, 1, 2]), [0, 1]), "piles are lists of row numbers"),
        (lambda a: a.tell(Question.piles([0, 1, 2]), {"piles": [[0, 1]]}), "does not answer a tray"),
        (lambda a: a.tell(Question.piles([0, 1, 2]), "SAME"), "SAME does not answer a tray"),
        (lambda a: a.tell(Question.odd([0, 1, 2]), Piles([[0, 1]])), "does not answer an odd one out"),
        (lambda a: a.tell(Question.odd([0, 1, 2]), 5), "row 5 is not in the question"),
        (lambda a: a.tell(Question.pair(0, 1), [[0, 1]]), "does not answer a pair; expected one of SAME"),
        (lambda a: a.ask(exclude=[(0, 1, 2)]), "expected questions"),
    ],
)
def test_what_cannot_be_stated_changes_nothing(act, message):
    asking = Interview(EIGHT, n_clusters=2)
    with pytest.raises(SupervisionError, match=message):
        act(asking)
    assert asking.history == ()


# ---------------------------------------------------------------------- files


@pytest.fixture
def saved(tmp_path):
    asking = Interview(EIGHT, n_clusters=2, strategy=RandomPairs(), ids=list("abcdefgh"))
    asking.tell(Question.piles([0, 1, 7]), [[0, 1], [7]])
    asking.tell(Question.odd([2, 3, 6]), 6)
    asking.save(tmp_path / "i.json")
    return tmp_path / "i.json"


def test_a_file_with_trays_that_is_cut_short_is_refused(saved):
    whole = saved.read_bytes()
    for length in range(0, len(whole) - 2, 11):
        saved.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="truncated"):
            Interview.load(saved, EIGHT, ids=list("abcdefgh"))


@pytest.mark.parametrize("other", [EIGHT[:7], EIGHT + 1, EIGHT[::-1], EIGHT[:, :1]])
def test_a_file_with_trays_is_for_its_rows_alone(saved, other):
    with pytest.raises(FileFormatError, match="about other rows"):
        Interview.load(saved, other, ids=list("abcdefgh")[: len(other)])


def test_a_newer_file_is_refused_even_if_it_looks_familiar(saved):
    saved.write_text(saved.read_text(encoding="utf-8").replace('"version": 3', '"version": 99'), "utf-8")
    with pytest.raises(FileFormatError, match="got 99, written by a newer likewise"):
        Interview.load(saved, EIGHT, ids=list("abcdefgh"))
