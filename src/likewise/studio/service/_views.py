"""JSON views of records: a type and a function for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic cannot document the one in Python 3.11

from likewise._reasons import Reason
from likewise.exceptions import render
from likewise.studio.records import AskedKind, AskKind, Item, Person

AnswerView = str | dict[str, Any]


class ItemView(TypedDict):
    """An item to show, without its true class."""

    row: int
    id: str
    kind: Literal["image", "sound", "text", "row"]
    title: str
    text: str | None
    cells: list[tuple[str, str]]
    media: str | None
    thumb: str | None
    spectrogram: str | None
    broken: str | None


class ShownGroupView(TypedDict):
    """A group in a question: its name, if it has one, and typical items."""

    name: str | None
    items: list[ItemView]


class ColumnView(TypedDict):
    """What is usual in a column: its range if it has numbers, its levels if it is a category.

    `typical` is the typical difference of two rows, `middle` has the quartiles, and all numbers are shown
    with `decimals`.
    """

    name: str
    typical: float
    low: float | None
    high: float | None
    middle: tuple[float, float] | None
    decimals: int
    levels: list[str]


class ProfileView(TypedDict):
    """What is usual among `n` sampled items; `words` has the number of items with each common word."""

    n: int
    columns: list[ColumnView]
    words: list[tuple[str, int]]


class QuestionView(TypedDict):
    """A question to show; `names` are the names in use, which a label question offers."""

    id: str
    kind: AskedKind
    text: str
    why: str
    items: list[ItemView]
    groups: list[ShownGroupView]
    names: list[str]
    practice: bool
    until: float


class AskedView(TypedDict):
    """The question that an event refers to."""

    kind: str
    items: list[ItemView]
    groups: list[ShownGroupView]


class EventView(TypedDict):
    """An event of the history.

    `answer` is a word or, in terms of the numbers shown, the number of a group, the numbers of the items that
    do not belong, or a name. `relations` has the rows that it relates, each with 1 for together or 0. A
    repair has a `sentence`, and shows some of its `n_items` items.
    """

    seq: int
    kind: str
    time: str
    person: str
    mine: bool
    question: AskedView | None
    question_id: str | None
    answer: AnswerView | None
    relations: list[tuple[int, int, int]]
    seconds: float | None
    source: str | None
    name: str | None
    note: str | None
    sentence: str | None
    n_items: int
    undone: bool
    can_undo: bool


class HistoryView(TypedDict):
    """A page of the history, newest first."""

    events: list[EventView]
    more: bool


class QuestionsView(TypedDict):
    """Questions to show, or why there are none."""

    questions: list[QuestionView]
    state: Literal["ready", "thinking", "finished"]
    message: str | None


class ProgressView(TypedDict):
    """The progress of the interview.

    `version` has the number of the last event, and those of the last events that the groups and the numbers
    about them include.
    """

    version: tuple[int, int, int]
    n_answers: int
    mine: int
    changed: float | None
    gain: float | None
    accuracy: float | None
    interval: tuple[float, float] | None
    worth_asking: bool
    advice: str
    reason: str
    curve: list[tuple[int, float]]
    groups: int
    conflicts: int
    suspects: int
    error_rate: tuple[float, float, float] | None
    fitting: bool
    behind: int


class AnsweredView(TypedDict):
    """The result of an answer."""

    seq: int
    new: bool
    next: list[QuestionView]
    state: Literal["ready", "thinking", "finished"]
    message: str | None
    right: str | None
    progress: ProgressView


class UndoneView(TypedDict):
    """The event that was undone, and its question, to be answered again."""

    seq: int
    undone: EventView
    question: QuestionView | None


class GroupView(TypedDict):
    """A group with some of its members; `description` has keywords of texts, or columns of a table.

    `suggestion` is a name made of these, if it has no name.
    """

    number: int
    name: str | None
    size: int
    color: str
    description: list[str]
    suggestion: str | None
    typical: list[ItemView]
    doubtful: list[ItemView]


class GroupsView(TypedDict):
    """All groups, based on events up to `seq`; `n_shelf` items belong to none.

    `wanted` is the number of groups that was set, after splits and merges; None if it is open or a range.
    """

    seq: int
    groups: list[GroupView]
    n_shelf: int
    wanted: int | None


class FoundItemView(TypedDict):
    """An item and the number of its group; None if it is in none."""

    item: ItemView
    group: int | None


class FoundView(TypedDict):
    """Items that a search found: the first of them, and the rows of all; `more` if there are others."""

    items: list[FoundItemView]
    rows: list[int]
    more: bool


class GroupLabelView(TypedDict):
    """A group as a label; it may no longer exist."""

    number: int
    name: str | None
    color: str


class MoveView(TypedDict):
    """An item that changed its group; None is no group."""

    item: ItemView
    before: GroupLabelView | None
    after: GroupLabelView | None


class MovesView(TypedDict):
    """The items that changed their groups with a refit, after these numbers of answers and repairs."""

    seq: int
    n: int
    n_answers: int
    n_repairs: int
    items: list[MoveView]


class StatedView(TypedDict):
    """The result of a statement about groups."""

    seq: int
    new: bool
    message: str


class ItemsView(TypedDict):
    """Some items."""

    items: list[ItemView]


class MembersView(TypedDict):
    """A page of a group's members."""

    items: list[ItemView]
    total: int


