"""Frozen records that the parts of the studio exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from likewise._event_log import list_relations
from likewise._reasons import Reason
from likewise.exceptions import BadRequestError
from likewise.studio._repairs import list_repair_relations

Role = Literal["owner", "annotator"]
EventKind = Literal[
    "answer", "skip", "undo", "name", "survey", "stage", "confirm", "again", "broken", "repair"
]
_NO_REASON = Reason()
ItemKind = Literal["image", "sound", "text", "row"]
AskKind = Literal["default", "pairs", "triplets", "both", "groups"]
AskedKind = Literal["pair", "triplet", "placement", "members", "groups", "label"]
T = TypeVar("T")
QuestionKey = tuple[str, tuple[str, ...]]


def make_question_key(kind: str, items: Sequence[str]) -> QuestionKey:
    """Return what identifies a question regardless of the order of its items.

    The item to place, or the reference of members, stays first; see :class:`likewise.active.Question`.
    """
    if kind in ("placement", "members"):
        return kind, (items[0], *sorted(items[1:]))
    return kind, tuple(sorted(items))


def list_judged(kind: str, items: tuple[T, ...]) -> tuple[T, ...]:
    """Return the items or rows that an answer is about, without those that stand for groups."""
    if kind == "placement":
        return items[:1]
    if kind == "members":
        return items[1:]
    return items if kind in ("pair", "triplet") else ()


# ---------------------------------------------------------------------- people and events


@dataclass(frozen=True)
class Person:
    """A person who may log in."""

    id: int
    name: str
    role: Role
    active: bool = True
    created: str = ""  # ISO 8601, UTC


@dataclass(frozen=True)
class NewEvent:
    """An event to be stored.

    Attributes
    ----------
    key : str
        Chosen by the client, so that a request sent twice counts once.
    kind : {"answer", "skip", "undo", "name", "survey", "stage", "confirm", "again", "broken", "repair"}
        What happened.
    person : int
        Who did it.
    question : str or None
        The id of the queued question that is answered or skipped.
    seconds : float or None
        Response time.
    body : mapping
        The rest, as JSON; items are referred to by id, never by row number. For an answer or a skip:
        ``kind`` (as in :class:`QueuedQuestion`), ``items`` (list of ids), ``answer`` (not for a skip: a word,
        or {"groups": ids}, {"unlike": ids} or {"name": text}), ``source``, and, if available, ``score``,
        ``why`` (a sentence), ``reason`` (its template and items), ``note`` (of the person), and ``examples``
        and ``names`` of the groups that were shown. For an undo: ``of`` (the seq of the event). For a confirm
        (an answer is right) and an again (ask its question once more): ``of`` (the seq of the answer). For a
        name: ``item`` (an id, which identifies the group after a refit) and ``name``. For a broken item:
        ``item`` and, if given, ``note``. For a survey: the answers to the questionnaire. For a stage: ``to``,
        the stage of a study that was entered. For a repair, see :mod:`likewise.studio._repairs`.
    """

    key: str
    kind: EventKind
    person: int
    body: Mapping[str, Any]
    question: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event in the store; see :class:`NewEvent`."""

    seq: int
    key: str
    kind: EventKind
    person: int
    time: str  # ISO 8601, UTC, set by the store
    body: Mapping[str, Any]
    question: str | None = None
    seconds: float | None = None

    @property
    def undoes(self) -> int | None:
        """The seq of the event that an undo takes back; None for other kinds."""
        return int(self.body["of"]) if self.kind == "undo" else None

    @property
    def question_key(self) -> QuestionKey:
        """Identifies the question that was answered or skipped, regardless of the order of its items."""
        return make_question_key(self.body["kind"], self.body["items"])

    @property
    def relations(self) -> list[tuple[str, str, bool]]:
        """The pairs of items that an answer or a repair relates.

        See :func:`likewise._event_log.list_relations` and :mod:`likewise.studio._repairs`.
        """
        if self.kind == "repair":
            return list_repair_relations(self.body)
        return list_relations(self.body["kind"], self.body["items"], self.body["answer"])


