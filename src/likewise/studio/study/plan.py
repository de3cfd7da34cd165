"""The plan of a study and the progress of participants, derived from person and events.

Everyone answers both kinds of question (a within-subject design, as in Pei 2017, 3.5.1), about each data set
if there are several. The orders alternate between participants, so that neither kind and no data set
benefits from coming second.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from likewise.exceptions import StudyError
from likewise.studio._stored_events import StoredEventLog
from likewise.studio.records import Item, QueuedQuestion, StoredEvent
from likewise.studio.study.options import QuestionKind, StudyOptions
from likewise.studio.study.pool import StudyQuestion, draw_pool, find_right_answer, make_marked_pool

StageName = Literal["intro", "practice", "break", "task", "survey", "done"]

KINDS: tuple[QuestionKind, QuestionKind] = ("pair", "triplet")
# UNSURE is not offered: the thesis had yes and no, and three pairs and "otherwise".
ALLOWED: dict[QuestionKind, tuple[str, ...]] = {
    "pair": ("SAME", "DIFFERENT"),
    "triplet": ("AB", "AC", "BC", "NEITHER"),
}
TEXTS: dict[QuestionKind, str] = {
    "pair": "Do these two belong to the same class?",
    "triplet": "Which two belong to the same class, without the third? Choose “No two” if there are none.",
}


@dataclass(frozen=True)
class PlannedQuestion:
    """A question of a participant's plan. `truth` leaves the server only for practice, after the answer."""

    id: str
    asked: StudyQuestion
    items: tuple[str, ...]

    @property
    def queued(self) -> QueuedQuestion:
        """The question as it is shown, without the right answer."""
        return QueuedQuestion(id=self.id, kind=self.asked.kind, items=self.items)


@dataclass(frozen=True)
class StudyPart:
    """The questions of the practice (number 0) or of a task, and the data set that they are about."""

    number: int
    questions: tuple[PlannedQuestion, ...]
    data_set: str = ""

    @property
    def to(self) -> str:
        """The value of ``to`` in the event that enters this part."""
        return f"task {self.number}" if self.number else "practice"


@dataclass(frozen=True)
class TaskProgress:
    """A person's progress in a task; number 0 is the practice. `data_set` is empty if there is only one."""

    number: int
    of: int
    kind: QuestionKind
    n: int
    done: int
    data_set: str = ""


@dataclass(frozen=True)
class Stage:
    """The stage of a person in a study.

    Attributes
    ----------
    name : {"intro", "practice", "break", "task", "survey", "done"}
        A break comes before each task and ends when the participant is ready.
    task : TaskProgress or None
        The current practice or task, or the one after the break.
    answers : tuple of str
        The answers offered; empty outside of practice and tasks.
    reference : bool
        True if there is a reference book.
    """

    name: StageName
    task: TaskProgress | None
    answers: tuple[str, ...]
    reference: bool
    allows_undo: bool = False  # nor a skip: answers are final, as in the thesis

    def to_json(self) -> dict[str, Any]:
        """Return the stage as JSON values for the page."""
        return {
            "stage": self.name,
            "task": None if self.task is None else asdict(self.task),
            "reference": self.reference,
            "answers": list(self.answers),
        }


