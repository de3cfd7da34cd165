"""What the parts of the studio say to one another: small frozen records, and no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from likewise._reasons import Reason

Role = Literal["owner", "annotator"]
EventKind = Literal["answer", "skip", "undo", "name", "survey", "stage", "confirm", "again"]
_NO_REASON = Reason()
ItemKind = Literal["image", "sound", "text", "row"]
AskKind = Literal["pairs", "triplets", "both"]
Source = Literal["question", "groups", "import", "study", "practice"]


# ---------------------------------------------------------------------- people and events


@dataclass(frozen=True)
class Person:
    """Somebody who may log in."""

    id: int
    name: str
    role: Role
    active: bool = True
    created: str = ""  # ISO 8601, UTC


@dataclass(frozen=True)
class NewEvent:
    """Something that happened and is to be kept.

    Attributes
    ----------
    key : str
        Made by whoever reports it, so that a report that is repeated counts once.
    kind : {"answer", "skip", "undo", "name", "survey", "stage", "confirm", "again"}
        What happened.
    person : int
        Who did it.
    question : str or None
        The id of the queued question that is answered or skipped.
    seconds : float or None
        How long it took.
    body : mapping
        The rest, as JSON. It speaks of item ids, never of row numbers. Of an answer or a skip: ``kind``
        ("pair" or "triplet"), ``items`` (list of ids), ``answer`` (a word, not for a skip), ``source``, and
        ``score``, ``why`` (a sentence) and ``reason`` (its template and items) if there are any; of an undo:
        ``of`` (the seq of the event); of a confirm, which says that an answer is right, and of an again,
        which has its question asked once more: ``of`` (the seq of the answer); of a name: ``item``
        (an id, by which the group is found again after a refit) and ``name``; of a survey: the
        questionnaire's answers; of a stage: ``to``, the stage of a study that was entered.
    """

    key: str
    kind: EventKind
    person: int
    body: Mapping[str, Any]
    question: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class StoredEvent:
    """An event that is safely on disk; see :class:`NewEvent`."""

    seq: int
    key: str
    kind: EventKind
    person: int
    time: str  # ISO 8601, UTC, set by the store
    body: Mapping[str, Any]
    question: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class QueuedQuestion:
    """A question that can be put to somebody.

    Attributes
    ----------
    id : str
        A random name, by which it is answered.
    kind : {"pair", "triplet"}
        What is asked.
    items : tuple of str
        The ids of the items, in the order in which they are shown.
    score : float or None
        As the strategy says.
    reason : Reason
        Why it was chosen, about the ids of items.
    """

    id: str
    kind: Literal["pair", "triplet"]
    items: tuple[str, ...]
    score: float | None = None
    reason: Reason = _NO_REASON


# ---------------------------------------------------------------------- a project


@dataclass(frozen=True)
class Settings:
    """What was asked for when the project was made; kept in its ``project.json``."""

    title: str
    ask: AskKind = "pairs"
    n_clusters: int | None = None
    discover: bool = False
    overlap: int = 1
    seed: int = 0
    budget: int | None = None
    strategy: str | None = None
    database: str | None = None  # a URL without its password; None is the SQLite file of the project
    study: Mapping[str, Any] | None = None  # see likewise.studio.study


@dataclass(frozen=True)
class Item:
    """One thing to look at.

    Attributes
    ----------
    row : int
        Its row in the matrix of features.
    id : str
        How people and files call it.
    kind : {"image", "sound", "text", "row"}
        How it is shown.
    title : str
        A short line.
    text : str or None
        The text of a "text".
    cells : tuple of (str, str)
        Column and value of a "row", and further columns of the others.
    media : str or None
        The path of the file relative to the folder of the data, for an "image" or a "sound".
    truth : str or None
        The true class, where it is known. Never shown to annotators.
    """

    row: int
    id: str
    kind: ItemKind
    title: str
    text: str | None = None
    cells: tuple[tuple[str, str], ...] = ()
    media: str | None = None
    truth: str | None = None


# ---------------------------------------------------------------------- what is derived


@dataclass(frozen=True)
class Group:
    """A cluster as it is shown: its number, how many items it has, and rows to show."""

    number: int
    size: int
    typical: tuple[int, ...]  # rows, the most typical first
    doubtful: tuple[int, ...]  # rows, the most doubtful first


@dataclass(frozen=True)
class Conflict:
    """Answers that cannot all be true.

    `rows` were said to be apart, `chain` leads from the one to the other, and `events` are the seqs of the
    answers behind it.
    """

    rows: tuple[int, ...]
    chain: tuple[int, ...]
    events: tuple[int, ...]


@dataclass(frozen=True)
class OddAnswer:
    """An answer that looks wrong.

    Attributes
    ----------
    rows : tuple of int
        The rows of its question.
    events : tuple of int
        The seqs of the answers; several if several people gave it.
    chance : float
        The probability that it is wrong.
    n_against, n_near : int
        How many other answers and how many near items speak against it.
    """

    rows: tuple[int, ...]
    events: tuple[int, ...]
    chance: float
    n_against: int
    n_near: int


@dataclass(frozen=True, eq=False)
class Picture:
    """The grouping by all that was told up to the event `seq`."""

    seq: int
    labels: npt.NDArray[np.int32]
    doubt: npt.NDArray[np.float32]  # 0 sure to 1 not sure at all, of each row
    groups: tuple[Group, ...]
    conflicts: tuple[Conflict, ...]
    links: npt.NDArray[np.int32]  # (m, 3): two rows, and 1 together or 0 apart, as answered
    seconds: float  # how long it took
    odd: tuple[OddAnswer, ...] = ()  # most suspicious first


@dataclass(frozen=True)
class PersonStanding:
    """What is thought of one person's answers, from questions that somebody else answered too."""

    person: int
    n_answers: int
    n_shared: int
    n_unsure: int
    accuracy: float | None
    reliability: float | None
    seconds: float | None  # the median


