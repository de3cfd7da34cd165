"""Exports of labels, hints and answers: their contents, and that no cell is a formula."""

import csv
import io
import json
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import ChangedIdsWarning, LikewiseError
from likewise.studio.exports import (
    ExportTable,
    Snapshot,
    build_hints,
    escape_formula,
    export_bytes,
    find_group_names,
    format_table,
    make_answers_table,
    unescape_formula,
)
from likewise.studio.records import Group, Picture
from likewise.supervision import read_hints
from small_projects import IDS, WEIRD, AnswerWriter, make, open_project_store

PICTURE = Picture(
    seq=3,
    labels=np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.int32),
    doubt=np.linspace(0, 1, 8, dtype=np.float32),
    groups=(Group(0, 4, (0,), ()), Group(1, 4, (4,), ())),
    conflicts=(),
    links=np.empty((0, 3), dtype=np.int32),
    seconds=0.0,
)
DANGEROUS = re.compile(r"\s*[=+\-@\t\r\n]")


def test_rows_of_the_file_that_are_not_items_have_no_label(tmp_path):
    # Rows 1 and 5 of the table have no text; the ids of the others are their numbers in the file.
    ids = ("0", "2", "3", "4", "6", "7", "8", "9")
    project = make(tmp_path, ids)
    with open_project_store(project) as store:
        AnswerWriter(store).answer("2", "9", answer="DIFFERENT")
        snapshot = Snapshot.from_store(store)
    labels = list(csv.DictReader(io.StringIO(export_bytes("labels", snapshot, ids, PICTURE).decode())))
    assert [line["id"] for line in labels] == list(ids)
    hints = export_bytes("hints", snapshot, ids, format="jsonl").decode()
    path = tmp_path / "hints.jsonl"
    path.write_text(hints, encoding="utf-8")
    assert read_hints(path, ids).cannot.tolist() == [[1, 7]]  # among the items
    with pytest.warns(ChangedIdsWarning, match="8 ids that differ from the 10"):
        whole = read_hints(path, [str(row) for row in range(10)])
    assert whole.cannot.tolist() == [[2, 9]]  # in the table
    project.items.close()


@pytest.fixture
def snapshot(tmp_path):
    """Ann answers three questions, undoes one answer, and names a group."""
    project = make(tmp_path)
    with open_project_store(project) as store:
        ann = AnswerWriter(store)
        ann.answer("a1", "a2", answer="SAME", seconds=1.25)
        wrong = ann.answer("a1", "b1", answer="SAME")
        ann.undo(wrong)
        ann.answer("a1", "b1", answer="DIFFERENT", seconds=None)
        ann.answer("a1", "a3", "b2", answer="AB")
        ann.answer("a4", "b4", answer="UNSURE")
        ann.answer("a1", "b2", answer="SAME", source="practice")
        ann.skip("a3", "b3")
        ann.name_group("b2", "owls")
        yield Snapshot.from_store(store)
    project.items.close()


def rows_of(data):
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


# ---------------------------------------------------------------------- what they hold


def test_answers_have_all_columns(snapshot):
    rows = rows_of(export_bytes("answers", snapshot, IDS))
    assert list(rows[0]) == [
        *(
            "seq",
            "time",
            "annotator",
            "kind",
            "a",
            "b",
            "c",
            "others",
            "answer",
            "seconds",
            "source",
            "undone",
            "note",
        )
    ]
    first = rows[0]
    assert first | {"time": ""} == {
        "seq": "1",
        "time": "",
        "annotator": "Ann",
        "kind": "pair",
        "a": "a1",
        "b": "a2",
        "c": "",
        "others": "",
        "answer": "SAME",
        "seconds": "1.25",
        "source": "question",
        "undone": "false",
        "note": "",
    }
    assert first["time"].startswith("20")
    assert [row["undone"] for row in rows] == ["false", "true", "false", "false", "false", "false"]
    assert rows[2]["seconds"] == ""
    assert rows[3]["c"] == "b2"


def test_labels_have_group_name_and_doubt(snapshot):
    rows = rows_of(export_bytes("labels", snapshot, IDS, PICTURE))
    assert rows[0] == {"id": "a1", "group": "1", "name": "", "doubt": "0.0"}
    assert rows[7] == {"id": "b4", "group": "2", "name": "owls", "doubt": "1.0"}


def test_the_latest_name_of_a_group_counts_and_an_empty_one_takes_it_away():
    assert find_group_names(PICTURE, IDS, [("a1", "wrens"), ("a2", "larks"), ("b1", "owls")]) == {
        0: "larks",
        1: "owls",
    }
    assert find_group_names(PICTURE, IDS, [("a1", "wrens"), ("a2", ""), ("gone", "x")]) == {}


def test_hints_are_the_answers_that_count(snapshot, tmp_path):
    hints = build_hints(snapshot, IDS)
    assert hints.must.tolist() == [[0, 1]]
    assert hints.cannot.tolist() == [[0, 4]]
    assert hints.triplets.tolist() == [[0, 2, 5]]
    for format in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"hints.{format}"
        path.write_bytes(export_bytes("hints", snapshot, IDS, format=format))
        assert read_hints(path, IDS) == hints


def test_an_undone_undo_has_no_effect(tmp_path):
    with open_project_store(make(tmp_path)) as store:
        ann = AnswerWriter(store)
        answer = ann.answer("a1", "a2", answer="SAME")
        ann.undo(ann.undo(answer))
        assert Snapshot.from_store(store).undone == {2}
        assert len(Snapshot.from_store(store).answers) == 1


