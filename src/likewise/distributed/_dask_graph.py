"""Dask graphs of results that a cluster holds, which say so when their cluster is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from likewise.exceptions import DaskClusterError


class HeldLayer(MaterializedLayer):
    """A layer whose only task is a result on the workers of a client.

    Dask looks at the tasks when something is computed. If the client is closed by then, the result is gone,
    and Dask's own error would be about a missing dependency.
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
        """Become a plain layer on the way to the scheduler, which need not know likewise."""
        return MaterializedLayer, (dict(self.mapping),)

    def _check(self) -> None:
        if self.client.status in ("closing", "closed"):
            raise DaskClusterError(
                "the labels (or other results) are on the workers of a Dask cluster, and the client that "
                "fitted the model is closed. Bring them here before closing it, as in "
                "`labels = model.labels_.compute()`; now the model has to be fitted anew."
            )


def make_delayed(future: Any, client: Any) -> Delayed:
    """Return a result on the workers as a delayed value that knows its client."""
    value = delayed(future)
    graph = value.dask
    if not isinstance(graph, HighLevelGraph):
        return value
    layers = {name: HeldLayer(dict(layer), client) for name, layer in graph.layers.items()}
    return Delayed(value.key, HighLevelGraph(layers, graph.dependencies))