class Study:
    """The plan of a study.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features. Distances between unscaled rows divide questions into easy and difficult.
    ids : sequence of str
        The ids of the items.
    truths : sequence of str or None
        The class of each item; items without one are not asked about.
    options : StudyOptions
        The options of the study.

    Notes
    -----
    Everything is drawn from the seed and the id of the person, so a restart gives the same study. The
    cost is that of the distances in the pool, regardless of the number of items.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> names, classes = [f"bird {i}" for i in range(40)], ["owl", "wren"] * 20
    >>> study = Study(X, names, classes, StudyOptions(n_pairs=6, n_triplets=4))
    >>> study.find_stage(3, []).name, study.find_next_stage(3, [])
    ('intro', 'practice')
    >>> [task.number for task in study.get_tasks(3)], study.get_tasks(3)[0].questions[0].id
    ([1, 2], 'study-3-t1-1')
    """

    def __init__(
        self, X: npt.NDArray[Any], ids: Sequence[str], truths: Sequence[str | None], options: StudyOptions
    ) -> None:
        if not len(X) == len(ids) == len(truths):
            raise StudyError(
                f"a study needs one id and one class per row; got {len(X)} rows, {len(ids)} ids and "
                f"{len(truths)} classes."
            )
        self.X = X
        self.ids = ids
        self.truths = truths
        self.options = options
        self._parts: dict[int, tuple[StudyPart, ...]] = {}
        for data_set in self.sets:
            self._check_classes(data_set)
        self._pools = {
            (data_set, kind): self._get_pool(data_set, kind) for data_set in self.sets for kind in KINDS
        }
        self._practice = {kind: self._take_practice(kind) for kind in KINDS}
        for data_set, kind in self._pools:
            self._check_numbers(data_set, kind)

    # ------------------------------------------------------------------ questions

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes, in alphabetical order."""
        return tuple(sorted({truth for truth in self.truths if truth is not None}))

    @cached_property
    def sets(self) -> tuple[str, ...]:
        """The data sets, in alphabetical order; one without a name unless the options say otherwise."""
        if not self.options.sets:
            return ("",)
        for name in self.classes:
            if not all(name.partition("/")):
                raise StudyError(
                    f"the class {name!r} is of no data set. With several data sets, name each class as "
                    "'set/class', or use folders of classes in a folder for each data set."
                )
        return tuple(sorted({self.get_set(name) for name in self.classes}))

    def get_set(self, truth: str) -> str:
        """Return the data set of a class."""
        return truth.partition("/")[0] if self.options.sets else ""

    def get_classes_of(self, data_set: str) -> list[str | None]:
        """Return the class of each item of a data set; None for all other items."""
        return [
            truth if truth is not None and self.get_set(truth) == data_set else None for truth in self.truths
        ]

    @cached_property
    def reference(self) -> tuple[tuple[str, str], ...]:
        """One example of each class, as (class, item id): the item nearest to the mean of its class."""
        members_of: dict[str, list[int]] = {name: [] for name in self.classes}
        for row, truth in enumerate(self.truths):
            if truth is not None:
                members_of[truth].append(row)
        found = []
        for name, rows in members_of.items():
            members = np.asarray(self.X[rows], dtype=np.float64)
            nearest = np.linalg.norm(members - members.mean(axis=0), axis=1).argmin()
            found.append((name, self.ids[rows[nearest]]))
        return tuple(found)

    def get_set_order(self, person: int) -> tuple[str, ...]:
        """Return the data sets in the order of a person's tasks; each is at each place equally often."""
        first = (
            (person + self.options.seed) // 2 % len(self.sets)
        )  # two people with either order of the kinds
        return (*self.sets[first:], *self.sets[:first])

    def get_task_order(self, person: int) -> tuple[QuestionKind, ...]:
        """Return the kinds of a person's tasks about a data set: every second person starts with triplets."""
        first, second = KINDS if (person + self.options.seed) % 2 == 0 else KINDS[::-1]
        found: list[QuestionKind] = []
        for block in range(self.options.blocks):
            found += (first, second) if block % 2 == 0 else (second, first)
        return tuple(found)

    def get_parts(self, person: int) -> tuple[StudyPart, ...]:
        """Return the practice, if any, and the tasks of a person, in order."""
        if person not in self._parts:
            self._parts[person] = self._make_plan(person)
        return self._parts[person]

    def get_tasks(self, person: int) -> tuple[StudyPart, ...]:
        """Return the tasks of a person, in order."""
        return tuple(part for part in self.get_parts(person) if part.number)

    def find(self, person: int, question: str) -> PlannedQuestion | None:
        """Return a question of a person's plan by its id, or None."""
        every = (planned for part in self.get_parts(person) for planned in part.questions)
        return next((planned for planned in every if planned.id == question), None)

    # ------------------------------------------------------------------ progress

    def find_stage(self, person: int, events: Iterable[StoredEvent]) -> Stage:
        """Return the stage of a person, from all events or only those of the person."""
        return self._find_place(person, events)[0]

    def get_questions(self, person: int, events: Iterable[StoredEvent], n: int) -> list[QueuedQuestion]:
        """Return the next questions of the current practice or task; none in a break."""
        return [planned.queued for planned in self._find_place(person, events)[2][:n]]

    def find_next_stage(self, person: int, events: Iterable[StoredEvent]) -> str:
        """Return the value of ``to`` for the event of kind "stage" when a person goes on."""
        stage, part, _ = self._find_place(person, events)
        if part is not None and stage.name in ("intro", "break"):
            return part.to
        if stage.task is not None:
            left = stage.task.n - stage.task.done
            raise StudyError(f"{left} questions of this part must be answered first.")
        if stage.name == "survey":
            raise StudyError("the questionnaire has not been submitted yet.")
        raise StudyError("the study is over for you. Thank you!")

    def check_answer(
        self, person: int, events: Iterable[StoredEvent], question: str, answer: str
    ) -> PlannedQuestion:
        """Return the question that is answered; raise an error for an unknown answer or a closed question."""
        for planned in self._find_place(person, events)[2]:
            if planned.id == question:
                if answer not in ALLOWED[planned.asked.kind]:
                    raise StudyError(
                        f"{answer!r} is not offered in this study; answers to a {planned.asked.kind} are "
                        f"{', '.join(ALLOWED[planned.asked.kind])}."
                    )
                return planned
        raise StudyError(f"the question {question!r} is not open for you now. Reload the page to go on.")

    def _find_place(
        self, person: int, events: Iterable[StoredEvent]
    ) -> tuple[Stage, StudyPart | None, list[PlannedQuestion]]:
        """Return the stage of a person, the current or next part, and the questions that are open now."""
        answers, entered, surveyed = find_progress(person, events)
        reference = self.options.reference
        for place, part in enumerate(self.get_parts(person)):
            waiting = [planned for planned in part.questions if planned.id not in answers]
            n, done = len(part.questions), len(part.questions) - len(waiting)
            kind = part.questions[min(done, n - 1)].asked.kind
            task = TaskProgress(part.number, len(self.get_tasks(person)), kind, n, done, part.data_set)
            if part.to not in entered and done == 0:
                # The introduction leads to practice, or to the first task if there is no practice.
                stage = Stage("break", task, (), reference) if place else Stage("intro", None, (), reference)
                return stage, part, []
            if waiting:
                name: StageName = "task" if part.number else "practice"
                return Stage(name, task, ALLOWED[kind], reference), part, waiting
        return Stage("done" if surveyed else "survey", None, (), reference), None, []

    # ------------------------------------------------------------------ drawing questions

    def _check_classes(self, data_set: str) -> None:
        known = [truth for truth in self.get_classes_of(data_set) if truth is not None]
        classes = sorted(set(known))
        where = f" of {data_set!r}" if data_set else ""
        if len(classes) < 2:
            description = f"all of one class, {classes[0]!r}" if known else "without classes"
            raise StudyError(
                f"a study compares answers with the true classes, but the items{where} are {description}. "
                "Provide a column or folders with at least two classes."
            )
        if len(known) == len(classes):
            raise StudyError(
                f"each of the {len(known)} items{where} has a different class, so no two belong together. "
                "Is this the right column of classes?"
            )

    def _get_pool(self, data_set: str, kind: QuestionKind) -> list[StudyQuestion]:
        truths = self.get_classes_of(data_set)
        if self.options.pool:
            row_of = {item: row for row, item in enumerate(self.ids)}
            marked = make_marked_pool(self.options.pool, row_of, self.truths, kind)
            inside = [sum(truths[row] is not None for row in asked.rows) for asked in marked]
            for asked, n in zip(marked, inside, strict=True):
                if 0 < n < len(asked.rows):
                    ids = ", ".join(self.ids[row] for row in asked.rows)
                    raise StudyError(f"a question of the pool is about several data sets: {ids}.")
            return [asked for asked, n in zip(marked, inside, strict=True) if n]
        shown = {item for _, item in self.reference} if self.options.reference else set()
        rows = [
            row
            for row, truth in enumerate(truths)
            if truth is not None and not (shown and self.ids[row] in shown)
        ]
        n = self.options.count_questions(kind) + self.options.practice
        return draw_pool(self.X, np.array(rows, dtype=np.int64), truths, kind, n, seed=self.options.seed)

    def _take_practice(self, kind: QuestionKind) -> list[StudyQuestion]:
        """Remove practice questions from the pools: easy ones first, covering every answer and data set."""
        heaps = [self._sort_for_practice(self._pools[data_set, kind], kind) for data_set in self.sets]
        taken = _deal_in_turns(*heaps)[: self.options.practice]
        used = {asked.rows for asked in taken}
        for data_set in self.sets:
            pool = self._pools[data_set, kind]
            self._pools[data_set, kind] = [asked for asked in pool if asked.rows not in used]
        return taken

    @staticmethod
    def _sort_for_practice(pool: list[StudyQuestion], kind: QuestionKind) -> list[StudyQuestion]:
        sorts: dict[str, list[StudyQuestion]] = defaultdict(list)
        for asked in sorted(pool, key=lambda asked: asked.difficulty == "difficult"):
            sorts[asked.truth].append(asked)
        if kind == "triplet":  # half are NEITHER; AB, BC and AC take turns
            sorts = {
                "pick": _deal_in_turns(sorts["AB"], sorts["BC"], sorts["AC"]),
                "NEITHER": sorts["NEITHER"],
            }
        return _deal_in_turns(*(sorts[truth] for truth in sorted(sorts)))

    def _check_numbers(self, data_set: str, kind: QuestionKind) -> None:
        for difficulty, wanted in zip(
            ("easy", "difficult"), self.options.count_by_difficulty(kind), strict=True
        ):
            there = sum(asked.difficulty == difficulty for asked in self._pools[data_set, kind])
            if there < wanted or len(self._practice[kind]) < self.options.practice:
                n = sum(truth is not None for truth in self.get_classes_of(data_set))
                n = n if data_set else len(self.ids)
                where = "the pool marked by hand" if self.options.pool else f"{n} items"
                where += f" of {data_set!r}" if data_set else ""
                raise StudyError(
                    f"a study with {self.options.count_questions(kind)} {kind}s needs {wanted} {difficulty} "
                    f"ones besides {self.options.practice} for practice, but {where} gave {there}. Use fewer "
                    f"{kind}s, or {'mark' if self.options.pool else 'add'} more."
                )

    def _make_plan(self, person: int) -> tuple[StudyPart, ...]:
        rng = np.random.default_rng([self.options.seed, person, 7])
        order = self.get_task_order(person)
        practice = [asked for kind in order[:2] for asked in self._practice[kind]]
        parts = [StudyPart(0, self._plan_questions(f"study-{person}-p", practice, rng))] if practice else []
        number = 0
        for data_set in self.get_set_order(person):
            blocks = {}
            for kind in KINDS:
                drawn = self._draw(data_set, kind, rng)
                places = np.array_split(np.arange(len(drawn)), self.options.blocks)
                blocks[kind] = [[drawn[place] for place in block] for block in places]
            for kind in order:
                number += 1
                asked = blocks[kind].pop(0)
                planned = self._plan_questions(f"study-{person}-t{number}", asked, rng)
                parts.append(StudyPart(number, planned, data_set))
        return tuple(parts)

    def _draw(self, data_set: str, kind: QuestionKind, rng: np.random.Generator) -> list[StudyQuestion]:
        found: list[StudyQuestion] = []
        for difficulty, wanted in zip(
            ("easy", "difficult"), self.options.count_by_difficulty(kind), strict=True
        ):
            there = [asked for asked in self._pools[data_set, kind] if asked.difficulty == difficulty]
            found += [there[place] for place in rng.choice(len(there), wanted, replace=False)]
        return [found[place] for place in rng.permutation(len(found))]

    def _plan_questions(
        self, prefix: str, questions: list[StudyQuestion], rng: np.random.Generator
    ) -> tuple[PlannedQuestion, ...]:
        """Give ids to the questions, and shuffle the items of each."""
        found = []
        for number, asked in enumerate(questions, start=1):
            # Practice keeps its order, so that every answer occurs.
            places = range(len(asked.rows)) if prefix.endswith("-p") else rng.permutation(len(asked.rows))
            rows = tuple(asked.rows[place] for place in places)
            truth = find_right_answer([self.truths[row] for row in rows])
            shown = StudyQuestion(asked.kind, rows, truth, asked.difficulty)
            found.append(PlannedQuestion(f"{prefix}-{number}", shown, tuple(self.ids[row] for row in rows)))
        return tuple(found)


