import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hierarchy.drawn import ancestors, hierarchies
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy

PETS = LabelHierarchy(["kitten", "animal", "cat", "toy"], [("animal", "cat"), ("cat", "kitten")])
HELD = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
CLOSED = np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0]])
SPARSE = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix]


# ------------------------------------------------------------------ by hand


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_closing_by_hand_keeps_the_dtype(dtype):
    given_ = HELD.astype(dtype)
    closed = PETS.close(given_)
    assert closed.dtype == dtype
    np.testing.assert_array_equal(closed, CLOSED.astype(dtype))
    np.testing.assert_array_equal(given_, HELD.astype(dtype))  # the input is unchanged
    np.testing.assert_array_equal(PETS.close(HELD.tolist()), CLOSED)


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
def test_closing_sparse_indicators_gives_the_same_kind(kind, dtype):
    given_ = kind(HELD.astype(dtype))
    closed = PETS.close(given_)
    assert type(closed) is kind
    assert closed.dtype == dtype
    np.testing.assert_array_equal(closed.toarray(), CLOSED.astype(dtype))
    np.testing.assert_array_equal(given_.toarray(), HELD.astype(dtype))


def test_columns_of_a_dataframe_are_matched_by_name():
    order = [3, 0, 2, 1]
    columns = [PETS.names[k] for k in order]
    frame = pd.DataFrame(HELD[:, order], index=list("wxyz"), columns=columns)
    frame = frame.astype({"toy": bool, "cat": np.uint8})
    wanted = pd.DataFrame(CLOSED[:, order], index=list("wxyz"), columns=columns)
    pd.testing.assert_frame_equal(PETS.close(frame), wanted.astype(frame.dtypes))
    assert frame.to_numpy().astype(int).tolist() == HELD[:, order].tolist()
    assert PETS.consistency(frame).violations.tolist() == PETS.consistency(HELD).violations.tolist()


def test_consistency_by_hand():
    found = PETS.consistency(HELD)
    assert PETS.edges == (("cat", "kitten"), ("animal", "cat"))
    assert found.n_rows == 4
    assert found.consistent_rows == 0.5  # rows 1 and 3
    assert found.violations.tolist() == [1, 1]
    assert found.worst == [("cat", "kitten", 1), ("animal", "cat", 1)]
    more = PETS.consistency(np.vstack([HELD, HELD[2:3]]))
    assert more.worst == [("animal", "cat", 2), ("cat", "kitten", 1)]
    assert (
        str(more)
        == "40.0% of 5 rows are consistent; most often violated: 'cat' without 'animal', in 2 row(s)"
    )
    whole = PETS.consistency(CLOSED)
    assert (whole.consistent_rows, whole.violations.tolist(), whole.worst) == (1.0, [0, 0], [])
    assert str(whole) == "100.0% of 4 rows are consistent"


def test_no_rows_and_no_edges_are_consistent():
    assert PETS.consistency(np.zeros((0, 4))).consistent_rows == 1.0
    assert PETS.close(np.zeros((0, 4), dtype=np.int8)).shape == (0, 4)
    flat = LabelHierarchy(["a", "b"])
    assert flat.consistency([[1, 0], [0, 1]]).violations.shape == (0,)
    assert flat.close([[1, 0]]).tolist() == [[1, 0]]


def test_all_of_several_parents_are_required():
    both = LabelHierarchy(["a", "b", "c"], [("a", "c"), ("b", "c")])
    assert both.close([[0, 0, 1]]).tolist() == [[1, 1, 1]]
    assert both.consistency([[1, 0, 1], [0, 0, 1], [1, 1, 1]]).violations.tolist() == [1, 2]


def test_explicit_zeros_and_duplicate_entries_of_sparse_matrices():
    stored = sparse.csr_array((np.array([0, 1]), np.array([0, 2]), np.array([0, 2])), shape=(1, 4))
    assert PETS.close(stored).toarray().tolist() == [[0, 1, 1, 0]]
    assert stored.nnz == 2
    twice = sparse.csr_array((np.array([1, 1]), np.array([2, 2]), np.array([0, 2])), shape=(1, 4))
    with pytest.raises(ValueError, match="got 2"):
        PETS.close(twice)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("ask", ["close", "consistency"])
def test_bad_indicators(ask):
    call = getattr(PETS, ask)
    with pytest.raises(ValueError, match=r"got nan. Fill in 0"):
        call([[0, 1, np.nan, 0]])
    with pytest.raises(ValueError, match=r"got 2\. Use Y > 0"):
        call([[0, 1, 2, 0]])
    with pytest.raises(ValueError, match=r"got -1"):
        call(sparse.csr_array([[0, -1, 1, 0]]))
    with pytest.raises(ValueError, match="could not convert string"):
        call([["yes", "no", "no", "no"]])
    with pytest.raises(HierarchyError, match=r"each of the 4 labels; got shape \(1, 3\)"):
        call([[0, 1, 1]])
    with pytest.raises(HierarchyError, match=r"got shape \(4,\)"):
        call([0, 1, 1, 0])
    with pytest.raises(HierarchyError, match="no column 'toy' and there is no label 'bird'"):
        call(pd.DataFrame(HELD, columns=["kitten", "animal", "cat", "bird"]))
    with pytest.raises(HierarchyError, match="a column occurs twice"):
        call(pd.DataFrame(np.zeros((1, 5)), columns=[*PETS.names, "cat"]))
    with pytest.raises(ValueError, match="got nan"):
        call(pd.DataFrame([[1, None, 0, 0]], columns=list(PETS.names)))


# ------------------------------------------------------------------ laws


@st.composite
def problems(draw):
    tree = draw(hierarchies())
    row = st.lists(st.booleans(), min_size=tree.n_labels, max_size=tree.n_labels)
    rows = draw(st.lists(row, max_size=5))
    return tree, np.array(rows, dtype=bool).reshape(len(rows), tree.n_labels)


@given(problems())
def test_close_equals_the_reference_and_is_idempotent_and_consistent(problem):
    tree, Y = problem
    closed = tree.close(Y)
    pairs = ancestors(tree)
    for before, after in zip(Y, closed, strict=True):
        labels = {name for name, has in zip(tree.names, before, strict=True) if has}
        assert {name for name, has in zip(tree.names, after, strict=True) if has} == labels | {
            a for a, d in pairs if d in labels
        }
    np.testing.assert_array_equal(tree.close(closed), closed)
    assert tree.consistency(closed).consistent_rows == 1.0
    np.testing.assert_array_equal(tree.close(sparse.csr_array(Y)).toarray(), closed)


@given(problems())
def test_consistency_equals_the_reference(problem):
    tree, Y = problem
    found = tree.consistency(sparse.csr_array(Y))
    at = {name: k for k, name in enumerate(tree.names)}
    violated = [[row[at[c]] and not row[at[p]] for p, c in tree.edges] for row in Y]
    assert found.violations.tolist() == [sum(column) for column in zip(*violated, strict=True)] or not len(Y)
    assert found.consistent_rows == (sum(not any(row) for row in violated) / len(Y) if len(Y) else 1.0)
    assert sum(count for *_, count in found.worst) == found.violations.sum()
