"""What a person is shown of a row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import click

from likewise.cli._raw import Column, Raw
from likewise.cli._tables import Columns, is_wordy, unknown_column

_SHORT = 60  # so much stands on one line
_LONGEST = 160  # of a row, where nobody said what to show of it


def check_shown(raw: Raw, names: tuple[str, ...] | None) -> None:
    """Refuse columns that are not there."""
    for name in names or ():
        if name not in raw.names:
            raise click.BadParameter(unknown_column(name, raw), param_hint="'--show'")


def without_words(columns: Columns, raw: Raw, shown: tuple[str, ...] | None) -> Columns:
    """Leave out of the features what is shown and is no number; it is there to be read."""
    if columns.features is not None:
        return columns
    others = {columns.id, *columns.drop}
    texts = [name for name in shown or () if name not in others and is_wordy(raw, name)]
    return replace(columns, drop=(*columns.drop, *texts))


def shown_rows(raw: Raw, id_column: str | None, names: tuple[str, ...] | None) -> Callable[[int], str]:
    """Return a function that words a row: its id and the columns named, or all of them cut short.

    >>> raw = Raw("birds.csv", ("name", "song"), (["wren", "owl"], ["loud", "low"]), None)
    >>> shown_rows(raw, None, ("song",))(1), shown_rows(raw, "name", None)(1), shown_rows(raw, None, None)(1)
    ('low', 'owl: song low', 'name owl, song low')
    """
    listed = names or tuple(name for name in raw.names if name != id_column)
    wanted = [(name, raw.columns[raw.names.index(name)]) for name in listed]
    ids = None
    if id_column is not None and id_column not in listed:
        ids = raw.columns[raw.names.index(id_column)]

    def show(row: int) -> str:
        cells = [(name, _cell(column, row)) for name, column in wanted]
        text = ", ".join(f"{name} {cell}" for name, cell in cells)
        if names is None:
            text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        elif len(cells) == 1:
            text = cells[0][1]
        elif len(text) > _SHORT:
            text = "\n".join(f"{name}: {cell}" for name, cell in cells)
        return text if ids is None else f"{_cell(ids, row)}: {text}"

    return show


def _cell(column: Column, row: int) -> str:
    cell = column[row]
    return f"{cell:.6g}" if isinstance(cell, float) else "" if cell is None else str(cell)
