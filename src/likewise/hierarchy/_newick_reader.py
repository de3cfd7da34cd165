"""A Newick parser that reports errors with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from likewise.exceptions import FileFormatError
from likewise.hierarchy._edges import format_names

_TOKEN = re.compile(
    r"(?P<blank>\s+)|(?P<comment>\[[^\]]*\])|(?P<quoted>'(?:[^']|'')*')"
    r"|(?P<sign>[(),;:])|(?P<plain>[^\s()\[\]':;,]+)"
)
_OPEN = {"'": "a quote is never closed", "[": "a comment is never closed"}


@dataclass(eq=False)
class Node:
    """A node: its name (empty if it has none), line, parent and comments."""

    above: Node | None
    line: int
    name: str = ""
    comments: str = ""
    below: list[Node] = field(default_factory=list)
    length: str | None = None


def read_tree(text: str, path: str) -> Node:
    """Return the outermost node of the only tree in a text."""
    return _NewickReader(text, path).read_tree()


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

    def read_tree(self) -> Node:
        """Read up to the semicolon, and check that nothing follows it."""
        node, ended = Node(None, self.line), False
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

    def check_end(self, node: Node) -> None:
        """Check that every bracket is closed at the end of the tree."""
        if node.above is not None:
            line = node.above.line
            self.fail(f"the bracket of line {line} is never closed; the file may be truncated.")
        self.finish(node)

    def read_sign(self, sign: str, node: Node) -> Node:
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

    def add_child(self, above: Node) -> Node:
        self.closed = False
        node = Node(above, self.line)
        above.below.append(node)
        return node

    def read_word(self, node: Node, word: str) -> None:
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

    def finish(self, node: Node) -> None:
        """Check that a node other than the outermost has a name."""
        if node.length == "":
            self.fail("expected a branch length after a colon; got nothing.")
        if node.name or node.above is None:
            return
        if not node.below:
            self.fail("a name is missing between two commas or brackets.")
        inside = format_names(child.name for child in node.below)
        self.fail(f"the node above {inside} has no name. Add a name after its bracket, as in (a,b)name.")
