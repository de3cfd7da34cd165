"""Columns of tables: their names, and their cells as numbers."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any


def describe_unknown_column(name: str, names: Sequence[str], path: str) -> str:
    """Return the message for a column that a file does not have, with the closest name if there is one."""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"{path} has no column {name!r}; did you mean {close[0]!r}?"
    shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    return f"{path} has no column {name!r}; it has {shown}."


def parse_number(cell: Any) -> float | None:
    """Return a cell as a number, which may be infinite or NaN; None if it is none.

    >>> parse_number("1e3"), parse_number(" nan "), parse_number("red"), parse_number(None)
    (1000.0, nan, None, None)
    """
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return None


def is_plain_number(cell: Any) -> bool:
    """Return True if a cell is a number; 1_000, which Python accepts, counts as text."""
    return not (isinstance(cell, str) and "_" in cell) and parse_number(cell) is not None
