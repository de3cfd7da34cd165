"""Parquet files as a source of ``likewise cluster``: rows and labels in blocks, here or on a Dask cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise._compat import HAS_CALLBACKS
from likewise._optional import require
from likewise.cli._data_tables import ColumnRoles, DataTable
from likewise.cli._output import Step
from likewise.cli._raw_tables import RawTable
from likewise.cli._report import Report
from likewise.cli._write import BlockWriter
from likewise.datasets import ParquetRows
from likewise.datasets import _parquet as files
from likewise.exceptions import FileFormatError
from likewise.supervision import Bags, FewIds, RowIds, Supervision
from likewise.supervision.io import list_ids_in_file

if TYPE_CHECKING:
    from likewise.cli.cluster import ClusterOptions

IntArray = npt.NDArray[np.int64]
_BATCH_ROWS = 2**16
_AHEAD = 4  # maximum number of chunks of labels that are fetched ahead of writing


@contextmanager
def open_parquet(asked: ClusterOptions, path: str, step: Step) -> Iterator[ParquetSource]:
    """Yield the rows of Parquet files, read by this process or by the workers of a scheduler."""
    require("pyarrow.parquet", extra="scale")
    step("inspecting files")
    if asked.scheduler is None:
        footers = tuple(files.read_footer(file) for file in files.list_files(path))
        yield LocalFiles(asked, path, step, footers)
        return
    from likewise.distributed._cluster_errors import get_client
    from likewise.distributed._dask_parquet import make_plan

    with get_client(asked.scheduler) as client:
        yield ClusterFiles(asked, path, step, client, make_plan(path, client=client))


class ParquetSource(ABC):
    """Rows of Parquet files. Labels are written in blocks, and only the ids of hinted rows are kept."""

    writes_blocks = True
    notes: Sequence[str] = ()
    ids: RowIds

    def __init__(
        self, asked: ClusterOptions, path: str, step: Step, footers: tuple[files.Footer, ...]
    ) -> None:
        self._asked, self._path, self._step, self.footers = asked, path, step, footers
        self.features, self._dropped = _select_features(path, asked.table.make_roles(), footers)
        self.n_rows = sum(footer.n_rows for footer in footers)
        self.callbacks: Sequence[Any] = (Iterations(step),) if HAS_CALLBACKS else ()
        self._counts = np.zeros(asked.clusters, dtype=np.int64)

    @property
    @abstractmethod
    def X(self) -> Any:
        """The rows in a form that estimators accept."""

    @abstractmethod
    def find(self, column: str, names: Sequence[str]) -> files.FoundIds:
        """Find the rows with these ids in a column, in one pass."""

    @abstractmethod
    def get_labels(self, labels: Any, rows: IntArray) -> IntArray:
        """Return the labels of few rows."""

    @abstractmethod
    def iterate_parts(self, labels: Any, id_column: str | None) -> Iterator[tuple[Any, Any]]:
        """Yield ids as texts (None without a column of ids) and labels, in blocks of rows."""

    def read_hints(self) -> Supervision:
        """Find the hinted rows, and read the hints; unknown ids are reported with their lines."""
        self._step("finding rows")
        asked, column = self._asked, self._asked.table.id_column
        names: dict[str, None] = {}
        for path in asked.hints:
            with suppress(ValueError):  # an invalid file is reported when it is read
                names |= dict.fromkeys(list_ids_in_file(path, encoding=asked.table.hints_encoding))
        if column is None:
            self.ids = FewIds.from_numbers(names, self.n_rows)
        else:
            found = self.find(column, list(names)) if names else files.FoundIds()
            known = [name for name in names if name in dict(found.rows)]
            places = found.find_rows(known, f"{self._path}, column {column!r}")
            self.ids = FewIds(dict(zip(known, places.tolist(), strict=True)), self.n_rows)
        return asked.table.read_hints(asked.hints, self.ids, data=self._path)

    def make_report(self, model: Any, hints: Supervision, bags: Bags | None) -> Report:
        """Return a report on the hinted rows; writing the labels adds the sizes of the clusters."""
        rows, few = hints.restrict_to_hinted()
        named = RowIds.from_ids([self.ids[row] for row in rows.tolist()] or ["none"])
        labels = self.get_labels(model.labels_, rows) if len(rows) else np.zeros(1, dtype=np.int64)
        table = DataTable(named, np.empty((len(named), 0)), self.features, self._dropped)
        return Report.from_model(
            self._asked.method, model, table, few, None, labels=labels, counts=self._counts
        )

    def write_labels(self, model: Any, path: Path | None) -> None:
        """Write the labels in blocks, to stdout without a path, and count the rows of each cluster."""
        with BlockWriter(path) as writer:
            at = 0
            for names, labels in self.iterate_parts(model.labels_, self._asked.table.id_column):
                self._step(f"writing, row {at:,}", within=True)
                self._counts += np.bincount(labels, minlength=self._asked.clusters)
                writer.add(_format_row_numbers(at, len(labels)) if names is None else names, labels)
                at += len(labels)

    def describe(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the source and the options for the JSON document."""
        asked = self._asked
        given = {"data": self._path, "scheduler": asked.scheduler, "hint_files": list(asked.hints)}
        return {**given, "seed": asked.seed, **options}


class LocalFiles(ParquetSource):
    """Files that this process reads."""

    @cached_property
    def X(self) -> Any:
        """A reader of the rows."""
        return ParquetRows(self._path, self.features, memory_limit=self._asked.memory_limit)

    def find(self, column: str, names: Sequence[str]) -> files.FoundIds:
        """Find the rows with these ids in one pass."""
        return files.find_rows_by_id(self.footers, column, names)

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
        for footer in self.footers:
            for cells in files.iterate_ids(footer, id_column, _BATCH_ROWS):
                yield cells, labels[at : at + len(cells)]
                at += len(cells)


class ClusterFiles(ParquetSource):
    """Files that the workers of a cluster read."""

    def __init__(self, asked: ClusterOptions, path: str, step: Step, client: Any, plan: Any) -> None:
        super().__init__(asked, path, step, plan.footers)
        self._client, self._plan = client, plan

    @cached_property
    def X(self) -> Any:
        """The rows on the workers."""
        from likewise.distributed import make_dask_rows
        from likewise.distributed._dask_parquet import make_array

        return make_dask_rows(make_array(self._plan, self.features), self._client)

    def find(self, column: str, names: Sequence[str]) -> files.FoundIds:
        """Find the rows with these ids in one pass on the workers."""
        from likewise.distributed._dask_parquet import find_in_files

        return find_in_files(self._plan, column, names, self._client)

    def get_labels(self, labels: Any, rows: IntArray) -> IntArray:
        """Fetch the labels of few rows."""
        return np.asarray(self._client.compute(labels[rows]).result(), dtype=np.int64)

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
            waiting.append((ids, self._client.compute(labels.blocks[number])))
            if len(waiting) > _AHEAD:
                yield fetch_ahead()
        while waiting:
            yield fetch_ahead()


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


def _format_row_numbers(first: int, count: int) -> Any:
    pyarrow = require("pyarrow", extra="scale")
    return pyarrow.array(np.arange(first, first + count)).cast("string")


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
