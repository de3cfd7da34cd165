"""The report of a study: numbers as JSON, and sections of text, tables and figures for the page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from likewise.exceptions import MissingDependencyError
from likewise.studio.records import StoredEvent
from likewise.studio.study.answers import find_participants
from likewise.studio.study.curves import METHODS, StudyCurve, StudyCurves, compute_study_curves
from likewise.studio.study.figures import NAMES, draw_numbers, draw_scores, format_png
from likewise.studio.study.options import StudyOptions
from likewise.studio.study.plan import Study
from likewise.studio.study.tables import Confusion, Spread, SurveyRow, Tables, Times, compute_tables

_SAID = {
    "SAME": "same",
    "DIFFERENT": "different",
    "AB": "first and second",
    "AC": "first and third",
    "BC": "second and third",
    "NEITHER": "neither",
}


@dataclass(frozen=True)
class TablePiece:
    """A table of a section: its title, column headers and rows of text, each starting with its header."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class FigurePiece:
    """A figure of a section: its title, a description and the bytes of a PNG file."""

    title: str
    alt: str
    png: bytes


@dataclass(frozen=True)
class Section:
    """A part of the report, as plain text that must be escaped for HTML."""

    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[TablePiece, ...] = ()
    figures: tuple[FigurePiece, ...] = ()


