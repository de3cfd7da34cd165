"""Rows in bags as a pair of tables: round trips, and error messages for invalid tables."""

import gzip
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.datasets import Dataset, load
from likewise.exceptions import (
    DatasetNotFoundError,
    FileFormatError,
    InconsistentSupervisionWarning,
    SupervisionError,
)
from likewise.supervision import (
    Supervision,
    read_bag_labels,
    read_bags,
    read_hints,
    sample_bag_labels,
    write_bags,
)
from profiles import fewer

ROWS = "bag,label,f0,f1\nr1,wren,0.5,1\nr1,owl,2,-1\nr2,owl,2.5,1e-3\n,wren,0,0\n"
BAGS = "bag,labels\nr1,wren;owl\nr2,owl\n"


@pytest.fixture
def files(tmp_path):
    """Write the two tables, and return where they are."""

    def write(rows=ROWS, bags=BAGS, ending="csv"):
        paths = tmp_path / f"rows.{ending}", tmp_path / f"bags.{ending}"
        for path, content in zip(paths, (rows, bags), strict=True):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return paths

    return write


def bad(call, folder):
    with pytest.raises(FileFormatError) as error:
        call()
    return str(error.value).replace(str(folder) + os.sep, "")


# ------------------------------------------------------------------ by hand


def test_two_tables_by_hand(files):
    read = read_bags(*files())
    np.testing.assert_array_equal(read.X, [[0.5, 1], [2, -1], [2.5, 1e-3], [0, 0]])
    assert read.feature_names == ("f0", "f1")
    assert read.y.tolist() == ["wren", "owl", "owl", "wren"]
    assert list(read.ids) == ["0", "1", "2", "3"]
    bags = read.supervision.bags
    assert bags.names == ("r1", "r2")
    assert bags.codes.tolist() == [0, 0, 1, -1]
    assert bags.labels == (frozenset({"wren", "owl"}), frozenset({"owl"}))
    assert read.supervision.kinds == {"bags"}


def test_columns_are_taken_as_they_are_named(files):
    rows, bags = files("id,rec,species,width,height\ns1,r1,wren,1,2\ns2,r2,,3,4\n", "bag,labels\nr1,wren\n")
    read = read_bags(rows, bags, bag="rec", label="species", features=["height"])
    assert list(read.ids) == ["s1", "s2"]
    assert read.y.tolist() == ["wren", None]
    assert read.feature_names == ("height",)
    np.testing.assert_array_equal(read.X, [[2], [4]])
    read = read_bags(rows, bags, bag="rec", label=None, id=None, features=["width"])
    assert read.y is None
    assert list(read.ids) == ["0", "1"]


def test_without_a_table_of_labels_all_bags_are_unlabelled(files):
    rows, _ = files()
    assert read_bags(rows).supervision.bags.labels == (None, None)


def test_bags_that_the_table_does_not_name_are_unlabelled(files):
    read = read_bags(*files(bags="bag,labels,note\nr2,owl,heard twice\nr2, owl ;owl,\n"))
    assert read.supervision.bags.labels == (None, frozenset({"owl"}))


def test_gzip_byte_order_mark_and_windows_ends(files):
    plain = read_bags(*files())
    rows, bags = files(
        gzip.compress(ROWS.replace("\n", "\r\n").encode()),
        gzip.compress(b"\xef\xbb\xbf" + BAGS.encode()),
        "csv.gz",
    )
    packed = read_bags(rows, bags)
    np.testing.assert_array_equal(packed.X, plain.X)
    assert packed.supervision == plain.supervision


def test_other_encodings(files, tmp_path):
    rows, bags = files("bag,f0\nö,1\nö,2\n".encode("latin-1"), "bag,labels\nö,é\n".encode("latin-1"))
    assert "rows.csv:2: byte 7 is 0xf6" in bad(lambda: read_bags(rows, bags), tmp_path)
    read = read_bags(rows, bags, encoding="latin-1")
    assert read.supervision.bags.labels == (frozenset({"é"}),)


# ------------------------------------------------------------------ names of bags


def test_bags_in_memory_keep_their_type(files):
    _, bags = files(bags="bag,labels\n1,wren\n2,owl\n")
    for known in ([1, 1, 2, None], np.array([1.0, 1.0, 2.0, np.nan]), ["1", "1", "2", None]):
        hints = read_bag_labels(bags, known)
        assert hints.bags.labels == (frozenset({"wren"}), frozenset({"owl"}))
        assert hints.bags.names == tuple(dict.fromkeys(g for g in list(known)[:3]))
        assert hints.bags.codes.tolist() == [0, 0, 1, -1]


