"""HTML tables that display results in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

_SHOWN = 5  # number of entries of a long list that are shown
# Colours are inherited, so that tables are readable in light and dark themes.
_LINE = "1px solid rgba(128, 128, 128, 0.4)"
_CELL = f"padding: 0.2em 0.8em 0.2em 0; border-bottom: {_LINE}; color: inherit; vertical-align: top"
_NOTE = "margin: 0.3em 0 0; color: inherit; opacity: 0.8"


def render_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = ()
) -> str:
    """Return a table as HTML, with every text escaped.

    Parameters
    ----------
    title : str
        The title of the table.
    head : sequence of str
        The names of the columns; none are shown if it is empty.
    rows : iterable of sequences
        The cells. Numbers are right-aligned and floats have three decimals; None is an empty cell.
    notes : iterable of str
        Sentences below the table.

    Returns
    -------
    str
        One ``div`` element, without a style sheet, so that untrusted notebooks show it too.

    Examples
    --------
    >>> text = render_table("1 < 2", ["name", "score"], [["a & b", 0.25]])
    >>> "1 &lt; 2" in text, "a &amp; b" in text, ">0.250</td>" in text
    (True, True, True)
    """
    parts = [f'<div><p style="margin: 0 0 0.3em; color: inherit"><b>{html.escape(title)}</b></p>']
    lines = [[_format_cell(cell) for cell in row] for row in rows]
    if lines:
        sides = [
            "right" if all(is_number for _, is_number in column) else "left"
            for column in zip(*lines, strict=True)
        ]
        body = "".join(_render_row("td", [text for text, _ in line], sides) for line in lines)
        names = f"<thead>{_render_row('th', head, sides)}</thead>" if head else ""
        style = "border-collapse: collapse; color: inherit; margin: 0"
        parts.append(f'<table style="{style}">{names}<tbody>{body}</tbody></table>')
    parts += [f'<p style="{_NOTE}">{html.escape(note)}</p>' for note in notes]
    return "".join([*parts, "</div>"])


def _render_row(tag: str, texts: Sequence[str], sides: Sequence[str]) -> str:
    cells = (
        f'<{tag} style="{_CELL}; text-align: {side}">{html.escape(text)}</{tag}>'
        for text, side in zip(texts, sides, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def list_some(texts: Sequence[str], n_all: int | None = None) -> str:
    """Return the first few entries of a list, joined by commas, and the number of further entries.

    >>> list_some([str(n) for n in range(8)]), list_some(["a", "b"]), list_some(["a"], n_all=3)
    ('0, 1, 2, 3, 4 and 3 more', 'a, b', 'a and 2 more')
    """
    shown = texts[:_SHOWN]
    more = (len(texts) if n_all is None else n_all) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _format_cell(cell: Any) -> tuple[str, bool]:
    """Return the text of a cell, and whether it is a number."""
    if cell is None:
        return "", True
    if isinstance(cell, float):
        return ("" if cell != cell else f"{cell:.3f}"), True
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}", True
    text = str(cell)
    return text, not text or text.lstrip("-").replace(".", "", 1).isdigit()
