"""Files of hints by sample id: read and write CSV, JSON Lines and Parquet, read Excel workbooks.

If any line of a file is invalid, an error lists the invalid lines, and nothing is read. Files are written
under a temporary name and then renamed.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from likewise._atomic_files import replace_file
from likewise.exceptions import (
    ChangedIdsWarning,
    FileFormatError,
    QuestionableHintsWarning,
    ShuffledIdsWarning,
    SupervisionError,
)
from likewise.supervision._links import parse_link
from likewise.supervision._records import (
    ALL_LABELS,
    FIELDS,
    USES,
    WEIGHTED,
    Record,
    build_hints,
    iterate_records,
    parse_weight,
)
from likewise.supervision._supervision import Supervision
from likewise.tables import (
    WRITTEN,
    Problems,
    RowIds,
    choose_format,
    decode,
    format_csv_line,
    parse_json_lines,
    read_rows,
    write_parquet,
)

__all__ = ["read_hints", "write_hints"]

Format = Literal["csv", "jsonl", "parquet", "xlsx"]
_MARK = "# likewise hints"
_METADATA = b"likewise_hints"


@dataclass(frozen=True)
class _FileHeader:
    """The first line of a file, which describes the ids and the data that it was written for."""

    n: int
    digest: str
    sorted: str
    lines: int
    content: str = ""
    types: dict[str, str] = field(default_factory=dict)

    @classmethod
    def for_ids(
        cls, ids: RowIds, content: Any, lines: int, types: dict[str, str] | None = None
    ) -> _FileHeader:
        """Describe the ids and the data that a file is written for."""
        digest = "" if content is None else ids.compute_content_digest(content)
        return cls(len(ids), ids.digest, ids.sorted_digest, lines, digest, types or {})

    @classmethod
    def from_header(cls, content: dict[str, Any], path: str) -> _FileHeader:
        """Parse and check the first line of a file."""
        try:
            types = {name: str(content[f"{name}_type"]) for name in _TYPED if f"{name}_type" in content}
            if not set(types.values()) <= set(_TYPES):
                raise ValueError
            return cls(
                n=int(content["n"]),
                digest=str(content.get("digest", "")),
                sorted=str(content.get("sorted", "")),
                lines=int(content.get("lines", 0)),
                content=str(content.get("content", "")),
                types=types,
            )
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(
                f"{path}:1: the line about the ids is invalid: {content!r}. Remove it to read the file "
                "without checking its ids."
            ) from None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are not empty, as plain values."""
        content = asdict(self)
        types = content.pop("types")
        return {k: v for k, v in content.items() if v != ""} | {f"{k}_type": v for k, v in types.items()}

    def check(self, ids: RowIds, content: Any, n_lines: int, path: str) -> None:
        """Compare with the given ids and data; raise an error or warn if they differ."""
        if n_lines < self.lines:
            raise FileFormatError(
                f"{path}: expected {self.lines} lines of hints; got {n_lines}. The file is truncated. If "
                f"lines were removed on purpose, change lines={self.lines} in its first line."
            )
        if content is not None and self.content and ids.compute_content_digest(content) != self.content:
            raise FileFormatError(
                f"{path}: the hints were written for other data: the rows have changed, or are in another "
                "order. Restore the data, or leave `content` out if you are sure."
            )
        if not self.digest or self.digest == ids.digest or (not ids.digest and self.n == len(ids)):
            return  # FewIds has no digest of all ids
        if self.sorted == ids.sorted_digest:
            warnings.warn(
                f"{path} was written for the same {self.n} ids in another order. The hints follow the ids; "
                "check that other row-aligned data do so too.",
                ShuffledIdsWarning,
                stacklevel=3,
            )
            return
        warnings.warn(
            f"{path} was written for {self.n} ids that differ from the {len(ids)} given ids. All ids in its "
            "hints are known.",
            ChangedIdsWarning,
            stacklevel=3,
        )