class ConflictView(TypedDict):
    """Answers that cannot all be true."""

    items: list[ItemView]
    chain: list[ItemView]
    answers: list[EventView]


class ConflictsView(TypedDict):
    """All conflicts that the reader may see."""

    conflicts: list[ConflictView]
    hidden: int


class SuspectAnswerView(TypedDict):
    """An answer that looks wrong: the probability, and the evidence against it."""

    items: list[ItemView]
    answers: list[EventView]
    chance: float
    n_against: int
    n_near: int


class SuspectAnswersView(TypedDict):
    """Answers that look wrong, most suspicious first; `hidden` counts those of other people."""

    suspects: list[SuspectAnswerView]
    hidden: int


class ReferenceGroupView(TypedDict):
    """Examples of a group."""

    name: str
    items: list[ItemView]


class ReferenceView(TypedDict):
    """The reference book: examples of each group."""

    groups: list[ReferenceGroupView]
    given: bool


class PersonView(TypedDict):
    """A person, as shown to the owner."""

    id: int
    name: str
    role: Literal["owner", "annotator"]
    active: bool
    n_answers: int
    n_shared: int
    accuracy: float | None
    reliability: float | None
    seconds: float | None


class AgreementView(TypedDict):
    """The agreement between people."""

    n_shared: int
    observed: float | None
    alpha: float | None


class PeopleView(TypedDict):
    """All people."""

    people: list[PersonView]
    agreement: AgreementView


class InvitedView(TypedDict):
    """A new person and their one-time login link."""

    person: PersonView
    link: str


class LinkView(TypedDict):
    """A one-time login link."""

    link: str


class WhoView(TypedDict):
    """The person who is logged in."""

    id: int
    name: str
    role: Literal["owner", "annotator"]


class ProjectView(TypedDict):
    """The project; the id distinguishes projects with the same title.

    `shows_groups` is false if the reader is to answer independently of the groups.
    """

    id: str
    title: str
    kind: Literal["image", "sound", "text", "row"]
    n_items: int
    ask: AskKind
    overlap: int
    n_clusters: int | tuple[int, int] | None
    discover: bool
    study: bool
    criterion: str
    has_guide: bool
    shows_groups: bool
    features: str
    notes: list[str]


class MeView(TypedDict):
    """What a page needs to know first."""

    person: WhoView
    project: ProjectView
    version: str


class TaskView(TypedDict):
    """A person's progress in a task of a study."""

    number: int
    of: int
    kind: Literal["pair", "triplet"]
    n: int
    done: int
    data_set: str


class StudyView(TypedDict):
    """A person's stage in a study."""

    stage: str
    task: TaskView | None
    reference: bool
    answers: list[str]


