"""Hierarchies as GraphML, through networkx, for graph-drawing programs."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree.ElementTree import ParseError

from likewise._optional import require
from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy._edges import check_names
from likewise.hierarchy._hierarchy import LabelHierarchy, make_graph, read_graph

# A graph attribute names the root node, so a label may be named "root" as well.
_ROOT = "root"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def compose(hierarchy: LabelHierarchy) -> bytes:
    """Return the bytes of a GraphML file, in which the root is a node like any label."""
    for name in hierarchy.names:
        if found := _NO_XML.search(name):
            raise HierarchyError(
                f"label {name!r} contains the character {found[0]!r}, which GraphML does not allow. "
                "Rename it, or write "
                "CSV or JSON."
            )
    root = _ROOT
    while root in hierarchy.names:
        root += "_"
    graph = make_graph(hierarchy, root)
    graph.graph[_ROOT] = root
    file = io.BytesIO()
    # Not write_graphml, which uses lxml if it is installed and then writes different files.
    require("networkx", extra="graphs").write_graphml_xml(graph, file, encoding="utf-8")
    return file.getvalue()


def parse(data: bytes, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a GraphML file.

    If every node has a label, as drawing programs write them, labels are the names; otherwise ids are.
    """
    networkx = require("networkx", extra="graphs")
    try:
        graph = networkx.read_graphml(io.BytesIO(data))
    except ParseError as error:
        raise FileFormatError(
            f"{path}:{error.position[0]}: invalid XML: {error}. The file may be truncated, or have "
            "another format."
        ) from error
    except (networkx.NetworkXError, LookupError, ValueError) as error:
        raise FileFormatError(f"{path}: invalid GraphML: {error}.") from error
    try:
        graph = _relabel_nodes(graph, networkx)
        top = graph.graph.get(_ROOT)
        if top is None and graph.is_directed() and root in graph and not graph.pred[root]:
            top = root
        return read_graph(graph, top)
    except HierarchyError as error:
        raise FileFormatError(f"{path}: {error} Nothing was read.") from error


def _relabel_nodes(graph: Any, networkx: Any) -> Any:
    labels = {node: str(label) for node, label in graph.nodes(data="label") if label not in (None, "")}
    if not labels or len(labels) < len(graph):
        return graph
    check_names(labels.values())  # networkx would merge nodes with the same label
    return networkx.relabel_nodes(graph, labels)
