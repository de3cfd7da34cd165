"""What a report tells, as plain records; nothing here knows a store, a model or HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from likewise.studio.study.study_report import Section

ItemKind = Literal["image", "sound", "text", "row"]


@dataclass(frozen=True)
class ItemShown:
    """An item to show: a picture, a text or cells, whatever it has."""

    id: str
    kind: ItemKind
    title: str
    picture: bytes | None = None
    picture_type: str = ""
    text: str | None = None
    cells: tuple[tuple[str, str], ...] = ()
    broken: str | None = None


@dataclass(frozen=True)
class GroupShown:
    """A group: how it is called, how many items it has, and some of them."""

    number: int
    name: str | None
    size: int
    color: str
    typical: tuple[ItemShown, ...] = ()
    doubtful: tuple[ItemShown, ...] = ()

    @property
    def title(self) -> str:
        """How people call it."""
        return self.name or f"Group {self.number + 1}"


@dataclass(frozen=True)
class PersonShown:
    """Somebody who answered; `accuracy` and `reliability` are known from shared questions only."""

    name: str
    role: str
    n_answers: int
    n_shared: int
    n_unsure: int
    accuracy: float | None
    reliability: float | None
    seconds: float | None  # the median


@dataclass(frozen=True)
class TimeShown:
    """How long questions of a kind took that got a certain answer, in seconds."""

    kind: str
    answer: str
    n: int
    median: float
    lower: float  # the quartiles
    upper: float


@dataclass(frozen=True)
class AnswerShown:
    """An answer behind a contradiction."""

    person: str
    time: str
    text: str


@dataclass(frozen=True)
class ConflictShown:
    """Answers that cannot all be true: `items` are said to be apart, `chain` leads from one to the other."""

    items: tuple[ItemShown, ...]
    chain: tuple[str, ...]  # ids
    answers: tuple[AnswerShown, ...]


@dataclass(frozen=True)
class HintsShown:
    """The hints by which the items are grouped, and the first of them in words."""

    n_must: int
    n_cannot: int
    n_triplets: int
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()  # what is said, and of which ids

    @property
    def n(self) -> int:
        """How many there are."""
        return self.n_must + self.n_cannot + self.n_triplets


@dataclass(frozen=True)
class ReportData:
    """All that a report tells.

    Attributes
    ----------
    title, kind, n_items, features : str, str, int, str
        What the project is about.
    made, version : str
        When the report was made, and by which likewise.
    folder : str
        The name of the project's folder, for the commands that the report shows.
    n_clusters : int
        How many groups there are.
    n_answers, n_undone, n_skipped : int
        How many answers count, how many were undone, how many questions were skipped.
    groups : tuple of GroupShown
        The groups, in the order of their numbers. Those without examples are listed only.
    map_picture : bytes or None
        The map as a PNG picture; `map_method` says how it was made.
    curve : tuple of (int, float)
        After so many answers, the share of items that changed their group over the last ten.
    advice : str
        Whether it is worth going on.
    accuracy, interval : float or None, (float, float) or None
        How often the grouping is right about questions that it was not told the answers of.
    people, n_shared, observed, alpha
        Who answered, and how far they agree.
    times, seconds : tuple of TimeShown, tuple of float
        How long questions took.
    conflicts : tuple of ConflictShown
        Contradictions.
    n_conflicts : int
        How many contradictions there are, shown or not.
    hints : HintsShown
        What was used.
    notes : tuple of str
        What else a reader should know.
    study : tuple of Section
        The sections of a study, if it is one.
    study_figures : mapping or None
        Its figures, as plain values.
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
