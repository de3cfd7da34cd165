"""Render a report as one HTML page: no scripts, no requests, every text escaped.

The templates escape every value. In addition, the page's content security policy allows only its own style
sheet, by its hash, and embedded pictures.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from bisect import bisect_right
from functools import cache
from importlib.resources import files
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from likewise._templates import load_templates
from likewise._words import format_count
from likewise.studio.report._figures import FEW, make_key_figures
from likewise.studio.report._gather import ConflictShown, HintsShown, PersonShown, ReportData

if TYPE_CHECKING:
    from jinja2 import Template

_SAFE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp"})  # not SVG, which may contain scripts
_BINS = (1, 2, 3, 5, 10, 20, 60)  # seconds


def make_report(data: ReportData) -> str:
    """Return the HTML page of a report."""
    return _load_page().render(data=data, style=read_style(), policy=get_content_security_policy())


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


@cache
def _load_page() -> Template:
    templates = load_templates("likewise.studio.report", extra="studio")
    templates.filters.update(count=format_count, cut=cut, cell=format_cell, number="{:,}".format)
    templates.filters.update(repr=repr, shell=shlex.quote)
    functions = (
        *(make_data_uri, median, choose_ticks, round_up, count_times),
        *(
            make_group_rows,
            make_time_rows,
            make_hint_rows,
            make_people_rows,
            make_key_figures,
            summarize_conflict,
        ),
    )
    templates.globals.update({function.__name__: function for function in functions}, few=FEW)
    return templates.get_template("report.html")


# ---------------------------------------------------------------------- texts and pictures


def cut(value: str, most: int = 280) -> str:
    """Return the beginning of a long text."""
    return value if len(value) <= most else value[: most - 1].rstrip() + "…"


def format_cell(value: Any, spec: str) -> str:
    """Return a value as the text of a table cell; a missing value is a dash."""
    return "–" if value is None else format(value, spec)


def make_data_uri(picture: bytes, media_type: str) -> str:
    """Return a picture as a data URI; only types that cannot contain scripts are allowed."""
    if media_type not in _SAFE_TYPES:
        raise ValueError(f"a picture must be one of {', '.join(sorted(_SAFE_TYPES))}; got {media_type!r}.")
    return f"data:{media_type};base64,{base64.b64encode(picture).decode('ascii')}"


# ---------------------------------------------------------------------- rows of the tables, and charts


def make_group_rows(data: ReportData) -> list[tuple[Any, ...]]:
    """Return title, size, share and, if there are any, description of each group, the largest first."""
    ordered = sorted(data.groups, key=lambda group: -group.size)
    rows = [(group.title, group.size, group.size / data.n_items) for group in ordered]
    if not any(group.description for group in ordered):
        return rows
    return [(*row, ", ".join(group.description)) for row, group in zip(rows, ordered, strict=True)]


def make_people_rows(data: ReportData) -> list[PersonShown]:
    """Return the people, without estimates that are based on few shared questions."""
    return [
        person if person.n_shared >= FEW else person._replace(accuracy=None, reliability=None)
        for person in data.people
    ]


def make_time_rows(data: ReportData) -> list[tuple[Any, ...]]:
    """Return the response times by kind of question and answer."""
    kinds = {"pair": "pairs", "triplet": "triplets", "placement": "placements", "label": "names"}
    return [
        (kinds.get(kind, kind), answer, n, middle, f"{lower:.1f} – {upper:.1f}")
        for kind, answer, n, middle, lower, upper in data.times
    ]


def make_hint_rows(hints: HintsShown) -> list[tuple[str, ...]]:
    """Return the relation and the ids of each hint that is shown: three ids if there are triplets."""
    width = 3 if any(len(ids) > 2 and ids[2] for _, ids in hints.first) else 2
    return [(what, *(cut(id, 80) for id in [*ids, "", ""][:width])) for what, ids in hints.first]


def summarize_conflict(conflict: ConflictShown) -> str:
    """Return a contradiction in one line: its items, how they are joined, and by whose answers."""
    items = " and ".join(cut(item.id, 40) for item in conflict.items)
    people = list(dict.fromkeys(answer.person for answer in conflict.answers))
    between = len(conflict.chain) - 2
    through = f", joined through {format_count(between, 'item')}" if between > 0 else ""
    names = ", ".join(cut(name, 40) for name in people[:2])
    names += f" and {format_count(len(people) - 2, 'other')}" if len(people) > 2 else ""
    return f"{items}{through}: {names}" if names else f"{items}{through}"


def count_times(data: ReportData) -> list[tuple[str, int]]:
    """Return how many answers took how long."""
    counts = [0] * (len(_BINS) + 1)
    for seconds in data.seconds:
        counts[bisect_right(_BINS, seconds)] += 1
    names = [f"< {_BINS[0]}", *(f"{a}–{b}" for a, b in pairwise(_BINS)), f"{_BINS[-1]} +"]
    return list(zip(names, counts, strict=True))


def round_up(share: float) -> float:
    """Round a share up to a readable axis limit.

    >>> round_up(0.13), round_up(0.0), round_up(0.7)
    (0.2, 0.01, 1.0)
    """
    return next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if share <= step or step == 1.0)


def choose_ticks(most: float) -> list[int]:
    """Return up to seven readable integers from 0.

    >>> choose_ticks(30), choose_ticks(4)
    ([0, 5, 10, 15, 20, 25, 30], [0, 1, 2, 3, 4])
    """
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if most / step <= 6:
                return list(range(0, int(most) + 1, step))
        size *= 10
