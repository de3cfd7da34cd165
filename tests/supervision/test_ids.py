import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import SupervisionError
from likewise.supervision import RowIds

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, unique=True)


def test_ids_and_rows():
    ids = RowIds.from_ids(np.array(["a", "007", "7"]))
    assert ids.ids == ("a", "007", "7")
    assert type(ids[0]) is str
    assert ids.find_rows(["7", "a"]).tolist() == [2, 0]
    assert ids.find_rows("007").tolist() == [1]
    assert ids.find_rows([]).tolist() == []
    assert "7" in ids
    assert 7 not in ids
    assert list(ids) == ["a", "007", "7"]
    assert len(ids) == 3
    assert RowIds.from_ids(ids) is ids
    assert RowIds.from_ids(pd.Series(["x", "y"])) == RowIds.from_ids(("x", "y"))
    assert repr(RowIds.from_ids(list("abcd"))) == "RowIds(4 rows: 'a', 'b', 'c', …)"
    assert pickle.loads(pickle.dumps(ids)) == ids


def test_numbered_ids():
    assert RowIds.from_row_numbers(3).ids == ("0", "1", "2")
    with pytest.raises(SupervisionError, match="at least 1"):
        RowIds.from_row_numbers(0)


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        (["a", "b", "a", "b"], "rows 0 and 2 both have the id 'a', and 1 more are repeated"),
        (["a", "a"], "rows 0 and 1 both have the id 'a'; ids must differ"),
        (["a", ""], "the id of row 1 is empty"),
        (["a", None], "row 1 is None, of type NoneType"),
        ([7, 8], "row 0 is 7, of type int; ids are strings.*'007' stays"),
        ([], "ids is empty"),
        ("abc", "a sequence of strings"),
        (5, "a sequence of strings"),
        (["a\ud800"], "not valid Unicode"),
    ],
)
def test_bad_ids(ids, text):
    with pytest.raises(SupervisionError, match=text):
        RowIds.from_ids(ids)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("Wren_01", "did you mean 'wren_01'"),
        (" wren_01", "did you mean 'wren_01'"),
        ("7", "did you mean '007'"),
        ("wren_011", "did you mean 'wren_01'"),
        ("zebra", r"no row has the id 'zebra'\."),
        (7, "an id must be a string, got 7 of type int"),
    ],
)
def test_unknown_ids_name_the_nearest(wanted, text):
    ids = RowIds.from_ids(["wren_01", "owl_01", "007"])
    with pytest.raises(SupervisionError, match=text):
        ids.find_rows(["owl_01", wanted])


def test_unknown_among_many_is_answered_soon():
    ids = RowIds.from_row_numbers(300_000)
    with pytest.raises(SupervisionError, match="did you mean '299999'"):
        ids.find_rows(["0299999"])
    with pytest.raises(SupervisionError, match=r"'nobody'\."):
        ids.find_rows(["nobody"])


def test_the_digest_is_settled():
    # sha256 over each id's length, eight bytes low first, and its UTF-8; computed once by hand.
    import hashlib

    data = b"\x01" + bytes(7) + b"a" + b"\x02" + bytes(7) + "é".encode()
    assert RowIds.from_ids(["a", "é"]).digest == hashlib.sha256(data).hexdigest()[:16]
    assert RowIds.from_ids(["ab", "c"]).digest != RowIds.from_ids(["a", "bc"]).digest


@given(TEXTS, st.randoms())
def test_digests_tell_order_from_content(texts, random):
    ids = RowIds.from_ids(texts)
    shuffled = random.sample(texts, len(texts))
    other = RowIds.from_ids(shuffled)
    assert (ids.digest == other.digest) == (texts == shuffled)
    assert ids.sorted_digest == other.sorted_digest
    assert ids.find_rows(shuffled).tolist() == [texts.index(t) for t in shuffled]
    assert RowIds.from_ids([*texts, max(texts, key=len) + "x"]).sorted_digest != ids.sorted_digest


def test_content_follows_ids():
    X = np.array([[1.0, 2], [3, 4], [5, 6]])
    ids = RowIds.from_ids(["b", "a", "c"])
    digest = ids.compute_content_digest(X)
    assert RowIds.from_ids(["a", "c", "b"]).compute_content_digest(X[[1, 2, 0]]) == digest
    assert ids.compute_content_digest(X.astype(int)) == digest
    assert ids.compute_content_digest(pd.DataFrame(X)) == digest
    assert ids.compute_content_digest(X[[1, 0, 2]]) != digest
    assert ids.compute_content_digest(X.reshape(3, 1, 2)) != digest
    words = ids.compute_content_digest(np.array([["x"], ["y"], ["z"]]))
    assert words != ids.compute_content_digest(np.array([["x"], ["z"], ["y"]]))
    with pytest.raises(SupervisionError, match="one row for each of 3 ids, got shape"):
        ids.compute_content_digest(X[:2])
