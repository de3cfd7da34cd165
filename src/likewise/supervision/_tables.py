"""Tables of hints, as CSV and Parquet have them: a header, and one statement a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from likewise.exceptions import FileFormatError, SupervisionError
from likewise.supervision._records import ALL_LABELS, FIELDS, USES, WEIGHTED, Problems, Record, weight_of

LINK_WORDS = {
    **dict.fromkeys(("must", "must-link", "must_link", "ml", "same", "1", "+1"), "must"),
    **dict.fromkeys(("cannot", "cannot-link", "cannot_link", "cl", "different", "-1"), "cannot"),
}
# What a header must hold, and what it may hold besides; the first that fits is meant.
LAYOUTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "general": (("kind",), FIELDS[1:]),
    "triplets": (("a", "b", "c", "answer"), ("weight",)),
    "links": (("a", "b", "link"), ("weight",)),
    "labels": (("id", "label"), ()),
    "bags": (("id", "bag"), ("labels",)),
}
NOTE = "note"  # a column for people; it is not read
TYPES: dict[str, Callable[[str], Hashable]] = {
    "int": int,
    "float": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
TYPED = ("label", "bag", "bag_label")  # what a table may hold as other than text, said in its first line


def layout_of(header: Sequence[str], path: str) -> str:
    """Recognise a layout by the names of its columns, or say which there are."""
    where = f"{path}: the columns are {', '.join(map(repr, header))}"
    if len(set(header)) < len(header):
        raise FileFormatError(f"{where}: a name occurs twice.")
    for layout, (needed, allowed) in LAYOUTS.items():
        if not set(needed) <= set(header):
            continue
        if unknown := sorted(set(header) - {*needed, *allowed, NOTE}):
            raise FileFormatError(
                f"{where}; {unknown[0]!r} is not known beside {', '.join(needed)}. "
                f"Known are {', '.join([*allowed, NOTE])}; rename or remove the others."
            )
        return layout
    known = "; ".join(",".join(needed) for needed, _ in LAYOUTS.values())
    sep = next((sep for sep in (";", "\t") if len(header) == 1 and sep in header[0]), None)
    tip = f" The cells seem to be separated by {sep!r}; wanted commas." if sep else ""
    if {"bag", "labels"} <= set(header):
        tip = " A table of what bags hold belongs to a table of rows in bags: see read_bags."
    raise FileFormatError(f"{where}; wanted a first row with one of these: {known}.{tip}")


def table_records(
    header: Sequence[str],
    rows: Iterable[tuple[int, Sequence[Any]]],
    types: dict[str, str],
    problems: Problems,
) -> Iterator[Record]:
    """Yield the records of a table, noting the rows that are malformed."""
    header = [str(name).strip().lower() for name in header]
    layout = layout_of(header, problems.path)
    for line, row in rows:
        if len(row) != len(header):
            problems.add(line, f"{len(row)} cell(s) where the header has {len(header)}.")
            continue
        cells = dict(zip(header, row, strict=True))
        cells.pop(NOTE, None)
        try:
            yield from _simple(layout, line, cells) if layout != "general" else _general(line, cells, types)
        except ValueError as error:
            problems.add(line, str(error))


def _needed(cells: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if cells.get(name, "") == "":
            raise ValueError(f"{name} is empty.")


def _general(line: int, cells: dict[str, Any], types: dict[str, str]) -> Iterator[Record]:
    kind = str(cells["kind"]).strip().lower()
    if kind not in USES:
        raise ValueError(f"the kind is {cells['kind']!r}; wanted one of {', '.join(USES)}.")
    _needed(cells, USES[kind])
    used = {*USES[kind], "kind", *(["weight"] if kind in WEIGHTED else [])}
    for name, cell in cells.items():
        if name not in used and cell != "":
            raise ValueError(f"{name} is {cell!r}, but a row of kind {kind} does not use {name}.")
    values = {name: cells[name] for name in USES[kind]}
    for name in ("label", "bag"):
        if name in values:
            values[name] = _typed(values[name], types.get("bag_label" if kind == "bag_label" else name, ""))
    if kind == "bag_label":
        values["bag"] = _typed(cells["bag"], types.get("bag", ""))
    yield Record(line, kind, weight=weight_of(cells.get("weight", "")), **values)


def _typed(cell: Any, type_name: str) -> Any:
    if not type_name or not isinstance(cell, str):
        return cell
    try:
        return TYPES[type_name](cell)
    except (KeyError, ValueError):
        raise ValueError(f"{cell!r} is not of the type {type_name} that the first line announces.") from None


def _simple(layout: str, line: int, cells: dict[str, Any]) -> Iterator[Record]:
    if layout == "links":
        _needed(cells, ("a", "b", "link"))
        kind = LINK_WORDS.get(str(cells["link"]).strip().lower())
        if kind is None:
            raise ValueError(f"the link is {cells['link']!r}; wanted must or cannot.")
        yield Record(line, kind, a=cells["a"], b=cells["b"], weight=weight_of(cells.get("weight", "")))
    elif layout == "triplets":
        _needed(cells, ("a", "b", "c", "answer"))
        weight = weight_of(cells.get("weight", ""))
        a, b, c, answer = (cells[name] for name in USES["triplet"])
        yield Record(line, "triplet", a=a, b=b, c=c, answer=answer, weight=weight)
    else:
        yield from _of_one_id(layout, line, cells)


def _of_one_id(layout: str, line: int, cells: dict[str, Any]) -> Iterator[Record]:
    """Yield the label or the bag of one id; an empty cell says that it is not known."""
    _needed(cells, ("id",))
    if layout == "labels":
        if cells["label"] != "":
            yield Record(line, "label", a=cells["id"], label=cells["label"])
        return
    said = [label for part in str(cells.get("labels", "")).split(";") if (label := part.strip())]
    if cells["bag"] == "":
        if said:
            raise ValueError("labels are given, but bag is empty.")
        return
    yield Record(line, "bag", a=cells["id"], bag=cells["bag"])
    if said:
        yield Record(line, ALL_LABELS, bag=cells["bag"], label=frozenset(said))


# ---------------------------------------------------------------------- CSV


def csv_rows(text: str, first_line: int, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV text with the line on which each begins; blank lines are passed over."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = first_line + reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cut = "a quote is opened and never closed; the file may be cut short"
            problems.add(line, f"{cut if 'unexpected end' in str(error) else error}.")
            return
        if row:
            yield line, row


def table_types(records: Iterable[Record]) -> dict[str, str]:
    """Return the types of labels and bags that are not text; a mixture cannot be told apart later."""
    seen: dict[str, set[str]] = {name: set() for name in TYPED}
    for record in records:
        if record.kind in {"label", "bag_label"}:
            seen[record.kind].add(type(record.label).__name__)
        if record.kind in {"bag", "bag_label"}:
            seen["bag"].add(type(record.bag).__name__)
    for name, types in seen.items():
        if len(types) > 1 or not types <= {"str", *TYPES}:
            raise SupervisionError(
                f"the {name}s are of the types {', '.join(sorted(types))}, which a table cannot tell apart. "
                "Write JSON Lines instead (.jsonl), or turn them into text."
            )
    return {name: types.pop() for name, types in seen.items() if types and types != {"str"}}


def table_cells(record: Record) -> list[str]:
    """Return a record as the cells of the general layout; a weight of 1 is left empty."""
    *values, weight = record[1:]
    return [*map(str, values), "" if weight == 1 else repr(weight)]


def csv_line(cells: Iterable[str]) -> str:
    """Return one line of CSV, quoting what must be (the csv module leaves a lone carriage return bare)."""
    return ",".join(
        '"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in '",\r\n') else cell
        for cell in cells
    )