def test_numbers_that_are_written_in_two_ways_are_reported(files, tmp_path):
    paths = files("bag,f0\n1.0,0\n2.0,1\n", "bag,labels\n1,wren\n2,owl\n")
    message = bad(lambda: read_bags(*paths), tmp_path)
    assert "bags.csv:2: bag '1' has labels, but no row is in it; there are rows in bag '1.0'." in message
    assert "write it the same way in both" in message
    paths = files("bag,f0\n1,0\n", "bag,labels\n01,wren\n")
    assert "there are rows in bag '1'" in bad(lambda: read_bags(*paths), tmp_path)


def test_types_that_differ_in_memory_are_reported():
    with pytest.raises(SupervisionError, match=r"rows in bag 1, of type int, but bag_labels has str"):
        Supervision.from_bags([1, 1], {"1": ["wren"]})
    with pytest.raises(SupervisionError, match=r"rows in bag '1.0', of type str, but bag_labels has int"):
        Supervision.from_bags(["1.0"], {1: ["wren"]})
    with pytest.raises(SupervisionError, match=r"bag 7, but no row is in it. Remove it"):
        Supervision.from_bags([1, 1], {7: ["wren"]})


def test_two_bags_of_one_name_are_refused(files):
    _, bags = files(bags="bag,labels\n1,wren\n")
    with pytest.raises(SupervisionError, match="both are written as '1'"):
        read_bag_labels(bags, [1, "1"])
    with pytest.raises(SupervisionError, match=r"the bag 0.5 is of type float"):
        read_bag_labels(bags, [0.5, 1])


# ------------------------------------------------------------------ invalid tables


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ("", "bags.csv is empty"),
        (
            "bag,labels\nr1a,owl\n",
            "bags.csv:2: bag 'r1a' has labels, but no row is in it. Did you mean 'r1'?",
        ),
        (
            "bag,labels\nzebra,owl\n",
            "bags.csv:2: bag 'zebra' has labels, but no row is in it. Remove the line",
        ),
        ("bag,labels\nR1,owl\n", "Did you mean 'r1'?"),
        ("bag,labels\n,owl\n", "bags.csv:2: bag is empty."),
        ("bag,labels\nr1,\n", "bags.csv:2: bag 'r1' has no labels. Leave the line out"),
        ("bag,labels\nr1, ; \n", "bags.csv:2: bag 'r1' has no labels."),
        (
            "bag,labels\nr1,owl\nr2,owl\nr1,wren\n",
            "bags.csv:4: bag 'r1' has the labels wren, but owl on line 2.",
        ),
        ("bag,labels\nr1,owl,wren\n", "bags.csv:2: 3 cell(s), but the header has 2."),
        ('bag,labels\nr1,"owl\n', "bags.csv:2: a quote is opened and never closed"),
        ("bag,label\nr1,owl\n", "One line lists all labels of a bag"),
        ("id,bag,labels\n0,r1,owl\n", "read it with read_hints"),
        ("bag,labels,colour\nr1,owl,red\n", "expected bag and labels. Rename or remove the others"),
        ("bag,labels,labels\nr1,owl,owl\n", "two columns are called 'labels'"),
    ],
)
def test_a_wrong_table_of_labels_is_reported_by_line(files, tmp_path, bags, message):
    paths = files(bags=bags)
    assert message in bad(lambda: read_bags(*paths), tmp_path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "rows.csv is empty"),
        ("bag,f0\n", "rows.csv has a header and no rows"),
        ("bags,f0\nr1,1\n", "rows.csv has no column 'bag'; did you mean 'bags'?"),
        ("bag,label\nr1,owl\n", "no feature columns"),
        (
            "bag,f0\nr1,1\nr1,x\nr2,nan\nr2,\n",
            "rows.csv:3: the column 'f0' is 'x'; expected a finite number.",
        ),
        ("bag,f0\nr1,1\nr1,x\nr2,nan\nr2,\n", "rows.csv:5: the column 'f0' is ''"),
        ("bag,f0\nr1,1,2\n", "rows.csv:2: 3 cell(s), but the header has 2."),
        ("id,bag,f0\na,r1,1\na,r2,2\n", "rows.csv:3: line 2 also has the id 'a'"),
        ("id,bag,f0\n,r1,1\n", "rows.csv:2: the id is empty"),
    ],
)
def test_a_wrong_table_of_rows_is_reported_by_line(files, tmp_path, rows, message):
    paths = files(rows=rows)
    assert message in bad(lambda: read_bags(*paths), tmp_path)


