"""The odd one out, and trays sorted into piles: questions, implied links, and invalid input."""

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.active import Answer, Interview, OddOne, Piles, Question, RandomPairs, Reply
from likewise.exceptions import FileFormatError, SupervisionError, TooFewClustersWarning

X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [9.0], [9.2], [9.4]])
Y = np.array([0, 0, 0, 1, 1, 2, 2, 2])


def interview(**more):
    return Interview(X, **{"n_clusters": 3, "strategy": RandomPairs(), "random_state": 3} | more)


# ---------------------------------------------------------------------- questions and answers


def test_a_tray_is_known_by_its_rows_in_any_order():
    tray = Question.piles([np.int64(7), 3, 5], score=0.5, reason="Why not?")
    assert (tray.kind, tray.rows, tray.score) == ("piles", (3, 5, 7), 0.5)
    assert tray.key == Question.piles((5, 7, 3)).key != Question.odd([3, 5, 7]).key
    assert tray.text == "Which of rows 3, 5 and 7 belong together? Sort them into piles."
    assert Question.odd([4, 1, 7]).text == "Which of rows 1, 4 and 7 does not belong with the others?"
    assert len(Question.piles(range(12)).rows) == 12


def test_piles_have_one_form():
    assert Piles([[7, 3], (np.int64(1),)]) == Piles(((1,), (3, 7)))
    assert Piles([[7, 3], [1]]).groups == ((1,), (3, 7))
    assert str(Piles([[7, 3], [1]])) == "1 | 3 7"
    assert str(OddOne(np.int64(4))) == "ODD 4"
    assert type(OddOne(np.int64(4)).row) is int


def test_answers_are_brought_to_one_form():
    odd, tray = Question.odd([0, 3, 4]), Question.piles([0, 1, 3])
    assert odd.check_answer(3) == odd.check_answer(OddOne(3)) == odd.check_answer(np.int64(3)) == OddOne(3)
    assert [odd.check_answer(word) for word in ("same", "NEITHER", "unsure")] == ["SAME", "NEITHER", "UNSURE"]
    assert tray.check_answer([[3], [1, 0]]) == tray.check_answer(((0, 1), (3,))) == Piles([[0, 1], [3]])
    assert tray.check_answer("unsure") is Answer.UNSURE


def test_piles_that_say_nothing_are_unsure():
    tray = Question.piles([0, 1, 3])
    assert tray.check_answer([]) is tray.check_answer([[3]]) is Answer.UNSURE
    assert tray.check_answer([[3], [1]]) == Piles([[1], [3]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Question.piles([4]), "a tray has 2 to 12 different rows"),
        (lambda: Question.piles(range(13)), "a tray has 2 to 12 different rows"),
        (lambda: Question.piles([4, 5, 4]), "a tray has 2 to 12 different rows"),
        (lambda: Question.odd([4, 5]), "an odd one out has 3 to 12 different rows"),
        (lambda: Question.odd(range(13)), "an odd one out has 3 to 12 different rows"),
        (lambda: Question.odd([1, 2, 2]), "an odd one out has 3 to 12 different rows"),
        (lambda: Question.piles([4, -1]), "expected row numbers"),
        (lambda: Question.piles([4, 1.5]), "expected row numbers"),
        (lambda: OddOne("3"), "expected row numbers"),
        (lambda: Piles([[0, 1], []]), "a pile is empty"),
        (lambda: Piles([[0, 1], [1, 2]]), "row 1 occurs twice"),
        (lambda: Piles([[0, 0]]), "row 0 occurs twice"),
        (lambda: Piles([0, 1]), r"piles are lists of row numbers, such as \[\[0, 3\], \[1\]\]"),
        (lambda: Piles(3), "piles are lists of row numbers"),
        (lambda: Piles(["01"]), "expected row numbers"),
        (
            lambda: Question.piles([0, 1, 2]).check_answer([[0, 1], [3]]),
            "row 3 is not in the question, .* 0, 1, 2",
        ),
        (lambda: Question.odd([0, 1, 2]).check_answer(3), "row 3 is not in the question"),
        (lambda: Question.odd([0, 1, 2]).check_answer([[0, 1], [2]]), "does not answer an odd one out"),
        (lambda: Question.odd([0, 1, 2]).check_answer(True), "True does not answer an odd one out"),
        (
            lambda: Question.odd([0, 1, 2]).check_answer("DIFFERENT"),
            "DIFFERENT does not answer an odd one out",
        ),
        (lambda: Question.piles([0, 1, 2]).check_answer("SAME"), "SAME does not answer a tray; .*, or piles"),
        (lambda: Question.piles([0, 1, 2]).check_answer(OddOne(1)), "does not answer a tray"),
        (lambda: Question.pair(0, 1).check_answer(OddOne(1)), "does not answer a pair"),
        (lambda: Question.triplet(0, 1, 2).check_answer(Piles([[0, 1]])), "does not answer a triplet"),
        (lambda: Question.pair(0, 1).check_answer(1), "1 does not answer a pair"),
    ],
)
def test_what_is_no_tray_or_no_answer_to_one_is_refused(make, message):
    with pytest.raises(SupervisionError, match=message):
        make()


