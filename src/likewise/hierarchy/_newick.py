"""Hierarchies as Newick, ``((cat,dog)animal,toy);``: trees in which every node but the outermost has a name.

If each node has the comment ``[&column=0,…]`` that :func:`compose` writes, the order of the columns and the
numbers of the labels are restored. All other comments, and branch lengths, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy._edges import format_names
from likewise.hierarchy._hierarchy import COLUMNS, LabelHierarchy, get_known_columns

# Spaces, brackets, quotes, colons, semicolons and commas are special; some programs read _ as a space.
_QUOTED = re.compile(r"[\s()\[\]':;,_]")
_TOKEN = re.compile(
    r"(?P<blank>\s+)|(?P<comment>\[[^\]]*\])|(?P<quoted>'(?:[^']|'')*')"
    r"|(?P<sign>[(),;:])|(?P<plain>[^\s()\[\]':;,]+)"
)
_OPEN = {"'": "a quote is never closed", "[": "a comment is never closed"}
_NUMBERS = re.compile(rf"[&,](column|{'|'.join(COLUMNS)})=([^,\]]+)")


def compose(hierarchy: LabelHierarchy) -> str:
    """Return the Newick text of a tree; the unnamed outermost node is the root."""
    if not hierarchy.is_tree:
        several = (len(above) > 1 for above in hierarchy.parent_lists)
        name = next(name for name, so in zip(hierarchy.names, several, strict=True) if so)
        raise HierarchyError(
            f"label {name!r} has several parents, but Newick supports only trees. Write CSV, GraphML or JSON."
        )
    below: list[list[int]] = [[] for _ in range(hierarchy.n_labels + 1)]
    for k, parent in enumerate(hierarchy.parents.tolist()):
        below[parent].append(k)  # -1, the root, is the last entry
    named = [*_iterate_names(hierarchy), ""]
    text: list[str] = []
    # A stack, because a tree may be deeper than Python's recursion limit.
    todo: list[int | str] = [hierarchy.n_labels]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            text.append(node)
        elif not below[node]:
            text.append(named[node])
        else:
            text.append("(")
            todo.append(f"){named[node]}")
            for child in reversed(below[node]):
                todo += [child, ","]
            todo.pop()  # no comma before the first child
    return "".join(text) + ";\n"


def _iterate_names(hierarchy: LabelHierarchy) -> Iterator[str]:
    """Yield the name of each label, quoted if necessary, with its numbers as a comment."""
    columns = get_known_columns(hierarchy)
    for k, name in enumerate(hierarchy.names):
        text = "'" + name.replace("'", "''") + "'" if _QUOTED.search(name) else name
        comment = "".join(f",{column}={values[k]!r}" for column, values in columns.items())
        yield f"{text}[&column={k}{comment}]"


def parse(text: str, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a Newick text."""
    top = _NewickReader(text, path).read_tree()
    if top.name == root:
        top.name = ""
    nodes, todo = [], [top]
    while todo:  # parents before children
        node = todo.pop()
        nodes += [node] if node.name else []
        todo += reversed(node.below)
    comments = [dict(_NUMBERS.findall(node.comments)) for node in nodes]
    columns = [comment.get("column", "") for comment in comments]
    known = {str(k): k for k in range(len(nodes))}
    parts: dict[str, Any] = {}
    if sorted(columns) == sorted(known):  # written by `compose`
        order = sorted(range(len(nodes)), key=lambda k: known[columns[k]])
        nodes = [nodes[k] for k in order]
        for name, column in COLUMNS.items():
            if any(name in comment for comment in comments):
                parts[column] = [
                    _parse_number(comments[k].get(name, "nan"), path, nodes[known[columns[k]]]) for k in order
                ]
    parts["names"] = [node.name for node in nodes]
    parts["edges"] = [(node.above.name, node.name) for node in nodes if node.above and node.above.name]
    return parts


def _parse_number(text: str, path: str, node: _Node) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileFormatError(
            f"{path}:{node.line}: the comment of label {node.name!r} contains {text!r}; expected a "
            "number. Remove the comments to read only the tree."
        ) from None


# ---------------------------------------------------------------------- a parser with line numbers