def read_hints(
    path: str | os.PathLike[str],
    ids: Any,
    *,
    format: Format | None = None,
    encoding: str = "utf-8",
    content: Any = None,
    missing: Any = -1,
) -> Supervision:
    """Read hints from a file that refers to rows by sample id.

    A table (CSV, Parquet, Excel) is recognised by its header: ``a,b,link[,weight]``,
    ``a,b,c,answer[,weight]``, ``id,label``, ``id,bag[,labels]``, or the general layout of
    :func:`write_hints`. Other columns are ignored, with a warning. The cells of a text are separated by
    commas, semicolons or tabs. Spaces around ids do not count. Time and memory are linear in the file.

    Parameters
    ----------
    path : path-like
        The file.
    ids : RowIds or sequence of str
        The id of each row of the data, in the order of the rows.
    format : {"csv", "jsonl", "parquet", "xlsx"}, optional
        By default the file extension determines it. Excel workbooks need openpyxl; their first sheet is read.
    encoding : str, default="utf-8"
        The encoding of a CSV or JSON Lines file. A byte order mark and Windows line ends are accepted.
    content : array-like of shape (n_samples, ...), optional
        The data. It is an error if the file was written with `content` and the data differ. This detects
        shuffled rows if the ids are row numbers.
    missing : object, default=-1
        A label that means "unknown", as in :meth:`Supervision.from_labels`. The default applies only if all
        labels are integers; use None if -1 is a class. In a file of :func:`write_hints` every label is a
        class.

    Returns
    -------
    Supervision
        Hints for ``len(ids)`` rows.

    Raises
    ------
    FileFormatError
        If anything in the file is invalid; the message gives the line, and nothing is read.

    Warns
    -----
    ShuffledIdsWarning
        If the file was written for the same ids in another order. The hints follow the ids.
    ChangedIdsWarning
        If it was written for other ids, but all ids in its hints are known.
    QuestionableHintsWarning
        If a column was ignored, a label was read as "unknown", or two labels differ only in case or spaces.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.supervision import read_hints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "links.csv")
    ...     _ = path.write_text("a,b,link\\ns1,s2,must\\ns2,007,cannot\\n")
    ...     read_hints(path, ["s1", "s2", "007"])
    Supervision(3 rows: 1 must, 1 cannot)
    """
    row_ids = RowIds.from_ids(ids)
    problems, written, records = _open(path, format, encoding)
    if written is None:
        hints = build_hints(records, row_ids, problems, missing=missing, by_hand=True)
    else:
        lines: set[int] = set()
        hints = build_hints(records, row_ids, problems, lines=lines)
        written.check(row_ids, content, len(lines), problems.path)
    for note in problems.notes:
        warnings.warn(f"{problems.path}: {note}", QuestionableHintsWarning, stacklevel=2)
    return hints


def list_ids_in_file(
    path: str | os.PathLike[str], *, format: Format | None = None, encoding: str = "utf-8"
) -> list[str]:
    """Return the distinct ids in a file of hints, for data whose ids do not all fit in memory."""
    problems, _, records = _open(path, format, encoding)
    cells = [cell for record in records for cell in (record.a, record.b, record.c)]
    problems.settle()
    names = [name for cell in cells if isinstance(cell, str) for name in (cell, cell.strip())]
    return list(dict.fromkeys(filter(None, names)))


def write_hints(
    path: str | os.PathLike[str],
    hints: Supervision,
    ids: Any,
    *,
    format: Format | None = None,
    content: Any = None,
) -> None:
    """Write hints to a file that refers to rows by sample id, with a digest of the list of ids.

    A table has the columns ``kind,a,b,c,answer,label,bag,group,weight``, of which each kind uses some; JSON
    Lines has one object per hint. Reading the file with the same ids gives the same hints. The file is
    written under a temporary name and then renamed, so a crash leaves the old file intact.

    Parameters
    ----------
    path : path-like
        The file. An existing file is replaced.
    hints : Supervision
        The hints. Labels and bags must be strings or numbers, in a table all of the same type.
    ids : RowIds or sequence of str
        The id of each row. Use ``RowIds.from_row_numbers(n)`` if there are none.
    format : {"csv", "jsonl", "parquet"}, optional
        By default the file extension determines it. Parquet needs pyarrow; ``.tsv`` is CSV with tabs.
    content : array-like of shape (n_samples, ...), optional
        The data; their digest is written too, and :func:`read_hints` compares it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.supervision import Supervision, read_hints, write_hints
    >>> hints = Supervision.from_links(3, must=[(0, 1)], cannot_groups=[[0, 1, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "hints.jsonl")
    ...     write_hints(path, hints, ["s1", "s2", "s3"])
    ...     print(path.read_text().splitlines()[1])
    ...     read_hints(path, ["s1", "s2", "s3"]) == hints
    {"kind": "must", "items": ["s1", "s2"]}
    True
    """
    row_ids = RowIds.from_ids(ids)
    kind = choose_format(path, format, WRITTEN)
    records = list(iterate_records(hints, row_ids))
    if kind == "jsonl":
        objects = list(iterate_json_objects(records))
        first = {"kind": _IDS, **_FileHeader.for_ids(row_ids, content, len(objects)).as_dict()}
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [first, *objects])
        replace_file(path, lambda part: part.write_bytes(text.encode("utf-8")))
        return
    written = _FileHeader.for_ids(row_ids, content, len(records), _find_types(records)).as_dict()
    if kind == "parquet":
        cells = [[cell or None for cell in _format_cells(record)] for record in records]
        columns = {name: [row[c] for row in cells] for c, name in enumerate(FIELDS)}
        types, metadata = dict.fromkeys(FIELDS, "string"), {_METADATA: json.dumps(written)}
        replace_file(path, lambda part: write_parquet(columns, part, types=types, metadata=metadata))
        return
    first_line = "; ".join([_MARK, *(f"{key}={value}" for key, value in written.items())])
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    rows = [FIELDS, *map(_format_cells, records)]
    lines = [first_line, *(format_csv_line(row, delimiter) for row in rows)]
    replace_file(path, lambda part: part.write_bytes("".join(line + "\n" for line in lines).encode("utf-8")))


