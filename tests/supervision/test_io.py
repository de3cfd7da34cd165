import json
import os
import stat
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import (
    ChangedIdsWarning,
    FileFormatError,
    MissingDependencyError,
    QuestionableHintsWarning,
    ShuffledIdsWarning,
    SupervisionError,
)
from likewise.supervision import RowIds, Supervision, read_hints, write_hints
from profiles import fewer
from reference.supervision import drawn_hints

IDS = ["s1", "s2", "s3", "007", "7", "é"]
FORMATS = ["csv", "jsonl", "parquet"]
EVERY = (
    Supervision.from_links(
        6,
        must=[(0, 1)],
        cannot=[(1, 2), (3, 4)],
        cannot_weights=[1, 0.1],
        must_groups=[[0, 1, 3], [1, 3, 5]],
        cannot_groups=[[2, 4]],
        cannot_group_weights=[2.5],
    )
    | Supervision.from_triplets(6, [(0, 4, 5), (1, 2, 3)], ["AC", "NEITHER"], weights=[1 / 3, 1])
    | Supervision.from_labels(["wren", None, "owl", None, "wren", "7"])
    | Supervision.from_bags(["r1", "r1", "r2", None, "r3", "r3"], {"r1": ["x", "y"], "r2": ["x"]})
)


@pytest.fixture
def file(tmp_path):
    def write(content, name="hints.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def bad(path, ids=IDS, **options):
    with pytest.raises(FileFormatError) as error:
        read_hints(path, ids, **options)
    return str(error.value).replace(str(path.parent) + os.sep, "")


# ------------------------------------------------------------------ round trips


@pytest.mark.parametrize("format", FORMATS)
def test_everything_comes_back(tmp_path, format):
    path = tmp_path / f"hints.{format}"
    write_hints(path, EVERY, IDS)
    assert read_hints(path, IDS) == EVERY
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    write_hints(path, Supervision.empty(6), RowIds.from_ids(IDS))  # replaced, and empty hints are hints
    assert read_hints(path, IDS) == Supervision.empty(6)


@pytest.mark.parametrize("format", FORMATS)
@fewer(2)
@given(hints=drawn_hints(), data=st.data())
def test_drawn_hints_come_back_whatever_the_ids(tmp_path, format, hints, data):
    texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    hard = st.sampled_from(
        ["007", "7", "a,b", 'a"b', "a\nb", "a\r", "\r\n", "#1", " a", "=1", "\ufeffa", "\u2028"]
    )
    ids = data.draw(st.lists(texts | hard, min_size=len(hints), max_size=len(hints), unique=True))
    path = tmp_path / f"hints.{format}"
    write_hints(path, hints, ids)
    assert read_hints(path, ids) == hints


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("values", [["a", "b"], [1, 20], [0.5, 1e-30], [True, False]])
def test_the_type_of_labels_and_bags_comes_back(tmp_path, format, values):
    path = tmp_path / f"hints.{format}"
    first, second = values
    hints = Supervision.from_labels([first, None, second])
    hints |= Supervision.from_bags([second, None, first], {second: values})
    write_hints(path, hints, IDS[:3])
    loaded = read_hints(path, IDS[:3])
    assert loaded == hints
    for found in (loaded.classes, loaded.bags.names, *[loaded.bags.labels[hints.bags.names.index(second)]]):
        assert {type(v) for v in found} == {type(first)}


def test_mixed_types_need_json_lines(tmp_path):
    hints = Supervision.from_labels([1, "1", 2.5])
    write_hints(tmp_path / "a.jsonl", hints, IDS[:3])
    assert read_hints(tmp_path / "a.jsonl", IDS[:3]) == hints
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(SupervisionError, match=r"types float, int, str.*JSON Lines"):
            write_hints(tmp_path / name, hints, IDS[:3])
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("label", [("a", 1), "", frozenset("a"), float("inf")])
def test_labels_that_no_file_can_hold(tmp_path, label):
    for hints in (Supervision.from_labels([label]), Supervision.from_bags([1], {1: [label]})):
        with pytest.raises(SupervisionError, match="cannot be written to a file"):
            write_hints(tmp_path / "a.jsonl", hints, ["s1"])
    assert list(tmp_path.iterdir()) == []


def test_the_csv_is_plain(tmp_path):
    path = tmp_path / "hints.csv"
    hints = Supervision.from_links(6, must=[(0, 3)], cannot_groups=[[0, 1]], cannot_group_weights=0.5)
    write_hints(path, hints | Supervision.from_bags(["r"] * 2 + [None] * 4, {"r": [3]}), IDS)
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    digest, in_order = RowIds.from_ids(IDS).digest, RowIds.from_ids(IDS).sorted_digest
    assert first == f"# likewise hints; n=6; digest={digest}; sorted={in_order}; lines=6; bag_label_type=int"
    assert lines == [
        "kind,a,b,c,answer,label,bag,group,weight",
        "must,s1,007,,,,,,",
        "cannot_group,s1,,,,,,1,0.5",
        "cannot_group,s2,,,,,,1,0.5",
        "bag,s1,,,,,r,,",
        "bag,s2,,,,,r,,",
        "bag_label,,,,,3,r,,",
    ]


def test_the_json_lines_are_plain(tmp_path):
    path = tmp_path / "hints.ndjson"
    write_hints(path, EVERY, IDS)
    first, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert first["kind"] == "ids"
    assert first["n"] == 6
    assert first["lines"] == len(lines)
    assert lines[:3] == [
        {"kind": "must", "items": ["s1", "s2"]},
        {"kind": "cannot", "items": ["s2", "s3"]},
        {"kind": "cannot", "items": ["007", "7"], "weight": 0.1},
    ]
    assert {"kind": "must_group", "items": ["s1", "s2", "007"]} in lines
    assert {"kind": "triplet", "items": ["s1", "7", "é"], "answer": "AC", "weight": 1 / 3} in lines
    assert {"kind": "label", "item": "s1", "label": "wren"} in lines
    assert {"kind": "bag", "bag": "r1", "items": ["s1", "s2"], "labels": ["x", "y"]} in lines
    assert {"kind": "bag", "bag": "r3", "items": ["7", "é"]} in lines


def test_parquet_holds_text(tmp_path):
    path = tmp_path / "hints.pq"
    write_hints(path, EVERY, IDS)
    table = pq.read_table(path)
    assert {str(field.type) for field in table.schema} == {"string"}
    assert table.column_names == ["kind", "a", "b", "c", "answer", "label", "bag", "group", "weight"]


# ------------------------------------------------------------------ simple tables


def test_links(file):
    text = "a,b,link,weight,note\ns1,s2,must,,yes\ns2,s3,CL,0.5,\n007,7,different,2,\ns1,é,1,,\ns3,é,-1,,\n"
    assert read_hints(file(text), IDS) == Supervision.from_links(
        6, must=[(0, 1), (0, 5)], cannot=[(1, 2), (3, 4), (2, 5)], cannot_weights=[0.5, 2, 1]
    )


def test_triplets(file):
    text = "a,b,c,answer\ns1,s2,s3,AB\ns3,007,7,neither\n"
    wanted = Supervision.from_triplets(6, [(0, 1, 2), (2, 3, 4)], ["AB", "NEITHER"])
    assert read_hints(file(text), IDS) == wanted


def test_labels_are_text_and_empty_ones_unknown(file):
    hints = read_hints(file("Id, Label\ns1,01\ns2,\n007,1\n"), IDS)
    assert hints == Supervision.from_labels(["01", None, None, "1", None, None])


def test_bags(file):
    text = "id,bag,labels\ns1,r1,wren; owl\ns2,r1,\ns3,r2,\n7,,\n"
    wanted = Supervision.from_bags(["r1", "r1", "r2", None, None, None], {"r1": ["wren", "owl"]})
    assert read_hints(file(text), IDS) == wanted
    assert read_hints(file("id,bag\ns1,r1\n"), IDS) == Supervision.from_bags(["r1"] + [None] * 5)


def test_tables_from_pandas(tmp_path):
    path = tmp_path / "links.parquet"
    pd.DataFrame(
        {"a": ["s1", "s2"], "b": ["007", "s3"], "link": [1, -1], "weight": [0.5, np.nan]}
    ).to_parquet(path)
    assert read_hints(path, IDS) == Supervision.from_links(
        6, must=[(0, 3)], must_weights=[0.5], cannot=[(1, 2)]
    )
    pd.DataFrame({"id": ["s1", "s2"], "label": [3, 4]}).to_parquet(path)
    assert read_hints(path, IDS) == Supervision.from_labels([3, 4, *[None] * 4])
    pd.DataFrame({"id": [1, 2], "label": [3, 4]}).to_parquet(path)
    assert "labels.parquet, row 1: an id must be a string, got 1" in bad(
        path.rename(tmp_path / "labels.parquet")
    )


def test_a_link_stated_twice_counts_once_and_both_answers_are_kept(file):
    hints = read_hints(file("a,b,link\ns1,s2,must\ns2,s1,must\ns1,s2,cannot\n"), IDS)
    assert hints == Supervision.from_links(6, must=[(0, 1)], cannot=[(0, 1)])


@pytest.mark.parametrize("format", FORMATS)
def test_the_format_may_be_given(tmp_path, format):
    path = tmp_path / "hints.txt"
    write_hints(path, EVERY, IDS, format=format)
    assert read_hints(path, IDS, format=format) == EVERY
    with pytest.raises(
        ValueError, match=r"does not determine the format; use a name that ends with one of \.csv"
    ):
        read_hints(path, IDS)
    with pytest.raises(ValueError, match="format must be one of"):
        read_hints(path, IDS, format="xls")


# ------------------------------------------------------------------ files that people really have


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_and_windows_line_ends_are_fine(file, mark, end):
    csv = "a,b,link\ns1,007,must\ns2,é,cannot\n".replace("\n", end)
    wanted = Supervision.from_links(6, must=[(0, 3)], cannot=[(1, 5)])
    assert read_hints(file(mark + csv.encode()), IDS) == wanted
    rows = '{"kind":"must","items":["s1","007"]}\n{"kind":"cannot","items":["s2","é"]}\n'
    assert read_hints(file(mark + rows.replace("\n", end).encode(), "a.jsonl"), IDS) == wanted


def test_a_file_that_went_through_windows_comes_back(tmp_path):
    for format in ("csv", "jsonl"):
        path = tmp_path / f"hints.{format}"
        write_hints(path, EVERY, IDS)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        assert read_hints(path, IDS) == EVERY


def test_a_spreadsheet_adds_commas_to_the_first_line(tmp_path):
    path = tmp_path / "hints.csv"
    write_hints(path, EVERY, IDS)
    path.write_text(
        path.read_text(encoding="utf-8").replace("\n", ",,,,,,,,\r\n", 1), encoding="utf-8", newline=""
    )
    assert read_hints(path, IDS) == EVERY


@pytest.mark.parametrize("name", ["hints.csv", "hints.tsv"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_cells_are_separated_by_commas_semicolons_or_tabs(file, delimiter, name):
    text = "a,b,link,weight\ns1,s2,must,\ns2,007,cannot,0.5\n".replace(",", delimiter)
    assert read_hints(file(text, name), IDS) == Supervision.from_links(
        6, must=[(0, 1)], cannot=[(1, 3)], cannot_weights=[0.5]
    )


def test_a_tsv_file_is_written_with_tabs_and_comes_back(tmp_path):
    path = tmp_path / "hints.tsv"
    write_hints(path, EVERY, IDS)
    assert path.read_text(encoding="utf-8").splitlines()[1].startswith("kind\ta\tb")
    assert read_hints(path, IDS) == EVERY
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[0] += "\t\t"  # as a spreadsheet leaves it
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    assert read_hints(path, IDS) == EVERY


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("Y", "N"), ("same", "different"), ("true", "FALSE")])
def test_links_may_be_yes_and_no(file, yes, no):
    hints = read_hints(file(f"a,b,link\ns1,s2,{yes}\ns2,007, {no} \n"), IDS)
    assert hints == Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 3)])