@dataclass(frozen=True)
class StudyReport:
    """All results of a study; `curves` is None if not requested or if nobody finished."""

    options: StudyOptions
    n_classes: int
    n_began: int
    tables: Tables
    curves: StudyCurves | None
    comments: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON values, without names of participants."""
        options = {name: value for name, value in self.options.to_json().items() if name != "pool"}
        return {
            "options": {**options, "marked_by_hand": bool(self.options.pool)},
            "n_classes": self.n_classes,
            "n_began": self.n_began,
            "tables": asdict(self.tables),
            "curves": None if self.curves is None else asdict(self.curves),
            "comments": list(self.comments),
        }


def make_study_report(
    study: Study,
    events: Iterable[StoredEvent],
    *,
    leave_out: Collection[int] = (),
    curves: bool = True,
    max_rows: int = 600,
    progress: Callable[[int, int], None] | None = None,
) -> StudyReport:
    """Compute the tables of a study, and the curves, which take some seconds per participant.

    Parameters
    ----------
    study : Study
        The plan.
    events : iterable of StoredEvent
        All of them, in order.
    leave_out : collection of int
        People who are not participants, such as the owner.
    curves : bool, default=True
        Whether to cluster from the answers, for Figures 3.9 and 3.10.
    max_rows : int, default=600
        Maximum number of rows clustered per participant.
    progress : callable, optional
        Called with the number of clusterings done and to do.
    """
    people = find_participants(study, events, leave_out=leave_out)
    found = None
    if curves and any(person.finished for person in people):
        found = compute_study_curves(
            study, people, max_rows=max_rows, seed=study.options.seed, progress=progress
        )
    comments = [person.survey.comments.strip() for person in people if person.survey is not None]
    return StudyReport(
        options=study.options,
        n_classes=len(study.classes),
        n_began=len(people),
        tables=compute_tables(people),
        curves=found,
        comments=tuple(filter(None, comments)),
    )


def make_study_sections(report: StudyReport) -> list[Section]:
    """Return the report as sections. Without matplotlib a sentence replaces the figures."""
    if report.tables.n == 0:
        text = "Nobody has started yet."
        if report.n_began:
            text = f"{_count(report.n_began, 'participant')} started; nobody has answered all questions yet."
        sections = [Section("Study", (_design(report.options), text))]
        return sections + ([_make_survey_section(report)] if report.tables.n_surveys else [])
    sections = [
        Section("Study", (_design(report.options), _make_participation(report.tables))),
        _make_times_section(report.tables.times),
        _make_confusions_section(report.tables),
        _make_survey_section(report),
    ]
    if report.curves is not None:
        sections.append(_make_curves_section(report.curves, report.options))
    return sections


def _design(options: StudyOptions) -> str:
    by = "as marked by hand" if options.pool else "by the distances of the items"
    return (
        f"Everyone answers {_count(options.n_pairs, 'pair')} and {_count(options.n_triplets, 'triplet')}; "
        "the order of the two kinds alternates between participants. "
        f"{options.difficult:.0%} of the questions are difficult, {by}. "
        f"Practice ({_count(options.practice, 'question')} of each kind) does not count."
    )


def _make_participation(tables: Tables) -> str:
    text = f"{_count(tables.n, 'participant')} answered all questions."
    if tables.n_left_out:
        text += f" {tables.n_left_out} more started but did not finish; their answers are left out."
    return text


def _make_times_section(times: Times) -> Section:
    return Section(
        "Time",
        ("Seconds per question, mean ± standard deviation over participants (the thesis's Table 3.6).",),
        (
            TablePiece(
                "Pairs",
                ("", "any answer", "same", "different"),
                (("seconds", *map(_format_spread, (times.pair, times.same, times.different))),),
            ),
            TablePiece(
                "Triplets",
                ("", "any answer", "two belong together", "neither"),
                (("seconds", *map(_format_spread, (times.triplet, times.pick, times.neither))),),
            ),
        ),
    )


def _make_confusions_section(tables: Tables) -> Section:
    return Section(
        "Right and wrong answers",
        (
            "How often a participant gave each answer (columns) for each right answer (rows), mean over "
            "participants (the thesis's Tables 3.8 and 3.9).",
            _format_accuracy("pairs", tables.pairs),
            _format_accuracy("triplets", tables.triplets),
        ),
        (_make_confusion("Pairs", tables.pairs), _make_confusion("Triplets", tables.triplets)),
    )


def _format_accuracy(name: str, confusion: Confusion) -> str:
    parts = [
        f"{share:.1%} of the {sort}"
        for sort, share in (("easy", confusion.easy), ("difficult", confusion.difficult))
        if share is not None
    ]
    return (
        f"Of the {name}, {_format_share(confusion.accuracy)} were answered correctly: {' and '.join(parts)} "
        "ones."
    )


def _make_confusion(title: str, confusion: Confusion) -> TablePiece:
    names = [_SAID[word] for word in confusion.words]
    rows = zip(names, confusion.table, strict=True)
    return TablePiece(
        f"{title} ({_format_share(confusion.accuracy)} right)",
        ("right answer", *names),
        tuple((name, *(f"{value:.2f}" for value in row)) for name, row in rows),
    )


def _make_survey_section(report: StudyReport) -> Section:
    comments = [f"“{comment}”" for comment in report.comments]
    if report.tables.n_surveys == 0:
        return Section("Questionnaire", ("Nobody has submitted the questionnaire yet.",))
    return Section(
        "Questionnaire",
        (
            f"How {_count(report.tables.n_surveys, 'participant')} compared the two tasks (Table 3.7).",
            *(["Comments:", *comments] if comments else []),
        ),
        (
            TablePiece(
                "Which task was rated better",
                ("", "pairs", "triplets", "no difference"),
                tuple(map(_make_survey_row, report.tables.survey)),
            ),
        ),
    )


def _make_survey_row(row: SurveyRow) -> tuple[str, ...]:
    total = row.pair + row.triplet + row.none
    return row.title, f"{row.pair}/{total}", f"{row.triplet}/{total}", f"{row.none}/{total}"


def _make_curves_section(curves: StudyCurves, options: StudyOptions) -> Section:
    paragraphs = [
        "Discriminative clustering from the answers of each participant, one fifth more per step: for the "
        "same number of items seen, and for the same time (Figures 3.9 and 3.10).",
    ]
    if curves.n_people > 1:
        paragraphs.append(f"Bars are 95% intervals of the mean over {curves.n_people} participants.")
    if not options.same_items:
        paragraphs.append(
            f"{options.n_pairs} pairs show {2 * options.n_pairs} items and {options.n_triplets} triplets "
            f"{3 * options.n_triplets}, so “same number of items” holds only in proportion."
        )
    if curves.n_rows < curves.n_all_rows:
        paragraphs.append(
            f"For each participant {curves.n_rows:,} of the {curves.n_all_rows:,} items of known class were "
            "clustered and scored: those they were asked about, and random others."
        )
    try:
        figures: tuple[FigurePiece, ...] = (
            FigurePiece("Clustering from answers", _format_scores(curves), format_png(draw_scores(curves))),
            FigurePiece("Answers used", _format_numbers(curves), format_png(draw_numbers(curves))),
        )
    except MissingDependencyError as error:
        figures = ()
        paragraphs.append(f"The figures are missing: {error}")
    return Section("Clustering", tuple(paragraphs), (_format_ends(curves),), figures)


def _format_scores(curves: StudyCurves) -> str:
    ends = ", ".join(f"{name} {curve.mean[-1]:.2f}" for name, curve in _format_all_items(curves))
    return f"F-measure over shares of the answers. With all answers: {ends}; without any {curves.start:.2f}."


def _format_numbers(curves: StudyCurves) -> str:
    ends = ", ".join(
        f"{name} {curve.n_used[-1]:.0f} of which {curve.n_correct[-1]:.0f} right"
        for name, curve in _format_all_items(curves)
    )
    return f"Number of answers used at each share. With all answers: {ends}."


def _format_all_items(curves: StudyCurves) -> list[tuple[str, StudyCurve]]:
    return [(NAMES[method], curves.get("items", method)) for method in METHODS]


def _format_ends(curves: StudyCurves) -> TablePiece:
    rows = [
        (f"{NAMES[curve.method]}, same {curve.budget}", *(f"{mean:.3f}" for mean in curve.mean))
        for curve in curves.curves
    ]
    return TablePiece("F-measure", ("", *(f"{part:.0%}" for part in curves.curves[0].parts)), tuple(rows))


def _format_spread(spread: Spread) -> str:
    if spread.mean is None:
        return "–"
    return f"{spread.mean:.2f}" if spread.std is None else f"{spread.mean:.2f} ± {spread.std:.2f}"


def _format_share(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"


def _count(n: int, one: str) -> str:
    return f"{n:,} {one}{'' if n == 1 else 's'}"
