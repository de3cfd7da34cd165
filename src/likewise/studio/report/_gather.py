"""Collect the content of a report from a project."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import __version__
from likewise.exceptions import LikewiseError
from likewise.studio.exports import Snapshot, build_hints, find_group_names
from likewise.studio.records import Item, Layout, Picture, Progress, Standing, StoredEvent
from likewise.studio.report._map_picture import map_picture
from likewise.studio.report._report_data import (
    AnswerShown,
    ConflictShown,
    GroupShown,
    HintsShown,
    ItemShown,
    PersonShown,
    ReportData,
    TimeShown,
)
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise.studio.project import Project
    from likewise.studio.study.study_report import Section

_TYPICAL, _DOUBTFUL = 6, 3  # examples per group
_MOST_GROUPS = 40  # further groups are listed without examples, which limits the size of the page
_MOST_CONFLICTS = 30
_MOST_HINTS = 200
_SIDE = 160  # pixels per side of a picture
_POINTS = 200  # maximum number of points of the curve
_ANSWER_WORDS = {"SAME": "together", "DIFFERENT": "apart", "UNSURE": "unsure", "NEITHER": "neither"}


@dataclass(frozen=True)
class DerivedResults:
    """What is derived from the events: provided by a running studio, or computed by
    :meth:`from_project`.
    """

    picture: Picture
    progress: Progress | None = None
    standing: Standing | None = None
    layout: Layout | None = None

    @classmethod
    def from_project(
        cls, project: Project, snapshot: Snapshot, *, picture_only: bool = False
    ) -> DerivedResults:
        """Compute it now, which takes as long as a fit."""
        from likewise.studio.jobs.brain import Brain
        from likewise.studio.jobs.layout import compute_near_layout

        X = project.load_features()
        brain = Brain(X, project.items.get_ids(), project.settings, project.get_kept_groups())
        brain.tell(snapshot.events)
        picture = brain.make_picture()
        if brain.rough:  # based on a sample of the rows; the next picture uses all
            picture = brain.make_picture()
        if picture_only:
            return cls(picture)
        progress = brain.compute_progress()
        for _ in range(_POINTS):
            if not brain.lags:
                break
            progress = brain.compute_progress()
        return cls(
            picture, progress, brain.compute_standing(), compute_near_layout(X, seed=project.settings.seed)
        )


def gather(
    project: Project,
    snapshot: Snapshot,
    derived: DerivedResults,
    *,
    now: datetime | None = None,
    curves: bool = True,
) -> ReportData:
    """Return the content of a report.

    Parameters
    ----------
    project : Project
        The project.
    snapshot : Snapshot
        The people and events of the project.
    derived : DerivedResults
        What was derived from the events.
    now : datetime, optional
        Date of the report; by default now.
    curves : bool, default=True
        Whether to compute the clusterings of a study: some seconds per participant.
    """
    ids = project.items.get_ids()
    picture, progress, standing = derived.picture, derived.progress, derived.standing
    groups = _make_groups(project, picture, find_group_names(picture, ids, snapshot.get_group_names()))
    seconds = [event.seconds for event in snapshot.answers if event.seconds is not None]
    answers = [event for event in snapshot.events if event.kind == "answer"]
    study = _make_study(project, snapshot, curves=curves)
    return ReportData(
        title=project.settings.title,
        kind=project.described.kind,
        n_items=project.described.n_items,
        features=project.described.features,
        made=(now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M %Z").strip(),
        version=__version__,
        folder=project.folder.name,
        n_clusters=len(picture.groups),
        n_answers=len(snapshot.answers),
        n_undone=sum(event.seq in snapshot.undone for event in answers),
        n_skipped=len(snapshot.log.get_standing("skip")),
        groups=groups,
        hints=_make_hints(build_hints(snapshot, ids), ids),
        map_picture=_map(derived, groups),
        map_method=derived.layout.method if derived.layout is not None else "",
        curve=progress.curve if progress is not None else (),
        advice=progress.advice if progress is not None else "",
        reason=progress.reason if progress is not None else "",
        accuracy=progress.accuracy if progress is not None else None,
        interval=progress.interval if progress is not None else None,
        people=_make_people(snapshot, standing),
        n_shared=standing.n_shared if standing is not None else 0,
        observed=standing.observed if standing is not None else None,
        alpha=standing.alpha if standing is not None else None,
        times=_make_times(snapshot.answers),
        seconds=tuple(seconds),
        conflicts=_make_conflicts(project, snapshot, picture, ids),
        n_conflicts=len(picture.conflicts),
        notes=tuple(filter(None, [*project.described.notes, project.describe_changed_source()])),
        study=study[0],
        study_figures=study[1],
    )


# ---------------------------------------------------------------------- items and groups


def _get_items_shown(project: Project, rows: Sequence[int]) -> tuple[ItemShown, ...]:
    return tuple(_make_item_shown(project, item) for item in project.items.get_items(rows))


def _make_item_shown(project: Project, item: Item) -> ItemShown:
    if item.media is None:
        return ItemShown(item.id, item.kind, item.title, text=item.text, cells=item.cells)
    from likewise.studio.media import make_spectrogram, make_thumbnail

    try:
        made = (
            make_spectrogram(project, item)
            if item.kind == "sound"
            else make_thumbnail(project, item, side=_SIDE)
        )
        with made as media:
            picture, kind = media.read(), media.content_type
    except LikewiseError as error:
        return ItemShown(item.id, item.kind, item.title, broken=str(error), text=item.text, cells=item.cells)
    return ItemShown(item.id, item.kind, item.title, picture, kind, item.text, item.cells)


def _make_groups(project: Project, picture: Picture, names: Mapping[int, str]) -> tuple[GroupShown, ...]:
    from likewise.studio.service._group_pages import get_color

    largest = sorted(picture.groups, key=lambda group: -group.size)[:_MOST_GROUPS]
    shown = {group.number for group in largest}
    found = []
    for group in picture.groups:
        typical: tuple[ItemShown, ...] = ()
        doubtful: tuple[ItemShown, ...] = ()
        if group.number in shown:
            first = group.typical[:_TYPICAL]
            unsure = [row for row in group.doubtful if row not in first and picture.doubt[row] > 0]
            typical, doubtful = (
                _get_items_shown(project, first),
                _get_items_shown(project, unsure[:_DOUBTFUL]),
            )
        color = get_color(group.number)
        found.append(GroupShown(group.number, names.get(group.number), group.size, color, typical, doubtful))
    return tuple(found)


def _map(derived: DerivedResults, groups: Sequence[GroupShown]) -> bytes | None:
    if derived.layout is None or not groups:
        return None
    colors = {group.number: group.color for group in groups}
    return map_picture(derived.layout.xy, derived.picture.labels, colors)


# ---------------------------------------------------------------------- people and answers


def _make_people(snapshot: Snapshot, standing: Standing | None) -> tuple[PersonShown, ...]:
    stands = {one.person: one for one in standing.people} if standing is not None else {}
    mine: dict[int, list[StoredEvent]] = defaultdict(list)
    for event in snapshot.answers:
        mine[event.person].append(event)
    found = []
    for person in snapshot.people.values():
        events, stand = mine[person.id], stands.get(person.id)
        if not events:
            continue
        seconds = [event.seconds for event in events if event.seconds is not None]
        found.append(
            PersonShown(
                name=person.name,
                role=person.role,
                n_answers=len(events),
                n_shared=stand.n_shared if stand else 0,
                n_unsure=sum(event.body["answer"] == "UNSURE" for event in events),
                accuracy=stand.accuracy if stand else None,
                reliability=stand.reliability if stand else None,
                seconds=median(seconds) if seconds else None,
            )
        )
    return tuple(found)


def _make_times(answers: Sequence[StoredEvent]) -> tuple[TimeShown, ...]:
    taken: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in answers:
        if event.seconds is not None:
            kind, word = str(event.body["kind"]), str(event.body["answer"])
            for name in ("any", _ANSWER_WORDS.get(word, "two of three")):
                taken[kind, name].append(event.seconds)
    found = []
    for (kind, word), seconds in taken.items():
        lower, middle, upper = (float(part) for part in np.percentile(seconds, [25, 50, 75]))
        found.append(TimeShown(kind, word, len(seconds), middle, lower, upper))
    return tuple(sorted(found, key=lambda one: (one.kind, -one.n, one.answer)))


def _make_conflicts(
    project: Project, snapshot: Snapshot, picture: Picture, ids: Sequence[str]
) -> tuple[ConflictShown, ...]:
    by_seq = {event.seq: event for event in snapshot.events}
    found = []
    for conflict in picture.conflicts[:_MOST_CONFLICTS]:
        answers = [
            AnswerShown(
                snapshot.get_name(event.person), event.time[:16].replace("T", " "), _describe_answer(event)
            )
            for seq in conflict.events
            if (event := by_seq.get(seq)) is not None
        ]
        chain = tuple(ids[row] for row in conflict.chain)
        found.append(ConflictShown(_get_items_shown(project, conflict.rows), chain, tuple(answers)))
    return tuple(found)


def _describe_answer(event: StoredEvent) -> str:
    """Return an answer in words.

    >>> body = {"kind": "triplet", "items": ["s1", "s2", "s3"], "answer": "AC"}
    >>> _describe_answer(StoredEvent(1, "k", "answer", 1, "", body))
    's1 and s3 together, s2 apart'
    """
    items, word = [str(item) for item in event.body["items"]], str(event.body["answer"])
    if word in _ANSWER_WORDS:
        return f"{', '.join(items[:-1])} and {items[-1]}: {_ANSWER_WORDS[word]}"
    pair = [items["ABC".index(letter)] for letter in word]
    odd = next(item for item in items if item not in pair)
    return f"{pair[0]} and {pair[1]} together, {odd} apart"


def _make_hints(hints: Supervision, ids: Sequence[str]) -> HintsShown:
    first: list[tuple[str, tuple[str, ...]]] = []
    for what, rows in (("together", hints.must), ("apart", hints.cannot)):
        first += [(what, tuple(ids[row] for row in pair)) for pair in rows[:_MOST_HINTS].tolist()]
    triplets = zip(hints.triplets[:_MOST_HINTS].tolist(), hints.answer_words[:_MOST_HINTS], strict=True)
    for rows, word in triplets:
        answer = "neither" if word == "NEITHER" else f"{word[0].lower()} and {word[1].lower()} together"
        first.append((answer, tuple(ids[row] for row in rows)))
    return HintsShown(
        len(hints.must) + len(hints.must_groups),
        len(hints.cannot),
        len(hints.triplets),
        tuple(first[:_MOST_HINTS]),
    )


def _make_study(
    project: Project, snapshot: Snapshot, *, curves: bool
) -> tuple[tuple[Section, ...], dict[str, Any] | None]:
    if project.settings.study is None:
        return (), None
    from likewise.studio.study import Study, StudyOptions
    from likewise.studio.study.study_report import make_study_report, make_study_sections

    items = project.items
    options = StudyOptions.from_json(project.settings.study)
    study = Study(project.load_features(), items.get_ids(), items.get_classes(), options)
    owners = [person.id for person in snapshot.people.values() if person.role == "owner"]
    report = make_study_report(study, snapshot.events, leave_out=owners, curves=curves)
    return tuple(make_study_sections(report)), report.to_json()
