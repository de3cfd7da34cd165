"""Tables of tags: three detected layouts of the same tags, and errors for other tables."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.cli._tags import LabelTable, build_items, find_shared_id, read_tag_columns, read_tag_table
from likewise.exceptions import FileFormatError
from likewise.supervision import RowIds
from likewise.tables import RawTable, read_columns

IDS = RowIds.from_ids(["r1", "r2", "r3"])
Y = [[1, 0], [0, 0], [1, 1]]  # cat, pet

WIDE = "id,cat,pet\nr3,1,1\nr1,1,0\nr2,0,0\n"
LONG = "id,label\nr1,cat\nr3,pet\nr3,cat\nr3,pet\n"
LISTED = "id,tags\nr1,cat\nr3,pet; cat;\nr2,\n"


def raw_of(text):
    header, *rows = [line.split(",") for line in text.splitlines()]
    return RawTable(
        "tags.csv", tuple(header), tuple(map(list, zip(*rows, strict=True))), list(range(2, len(rows) + 2))
    )


def tags_of(text, *, ids=IDS, id_column="id", separator=";"):
    return read_tag_table(raw_of(text), ids, id_column=id_column, separator=separator, data="items.csv")


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (WIDE, "a column of 0 and 1 for each label, ids in 'id'"),
        (LONG, "one tag per line in 'label', ids in 'id'"),
        (LISTED, "labels separated by ';' in 'tags', ids in 'id'"),
        ("cat,pet\n1,0\n0,0\n1,1\n", "a column of 0 and 1 for each label, rows in the order of items.csv"),
        ("cat,pet,id\n1,1,r3\n1,0,r1\n,,r2\n", "a column of 0 and 1 for each label, ids in 'id'"),
        (
            "id,cat,pet\nr3,TRUE,yes\nr1,1.0,no\nr2,0.0,False\n",
            "a column of 0 and 1 for each label, ids in 'id'",
        ),
        ("item,label\nr1,cat\nr3,pet\nr3,cat\n", "one tag per line in 'label', ids in 'item'"),
    ],
)
def test_the_same_tags_in_every_shape(text, layout):
    tags = tags_of(text)
    assert tags.Y.tolist() == Y
    assert tags.names == ("cat", "pet")
    assert tags.layout == layout
    assert tags.n_tags == 3
    assert tags.n_bare == 1
    assert tags.unused == ()


def test_rows_without_an_id_column_are_numbers():
    tags = tags_of("row,label\n0,cat\n2,cat\n2,pet\n", ids=RowIds.from_row_numbers(3), id_column=None)
    assert tags.Y.tolist() == Y


def test_numbers_from_other_formats(tmp_path):
    np.save(tmp_path / "tags.npy", np.array(Y))
    raw = read_columns(str(tmp_path / "tags.npy"))
    tags = read_tag_table(raw, IDS, id_column="id", separator=";", data="items.csv")
    assert tags.Y.tolist() == Y
    assert tags.names == ("f0", "f1")
    raw = RawTable("t", ("id", "a", "b"), (["r1", "r2"], np.array([1.0, np.nan]), np.array([0, 1])), None)
    assert read_tag_table(raw, IDS, id_column="id", separator=";", data="d").Y.tolist() == [
        [1, 0],
        [0, 1],
        [0, 0],
    ]
    raw = RawTable("t", ("id", "a", "b"), (["r1", "r2"], np.array([1.0, 3.0]), np.array([0, 1])), None)
    with pytest.raises(FileFormatError, match="the column 'a' contains"):
        read_tag_table(raw, IDS, id_column="id", separator=";", data="d")


def test_one_column_of_zeros_and_ones_is_one_label_unless_ids_repeat():
    assert tags_of("id,pet\nr1,1\nr2,0\n").names == ("pet",)
    again = tags_of("id,pet\nr1,1\nr1,0\n")
    assert again.names == ("0", "1")
    assert again.Y.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_another_separator_is_used_or_suggested():
    text = "id,tags\nr1,cat|pet\nr2,pet|toy\nr3,toy\n"
    assert tags_of(text, separator="|").names == ("cat", "pet", "toy")
    assert "pass --separator '|'" in tags_of(text).notes[0]
    assert tags_of("id,tags\nr1,a/b\nr2,c\nr3,d\n").notes == ()


def test_rows_that_are_not_listed_and_labels_that_are_not_used_are_reported():
    tags = tags_of("id,cat,pet,toy\nr3,1,1,0\nr1,1,0,0\n")
    assert tags.Y.tolist() == Y
    assert tags.unused == ("toy",)
    assert tags.notes == (
        "1 row(s) are not in the table of tags and count as rows without tags.",
        "1 label(s) are never used and are left out: 'toy'.",
    )


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("id\nr1\n", "tags.csv has one column, 'id'. Expected one of three layouts"),
        (
            "id,cat,pet\nr1,1,2\n",
            "tags.csv:2: the column 'pet' contains '2' instead of 0 or 1, and there are 2 columns",
        ),
        ("id,label,who\nr1,cat,ann\n", "the column 'label' contains 'cat' instead of 0 or 1"),
        ("id,cat,pet\nr1,1,0\nr1,0,0\n", "tags.csv:3: the id 'r1' occurs twice"),
        ("id,label\nr1,\nr2, ;\n", "every cell of the column 'label' is empty"),
        ("id,label\n,cat\n", "tags.csv:2: the id (column 'id') is empty"),
        ("id,cat,pet\nr1,0,0\nr2,0,0\n", "no row has a label"),
        ("id,label\nR1,cat\nr2,pet\n", "tags.csv:2: no row has the id 'R1'; did you mean 'r1'?"),
        (
            "r1,cat\nr2,pet\n",
            "the header seems to be missing. Begin the file with a line such as id,label",
        ),
    ],
)
def test_tables_that_are_none_of_the_three(text, output):
    with pytest.raises(FileFormatError, match=re.escape(output)):
        tags_of(text)


def test_many_unknown_ids_are_counted_and_some_are_named():
    text = "id,label\n" + "".join(f"x{k},cat\n" for k in range(9)) + "r1,cat\n"
    with pytest.raises(FileFormatError, match=r"9 of the 10 ids in tags.csv are not in .*'x4', …\."):
        tags_of(text)


@given(st.data())
def test_every_shape_says_the_same(data):
    n, names = (
        data.draw(st.integers(1, 6)),
        data.draw(st.lists(st.sampled_from("abcdef"), min_size=2, unique=True)),
    )
    names.sort()
    labels = np.array(
        data.draw(
            st.lists(
                st.lists(st.booleans(), min_size=len(names), max_size=len(names)), min_size=n, max_size=n
            )
        )
    )
    labels[0, :] = True  # every label is used
    ids = RowIds.from_ids([f"i{k}" for k in range(n)])
    order = data.draw(st.permutations(range(n)))
    wide = "id," + ",".join(names) + "\n"
    wide += "".join(f"i{k}," + ",".join(str(int(cell)) for cell in labels[k]) + "\n" for k in order)
    long = "id,label\n" + "".join(f"i{k},{names[c]}\n" for k in order for c in np.flatnonzero(labels[k]))
    listed = "id,tags\n" + "".join(
        f"i{k}," + ";".join(names[c] for c in np.flatnonzero(labels[k])) + "\n" for k in order
    )
    for text in (wide, long, listed):
        tags = tags_of(text, ids=ids)
        assert tags.names == tuple(names)
        assert (labels == tags.Y).all()


def test_columns_of_the_data():
    raw = raw_of("id,cat,pet,toy\nr1,1,0,0\nr2,0,0,0\nr3,1,1,0\n")
    assert read_tag_columns(raw, ("cat", "pet")).Y.tolist() == Y
    assert read_tag_columns(raw, ("toy", "pet")).unused == ("toy",)
    with pytest.raises(FileFormatError, match="expected 0 or 1 in the label column 'id'; got 'r1'"):
        read_tag_columns(raw, ("cat", "id"))


def test_the_shared_column_must_tell_rows_apart():
    tags = raw_of("key,label\nr1,cat\n")
    assert find_shared_id(raw_of("x,key\n1,r1\n2,r2\n"), tags) == "key"
    assert find_shared_id(raw_of("x,key\n1,r1\n2,r1\n"), tags) is None
    assert find_shared_id(raw_of("x,key\n1,r1\n2,\n"), tags) is None
    assert find_shared_id(raw_of("x,y\n1,r2\n"), tags) is None


def test_a_label_table_is_read_as_a_table():
    from likewise.multilabel._base import check_labels

    labels = check_labels(LabelTable(np.array(Y, dtype=np.uint8), ("cat", "pet")))
    assert labels.names == ("cat", "pet")
    assert labels.Y.tolist() == Y
    assert np.asarray(LabelTable(np.array(Y, dtype=np.uint8), ("cat", "pet"))).tolist() == Y


# ---------------------------------------------------------------------- what is learned from

ITEMS = "id,text,x,note\nr1,red owl,1,a\nr2,blue owl,2,b\nr3,red saw,4,c\n"


def test_files_of_features_are_recognised_by_their_names(tmp_path):
    path = tmp_path / "e.NPY"
    with path.open("wb") as file:
        np.save(file, np.ones((3, 1)))
    found = build_items(raw_of(ITEMS), features=("x", str(path)), id="id", seed=0)
    assert found.descriptions == ("1 column(s) of numbers", f"1 numbers per row from {path}")
    alone = build_items(raw_of(ITEMS), features=(str(path),), seed=0)
    assert alone.descriptions == (f"1 numbers per row from {path}",)


def test_blocks_stand_side_by_side(tmp_path):
    np.save(tmp_path / "e.npy", np.array([[3.0, 0.0], [3.0, 4.0], [3.0, 2.0]]))
    path = str(tmp_path / "e.npy")
    roles = {"id": "id", "text": ("text",), "drop": ("note",)}
    found = build_items(raw_of(ITEMS), features=("x", path), **roles, method="words", seed=0)
    assert found.X.shape == (3, 1 + 2 + 4)
    assert found.X[:, 0].tolist() == [1, 2, 4]
    assert found.X[:, 1:3].var(axis=0).mean() == pytest.approx(1)
    assert found.X[:, 3:].var(axis=0).mean() == pytest.approx(1)
    assert (found.X[:, 3:] > 0).sum(axis=1).tolist() == [2, 2, 2]  # two words each
    assert found.descriptions == (
        "1 column(s) of numbers",
        f"2 numbers per row from {path}",
        "4 words of 'text'",
    )
    assert found.notes == ()


def test_few_components_of_many_words_do_not_depend_on_chance():
    wanted = {"id": "id", "text": ("text", "note"), "components": 2, "method": "words", "seed": 5}
    one, two = (build_items(raw_of(ITEMS), **wanted) for _ in range(2))
    assert one.X.shape == (3, 2)
    np.testing.assert_array_equal(one.X, two.X)
    assert one.descriptions == ("2 components of 4 words of 'text' and 'note'",)
    assert one.notes == ("not used: x. Give columns of numbers with --features, text with --text.",)


def test_text_that_is_the_same_everywhere_is_no_error():
    found = build_items(raw_of("id,text\nr1,same\nr2,same\n"), id="id", text=("text",), seed=0)
    assert np.isfinite(found.X).all()


def test_ids_under_another_name_are_not_taken_for_row_numbers():
    data, tags = raw_of("id,x\n2,5\n0,6\n1,7\n"), raw_of("item,label\n0,cat\n2,pet\n")
    with pytest.raises(FileFormatError, match="If these are the ids, pass --id id"):
        find_shared_id(data, tags)
    assert find_shared_id(data, tags, ["id"]) is None
    assert find_shared_id(data, raw_of("cat,pet\n1,0\n0,1\n1,1\n")) is None  # labels, no ids


def test_a_separator_that_was_not_meant_is_reported():
    tags = tags_of("id,tags\nr1,cat;pet\nr2,pet\nr3,cat\n", separator="|")
    assert any("contain ';'" in note for note in tags.notes)