@dataclass(eq=False)
class _Node:
    """A node: its name (empty if it has none), line, parent and comments."""

    above: _Node | None
    line: int
    name: str = ""
    comments: str = ""
    below: list[_Node] = field(default_factory=list)
    length: str | None = None


class _NewickReader:
    def __init__(self, text: str, path: str) -> None:
        self.text, self.path, self.line = text, path, 1
        self.names: dict[str, int] = {}
        self.closed = False  # the children of the current node are complete

    def fail(self, description: str) -> NoReturn:
        raise FileFormatError(f"{self.path}:{self.line}: {description} Nothing was read.")

    def iterate_tokens(self) -> Iterator[tuple[str, str]]:
        """Yield the kind and the text of each token, and count lines."""
        at = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                description = _OPEN.get(self.text[at], f"unexpected {self.text[at]!r}")
                self.fail(
                    f"{description}. Put names with such characters in single quotes, with a quote in a name "
                    "twice."
                )
            yield str(found.lastgroup), found[0]
            self.line += found[0].count("\n")
            at = found.end()

    def read_tree(self) -> _Node:
        """Read up to the semicolon, and check that nothing follows it."""
        node, ended = _Node(None, self.line), False
        for kind, token in self.iterate_tokens():
            if kind == "blank" or (ended and kind == "comment"):
                continue
            if ended:
                self.fail("a second tree begins here. Put each tree in a separate file.")
            if kind == "comment":
                node.comments += token
            elif token == ";" and kind == "sign":
                ended = True
                self.check_end(node)
            elif kind == "sign":
                node = self.read_sign(token, node)
            else:
                self.read_word(node, token[1:-1].replace("''", "'") if kind == "quoted" else token)
        if not ended:
            self.check_end(node)
            self.fail(
                "the tree does not end with a semicolon; the file may be truncated. Add the semicolon if not."
            )
        return node

    def check_end(self, node: _Node) -> None:
        """Check that every bracket is closed at the end of the tree."""
        if node.above is not None:
            line = node.above.line
            self.fail(f"the bracket of line {line} is never closed; the file may be truncated.")
        self.finish(node)

    def read_sign(self, sign: str, node: _Node) -> _Node:
        """Process one of the characters ( , ) : and return the next node."""
        if sign == ":":
            if node.length is not None:
                self.fail("there are two colons; a node has only one length.")
            node.length = ""
            return node
        if sign == "(":
            if self.closed or node.name or node.length is not None:
                self.fail(f"a bracket opens right after {node.name or ')'!r}; a comma is missing.")
            node.line = self.line
            return self.add_child(node)
        self.finish(node)
        if node.above is None:
            if sign == ",":
                self.fail("a comma outside all brackets makes two roots. Put both in one pair of brackets.")
            self.fail("a closing bracket has no opening bracket.")
        if sign == ",":
            return self.add_child(node.above)
        self.closed = True
        return node.above

    def add_child(self, above: _Node) -> _Node:
        self.closed = False
        node = _Node(above, self.line)
        above.below.append(node)
        return node

    def read_word(self, node: _Node, word: str) -> None:
        """Process a name, or the number after a colon."""
        if node.length == "":
            try:
                float(word)
            except ValueError:
                self.fail(f"expected a branch length after a colon; got {word!r}.")
            node.length = word
        elif node.length is not None or node.name:
            before = node.name or node.length
            self.fail(
                f"{word!r} follows {before!r}; a comma is missing, or quotes around a name with spaces."
            )
        elif not word:
            self.fail("a name is empty; every label needs a name.")
        elif word in self.names:
            self.fail(f"label {word!r} is already in line {self.names[word]}. Names must be unique.")
        else:
            node.name, node.line = word, self.line
            self.names[word] = self.line

    def finish(self, node: _Node) -> None:
        """Check that a node other than the outermost has a name."""
        if node.length == "":
            self.fail("expected a branch length after a colon; got nothing.")
        if node.name or node.above is None:
            return
        if not node.below:
            self.fail("a name is missing between two commas or brackets.")
        inside = format_names(child.name for child in node.below)
        self.fail(f"the node above {inside} has no name. Add a name after its bracket, as in (a,b)name.")
