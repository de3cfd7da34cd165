"""Dask graphs of results on a cluster, with a clear error if the cluster is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from likewise.exceptions import DaskClusterError


class HeldLayer(MaterializedLayer):
    """A layer whose only task is a result on the workers of a client.

    Dask reads the tasks when something is computed. If the client is closed by then, the result is lost,
    and Dask's error would be about a missing dependency.
    """

    def __init__(self, mapping: Any, client: Any) -> None:
        super().__init__(mapping)
        self.client = client

    def __getitem__(self, key: Any) -> Any:
        self._check()
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        self._check()
        return super().__iter__()

    def __reduce__(self) -> Any:
        """Convert to a plain layer for the scheduler, which may not have likewise installed."""
        return MaterializedLayer, (dict(self.mapping),)

    def _check(self) -> None:
        if self.client.status in ("closing", "closed"):
            raise DaskClusterError(
                "the labels (or other results) are on the workers of a Dask cluster, but the client that "
                "fitted the model is closed. Fetch them before closing it, as in "
                "`labels = model.labels_.compute()`; now the model must be fitted again."
            )


def make_delayed(future: Any, client: Any) -> Delayed:
    """Return a result on the workers as a delayed value with a reference to its client."""
    value = delayed(future)
    graph = value.dask
    if not isinstance(graph, HighLevelGraph):
        return value
    layers = {name: HeldLayer(dict(layer), client) for name, layer in graph.layers.items()}
    return Delayed(value.key, HighLevelGraph(layers, graph.dependencies))
