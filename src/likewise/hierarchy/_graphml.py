"""Hierarchies as GraphML, through networkx, for programs that draw graphs."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree.ElementTree import ParseError

from likewise._optional import require
from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy._hierarchy import LabelHierarchy
from likewise.hierarchy._label_checks import check_names
from likewise.hierarchy._networkx import make_graph, read_graph

# The graph says which node is its root, so that a label may be called "root" as well.
_ROOT = "root"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def compose(hierarchy: LabelHierarchy) -> bytes:
    """Return the bytes of a GraphML file, in which the root is a node like the labels."""
    for name in hierarchy.names:
        if found := _NO_XML.search(name):
            raise HierarchyError(
                f"label {name!r} holds the character {found[0]!r}, which GraphML cannot. Rename it, or write "
                "CSV or JSON."
            )
    root = _ROOT
    while root in hierarchy.names:
        root += "_"
    graph = make_graph(hierarchy, root)
    graph.graph[_ROOT] = root
    file = io.BytesIO()
    # By name, since write_graphml takes lxml where that is installed, whose files look different.
    require("networkx", extra="graphs").write_graphml_xml(graph, file, encoding="utf-8")
    return file.getvalue()


def parse(data: bytes, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a GraphML file.

    Where every node has a label, as drawing programs write them, these are the names; else the ids are.
    """
    networkx = require("networkx", extra="graphs")
    try:
        graph = networkx.read_graphml(io.BytesIO(data))
    except ParseError as error:
        raise FileFormatError(
            f"{path}:{error.position[0]}: this is not XML: {error}. The file may be cut short, or be of "
            "another format."
        ) from error
    except (networkx.NetworkXError, LookupError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be read as GraphML: {error}.") from error
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
    check_names(labels.values())  # networkx would make one node of two with the same label
    return networkx.relabel_nodes(graph, labels)