def test_spaces_around_ids_do_not_count_unless_an_id_has_them(file):
    path = file("a,b,link\n s1,s2 ,must\ns2, 007,cannot\n")
    assert read_hints(path, IDS) == Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 3)])
    assert read_hints(path, [" s1", "s1", "s2", "007"]).must.tolist() == [[0, 2]]


def test_extra_columns_are_ignored_with_a_note_and_near_misses_refused(file):
    path = file("id,a,who,b,link,when\n1,s1,Ann,s2,must,today\n")
    with pytest.warns(QuestionableHintsWarning, match=r"ignored the column\(s\) 'id', 'who', 'when'"):
        assert read_hints(path, IDS).must.tolist() == [[0, 1]]
    assert "Did you mean 'weight'?" in bad(file("a,b,link,weights\ns1,s2,must,2\n"))
    assert "'bag' cannot be used with id, label" in bad(file("id,label,bag\ns1,wren,r1\n"))
    assert "'c' cannot be used with a, b, link" in bad(file("a,b,c,link\ns1,s2,s3,must\n"))


def test_labels_that_differ_only_in_case_or_spaces_get_a_nudge(file):
    path = file("id,label\ns1,Wren\ns2,wren\ns3,wren\n007,owl\n7,a\né,A\n")
    with pytest.warns(QuestionableHintsWarning, match=r"'Wren' \(1\) and 'wren' \(2\)\. If") as seen:
        assert len(read_hints(path, IDS).classes) == 5
    assert len(seen) == 1
    with pytest.warns(QuestionableHintsWarning, match="'owl ' .1. and 'owl' .1."):
        read_hints(file('id,label\ns1,"owl "\ns2,owl\n', "b.csv"), IDS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,label\ns1,2\ns2,-1\ns3,1\n"),
        ("a.csv", "kind,a,label\nlabel,s1,2\nlabel,s2,-1\nlabel,s3,1\n"),
        (
            "a.jsonl",
            "".join(
                f'{{"kind": "label", "item": "s{i}", "label": {c}}}\n' for i, c in ((1, 2), (2, -1), (3, 1))
            ),
        ),
    ],
)
def test_minus_one_in_a_file_of_whole_number_labels_means_unlabelled(file, name, text):
    path = file(text, name)
    with pytest.warns(QuestionableHintsWarning, match=r"1 label\(s\) of -1 were read as unlabelled"):
        hints = read_hints(path, IDS)
    assert hints.label_codes.tolist() == [1, -1, 0, -1, -1, -1]
    assert "-1 read as unlabelled" in repr(hints)
    assert len(read_hints(path, IDS, missing=None).classes) == 3
    words = read_hints(file(text.replace("2\n", "two\n").replace("2}", '"two"}'), name), IDS)
    assert len(words.classes) == 3


