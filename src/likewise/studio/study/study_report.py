"""The report of a study: numbers as JSON, and sections of text, tables and figures for the page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from likewise._words import format_count
from likewise.exceptions import MissingDependencyError
from likewise.studio.records import StoredEvent
from likewise.studio.study.answers import Spread, Tables, Times, compute_tables, find_participants
from likewise.studio.study.comparison import FEWEST, KindComparison, compare_kinds, find_preferred
from likewise.studio.study.curves import (
    METHODS,
    NAMES,
    StudyCurves,
    compute_study_curves,
    draw_numbers,
    draw_scores,
    format_png,
)
from likewise.studio.study.options import StudyOptions
from likewise.studio.study.plan import Study

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
class SetResults:
    """The results of one data set; `curves` is None if not requested or if nobody finished."""

    name: str
    n_classes: int
    tables: Tables
    curves: StudyCurves | None
    compared: tuple[KindComparison, ...]


@dataclass(frozen=True)
class StudyReport:
    """All results of a study: `tables` of all answers, and the results of each data set."""

    options: StudyOptions
    n_began: int
    tables: Tables
    sets: tuple[SetResults, ...]
    comments: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON values, without names of participants."""
        options = {name: value for name, value in self.options.to_json().items() if name != "pool"}
        return {
            "options": {**options, "marked_by_hand": bool(self.options.pool)},
            "n_began": self.n_began,
            "tables": asdict(self.tables),
            "sets": [asdict(one) for one in self.sets],
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
    sets = []
    for name in study.sets:
        found = None
        if curves and any(person.finished for person in people):
            found = compute_study_curves(
                study, people, data_set=name, max_rows=max_rows, seed=study.options.seed, progress=progress
            )
        answers = [person.restrict(name) for person in people]
        n_classes = len(set(study.get_classes_of(name)) - {None})
        results = SetResults(name, n_classes, compute_tables(answers), found, compare_kinds(answers, found))
        sets.append(results)
    comments = [person.survey.comments.strip() for person in people if person.survey is not None]
    return StudyReport(
        options=study.options,
        n_began=len(people),
        tables=compute_tables(people),
        sets=tuple(sets),
        comments=tuple(filter(None, comments)),
    )


# ---------------------------------------------------------------------- sections of the page


def make_study_sections(report: StudyReport) -> list[Section]:
    """Return the report as sections. Without matplotlib a sentence replaces the figures."""
    options, tables = report.options, report.tables
    each = f" about each of {len(report.sets)} data sets, whose order alternates, too" * options.sets
    design = (
        f"Everyone answers {format_count(options.n_pairs, 'pair')} and "
        f"{format_count(options.n_triplets, 'triplet')}{each}; "
        "the order of the two kinds alternates between participants. "
        f"{options.difficult:.0%} of the questions are difficult, "
        f"{'as marked by hand' if options.pool else 'by the distances of the items'}. "
        f"Practice ({format_count(options.practice, 'question')} of each kind) does not count."
    )
    if tables.n == 0:
        text = "Nobody has started yet."
        if report.n_began:
            began = format_count(report.n_began, "participant")
            text = f"{began} started; nobody has answered all questions yet."
        sections = [Section("Study", (design, text))]
        return sections + ([_make_survey_section(report)] if tables.n_surveys else [])
    text = f"{format_count(tables.n, 'participant')} answered all questions."
    if tables.n_left_out:
        text += f" {tables.n_left_out} more started but did not finish; their answers are left out."
    few = (
        f"So few show nothing yet: if all of fewer than {FEWEST} participants lean to the same side, that "
        "still happens by chance in more than 5% of studies."
    )
    compared = [_make_comparison_table(one) for one in report.sets]
    sections = [Section("Study", (text, few if tables.n < FEWEST else "", design), tuple(compared))]
    sections.append(_make_survey_section(report))
    for one in report.sets:
        found = [_make_times_section(one.tables.times), _make_confusions_section(one.tables)]
        if one.curves is not None:
            found.append(_make_curves_section(one.curves, options))
        sections += [replace(each, title=_name_set(each.title, one)) for each in found]
    if report.comments:
        sections.append(Section("Comments", tuple(f"“{comment}”" for comment in report.comments)))
    return sections


def _name_set(title: str, results: SetResults) -> str:
    return f"{title}: {results.name}" if results.name else title


def _make_comparison_table(results: SetResults) -> TablePiece:
    """Return means, the difference with its interval, and which kind is better, if that is shown."""
    rows = []
    for one in results.compared:
        is_time = one.title.startswith("Seconds")
        spec, signed = ("{:.2f}", "{:+.2f}") if is_time else ("{:.1%}", "{:+.1%}")
        if one.pair is None or one.triplet is None:
            rows.append((one.title, "–", "–", "–", "nothing yet"))
            continue
        apart = signed.format(one.pair - one.triplet)
        if one.low is not None and one.high is not None:
            apart += f" ({signed.format(one.low)} to {signed.format(one.high)})"
        better = {"pair": "pairs", "triplet": "triplets", None: "nothing yet"}[one.better]
        rows.append((one.title, spec.format(one.pair), spec.format(one.triplet), apart, better))
    head = ("", "pairs", "triplets", "difference (95% interval)", "shown to be better")
    return TablePiece(_name_set("Pairs against triplets", results), head, tuple(rows))


def _make_times_section(times: Times) -> Section:
    def format_row(*spreads: Spread) -> tuple[str, ...]:
        cells = ["seconds"]
        for spread in spreads:
            std = "" if spread.std is None else f" ± {spread.std:.2f}"
            cells.append("–" if spread.mean is None else f"{spread.mean:.2f}{std}")
        return tuple(cells)

    text = "Seconds per question, mean ± standard deviation over participants (the thesis's Table 3.6)."
    pairs = format_row(times.pair, times.same, times.different)
    triplets = format_row(times.triplet, times.pick, times.neither)
    return Section(
        "Time",
        (text,),
        (
            TablePiece("Pairs", ("", "any answer", "same", "different"), (pairs,)),
            TablePiece("Triplets", ("", "any answer", "two belong together", "neither"), (triplets,)),
        ),
    )


def _make_confusions_section(tables: Tables) -> Section:
    paragraphs = [
        "How often a participant gave each answer (columns) for each right answer (rows), mean over "
        "participants (the thesis's Tables 3.8 and 3.9).",
    ]
    pieces = []
    for name, confusion in (("pairs", tables.pairs), ("triplets", tables.triplets)):
        right = "–" if confusion.accuracy is None else f"{confusion.accuracy:.2%}"
        sorts = (("easy", confusion.easy), ("difficult", confusion.difficult))
        parts = [f"{share:.1%} of the {sort}" for sort, share in sorts if share is not None]
        paragraphs.append(f"Of the {name}, {right} were answered correctly: {' and '.join(parts)} ones.")
        words = [_SAID[word] for word in confusion.words]
        rows = [
            (word, *(f"{value:.2f}" for value in row))
            for word, row in zip(words, confusion.table, strict=True)
        ]
        pieces.append(
            TablePiece(f"{name.capitalize()} ({right} right)", ("right answer", *words), tuple(rows))
        )
    return Section("Right and wrong answers", tuple(paragraphs), tuple(pieces))


def _make_survey_section(report: StudyReport) -> Section:
    n = report.tables.n_surveys
    if n == 0:
        return Section("Questionnaire", ("Nobody has submitted the questionnaire yet.",))
    words = {"pair": "pairs", "triplet": "triplets", None: "nothing yet"}
    rows = [
        (
            row.title,
            *(f"{count}/{n}" for count in (row.pair, row.triplet, row.none)),
            words[find_preferred(row)],
        )
        for row in report.tables.survey
    ]
    head = ("", "pairs", "triplets", "no difference", "shown to be better")
    text = (
        f"How {format_count(n, 'participant')} compared the two tasks (Table 3.7). “Nothing yet” is a "
        "majority that chance explains (sign test at 5%)."
    )
    return Section("Questionnaire", (text,), (TablePiece("Which task was rated better", head, tuple(rows)),))


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
    ends = [(NAMES[method], curves.get("items", method)) for method in METHODS]
    scores = ", ".join(f"{name} {curve.mean[-1]:.2f}" for name, curve in ends)
    numbers = ", ".join(
        f"{name} {curve.n_used[-1]:.0f} of which {curve.n_correct[-1]:.0f} right" for name, curve in ends
    )
    figures: tuple[FigurePiece, ...] = ()
    try:
        figures = (
            FigurePiece(
                "Clustering from answers",
                f"F-measure over shares of the answers. With all answers: {scores}; without any "
                f"{curves.start:.2f}.",
                format_png(draw_scores(curves)),
            ),
            FigurePiece(
                "Answers used",
                f"Number of answers used at each share. With all answers: {numbers}.",
                format_png(draw_numbers(curves)),
            ),
        )
    except MissingDependencyError as error:
        paragraphs.append(f"The figures are missing: {error}")
    rows = [
        (
            f"{NAMES[curve.method]}, same {curve.budget}",
            *map(_format_interval, curve.mean, curve.low, curve.high),
        )
        for curve in curves.curves
    ]
    table = TablePiece("F-measure", ("", *(f"{part:.0%}" for part in curves.curves[0].parts)), tuple(rows))
    return Section("Clustering", tuple(paragraphs), (table,), figures)


def _format_interval(mean: float, low: float | None, high: float | None) -> str:
    return f"{mean:.3f}" if low is None or high is None else f"{mean:.3f} ({low:.2f} to {high:.2f})"
