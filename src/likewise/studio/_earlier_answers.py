"""Read files of earlier answers, labels, hints and interviews as statements about item ids.

All problems of a file are reported together, line by line; a file with a problem is rejected as a whole.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from likewise._event_log import find_undone
from likewise._words import format_count
from likewise.active import Named, Question, Reply, collect_relations, saved_interview
from likewise.exceptions import FileFormatError, LikewiseError
from likewise.studio._repairs import read_repair
from likewise.studio._stored_events import UNCOUNTED
from likewise.studio.exports import unescape_formula
from likewise.studio.records import AskedKind
from likewise.studio.wording import LONGEST_NOTE
from likewise.supervision import RowIds, Supervision, read_hints
from likewise.tables import (
    Problems,
    choose_format,
    decode,
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
    *"abc",
    "others",
    "answer",
    "annotator",
    "seconds",
    "time",
    "source",
    "undone",
    "seq",
    "note",
)
_ABOUT_GROUPS = ("placement", "members", "groups", "label", "repair")
_OBJECTS = (("placement", "groups"), ("members", "unlike"), ("label", "name"))  # answers that are no words
_LABELS = ("id", "group", "name", "doubt", "note")
_HINTS = frozenset({"label", "bag", "group", "weight", "link", "items", "item"})  # not columns of answers
_TRUTHS = {"true": True, "false": False, "": False}
MOST_SHOWN = 100  # maximum number of bad lines reported at once
NOT_IMPORTED = "Nothing was imported."
MOST = 100_000  # more would keep a studio busy for hours


class PastAnswer(NamedTuple):
    """One earlier answer."""

    kind: AskedKind | Literal["repair"]
    items: tuple[str, ...]
    answer: str | dict[str, Any]  # as in events; of a repair, its body without the items
    annotator: str | None = None
    seconds: float | None = None
    time: str | None = None
    line: int = 0
    note: str = ""


@dataclass
class PastAnswers:
    """The content of a file.

    Attributes
    ----------
    form : {"answers", "labels", "hints", "interview"}
        The kind of file.
    answers : list of PastAnswer
        The statements.
    names : list of (str, str)
        An item id and the name of the item's group.
    notes : list of str
        What was left out, and why.
    """

    form: Literal["answers", "labels", "hints", "interview"]
    answers: list[PastAnswer] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_limits(earlier: PastAnswers, path: Path) -> PastAnswers:
    """Raise an error if a file has more answers than a studio can handle."""
    if len(earlier.answers) > MOST:
        raise FileFormatError(
            f"{path} would become {len(earlier.answers):,} answers; expected at most {MOST:,}. Keep the most "
            "informative lines, such as some items of each group. Nothing was imported."
        )
    return earlier


def check_name(name: str) -> str:
    """Return the name of a person or group; raise ValueError if it cannot be shown on one line."""
    from likewise.studio.service._accounts import clean_name

    try:
        return clean_name(name, "a name")
    except LikewiseError as error:
        raise ValueError(f"{name[:80]!r}: {error}") from error


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
    problems = Problems(str(path), shown=MOST_SHOWN, end=NOT_IMPORTED)
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
    if len(set(columns)) < len(columns):
        raise FileFormatError(f"{problems.path}: a column occurs twice in {', '.join(map(repr, columns))}.")

    def zip_rows() -> Iterator[Row]:
        for line, row in cells:
            if len(row) == len(columns):
                yield line, dict(zip(columns, row, strict=True))
            else:
                problems.add(line, f"{len(row)} cell(s), but the header has {len(columns)}.")

    return set(columns), zip_rows()


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
        kinds = (*get_args(AskedKind), "repair")
        if kind not in kinds:
            raise ValueError(f"the kind is {cells['kind']!r}; expected one of {', '.join(kinds)}.")
        if kind in ("pair", "triplet") and (kind == "triplet") != (c is not None):
            description = "c is empty" if c is None else f"c is {c!r}"
            raise ValueError(f"the kind is {kind}, but {description}.")
        given = [name for name in "abc" if _read_given(cells.get(name)) is not None]
        items = tuple(
            self._read_id(cells.get(name), name)
            for name in (given if kind in _ABOUT_GROUPS else ("a", "b", "c")[: 2 + (kind == "triplet")])
        )
        if kind in _ABOUT_GROUPS:
            others = _read_json(cells.get("others")) or []
            items += tuple(map(self._find_id, others))
        if len(set(items)) < len(items):
            raise ValueError("an id occurs twice.")
        answer = _read_given(cells.get("answer")) or ""
        word = self._check_answer(kind, items, answer)
        _read_class(cells.get("undone"))
        name = _read_given(cells.get("annotator"))
        return PastAnswer(
            cast(Any, kind),
            items,
            word,
            None if name is None else self._read_name(name),
            _read_seconds(cells.get("seconds")),
            _read_time(cells.get("time")),
            line,
            self._read_note(cells.get("note")),
        )

    def _read_note(self, cell: Any) -> str:
        """Return a note, without what cannot be shown."""
        given = str(_read_given(cell) or "")
        text = unescape_formula(given) if self.quoted else given
        return "".join(sign for sign in text if sign.isprintable() or sign in "\n\t").strip()[:LONGEST_NOTE]

    def _check_answer(self, kind: str, items: tuple[str, ...], answer: Any) -> str | dict[str, Any]:
        """Return an answer as events store it: a word, or an object about groups."""
        if kind == "repair":
            stated = _read_json(answer)
            if not isinstance(stated, Mapping):
                raise ValueError(f"{answer!r} is not a repair.")
            body = read_repair(items, stated, self._find_id)
            return {name: value for name, value in body.items() if name != "items"}
        asked = Question(kind, tuple(range(len(items))))  # type: ignore[arg-type]
        given = _read_json(answer) if kind in _ABOUT_GROUPS and str(answer).startswith("{") else answer
        if not isinstance(given, Mapping):
            return str(asked.check_answer(given))
        name = next(iter(given), "")
        if (kind, name) not in _OBJECTS or len(given) != 1:
            raise ValueError(f"{answer} does not answer a {kind} question.")
        if name == "name":
            return {"name": check_name(str(given["name"]))}
        chosen = [self._find_id(item) for item in given[name]]
        if unknown := [item for item in chosen if item not in items[1:]]:
            raise ValueError(f"the answer names {unknown[0]!r}, which is not in the question.")
        asked.check_answer([items.index(item) for item in chosen])
        return {name: chosen} if chosen else "SAME"

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

    def _find_id(self, item: Any) -> str:
        """Return an id inside JSON, which is not escaped."""
        if (row := self.ids.find(item)) is None:
            raise self.ids.unknown_id(item)
        return self.ids[row]

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


def _read_json(cell: Any) -> Any:
    if isinstance(cell, str) and cell:
        try:
            return json.loads(cell)
        except ValueError as error:
            raise ValueError(f"{cell[:80]!r} is not valid JSON: {error}.") from error
    return cell


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


# ---------------------------------------------------------------------- groups and hints


def make_group_statements(groups: list[list[str]]) -> list[PastAnswer]:
    """Return few statements that define the groups: the first item of a group with each of its others."""
    together = [PastAnswer("pair", (items[0], other), "SAME") for items in groups for other in items[1:]]
    return together + _make_apart_statements([items[0] for items in groups])


def _make_apart_statements(items: Iterable[str]) -> list[PastAnswer]:
    return [PastAnswer("pair", pair, "DIFFERENT") for pair in combinations(items, 2)]


def read_hints_file(path: Path, ids: RowIds, kind: str, encoding: str) -> PastAnswers:
    """Read a file of hints as answers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        hints = read_hints(path, ids, format=kind, encoding=encoding)  # type: ignore[arg-type]
    earlier = _convert_hints(hints, ids, str(path))
    earlier.notes[:0] = [str(warning.message) for warning in caught]
    return check_limits(earlier, path)