@dataclass(frozen=True)
class Standing:
    """How far people agree."""

    n_shared: int
    observed: float | None
    alpha: float | None
    people: tuple[PersonStanding, ...] = ()


@dataclass(frozen=True)
class Progress:
    """How far the interview has come; see :class:`likewise.active.Outlook`."""

    seq: int
    n_answers: int
    changed: float | None
    gain: float | None
    accuracy: float | None
    interval: tuple[float, float] | None
    worth_asking: bool
    advice: str
    curve: tuple[tuple[int, float], ...] = ()  # (answers, share of labels that changed over the last ten)
    error_rate: tuple[float, float, float] | None = None  # share of wrong answers: mean, low, high


# ---------------------------------------------------------------------- between server and worker


@dataclass(frozen=True)
class Tell:
    """To the worker: events that are on disk, in order, and how many questions to have ready.

    `pending` are questions that people are looking at, which must not be chosen again.
    """

    events: tuple[StoredEvent, ...]
    wanted: int
    pending: tuple[QueuedQuestion, ...] = ()


@dataclass(frozen=True)
class Ready:
    """From the worker: questions by all that was told up to `seq`. None left: `finished` says why."""

    seq: int
    questions: tuple[QueuedQuestion, ...]
    finished: str | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """From the worker: where each row is on the map, in [0, 1] x [0, 1]; `final` if no better one follows."""

    xy: npt.NDArray[np.float32]
    method: str
    final: bool


@dataclass(frozen=True)
class Trouble:
    """From the worker: something failed; `text` says what, for the owner."""

    text: str


FromWorker = Ready | Picture | Progress | Standing | Layout | Trouble


@dataclass(frozen=True)
class Described:
    """What the studio knows of its items as a whole."""

    kind: ItemKind
    n_items: int
    columns: tuple[str, ...] = ()
    has_truth: bool = False
    features: str = ""  # in words, such as "64 numbers from images of 16 x 16 pixels"
    notes: tuple[str, ...] = field(default=())
