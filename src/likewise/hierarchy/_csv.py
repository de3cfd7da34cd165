"""Hierarchies as CSV tables of edges: one line for each parent of each label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from likewise.exceptions import FileFormatError
from likewise.hierarchy._edges import cycle_of, cycle_text, find_labels
from likewise.hierarchy._hierarchy import COLUMNS, LabelHierarchy, get_known_columns
from likewise.supervision._hint_tables import NOTE
from likewise.tables import Problems, format_csv_line, parse_number, read_csv_rows

ROOT = "root"
_NEEDED = ("parent", "child")


def compose(hierarchy: LabelHierarchy) -> str:
    """Return the table: labels in column order; children of the root have the parent "root".

    If a label is named "root", children of the root have an empty parent instead.
    """
    root = "" if ROOT in hierarchy.names else ROOT
    columns = get_known_columns(hierarchy)
    lines = [format_csv_line([*_NEEDED, *columns])]
    for k, name in enumerate(hierarchy.names):
        numbers = ["" if (x := values[k]) != x else repr(x) for values in columns.values()]
        above = [hierarchy.names[p] for p in hierarchy.parent_lists[k]]
        lines += [format_csv_line([parent, name, *numbers]) for parent in above or [root]]
    return "".join(line + "\n" for line in lines)


def parse(text: str, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a table of edges."""
    problems = Problems(path)
    lines = read_csv_rows(text, problems)
    header = [cell.strip().lower() for cell in lines.header]
    _check_header(header, f"{path}:{len(lines.comments) + 1}")
    table = _EdgeTable(header, problems)
    for line, row in lines.rows:
        table.add(line, row)
    problems.settle()
    if not table.lines:
        raise FileFormatError(
            f"{path}: there are no lines below the header; a hierarchy needs at least one label."
        )
    return table.parts(root)


def _check_header(header: list[str], where: str) -> None:
    description = f"{where}: the columns are {', '.join(map(repr, header))}"
    if missing := [name for name in _NEEDED if name not in header]:
        raise FileFormatError(
            f"{description}; missing: {' and '.join(missing)}. Begin the file with the line parent,child."
        )
    known = (*_NEEDED, *COLUMNS, NOTE)
    if unknown := [name for name in header if name not in known]:
        raise FileFormatError(
            f"{description}; expected only {', '.join(known)}, got {unknown[0]!r}. Rename or remove the "
            "others."
        )
    if len(set(header)) < len(header):
        raise FileFormatError(f"{description}; column names must be unique.")


class _EdgeTable:
    """The lines of a table of edges, and the problems found in them."""

    def __init__(self, header: list[str], problems: Problems) -> None:
        self.header, self.problems = header, problems
        self.lines: dict[tuple[str, str], int] = {}
        self.numbers_of_label: dict[str, dict[str, float]] = {name: {} for name in COLUMNS if name in header}

    def add(self, line: int, row: Sequence[str]) -> None:
        """Add a line, or record what is wrong with it."""
        if len(row) != len(self.header):
            self.problems.add(line, f"{len(row)} cell(s), but the header has {len(self.header)}.")
            return
        cells = dict(zip(self.header, row, strict=True))
        parent, child = cells["parent"], cells["child"]
        if not child:
            self.problems.add(line, "the child is empty. Only the parent may be empty, which means the root.")
        elif parent == child:
            self.problems.add(line, f"label {child!r} is its own parent. Remove this line.")
        else:
            self.lines.setdefault((parent, child), line)
            for name, values in self.numbers_of_label.items():
                self._number(line, child, name, cells[name], values)

    def _number(self, line: int, child: str, name: str, cell: str, values: dict[str, float]) -> None:
        value = parse_number(cell) if cell.strip() else float("nan")
        if value is None:
            self.problems.add(
                line, f"the {name} is {cell!r}; expected a number such as 0.5, or an empty cell."
            )
            return
        before = values.setdefault(child, value)
        if before != value and not (before != before and value != value):
            description = f"label {child!r} has the {name} {value:g} here and {before:g} above"
            self.problems.add(line, f"{description}. All lines of a label must agree.")

    def parts(self, root: str) -> dict[str, Any]:
        """Return the names, edges and columns after all lines were read."""
        is_label = any(child == root for _, child in self.lines)
        top = {""} if is_label else {"", root}
        edges = [edge for edge in self.lines if edge[0] not in top]
        below = {child for _, child in edges}
        for (parent, child), line in self.lines.items():
            if parent in top and child in below:
                self.problems.add(
                    line, f"label {child!r} is a child of the root here and has a parent elsewhere."
                )
        names = find_labels([(None if p in top else p, c) for p, c in self.lines], None)
        self._check_circle(names, edges)
        self.problems.settle()
        parts: dict[str, Any] = {"names": names, "edges": edges}
        for name, values in self.numbers_of_label.items():
            parts[COLUMNS[name]] = [values.get(label, float("nan")) for label in names]
        return parts

    def _check_circle(self, names: tuple[str, ...], edges: Iterable[tuple[str, str]]) -> None:
        """Report a cycle with its line number, which is known only here."""
        cycle = cycle_of(names, edges)
        if cycle:
            line = max(self.lines[edge] for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
            self.problems.add(line, f"{cycle_text(cycle)} Remove one of these edges.")
