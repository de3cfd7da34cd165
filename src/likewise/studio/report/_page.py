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
from typing import TYPE_CHECKING

from likewise._templates import load_templates
from likewise.studio.report._report_data import HintsShown, ReportData
from likewise.studio.report._svg import Chart, draw_bar_chart, draw_line_chart

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
    templates.filters.update(count=format_count, cut=cut, number="{:,}".format, share="{:.0%}".format)
    functions = (
        *(make_data_uri, median, draw_question_curve, draw_times, describe_hints),
        *(make_group_rows, make_person_rows, make_time_rows, make_hint_rows),
        *(make_code, make_export_command),
    )
    templates.globals.update({function.__name__: function for function in functions})
    return templates.get_template("report.html")


# ---------------------------------------------------------------------- texts and pictures


def format_count(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> format_count(1, "answer"), format_count(1200, "answer")
    ('1 answer', '1,200 answers')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def cut(value: str, most: int = 280) -> str:
    """Return the beginning of a long text."""
    return value if len(value) <= most else value[: most - 1].rstrip() + "…"


def describe_hints(hints: HintsShown) -> str:
    """Return the number of hints of each kind.

    >>> describe_hints(HintsShown(3, 0, 1200))
    '3 together, 1,200 triplets'
    """
    kinds = (("together", hints.n_must), ("apart", hints.n_cannot), ("triplets", hints.n_triplets))
    return ", ".join(f"{n:,} {name}" for name, n in kinds if n)


def make_data_uri(picture: bytes, media_type: str) -> str:
    """Return a picture as a data URI; only types that cannot contain scripts are allowed."""
    if media_type not in _SAFE_TYPES:
        raise ValueError(f"a picture must be one of {', '.join(sorted(_SAFE_TYPES))}; got {media_type!r}.")
    return f"data:{media_type};base64,{base64.b64encode(picture).decode('ascii')}"


# ---------------------------------------------------------------------- rows of the tables, and charts


def make_group_rows(data: ReportData) -> list[tuple[str, ...]]:
    """Return title, size and share of each group, the largest first."""
    ordered = sorted(data.groups, key=lambda group: -group.size)
    return [(group.title, f"{group.size:,}", f"{group.size / data.n_items:.1%}") for group in ordered]


def make_person_rows(data: ReportData) -> list[tuple[str, ...]]:
    """Return what each person answered, how reliably and how fast."""
    return [
        (
            one.name,
            one.role,
            f"{one.n_answers:,}",
            f"{one.n_unsure:,}",
            f"{one.n_shared:,}",
            "–" if one.accuracy is None else f"{one.accuracy:.0%}",
            "–" if one.reliability is None else f"{one.reliability:.2f}",
            "–" if one.seconds is None else f"{one.seconds:.1f}",
        )
        for one in data.people
    ]


def make_time_rows(data: ReportData) -> list[tuple[str, ...]]:
    """Return the response times by kind of question and answer."""
    kinds = {"pair": "pairs", "triplet": "triplets"}
    return [
        (
            kinds.get(one.kind, one.kind),
            one.answer,
            f"{one.n:,}",
            f"{one.median:.1f}",
            f"{one.lower:.1f} – {one.upper:.1f}",
        )
        for one in data.times
    ]


def make_hint_rows(hints: HintsShown) -> list[tuple[str, ...]]:
    """Return the relation and the ids of each hint that is shown: three ids if there are triplets."""
    width = 3 if any(len(ids) > 2 and ids[2] for _, ids in hints.first) else 2
    return [(what, *(cut(id, 80) for id in [*ids, "", ""][:width])) for what, ids in hints.first]


def draw_question_curve(data: ReportData) -> Chart:
    """Draw how much the last answers changed."""
    return draw_line_chart(
        [(float(n), share) for n, share in data.curve],
        title="Question curve",
        x="answers",
        y="share of items that changed their group over the last ten answers",
    )


def draw_times(data: ReportData) -> Chart:
    """Draw how many answers took how long."""
    counts = [0] * (len(_BINS) + 1)
    for seconds in data.seconds:
        counts[bisect_right(_BINS, seconds)] += 1
    names = [f"< {_BINS[0]}", *(f"{a}–{b}" for a, b in pairwise(_BINS)), f"{_BINS[-1]} +"]
    return draw_bar_chart(list(zip(names, counts, strict=True)), title="Time per question", x="seconds")


# ---------------------------------------------------------------------- the result in Python


def make_export_command(data: ReportData) -> str:
    """Return the command that writes the files that :func:`make_code` reads; to be run in the folder that
    contains the project.
    """
    options = ["--what", "all", "--format", "jsonl", "--out", _name_result(data)]
    return shlex.join(["likewise", "export", data.folder, *options])


def make_code(data: ReportData) -> str:
    """Return Python code that loads the result and fits a model to the same hints."""
    lines = [
        "import json",
        "",
        "import numpy as np",
        "from likewise import PropagationClustering",
        "from likewise.supervision import read_hints",
        "",
        f"folder = {_name_result(data)!r}",
        'with open(f"{folder}/labels.jsonl", encoding="utf-8") as file:',
        "    rows = [json.loads(line) for line in file]",
        'ids = [row["id"] for row in rows]',
        'groups = np.array([row["group"] for row in rows])',
        'names = {row["group"]: row["name"] for row in rows}',
        "",
        'hints = read_hints(f"{folder}/hints.jsonl", ids)  # from the answers',
        f"X = np.load({data.folder + '/features.npy'!r})  # features, one row per item",
    ]
    if data.n_clusters > 1 and data.hints.n:
        links = "hints.to_links()" + (".drop_conflicts()" if data.n_conflicts else "")
        lines += [
            "",
            "# A model of the same kind, for new rows; some of its labels may differ from `groups`.",
            f"model = PropagationClustering(n_clusters={data.n_clusters}, random_state=0)",
            f"model.fit(X, supervision={links})",
        ]
    else:
        lines.remove("from likewise import PropagationClustering")
    return "\n".join(lines) + "\n"


def _name_result(data: ReportData) -> str:
    return f"{data.folder.removesuffix('.likewise')}-result"
