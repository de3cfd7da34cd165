"""Read files of earlier answers, labels and hints as statements about item ids.

All problems of a file are reported together, line by line; a file with a problem is rejected as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from likewise.active import Question
from likewise.exceptions import FileFormatError
from likewise.studio._statements import (
    MOST_SHOWN,
    NOT_IMPORTED,
    PastAnswer,
    PastAnswers,
    check_limits,
    check_name,
    format_count,
    make_group_statements,
    read_hints_file,
    read_interview,
)
from likewise.studio._stored_events import UNCOUNTED
from likewise.studio.exports import unescape_formula
from likewise.supervision import RowIds
from likewise.tables import (
    Problems,
    choose_format,
    decode,
    make_problems,
    parse_json_lines,
    parse_number,
    read_rows,
)

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".xlsx": "xlsx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "interview",
}
_ANSWERS = (
    "kind",
    "a",
    "b",
    "c",
    "answer",
    "annotator",
    "seconds",
    "time",
    "source",
    "undone",
    "seq",
    "note",
)
_LABELS = ("id", "group", "name", "doubt", "note")
_HINTS = frozenset({"label", "bag", "group", "weight", "link", "items", "item"})  # not columns of answers
_TRUTHS = {"true": True, "false": False, "": False}


def read_earlier(
    path: Path, ids: RowIds, *, format: str | None = None, encoding: str = "utf-8", raw: bool = False
) -> PastAnswers:
    """Read a file of answers, labels, hints or an interview, detecting which it is.

    Parameters
    ----------
    path : Path
        The file: .csv, .tsv, .xlsx, .jsonl, .parquet, or .json for an interview of ``likewise ask``.
    ids : RowIds
        The ids of the items.
    format : str, optional
        The file format; by default determined by the file extension.
    encoding : str, default="utf-8"
        The encoding of a CSV or JSON Lines file.
    raw : bool, default=False
        Whether to read the cells of a CSV file unchanged; by default the apostrophe that an export puts
        before a formula is removed.
    """
    kind = choose_format(path, format, _SUFFIXES)
    if kind == "interview":
        return read_interview(path, ids)
    problems = make_problems(path, kind, shown=MOST_SHOWN, end=NOT_IMPORTED)
    data = path.read_bytes()
    if not data.strip():
        raise FileFormatError(f"{path} is empty; expected at least a header.")
    columns, rows = _read_table(data, kind, encoding, problems)
    read = _AnswerReader(ids, problems, quoted=kind == "csv" and not raw)
    if {"a", "b", "answer"} <= columns and not columns & _HINTS:
        earlier = read.read_answers(rows, columns)
    elif {"id", "group"} <= columns:
        earlier = read.read_labels(rows, columns)
    elif problems.found and kind == "jsonl":
        problems.settle()
        raise AssertionError("settle raises")
    else:
        return read_hints_file(path, ids, kind, encoding)
    problems.settle()
    return check_limits(earlier, path)


# ---------------------------------------------------------------------- tables

Row = tuple[int, Mapping[str, Any]]


def _read_table(data: bytes, kind: str, encoding: str, problems: Problems) -> tuple[set[str], Iterator[Row]]:
    """Return the column names, and the rows with their line numbers."""
    if kind == "jsonl":
        objects = list(parse_json_lines(decode(data, encoding, problems.path), problems))
        names = {name for _, value in objects for name in value}
        return names, iter(objects)
    table = read_rows(data, kind, encoding, problems)
    columns, cells = table.header, table.rows
    if kind != "parquet":
        columns = [name.strip().lower() for name in columns]
    if kind == "xlsx":
        cells = ((number, row) for number, row in cells if not row[0].startswith("#"))
    return _match_columns(columns, problems), _zip_rows(columns, cells, problems)


def _match_columns(columns: Sequence[str], problems: Problems) -> set[str]:
    if len(set(columns)) < len(columns):
        raise FileFormatError(f"{problems.path}: a column occurs twice in {', '.join(map(repr, columns))}.")
    return set(columns)


def _zip_rows(
    columns: Sequence[str], rows: Iterable[tuple[int, Sequence[Any]]], problems: Problems
) -> Iterator[Row]:
    for line, cells in rows:
        if len(cells) != len(columns):
            problems.add(line, f"{len(cells)} cell(s), but the header has {len(columns)}.")
        else:
            yield line, dict(zip(columns, cells, strict=True))


class _AnswerReader:
    """Converts the rows of a table to statements and records problems."""

    def __init__(self, ids: RowIds, problems: Problems, *, quoted: bool) -> None:
        self.ids, self.problems, self.quoted = ids, problems, quoted

    def read_answers(self, rows: Iterable[Row], columns: set[str]) -> PastAnswers:
        """Read a table of answers."""
        self._check_columns(columns, _ANSWERS)
        earlier = PastAnswers("answers")
        n_undone = n_practice = 0
        for line, cells in rows:
            try:
                answer = self._answer(line, cells)
            except ValueError as error:
                self.problems.add(line, error)
                continue
            if _read_class(cells.get("undone")):
                n_undone += 1
            elif str(cells.get("source") or "") in UNCOUNTED:
                n_practice += 1
            else:
                earlier.answers.append(answer)
        if n_undone:
            earlier.notes.append(f"Left out: {format_count(n_undone, 'answer')} that had been undone.")
        if n_practice:
            earlier.notes.append(f"Left out: {format_count(n_practice, 'answer')} for practice.")
        return earlier

    def _answer(self, line: int, cells: Mapping[str, Any]) -> PastAnswer:
        c = _read_given(cells.get("c"))
        kind = str(_read_given(cells.get("kind")) or ("triplet" if c is not None else "pair")).strip().lower()
        if kind not in ("pair", "triplet"):
            raise ValueError(f"the kind is {cells['kind']!r}; expected pair or triplet.")
        if (kind == "triplet") != (c is not None):
            description = "c is empty" if c is None else f"c is {c!r}"
            raise ValueError(f"the kind is {kind}, but {description}.")
        items = tuple(
            self._read_id(cells.get(name), name) for name in ("a", "b", "c")[: 2 + (kind == "triplet")]
        )
        if len(set(items)) < len(items):
            raise ValueError("an id occurs twice.")
        asked = Question(kind, tuple(range(len(items))))  # type: ignore[arg-type]
        word = str(asked.check_answer(_read_given(cells.get("answer")) or ""))
        _read_class(cells.get("undone"))
        name = _read_given(cells.get("annotator"))
        return PastAnswer(
            "triplet" if kind == "triplet" else "pair",
            items,
            word,
            None if name is None else self._read_name(name),
            _read_seconds(cells.get("seconds")),
            _read_time(cells.get("time")),
            line,
        )

    def read_labels(self, rows: Iterable[Row], columns: set[str]) -> PastAnswers:
        """Read a table of groups: items of one group are together, items of different groups apart."""
        self._check_columns(columns, _LABELS)
        if "doubt" in columns:
            raise FileFormatError(
                f"{self.problems.path}: the studio computed these groups; importing them as answers would "
                "turn guesses into facts. Import the answers (likewise export --what answers), or remove the "
                "column 'doubt' if a person has checked all of them. Nothing was imported."
            )
        group_of: dict[str, tuple[str, int]] = {}
        name_of: dict[str, tuple[str, int]] = {}
        for line, cells in rows:
            try:
                item = self._read_id(cells.get("id"), "id")
                group = _read_given(cells.get("group"))
                if group is None:
                    continue  # unlabelled
                _note_if_different(group_of, item, str(group), line, f"the group of {item!r}")
                if (name := _read_given(cells.get("name"))) is not None:
                    _note_if_different(
                        name_of, str(group), self._read_name(name), line, f"the name of group {group}"
                    )
            except ValueError as error:
                self.problems.add(line, error)
        earlier = PastAnswers("labels")
        earlier.notes += _leave_out_unlabelled(group_of)
        groups: dict[str, list[str]] = {}
        for item, (group, _) in group_of.items():
            groups.setdefault(group, []).append(item)
        earlier.answers = make_group_statements(list(groups.values()))
        earlier.names = [(groups[group][0], name) for group, (name, _) in name_of.items()]
        return earlier

    def _check_columns(self, columns: set[str], known: Sequence[str]) -> None:
        if unknown := sorted(columns - set(known)):
            raise FileFormatError(
                f"{self.problems.path}: unknown column {unknown[0]!r}; expected {', '.join(known)}."
                " Rename or remove it. Nothing was imported."
            )

    def _read_id(self, cell: Any, column: str) -> str:
        given = _read_given(cell)
        if given is None:
            raise ValueError(f"{column} is empty.")
        plain = unescape_formula(given) if self.quoted and isinstance(given, str) else given
        for id in (plain, given):
            if (row := self.ids.find(id)) is not None:
                return self.ids[row]
        raise self.ids.unknown_id(plain)

    def _read_name(self, cell: Any) -> str:
        return check_name(unescape_formula(str(cell)) if self.quoted else str(cell))


def _leave_out_unlabelled(group_of: dict[str, tuple[str, int]]) -> list[str]:
    """Remove items of group -1, which scikit-learn uses for no group, if all groups are integers."""
    groups = {group.strip() for group, _ in group_of.values()}
    if "-1" not in groups or not all(group.removeprefix("-").isdecimal() for group in groups):
        return []
    unlabelled = [item for item, (group, _) in group_of.items() if group.strip() == "-1"]
    for item in unlabelled:
        del group_of[item]
    return [f"Left out: {format_count(len(unlabelled), 'item')} of group -1, which stands for no group."]


def _read_given(cell: Any) -> Any:
    return None if cell is None or cell == "" else cell


def _read_class(cell: Any) -> bool:
    if isinstance(cell, bool):
        return cell
    word = str(_read_given(cell) or "").strip().lower()
    if word not in _TRUTHS:
        raise ValueError(f"undone is {cell!r}; expected true or false.")
    return _TRUTHS[word]


def _read_seconds(cell: Any) -> float | None:
    if _read_given(cell) is None:
        return None
    seconds = None if isinstance(cell, bool) else parse_number(cell)
    if seconds is None or not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"seconds is {cell!r}; expected a number of at least 0.")
    return seconds


def _read_time(cell: Any) -> str | None:
    if _read_given(cell) is None:
        return None
    try:
        return (cell if isinstance(cell, datetime) else datetime.fromisoformat(str(cell).strip())).isoformat()
    except ValueError:
        raise ValueError(f"time is {cell!r}; expected a form such as 2026-03-09T12:00:00+00:00.") from None


def _note_if_different(into: dict[str, tuple[str, int]], key: str, value: str, line: int, what: str) -> None:
    before, first = into.setdefault(key, (value, line))
    if before != value:
        raise ValueError(f"{what} is {value!r}, but {before!r} on line {first}.")
