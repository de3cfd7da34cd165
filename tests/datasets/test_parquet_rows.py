"""Rows in files: NumPy's format and Parquet."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.datasets import MemmapRows, ParquetRows


def test_a_folder_of_files_with_selected_integer_and_boolean_columns(tmp_path):
    N = 400
    X = np.random.default_rng(0).normal(size=(N, 5)).astype(np.float32)
    for number, part in enumerate(np.array_split(np.arange(N), 3)):
        columns = {"id": [str(i) for i in part], "b": X[part, 1], "n": part, "a": X[part, 0], "t": part > 9}
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet")
    rows = ParquetRows(tmp_path, columns=["a", "b"], block_rows=37)
    assert rows.shape == (N, 2)
    assert rows.dtype == np.float32
    assert rows.columns == ("a", "b")
    np.testing.assert_array_equal(rows.take(np.arange(N)), X[:, :2])
    assert ParquetRows(tmp_path, columns=["n", "t"]).take(np.array([300, 3])).tolist() == [[300, 1], [3, 0]]


def test_files_that_are_not_there_or_not_what_they_say(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.parquet does not exist"):
        ParquetRows(tmp_path / "absent.parquet")
    with pytest.raises(FileNotFoundError, match=r"is a folder without \.parquet files"):
        ParquetRows(tmp_path)
    (tmp_path / "text.parquet").write_text("name,x\n")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        ParquetRows(tmp_path / "text.parquet")
    with pytest.raises(ValueError, match="not a NumPy file that can be memory-mapped"):
        MemmapRows(tmp_path / "text.parquet")
    pq.write_table(pa.table({"name": ["a"], "x": [1.0]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"'name' \(string\) cannot be used as numbers"):
        ParquetRows(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"no column 'y'\. Its columns are name, x"):
        ParquetRows(tmp_path / "x.parquet", columns=["y"])
    for wrong in ([], ["x", "x"], "x"):
        with pytest.raises(ValueError, match="columns must be unique names"):
            ParquetRows(tmp_path / "x.parquet", columns=wrong)
    np.save(tmp_path / "line.npy", np.arange(3.0))
    with pytest.raises(ValueError, match="two-dimensional"):
        MemmapRows(tmp_path / "line.npy")
    for name in ("memory_limit", "block_rows"):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1"):
            MemmapRows(np.zeros((3, 2)), **{name: 0})
