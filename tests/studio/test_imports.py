"""Earlier answers, labels and hints become events: once each, or not at all if anything is wrong."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from likewise.active import Interview, Piles, Question
from likewise.exceptions import FileFormatError, StoreError
from likewise.studio import _earlier_answers
from likewise.studio.exports import Snapshot, build_hints, export_bytes
from likewise.studio.imports import import_answers
from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.records import Settings
from likewise.studio.store import open_store
from likewise.supervision import Supervision, write_hints
from small_projects import IDS, WEIRD, AnswerWriter, make, open_project_store

FORMATS = ("csv", "jsonl", "parquet")
SETTINGS = Settings("t", n_clusters=2)
X = np.array([[0.0, k / 8] if k < 4 else [9.0, k / 8] for k in range(8)])


@pytest.fixture
def store(tmp_path):
    """The store of an empty project."""
    with open_project_store(make(tmp_path)) as store:
        yield store


def put(tmp_path, text, name="earlier.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def list_statements(store):
    """The answers that count: annotator, items and answer."""
    snapshot = Snapshot.from_store(store)
    return [(snapshot.get_name(e.person), *e.body["items"], e.body["answer"]) for e in snapshot.answers]


def labels_by(store, ids=IDS):
    rows = np.array(
        [[0.0, k / len(ids)] if k < len(ids) // 2 else [9.0, k / len(ids)] for k in range(len(ids))]
    )
    analysis = ProjectAnalysis(rows, ids, SETTINGS)
    analysis.tell(Snapshot.from_store(store).events)
    return analysis.make_picture().labels.tolist()


# ---------------------------------------------------------------------- round trips


@pytest.mark.parametrize("format", FORMATS)
def test_exported_answers_give_the_same_labels_in_another_project(tmp_path, format):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with open_project_store(make(tmp_path / "one")) as one, open_project_store(make(tmp_path / "two")) as two:
        ann, bob = AnswerWriter(one), AnswerWriter(one, "Bob")
        ann.answer("a1", "b1", answer="SAME", seconds=1.5)
        ann.answer("a1", "a2", answer="DIFFERENT", note="=blurred, “dark”")
        bob.answer("a3", "a4", "b4", answer="AC")
        ann.undo(ann.answer("a3", "b3", answer="SAME"))
        bob.answer("a1", "a4", answer="SAME", source="practice")
        path = tmp_path / f"answers.{format}"
        path.write_bytes(export_bytes("answers", Snapshot.from_store(one), IDS, format=format))
        done = import_answers(two, IDS, path)
        assert (done.form, done.n_read, done.n_new, done.people) == ("answers", 3, 3, ("Ann", "Bob"))
        assert done.notes == (
            "Left out: 1 answer that had been undone.",
            "Left out: 1 answer for practice.",
        )
        assert list_statements(two) == list_statements(one)
        assert build_hints(Snapshot.from_store(two), IDS) == build_hints(Snapshot.from_store(one), IDS)
        assert labels_by(two) == labels_by(one)
        events = Snapshot.from_store(two).answers
        assert [event.seconds for event in events] == [1.5, 2.5, 2.5]
        assert [event.body.get("note") for event in events] == [None, "=blurred, “dark”", None]
        assert {event.body["source"] for event in events} == {"import"}
        # The time of an answer is exported too, so a later import recognises the answer.
        path.write_bytes(export_bytes("answers", Snapshot.from_store(two), IDS, format=format))
        assert import_answers(one, IDS, path).n_new == 0


@pytest.mark.parametrize("format", FORMATS)
def test_unusual_ids_and_names_are_preserved(tmp_path, format):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with (
        open_project_store(make(tmp_path / "one", WEIRD)) as one,
        open_project_store(make(tmp_path / "two", WEIRD)) as two,
    ):
        eve = AnswerWriter(one, "=eve <b>")
        for a, b in pairwise(WEIRD):
            eve.answer(a, b, answer="UNSURE")
        path = tmp_path / f"answers.{format}"
        path.write_bytes(export_bytes("answers", Snapshot.from_store(one), WEIRD, format=format))
        assert import_answers(two, WEIRD, path).n_new == len(WEIRD) - 1
        assert list_statements(two) == list_statements(one)


def test_a_raw_file_is_read_as_it_is(tmp_path):
    ids = ("=x", "'=x", "y", "z")
    with open_project_store(make(tmp_path, ids)) as store:
        path = put(tmp_path, "a,b,answer\n'=x,y,SAME\n=x,z,SAME\n")
        import_answers(store, ids, path, raw=True)
        assert list_statements(store) == [("imported", "'=x", "y", "SAME"), ("imported", "=x", "z", "SAME")]


def drop_doubt(path, format):
    if format == "csv":
        pd.read_csv(path, dtype=str).drop(columns="doubt").to_csv(path, index=False)
    elif format == "jsonl":
        frame = pd.read_json(path, lines=True, dtype=False).drop(columns="doubt")
        frame.to_json(path, orient="records", lines=True)
    else:
        pd.read_parquet(path).drop(columns="doubt").to_parquet(path)


@pytest.mark.parametrize("format", FORMATS)
def test_the_labels_of_an_export_come_back_as_groups_and_names(tmp_path, store, format):
    ann = AnswerWriter(store)
    ann.answer("a1", "b1", answer="DIFFERENT")
    ann.name_group("b1", "owls")
    snapshot = Snapshot.from_store(store)
    analysis = ProjectAnalysis(X, IDS, SETTINGS)
    analysis.tell(snapshot.events)
    path = tmp_path / f"labels.{format}"
    path.write_bytes(export_bytes("labels", snapshot, IDS, analysis.make_picture(), format=format))
    (tmp_path / "two").mkdir()
    with open_project_store(make(tmp_path / "two")) as two:
        with pytest.raises(FileFormatError, match="turn guesses into facts"):
            import_answers(two, IDS, path)
        drop_doubt(path, format)  # a person has checked them
        done = import_answers(two, IDS, path)
        assert (done.form, done.n_read, done.n_names) == ("labels", 3 + 3 + 1, 1)
        assert labels_by(two) == labels_by(store)
        assert Snapshot.from_store(two).get_group_names() == [("b1", "owls")]


@pytest.mark.parametrize("format", FORMATS)
def test_hints_become_answers(tmp_path, store, format):
    hints = Supervision.from_links(8, must=[(0, 1)], cannot=[(0, 4)], must_groups=[[1, 2, 3]])
    hints |= Supervision.from_triplets(8, [(0, 1, 5)], ["AB"])
    path = tmp_path / f"hints.{format}"
    write_hints(path, hints, IDS)
    done = import_answers(store, IDS, path, annotator="Ann")
    assert (done.form, done.n_new, done.people) == ("hints", 5, ("Ann",))
    assert list_statements(store) == [
        ("Ann", "a1", "a2", "SAME"),
        ("Ann", "a1", "b1", "DIFFERENT"),
        ("Ann", "a2", "a3", "SAME"),
        ("Ann", "a2", "a4", "SAME"),
        ("Ann", "a1", "a2", "b2", "AB"),
    ]


def test_label_names_become_group_names(tmp_path, store):
    path = put(tmp_path, "id,label\na1,wren\na2,wren\nb1,owl\nb2,\n")
    done = import_answers(store, IDS, path)
    assert list_statements(store) == [("imported", "a1", "a2", "SAME"), ("imported", "a1", "b1", "DIFFERENT")]
    assert Snapshot.from_store(store).get_group_names() == [("a1", "wren"), ("b1", "owl")]
    assert done.n_names == 2
    assert import_answers(store, IDS, path).n_names == 0
    assert import_answers(store, IDS, path, annotator="Ann").n_names == 2  # Ann answered the same


def test_weights_are_ignored_with_a_note(tmp_path, store):
    path = put(tmp_path, "a,b,link,weight\na1,a2,must,0.5\n")
    assert import_answers(store, IDS, path).notes == (
        "Weights were ignored: the weight of an answer depends on who gave it.",
    )


@pytest.mark.parametrize("ids", [IDS, None])
def test_an_interview_is_imported_without_undone_answers(tmp_path, store, ids):
    interview = Interview(X, n_clusters=2, ids=ids)
    interview.tell(Question.pair(0, 1), "SAME", annotator="Ann", seconds=3.0)
    interview.tell(Question.pair(0, 4), "SAME", annotator="Ann")
    interview.undo()
    interview.tell(Question.triplet(5, 0, 6), "AC", annotator="Bob")
    interview.tell(Question.piles([1, 2, 7]), Piles([[1, 2], [7]]))
    interview.tell(Question.odd([0, 1, 2, 3]), "NEITHER")
    interview.skip(Question.pair(2, 3))
    interview.save(tmp_path / "birds.ask.json")
    done = import_answers(store, IDS, tmp_path / "birds.ask.json")
    assert list_statements(store) == [
        ("Ann", "a1", "a2", "SAME"),
        ("Bob", "b2", "a1", "b3", "AC"),
        ("imported", "a2", "a3", "SAME"),
        ("imported", "a2", "b4", "DIFFERENT"),
        ("imported", "a3", "b4", "DIFFERENT"),
    ]
    assert "Left out: 1 answer about trays without a link." in done.notes
    assert Snapshot.from_store(store).answers[0].seconds == 3.0
    assert import_answers(store, IDS, tmp_path / "birds.ask.json").n_new == 0


@pytest.mark.parametrize("ids", [IDS, None])
def test_answers_about_groups_are_imported_as_pairs_and_names(tmp_path, store, ids):
    interview = Interview(X, n_clusters=2, ids=ids)
    interview.tell(Question.placement(1, [0, 4], examples=[[0], [4]], names=["wren", None]), 0)
    interview.tell(Question.placement(2, [0, 4]), "NEW", annotator="Ann")
    interview.tell(Question.members(4, [5, 2]), [2])
    interview.tell(Question.groups(4, 0), "DIFFERENT")
    interview.tell(Question.label(0), "wren")
    interview.tell(Question.label(6), "owl")
    interview.tell(Question.label(7), "owl")
    interview.tell(Question.placement(3, [0, 4]), "UNSURE")
    interview.save(tmp_path / "birds.ask.json")
    done = import_answers(store, IDS, tmp_path / "birds.ask.json")
    assert {(first, second, answer) for _, first, second, answer in list_statements(store)} == {
        ("a2", "a1", "SAME"),
        ("a2", "b1", "DIFFERENT"),
        ("a3", "a1", "DIFFERENT"),
        ("a3", "b1", "DIFFERENT"),
        ("b1", "b2", "SAME"),
        ("b1", "a3", "DIFFERENT"),
        ("a1", "b1", "DIFFERENT"),
        ("b3", "a1", "DIFFERENT"),
        ("b4", "b3", "SAME"),
    }
    assert "Left out: 1 answer without a link." in done.notes
    assert Snapshot.from_store(store).get_group_names() == [("a1", "wren"), ("b3", "owl"), ("b4", "owl")]


def test_the_initial_hints_of_an_interview_are_imported_too(tmp_path, store):
    given = Supervision.from_links(8, must=[(0, 1)])
    Interview(X, n_clusters=2, ids=IDS, supervision=given).save(tmp_path / "birds.ask.json")
    import_answers(store, IDS, tmp_path / "birds.ask.json")
    assert list_statements(store) == [("imported", "a1", "a2", "SAME")]


def test_row_numbers_of_other_data_are_refused(tmp_path, store):
    interview = Interview(X[:6], n_clusters=2)
    interview.tell(Question.pair(0, 1), "SAME")
    interview.save(tmp_path / "birds.ask.json")
    with pytest.raises(FileFormatError, match="of 6 rows; this project has 8 items"):
        import_answers(store, IDS, tmp_path / "birds.ask.json")


# ---------------------------------------------------------------------- once, and all or nothing


def test_a_file_counts_once_and_a_longer_one_adds_what_is_new(tmp_path, store):
    path = put(tmp_path, "a,b,answer,annotator\na1,a2,SAME,Ann\n")
    assert import_answers(store, IDS, path).n_new == 1
    assert import_answers(store, IDS, path).n_new == 0
    path.write_text(path.read_text() + "a1,b1,DIFFERENT,ann\n")
    done = import_answers(store, IDS, path)
    assert (done.n_read, done.n_new, done.people) == (2, 1, ())
    assert list_statements(store) == [("Ann", "a1", "a2", "SAME"), ("Ann", "a1", "b1", "DIFFERENT")]


def test_undone_answers_stay_undone_after_another_import(tmp_path, store):
    path = put(tmp_path, "a,b,answer\na1,a2,SAME\n")
    import_answers(store, IDS, path)
    owner = AnswerWriter(store, "Olga", "owner")
    owner.undo(Snapshot.from_store(store).answers[0])
    assert import_answers(store, IDS, path).n_new == 0
    assert list_statements(store) == []


def test_every_problem_is_reported_with_its_line_and_nothing_is_written(tmp_path, store):
    text = "\n".join(
        [
            "kind,a,b,c,answer,annotator,seconds,time,undone",
            "pair,a1,a2,,SAME,Ann,1,,",
            "pair,a1,A2,,SAME,Ann,1,,",
            "pair,a1,a2,,MAYBE,Ann,1,,",
            "pair,a1,a2,,AB,Ann,1,,",
            "pair,a1,a2,b1,SAME,Ann,1,,",
            "triplet,a1,a2,,AB,Ann,1,,",
            "pair,a1,a1,,SAME,Ann,1,,",
            "pair,a1,,,SAME,Ann,1,,",
            "pair,a1,a2,,SAME,Ann,-1,,",
            "pair,a1,a2,,SAME,Ann,1,yesterday,",
            "pair,a1,a2,,SAME,Ann,1,,perhaps",
            "tray,a1,a2,,SAME,Ann,1,,",
            "pair,a1,a2,,SAME",
            'pair,a1,a2,,SAME,"An\nn",1,,',
            "",
        ]
    )
    path = put(tmp_path, text)
    with pytest.raises(FileFormatError) as caught:
        import_answers(store, IDS, path)
    lines = str(caught.value).removesuffix("\nNothing was imported.").split("\n")
    assert [int(line.split(":")[1]) for line in lines] == list(range(3, 16))
    message = str(caught.value)
    for part in (
        "no row has the id 'A2'; did you mean 'a2'?",
        "'MAYBE' does not answer a",
        "AB does not answer a pair",
        "the kind is pair, but c is 'b1'",
        "the kind is triplet, but c is empty",
        "an id occurs twice",
        "b is empty",
        "seconds is '-1'",
        "time is 'yesterday'",
        "undone is 'perhaps'",
        "the kind is 'tray'",
        "5 cell(s), but the header has 9",
        "one line of text",
    ):
        assert part in message
    snapshot = Snapshot.from_store(store)
    assert (snapshot.events, snapshot.people) == ((), {})


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("x.csv", "", "is empty"),
        ("x.csv", "a,b,answer,mood\n", "unknown column 'mood'"),
        ("x.csv", "a,a,b,answer\n", "occurs twice"),
        ("x.csv", "p,q\n1,2\n", "expected a first row with one of these"),
        ("x.csv", "id,group\na1,1\na1,2\n", "the group of 'a1' is '2', but '1' on line 2"),
        (
            "x.csv",
            "id,group,name\na1,1,wren\na2,1,owl\n",
            "the name of group 1 is 'owl', but 'wren' on line 2",
        ),
        ("x.csv", "id,bag\na1,r1\n", "the studio asks no questions about bags"),
        ("x.jsonl", '{"a": "a1", "b": "a2", "answer": "SAME"}\n{"a": 1', ":2: not a JSON object"),
        ("x.jsonl", '{"a": 1, "b": "a2", "answer": "SAME"}\n', "an id must be a string"),
        ("x.json", "{}", "not a saved interview"),
        ("x.json", '{"format": "likewise interview", "version": 99}', "newer likewise"),
        ("x.json", '{"format": "likewise interview", "version": 2, "history": 5}', "must be a list"),
        (
            "x.json",
            '{"format": "likewise interview", "version": 2, "history": [5, {"event": "answer"}]}',
            "event 1: .* cannot be read",
        ),
        ("x.txt", "a,b,answer\n", "does not determine the format"),
        ("x.csv", f"id,label\na1,{'long' * 50}\n", "a label cannot be the name of a group"),
    ],
)
def test_an_invalid_file_is_refused(tmp_path, store, name, text, match):
    with pytest.raises(ValueError, match=match):
        import_answers(store, IDS, put(tmp_path, text, name))
    assert Snapshot.from_store(store).events == ()


def test_too_many_answers_are_refused(tmp_path, store, monkeypatch):
    monkeypatch.setattr(_earlier_answers, "MOST", 2)
    path = put(tmp_path, "a,b,answer\na1,a2,SAME\na1,a3,SAME\na1,a4,SAME\n")
    with pytest.raises(FileFormatError, match="would become 3 answers; expected at most 2"):
        import_answers(store, IDS, path)


def test_many_answers_are_imported_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.studio.imports._AT_ONCE", 3)
    ids = [f"s{k}" for k in range(20)]
    with open_project_store(make(tmp_path, ids)) as store:
        path = put(tmp_path, "id,label\n" + "".join(f"s{k},{k % 2}\n" for k in range(20)))
        assert import_answers(store, ids, path).n_new == 19


def test_it_is_the_same_on_every_database(tmp_path, database_url):
    path = put(tmp_path, "a,b,answer,annotator,seconds\na1,a2,SAME,Ann,1.5\na1,b1,DIFFERENT,Bob,\n")
    store = open_store(database_url)
    try:
        assert import_answers(store, IDS, path).n_new == 2
        assert import_answers(store, IDS, path).n_new == 0
        assert list_statements(store) == [("Ann", "a1", "a2", "SAME"), ("Bob", "a1", "b1", "DIFFERENT")]
        assert export_bytes("answers", Snapshot.from_store(store), IDS).count(b"\n") == 3
    finally:
        store.close()


def test_another_process_sees_imported_answers(tmp_path):
    project = make(tmp_path)
    with open_project_store(project) as running, open_project_store(project) as command:
        ann = AnswerWriter(running)
        ann.answer("a1", "a2", answer="SAME")
        import_answers(command, IDS, put(tmp_path, "a,b,answer\na1,b1,DIFFERENT\n"))
        ann.answer("a3", "a4", answer="SAME")
        assert [row[-1] for row in list_statements(running)] == ["SAME", "DIFFERENT", "SAME"]


def test_a_name_that_cannot_be_shown_is_refused(tmp_path, store):
    path = put(tmp_path, "a,b,answer\na1,a2,SAME\n")
    with pytest.raises(Exception, match="must have 1 to 100 characters") as caught:
        import_answers(store, IDS, path, annotator=" ")
    assert not isinstance(caught.value, StoreError)


def test_an_interview_with_a_name_that_cannot_be_shown_is_refused(tmp_path, store):
    interview = Interview(X, n_clusters=2, ids=IDS)
    interview.tell(Question.pair(0, 1), "SAME", annotator="An\nn")
    interview.save(tmp_path / "birds.ask.json")
    with pytest.raises(FileFormatError, match=r"event 0: .* one line of text"):
        import_answers(store, IDS, tmp_path / "birds.ask.json")


def test_one_time_in_two_time_zones_is_one_answer(tmp_path, store):
    text = "a,b,answer,time\na1,a2,SAME,2026-03-09T12:00:00Z\na1,a2,SAME,2026-03-09T13:00:00+01:00\n"
    assert import_answers(store, IDS, put(tmp_path, text)).n_new == 1


def test_the_same_answer_in_json_lines_and_csv_is_the_same(tmp_path, store):
    row = {"a": "a1", "b": "a2", "answer": "same", "seconds": 2, "time": "2026-03-09T12:00:00Z"}
    import_answers(store, IDS, put(tmp_path, json.dumps(row) + "\n", "x.jsonl"))
    text = "a,b,answer,seconds,time\na1,a2,SAME,2.0,2026-03-09T13:00:00+01:00\n"
    assert import_answers(store, IDS, put(tmp_path, text)).n_new == 0


@pytest.mark.parametrize("column", ["label", "group"])
def test_minus_one_among_integers_means_unlabelled(store, tmp_path, column):
    done = import_answers(
        store, IDS, put(tmp_path, f"id;{column}\na1;0\n a2 ;0\nb1;-1\nb2;-1\n", "earlier.tsv")
    )
    assert done.n_new == 1
    assert [words[1:] for words in list_statements(store)] == [("a1", "a2", "SAME")]
    assert any("-1" in note for note in done.notes)
