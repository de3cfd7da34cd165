"""Rows in blocks: any division into blocks, in memory, mapped or unreliable, gives the same values."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends import ArrayRows, MappedRows, add_in_pairs, as_rows, draw_rows, get_block_rows
from reference.rows import PickledRows

N = 120
X = np.random.default_rng(0).integers(-9, 9, size=(N, 3)).astype(float)  # sums are exact in any order
WEIGHT = np.random.default_rng(1).integers(0, 5, size=N).astype(float)
CUTS = {
    "one row a block": np.arange(N + 1),
    "unequal blocks": np.array([0, 1, 50, 57, 110, N]),
    "empty blocks": np.array([0, 0, 60, 60, 60, N, N]),
    "two blocks": np.array([0, 59, N]),
}


def slices(edges):
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


@pytest.fixture(params=[ArrayRows, MappedRows, PickledRows], ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(params=CUTS)
def rows(kind, request):
    return kind(X, slices(CUTS[request.param]))


def double(X):
    return 2 * X


def repeat_columns(X):
    return np.hstack([X, X])


def last_column(X):
    return X[:, -1]


def sum_weighted(block):
    return block.weight @ block.X


def sum_rows(block):
    return block.X.sum(axis=1)


def negative_sum_rows(block):
    return -block.X.sum(axis=1)


def sum_kept(block):
    return block.kept.sum()


def sum_both(block):
    return np.vstack([block.X.sum(axis=1), block.weight])


def negate_kept(block):
    block.kept[...] = -block.kept
    return len(block)


def overwrite(block):
    block.kept[...] = block.X.sum(axis=1)
    return 0


HINTED = np.array([0, 3, 59, 118])


def sum_unhinted(block):
    return block.get_weight_without(HINTED).sum()


# ---------------------------------------------------------------------- reading


def test_rows_are_read_taken_and_transformed(rows):
    some = np.array([7, 0, 119, 7])
    assert (len(rows), rows.shape, rows.dtype) == (N, X.shape, X.dtype)
    np.testing.assert_array_equal(np.vstack([rows.read(each) for each in rows.blocks]), X)
    np.testing.assert_array_equal(rows.take(some), X[some])
    twice = rows.transform(double).transform(double)
    np.testing.assert_array_equal(twice.take(some), 4 * X[some])
    np.testing.assert_array_equal(np.vstack([twice.read(each) for each in twice.blocks]), 4 * X)


def test_a_transformation_may_change_the_number_of_columns(rows):
    some = np.array([7, 0, 119, 7])
    wide = rows.with_weights(WEIGHT).transform(double).transform(repeat_columns, 6).transform(double)
    assert (wide.shape, wide.dtype) == ((N, 6), X.dtype)
    np.testing.assert_array_equal(wide.take(some), 4 * np.hstack([X, X])[some])
    np.testing.assert_array_equal(wide.sum(sum_weighted), 4 * np.tile(WEIGHT @ X, 2))
    np.testing.assert_array_equal(wide.map_rows(last_column, X.dtype), 4 * X[:, 2])


def test_outputs_are_computed_for_every_row(rows):
    np.testing.assert_array_equal(rows.map_rows(lambda X: X[:, 0], np.float32), X[:, 0])
    np.testing.assert_array_equal(rows.map_rows(lambda X: X[:, :2], X.dtype, width=2), X[:, :2])


def test_arrays_and_memory_maps_become_rows(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = as_rows(np.load(tmp_path / "X.npy", mmap_mode="r"), weight=WEIGHT)
    assert isinstance(mapped, MappedRows)
    assert isinstance(as_rows(X), ArrayRows)
    assert as_rows(mapped) is mapped
    assert as_rows(mapped, weight=np.ones(N)).total_weight == N


# ---------------------------------------------------------------------- weights


def test_weights_are_divided_with_the_rows(rows):
    assert (rows.total_weight, rows.heaviest) == (N, 1.0)
    weighted = rows.with_weights(WEIGHT)
    assert (weighted.total_weight, weighted.heaviest) == (WEIGHT.sum(), WEIGHT.max())
    assert weighted.transform(double).total_weight == WEIGHT.sum()
    np.testing.assert_array_equal(weighted.get_weights(np.array([5, 2])), WEIGHT[[5, 2]])
    np.testing.assert_array_equal(rows.get_weights(np.array([5, 2])), [1, 1])
    by_block = [WEIGHT[each].sum() for each in rows.blocks]
    np.testing.assert_array_equal(weighted.sum_weights_by_block(), by_block)
    np.testing.assert_array_equal(weighted.sum(sum_weighted), WEIGHT @ X)
    np.testing.assert_array_equal(rows.sum(sum_weighted), X.sum(axis=0))


def test_hinted_rows_are_left_out_of_the_weights_in_any_block(rows):
    assert rows.with_weights(WEIGHT).sum(sum_unhinted) == WEIGHT.sum() - WEIGHT[HINTED].sum()
    assert rows.sum(sum_unhinted) == N - 4


# ---------------------------------------------------------------------- columns


def test_a_column_is_computed_when_it_is_used_and_can_be_changed(rows):
    column = rows.make_column(float, sum_rows)
    assert rows.sum(sum_kept, column) == X.sum()
    assert rows.sum(negate_kept, column, new_recipe=negative_sum_rows) == N
    assert rows.sum(sum_kept, column) == -X.sum()
    np.testing.assert_array_equal(rows.collect(column), -X.sum(axis=1))


def test_a_column_can_be_overwritten_without_reading_it(rows):
    def refuse(block):
        raise AssertionError("read")

    column = rows.make_column(float, refuse)
    rows.sum(overwrite, column, new_recipe=sum_rows, overwrite=True)
    np.testing.assert_array_equal(rows.collect(column), X.sum(axis=1))


def test_values_of_a_column_are_renumbered(rows):
    column = rows.make_column(np.int32, lambda block: (block.X[:, 0] > 0).astype(np.int32))
    np.testing.assert_array_equal(rows.collect(column, np.array([5, 3])), np.where(X[:, 0] > 0, 3, 5))


def test_a_wide_column_has_several_values_for_each_row(rows):
    column = rows.make_column(float, sum_both, width=2)
    parts = list(rows.with_weights(WEIGHT).map(lambda block: block.kept.copy(), column))
    np.testing.assert_array_equal(np.hstack(parts), [X.sum(axis=1), WEIGHT])


def test_some_blocks_are_visited(kind):
    rows = kind(X, slices(CUTS["unequal blocks"]))
    assert list(rows.map(len, only=[1, 3])) == [49, 53]


# ---------------------------------------------------------------------- by hand


@given(st.lists(st.text(max_size=2), min_size=1, max_size=20))
def test_parts_are_added_in_order(parts):
    assert add_in_pairs(parts) == "".join(parts)


def test_parts_are_added_in_pairs_of_pairs():
    class Term(str):
        def __add__(self, other):
            return Term(f"({self}{other})")

    assert add_in_pairs(map(Term, "abcdefg")) == "(((ab)(cd))((ef)g))"


@pytest.mark.parametrize(("n_rows", "size"), [(10, 10), (40, 10), (10_000, 10), (41, 10)])
def test_drawn_rows_are_distinct_and_ascending(n_rows, size):
    drawn = draw_rows(n_rows, size, np.random.RandomState(0))
    assert len(drawn) == size
    assert (np.diff(drawn) > 0).all()
    assert 0 <= drawn[0] <= drawn[-1] < n_rows


def test_a_memory_limit_makes_smaller_blocks():
    assert get_block_rows(10**12, 16) == 32_768
    assert get_block_rows(1_000_000, 16) == 1_000_000 // (24 * 16 + 80)
    assert get_block_rows(1, 16) == 1
