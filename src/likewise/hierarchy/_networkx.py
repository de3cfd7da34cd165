"""Conversion between label hierarchies and networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from likewise._optional import require
from likewise.exceptions import HierarchyError
from likewise.hierarchy._columns import COLUMNS

if TYPE_CHECKING:
    from likewise.hierarchy._hierarchy import LabelHierarchy


def read_graph(graph: Any, root: Any) -> dict[str, Any]:
    """Return the names, edges and columns of a directed graph without the node `root`."""
    if not graph.is_directed():
        raise HierarchyError(
            "the graph is undirected, so parents and children cannot be distinguished. Direct it first, for "
            "example with networkx.bfs_tree(graph, root)."
        )
    if root is not None:
        if root not in graph:
            raise HierarchyError(
                f"the graph has no node {root!r}, which was given as root. Omit root if the graph has none."
            )
        above = next(iter(graph.predecessors(root)), None)
        if above is not None:
            raise HierarchyError(f"the node {root!r} is a child of {above!r}, so it is not the root.")
    nodes = [node for node in graph.nodes if root is None or node != root]
    at = {node: k for k, node in enumerate(nodes)}
    parts: dict[str, Any] = {
        "names": [str(node) for node in nodes],
        "edges": [(at[p], at[c]) for p, c in graph.edges() if p in at],
    }
    for attribute, column in COLUMNS.items():
        values = [graph.nodes[node].get(attribute) for node in nodes]
        if any(value is not None for value in values):
            parts[column] = [float("nan") if value is None else value for value in values]
    return parts


def make_graph(hierarchy: LabelHierarchy, root: str | None) -> Any:
    """Return a hierarchy as a directed graph, with a node for the root if `root` is given."""
    graph = require("networkx", extra="graphs").DiGraph()
    if root is not None:
        if root in hierarchy.names:
            raise HierarchyError(f"{root!r} is already a label. Give the root another name.")
        graph.add_node(root)
    graph.add_nodes_from(hierarchy.names)
    for attribute, column in COLUMNS.items():
        values = getattr(hierarchy, column)
        for name, value in zip(hierarchy.names, [] if values is None else values.tolist(), strict=False):
            graph.nodes[name][attribute] = value
    if root is not None:
        graph.add_edges_from((root, name) for name in hierarchy.tops)
    graph.add_edges_from(hierarchy.edges)
    return graph