@pytest.mark.parametrize("format", FORMATS)
def test_minus_one_that_was_written_as_a_class_comes_back_as_one(tmp_path, format):
    path = tmp_path / f"hints.{format}"
    hints = Supervision.from_labels([2, -1, 1, None, None, None], missing=None)
    write_hints(path, hints, IDS)
    assert read_hints(path, IDS) == hints


def workbook(path, *sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_the_first_sheet_of_an_excel_workbook_is_read(tmp_path):
    rows = [
        ["a", "b", "link", "weight", None],
        ["s1", "s2", "yes"],
        [],
        ["s2", 7, True, 0.5],
        [7.0, "é", "no"],
    ]
    path = workbook(tmp_path / "hints.xlsx", rows)
    assert read_hints(path, IDS) == Supervision.from_links(
        6, must=[(0, 1), (1, 4)], cannot=[(4, 5)], must_weights=[1, 0.5]
    )
    with pytest.warns(QuestionableHintsWarning, match="only the first of 2 sheets, 'sheet 0', was read"):
        read_hints(workbook(path, rows, [["x"]]), IDS)
    wrong = workbook(path, [["id", "label"], ["s1", "wren"], ["s9", "owl"]])
    assert bad(wrong) == "hints.xlsx, row 3: no row has the id 's9'.\nNothing was read."
    with pytest.raises(ValueError, match="does not determine the format"):
        write_hints(path, EVERY, IDS)


def test_a_file_that_is_no_workbook_or_has_no_header_is_refused(file, tmp_path):
    pytest.importorskip("openpyxl")
    assert "cannot be read as an Excel workbook" in bad(file("a,b,link\n", "hints.xlsx"))
    assert "there is no header" in bad(workbook(tmp_path / "hints.xlsx", []))


def test_an_excel_workbook_without_openpyxl_says_what_to_install(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'likewise\[excel\]'"):
        read_hints(file("x", "hints.xlsx"), IDS)


def test_latin_1_is_noticed_and_can_be_read(file):
    path = file("a,b,link\ns1,s2,must\ns1,é,cannot\n".encode("latin-1"))
    text = bad(path)
    assert text.startswith("hints.csv:3: byte 23 is 0xe9, which is not utf-8.")
    assert "encoding='latin-1'" in text
    assert len(read_hints(path, IDS, encoding="latin-1").cannot) == 1


def test_utf_16_is_noticed_and_can_be_read(file):
    path = file("a,b,link\ns1,é,must\n".encode("utf-16"))
    assert "encoding='utf-16'" in bad(path)
    assert len(read_hints(path, IDS, encoding="utf-16").must) == 1


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file(file, name, content):
    assert f"{name} is empty" in bad(file(content, name))


def test_only_a_header_is_no_hints(file):
    for header in ("a,b,link", "kind,a,b", "id,label\n\n"):
        assert read_hints(file(header), IDS) == Supervision.empty(6)
    assert "hints.csv:2: there is no header" in bad(file("# notes\n"))
    assert read_hints(file("# my notes\n# more\na,b,link\ns1,s2,must\n"), IDS).must.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("s1,s9,must", "no row has the id 's9'."),
        ("s1,07,must", "no row has the id '07'; did you mean '007'"),
        ("s1,s1,must", "the id 's1' occurs twice"),
        ("s1,,must", "b is empty"),
        ("s1,s2,", "link is empty"),
        ("s1,s2,perhaps", "the link is 'perhaps'; expected must or cannot"),
        ("s1,s2,0", "the link is '0'"),
        ("s1,s2", "2 cell(s), but the header has 3"),
        ("s1,s2,must,1", "4 cell(s), but the header has 3"),
        ('s1,"s2,must', "a quote is opened and never closed; the file may be truncated"),
        ('s1,"s2"x,must', "expected"),
    ],
)
def test_bad_lines_of_links(file, line, text):
    message = bad(file(f"a,b,link\ns1,s2,must\n\n{line}\n"))
    assert message.startswith("hints.csv:4: ")
    assert text in message
    assert message.endswith("Nothing was read.")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("friend,s1,s2,,,,,,", "the kind is 'friend'; expected one of must, cannot, must_group"),
        ("must,s1,s2,s3,,,,,", "c is 's3', but a row of kind must does not use c"),
        ("must,s1,s2,,,,,,heavy", "the weight is 'heavy'; expected a number"),
        ("must,s1,s2,,,,,,-1", "the weight is '-1'; weights must be finite and above 0"),
        ("must,s1,s2,,,,,,nan", "weights must be finite"),
        ("label,s1,,,,,,,", "label is empty"),
        ("label,s1,,,,x,,,2", "a row of kind label does not use weight"),
        ("triplet,s1,s2,s3,maybe,,,,", "the answer is 'maybe'; expected one of AB"),
        ("triplet,s1,s2,s2,AB,,,,", "the id 's2' occurs twice"),
        ("must_group,s1,,,,,,g,", "the must_group 'g' has one id; it needs two"),
        ("bag_label,,,,,x,r9,,", "bag 'r9' has labels, but no id is in it"),
    ],
)
def test_bad_lines_of_the_general_layout(file, line, text):
    message = bad(file(f"kind,a,b,c,answer,label,bag,group,weight\nmust,s1,s2,,,,,,\n{line}\n"))
    assert message.startswith("hints.csv:3: ")
    assert text in message


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("id,label\ns1,x\ns2,y\ns1,y\n", "hints.csv:4: 's1' has the label 'y', but 'x' on line 2"),
        ("id,bag\ns1,r1\ns1,r2\n", "hints.csv:3: 's1' has the bag 'r2', but 'r1' on line 2"),
        (
            "id,bag,labels\ns1,r1,x\ns2,r1,x;y\n",
            "hints.csv:3: bag 'r1' has the labels ('x', 'y'), but ('x',) on line 2",
        ),
        ("id,bag,labels\ns1,,x\n", "hints.csv:2: labels are given, but bag is empty"),
        (
            "kind,a,group\nmust_group,s1,g\nmust_group,s1,g\n",
            "hints.csv:2: the must_group 'g' contains an id twice",
        ),
        (
            "kind,a,group,weight\nmust_group,s1,g,1\nmust_group,s2,g,2\n",
            "hints.csv:3: group 'g' has the weight 1.0 on line 2",
        ),
        (
            "x,y\ns1,s2\n",
            "hints.csv: the columns are 'x', 'y'; expected a first row with one of these: kind; a,b,c",
        ),
        (
            "a,b,link,wieght\ns1,s2,must,1\n",
            "'wieght' cannot be used with a, b, link. Optional columns are weight, note",
        ),
        ("a,b,link,a\n", "a name occurs twice"),
        ('"a,b,link\ns1,s2,must\n', "hints.csv:1: a quote is opened and never closed"),
    ],
)
def test_bad_tables(file, text, wanted):
    assert wanted in bad(file(text))