def _open(
    path: str | os.PathLike[str], format: Format | None, encoding: str
) -> tuple[Problems, _FileHeader | None, Iterator[Record]]:
    """Read the records and the first line of a file of hints, without looking up the ids."""
    kind = choose_format(path, format)
    problems = Problems(os.fspath(path))
    data = Path(path).read_bytes()
    if not data.strip():
        raise FileFormatError(f"{problems.path} is empty; expected at least a header.")
    written = None
    if kind == "jsonl":
        objects = list(parse_json_lines(decode(data, encoding, problems.path), problems))
        if objects and objects[0][1].get("kind") == _IDS:
            written = _FileHeader.from_header(objects.pop(0)[1], problems.path)
        return problems, written, iterate_json_records(objects, problems)
    table = read_rows(data, kind, encoding, problems)
    if kind == "parquet":
        try:
            content = json.loads(table.metadata.get(_METADATA, "null"))
        except ValueError as error:
            raise FileFormatError(f"{problems.path} cannot be read as Parquet: {error}.") from error
        written = _FileHeader.from_header(content, problems.path) if content else None
    for comment in table.comments[: 1 if kind == "csv" else None]:
        if comment.startswith(_MARK):
            # A spreadsheet adds empty cells and quotes, and Windows a carriage return.
            cells = (cell.strip(' "').partition("=") for cell in comment.rstrip(",;\t\r").split(";")[1:])
            written = _FileHeader.from_header({name: value for name, _, value in cells}, problems.path)
    if written is not None and table.unfinished > 1:
        problems.add(
            table.unfinished,
            "the last line does not end; the file may be truncated. If it is not, end the line.",
        )
    if not table.header and kind != "parquet":
        problems.add(table.line, "there is no header.")
        problems.settle()
    types = written.types if written else {}
    return problems, written, _iterate_table_records(table.header, table.rows, types, problems)


# ---------------------------------------------------------------------- tables, one hint in each row

# The required and the optional columns of each layout; the first layout that matches is used.
LAYOUTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "general": (("kind",), FIELDS[1:]),
    "triplets": (("a", "b", "c", "answer"), ("weight",)),
    "links": (("a", "b", "link"), ("weight",)),
    "labels": (("id", "label"), ()),
    "bags": (("id", "bag"), ("labels",)),
}
NOTE = "note"  # a column for people; it is not read
# Columns with these names have a meaning, so a layout that does not use them refuses them.
_MEANINGFUL = frozenset({*FIELDS, "link", "labels"})
_TYPES: dict[str, Callable[[str], Hashable]] = {
    "int": int,
    "float": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
_TYPED = ("label", "bag", "bag_label")  # values with a type in the first line, if not strings


def _detect_layout(header: Sequence[str], path: str) -> tuple[str, tuple[str, ...]]:
    """Recognise a layout by the names of its columns; return it with the columns that it does not use.

    A column that has a meaning in another layout, or a name similar to a column of this one, is refused.
    """
    where = f"{path}: the columns are {', '.join(map(repr, header))}"
    if len(set(header)) < len(header):
        raise FileFormatError(f"{where}: a name occurs twice; rename one of the columns.")
    for layout, (needed, allowed) in LAYOUTS.items():
        if not set(needed) <= set(header):
            continue
        known = [*needed, *allowed, NOTE]
        unused = tuple(name for name in header if name not in known)
        for name in unused:
            near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.75)
            if name in _MEANINGFUL or near:
                meant = f" Did you mean {near[0]!r}?" if near else ""
                raise FileFormatError(
                    f"{where}; {name!r} cannot be used with {', '.join(needed)}. "
                    f"Optional columns are {', '.join([*allowed, NOTE])}; rename or remove the others.{meant}"
                )
        return layout, unused
    wanted = "; ".join(",".join(needed) for needed, _ in LAYOUTS.values())
    tip = ""
    if {"bag", "labels"} <= set(header):
        tip = "A table of bag labels belongs to a table of rows in bags: {see read_bags}."
    raise FileFormatError(
        f"{where}; expected a first row with one of these: {wanted}.", tip, terms=("see read_bags",)
    )