def test_a_reply_names_rows_whatever_their_order():
    reply = Reply(Question.piles([0, 1, 3]), [[1, 0], [3]])
    assert reply.to(Question.piles([3, 1, 0])) == Piles([[0, 1], [3]])
    assert Reply(Question.odd([0, 1, 3]), 1).to(Question.odd([3, 1, 0])) == OddOne(1)
    with pytest.raises(SupervisionError, match=r"asked .* answered"):
        reply.to(Question.odd([0, 1, 3]))


@pytest.mark.parametrize(
    ("question", "answer", "piles"),
    [
        (Question.pair(0, 4), "SAME", ((0, 4),)),
        (Question.pair(0, 4), "DIFFERENT", ((0,), (4,))),
        (Question.pair(0, 4), "UNSURE", ()),
        (Question.triplet(4, 1, 0), "AC", ((0, 4), (1,))),
        (Question.triplet(4, 1, 0), "NEITHER", ()),
        (Question.odd([4, 1, 0, 6]), 4, ((0, 1, 6), (4,))),
        (Question.odd([4, 1, 0]), "SAME", ((0, 1, 4),)),
        (Question.odd([4, 1, 0, 2]), "NEITHER", ()),
        (Question.piles([4, 1, 0]), [[4, 0]], ((0, 4),)),
    ],
)
def test_every_answer_can_be_read_as_piles(question, answer, piles):
    assert Reply(question, answer).piles == piles


# ---------------------------------------------------------------------- implied links


def test_the_odd_one_is_apart_from_the_others_which_belong_together():
    asking = interview()
    asking.tell(Question.odd([0, 1, 2, 3]), OddOne(3))
    cannot = [(0, 3), (1, 3), (2, 3)]
    assert asking.supervision == Supervision.from_links(8, must_groups=[[0, 1, 2]], cannot=cannot)
    assert asking.n_answers == 1
    asking.tell(Question.odd([5, 6, 7]), "SAME")
    assert asking.supervision.closure().components()[1].tolist() == [5, 6, 7]


def test_no_single_odd_one_says_what_a_triplet_can_hold_and_no_link():
    asking = interview()
    asking.tell(Question.odd([0, 3, 5, 6]), "NEITHER")
    asking.tell(Question.odd([1, 3, 5, 6]), "UNSURE")
    assert asking.supervision == Supervision.empty(8)
    asking.tell(Question.odd([0, 3, 5]), "NEITHER")
    assert asking.supervision == Supervision.from_triplets(8, [(0, 3, 5)], "NEITHER")
    assert asking.n_answers == 3


def test_piles_state_must_links_within_and_cannot_links_across():
    asking = interview()
    asking.tell(Question.piles([0, 1, 2, 3, 4, 5, 6]), [[0, 1, 2], [3, 4], [5]], annotator="Ann", seconds=9)
    wanted = Supervision.from_links(
        8,
        must=[(3, 4)],
        must_groups=[[0, 1, 2]],
        cannot=[(i, j) for i, j in combinations(range(6), 2) if Y[i] != Y[j]],
    )
    assert asking.supervision == wanted
    state = asking.state()
    assert (state.knows(0, 2), state.knows(4, 5), state.knows(5, 6)) == ("must", "cannot", "unknown")
    assert (asking.n_answers, asking.replies[0].annotator) == (1, "Ann")
    assert asking.labels_[0] == asking.labels_[2] != asking.labels_[3] != asking.labels_[5]