def test_several_bad_lines_are_reported_at_once(file):
    lines = "".join(f"s1,nobody{k},must\n" for k in range(8))
    message = bad(file(f"a,b,link\n{lines}s1,s2\n"))
    assert [line.partition(": ")[0] for line in message.splitlines()[:5]] == [
        f"hints.csv:{k}" for k in range(2, 7)
    ]
    assert message.splitlines()[5:] == ["and 4 more.", "Nothing was read."]


def test_lines_are_counted_through_quoted_line_ends(file):
    ids = ["a\nb", "c"]
    assert "hints.csv:4: no row has the id 'd'" in bad(file('a,b,link\n"a\nb",c,must\n"a\nb",d,must\n'), ids)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"kind": "must", "items": ["s1", "s', "not a JSON object"),
        ("[1, 2]", "expected a JSON object"),
        ('{"kind": "must", "items": ["s1", "s2"], "weight": NaN}', "NaN is not a number"),
        ('{"kind": "must", "items": ["s1", "s2"], "weight": "x"}', "the weight is 'x'"),
        ('{"kind": "must", "items": ["s1", "s2"], "weight": true}', "the weight is True"),
        ('{"kind": "must", "items": ["s1", "s2"], "wieght": 2}', "unknown key 'wieght' for kind must"),
        ('{"kind": "must", "items": ["s1"]}', "items must be a list of 2 ids"),
        ('{"kind": "must", "items": "s1"}', "items must be a list of 2 ids"),
        ('{"kind": "must", "items": ["s1", 7]}', "an id must be a string, got 7 of type int"),
        ('{"kind": "must", "items": ["s1", ["s2"]]}', "an id must be a string"),
        ('{"kind": "must"}', "an object of kind must needs 'items'"),
        ('{"kind": "friend"}', "the kind is 'friend'; expected one of must"),
        ('{"items": ["s1", "s2"]}', "the kind is None"),
        ('{"kind": ["must"]}', "the kind is ['must']"),
        ('{"kind": "ids", "n": 3}', "ids in the first line only"),
        ('{"kind": "must_group", "items": ["s1"]}', "a group needs at least two ids"),
        ('{"kind": "must_group", "items": ["s1", "s1"]}', "contains an id twice"),
        ('{"kind": "label", "item": "s1", "label": null}', "the label is None"),
        ('{"kind": "label", "item": "s1", "label": 1e999}', "the label is inf"),
        ('{"kind": "bag", "bag": [1], "items": ["s1"]}', "the bag is [1]"),
        ('{"kind": "bag", "bag": "r", "items": []}', "items must be a list of ids"),
        ('{"kind": "bag", "bag": "r", "items": ["s1"], "labels": []}', "labels must be a list of labels"),
        ('{"kind": "bag", "bag": "r", "items": ["s1"], "labels": "x"}', "labels must be a list of labels"),
    ],
)
def test_bad_json_lines(file, line, text):
    message = bad(file(f'{{"kind": "must", "items": ["s1", "s2"]}}\n{line}', "a.jsonl"))
    assert message.startswith("a.jsonl:2: ")
    assert text in message


