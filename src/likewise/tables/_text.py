"""Tables as text: decoding, CSV with line numbers, JSON Lines, and the problems of a file line by line."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from likewise.exceptions import FileFormatError

SHOWN = 5  # number of invalid lines that an error lists
DELIMITERS = (",", ";", "\t")


@dataclass
class Problems:
    """The problems of a file, line by line; a file with problems is rejected as a whole.

    Attributes
    ----------
    path : str
        The name of the file in messages.
    word : str
        What stands between the name of the file and the number of the line.
    shown : int
        The number of problems that the error lists.
    end : str
        The last line of the error; none if empty.
    found : list of (int, str)
        The problems with their lines.
    notes : list of str
        Warnings about valid content.
    ids : list
        The unknown ids.
    """

    path: str
    word: str = ":"
    shown: int = SHOWN
    end: str = "Nothing was read."
    found: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)

    def add(self, line: int, problem: str | Exception) -> None:
        """Record a problem of a line."""
        self.found.append((line, str(problem)))
        self.ids.extend(getattr(problem, "ids", ()))

    def settle(self) -> None:
        """Raise one error that lists the first few problems, if there are any."""
        if not self.found:
            return
        self.found.sort(key=lambda problem: problem[0])
        lines = [f"{self.path}{self.word}{line}: {text}" for line, text in self.found[: self.shown]]
        if (more := len(self.found) - self.shown) > 0:
            lines.append(f"and {more} more.")
        raise FileFormatError("\n".join([*lines, self.end] if self.end else lines), ids=self.ids)


def decode(data: bytes, encoding: str, path: str, *, option: str = "encoding={!r}") -> str:
    """Decode the bytes of a text file; the error names the invalid byte and encodings to try.

    `option` is the form in which the error suggests an encoding.
    """
    name = codecs.lookup(encoding).name
    try:
        return data.decode("utf-8-sig" if name == "utf-8" else name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        likely, because = ["latin-1", "cp1252"], "if it comes from an older Windows program"
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            likely, because = ["utf-16"], "which its first two bytes indicate"
        terms = tuple(map(option.format, likely))
        raise FileFormatError(
            f"{path}:{line}: byte {error.start} is {data[error.start]:#04x}, which is not {name}.",
            f"Save the file as UTF-8, or pass {' or '.join(f'{{{term}}}' for term in terms)}, {because}.",
            parameter="encoding",
            terms=terms,
        ) from error


# ---------------------------------------------------------------------- CSV


def find_delimiter(text: str) -> str:
    """Return the delimiter that splits the first row into the most cells; a comma if none does."""

    def count_cells(delimiter: str) -> int:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            return len(next((row for row in reader if row), []))
        except csv.Error:
            return 0

    return max(DELIMITERS, key=count_cells)


def iterate_csv(text: str, problems: Problems, *, first_line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text with the line on which each begins; the row of a blank line is empty.

    The cells are separated by commas, semicolons or tabs, detected from the first row. Reading stops at
    malformed quotes, which are a problem of the line.
    """
    ended = False

    def iterate_lines() -> Iterator[str]:
        nonlocal ended
        yield from io.StringIO(text, newline="")
        ended = True

    reader = csv.reader(iterate_lines(), delimiter=find_delimiter(text), strict=True)
    line = first_line
    try:
        for row in reader:
            yield line, row
            line = first_line + reader.line_num
    except csv.Error as error:
        # At the end of the text only an open quote can cause an error.
        cut = "a quote is opened and never closed; the file may be truncated"
        problems.add(line, f"{cut if ended else error}.")


def split_comments(text: str) -> tuple[list[str], str]:
    """Split the lines that begin with "#" from the top of a text."""
    comments = []
    while text.startswith("#"):
        comment, _, text = text.partition("\n")
        comments.append(comment)
    return comments, text


# ---------------------------------------------------------------------- JSON Lines


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def parse_json_lines(text: str, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a text with their line numbers; blank lines are skipped."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_constant=_refuse_constant)
        except ValueError as error:
            cut = " The file may be truncated." if number == len(lines) else ""
            problems.add(number, f"not a JSON object: {error}.{cut}")
            continue
        if not isinstance(value, dict):
            problems.add(number, f'expected a JSON object such as {{"kind": "must", …}}; got {value!r}.')
            continue
        yield number, value