def test_a_tray_can_be_asked_while_two_of_its_rows_are_not_known():
    asking = interview()
    asking.tell(Question.piles([0, 1, 3]), [[0, 1], [3]])
    state = asking.state()
    assert not state.can_ask(Question.piles([0, 1, 3]))
    assert not state.can_ask(Question.odd([0, 1, 3]))
    assert not state.can_ask(Question.piles([0, 3]))
    assert state.can_ask(Question.piles([0, 1, 3, 4]))
    assert state.can_ask(Question.odd([0, 1, 4]))
    asking.tell(Question.piles([4, 5, 6]), "UNSURE")
    assert not asking.state().can_ask(Question.piles([6, 5, 4]))
    assert asking.state().can_ask(Question.piles([4, 5]))


def test_contradictions_show_the_trays_that_state_them():
    asking = interview()
    asking.tell(Question.piles([0, 1, 3, 4]), [[0, 1], [3, 4]])
    asking.tell(Question.odd([1, 2, 7]), 7)
    asking.tell(Question.piles([0, 2, 5]), [[0], [2], [5]])
    asking.tell(Question.piles([0, 2, 6]), "UNSURE")
    (found,) = asking.contradictions
    assert (found.rows, found.chain) == ((0, 2), (0, 1, 2))
    assert [reply.question.rows for reply in found.replies] == [(0, 1, 3, 4), (1, 2, 7), (0, 2, 5)]
    assert len(asking.labels_) == 8  # the model is still fitted
    assert asking.undo(Question.odd([7, 2, 1])).reply.answer == OddOne(7)
    assert asking.contradictions == ()


def test_a_tray_of_more_piles_than_clusters_is_a_contradiction():
    asking = interview()
    asking.tell(Question.pair(0, 3), "DIFFERENT")
    asking.tell(Question.piles([0, 1, 3, 5]), [[0, 1], [3], [5]])
    assert asking.contradictions == ()
    asking.tell(Question.piles([0, 1, 2, 3, 5]), [[0, 1], [2], [3], [5]])
    (found,) = asking.contradictions
    assert (found.rows, found.chain) == ((0, 2, 3, 5), ())
    assert [len(reply.piles) for reply in found.replies] == [4]
    assert str(found) == (
        "rows 0, 2, 3 and 5 are cannot-linked to one another, which requires more clusters than there are"
    )
    assert len(asking.labels_) == 8
    asking.undo()
    assert asking.contradictions == ()


def test_piles_that_are_one_by_other_answers_are_counted_once():
    asking = interview()
    asking.tell(Question.piles([0, 2, 3, 5]), [[0], [2], [3], [5]])
    asking.tell(Question.pair(0, 2), "SAME")
    (found,) = asking.contradictions
    assert (found.rows, found.chain) == ((0, 2), (0, 2))


def test_any_number_of_piles_is_welcome_where_the_number_of_clusters_is_not_known():
    for more in ({"discover": True}, {"n_clusters": None}):
        asking = interview(**more)
        asking.tell(Question.piles([0, 2, 3, 5]), [[0], [2], [3], [5]])
        assert asking.contradictions == ()


def test_an_answer_about_another_part_of_the_tray_is_no_part_of_a_contradiction():
    asking = interview()
    asking.tell(Question.piles([0, 1, 2]), [[0, 1]])
    asking.tell(Question.piles([0, 1, 3]), [[0, 3]])  # row 1 is set aside
    asking.tell(Question.pair(0, 1), "DIFFERENT")
    assert [reply.question.rows for reply in asking.contradictions[0].replies] == [(0, 1, 2), (0, 1)]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(0, 2))