# ------------------------------------------------------------------ truncated files


@pytest.mark.long
def test_a_file_cut_short_anywhere_is_noticed(tmp_path):
    for format in FORMATS:
        path = tmp_path / f"hints.{format}"
        write_hints(path, EVERY, IDS)
        whole = path.read_bytes()
        start = whole.index(b"\n") + 1 if format != "parquet" else 0
        for size in range(start, len(whole) - 1, 7 if format == "parquet" else 1):
            path.write_bytes(whole[:size])
            with pytest.raises(FileFormatError):
                read_hints(path, IDS)


def test_a_truncated_last_line_says_so(file):
    assert "The file may be truncated" in bad(file('{"kind": "must", "ite', "a.jsonl"))


def test_lines_taken_out_are_noticed_and_lines_added_are_not(tmp_path):
    path = tmp_path / "hints.csv"
    write_hints(path, Supervision.from_links(6, must=[(0, 1), (1, 2)]), IDS)
    first, header, one, two = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([first, header, one, ""]))
    assert "expected 2 lines of hints; got 1" in bad(path)
    path.write_text("\n".join([first.replace("lines=2", "lines=1"), header, one, ""]))
    assert len(read_hints(path, IDS).must) == 1
    path.write_text("\n".join([first, header, one, two, "must,s1,007,,,,,,", ""]))
    assert len(read_hints(path, IDS).must) == 3