class ParticipantView(TypedDict):
    """A participant: the stage, answered and planned questions that count, seconds of these, last event."""

    id: int
    name: str
    active: bool
    stage: str
    done: int
    n: int
    seconds: float
    last: str | None


class ParticipantsView(TypedDict):
    """All participants; `n_finished` have answered everything, and the questionnaire."""

    participants: list[ParticipantView]
    n_finished: int


class LinksView(TypedDict):
    """Answered pairs, each with 1 for together or 0 for apart."""

    links: list[tuple[int, int, int]]


class UploadView(TypedDict):
    """A file that was received, and what refers to it until it is added."""

    upload: str
    name: str


class AddedView(TypedDict):
    """The result of an addition."""

    new: bool
    n: int
    n_items: int
    message: str


class PlacedItemView(TypedDict):
    """A new item with its group, and how uncertain that is, from 0 to 1."""

    item: ItemView
    group: GroupLabelView
    doubt: float


class AdditionView(TypedDict):
    """The items that joined last, `fitting` until they have groups, and those that are gone.

    `placed` has the most uncertain of those that fit into a group first.
    """

    n_items: int
    n_new: int
    placed: list[PlacedItemView]
    n_unplaced: int
    unplaced: list[ItemView]
    n_gone: int
    gone: list[ItemView]
    fitting: bool


class SetupView(TypedDict):
    """What the owner can set; `defaults` has the questions that are asked without a wording."""

    title: str
    criterion: str
    questions: dict[str, str]
    defaults: dict[str, str]
    guideline: str
    examples: list[ReferenceGroupView]
    n_clusters: int | tuple[int, int] | None
    discover: bool
    ask: AskKind
    overlap: int
    budget: int | None
    independent: bool | None
    study: bool


class GuideView(TypedDict):
    """What people read before they answer; the text refers to `items` by their rows."""

    title: str
    criterion: str
    text: str
    items: list[ItemView]
    examples: list[ReferenceGroupView]


class GuidePictureView(TypedDict):
    """A picture that was received for the guideline."""

    picture: str


class BrokenItemView(TypedDict):
    """An item that cannot be judged: who reported it, and when."""

    seq: int
    item: ItemView
    person: str
    time: str
    note: str | None


class BrokenItemsView(TypedDict):
    """The items that cannot be judged, the latest first."""

    items: list[BrokenItemView]


class DoneView(TypedDict):
    """A confirmation."""

    done: bool


def make_item_view(item: Item) -> ItemView:
    """Return the view of an item.

    If each class has a folder, the folder is left out: it would reveal the class.
    """
    base = f"api/items/{item.row}"
    folder = f"{item.truth}/" if item.truth is not None else ""
    image, sound = item.kind == "image", item.kind == "sound"
    return {
        "row": item.row,
        "id": item.id.removeprefix(folder),
        "kind": item.kind,
        "title": item.title.removeprefix(folder),
        "text": item.text,
        "cells": [(column, value) for column, value in item.cells],
        "media": f"{base}/media" if image or sound else None,
        "thumb": f"{base}/thumb" if image else None,
        "spectrogram": f"{base}/spectrogram" if sound else None,
        "broken": None,
    }


def write_reason(reason: Reason, names: Mapping[str, str] | None = None) -> str:
    """Return why a question is asked, with the names of items."""
    named = {str(id): str(id) for id in reason.rows} | dict(names or {})
    words = {"row": "item", "rows": "items", "things": "items"}
    return render(reason, named, words=words) if reason else ""


def make_who_view(person: Person) -> WhoView:
    """Return the view of the person who is logged in."""
    return {"id": person.id, "name": person.name, "role": person.role}


def make_person_view(person: Person, known: Any) -> PersonView:
    """Return the view of a person with their estimated reliability."""
    return {
        "id": person.id,
        "name": person.name,
        "role": person.role,
        "active": person.active,
        "n_answers": known.n_answers if known else 0,
        "n_shared": known.n_shared if known else 0,
        "accuracy": known.accuracy if known else None,
        "reliability": known.reliability if known else None,
        "seconds": known.seconds if known else None,
    }