def find_progress(person: int, events: Iterable[StoredEvent]) -> tuple[set[str], set[str], bool]:
    """Return the questions that a person answered, the parts entered, and whether the survey is submitted."""
    not_undone = StoredEventLog.from_events(events).get_not_undone("answer", "stage", "survey")
    own = [event for event in not_undone if event.person == person]
    answers = {event.question for event in own if event.kind == "answer" and event.question}
    entered = {str(event.body.get("to")) for event in own if event.kind == "stage"}
    return answers, entered, any(event.kind == "survey" for event in own)


def _deal_in_turns(*heaps: list[StudyQuestion]) -> list[StudyQuestion]:
    """Take from several lists in turns until all are empty."""
    return [asked for turn in zip_longest(*heaps) for asked in turn if asked is not None]


def veil_item(item: Item) -> Item:
    """Return an item as a participant may see it: without its name, which often reveals the class.

    Files sorted into one folder per class have names such as ``owl/17.png``. Row numbers reveal as much in a
    sorted table, so no number replaces the name.

    >>> shown = veil_item(Item(16, "owl/17.png", "image", "owl/17.png", media="owl/17.png", truth="owl"))
    >>> shown.id, shown.title, shown.truth
    ('', 'item', None)
    """
    return replace(item, id="", title="item", truth=None)
