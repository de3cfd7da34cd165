"""Render a report as one HTML page: no scripts, no requests, every text escaped.

All text written by people (texts, ids, names) passes through :func:`escape_text`. In addition, the page's
content security policy allows only its own style sheet, by its hash, and embedded pictures.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from importlib.resources import files
from itertools import count

from likewise.studio.report import _sections
from likewise.studio.report._elements import escape_text
from likewise.studio.report._report_data import ReportData


@cache
def read_style() -> str:
    """Return the style sheet of the page."""
    return files("likewise.studio.report").joinpath("report.css").read_text(encoding="utf-8")


@cache
def get_content_security_policy() -> str:
    """Return the content security policy, for the page itself and for the response header."""
    digest = base64.b64encode(hashlib.sha256(read_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def make_report(data: ReportData) -> str:
    """Return the HTML page of a report."""
    sections = list(_make_sections(data))
    numbers = count(1)
    named = [(f"s{next(numbers)}", title, body) for title, body in sections]
    links = "".join(f'<li><a href="#{name}">{escape_text(title)}</a></li>' for name, title, _ in named)
    bodies = "".join(
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape_text(title)}</h2>\n{body}\n</section>\n'
        for name, title, body in named
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(get_content_security_policy())}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape_text(data.title)}: report</title>\n<style>{read_style()}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>{escape_text(data.title)}</h1>\n<p class="soft">{escape_text(_make_lead(data))}</p>\n'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n</header>\n'
        f"<main>\n{_sections.make_figures(data)}{bodies}</main>\n"
        f"<footer><p>Made by likewise {escape_text(data.version)} on {escape_text(data.made)}.</p></footer>\n"
        "</body>\n</html>\n"
    )


def _make_lead(data: ReportData) -> str:
    kinds = {"image": "picture", "sound": "sound", "text": "text", "row": "row"}
    made = f", described by {data.features}" if data.features else ""
    n = data.n_items
    return f"{n:,} {kinds[data.kind]}{'s' * (n != 1)}{made}, grouped with the help of people’s answers."


_PARTS: tuple[tuple[str, Callable[[ReportData], str]], ...] = (
    ("Groups", _sections.make_groups),
    ("Map", _sections.map_),
    ("How the groups settled", _sections.make_curve),
    ("People", _sections.make_people),
    ("Time", _sections.make_time),
    ("Contradictions", _sections.make_conflicts),
    ("Hints used", _sections.make_hints),
    ("Study", _sections.make_study),
    ("The result in Python", _sections.make_python),
)


def _make_sections(data: ReportData) -> Iterable[tuple[str, str]]:
    for title, part in _PARTS:
        if body := part(data):
            yield title, body
