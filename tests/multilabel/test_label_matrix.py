"""Validation of label matrices."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from likewise.multilabel._base import check_labels

Y = np.array([[1, 0, 1], [0, 0, 1]])


def test_labels_by_hand():
    labels = check_labels(Y)
    assert labels.names == ("0", "1", "2")
    assert labels.n_labels == 3
    assert labels.counts.tolist() == [1, 0, 2]
    assert labels.Y.dtype == np.uint8
    assert labels.Y.flags.c_contiguous


@given(arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(0, 1)))
def test_every_type_of_table_is_read(Y):
    frame = pd.DataFrame(Y)
    same = [
        Y.tolist(),
        Y.astype(bool),
        Y.astype(np.float32),
        Y.astype(object),
        np.asfortranarray(Y),
        sparse.csr_array(Y),
        sparse.csc_matrix(Y),
        frame,
        frame.astype("boolean"),
        frame.astype("Int64"),
    ]
    for other in same:
        labels = check_labels(other)
        np.testing.assert_array_equal(labels.Y, Y)
        assert labels.names == tuple(map(str, range(Y.shape[1])))


def test_columns_name_the_labels():
    mixed = pd.DataFrame({"rock": [True, False], "jazz": [0, 1], 7: [1.0, 1.0]})
    labels = check_labels(mixed)
    assert labels.names == ("rock", "jazz", "7")
    assert labels.Y.tolist() == [[1, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "requires y to be passed"),
        ([0, 1, 1], r"one column per label.*shape \(3,\).*reshape\(-1, 1\).*LabelBinarizer"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([[0, 1], [1]], "different lengths.*MultiLabelBinarizer"),
        ([{"a", "b"}, {"a"}], r"one column per label.*shape \(2,\)"),
        ([["a", "b"]], "0 and 1.*'a'.*MultiLabelBinarizer"),
        (np.zeros((0, 3)), r"at least one row; got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"at least one column; got shape \(3, 0\)"),
        ([[0, 1], [np.nan, 1], [np.nan, 0]], r"NaN: 2 value.*row 1, column 0.*fillna\(0\)"),
        (np.array([[None, 1]], dtype=object), "NaN: 1 value"),
        (pd.DataFrame({"a": [1, None]}), "NaN: 1 value.*row 1, column 0"),
        (pd.DataFrame({"a": [1, None], "b": [0, 1]}, dtype="Int64"), "NaN: 1 value.*row 1, column 0"),
        ([[0, 1], [1, 2]], "only 0 and 1; got 2 in row 1, column 1.*Y > 0"),
        ([[0, 0.5]], "got 0.5 in row 0, column 1"),
        ([[0, -1]], "got -1"),
        ([[0, np.inf]], "got inf"),
        (sparse.csr_array(np.array([[0, 3]])), "got 3 in row 0, column 1"),
        (pd.DataFrame([[0, 1]], columns=["a", "a"]), "two columns.*'a'.*rename"),
        (pd.DataFrame([[0, 1]], columns=[1, "1"]), "two columns.*'1'"),
    ],
)
def test_invalid_label_matrices_are_rejected(given, words):
    with pytest.raises(ValueError, match=words) as refused:
        check_labels(given, who="Asker")
    assert str(refused.value).startswith("Asker: ")
