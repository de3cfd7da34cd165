"""Collect the content of a report from a project as plain records, independent of HTML."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likewise import __version__
from likewise._optional import require
from likewise._words import format_some
from likewise.exceptions import LikewiseError
from likewise.studio.exports import Snapshot, build_hints, find_group_names
from likewise.studio.records import (
    GroupDescriptions,
    Item,
    ItemKind,
    Layout,
    PeopleAgreement,
    Picture,
    Progress,
    StoredEvent,
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
_ANSWER_WORDS = {
    "SAME": "together",
    "DIFFERENT": "apart",
    "UNSURE": "unsure",
    "NEITHER": "neither",
    "NEW": "none of the groups",
}
_ANSWERS_ABOUT_GROUPS = {"placement": "a group", "members": "some apart", "label": "a name"}
_WIDTH, _HEIGHT, _RIM = 960, 640, 12  # of the map, in pixels


@dataclass(frozen=True)
class ItemShown(Item):
    """An item with the picture to show, or the reason why there is none."""

    picture: bytes | None = None
    picture_type: str = ""
    broken: str | None = None


@dataclass(frozen=True)
class GroupShown:
    """A group: its name, its size, some of its items, and the words or columns that set it apart."""

    number: int
    name: str | None
    size: int
    color: str
    typical: Sequence[ItemShown] = ()
    doubtful: Sequence[ItemShown] = ()
    description: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name of the group, or "Group" with its number."""
        return self.name or f"Group {self.number + 1}"


class PersonShown(NamedTuple):
    """A person who answered; `accuracy` and `reliability` are estimated from shared questions only."""

    name: str
    role: str
    n_answers: int
    n_unsure: int
    n_shared: int
    accuracy: float | None
    reliability: float | None
    seconds: float | None  # median


class TimeShown(NamedTuple):
    """Response times for one kind of question and one answer: number, median and quartiles in seconds."""

    kind: str
    answer: str
    n: int
    median: float
    lower: float
    upper: float


class AnswerShown(NamedTuple):
    """An answer that is part of a contradiction."""

    person: str
    time: str
    text: str


class ConflictShown(NamedTuple):
    """Answers that cannot all be true: `items` were answered DIFFERENT, but `chain` (of ids) joins them."""

    items: Sequence[ItemShown]
    chain: tuple[str, ...]
    answers: Sequence[AnswerShown]


class HintsShown(NamedTuple):
    """The hints from which the items are grouped, and the first of them as relation and ids."""

    n_must: int
    n_cannot: int
    n_triplets: int
    first: Sequence[tuple[str, tuple[str, ...]]] = ()

    @property
    def n(self) -> int:
        """The number of hints."""
        return self.n_must + self.n_cannot + self.n_triplets


