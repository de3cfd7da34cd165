"""HTML escaping, and the elements that the sections of a report share."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape

from likewise.studio.report._report_data import ItemShown

_UNPRINTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # not allowed in HTML
_SAFE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp"})  # not SVG, which may contain scripts
_LONGEST = 280  # maximum number of characters shown of a text
_MOST_CELLS = 8


def escape_text(value: object) -> str:
    """Escape a text for HTML content and quoted attributes.

    >>> escape_text('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return escape(_UNPRINTED.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True)


def escape_written(value: object) -> str:
    """Escape a text that a person wrote, isolating its writing direction from the line around it."""
    return f"<bdi>{escape_text(value)}</bdi>"


def cut(value: str, most: int = _LONGEST) -> str:
    """Return the beginning of a long text."""
    return value if len(value) <= most else value[: most - 1].rstrip() + "…"


def make_data_uri(picture: bytes, media_type: str) -> str:
    """Return a picture as a data URI; only types that cannot contain scripts are allowed."""
    if media_type not in _SAFE_TYPES:
        raise ValueError(f"a picture must be one of {', '.join(sorted(_SAFE_TYPES))}; got {media_type!r}.")
    return f"data:{media_type};base64,{base64.b64encode(picture).decode('ascii')}"


def make_paragraphs(*lines: str) -> str:
    """Return lines as escaped paragraphs."""
    return "".join(f"<p>{escape_text(line)}</p>\n" for line in lines if line)


def make_table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()
) -> str:
    """Return a table of texts whose first column has row headers; `numbers` are aligned to the right."""
    right = set(numbers)

    def get_kind(at: int) -> str:
        return ' class="number"' if at in right else ""

    head = "".join(  # an unnamed corner is not a header
        f'<th scope="col"{get_kind(at)}>{escape_text(name)}</th>' if name else "<td></td>"
        for at, name in enumerate(columns)
    )
    lines = []
    for row in rows:
        first, *others = row
        cells = "".join(
            f"<td{get_kind(at)}>{escape_written(cell)}</td>" for at, cell in enumerate(others, start=1)
        )
        lines.append(f'<tr><th scope="row"{get_kind(0)}>{escape_written(first)}</th>{cells}</tr>\n')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape_text(caption)}">\n'
        f"<table><caption>{escape_text(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{''.join(lines)}</tbody></table>\n</div>\n"
    )


def make_item(shown: ItemShown) -> str:
    """Return an item as an element of a list."""
    parts = []
    if shown.picture is not None:
        what = "Spectrogram of" if shown.kind == "sound" else "Picture"
        alt = f"{what} {cut(shown.title, 80)}"
        parts.append(
            f'<img src="{make_data_uri(shown.picture, shown.picture_type)}" alt="{escape_text(alt)}">'
        )
    if shown.id.startswith(shown.title):  # a file name, and the same without its extension
        parts.append(f'<span class="name">{escape_written(cut(shown.id, 80))}</span>')
    else:
        parts.append(f'<span class="name">{escape_written(cut(shown.title, 80))}</span>')
        parts.append(f' <span class="soft">{escape_written(cut(shown.id, 80))}</span>')
    if shown.broken:
        parts.append(f'<p class="text soft">{escape_text(shown.broken)}</p>')
    if shown.text:
        parts.append(f'<p class="text" dir="auto">{escape_text(cut(shown.text))}</p>')
    if shown.cells:
        cells = "".join(
            f"<dt>{escape_written(cut(column, 40))}</dt><dd>{escape_written(cut(value, 80))}</dd>"
            for column, value in shown.cells[:_MOST_CELLS]
        )
        parts.append(f"<dl>{cells}</dl>")
        if (more := len(shown.cells) - _MOST_CELLS) > 0:
            parts.append(f'<p class="text soft">and {more} more columns</p>')
    return f"<li>{''.join(parts)}</li>"


def make_items(several: Iterable[ItemShown]) -> str:
    """Return items as a list."""
    shown = list(several)
    wide = any(one.text or one.cells for one in shown)
    return f'<ul class="items{" wide" if wide else ""}">{"".join(map(make_item, shown))}</ul>\n'