def test_a_first_line_that_cannot_be_understood(file):
    for fields in ("digest=1", "n=x", "n=3; label_type=date", "n=3; lines=few"):
        assert "hints.csv:1: the line about the ids is invalid" in bad(
            file(f"# likewise hints; {fields}\na,b,link\n")
        )


def test_values_that_are_not_of_the_announced_type(tmp_path):
    path = tmp_path / "hints.csv"
    write_hints(path, Supervision.from_labels([1, 2]), IDS[:2])
    path.write_text(path.read_text().replace(",2,", ",two,"))
    assert "hints.csv:4: 'two' is not of the type int that the first line declares" in bad(path, IDS[:2])


def test_a_parquet_file_that_is_none(file, tmp_path):
    assert "cannot be read as Parquet" in bad(file("a,b,link\n", "a.parquet"))
    path = tmp_path / "b.parquet"
    pq.write_table(pa.table({"x": ["s1"]}), path)
    assert "b.parquet: the columns are 'x'" in bad(path)
    table = pa.table({"id": ["s1"], "label": ["x"]})
    pq.write_table(table.replace_schema_metadata({"likewise_hints": "{"}), path)
    assert "cannot be read as Parquet" in bad(path)


# ------------------------------------------------------------------ ids that changed


@pytest.mark.parametrize("format", FORMATS)
def test_shuffled_and_changed_ids_are_noticed(tmp_path, format):
    path = tmp_path / f"hints.{format}"
    write_hints(path, EVERY, IDS)
    order = [3, 1, 5, 0, 4, 2]
    with pytest.warns(ShuffledIdsWarning, match="the same 6 ids in another order"):
        shuffled = read_hints(path, [IDS[i] for i in order])
    assert shuffled == EVERY[order]
    with pytest.warns(ChangedIdsWarning, match="6 ids that differ from the 7 given") as caught:
        more = read_hints(path, [*IDS, "s10"])
    assert not isinstance(caught[0].message, ShuffledIdsWarning)
    assert caught[0].filename == __file__
    assert more[:6] == EVERY
    assert "no row has the id 'é'" in bad(path, IDS[:5])