@dataclass(frozen=True)
class ReportData:
    """The content of a report.

    Attributes
    ----------
    title, kind, n_items, features : str, str, int, str
        Title, kind, number and features of the items.
    made, version : str
        Date of the report, and version of likewise.
    folder : str
        The name of the project's folder, for the commands that the report shows.
    n_clusters : int
        Number of groups.
    n_answers, n_undone, n_skipped : int
        Number of answers that count, of undone answers, and of skipped questions.
    groups : tuple of GroupShown
        The groups, in the order of their numbers; groups without examples are only listed.
    map_picture : bytes or None
        The map as a PNG picture; `map_method` is the method that computed it.
    curve : tuple of (int, float)
        Number of answers, and the share of items that changed their group over the last ten.
    advice, reason : str
        Whether further answers are worthwhile, and the reason as one word (see likewise.active.Outlook).
    accuracy, interval : float or None, (float, float) or None
        Share of held-out answers that the grouping predicts correctly, and its interval.
    people, n_shared, observed, alpha
        The people who answered, and their agreement.
    times, seconds : tuple of TimeShown, tuple of float
        Response times.
    conflicts : tuple of ConflictShown
        Contradictions.
    n_conflicts : int
        Number of contradictions, shown or not.
    hints : HintsShown
        The hints used.
    notes : tuple of str
        Further remarks.
    study : tuple of Section
        The sections of a study, if it is one.
    study_figures : mapping or None
        The figures of the study, as plain values.
    """

    title: str
    kind: ItemKind
    n_items: int
    features: str
    made: str
    version: str
    folder: str
    n_clusters: int
    n_answers: int
    n_undone: int
    n_skipped: int
    groups: tuple[GroupShown, ...]
    hints: HintsShown
    map_picture: bytes | None = None
    map_method: str = ""
    curve: tuple[tuple[int, float], ...] = ()
    advice: str = ""
    reason: str = ""
    accuracy: float | None = None
    interval: tuple[float, float] | None = None
    people: tuple[PersonShown, ...] = ()
    n_shared: int = 0
    observed: float | None = None
    alpha: float | None = None
    times: tuple[TimeShown, ...] = ()
    seconds: tuple[float, ...] = ()
    conflicts: tuple[ConflictShown, ...] = ()
    n_conflicts: int = 0
    notes: tuple[str, ...] = ()
    study: tuple[Section, ...] = ()
    study_figures: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class DerivedResults:
    """What is derived from the events: provided by a running studio, or computed by
    :meth:`from_project`.
    """

    picture: Picture
    progress: Progress | None = None
    agreement: PeopleAgreement | None = None
    layout: Layout | None = None
    descriptions: GroupDescriptions | None = None

    @classmethod
    def from_project(
        cls, project: Project, snapshot: Snapshot, *, picture_only: bool = False
    ) -> DerivedResults:
        """Compute it now, which takes as long as a fit."""
        from likewise.studio.jobs.analysis import ProjectAnalysis
        from likewise.studio.jobs.layout import compute_near_layout

        analysis = ProjectAnalysis.from_project(project)
        analysis.tell(snapshot.events)
        picture = analysis.make_picture()
        if analysis.rough:  # based on a sample of the rows; the next picture uses all
            picture = analysis.make_picture()
        if picture_only:
            return cls(picture)
        progress = analysis.compute_progress()
        for _ in range(_POINTS):
            if not analysis.lags:
                break
            progress = analysis.compute_progress()
        return cls(
            picture,
            progress,
            analysis.compute_agreement(),
            compute_near_layout(analysis.X, seed=project.settings.seed),
            analysis.describe_groups(),
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
    picture = derived.picture
    progress = derived.progress or Progress(0, 0, None, None, None, None, False, "")
    agreement = derived.agreement or PeopleAgreement(0, None, None)
    groups = _make_groups(project, derived, find_group_names(picture, ids, snapshot.get_group_names()))
    answers = [event for event in snapshot.events if event.kind == "answer"]
    sections, figures = _make_study(project, snapshot, curves=curves)
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
        n_skipped=len(snapshot.log.get_not_undone("skip")),
        groups=groups,
        hints=_make_hints(build_hints(snapshot, ids), ids),
        map_picture=_draw_map(derived, groups),
        map_method=derived.layout.method if derived.layout is not None else "",
        curve=progress.curve,
        advice="" if project.settings.study else progress.advice,  # a study does not ask what is uncertain
        reason=progress.reason,
        accuracy=progress.accuracy,
        interval=progress.interval,
        people=_make_people(snapshot, agreement),
        n_shared=agreement.n_shared,
        observed=agreement.observed,
        alpha=agreement.alpha,
        times=_make_times(snapshot.answers),
        seconds=tuple(event.seconds for event in snapshot.answers if event.seconds is not None),
        conflicts=_make_conflicts(project, snapshot, picture, ids),
        n_conflicts=len(picture.conflicts),
        notes=tuple(
            filter(
                None,
                [*project.described.notes, project.describe_changed_source(), _describe_gone(picture, ids)],
            )
        ),
        study=sections,
        study_figures=figures,
    )


def _describe_gone(picture: Picture, ids: Sequence[str]) -> str | None:
    if not picture.gone:
        return None
    are = "1 item is" if len(picture.gone) == 1 else f"{len(picture.gone):,} items are"
    return f"{are} gone from the data and not asked about: {format_some([ids[row] for row in picture.gone])}."


# ---------------------------------------------------------------------- items and groups


def _get_items_shown(project: Project, rows: Sequence[int]) -> tuple[ItemShown, ...]:
    from likewise.studio.media import make_spectrogram, make_thumbnail

    found = []
    for item in project.items.get_items(rows):
        shown: dict[str, Any] = {}
        if item.media is not None:
            try:
                is_sound = item.kind == "sound"
                made = (
                    make_spectrogram(project, item) if is_sound else make_thumbnail(project, item, side=_SIDE)
                )
                with made as media:
                    shown = {"picture": media.read(), "picture_type": media.content_type}
            except LikewiseError as error:
                shown = {"broken": str(error)}
        found.append(ItemShown(**vars(item), **shown))
    return tuple(found)


