"""Counts and lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def format_count(n: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    >>> format_count(1, "answer"), format_count(2000, "row")
    ('1 answer', '2,000 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def format_some(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, separated by commas, and the number of the others.

    >>> format_some(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def truncate(text: str, width: int) -> str:
    """Return at most `width` characters of a text, the last of them … if some are missing."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
