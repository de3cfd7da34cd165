"""Reading Newick, sign by sign, so that what is wrong can be said with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from likewise.exceptions import FileFormatError
from likewise.hierarchy._label_checks import format_names

_TOKEN = re.compile(
    r"(?P<blank>\s+)|(?P<comment>\[[^\]]*\])|(?P<quoted>'(?:[^']|'')*')"
    r"|(?P<sign>[(),;:])|(?P<plain>[^\s()\[\]':;,]+)"
)
_OPEN = {"'": "a quote is opened and never closed", "[": "a comment is opened and never closed"}


@dataclass(eq=False)
class Node:
    """One node: its name (empty if it has none), where it stands, and its comments."""

    above: Node | None
    line: int
    name: str = ""
    comments: str = ""
    below: list[Node] = field(default_factory=list)
    length: str | None = None


def read_tree(text: str, path: str) -> Node:
    """Return the outermost node of the one tree in a text."""
    return _NewickReader(text, path).read_tree()


class _NewickReader:
    def __init__(self, text: str, path: str) -> None:
        self.text, self.path, self.line = text, path, 1
        self.names: dict[str, int] = {}
        self.closed = False  # the children of the node at hand are complete

    def fail(self, description: str) -> NoReturn:
        raise FileFormatError(f"{self.path}:{self.line}: {description} Nothing was read.")

    def iterate_tokens(self) -> Iterator[tuple[str, str]]:
        """Yield the kind and the text of each token, keeping count of the lines."""
        at = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                description = _OPEN.get(self.text[at], f"{self.text[at]!r} stands alone")
                self.fail(
                    f"{description}. Names with such signs are written in single quotes, a quote in them "
                    "twice."
                )
            yield str(found.lastgroup), found[0]
            self.line += found[0].count("\n")
            at = found.end()

    def read_tree(self) -> Node:
        """Read up to the semicolon, and make sure that nothing comes after it."""
        node, ended = Node(None, self.line), False
        for kind, token in self.iterate_tokens():
            if kind == "blank" or (ended and kind == "comment"):
                continue
            if ended:
                self.fail("a second tree begins here, so there are two roots. Keep one tree a file.")
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
            self.fail("the tree does not end with a semicolon; the file may be cut short. Add one if not.")
        return node

    def check_end(self, node: Node) -> None:
        """Check that every bracket is closed at the end of the tree."""
        if node.above is not None:
            line = node.above.line
            self.fail(f"the bracket of line {line} is opened and never closed; the file may be cut short.")
        self.finish(node)

    def read_sign(self, sign: str, node: Node) -> Node:
        """Take one of the signs ( , ) : and return the node that comes next."""
        if sign == ":":
            if node.length is not None:
                self.fail("there are two colons; a node has one length.")
            node.length = ""
            return node
        if sign == "(":
            if self.closed or node.name or node.length is not None:
                self.fail(f"a bracket is opened right after {node.name or ')'!r}; a comma is missing.")
            node.line = self.line
            return self.add_child(node)
        self.finish(node)
        if node.above is None:
            if sign == ",":
                self.fail("a comma outside all brackets makes two roots. Put both into one pair of brackets.")
            self.fail("a bracket is closed that was never opened.")
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
        """Take a name, or the number after a colon."""
        if node.length == "":
            try:
                float(word)
            except ValueError:
                self.fail(f"{word!r} stands after a colon, where the length of a branch is wanted.")
            node.length = word
        elif node.length is not None or node.name:
            before = node.name or node.length
            self.fail(
                f"{word!r} follows {before!r}; a comma is missing, or quotes around a name with blanks."
            )
        elif not word:
            self.fail("a name is empty; every label needs one.")
        elif word in self.names:
            self.fail(f"label {word!r} stands in line {self.names[word]} already. Rename one of the two.")
        else:
            node.name, node.line = word, self.line
            self.names[word] = self.line

    def finish(self, node: Node) -> None:
        """Check that a node other than the outermost has a name."""
        if node.length == "":
            self.fail("a colon is not followed by a number, the length of the branch.")
        if node.name or node.above is None:
            return
        if not node.below:
            self.fail("a name is missing here: between two commas or brackets there must be one.")
        inside = format_names(child.name for child in node.below)
        self.fail(f"the node above {inside} has no name. Name it after its bracket, as in (a,b)name.")