@pytest.mark.parametrize("format", FORMATS)
def test_shuffled_rows_without_ids_are_noticed_by_their_content(tmp_path, format):
    path = tmp_path / f"hints.{format}"
    X = np.arange(12.0).reshape(6, 2)
    ids = RowIds.from_row_numbers(6)
    write_hints(path, EVERY, ids, content=X)
    assert read_hints(path, ids, content=X) == EVERY
    assert read_hints(path, ids) == EVERY
    with pytest.raises(FileFormatError, match="written for other data: the rows have changed"):
        read_hints(path, ids, content=X[::-1])
    write_hints(path, EVERY, IDS, content=X)
    with pytest.warns(ShuffledIdsWarning):  # with ids, rows may be reordered together with their ids
        assert read_hints(path, IDS[::-1], content=X[::-1]) == EVERY[::-1]
    write_hints(path, EVERY, ids)
    assert read_hints(path, ids, content=X[::-1]) == EVERY  # the file has no digest of the content to compare


# ------------------------------------------------------------------ writing


def test_a_failed_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "hints.csv"
    write_hints(path, EVERY, IDS)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_hints(path, Supervision.empty(6), IDS)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["hints.csv"]


def test_written_files_can_be_read_by_others_and_links_are_followed(tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    path, link = tmp_path / "hints.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    write_hints(link, EVERY, IDS)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert read_hints(link, IDS) == EVERY


def test_hints_for_another_number_of_rows_than_ids(tmp_path):
    with pytest.raises(SupervisionError, match="the hints are for 6 rows, but there are 3 ids"):
        write_hints(tmp_path / "a.csv", EVERY, IDS[:3])
    with pytest.raises(SupervisionError, match="rows 0 and 1 both have the id"):
        read_hints(tmp_path / "a.csv", ["s1", "s1"])
    with pytest.raises(FileNotFoundError):
        read_hints(tmp_path / "none.csv", IDS)