def test_a_sorted_tray_says_as_much_as_all_of_its_pairs(classes, aside):
    n = len(classes)
    rows = list(range(max(n - aside, 2)))
    tray, pairs = (Interview(np.zeros((n, 1)), strategy=RandomPairs()) for _ in range(2))
    groups = [[row for row in rows if classes[row] == c] for c in set(classes[: len(rows)])]
    tray.tell(Question.piles(range(n)), groups)
    for i, j in combinations(rows, 2):
        pairs.tell(Question.pair(i, j), "SAME" if classes[i] == classes[j] else "DIFFERENT")
    every = np.arange(n)
    known = tray.state().relations(every[:, None], every[None, :])
    assert (known == pairs.state().relations(every[:, None], every[None, :])).all()
    hints = tray.supervision
    assert len(hints.must) + len(hints.cannot) + len(hints.must_groups.members) <= 66


# ---------------------------------------------------------------------- files


def test_what_was_reported_of_trays_is_saved_and_comes_back(tmp_path):
    asking = interview()
    asking.tell(Question.odd([0, 1, 3], reason="Near."), 3, annotator="Ann")
    asking.tell(Question.odd([5, 6, 7]), "SAME")
    asking.tell(Question.piles([0, 4, 5, 7]), [[7, 5], [4]])
    asking.skip(Question.piles([1, 2]))
    asking.tell(Question.piles([1, 2, 4]), "UNSURE")
    asking.save(tmp_path / "i.json")
    history = json.loads((tmp_path / "i.json").read_text(encoding="utf-8"))["history"]
    assert [entry.get("answer") for entry in history] == [
        {"odd": 3},
        "SAME",
        {"piles": [[4], [5, 7]]},
        None,
        "UNSURE",
    ]
    loaded = Interview.load(tmp_path / "i.json", X)
    assert loaded.history == asking.history
    assert loaded.ask() == asking.ask()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "piles", "rows": [0, 1, 3], "answer": {"piles": [[0, 9]]}}, "row 9 is not in the question"),
        ({"kind": "piles", "rows": [0, 1, 3], "answer": {"piles": [[0, 1], []]}}, "a pile is empty"),
        ({"kind": "piles", "rows": [0, 1, 3], "answer": {"piles": 4}}, "expected as the answer"),
        ({"kind": "piles", "rows": [0, 1, 3], "answer": {"piles": [0, 1]}}, "expected a list of rows"),
        (
            {"kind": "piles", "rows": [0, 1, 3], "answer": {"heaps": [[0, 1]]}},
            "expected as the answer",
        ),
        ({"kind": "piles", "rows": [0, 1, 1], "answer": "UNSURE"}, "different rows"),
        ({"kind": "piles", "rows": list(range(13)), "answer": "UNSURE"}, "2 to 12"),
        ({"kind": "odd", "rows": [0, 1, 3], "answer": {"odd": "x"}}, "expected row numbers"),
        ({"kind": "odd", "rows": [0, 1, 3], "answer": 3}, "is not an answer; expected one of"),
        ({"kind": "heap", "rows": [0, 1, 3], "answer": "UNSURE"}, "kind must be one of"),
    ],
)
def test_a_spoilt_tray_in_a_file_is_refused(tmp_path, entry, message):
    path = tmp_path / "i.json"
    interview().save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["history"] = [{"event": "answer"} | entry]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"event 0 of the history.*{message}"):
        Interview.load(path, X)


def test_answers_that_keep_more_rows_apart_than_there_are_clusters_are_a_contradiction():
    asking = interview()
    rows = (0, 2, 3, 5)
    for i, j in combinations(rows, 2):
        assert asking.contradictions == ()
        asking.tell(Question.pair(i, j), "no")
    (found,) = asking.contradictions
    assert (found.rows, found.chain, len(found.replies)) == (rows, (), 6)
    assert len(asking.labels_) == 8
    asking.undo()
    assert asking.contradictions == ()


def test_hints_that_keep_more_rows_apart_than_there_are_clusters_are_reported_at_once():
    hints = Supervision.from_links(8, cannot=list(combinations((1, 4, 6), 2)), must=[(6, 7)])
    with pytest.warns(TooFewClustersWarning, match=r"Interview: 3 rows .* \(rows 1, 4, 6\).* only 2"):
        asking = Interview(np.arange(16.0).reshape(8, 2), n_clusters=2, supervision=hints)
    assert len(asking.labels_) == 8  # no link is stated twice
    Interview(np.arange(16.0).reshape(8, 2), n_clusters=3, supervision=hints)