def _make_groups(
    project: Project, derived: DerivedResults, names: Mapping[int, str]
) -> tuple[GroupShown, ...]:
    from likewise.studio.service._group_pages import get_color

    picture = derived.picture
    phrases = derived.descriptions.phrases if derived.descriptions is not None else {}
    largest = sorted(picture.groups, key=lambda group: -group.size)[:_MOST_GROUPS]
    found = []
    for group in picture.groups:
        shown: list[tuple[ItemShown, ...]] = [(), ()]
        if group in largest:
            first = group.typical[:_TYPICAL]
            unsure = [row for row in group.doubtful if row not in first and picture.doubt[row] > 0]
            shown = [_get_items_shown(project, rows) for rows in (first, unsure[:_DOUBTFUL])]
        found.append(
            GroupShown(
                number=group.number,
                name=names.get(group.number),
                size=group.size,
                color=get_color(group.number),
                typical=shown[0],
                doubtful=shown[1],
                description=phrases.get(group.number, ()),
            )
        )
    return tuple(found)


def _draw_map(derived: DerivedResults, groups: Sequence[GroupShown]) -> bytes | None:
    if derived.layout is None or not groups:
        return None
    colors = {group.number: group.color for group in groups}
    return map_picture(derived.layout.xy, derived.picture.labels, colors)


def map_picture(xy: npt.NDArray[np.float32], labels: npt.NDArray[np.int32], colors: dict[int, str]) -> bytes:
    """Return a PNG picture: a dot per item in the colour of its group, on a transparent background.

    The dots are written into an array, one offset of the dot shape at a time, so 10^6 dots cost only a few
    passes over the points.

    Parameters
    ----------
    xy : array of shape (n, 2)
        Position of each item in [0, 1] x [0, 1].
    labels : array of shape (n,)
        The group of each item.
    colors : dict of int to str
        The colour of each group, as "#rrggbb".
    """
    pillow = require("PIL.Image", extra="studio")
    n = len(xy)
    radius = 5 if n <= 300 else 4 if n <= 2_000 else 2 if n <= 20_000 else 1 if n <= 100_000 else 0
    place = np.clip(np.nan_to_num(np.asarray(xy, dtype=np.float64), nan=0.5), 0.0, 1.0)
    column = np.rint(_RIM + place[:, 0] * (_WIDTH - 1 - 2 * _RIM)).astype(np.intp)
    line = np.rint(_RIM + place[:, 1] * (_HEIGHT - 1 - 2 * _RIM)).astype(np.intp)
    palette = np.zeros((max([*colors, int(labels.max(initial=0))]) + 1, 3), dtype=np.uint8)
    for number, color in colors.items():
        palette[number] = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    picture = np.zeros((_HEIGHT, _WIDTH, 4), dtype=np.uint8)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            if dx * dx + dy * dy <= radius * (radius + 0.8):
                picture[line + dy, column + dx, :3] = palette[labels]
                picture[line + dy, column + dx, 3] = 255
    out = io.BytesIO()
    pillow.fromarray(picture, "RGBA").save(out, "PNG", optimize=True)
    return out.getvalue()


# ---------------------------------------------------------------------- people and answers


def _make_people(snapshot: Snapshot, agreement: PeopleAgreement) -> tuple[PersonShown, ...]:
    reliabilities = {one.person: one for one in agreement.people}
    events_of: dict[int, list[StoredEvent]] = defaultdict(list)
    for event in snapshot.answers:
        events_of[event.person].append(event)
    found = []
    for person in snapshot.people.values():
        if events := events_of[person.id]:
            seconds = [event.seconds for event in events if event.seconds is not None]
            known = reliabilities.get(person.id)
            found.append(
                PersonShown(
                    name=person.name,
                    role=person.role,
                    n_answers=len(events),
                    n_unsure=sum(event.body["answer"] == "UNSURE" for event in events),
                    n_shared=known.n_shared if known else 0,
                    accuracy=known.accuracy if known else None,
                    reliability=known.reliability if known else None,
                    seconds=median(seconds) if seconds else None,
                )
            )
    return tuple(found)


def _make_times(answers: Sequence[StoredEvent]) -> tuple[TimeShown, ...]:
    taken: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in answers:
        if event.seconds is not None:
            kind, word = str(event.body["kind"]), str(event.body["answer"])
            others = "two of three" if kind == "triplet" else _ANSWERS_ABOUT_GROUPS.get(kind, word)
            for name in ("any", _ANSWER_WORDS.get(word, others)):
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
    >>> body = {"kind": "placement", "items": ["s1", "s2", "s3"], "answer": {"groups": ["s3"]}}
    >>> _describe_answer(StoredEvent(1, "k", "answer", 1, "", body))
    's1 and s3 together, s1 and s2 apart'
    """
    if event.body["kind"] in ("placement", "members"):
        words = [f"{a} and {b} {'together' if same else 'apart'}" for a, b, same in event.relations]
        return ", ".join(sorted(words, key=lambda one: one.endswith("apart"))) or "unsure"
    if event.body["kind"] == "label":
        answer = event.body["answer"]
        return f"{event.body['items'][0]}: {answer if isinstance(answer, str) else answer['name']}"
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
