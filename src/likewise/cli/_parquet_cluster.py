"""``likewise cluster --parquet``: read rows and write labels in blocks, locally or on a Dask cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click
import numpy as np
import numpy.typing as npt

from likewise._compat import HAS_CALLBACKS
from likewise._optional import require
from likewise.cli._data_tables import ColumnRoles, DataTable
from likewise.cli._fitting import fit_by_ids, select_hints
from likewise.cli._methods import make_estimator
from likewise.cli._output import STDOUT, Outputs, Step, gather_warnings, print_json, show_progress
from likewise.cli._raw_tables import RawTable
from likewise.cli._report import Report, print_report
from likewise.cli._write import BlockWriter
from likewise.datasets import ParquetRows
from likewise.datasets import _parquet as files
from likewise.exceptions import FileFormatError
from likewise.supervision import FewIds, RowIds, Supervision
from likewise.supervision.io import list_ids_in_file

if TYPE_CHECKING:
    from likewise.cli.cluster import ClusterOptions

IntArray = npt.NDArray[np.int64]
_BATCH_ROWS = 2**16
_AHEAD = 4  # maximum number of chunks of labels that are fetched ahead of writing


class Source(Protocol):
    """Access to the rows of Parquet files, in this process or on workers."""

    footers: tuple[files.Footer, ...]

    def find(self, column: str, names: Sequence[str]) -> files.FoundIds:
        """Find the rows with these ids in a column."""

    def get_rows(self, features: Sequence[str]) -> Any:
        """Return the rows in a form that estimators accept."""

    def get_labels(self, labels: Any, rows: IntArray) -> IntArray:
        """Return the labels of few rows."""

    def iterate_parts(self, labels: Any, id_column: str | None) -> Iterator[tuple[Any, Any]]:
        """Yield ids as texts (None without a column of ids) and labels, in blocks of rows."""


class LocalFiles:
    """Files that this process reads."""

    def __init__(self, path: str, memory_limit: int | None) -> None:
        self._path, self._memory_limit = path, memory_limit
        self.footers = tuple(files.read_footer(file) for file in files.list_files(path))

    def find(self, column: str, names: Sequence[str]) -> files.FoundIds:
        """Find the rows with these ids in one pass."""
        return files.find_rows_by_id(self.footers, column, names)

    def get_rows(self, features: Sequence[str]) -> Any:
        """Return a reader of the rows."""
        return ParquetRows(self._path, features, memory_limit=self._memory_limit)

    def get_labels(self, labels: Any, rows: IntArray) -> IntArray:
        """Return the labels of few rows."""
        return np.asarray(labels[rows], dtype=np.int64)

    def iterate_parts(self, labels: Any, id_column: str | None) -> Iterator[tuple[Any, Any]]:
        """Yield ids and labels in blocks of rows."""
        if id_column is None:
            for at in range(0, len(labels), _BATCH_ROWS):
                yield None, labels[at : at + _BATCH_ROWS]
            return
        at = 0
        for one in self.footers:
            for cells in files.iterate_ids(one, id_column, _BATCH_ROWS):
                yield cells, labels[at : at + len(cells)]
                at += len(cells)


class ClusterFiles:
    """Files that the workers of a cluster read."""

    def __init__(self, path: str, client: Any) -> None:
        from likewise.distributed._dask_parquet import make_plan

        self._client, self._plan = client, make_plan(path, client=client)
        self.footers = self._plan.footers

    def find(self, column: str, names: Sequence[str]) -> files.FoundIds:
        """Find the rows with these ids in one pass on the workers."""
        from likewise.distributed._dask_parquet import find_in_files

        return find_in_files(self._plan, column, names, self._client)

    def get_rows(self, features: Sequence[str]) -> Any:
        """Return the rows on the workers."""
        from likewise.distributed import make_dask_rows
        from likewise.distributed._dask_parquet import make_array

        return make_dask_rows(make_array(self._plan, features), self._client)

    def get_labels(self, labels: Any, rows: IntArray) -> IntArray:
        """Fetch the labels of few rows."""
        return np.asarray(self._submit(labels[rows]).result(), dtype=np.int64)

    def _submit(self, data: Any) -> Any:
        return self._client.compute(data)

    def iterate_parts(self, labels: Any, id_column: str | None) -> Iterator[tuple[Any, Any]]:
        """Yield ids and labels by chunk; some chunks are fetched ahead."""
        from likewise.distributed._cluster_errors import explain_failures
        from likewise.distributed._dask_parquet import read_chunk_ids

        waiting: deque[tuple[Any, Any]] = deque()

        def fetch_ahead() -> tuple[Any, Any]:
            ids, part = waiting.popleft()
            return explain_failures(
                self._client, lambda: (None if ids is None else ids.result(), part.result())
            )

        for number, pieces in enumerate(self._plan.chunks):
            ids = None
            if id_column is not None:
                ids = self._client.submit(partial(read_chunk_ids, column=id_column), pieces, pure=False)
            waiting.append((ids, self._submit(labels.blocks[number])))
            if len(waiting) > _AHEAD:
                yield fetch_ahead()
        while waiting:
            yield fetch_ahead()


@dataclass(frozen=True, eq=False)
class LargeReport(Report):
    """A report whose table contains only the hinted rows."""

    all_rows: int = 0
    counts: tuple[int, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of all rows."""
        return self.all_rows

    @property
    def sizes(self) -> list[int]:
        """The number of rows in each cluster."""
        return list(self.counts)


