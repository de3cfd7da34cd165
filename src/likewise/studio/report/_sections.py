"""The sections of a report, one function each; a section without content is an empty text."""

from __future__ import annotations

import shlex
from bisect import bisect_right
from itertools import pairwise
from statistics import median

from likewise.studio.report import _svg
from likewise.studio.report._elements import (
    cut,
    escape_text,
    escape_written,
    make_data_uri,
    make_items,
    make_paragraphs,
    make_table,
)
from likewise.studio.report._report_data import ConflictShown, GroupShown, ReportData

_STATES_ACCURACY = {
    "worse",
    "inaccurate",
    "uncertain",
    "settled",
}  # reasons of advice that gives the accuracy
_BINS = (1, 2, 3, 5, 10, 20, 60)  # seconds
KINDS = {"pair": "pairs", "triplet": "triplets"}


def format_count(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> format_count(1, "answer"), format_count(1200, "answer")
    ('1 answer', '1,200 answers')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def make_figures(data: ReportData) -> str:
    """Return the key figures."""
    pace = f"{median(data.seconds):.1f} s" if data.seconds else "–"
    shown = {
        "Items": f"{data.n_items:,}",
        "Groups": f"{data.n_clusters:,}",
        "Answers": f"{data.n_answers:,}",
        "People": f"{len(data.people):,}",
        "Contradictions": f"{data.n_conflicts:,}",
        "Time per question": pace,
    }
    cells = "".join(
        f"<div><dt>{escape_text(name)}</dt><dd>{escape_text(value)}</dd></div>"
        for name, value in shown.items()
    )
    return f'<dl class="figures">{cells}</dl>\n{make_paragraphs(*data.notes)}'


# ---------------------------------------------------------------------- groups and map


def make_groups(data: ReportData) -> str:
    """Return each group with its most typical and most doubtful members."""
    if not data.groups:
        return make_paragraphs("There are no groups yet.")
    ordered = sorted(data.groups, key=lambda group: -group.size)
    rows = [(group.title, f"{group.size:,}", f"{group.size / data.n_items:.1%}") for group in ordered]
    parts = [make_table("Groups by size", ("Group", "Items", "Share"), rows, numbers=(1, 2))]
    parts += [_make_group(group) for group in data.groups if group.typical or group.doubtful]
    listed = sum(not (group.typical or group.doubtful) and group.size > 0 for group in data.groups)
    if listed:
        parts.append(
            make_paragraphs(f"{format_count(listed, 'more group')} without examples; see the table.")
        )
    return "".join(parts)


def _make_group(group: GroupShown) -> str:
    parts = [
        f"<h3>{_svg.draw_swatch(group.color)}{escape_written(group.title)}, "
        f"{format_count(group.size, 'item')}</h3>\n"
    ]
    if group.typical:
        parts.append(f"<h4>Most typical</h4>\n{make_items(group.typical)}")
    if group.doubtful:
        parts.append(f"<h4>Most doubtful</h4>\n{make_items(group.doubtful)}")
    return "".join(parts)


def map_(data: ReportData) -> str:
    """Return the map of the items."""
    if data.map_picture is None:
        return ""
    alt = (
        f"Map of {format_count(data.n_items, 'item')} in {format_count(data.n_clusters, 'group')}, one dot "
        "each"
    )
    legend = "".join(
        f"<li>{_svg.draw_swatch(group.color)}{escape_written(group.title)}</li>" for group in data.groups[:40]
    )
    how = f" Positions were computed with {data.map_method}." if data.map_method else ""
    return (
        make_paragraphs(f"Items near each other have similar features.{how}")
        + f'<img class="map" src="{make_data_uri(data.map_picture, "image/png")}" alt="{escape_text(alt)}">\n'
        + f'<ul class="legend">{legend}</ul>\n'
    )


# ---------------------------------------------------------------------- answers


def make_curve(data: ReportData) -> str:
    """Return how much the last answers changed."""
    if not data.n_answers:
        return make_paragraphs("There are no answers yet. The groups are based on the features alone.")
    parts = [make_paragraphs(data.advice)]
    if data.accuracy is not None and data.reason not in _STATES_ACCURACY:
        low_high = (
            ""
            if data.interval is None
            else f" (95% interval {data.interval[0]:.0%} to {data.interval[1]:.0%})"
        )
        parts.append(
            make_paragraphs(
                f"{data.accuracy:.0%} of the held-out answers were predicted correctly{low_high}."
            )
        )
    if len(data.curve) > 1:
        parts.append(
            _svg.draw_line_chart(
                [(float(n), share) for n, share in data.curve],
                title="Question curve",
                x="answers",
                y="share of items that changed their group over the last ten answers",
            )
        )
        parts.append(
            make_paragraphs(
                "The line is the share of items that changed their group over the last ten answers."
            )
        )
    return "".join(parts)


def make_people(data: ReportData) -> str:
    """Return who answered, how far they agree and how reliable each person is."""
    if not data.people:
        return ""
    rows = [
        (
            one.name,
            one.role,
            f"{one.n_answers:,}",
            f"{one.n_unsure:,}",
            f"{one.n_shared:,}",
            _format_share(one.accuracy),
            "–" if one.reliability is None else f"{one.reliability:.2f}",
            "–" if one.seconds is None else f"{one.seconds:.1f}",
        )
        for one in data.people
    ]
    columns = ("Person", "Role", "Answers", "Unsure", "Shared", "Right", "Reliability", "Seconds")
    if data.n_shared and data.observed is not None:
        alpha = (
            ""
            if data.alpha is None
            else f" Krippendorff’s alpha is {data.alpha:.2f}: 1 is full agreement, 0 is agreement by chance."
        )
        agreement = (
            f"Several people answered the same {format_count(data.n_shared, 'question')}, and "
            f"agree on {data.observed:.0%}.{alpha}"
        )
    else:
        agreement = "No question was answered by two people, so their agreement is unknown."
    return make_table("Who answered", columns, rows, numbers=range(2, 8)) + make_paragraphs(
        agreement,
        "Shared questions were answered by at least one other person. Right (how often a person is right) "
        "and Reliability (1 always right, 0 like guessing) are estimated from these. Seconds are medians.",
    )


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def make_time(data: ReportData) -> str:
    """Return response times."""
    if not data.seconds:
        return ""
    counts = [0] * (len(_BINS) + 1)
    for seconds in data.seconds:
        counts[bisect_right(_BINS, seconds)] += 1
    names = [f"< {_BINS[0]}", *(f"{a}–{b}" for a, b in pairwise(_BINS)), f"{_BINS[-1]} +"]
    rows = [
        (
            KINDS.get(one.kind, one.kind),
            one.answer,
            f"{one.n:,}",
            f"{one.median:.1f}",
            f"{one.lower:.1f} – {one.upper:.1f}",
        )
        for one in data.times
    ]
    total = sum(data.seconds)
    spent = f"{total / 60:.0f} minutes" if total >= 120 else f"{total:.0f} seconds"
    n_answers = format_count(len(data.seconds), "answer")
    return (
        make_paragraphs(
            f"{n_answers} took {spent} in total; the median is {median(data.seconds):.1f} seconds."
        )
        + _svg.draw_bar_chart(list(zip(names, counts, strict=True)), title="Time per question", x="seconds")
        + make_table(
            "Seconds by question and answer",
            ("Questions", "Answer", "Answers", "Median", "Middle half"),
            rows,
            numbers=(2, 3, 4),
        )
    )


def make_conflicts(data: ReportData) -> str:
    """Return answers that cannot all be true."""
    if not data.n_conflicts:
        return make_paragraphs("No answers contradict each other.")
    parts = [
        make_paragraphs(
            f"{format_count(data.n_conflicts, 'contradiction')}: answers that cannot all be true. "
            "At least one answer of each is wrong; undo it in the studio, under Conflicts."
        )
    ]
    parts += [_make_conflict(number, one) for number, one in enumerate(data.conflicts, start=1)]
    if (more := data.n_conflicts - len(data.conflicts)) > 0:
        parts.append(make_paragraphs(f"{format_count(more, 'more contradiction')} in the studio."))
    return "".join(parts)


def _make_conflict(number: int, one: ConflictShown) -> str:
    chain = " = ".join(escape_written(cut(id, 60)) for id in one.chain)
    alone = len({answer.person for answer in one.answers}) == 1
    split = "The same person gave both answers." if alone else "People disagree about these two."
    how = f"Joined through: {chain}" if len(one.chain) > 2 else split
    answers = "".join(
        f"<li>{escape_written(answer.person)}: {escape_written(answer.text)} <span "
        f'class="soft">{escape_text(answer.time)}</span></li>'
        for answer in one.answers
    )
    return (
        f'<div class="conflict">\n<h3>Contradiction {number}</h3>\n{make_items(one.items)}'
        + (f'<p class="chain">{how}</p>\n' if len(one.chain) > 1 else "")
        + (f"<h4>Answers involved</h4>\n<ul>{answers}</ul>\n" if answers else "")
        + "</div>\n"
    )


def make_hints(data: ReportData) -> str:
    """Return the hints from which the items are grouped."""
    used = data.hints
    undone = f" {format_count(data.n_undone, 'answer')} undone." if data.n_undone else ""
    skipped = f" {format_count(data.n_skipped, 'question')} skipped." if data.n_skipped else ""
    if not used.n:
        return make_paragraphs(f"No hints yet.{undone}{skipped}")
    kinds = (("together", used.n_must), ("apart", used.n_cannot), ("triplets", used.n_triplets))
    listed = ", ".join(f"{n:,} {name}" for name, n in kinds if n)
    rows = [(what, *(cut(id, 80) for id in [*ids, "", ""][:3])) for what, ids in used.first]
    parts = [make_paragraphs(f"The groups use {format_count(used.n, 'hint')}: {listed}.{undone}{skipped}")]
    if rows:
        shown = "All hints" if len(rows) == used.n else f"The first {len(rows):,} of {used.n:,} hints"
        triplets = any(row[3] for row in rows)
        columns = ("Said", "a", "b", "c") if triplets else ("Said", "a", "b")
        body = make_table(shown, columns, [row[: len(columns)] for row in rows])
        parts.append(f"<details><summary>{escape_text(shown)}</summary>\n{body}</details>\n")
    return "".join(parts)


# ---------------------------------------------------------------------- the study, and Python


def make_study(data: ReportData) -> str:
    """Return the sections of a study; the first concerns the whole study."""
    parts = []
    for number, one in enumerate(data.study):
        if number:
            parts.append(f"<h3>{escape_text(one.title)}</h3>\n")
        parts.append(make_paragraphs(*one.paragraphs))
        parts += [
            make_table(each.title, each.head, each.rows, numbers=range(1, len(each.head)))
            for each in one.tables
        ]
        parts += [
            f'<figure><img src="{make_data_uri(each.png, "image/png")}" alt="{escape_text(each.alt)}">'
            f"<figcaption>{escape_text(each.title)}</figcaption></figure>\n"
            for each in one.figures
        ]
    return "".join(parts)


def export_command(data: ReportData) -> str:
    """Return the command that writes the files that :func:`make_code` reads; to be run in the folder that
    contains the project.
    """
    words = [
        "likewise",
        "export",
        data.folder,
        "--what",
        "all",
        "--format",
        "jsonl",
        "--out",
        _make_result(data),
    ]
    return shlex.join(words)


def make_code(data: ReportData) -> str:
    """Return Python code that loads the result and fits a model to the same hints."""
    lines = [
        "import json",
        "",
        "import numpy as np",
        "from likewise import PropagationClustering",
        "from likewise.supervision import read_hints",
        "",
        f"folder = {_make_result(data)!r}",
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


def _make_result(data: ReportData) -> str:
    return f"{data.folder.removesuffix('.likewise')}-result"


def make_python(data: ReportData) -> str:
    """Return how to continue in Python."""
    return (
        make_paragraphs("Write the result to files, in the folder that contains the project:")
        + f'<pre tabindex="0" role="region" aria-label="Command">{escape_text(export_command(data))}</pre>\n'
        + make_paragraphs("and load it in Python:")
        + f'<pre tabindex="0" role="region" aria-label="Python">{escape_text(make_code(data))}</pre>\n'
        + make_paragraphs(
            "With --format csv the files open in a spreadsheet. labels has one line per item, with its "
            "group and its doubt (0 certain, 1 entirely uncertain)."
        )
    )
