"""Parquet files as a source of ``likewise cluster``: rows and labels in blocks, here or on a Dask cluster."""

from __future__ import annotations

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
from likewise.backends import parquet as files
from likewise.cli._output import Step, write_stdout
from likewise.cli._report import Report
from likewise.datasets import ParquetRows
from likewise.exceptions import FileFormatError
from likewise.supervision import Bags, FewIds, RowIds, Supervision
from likewise.supervision.io import list_ids_in_file
from likewise.tables import BlockWriter, DataTable

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
        yield ParquetSource(asked, path, step, footers)
        return
    from likewise.backends.dask import get_client, make_plan

    with get_client(asked.scheduler) as client:
        yield ClusterSource(asked, path, step, client, make_plan(path, client=client))


class ParquetSource:
    """Rows of Parquet files that this process reads.

    Labels are written in blocks, and only the ids of hinted rows are kept.
    """

    writes_blocks = True
    notes: Sequence[str] = ()
    ids: RowIds

    def __init__(
        self, asked: ClusterOptions, path: str, step: Step, footers: tuple[files.Footer, ...]
    ) -> None:
        self._asked, self._path, self._step, self.footers = asked, path, step, footers
        roles, names = asked.table.make_roles(), tuple(footers[0].types)
        roles.check(names, path)
        self.features = roles.select_features(names, path)
        try:
            files.choose_columns(footers, self.features)
        except FileFormatError as error:
            if error.parameter != "columns":
                raise
            tip = (
                "Leave them out with --drop, use a column as ids with --id, or choose columns with "
                "--features."
            )
            raise FileFormatError(error.message, tip) from error
        self._dropped = tuple(name for name in names if name not in {*self.features, roles.id})
        self.n_rows = sum(footer.n_rows for footer in footers)
        self.callbacks: Sequence[Any] = (Iterations(step),) if HAS_CALLBACKS else ()
        self._counts = np.zeros(asked.clusters, dtype=np.int64)

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
        """Yield ids as texts (None without a column of ids) and labels, in blocks of rows."""
        if id_column is None:
            for at in range(0, len(labels), _BATCH_ROWS):
                yield None, labels[at : at + _BATCH_ROWS]
            return
        at = 0
        for footer in self.footers:
            for cells in files.iterate_ids(footer, id_column, _BATCH_ROWS):
                yield cells, labels[at : at + len(cells)]
                at += len(cells)

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
        pyarrow = require("pyarrow", extra="scale")
        with BlockWriter(path, write_stdout) as writer:
            at = 0
            for names, labels in self.iterate_parts(model.labels_, self._asked.table.id_column):
                self._step(f"writing, row {at:,}", within=True)
                self._counts += np.bincount(labels, minlength=self._asked.clusters)
                if names is None:
                    names = pyarrow.array(np.arange(at, at + len(labels))).cast("string")
                writer.add(names, labels)
                at += len(labels)

    def describe(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the source and the options for the JSON document."""
        asked = self._asked
        given = {"data": self._path, "scheduler": asked.scheduler, "hint_files": list(asked.hints)}
        return {**given, "seed": asked.seed, **options}


class ClusterSource(ParquetSource):
    """Rows of Parquet files that the workers of a cluster read."""

    def __init__(self, asked: ClusterOptions, path: str, step: Step, client: Any, plan: Any) -> None:
        super().__init__(asked, path, step, plan.footers)
        self._client, self._plan = client, plan

    @cached_property
    def X(self) -> Any:
        """The rows on the workers."""
        from likewise.backends.dask import make_array, make_dask_rows

        return make_dask_rows(make_array(self._plan, self.features), self._client)

    def find(self, column: str, names: Sequence[str]) -> files.FoundIds:
        """Find the rows with these ids in one pass on the workers."""
        from likewise.backends.dask import find_in_files

        return find_in_files(self._plan, column, names, self._client)

    def get_labels(self, labels: Any, rows: IntArray) -> IntArray:
        """Fetch the labels of few rows."""
        return np.asarray(self._client.compute(labels[rows]).result(), dtype=np.int64)

    def iterate_parts(self, labels: Any, id_column: str | None) -> Iterator[tuple[Any, Any]]:
        """Yield ids and labels by chunk; some chunks are fetched ahead."""
        from likewise.backends.dask import explain_failures, read_chunk_ids

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