def _iterate_table_records(
    header: Sequence[str],
    rows: Iterable[tuple[int, Sequence[Any]]],
    types: dict[str, str],
    problems: Problems,
) -> Iterator[Record]:
    """Yield the records of a table, noting the rows that are malformed."""
    header = [str(name).strip().lower() for name in header]
    layout, unused = _detect_layout(header, problems.path)
    if unused:
        problems.notes.append(f"ignored the column(s) {', '.join(map(repr, unused))}, which no hint uses.")
    for line, row in rows:
        if len(row) != len(header):
            problems.add(line, f"{len(row)} cell(s), but the header has {len(header)}.")
            continue
        cells = dict(zip(header, row, strict=True))
        for name in (NOTE, *unused):
            cells.pop(name, None)
        try:
            if layout == "general":
                yield _parse_general(line, cells, types)
            else:
                yield from _parse_simple(layout, line, cells)
        except ValueError as error:
            problems.add(line, error)


def _require_columns(cells: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if cells.get(name, "") == "":
            raise ValueError(f"{name} is empty.")


def _parse_general(line: int, cells: dict[str, Any], types: dict[str, str]) -> Record:
    kind = str(cells["kind"]).strip().lower()
    if kind not in USES:
        raise ValueError(f"the kind is {cells['kind']!r}; expected one of {', '.join(USES)}.")
    _require_columns(cells, USES[kind])
    used = {*USES[kind], "kind", *(["weight"] if kind in WEIGHTED else [])}
    for name, cell in cells.items():
        if name not in used and cell != "":
            raise ValueError(f"{name} is {cell!r}, but a row of kind {kind} does not use {name}.")
    values = {name: cells[name] for name in USES[kind]}
    for name in ("label", "bag"):
        type_name = types.get("bag_label" if (kind, name) == ("bag_label", "label") else name, "")
        if type_name and isinstance(cell := values.get(name), str):
            try:
                values[name] = _TYPES[type_name](cell)
            except (KeyError, ValueError):
                raise ValueError(
                    f"{cell!r} is not of the type {type_name} that the first line declares."
                ) from None
    return Record(line, kind, weight=parse_weight(cells.get("weight", "")), **values)


def _parse_simple(layout: str, line: int, cells: dict[str, Any]) -> Iterator[Record]:
    """Yield the records of a row with links, triplets, labels or bags only."""
    if layout in ("links", "triplets"):
        _require_columns(cells, LAYOUTS[layout][0])
        kind = parse_link(cells["link"]) if layout == "links" else "triplet"
        values = {name: cells[name] for name in USES[kind]}
        yield Record(line, kind, weight=parse_weight(cells.get("weight", "")), **values)
        return
    _require_columns(cells, ("id",))
    if layout == "labels":
        if cells["label"] != "":  # an empty cell means that it is unknown
            yield Record(line, "label", a=cells["id"], label=cells["label"])
        return
    labels = [label for part in str(cells.get("labels", "")).split(";") if (label := part.strip())]
    if cells["bag"] == "":
        if labels:
            raise ValueError("labels are given, but bag is empty.")
        return
    yield Record(line, "bag", a=cells["id"], bag=cells["bag"])
    if labels:
        yield Record(line, ALL_LABELS, bag=cells["bag"], label=frozenset(labels))


def _find_types(records: Iterable[Record]) -> dict[str, str]:
    """Return the types of labels and bags that are not strings; mixed types are an error."""
    seen: dict[str, set[str]] = {name: set() for name in _TYPED}
    for record in records:
        if record.kind in {"label", "bag_label"}:
            seen[record.kind].add(type(record.label).__name__)
        if record.kind in {"bag", "bag_label"}:
            seen["bag"].add(type(record.bag).__name__)
    for name, types in seen.items():
        if len(types) > 1 or not types <= {"str", *_TYPES}:
            raise SupervisionError(
                f"the {name}s are of the types {', '.join(sorted(types))}, but a table can store only one "
                "type. Write JSON Lines instead (.jsonl), or convert them to strings."
            )
    return {name: types.pop() for name, types in seen.items() if types and types != {"str"}}


def _format_cells(record: Record) -> list[str]:
    """Return a record as the cells of the general layout; a weight of 1 is left empty."""
    *values, weight = record[1:]
    return [*map(str, values), "" if weight == 1 else repr(weight)]


# ---------------------------------------------------------------------- JSON Lines, one object per line

# The required and the optional keys of each kind.
_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "must": (("items",), ("weight",)),
    "cannot": (("items",), ("weight",)),
    "must_group": (("items",), ("weight",)),
    "cannot_group": (("items",), ("weight",)),
    "triplet": (("items", "answer"), ("weight",)),
    "label": (("item", "label"), ()),
    "bag": (("bag", "items"), ("labels",)),
}
_IDS = "ids"  # kind of the optional first line, which describes the ids that the hints were written for
_LENGTHS = {"must": 2, "cannot": 2, "triplet": 3}


