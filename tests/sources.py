"""The syntax of the package's files, parsed once for all tests about it."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "likewise"
KINDS = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def list_files():
    """Return the Python files of the package."""
    return sorted(SOURCE.rglob("*.py"))


@cache
def list_nodes(path):
    """Return the imports, classes and functions of a file, and its strings that start with 'likewise.'."""
    nodes, left = [], [ast.parse(path.read_text(encoding="utf-8"))]
    while left:
        node = left.pop()
        if isinstance(node, KINDS) or (
            isinstance(node, ast.Constant) and str(node.value).startswith("likewise.")
        ):
            nodes.append(node)
        left.extend(ast.iter_child_nodes(node))
    return nodes
