"""Features of tables: all columns have equal weight."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import FileFormatError
from likewise.features import array_features, table_features

CELLS = st.one_of(
    st.none(), st.sampled_from(["", "NA", "red", "blue"]), st.floats(-1e6, 1e6).map(str), st.dates().map(str)
)


def test_numbers_by_hand():
    found = table_features({"a": ["1", "3", "5"], "flat": ["2", "2", "2.0"]})
    assert found.X.ravel().tolist() == pytest.approx([-(1.5**0.5), 0.0, 1.5**0.5])
    assert found.notes == ("omitted constant columns: flat.",)
    assert found.description == "1 numbers from 1 column(s) of numbers"


def test_a_gap_is_filled_with_the_median_and_flagged():
    X = table_features({"a": ["0", "10", "", "10", "n/a"]}).X
    assert X.shape == (5, 2)
    assert X[2, 0] == X[1, 0] == X[4, 0]
    assert X[2, 1] == X[4, 1] > 0 > X[0, 1]


def test_categories_have_a_total_variance_of_one():
    found = table_features({"colour": ["red", "blue", "red", None]})
    assert found.X.shape == (4, 3)
    assert found.X.var(axis=0).sum() == pytest.approx(1.0)
    assert found.description == "3 numbers from 1 of categories"


def test_rare_levels_are_merged():
    words = [f"w{k % 30}" for k in range(600)]
    assert table_features({"w": words}).X.shape[1] == 20


def test_columns_of_rarely_repeated_words_are_omitted_with_a_note():
    found = table_features({"name": [f"n{k}" for k in range(40)], "x": list(range(40))})
    assert found.X.shape == (40, 1)
    assert "rarely repeated: name" in found.notes[0]


def test_dates_become_days():
    texts = table_features({"d": ["2024-01-01", "2024-01-02", "2024-01-04T12:00:00"]}).X
    objects = table_features({"d": [date(2024, 1, 1), date(2024, 1, 2), datetime(2024, 1, 4, 12)]}).X
    np.testing.assert_allclose(texts, objects)
    east = timezone(timedelta(hours=2))
    shifted = [datetime(2024, 1, day, hour, tzinfo=east) for day, hour in ((1, 2), (2, 2), (4, 14))]
    np.testing.assert_allclose(texts, table_features({"d": shifted}).X)
    assert np.diff(texts[:, 0])[1] == pytest.approx(2.5 * np.diff(texts[:, 0])[0])


def test_truth_values_and_names_like_numbers_are_categories():
    assert table_features({"b": [True, False, True]}).X.shape == (3, 2)
    assert table_features({"b": ["1_000", "inf", "1_000"]}).X.shape == (3, 2)


def test_nothing_left_is_an_error():
    with pytest.raises(FileFormatError, match=r"no column is left to learn from.*constant columns: a"):
        table_features({"a": ["x", "x"]})


def test_enormous_numbers_stay_finite():
    assert np.isfinite(table_features({"a": ["1e308", "-1e308", "5"]}).X).all()


@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=12), st.randoms())
def test_the_order_of_rows_changes_nothing_but_their_order(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)

    def made(rows):
        try:
            return table_features(dict(zip("ab", zip(*rows, strict=True), strict=True)))
        except FileFormatError as error:
            return str(error)

    one, other = made(rows), made([rows[k] for k in order])
    if isinstance(one, str):
        assert one == other
        return
    assert np.isfinite(one.X).all()
    np.testing.assert_allclose(other.X, one.X[order], atol=1e-7)


# ---------------------------------------------------------------------- numbers from a file


def test_embeddings_are_scaled_by_one_factor(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32) * [1, 10, 100]
    np.save(tmp_path / "e.npy", X.astype(np.float32))
    found = array_features(tmp_path / "e.npy", n_rows=20)
    assert found.X.dtype == np.float32
    ratio = found.X / X
    assert np.ptp(ratio) < 1e-5 * ratio.mean()
    assert found.X.var(axis=0).mean() == pytest.approx(1, rel=1e-3)


def test_bad_embeddings_say_what_is_wrong(tmp_path):
    path = tmp_path / "e.npy"
    with pytest.raises(FileFormatError, match="there is no file"):
        array_features(path)
    path.write_bytes(b"no")
    with pytest.raises(FileFormatError, match=r"cannot be read as \.npy"):
        array_features(path)
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match="Python objects"):
        array_features(path)
    np.save(path, np.zeros(3))
    with pytest.raises(FileFormatError, match=r"shape \(3,\)"):
        array_features(path)
    np.save(path, np.zeros((3, 2)))
    with pytest.raises(FileFormatError, match=r"has 3 row.s., but there are 4 pictures"):
        array_features(path, n_rows=4, of="pictures")
    np.save(path, np.array([[0, 1], [2, np.nan]]))
    with pytest.raises(FileFormatError, match=r"row 1, column 1 .counted from 0. is nan"):
        array_features(path)
    np.savez(tmp_path / "z.npz", a=np.zeros((2, 2)))
    (tmp_path / "z.npz").rename(path)
    with pytest.raises(FileFormatError, match="several arrays"):
        array_features(path)