def test_columns_cannot_serve_two_ends(files, tmp_path):
    rows, bags = files()
    assert "is used twice" in bad(lambda: read_bags(rows, bags, features=["f0", "bag"]), tmp_path)
    assert "no column 'kind'" in bad(lambda: read_bags(rows, bags, label="kind"), tmp_path)


def test_every_bad_line_is_reported_and_nothing_is_read(files, tmp_path):
    paths = files(bags="bag,labels\n" + "".join(f"x{i},owl\n" for i in range(8)))
    message = bad(lambda: read_bags(*paths), tmp_path)
    assert message.count("bags.csv:") == 5
    assert message.endswith("and 3 more.\nNothing was read.")


def test_more_labels_than_rows_is_a_warning(files):
    paths = files(bags="bag,labels\nr1,owl\nr2,owl;wren;finch\n")
    with pytest.warns(InconsistentSupervisionWarning, match=r"1 bag\(s\) have more labels.*'r2' \(3 for 1\)"):
        read = read_bags(*paths)
    assert read.supervision.bags.labels[1] == frozenset({"owl", "wren", "finch"})


def test_a_table_of_labels_is_no_file_of_hints(files, tmp_path):
    _, bags = files()
    assert "see read_bags" in bad(lambda: read_hints(bags, ["a"]), tmp_path)


def test_formats_that_are_no_tables(files, tmp_path):
    rows, bags = files(ending="jsonl")
    with pytest.raises(ValueError, match="CSV or Parquet"):
        read_bags(rows, bags)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"bag,f0\nr1,1\n")[:-4])
    assert "cannot be decompressed" in bad(lambda: read_bags(tmp_path / "cut.csv.gz"), tmp_path)


# ------------------------------------------------------------------ round trips

WORDS = st.text(st.characters(codec="utf-8", exclude_characters=";"), min_size=1, max_size=4).filter(
    lambda word: word == word.strip()
)


@fewer(2)
@given(st.data(), st.sampled_from(["csv", "parquet"]))
def test_what_is_written_comes_back(tmp_path, data, ending):
    names = data.draw(st.lists(WORDS, min_size=1, max_size=3, unique=True))
    bags = data.draw(st.lists(st.one_of(st.none(), st.sampled_from(names)), min_size=3, max_size=6))
    there = sorted({bag for bag in bags if bag is not None})
    classes = ["wren", "owl", "ö,\nü"]
    sets = st.one_of(st.none(), st.sets(st.sampled_from(classes), min_size=1, max_size=1))
    hints = Supervision.from_bags(bags, {bag: data.draw(sets) for bag in there})
    X = np.array(data.draw(st.lists(st.floats(-1e9, 1e9), min_size=len(bags), max_size=len(bags))))[:, None]
    ids = [f"id {i}" for i in range(len(bags))]
    y = data.draw(st.lists(st.one_of(st.none(), WORDS), min_size=len(bags), max_size=len(bags)))
    rows, labels = tmp_path / f"rows.{ending}", tmp_path / f"bags.{ending}"
    write_bags(rows, labels, X, hints, ids=ids, y=y, feature_names=["width"])
    read = read_bags(rows, labels)
    np.testing.assert_array_equal(read.X, X)
    assert list(read.ids) == ids
    assert read.y.tolist() == y
    assert read.feature_names == ("width",)
    assert read.supervision == hints


def test_whole_numbers_are_written_plainly(tmp_path):
    hints = Supervision.from_bags(np.array([1, 1, 2]), {1: (3, 4)})
    rows, labels = tmp_path / "rows.csv", tmp_path / "bags.csv"
    write_bags(rows, labels, [[1, 0.5], [2, 1e300], [3, -2]], hints, y=[3, 4, 4])
    assert rows.read_text() == "bag,label,f0,f1\n1,3,1,0.5\n1,4,2,1e+300\n2,4,3,-2\n"
    assert labels.read_text() == "bag,labels\n1,3;4\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bags.csv", "rows.csv"]


