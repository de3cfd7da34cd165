"""Export the labels, hints and answers of a project as CSV, JSON Lines or Parquet.

In CSV files, text cells that a spreadsheet would read as a formula get a leading apostrophe; see
:func:`escape_formula`. JSON Lines, Parquet and files of hints contain every text unchanged.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from likewise._words import format_count
from likewise.active import build_supervision
from likewise.exceptions import LikewiseError
from likewise.studio._repairs import STATED
from likewise.studio._stored_events import StoredEventLog
from likewise.studio.records import Person, Picture, StoredEvent
from likewise.supervision import RowIds, Supervision, write_hints
from likewise.tables import format_csv_line, format_json_lines, write_parquet

if TYPE_CHECKING:
    from likewise.studio.store import Store, Transaction

What = Literal["labels", "hints", "answers"]
Format = Literal["csv", "jsonl", "parquet"]
MEDIA_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


# ---------------------------------------------------------------------- escaping formulas

# Spreadsheets skip blanks and invisible characters, and read the full-width signs of East Asian keyboards
# like the ASCII ones. For some, a leading tab or line break is enough.
_UNSEEN = r"[\s\x00-\x1f\x7f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*"
_QUOTED = re.compile('[",\\r\\n]')
_FORMULA = re.compile(rf"'*{_UNSEEN}[=+\-@＝＋－＠\t\r\n]")


def escape_formula(text: str) -> str:
    """Add an apostrophe to a text that a spreadsheet would read as a formula.

    A text with apostrophes before the sign gets one more, so :func:`unescape_formula` can undo it.

    >>> escape_formula("=1+1"), escape_formula("wren"), escape_formula("'=1+1")
    ("'=1+1", 'wren', "''=1+1")
    """
    if text[:1].isalnum():  # almost always
        return text
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(cell: str) -> str:
    """Return the text from which :func:`escape_formula` made a cell.

    >>> unescape_formula("'=1+1"), unescape_formula("wren"), unescape_formula("'tis")
    ('=1+1', 'wren', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


# ---------------------------------------------------------------------- state of a project


@dataclass(frozen=True)
class Snapshot:
    """All people and events of a project at one moment."""

    people: Mapping[int, Person]
    events: tuple[StoredEvent, ...]

    @classmethod
    def from_store(cls, store: Store) -> Snapshot:
        """Read everything in one transaction."""

        def work(tx: Transaction) -> Snapshot:
            return cls({person.id: person for person in tx.get_people()}, tuple(tx.get_events()))

        return store.read(work)

    @cached_property
    def log(self) -> StoredEventLog:
        """The events, and which of them count."""
        return StoredEventLog.from_events(self.events)

    @property
    def undone(self) -> frozenset[int]:
        """The seqs of the events that were undone by an undo that still counts."""
        return self.log.undone

    @cached_property
    def answers(self) -> tuple[StoredEvent, ...]:
        """The answers that count: not undone, not for practice, and each person's last to a question."""
        return tuple(self.log.get_counted("answer"))

    def get_name(self, person: int) -> str:
        """Return the name of a person."""
        known = self.people.get(person)
        return known.name if known is not None else f"person {person}"

    def get_group_names(self) -> list[tuple[str, str]]:
        """Return the names given to groups, as (item id, name), the latest last."""
        return self.log.get_group_names()


def find_group_names(
    picture: Picture, ids: Sequence[str], names: Iterable[tuple[str, str]]
) -> dict[int, str]:
    """Return the name of each named group: the latest name given to an item of the group."""
    wanted = list(names)
    items = {item for item, _ in wanted}
    row_of = {id: row for row, id in enumerate(ids) if id in items} if items else {}
    found = {int(picture.labels[row_of[item]]): name for item, name in wanted if item in row_of}
    return {group: name for group, name in found.items() if name}


def build_hints(snapshot: Snapshot, ids: Iterable[str]) -> Supervision:
    """Return the hints from which the studio groups the items.

    If a person answered the same question twice, the last answer counts. If people disagree, their estimated
    reliability decides; if that is not conclusive, the question is left out.
    """
    from likewise.studio.jobs._ledger import Ledger, settle

    row_ids = RowIds.from_ids(ids)
    ledger = Ledger(row_ids.row_of)
    ledger.tell(snapshot.events)
    return build_supervision(settle(ledger.get_counted_replies().voices).replies, len(row_ids))


# ---------------------------------------------------------------------- tables


@dataclass(frozen=True)
class ExportTable:
    """Columns of equal length with their types, as Arrow names them."""

    columns: Mapping[str, Sequence[Any]]
    types: Mapping[str, Literal["string", "int64", "float64", "bool"]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def make_answers_table(snapshot: Snapshot) -> ExportTable:
    """Return all answers with annotator, time and duration; `undone` marks those that were undone.

    Repairs of the groups are answers of the kind "repair". Items after the third, and answers that are more
    than a word, are written as JSON.
    """
    answers = [event for event in snapshot.events if event.kind in ("answer", "repair")]
    items = [[*event.body["items"], None, None, None][:3] for event in answers]
    others = [event.body["items"][3:] for event in answers]
    given = [_get_answer(event) for event in answers]
    columns: dict[str, list[Any]] = {
        "seq": [event.seq for event in answers],
        "time": [event.body.get("said_at") or event.time for event in answers],
        "annotator": [snapshot.get_name(event.person) for event in answers],
        "kind": ["repair" if event.kind == "repair" else event.body["kind"] for event in answers],
        **{letter: [some[at] for some in items] for at, letter in enumerate("abc")},
        "others": [_format_json(some) if some else None for some in others],
        "answer": [answer if isinstance(answer, str) else _format_json(answer) for answer in given],
        "seconds": [event.seconds for event in answers],
        "source": [event.body.get("source") for event in answers],
        "undone": [event.seq in snapshot.undone for event in answers],
        "note": [event.body.get("note") for event in answers],
    }
    types: dict[str, Any] = dict.fromkeys(columns, "string")
    return ExportTable(columns, types | {"seq": "int64", "seconds": "float64", "undone": "bool"})


def _get_answer(event: StoredEvent) -> Any:
    """Return an answer; of a repair, what it states about its items."""
    if event.kind == "answer":
        return event.body["answer"]
    return {name: event.body[name] for name in STATED if name in event.body}


def _format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def make_labels_table(picture: Picture, ids: Sequence[str], names: Mapping[int, str]) -> ExportTable:
    """Return the group, the group's name (if any) and the doubt, from 0 to 1, of each item.

    Items on the shelf have no group.
    """
    groups = picture.shown_labels.tolist()
    columns: dict[str, list[Any]] = {
        "id": list(ids),
        "group": [None if group < 0 else group + 1 for group in groups],  # numbered from 1, as on the page
        "name": [names.get(group) for group in groups],
        "doubt": [round(float(doubt), 4) for doubt in picture.doubt],
    }
    return ExportTable(columns, {"id": "string", "group": "int64", "name": "string", "doubt": "float64"})


# ---------------------------------------------------------------------- bytes


def format_table(table: ExportTable, format: Format, *, raw: bool = False) -> bytes:
    """Return a table as the bytes of a file; with `raw`, formulas in CSV cells are not escaped."""
    if format == "parquet":
        file = io.BytesIO()
        write_parquet(table.columns, file, types=table.types)
        return file.getvalue()
    if format == "jsonl":
        return format_json_lines(table.columns).encode()
    if format == "csv":
        cells = [_format_cells(column, table.types[name], raw) for name, column in table.columns.items()]
        lines = [format_csv_line(table.columns), *map(",".join, zip(*cells, strict=True))]
        return "".join(line + "\n" for line in lines).encode()
    raise ValueError(f"format must be one of {get_args(Format)}, got {format!r}.")


def _format_cells(column: Sequence[Any], kind: str, raw: bool) -> list[str]:
    """Return a column as the cells of a CSV file."""
    if kind == "bool":
        return ["true" if value else "false" for value in column]
    if kind != "string":
        return ["" if value is None else str(value) for value in column]
    cells = (value if raw or not value else escape_formula(value) for value in column)
    return [format_csv_line([cell]) if cell and _QUOTED.search(cell) else cell or "" for cell in cells]


def format_hints(hints: Supervision, ids: Iterable[str], format: Format, *, raw: bool = False) -> bytes:
    """Return hints as the bytes of a file that :func:`likewise.supervision.read_hints` reads.

    Ids cannot be escaped, because they must equal those of the data. A CSV file with an id that looks like a
    formula is therefore refused, unless `raw` is true.
    """
    row_ids = RowIds.from_ids(ids)
    if format == "csv" and not raw:
        rows = set(np.concatenate([part.ravel() for part in (hints.must, hints.cannot, hints.triplets)]))
        rows |= {row for groups in (hints.must_groups, hints.cannot_groups) for g in groups for row in g}
        suspicious = [id for row in sorted(rows) if _FORMULA.match(id := row_ids[int(row)])]
        if suspicious:
            raise LikewiseError(
                f"a spreadsheet would read {format_count(len(suspicious), 'id')} as a formula, "
                f"{suspicious[0]!r} first, and a file of hints must contain ids unchanged. Export JSON Lines "
                "or Parquet, or pass raw if no spreadsheet will open the file."
            )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "hints")
        write_hints(path, hints, row_ids, format=format)
        return path.read_bytes()


def export_bytes(
    what: What,
    snapshot: Snapshot,
    ids: Sequence[str],
    picture: Picture | None = None,
    *,
    format: Format = "csv",
    raw: bool = False,
) -> bytes:
    """Return labels, hints or answers as the bytes of a file.

    Parameters
    ----------
    what : {"labels", "hints", "answers"}
        What to export.
    snapshot : Snapshot
        The people and events of the project.
    ids : sequence of str
        The id of each row.
    picture : Picture, optional
        The grouping; required for labels.
    format : {"csv", "jsonl", "parquet"}, default="csv"
        The file format. Parquet needs pyarrow.
    raw : bool, default=False
        Leave CSV cells that look like formulas unescaped.
    """
    if what == "answers":
        return format_table(make_answers_table(snapshot), format, raw=raw)
    if what == "hints":
        return format_hints(build_hints(snapshot, ids), ids, format, raw=raw)
    if what != "labels":
        raise ValueError(f"what must be one of {get_args(What)}, got {what!r}.")
    if picture is None:
        raise LikewiseError("there are no groups yet; they appear shortly after the studio has started.")
    names = find_group_names(picture, ids, snapshot.get_group_names())
    return format_table(make_labels_table(picture, ids, names), format, raw=raw)