def iterate_json_records(
    objects: Iterable[tuple[int, dict[str, Any]]], problems: Problems
) -> Iterator[Record]:
    """Yield the records of the objects, and collect the problems of malformed ones."""
    for line, value in objects:
        try:
            yield from _parse_object(line, value)
        except ValueError as error:
            problems.add(line, error)


def _parse_object(line: int, value: dict[str, Any]) -> list[Record]:
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        where = f", and {_IDS} in the first line only" if kind == _IDS else ""
        raise ValueError(f"the kind is {kind!r}; expected one of {', '.join(_KEYS)}{where}.")
    needed, allowed = _KEYS[kind]
    if missing := [key for key in needed if key not in value]:
        raise ValueError(f"an object of kind {kind} needs {missing[0]!r}.")
    if unknown := sorted(set(value) - {"kind", "note", *needed, *allowed}):
        raise ValueError(
            f"unknown key {unknown[0]!r} for kind {kind}; expected {', '.join([*needed, *allowed])}."
        )
    if kind == "label":
        return [Record(line, kind, a=value["item"], label=_check_scalar(value["label"], "label"))]
    items = value["items"]
    if not isinstance(items, list) or len(items) != _LENGTHS.get(kind, len(items)) or not items:
        wanted = f"{_LENGTHS[kind]} ids" if kind in _LENGTHS else "ids"
        raise ValueError(f"items must be a list of {wanted}, got {items!r}.")
    if kind == "bag":
        bag = _check_scalar(value["bag"], "bag")
        records = [Record(line, kind, a=item, bag=bag) for item in items]
        if value.get("labels") is not None:
            if not isinstance(value["labels"], list) or not value["labels"]:
                raise ValueError(
                    f"labels must be a list of labels, got {value['labels']!r}; or leave it out."
                )
            labels = frozenset(_check_scalar(label, "label") for label in value["labels"])
            records.append(Record(line, ALL_LABELS, bag=bag, label=labels))
        return records
    weight = parse_weight(value.get("weight"))
    if kind.endswith("_group"):
        if len(items) < 2:
            raise ValueError(f"a group needs at least two ids, got {items!r}.")
        return [Record(line, kind, a=item, group=f"of line {line}", weight=weight) for item in items]
    named = dict(zip("abc", items, strict=False))
    return [Record(line, kind, **named, answer=value.get("answer", ""), weight=weight)]


def _check_scalar(value: Any, what: str) -> Any:
    if isinstance(value, str | int | float) and value != "" and value not in (math.inf, -math.inf):
        return value
    raise ValueError(f"the {what} is {value!r}; expected text that is not empty, or a finite number.")


def iterate_json_objects(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield one JSON object for each hint, group, label or bag in the records."""
    bags: dict[Any, dict[str, Any]] = {}

    def get_object(record: Record) -> tuple[str, Any]:
        if record.kind.endswith("_group"):
            return record.kind, record.group
        return record.kind, record.line if record.kind not in {"bag", "bag_label"} else 0

    for (kind, _), run in groupby(records, key=get_object):
        group = list(run)
        if kind in {"bag", "bag_label"}:
            for record in group:
                entry = bags.setdefault(record.bag, {"kind": "bag", "bag": record.bag, "items": []})
                if kind == "bag":
                    entry["items"].append(record.a)
                else:
                    entry.setdefault("labels", []).append(record.label)
            continue
        first = group[0]
        if kind == "label":
            yield {"kind": kind, "item": first.a, "label": first.label}
            continue
        items = [r.a for r in group] if kind.endswith("_group") else [first.a, first.b, first.c]
        out: dict[str, Any] = {"kind": kind, "items": [item for item in items if item]}
        if kind == "triplet":
            out["answer"] = first.answer
        if kind in WEIGHTED and first.weight != 1:
            out["weight"] = first.weight
        yield out
    yield from bags.values()
