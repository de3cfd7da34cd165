"""Rows with ids: in the text of questions and in saved files."""

import json

import numpy as np
import pytest

from likewise import Supervision
from likewise.active import Interview, Question, RandomPairs
from likewise.exceptions import FileFormatError, LikewiseError, SupervisionError
from likewise.supervision import RowIds

X = np.array([[0.0], [0.2], [5.0], [5.2]])
IDS = ["wren-1", "007", "owl", "ärztin"]


pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.TooFewClustersWarning")


def interview(**more):
    return Interview(X, **{"n_clusters": 2, "strategy": RandomPairs(), "ids": IDS} | more)


@pytest.fixture
def saved(tmp_path):
    asking = interview(supervision=Supervision.from_links(4, must=[(0, 1)], cannot_groups=[[0, 2, 3]]))
    asking.tell(Question.pair(0, 2), "DIFFERENT", annotator="Ann")
    asking.tell(Question.triplet(3, 1, 2), "AC")
    asking.tell(Question.odd([0, 1, 2]), 2)
    asking.tell(Question.piles([0, 2, 3]), [[2, 3], [0]])
    asking.skip(Question.piles([1, 3]))
    asking.save(tmp_path / "i.json")
    return asking, tmp_path / "i.json"


def test_questions_speak_of_ids():
    asking = interview()
    assert asking.text(Question.pair(2, 0)) == "Do wren-1 and owl belong together?"
    assert asking.text(Question.triplet(3, 0, 1)) == (
        "Which two of ärztin (A), wren-1 (B) and 007 (C) belong together?"
    )
    assert (
        asking.text(Question.odd([0, 1, 2]))
        == "Which of wren-1, 007 and owl does not belong with the others?"
    )
    assert (
        asking.text(Question.piles([3, 1]))
        == "Which of 007 and ärztin belong together? Sort them into piles."
    )
    assert Question.pair(0, 2).text == "Do rows 0 and 2 belong together?"
    with pytest.raises(SupervisionError, match="contains row 4"):
        asking.text(Question.pair(0, 4))


def test_without_ids_they_speak_of_rows():
    question = Question.odd([0, 1, 2])
    assert interview(ids=None).text(question) == question.text


def test_ids_change_no_question():
    named, numbered = interview(), interview(ids=None)
    for _ in range(3):
        assert named.ask() == numbered.ask()
        for asking in (named, numbered):
            asking.tell(asking.ask(), "DIFFERENT")


def test_a_file_speaks_of_ids(saved):
    content = json.loads(saved[1].read_text(encoding="utf-8"))
    assert content["data"]["ids"] == RowIds.from_ids(IDS).digest
    assert content["hints"] == [
        {"kind": "must", "items": ["wren-1", "007"]},
        {"kind": "cannot_group", "items": ["wren-1", "owl", "ärztin"]},
    ]
    assert content["history"] == [
        {
            "event": "answer",
            "kind": "pair",
            "items": ["wren-1", "owl"],
            "answer": "DIFFERENT",
            "annotator": "Ann",
        },
        {"event": "answer", "kind": "triplet", "items": ["ärztin", "007", "owl"], "answer": "AC"},
        {"event": "answer", "kind": "odd", "items": ["wren-1", "007", "owl"], "answer": {"odd": "owl"}},
        {
            "event": "answer",
            "kind": "piles",
            "items": ["wren-1", "owl", "ärztin"],
            "answer": {"piles": [["wren-1"], ["owl", "ärztin"]]},
        },
        {"event": "skip", "kind": "piles", "items": ["007", "ärztin"]},
    ]
    assert "ärztin" in saved[1].read_text(encoding="utf-8")


@pytest.mark.parametrize("ids", [IDS, tuple(IDS), RowIds.from_ids(IDS), np.array(IDS)])
def test_it_comes_back_with_the_same_ids(saved, tmp_path, ids):
    asking, path = saved
    loaded = Interview.load(path, X, ids=ids)
    assert loaded.history == asking.history
    assert loaded.given == asking.given
    assert loaded.ask() == asking.ask()
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_it_does_not_come_back_without_them(saved):
    with pytest.raises(
        LikewiseError, match=r"refers to rows by id. Pass the ids: Interview.load\(path, X, ids=…\)"
    ):
        Interview.load(saved[1], X)


@pytest.mark.parametrize("ids", [IDS[::-1], [*IDS[:3], "eagle"]])
def test_it_does_not_come_back_with_others(saved, ids):
    with pytest.raises(FileFormatError, match="expected ids with digest"):
        Interview.load(saved[1], X, ids=ids)


def test_rows_may_be_named_later(tmp_path):
    asking = interview(ids=None)
    asking.tell(Question.piles([0, 1, 2]), [[0, 1], [2]])
    asking.save(tmp_path / "i.json")
    assert "items" not in (tmp_path / "i.json").read_text(encoding="utf-8")
    loaded = Interview.load(tmp_path / "i.json", X, ids=IDS)
    assert loaded.history == asking.history
    assert loaded.text(Question.pair(0, 1)) == "Do wren-1 and 007 belong together?"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"items": ["wren-1", "owle"], "answer": "SAME"}, "did you mean 'owl'"),
        ({"items": "wren-1", "answer": "SAME"}, "expected a list of rows"),
        ({"rows": [0, 1], "answer": "SAME"}, "'items'"),
    ],
)
def test_an_id_that_no_row_has_is_reported(saved, entry, message):
    content = json.loads(saved[1].read_text(encoding="utf-8"))
    content["history"] = [{"event": "answer", "kind": "pair"} | entry]
    saved[1].write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"event 0 of the history.*{message}"):
        Interview.load(saved[1], X, ids=IDS)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (IDS[:3], "expected one id per row, 4; got 3"),
        (["a", "b", "a", "c"], "both have the id 'a'"),
        ([0, 1, 2, 3], "ids are strings"),
        ("abcd", "a sequence of strings"),
        (["a", "", "b", "c"], "is empty"),
    ],
)
def test_ids_that_cannot_name_rows_are_refused(ids, message):
    with pytest.raises(SupervisionError, match=message):
        interview(ids=ids)