def _convert_hints(hints: Supervision, ids: RowIds, path: str) -> PastAnswers:
    """Convert hints to answers."""
    if "bags" in hints.kinds:
        raise FileFormatError(
            f"{path} has bags, but the studio asks no questions about bags. Convert them to links with "
            "likewise.supervision.bags_to_links, and import these. Nothing was imported."
        )
    earlier = PastAnswers("hints")
    answers = earlier.answers

    def get_ids(rows: Iterable[int]) -> list[str]:
        return [ids[row] for row in rows]

    answers += [PastAnswer("pair", tuple(get_ids(pair)), "SAME") for pair in hints.must.tolist()]
    answers += [PastAnswer("pair", tuple(get_ids(pair)), "DIFFERENT") for pair in hints.cannot.tolist()]
    for group in hints.must_groups:
        first, *others = get_ids(group.tolist())
        answers += [PastAnswer("pair", (first, other), "SAME") for other in others]
    for group in hints.cannot_groups:
        answers += _make_apart_statements(get_ids(group.tolist()))
    for rows, answer in zip(hints.triplets.tolist(), hints.answer_words, strict=True):
        answers.append(PastAnswer("triplet", tuple(get_ids(rows)), str(answer)))
    groups: dict[int, list[str]] = {}
    for row, code in enumerate(hints.label_codes.tolist()):
        if code >= 0:
            groups.setdefault(code, []).append(ids[row])
    answers += make_group_statements(list(groups.values()))
    try:
        earlier.names = [(items[0], check_name(str(hints.classes[code]))) for code, items in groups.items()]
    except ValueError as error:
        raise FileFormatError(
            f"{path}: a label cannot be the name of a group: {error} Nothing was imported."
        ) from error
    links = (hints.must_weights, hints.cannot_weights, hints.triplet_weights)
    groups_of_links = (hints.must_groups.weights, hints.cannot_groups.weights)
    if any((weights != 1).any() for weights in (*links, *groups_of_links)):
        earlier.notes.append("Weights were ignored: the weight of an answer depends on who gave it.")
    return earlier