@dataclass(frozen=True)
class QueuedQuestion:
    """A question that can be shown to a person.

    Attributes
    ----------
    id : str
        A random id; answers refer to it.
    kind : {"pair", "triplet", "placement", "members", "groups", "label"}
        The kind of question; see :class:`likewise.active.Question`.
    items : tuple of str
        The ids of the items, in the order in which they are shown. A group is represented by a reference
        item: a placement has the item, then the references; members have the reference, then the items.
    score : float or None
        The score given by the strategy.
    reason : Reason
        Why the question was chosen, in terms of item ids.
    examples : tuple of tuple of str
        The ids of typical items of each group in the question.
    names : tuple of (str or None)
        The name of each group in the question; for a label question the names in use.
    """

    id: str
    kind: AskedKind
    items: tuple[str, ...]
    score: float | None = None
    reason: Reason = _NO_REASON
    examples: tuple[tuple[str, ...], ...] = ()
    names: tuple[str | None, ...] = ()

    @property
    def key(self) -> QuestionKey:
        """Identifies the question regardless of the order of its items."""
        return make_question_key(self.kind, self.items)

    @property
    def references(self) -> tuple[str, ...]:
        """The reference items of the groups in the question; for a label question its item."""
        if self.kind == "placement":
            return self.items[1:]
        if self.kind == "members":
            return self.items[:1]
        return self.items if self.kind in ("groups", "label") else ()

    @property
    def judged(self) -> tuple[str, ...]:
        """The items that an answer is about, rather than groups that are shown by other items."""
        return list_judged(self.kind, self.items)

    def shows(self, item: str) -> bool:
        """Return True if an item is in the question, or is an example of a group in it."""
        return item in self.items or any(item in shown for shown in self.examples)


# ---------------------------------------------------------------------- a project


@dataclass(frozen=True)
class Settings:
    """The settings of a project, stored in its ``project.json``."""

    title: str
    ask: AskKind = "default"
    n_clusters: int | tuple[int, int] | None = None  # a number, a range, or unknown
    discover: bool = False
    overlap: int = 1
    seed: int = 0
    budget: int | None = None
    strategy: str | None = None
    database: str | None = None  # a URL without password; None for the project's SQLite file
    study: Mapping[str, Any] | None = None  # see likewise.studio.study
    independent: bool | None = None  # annotators see no groups and reasons; None: if overlap > 1

    @property
    def hides_groups(self) -> bool:
        """True if annotators are to be independent: they see neither groups nor why a question is asked."""
        return self.overlap > 1 if self.independent is None else self.independent

    def check_range(self) -> None:
        """Raise an error if a range of groups is combined with what needs a single number."""
        if not isinstance(self.n_clusters, tuple):
            return
        given = "{:,} to {:,}".format(*self.n_clusters)
        if self.study is not None:
            raise BadRequestError(f"A study needs one number of groups; got {given}.", "Give one number.")
        kind = self.strategy or self.ask
        if kind not in ("default", "groups"):
            raise BadRequestError(
                f"A range of groups needs questions about groups; got {given} with {kind!r}.",
                "Choose the default questions or those about groups, or give one number of groups.",
            )
        if self.discover:
            raise BadRequestError(
                f"With a range of groups ({given}), answers can already open groups.",
                "Turn off \u201cAnswers may open more groups\u201d, or leave the number of groups empty.",
            )

    def to_json(self) -> dict[str, Any]:
        """Return the settings as they are stored; an older likewise reads them unless it lacks one."""
        entries = asdict(self)
        if self.independent is None:
            del entries["independent"]
        return entries


@dataclass(frozen=True)
class Item:
    """An item that people look at.

    Attributes
    ----------
    row : int
        Row in the matrix of features.
    id : str
        Its id in files and on pages.
    kind : {"image", "sound", "text", "row"}
        What is shown.
    title : str
        A one-line title.
    text : str or None
        The text, for kind "text".
    cells : tuple of (str, str)
        Columns and values of a "row"; additional columns of the other kinds.
    media : str or None
        Path of an "image" or "sound" file, relative to the folder of the data.
    truth : str or None
        The true class, if known. Never shown to annotators.
    part : tuple of float
        The part of the file that is the item: start and stop of a "sound" in seconds, or left, top, width and
        height of an "image" in pixels; empty for the whole file.
    """

    row: int
    id: str
    kind: ItemKind
    title: str
    text: str | None = None
    cells: tuple[tuple[str, str], ...] = ()
    media: str | None = None
    truth: str | None = None
    part: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Addition:
    """What a project had when items were added to it last.

    Attributes
    ----------
    sizes : tuple of int
        The number of items before each addition, the first one first.
    seq : int
        The last event that the groups of that moment include.
    labels : ndarray of int or None
        The group of each item then; None if there were no groups yet.
    changed : tuple of int
        The rows of older items whose content changed with the addition.
    """

    sizes: tuple[int, ...]
    seq: int
    labels: npt.NDArray[np.int32] | None
    changed: tuple[int, ...] = ()


# ---------------------------------------------------------------------- derived state


@dataclass(frozen=True)
class Group:
    """A cluster as shown on the pages: its number, its size and some of its rows."""

    number: int
    size: int
    typical: tuple[int, ...]  # most typical rows first
    doubtful: tuple[int, ...]  # most doubtful rows first