def cluster_files(asked: ClusterOptions, path: str, columns: ColumnRoles, options: dict[str, Any]) -> None:
    """Cluster the rows of Parquet files, write the labels in blocks, and print a report."""
    method, n_clusters, out = asked.method, asked.clusters, asked.out
    if asked.as_json and out is None:
        raise click.UsageError("--json with --parquet omits the labels; give a file for them with --out.")
    require("pyarrow.parquet", extra="scale")
    with gather_warnings() as notes, show_progress(4, quiet=asked.quiet) as step, ExitStack() as stack:
        step("inspecting files")
        source: Source
        if asked.scheduler is None:
            source = LocalFiles(path, asked.memory_limit)
        else:
            source = ClusterFiles(path, stack.enter_context(_open_client(asked.scheduler)))
        features, dropped = _select_features(path, columns, source.footers)
        n_rows = sum(one.n_rows for one in source.footers)
        if n_clusters > n_rows:
            raise FileFormatError(f"{n_clusters} clusters need at least as many rows; got {n_rows}.")
        step("finding rows")
        ids = _find_hinted_ids(asked, source, n_rows)
        all_hints = asked.table.read_hints(asked.hints, ids, data=path)
        used = select_hints(all_hints, method, n_clusters, asked.as_links, options)
        step("clustering")
        model = make_estimator(method, n_clusters, asked.seed, options)
        if HAS_CALLBACKS:
            model.set_callbacks(Iterations(step))
        contradiction = fit_by_ids(model, source.get_rows(features), used, ids, method)
        step("writing")
        outputs = stack.enter_context(Outputs())
        counts = np.zeros(n_clusters, dtype=np.int64)

        def write(path: Path | None) -> None:
            with BlockWriter(path) as writer:
                at = 0
                for names, labels in source.iterate_parts(model.labels_, columns.id):
                    step(f"writing, row {at:,}", within=True)
                    counts[:] += np.bincount(labels, minlength=n_clusters)
                    writer.add(_format_row_numbers(at, len(labels)) if names is None else names, labels)
                    at += len(labels)

        if out is None or out == STDOUT:
            write(None)
        else:
            outputs.add(out, write)
        report = _make_report(method, model, used, ids, source, (features, dropped), counts)
    notes += contradiction
    wrote = [] if out is None or out == STDOUT else [out]
    if asked.as_json:
        result: dict[str, Any] = {"data": path, "scheduler": asked.scheduler}
        result |= {"hint_files": list(asked.hints), "seed": asked.seed, **options}
        print_json({**report.as_dict(), **result, "wrote": wrote, "notes": notes})
    if not asked.quiet:
        print_report(report, notes, wrote)


def _open_client(address: str) -> Any:
    """Return a context manager for a client that is closed at the end."""
    from likewise.distributed._cluster_errors import get_client

    return get_client(address)


def _select_features(
    path: str, columns: ColumnRoles, footers: Sequence[files.Footer]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the feature columns and the columns that are left out."""
    names = tuple(footers[0].types)
    columns.check(RawTable(path, names, (), None))
    others = {columns.id, *columns.drop}
    features = columns.features or tuple(name for name in names if name not in others)
    if not features:
        raise FileFormatError(f"{path} has no column left to use as a feature; drop fewer columns.")
    try:
        files.choose_columns(footers, features)
    except FileFormatError as error:
        if error.parameter != "columns":
            raise
        raise FileFormatError(
            error.message,
            "Leave them out with --drop, use a column as ids with --id, or choose columns with --features.",
        ) from error
    return features, tuple(name for name in names if name not in {*features, columns.id})


def _find_hinted_ids(asked: ClusterOptions, source: Source, n_rows: int) -> FewIds:
    """Return the ids of the hinted rows; other ids are not kept in memory."""
    names: dict[str, None] = {}
    for path in asked.hints:
        with suppress(ValueError):  # an invalid file is reported when it is read
            names |= dict.fromkeys(list_ids_in_file(path, encoding=asked.table.hints_encoding))
    column = asked.table.id_column
    if column is None:
        return FewIds.from_numbers(names, n_rows)
    found = source.find(column, list(names)) if names else files.FoundIds()
    known = [name for name in names if name in dict(found.rows)]  # unknown ids are reported with their line
    places = found.find_rows(known, f"{asked.parquet}, column {column!r}")
    return FewIds(dict(zip(known, places.tolist(), strict=True)), n_rows)


def _format_row_numbers(first: int, count: int) -> Any:
    pyarrow = require("pyarrow", extra="scale")
    return pyarrow.array(np.arange(first, first + count)).cast("string")


def _make_report(
    method: str,
    model: Any,
    used: Supervision,
    ids: RowIds,
    source: Source,
    columns: tuple[tuple[str, ...], tuple[str, ...]],
    counts: IntArray,
) -> LargeReport:
    """Return the report on the hinted rows and the sizes of all clusters."""
    rows, few = used.restrict_to_hinted()
    named = RowIds.from_ids([ids[row] for row in rows.tolist()] or ["none"])
    labels = source.get_labels(model.labels_, rows) if len(rows) else np.zeros(1, dtype=np.int64)
    table = DataTable(named, np.empty((len(named), 0)), *columns)
    found = Report.from_model(method, _LabelledRows(model, labels), table, few, None)
    return LargeReport(**vars(found), all_rows=len(ids), counts=tuple(counts.tolist()))


class Iterations:
    """A scikit-learn callback that shows the number of iterations."""

    def __init__(self, step: Step) -> None:
        self._step, self._n_done = step, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing when the fit begins."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing when a start or an iteration begins."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count a finished iteration and show the number."""
        if context.max_subtasks == 0 or context.task_name == "iteration":
            self._n_done += 1
            self._step(f"clustering, iteration {self._n_done}", within=True)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing when the fit ends."""


class _LabelledRows:
    """A fitted estimator whose ``labels_`` are replaced by those of a few rows."""

    def __init__(self, model: Any, labels: IntArray) -> None:
        self._model, self.labels_ = model, labels

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)
