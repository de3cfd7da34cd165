"""Tables of hints, as in CSV, Parquet and Excel files: a header, and one hint in each row."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from likewise.exceptions import FileFormatError, SupervisionError
from likewise.supervision._links import parse_link
from likewise.supervision._records import ALL_LABELS, FIELDS, USES, WEIGHTED, Record, parse_weight
from likewise.tables import Problems

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
TYPES: dict[str, Callable[[str], Hashable]] = {
    "int": int,
    "float": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
TYPED = ("label", "bag", "bag_label")  # values with a type in the first line, if not strings


def detect_layout(header: Sequence[str], path: str) -> tuple[str, tuple[str, ...]]:
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


def table_records(
    header: Sequence[str],
    rows: Iterable[tuple[int, Sequence[Any]]],
    types: dict[str, str],
    problems: Problems,
) -> Iterator[Record]:
    """Yield the records of a table, noting the rows that are malformed."""
    header = [str(name).strip().lower() for name in header]
    layout, unused = detect_layout(header, problems.path)
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
            yield from (
                _parse_simple(layout, line, cells)
                if layout != "general"
                else _parse_general(line, cells, types)
            )
        except ValueError as error:
            problems.add(line, error)


def _require_columns(cells: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if cells.get(name, "") == "":
            raise ValueError(f"{name} is empty.")


def _parse_general(line: int, cells: dict[str, Any], types: dict[str, str]) -> Iterator[Record]:
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
        if name in values:
            values[name] = _parse_typed(
                values[name], types.get("bag_label" if kind == "bag_label" else name, "")
            )
    if kind == "bag_label":
        values["bag"] = _parse_typed(cells["bag"], types.get("bag", ""))
    yield Record(line, kind, weight=parse_weight(cells.get("weight", "")), **values)


def _parse_typed(cell: Any, type_name: str) -> Any:
    if not type_name or not isinstance(cell, str):
        return cell
    try:
        return TYPES[type_name](cell)
    except (KeyError, ValueError):
        raise ValueError(f"{cell!r} is not of the type {type_name} that the first line declares.") from None


def _parse_simple(layout: str, line: int, cells: dict[str, Any]) -> Iterator[Record]:
    if layout == "links":
        _require_columns(cells, ("a", "b", "link"))
        yield Record(
            line,
            parse_link(cells["link"]),
            a=cells["a"],
            b=cells["b"],
            weight=parse_weight(cells.get("weight", "")),
        )
    elif layout == "triplets":
        _require_columns(cells, ("a", "b", "c", "answer"))
        weight = parse_weight(cells.get("weight", ""))
        a, b, c, answer = (cells[name] for name in USES["triplet"])
        yield Record(line, "triplet", a=a, b=b, c=c, answer=answer, weight=weight)
    else:
        yield from _read_single_id(layout, line, cells)


def _read_single_id(layout: str, line: int, cells: dict[str, Any]) -> Iterator[Record]:
    """Yield the label or the bag of one id; an empty cell means that it is unknown."""
    _require_columns(cells, ("id",))
    if layout == "labels":
        if cells["label"] != "":
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


def table_types(records: Iterable[Record]) -> dict[str, str]:
    """Return the types of labels and bags that are not strings; mixed types are an error."""
    seen: dict[str, set[str]] = {name: set() for name in TYPED}
    for record in records:
        if record.kind in {"label", "bag_label"}:
            seen[record.kind].add(type(record.label).__name__)
        if record.kind in {"bag", "bag_label"}:
            seen["bag"].add(type(record.bag).__name__)
    for name, types in seen.items():
        if len(types) > 1 or not types <= {"str", *TYPES}:
            raise SupervisionError(
                f"the {name}s are of the types {', '.join(sorted(types))}, but a table can store only one "
                "type. Write JSON Lines instead (.jsonl), or convert them to strings."
            )
    return {name: types.pop() for name, types in seen.items() if types and types != {"str"}}


def table_cells(record: Record) -> list[str]:
    """Return a record as the cells of the general layout; a weight of 1 is left empty."""
    *values, weight = record[1:]
    return [*map(str, values), "" if weight == 1 else repr(weight)]
