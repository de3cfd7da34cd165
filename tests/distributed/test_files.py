"""Parquet files read by workers, and rows looked up by id."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise import PCKMeans, Supervision
from likewise.distributed import find_rows_by_id, fit, read_parquet
from reference.problems import N, hints_for, some_rows

pytest.importorskip("distributed")


@pytest.fixture
def folder(tmp_path):
    """Write three files of unequal size with ids, whose row groups match neither blocks nor chunks."""
    X, _ = some_rows(np.float32)
    for number, part in enumerate(np.split(np.arange(N), [100, 101])):
        columns = {"name": [f"r{i}" for i in part], **{f"c{j}": X[part, j] for j in range(4)}, "n": part}
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet", row_group_size=37)
    return tmp_path


def test_chunks_do_not_depend_on_the_files(folder):
    X, _ = some_rows(np.float32)
    rows = read_parquet(folder, ["c0", "c1", "c2", "c3"], chunk_rows=64)
    assert rows.chunks == ((64, 64, 64, 48), (4,))
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.compute(scheduler="sync"), X)
    np.testing.assert_array_equal(rows[99:130].compute(scheduler="sync"), X[99:130])
    with_whole = read_parquet(f"file://{folder}", columns=["n", "c1"])
    assert with_whole.dtype == np.float64
    assert with_whole[120].compute(scheduler="sync").tolist() == [120, X[120, 1]]


def test_a_fit_to_files_is_the_fit_to_the_array(client, folder, monkeypatch):
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 32)
    X, y = some_rows(np.float32)
    hints = hints_for(None, y)
    model = PCKMeans(4, n_init=1, random_state=0)
    whole = model.fit(X, supervision=hints).labels_
    rows = read_parquet(folder, ["c0", "c1", "c2", "c3"], chunk_rows=64, client=client)
    np.testing.assert_array_equal(fit(model, rows, hints, client=client).labels_, whole)
    # With only a path, all columns of the files are used.
    for file in folder.glob("*.parquet"):
        pq.write_table(pq.read_table(file).drop_columns(["name", "n"]), file)
    np.testing.assert_array_equal(fit(model, folder, hints, client=client).labels_, whole)


def test_rows_are_found_by_their_ids(client, folder):
    names = ["r239", "r0", "r100", "r101"]
    assert find_rows_by_id(folder, names, column="name").tolist() == [239, 0, 100, 101]
    assert find_rows_by_id(str(folder), ["7", "150"], column="n").tolist() == [7, 150]
    import dask.dataframe as dd

    series = dd.read_parquet(folder)["name"]
    rows = find_rows_by_id(series, names)
    assert rows.tolist() == [239, 0, 100, 101]
    assert Supervision.from_links(N, must=[rows[:2]]).must.tolist() == [[0, 239]]
    with pytest.raises(ValueError, match=r"no row has the id 'r240'\. 1 other id\(s\) are missing too"):
        find_rows_by_id(folder, ["r240", "r1", "R2"], column="name")
    pq.write_table(pa.table({"name": ["r5"], "c0": [0.5]}), folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"rows 5 and 240 of .* both have the id 'r5'"):
        find_rows_by_id(folder, ["r5"], column="name")
    assert find_rows_by_id(folder, ["r6"], column="name").tolist() == [6]


def test_files_and_columns_that_cannot_be_read_are_named(client, folder):
    with pytest.raises(ValueError, match=r"part-0\.parquet: 'name' \(string\) cannot be used as numbers"):
        read_parquet(folder)
    with pytest.raises(ValueError, match=r"part-0\.parquet has no column 'x'\. Its columns are name, c0"):
        read_parquet(folder, columns=["x"])
    with pytest.raises(FileNotFoundError, match=r"absent\.parquet does not exist"):
        read_parquet(folder / "absent.parquet")
    with pytest.raises(FileNotFoundError, match=r"on a worker of tcp:.*absent\.parquet does not exist"):
        read_parquet(folder / "absent.parquet", client=client)
    with pytest.raises(ValueError, match="cannot be opened"):
        read_parquet("nowhere://rows.parquet")
    with pytest.raises(ValueError, match="chunk_rows must be an integer of at least 1; got 0"):
        read_parquet(folder, chunk_rows=0)
    with pytest.raises(ValueError, match="ids must be strings or integers; got a column of float"):
        find_rows_by_id(folder, ["1"], column="c0")
    with pytest.raises(ValueError, match="pass the name of the column"):
        find_rows_by_id(folder, ["1"])
    for wrong in ("r1", [7]):
        with pytest.raises(TypeError, match="names must be a sequence of ids"):
            find_rows_by_id(folder, wrong, column="name")
    pq.write_table(pa.table({"c0": ["a"], "name": ["b"]}), folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"part-9\.parquet: 'c0' \(string\) cannot be used"):
        read_parquet(folder, columns=["c0"])
    rows = read_parquet(folder / "part-0.parquet", columns=["c0"])
    pq.write_table(pa.table({"c0": [1.0]}), folder / "part-0.parquet")
    with pytest.raises(OSError, match=r"part-0\.parquet had 100 rows when it was opened and now has 1"):
        fit(PCKMeans(2), rows, client=client)


def test_files_behind_a_url():
    import fsspec

    from likewise.datasets import ParquetRows

    with fsspec.open("memory://rows/a.parquet", "wb") as file:
        pq.write_table(pa.table({"x": [0.0, 1.0, 4.0], "id": ["a", "b", "c"]}), file)
    with fsspec.open("memory://rows/notes.txt", "wb") as file:
        file.write(b"not rows")
    assert read_parquet("memory://rows", ["x"]).compute(scheduler="sync").tolist() == [[0.0], [1.0], [4.0]]
    assert ParquetRows("memory://rows", ["x"]).take(np.array([2, 0])).tolist() == [[4.0], [0.0]]
    with pytest.raises(FileNotFoundError, match="memory:///none does not exist or is not a file"):
        ParquetRows("memory://none")
