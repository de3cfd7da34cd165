"""``likewise cluster --parquet``: rows and labels in blocks, here and on a cluster."""

import csv
import io
import json
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise._compat import HAS_CALLBACKS
from likewise.cli._options import parse_bytes
from likewise.supervision import RowIds, read_hints, write_hints
from reference.problems import N, hints_for, some_rows

BASE = ("cluster", "-k", 4, "--method", "pck-means", "--n-init", 1)


@pytest.fixture
def rows(tmp_path):
    """Write a folder of three files with ids, the same rows in one file, and hints by id."""
    X, y = some_rows()
    (tmp_path / "rows").mkdir()
    columns = {"name": [f"r{i}" for i in range(N)], **{f"c{j}": X[:, j] for j in range(4)}}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "whole.parquet")
    for number, part in enumerate(np.split(np.arange(N), [100, 101])):
        pq.write_table(table.take(part), tmp_path / "rows" / f"{number}.parquet", row_group_size=37)
    write_hints(tmp_path / "hints.csv", hints_for(None, y), columns["name"])
    (tmp_path / "numbers.csv").write_text("a,b,link\n0,239,must\n3,200,cannot\n")
    return tmp_path


def cells(text):
    return list(csv.reader(io.StringIO(text)))


def drop_contents(text):
    """Return the report of rows in memory without what is in each cluster, which --parquet does not show."""
    head, _, rest = text.partition("contents ")
    lines = rest.splitlines(keepends=True)[1:]
    while lines and lines[0].startswith(" "):
        lines.pop(0)
    return head + "".join(lines)


@pytest.fixture(params=["here", "on a cluster"])
def place(request):
    """Return the words that say where to cluster."""
    if request.param == "here":
        return ()
    client = request.getfixturevalue("dask_cluster")
    return ("--scheduler", client.scheduler.address)


def test_files_give_what_the_table_gives(run, rows, place):
    words = ("--id", "name", "--hints", "hints.csv", "--json", "--out")
    whole = json.loads(run(*BASE, "whole.parquet", *words, "whole.csv").stdout)
    found = json.loads(run(*BASE, "--parquet", "rows", *words, "labels.csv", *place).stdout)
    assert (rows / "labels.csv").read_text() == (rows / "whole.csv").read_text()
    assert found["objective"] == pytest.approx(whole["objective"])
    for same in ("rows", "features", "dropped", "sizes", "hints", "kept", "iterations", "method", "classes"):
        assert found[same] == whole[same]
    assert found["wrote"] == ["labels.csv"]
    assert found["scheduler"] == (place[1] if place else None)

    run(*BASE, "--parquet", "rows", *words[:-2], "--out", "labels.parquet", *place)
    written = pq.read_table(rows / "labels.parquet").to_pydict()
    expected = dict(cells((rows / "whole.csv").read_text())[1:])
    assert dict(zip(written["id"], map(str, written["cluster"]), strict=True)) == expected
    assert sorted(path.name for path in rows.iterdir() if path.name.startswith(".")) == []


def test_rows_without_ids_are_numbered(run, rows, place):
    words = ("--features", "c0,c1", "--hints", "numbers.csv")
    whole = run(*BASE, "whole.parquet", *words)
    found = run(*BASE, "--parquet", "rows", *words, *place)
    assert cells(found.stdout) == cells(whole.stdout)
    assert found.stderr == drop_contents(whole.stderr)
    assert "left out: name, c2, c3" in found.stderr