@dataclass(frozen=True)
class Conflict:
    """Answers that cannot all be true.

    `rows` are the two rows answered DIFFERENT, `chain` leads from one to the other, and `events` are the seqs
    of the answers involved.
    """

    rows: tuple[int, ...]
    chain: tuple[int, ...]
    events: tuple[int, ...]


@dataclass(frozen=True)
class SuspectAnswer:
    """An answer that is probably wrong.

    Attributes
    ----------
    rows : tuple of int
        The rows of its question.
    events : tuple of int
        The seqs of the answers: more than one if several people gave it.
    chance : float
        The probability that it is wrong.
    n_against, n_near : int
        Number of other answers and of neighbouring items that contradict it.
    """

    rows: tuple[int, ...]
    events: tuple[int, ...]
    chance: float
    n_against: int
    n_near: int


@dataclass(frozen=True, eq=False)
class Picture:
    """The grouping that follows from all events up to `seq`."""

    seq: int
    labels: npt.NDArray[np.int32]
    doubt: npt.NDArray[np.float32]  # of each row: 0 is certain, 1 is entirely uncertain
    groups: tuple[Group, ...]
    conflicts: tuple[Conflict, ...]
    links: npt.NDArray[np.int32]  # (m, 3): two rows, then 1 for SAME or 0 for DIFFERENT
    seconds: float  # duration of the fit
    suspects: tuple[SuspectAnswer, ...] = ()  # most suspicious first
    unplaced: tuple[int, ...] = ()  # rows of the last addition that fit nowhere
    shelf: tuple[int, ...] = ()  # rows that belong to no group, by a repair; they still have a label
    gone: tuple[int, ...] = ()  # rows of items that are gone from the data

    @property
    def shown_labels(self) -> npt.NDArray[np.int32]:
        """The group of each row, or -1 for rows on the shelf."""
        if not self.shelf:
            return self.labels
        labels = self.labels.copy()
        labels[list(self.shelf)] = -1
        return labels


@dataclass(frozen=True)
class GroupDescriptions:
    """What sets each group apart in the picture of `seq`.

    `phrases` has, by the number of the group, keywords of texts or columns of a table; `names` has
    names made of them.
    """

    seq: int
    phrases: Mapping[int, tuple[str, ...]]
    names: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PersonReliability:
    """The estimated reliability of one person, from questions that others answered too."""

    person: int
    n_answers: int
    n_shared: int
    n_unsure: int
    accuracy: float | None
    reliability: float | None
    seconds: float | None  # median response time


@dataclass(frozen=True)
class PeopleAgreement:
    """The agreement between people."""

    n_shared: int
    observed: float | None
    alpha: float | None
    people: tuple[PersonReliability, ...] = ()


@dataclass(frozen=True)
class Progress:
    """The progress of the interview; see :class:`likewise.active.Outlook`."""

    seq: int
    n_answers: int
    changed: float | None
    gain: float | None
    accuracy: float | None
    interval: tuple[float, float] | None
    worth_asking: bool
    advice: str
    curve: tuple[tuple[int, float], ...] = ()  # (answers, share of labels changed over the last ten)
    error_rate: tuple[float, float, float] | None = None  # estimated share of wrong answers: mean, low, high
    reason: str = ""  # the reason of the advice as one word


# ---------------------------------------------------------------------- between server and worker


@dataclass(frozen=True)
class Tell:
    """Message to the worker: stored events in order, and the number of questions to have ready.

    `pending` are questions that people are looking at; they must not be chosen again. With `reload`, the
    project is opened again, and `events` contains every event so far.
    """

    events: tuple[StoredEvent, ...]
    wanted: int
    pending: tuple[QueuedQuestion, ...] = ()
    reload: bool = False


@dataclass(frozen=True)
class Ready:
    """Message from the worker: questions based on events up to `seq`; if none, `finished` is the reason."""

    seq: int
    questions: tuple[QueuedQuestion, ...]
    finished: str | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """Message from the worker: map positions in [0, 1] x [0, 1]; `final` if no better map follows."""

    xy: npt.NDArray[np.float32]
    method: str
    final: bool


@dataclass(frozen=True)
class Trouble:
    """Message from the worker: something failed; `text` describes it for the owner."""

    text: str


FromWorker = Ready | Picture | GroupDescriptions | Progress | PeopleAgreement | Layout | Trouble


@dataclass(frozen=True)
class Described:
    """A description of all items of a project."""

    kind: ItemKind
    n_items: int
    columns: tuple[str, ...] = ()
    has_truth: bool = False
    features: str = ""  # a phrase, such as "64 numbers from images of 16 x 16 pixels"
    notes: tuple[str, ...] = field(default=())