def test_a_disputed_answer_is_not_a_hint(tmp_path):
    with open_project_store(make(tmp_path)) as store:
        ann, bob = AnswerWriter(store), AnswerWriter(store, "Bob")
        ann.answer("a1", "a2", answer="SAME")
        bob.answer("a1", "a2", answer="DIFFERENT")
        bob.answer("a1", "b1", answer="DIFFERENT")
        hints = build_hints(Snapshot.from_store(store), IDS)
    assert hints.must.tolist() == []
    assert hints.cannot.tolist() == [[0, 4]]


def test_an_empty_project_has_files_with_a_header_only(tmp_path):
    with open_project_store(make(tmp_path)) as store:
        empty = Snapshot.from_store(store)
    assert export_bytes("answers", empty, IDS).decode().count("\n") == 1
    assert export_bytes("answers", empty, IDS, format="jsonl") == b""
    path = tmp_path / "hints.csv"
    path.write_bytes(export_bytes("hints", empty, IDS))
    assert not read_hints(path, IDS)
    with pytest.raises(LikewiseError, match="no groups yet"):
        export_bytes("labels", empty, IDS)


def test_json_lines_and_parquet_keep_types(snapshot):
    first = json.loads(export_bytes("answers", snapshot, IDS, format="jsonl").splitlines()[0])
    assert (first["seq"], first["c"], first["seconds"], first["undone"]) == (1, None, 1.25, False)
    parquet = pytest.importorskip("pyarrow.parquet")
    data = export_bytes("answers", snapshot, IDS, format="parquet")
    table = parquet.read_table(io.BytesIO(data)).to_pylist()
    assert table[0] == first
    assert table[2]["seconds"] is None
    labels = parquet.read_table(io.BytesIO(export_bytes("labels", snapshot, IDS, PICTURE, format="parquet")))
    assert labels.column("group").to_pylist() == [1, 1, 1, 1, 2, 2, 2, 2]


def test_unknown_words_are_refused(snapshot):
    with pytest.raises(ValueError, match="what must be one of"):
        export_bytes("secrets", snapshot, IDS)
    with pytest.raises(ValueError, match="format must be one of"):
        export_bytes("answers", snapshot, IDS, format="xlsx")


# ---------------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@sum",
        "\t=1",
        "\r1",
        "\n=1",
        "  =1",
        "\ufeff=1",
        "\u200b=1",
        "＝1",
        "'=1",
        "''-1",
        "\x00=1",
    ],
)
def test_text_that_looks_like_a_formula_gets_an_apostrophe(text):
    assert escape_formula(text) == f"'{text}"
    assert unescape_formula(escape_formula(text)) == text


@pytest.mark.parametrize("text", ["", "wren", "'tis", "a=b", "1-2", "🦉", "עברית", "007", " x"])
def test_other_text_is_unchanged(text):
    assert escape_formula(text) == text
    assert unescape_formula(text) == text


@given(st.text(alphabet=st.sampled_from("=+-@'\t\r\n \"ab,;\ufeff＝🦉"), max_size=8))
def test_a_cell_is_never_a_formula_and_can_be_read_back(text):
    cell = escape_formula(text)
    assert unescape_formula(cell) == text
    assert not DANGEROUS.match(cell)
    table = ExportTable({"id": [text], "n": [-1]}, {"id": "string", "n": "int64"})
    header, row = csv.reader(io.StringIO(format_table(table, "csv").decode(), newline=""), strict=True)
    assert (header, row) == (["id", "n"], [cell, "-1"])  # numbers may be negative
    raw = csv.reader(io.StringIO(format_table(table, "csv", raw=True).decode(), newline=""), strict=True)
    assert list(raw)[1][0] == text
    assert json.loads(format_table(table, "jsonl"))["id"] == text


def test_ids_names_and_annotators_are_all_escaped(tmp_path):
    with open_project_store(make(tmp_path, WEIRD)) as store:
        eve = AnswerWriter(store, "=cmd|'/c calc'!A1")
        for one, other in pairwise(WEIRD):
            eve.answer(one, other, answer="SAME")
        eve.name_group(WEIRD[0], "@SUM(1)")
        snapshot = Snapshot.from_store(store)
    picture = Picture(1, np.zeros(len(WEIRD), np.int32), np.zeros(len(WEIRD), np.float32), (), (), None, 0.0)
    for what in ("answers", "labels"):
        data = export_bytes(what, snapshot, WEIRD, picture)
        for row in csv.reader(io.StringIO(data.decode(), newline=""), strict=True):
            assert not any(DANGEROUS.match(cell) for cell in row)
    raw = rows_of(export_bytes("labels", snapshot, WEIRD, picture, raw=True))
    assert [row["id"] for row in raw] == list(WEIRD)
    assert raw[0]["name"] == "@SUM(1)"
    assert make_answers_table(snapshot).columns["annotator"][0] == eve.name


def test_hints_with_such_ids_are_refused_as_csv_and_correct_in_other_formats(tmp_path):
    with open_project_store(make(tmp_path, WEIRD)) as store:
        ann = AnswerWriter(store)
        for one, other in pairwise(WEIRD):
            ann.answer(one, other, answer="SAME")
        snapshot = Snapshot.from_store(store)
    with pytest.raises(LikewiseError, match="as a formula, '=1\\+1' first"):
        export_bytes("hints", snapshot, WEIRD)
    for format, raw in (("csv", True), ("jsonl", False), ("parquet", False)):
        path = tmp_path / f"hints.{format}"
        path.write_bytes(export_bytes("hints", snapshot, WEIRD, format=format, raw=raw))
        assert read_hints(path, WEIRD) == build_hints(snapshot, WEIRD)


def test_ids_without_hints_are_not_checked(tmp_path):
    with open_project_store(make(tmp_path, WEIRD)) as store:
        AnswerWriter(store).answer("007", "🦉", answer="SAME")
        assert b"007" in export_bytes("hints", Snapshot.from_store(store), WEIRD)
