"""The content of a report as plain records, independent of store, model and HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from likewise.studio.study.study_report import Section

ItemKind = Literal["image", "sound", "text", "row"]


@dataclass(frozen=True)
class ItemShown:
    """An item to show: with a picture, a text or cells."""

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
    """A group: its name, its size and some of its items."""

    number: int
    name: str | None
    size: int
    color: str
    typical: tuple[ItemShown, ...] = ()
    doubtful: tuple[ItemShown, ...] = ()

    @property
    def title(self) -> str:
        """The name of the group, or "Group" with its number."""
        return self.name or f"Group {self.number + 1}"


@dataclass(frozen=True)
class PersonShown:
    """A person who answered; `accuracy` and `reliability` are estimated from shared questions only."""

    name: str
    role: str
    n_answers: int
    n_shared: int
    n_unsure: int
    accuracy: float | None
    reliability: float | None
    seconds: float | None  # median


@dataclass(frozen=True)
class TimeShown:
    """Response times, in seconds, for one kind of question and one answer."""

    kind: str
    answer: str
    n: int
    median: float
    lower: float  # quartiles
    upper: float


@dataclass(frozen=True)
class AnswerShown:
    """An answer that is part of a contradiction."""

    person: str
    time: str
    text: str


@dataclass(frozen=True)
class ConflictShown:
    """Answers that cannot all be true: `items` were answered DIFFERENT, but `chain` joins them."""

    items: tuple[ItemShown, ...]
    chain: tuple[str, ...]  # ids
    answers: tuple[AnswerShown, ...]


@dataclass(frozen=True)
class HintsShown:
    """The hints from which the items are grouped, and the first of them in words."""

    n_must: int
    n_cannot: int
    n_triplets: int
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()  # relation and ids

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