@pytest.mark.parametrize(
    ("hints", "options", "message"),
    [
        (Supervision.from_links(2, must=[(0, 1)]), {}, r"also contain links.*write_hints"),
        (Supervision.from_bags(["a", "b", "c"]), {}, "are for 3 rows, but X has 2"),
        (Supervision.from_bags(["a", "b"], {"a": ["x;y"]}), {}, "without semicolons"),
        (Supervision.from_bags(["a", "b"], {"a": [" x"]}), {}, "without semicolons and surrounding spaces"),
        (Supervision.from_bags(["", "b"]), {}, "the bag '' would change"),
        (Supervision.from_bags([("a",), "b"]), {}, r"the bag \('a',\) is of type tuple"),
        (Supervision.from_bags([1, "1"]), {}, "both are written as '1'"),
        (Supervision.from_bags(["a", "b"]), {"feature_names": ["bag"]}, "cannot be called 'bag'"),
        (Supervision.from_bags(["a", "b"]), {"feature_names": ["x", "y"]}, "1 different names"),
        (Supervision.from_bags(["a", "b"]), {"y": ["x"]}, "label has 1 entries, but X has 2 rows"),
        (Supervision.from_bags(["a", "b"]), {"ids": ["x"]}, "id has 1 entries, but X has 2 rows"),
    ],
)
def test_what_the_tables_cannot_hold_is_refused(tmp_path, hints, options, message):
    with pytest.raises((SupervisionError, ValueError), match=message):
        write_bags(tmp_path / "rows.csv", tmp_path / "bags.csv", [[1.0], [2.0]], hints, **options)
    assert list(tmp_path.iterdir()) == []


def test_bad_places_and_features_are_refused(tmp_path):
    hints = Supervision.from_bags(["a", "b"])
    with pytest.raises(ValueError, match="finite numbers"):
        write_bags(tmp_path / "r.csv", tmp_path / "b.csv", [[1.0], [np.nan]], hints)
    with pytest.raises(ValueError, match="two files"):
        write_bags(tmp_path / "r.csv", tmp_path / "r.csv", [[1.0], [2.0]], hints)
    with pytest.raises(ValueError, match="CSV or Parquet"):
        write_bags(tmp_path / "r.csv", tmp_path / "b.jsonl", [[1.0], [2.0]], hints)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["letter_carroll", "msrcv2", "hja_birdsong"])
def test_the_data_sets_with_bags_are_read_as_they_are_loaded(tmp_path, name):
    try:
        data = load(name, origin="folder")
    except DatasetNotFoundError as error:
        pytest.skip(f"needs the data files: {error}")
    rows, labels = tmp_path / "rows.csv", tmp_path / "bags.csv"
    write_bags(rows, labels, data.X, data.supervision(), y=data.y, feature_names=data.feature_names)
    read = read_bags(rows, labels)
    np.testing.assert_array_equal(read.X, data.X)
    assert read.y.tolist() == list(map(str, data.y.tolist()))
    loaded, found = data.supervision().bags, read.supervision.bags
    expected = {str(n): set(map(str, labels)) for n, labels in zip(loaded.names, loaded.labels, strict=True)}
    assert dict(zip(found.names, found.labels, strict=True)) == expected


# ------------------------------------------------------------------ some of the labels


def test_a_share_of_the_bags_keeps_its_labels():
    hints = Supervision.from_bags(list(range(10)), {b: ["x", b] for b in range(8)})
    everything = hints | Supervision.from_links(10, must=[(0, 1)])
    known = []
    for share in (0, 0.25, 0.5, 1):
        kept = sample_bag_labels(everything, share, random_state=3)
        assert kept.must.tolist() == [[0, 1]]
        labels = kept.bags.labels
        known.append({b for b, names in enumerate(labels) if names is not None})
        assert all(labels[b] == hints.bags.labels[b] for b in known[-1])
        assert len(known[-1]) == round(8 * share)
    assert known[0] < known[1] < known[2] < known[3] == set(range(8))
    assert sample_bag_labels(hints, 1) == hints
    seeds = [sample_bag_labels(hints, 0.5, random_state=seed).bags.labels for seed in range(5)]
    assert len(set(seeds)) > 1
    assert seeds[2] == sample_bag_labels(hints, 0.5, random_state=2).bags.labels


@pytest.mark.parametrize("share", [-0.1, 1.5, "half", True, float("nan")])
def test_a_share_lies_between_nothing_and_all(share):
    with pytest.raises(ValueError, match="from 0 to 1"):
        sample_bag_labels(Supervision.from_bags([0, 1], {0: ["x"]}), share)


def test_hints_without_bags_have_no_bag_labels():
    with pytest.raises(SupervisionError, match="expected hints with bags; got"):
        sample_bag_labels(Supervision.from_links(2, must=[(0, 1)]), 0.5)
    plain = Dataset(name="iris", origin="folder", citation="", licence="")
    with pytest.raises(SupervisionError, match=r"iris has no bags.*sample_links"):
        plain.supervision()