# ---------------------------------------------------------------------- interviews of `likewise ask`


def read_interview(path: Path, ids: RowIds) -> PastAnswers:
    """Read the answers of an interview that still count.

    Trays and questions about groups become the pairs that they state, and names also name the groups.
    """
    content = saved_interview.read(path).content
    rows = content.get("data", {}).get("rows") if isinstance(content.get("data"), dict) else None
    problems = Problems(str(path), ", event ", shown=MOST_SHOWN, end=NOT_IMPORTED)
    earlier = PastAnswers("interview")
    history = content.get("history")
    if not isinstance(history, list):
        raise FileFormatError(f"{path}: 'history' must be a list; got {history!r}.")
    if any("rows" in entry for entry in history if isinstance(entry, dict)):
        if rows != len(ids):
            raise FileFormatError(
                f"{path} refers to row numbers, of {rows} rows; this project has {len(ids)} items. Hold the "
                "interview with likewise ask --id COLUMN, so that it refers to ids."
            )
        earlier.notes.append("The interview refers to row numbers; they were read as rows of this project.")
    undos = {
        number: entry["of"]
        for number, entry in enumerate(history)
        if isinstance(entry, dict) and entry.get("event") == "undo" and isinstance(entry.get("of"), int)
    }
    undone = find_undone(undos)
    replies: list[tuple[int, Reply]] = []
    for number, entry in enumerate(history):
        try:
            if not isinstance(entry, dict):
                raise ValueError(f"expected an object; got {entry!r}.")
            if entry.get("event") != "answer" or number in undone:
                continue
            replies.append((number, _read_entry(entry, ids)))
        except (LikewiseError, ValueError, KeyError, TypeError, IndexError) as error:
            problems.add(number, f"{json.dumps(entry, ensure_ascii=False)[:200]} cannot be read: {error}")
    problems.settle()
    n_silent = 0
    related = collect_relations([reply for _, reply in replies])
    for (number, reply), relations in zip(replies, related, strict=True):
        if isinstance(reply.answer, Named):
            earlier.names.append((ids[reply.question.rows[0]], reply.answer.name))
        new_answers = _convert_reply(reply, relations, ids, number)
        n_silent += not new_answers and not isinstance(reply.answer, Named)
        earlier.answers += new_answers
    if n_silent:
        trays = all(reply.question.kind in ("pair", "triplet", "odd", "piles") for _, reply in replies)
        about = " about trays" if trays else ""
        earlier.notes.append(f"Left out: {format_count(n_silent, 'answer')}{about} without a link.")
    given = content.get("hints")
    if given:
        hints = saved_interview.SavedInterview(str(path), content).restore_hints(ids)
        earlier.answers += (more := _convert_hints(hints, ids, str(path))).answers
        earlier.names += more.names
    return check_limits(earlier, path)


def _read_entry(entry: Mapping[str, Any], ids: RowIds) -> Reply:
    """Return the reply of an event of an interview; names are checked."""
    named: RowIds | None = ids if "items" in entry else None
    rows = saved_interview._get_rows(entry["items" if named is not None else "rows"], named)
    who = {name: entry.get(name) for name in ("annotator", "time", "seconds")}
    if any(row >= len(ids) for row in rows if isinstance(row, int)):
        raise ValueError(f"there is no row {max(rows)}; the rows are 0 to {len(ids) - 1}.")
    reply = Reply(Question(entry["kind"], rows), saved_interview._answer_of(entry["answer"], named), **who)
    if isinstance(reply.answer, Named):
        check_name(reply.answer.name)
    return reply if reply.annotator is None else replace(reply, annotator=check_name(reply.annotator))


def _convert_reply(
    reply: Reply, relations: Iterable[tuple[int, int, bool]], ids: RowIds, number: int
) -> list[PastAnswer]:
    """Return a reply as pairs and triplets, for which the studio has pages."""
    more = {"annotator": reply.annotator, "seconds": reply.seconds, "time": reply.time, "line": number}
    question = reply.question
    if question.kind in ("pair", "triplet"):
        # A pair may have been shown in the other order; its meaning is the same.
        items = tuple(ids[row] for row in question.rows)
        return [PastAnswer(question.kind, items, str(reply.answer), **more)]  # type: ignore[arg-type]
    if not reply.piles:
        words = {True: "SAME", False: "DIFFERENT"}
        return [PastAnswer("pair", (ids[i], ids[j]), words[same], **more) for i, j, same in relations]  # type: ignore[arg-type]
    piles = [[ids[row] for row in pile] for pile in reply.piles]
    found = [PastAnswer("pair", (pile[0], other), "SAME", **more) for pile in piles for other in pile[1:]]  # type: ignore[arg-type]
    for one, other in combinations(piles, 2):
        found += [PastAnswer("pair", pair, "DIFFERENT", **more) for pair in product(one, other)]  # type: ignore[arg-type]
    return found