def test_labels_as_hints_and_labels_as_json_lines(run, rows):
    (rows / "known.csv").write_text("id,label\nr0,wren\nr7,owl\nr9,wren\nr230,finch\n")
    words = ("cluster", "-k", 4, "--id", "name", "--method", "seeded-k-means", "--hints", "known.csv")
    whole = run(*words, "whole.parquet", "--out", "whole.jsonl")
    found = run(*words, "--parquet", "rows", "--out", "labels.jsonl", "--memory-limit", "200kB")
    assert (rows / "labels.jsonl").read_text() == (rows / "whole.jsonl").read_text()
    shown = drop_contents(whole.stderr)
    assert found.stderr.replace("labels", "whole") == shown.replace("labels", "whole")
    assert "finch" in found.stderr


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--parquet", "rows", "whole.parquet"), "pass the rows either as DATA or with --parquet."),
        ((), "pass the rows either as DATA or with --parquet."),
        (
            ("whole.parquet", "--scheduler", "tcp://127.0.0.1:9"),
            "--scheduler is for rows given with --parquet",
        ),
        (("whole.parquet", "--memory-limit", "1GB"), "--memory-limit is for rows given with --parquet"),
        (("--parquet", "rows", "--memory-limit", "much"), "expected an amount of memory such as 200MB"),
        (
            ("--parquet", "rows", "--memory-limit", "1GB", "--scheduler", "tcp://127.0.0.1:9"),
            "--memory-limit limits this process",
        ),
        (("--parquet", "rows", "--standardize"), "--standardize needs the rows in memory"),
        (("--parquet", "rows", "--plot", "p.png"), "--plot needs the rows in memory"),
        (("--parquet", "rows", "--json"), "give a file for them with --out"),
        (("--parquet", "rows", "--out", "labels.xlsx"), "expected a file name that ends with"),
        (
            ("--parquet", "nowhere", "--method", "spectral-learning"),
            "which --method spectral-learning does not support",
        ),
        (("--parquet", "rows", "--id", "nmae"), "did you mean 'name'?"),
    ],
)
def test_usage_errors(run, rows, words, output):
    before = sorted(rows.rglob("*"))
    words = ("cluster", "-k", 4, *words)
    assert output in run(*words, code=2).stderr
    assert sorted(rows.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--parquet", "nowhere"), "nowhere does not exist or is not a file"),
        (("--parquet", "rows"), "'name' (string) cannot be used as numbers. Leave them out with --drop"),
        (("--parquet", "rows", "--id", "name", "--hints", "bad.csv"), "bad.csv:3: no row has the id 'r240'"),
        (("--parquet", "rows", "--drop", "name", "--hints", "bad.csv"), "bad.csv:2: no row has the id 'r1'"),
        (
            ("--parquet", "rows", "--id", "name", "-k", "999"),
            "999 clusters need at least as many rows",
        ),
        (("--parquet", "twice.parquet", "--id", "name", "--hints", "bad.csv"), "both have the id 'r1'"),
        (("--parquet", "gap.parquet"), "block 0 of X has nan in its row 1, column 0"),
    ],
)
def test_what_is_wrong_with_files_and_hints(run, rows, words, output):
    (rows / "bad.csv").write_text("a,b,link\nr1,r2,must\nr3,r240,cannot\n")
    pq.write_table(pa.table({"name": ["r1", "r2", "r1", "r3"], "x": [1.0, 2, 3, 4]}), rows / "twice.parquet")
    pq.write_table(pa.table({"x": [1.0, None, 3, 4]}), rows / "gap.parquet")
    before = sorted(rows.rglob("*"))
    assert output in run("cluster", "-k", 2, *words, "--out", "labels.csv", code=1).stderr
    assert sorted(rows.rglob("*")) == before


def test_a_scheduler_that_does_not_answer_is_one_sentence(run, rows, monkeypatch, closed_port):
    monkeypatch.setattr("likewise.backends._dask_rows._PATIENCE", 0.2)
    address = f"tcp://127.0.0.1:{closed_port}"
    words = ("--parquet", "rows", "--id", "name", "--scheduler", address, "--out", "labels.csv")
    output = run(*BASE, *words, code=1).stderr
    assert f"no Dask scheduler answers at {address}" in output
    assert "Traceback" not in output
    assert not (rows / "labels.csv").exists()


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_iterations_and_rows_written_are_shown(run, rows, monkeypatch):
    told = []

    @contextmanager
    def progress(n_steps, *, quiet):
        yield lambda name, *, within=False: told.append((name, within))

    monkeypatch.setattr("likewise.cli._output.show_progress", progress)
    run(*BASE, "--parquet", "rows", "--id", "name")
    steps = [name for name, within in told if not within]
    assert steps == ["inspecting files", "finding rows", "clustering", "writing"]
    within = [name for name, inside in told if inside]
    assert within[:2] == ["clustering, iteration 1", "clustering, iteration 2"]
    assert within[-1] == "writing, row 101"


def test_amounts_of_memory():
    assert [parse_bytes(text) for text in ("200MB", "1.5 GiB", "800000", "3k")] == [
        200_000_000,
        3 * 2**29,
        800_000,
        3000,
    ]


def test_hints_written_for_these_ids_are_read_with_few_of_them(rows):
    from likewise.exceptions import ChangedIdsWarning
    from likewise.supervision import FewIds
    from likewise.supervision.io import list_ids_in_file

    all_ids = RowIds.from_ids(f"r{i}" for i in range(N))
    named = list_ids_in_file(rows / "hints.csv")
    few = FewIds({name: all_ids.row_of[name] for name in named}, N)
    assert len(few) == N
    assert read_hints(rows / "hints.csv", few) == read_hints(rows / "hints.csv", all_ids)
    with pytest.warns(ChangedIdsWarning, match="was written for 240 ids that differ from the 241 given"):
        read_hints(rows / "hints.csv", FewIds(few.row_of, N + 1))
