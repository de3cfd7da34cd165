"""The answers and questionnaires of the participants, and the tables of the thesis's user study."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from likewise.exceptions import StudyError
from likewise.studio._stored_events import StoredEventLog
from likewise.studio.records import StoredEvent
from likewise.studio.study.options import Difficulty, QuestionKind
from likewise.studio.study.plan import ALLOWED, PlannedQuestion, Study

Choice = Literal["pair", "triplet", "none"]
LONGEST = 10_000  # characters of a comment
# Rows and columns of the confusion tables, in the order of the thesis, which calls them CL, ML and ow.
WORDS: dict[QuestionKind, tuple[str, ...]] = {
    "pair": ("DIFFERENT", "SAME"),
    "triplet": ("NEITHER", "AB", "AC", "BC"),
}
PICKS = ("AB", "AC", "BC")


class SurveyQuestion(NamedTuple):
    """One comparison of the two kinds: its name, its text, its row of Table 3.7, and whether it is reversed.

    The five are those of Pei (2017, 3.5.1.4), some of them from NASA's Task Load Index, reworded. Three ask
    for the kind that cost more; Table 3.7 of the thesis counts the one that cost less, so these are reversed.
    """

    name: str
    text: str
    row: str
    turned: bool


SURVEY = (
    SurveyQuestion(
        "performance", "In which task are you more confident of your answers?", "Better performance", False
    ),
    SurveyQuestion(
        "effort_per_query",
        "In which task did a single question take you more effort?",
        "Less effort per question",
        True,
    ),
    SurveyQuestion(
        "overall_effort",
        "Which task, with all its questions taken together, took you more effort?",
        "Less effort for all questions",
        True,
    ),
    SurveyQuestion(
        "frustration", "In which task did you feel more stressed or discouraged?", "Less frustration", True
    ),
    SurveyQuestion("preference", "Which task would you rather do, all in all?", "Overall preference", False),
)


@dataclass(frozen=True)
class Questionnaire:
    """A completed questionnaire."""

    performance: Choice
    effort_per_query: Choice
    overall_effort: Choice
    frustration: Choice
    preference: Choice
    comments: str = ""

    @classmethod
    def from_answers(cls, given: Mapping[str, Any]) -> Questionnaire:
        """Create a questionnaire from the submitted values; raise one error for all problems."""
        problems = [
            f"{question.name} must be one of pair, triplet and none; got {given.get(question.name)!r}"
            for question in SURVEY
            if given.get(question.name) not in get_args(Choice)
        ]
        comments = given.get("comments", "")
        if not isinstance(comments, str):
            problems.append("comments must be text")
        elif len(comments) > LONGEST:
            problems.append(f"comments has {len(comments)} characters; expected at most {LONGEST}")
        if problems:
            raise StudyError(f"the questionnaire is not valid: {'; '.join(problems)}.")
        return cls(comments=comments, **{question.name: given[question.name] for question in SURVEY})

    def to_json(self) -> dict[str, str]:
        """Return the questionnaire as JSON values for the body of an event."""
        return asdict(self)

    def find_favoured(self, question: SurveyQuestion) -> Choice:
        """Return the kind that was rated better; reversed for questions that ask which kind cost more."""
        choice: Choice = getattr(self, question.name)
        other: dict[Choice, Choice] = {"pair": "triplet", "triplet": "pair", "none": "none"}
        return other[choice] if question.turned else choice


# ---------------------------------------------------------------------- answers


@dataclass(frozen=True)
class StudyAnswer:
    """An answer that counts, to a question about a data set. `seconds` is None if no time was sent."""

    kind: QuestionKind
    rows: tuple[int, ...]
    truth: str
    answer: str
    seconds: float | None
    difficulty: Difficulty = "easy"
    data_set: str = ""


@dataclass(frozen=True)
class Participant:
    """A person who answered questions that count.

    Attributes
    ----------
    person : int
        The id of the person.
    first : {"pair", "triplet"}
        The kind of question in the first task.
    pairs, triplets : tuple of StudyAnswer
        The answers, in the order in which they were given.
    survey : Questionnaire or None
        The questionnaire.
    finished : bool
        True if all questions of all tasks are answered.
    """

    person: int
    first: QuestionKind
    pairs: tuple[StudyAnswer, ...]
    triplets: tuple[StudyAnswer, ...]
    survey: Questionnaire | None
    finished: bool

    def get_answers(self, kind: QuestionKind) -> tuple[StudyAnswer, ...]:
        """Return the answers to one kind of question."""
        return self.pairs if kind == "pair" else self.triplets

    def restrict(self, data_set: str) -> Participant:
        """Return the participant with the answers about one data set only."""
        kept = [
            tuple(one for one in given if one.data_set == data_set) for given in (self.pairs, self.triplets)
        ]
        return replace(self, pairs=kept[0], triplets=kept[1])


def find_participants(
    study: Study, events: Iterable[StoredEvent], *, leave_out: Collection[int] = ()
) -> tuple[Participant, ...]:
    """Return the participants and their answers.

    Practice and undone answers do not count; of two answers to one question the first counts.

    Parameters
    ----------
    study : Study
        The plan.
    events : iterable of StoredEvent
        All of them, in order.
    leave_out : collection of int
        People whose answers do not belong to the study, such as an owner who tried it out.
    """
    events_of: dict[int, dict[str, StoredEvent]] = {}
    surveys: dict[int, Questionnaire] = {}
    for event in StoredEventLog.from_events(events).get_not_undone("answer", "survey"):
        if event.person in leave_out:
            continue
        if event.kind == "answer" and event.body.get("source") == "study" and event.question:
            events_of.setdefault(event.person, {}).setdefault(event.question, event)
        elif event.kind == "survey":
            surveys[event.person] = Questionnaire.from_answers(event.body)
    people = []
    for person, answers in sorted(events_of.items()):
        planned = {one.id: (one, task.data_set) for task in study.get_tasks(person) for one in task.questions}
        given = [_make_answer(*planned[name], event) for name, event in answers.items() if name in planned]
        people.append(
            Participant(
                person=person,
                first=study.get_task_order(person)[0],
                pairs=tuple(one for one in given if one.kind == "pair"),
                triplets=tuple(one for one in given if one.kind == "triplet"),
                survey=surveys.get(person),
                finished=len(given) == len(planned),
            )
        )
    return tuple(people)


def _make_answer(planned: PlannedQuestion, data_set: str, event: StoredEvent) -> StudyAnswer:
    asked, answer = planned.asked, str(event.body.get("answer"))
    if tuple(event.body.get("items", ())) != planned.items:
        raise StudyError(
            f"event {event.seq} answers {planned.id!r} about other items than the plan of the study has. "
            "Were the data, their classes or the options of the study changed? Restore them."
        )
    if answer not in ALLOWED[asked.kind]:
        raise StudyError(f"event {event.seq} has the answer {answer!r} to a {asked.kind} of the study.")
    return StudyAnswer(asked.kind, asked.rows, asked.truth, answer, event.seconds, asked.difficulty, data_set)


# ---------------------- tables: times (3.6), questionnaires (3.7), confusions (3.8, 3.9)


@dataclass(frozen=True)
class Spread:
    """A mean over participants, its standard deviation (n - 1) and the number of participants.

    `mean` is None without values, `std` with fewer than two.
    """

    mean: float | None
    std: float | None
    n: int

    @classmethod
    def from_values(cls, values: Iterable[float | None]) -> Spread:
        """Compute the spread of the values that are not None.

        >>> Spread.from_values([1.0, None, 3.0])
        Spread(mean=2.0, std=1.414..., n=2)
        """
        found = np.array([value for value in values if value is not None], dtype=np.float64)
        mean = float(found.mean()) if len(found) else None
        return cls(mean, float(found.std(ddof=1)) if len(found) > 1 else None, len(found))


@dataclass(frozen=True)
class Times:
    """Table 3.6: seconds per question of each kind, overall and by the answer given.

    Each participant contributes the mean over their answers; a participant who never gave an answer is left
    out of its column. `pick` is a triplet answered AB, AC or BC.
    """

    pair: Spread
    same: Spread
    different: Spread
    triplet: Spread
    pick: Spread
    neither: Spread


@dataclass(frozen=True)
class SurveyRow:
    """A row of Table 3.7: how many participants rated pairs, triplets or neither better."""

    name: str
    title: str
    pair: int
    triplet: int
    none: int


@dataclass(frozen=True)
class Confusion:
    """Tables 3.8 and 3.9: how often each answer (column) was given for each right answer (row).

    Attributes
    ----------
    words : tuple of str
        The answers of the rows and columns.
    table : tuple of tuple of float
        Counts, mean over participants.
    accuracy : float or None
        The share of the diagonal; None without answers. If everyone answered the same number of questions,
        it is the mean of their accuracies.
    by_person : Spread
        The accuracies of the participants.
    easy, difficult : float or None
        The share of right answers to easy and to difficult questions.
    """

    words: tuple[str, ...]
    table: tuple[tuple[float, ...], ...]
    accuracy: float | None
    by_person: Spread
    easy: float | None = None
    difficult: float | None = None


@dataclass(frozen=True)
class Tables:
    """All tables of a study; `n` participants finished, `n_left_out` did not and are excluded."""

    n: int
    n_left_out: int
    times: Times
    survey: tuple[SurveyRow, ...]
    n_surveys: int
    pairs: Confusion
    triplets: Confusion


def compute_tables(people: Sequence[Participant]) -> Tables:
    """Compute all tables from participants who finished; all submitted questionnaires count."""
    finished = [person for person in people if person.finished]
    surveys = [person.survey for person in people if person.survey is not None]
    return Tables(
        n=len(finished),
        n_left_out=len(people) - len(finished),
        times=compute_times(finished),
        survey=compute_survey_rows(surveys),
        n_surveys=len(surveys),
        pairs=compute_confusion(finished, "pair"),
        triplets=compute_confusion(finished, "triplet"),
    )


def compute_times(people: Sequence[Participant]) -> Times:
    """Compute Table 3.6."""

    def compute_spread(kind: QuestionKind, *words: str) -> Spread:
        means = []
        for person in people:
            given = [one for one in person.get_answers(kind) if one.answer in words]
            found = [one.seconds for one in given if one.seconds is not None]
            means.append(sum(found) / len(found) if found else None)
        return Spread.from_values(means)

    return Times(
        pair=compute_spread("pair", *WORDS["pair"]),
        same=compute_spread("pair", "SAME"),
        different=compute_spread("pair", "DIFFERENT"),
        triplet=compute_spread("triplet", *WORDS["triplet"]),
        pick=compute_spread("triplet", *PICKS),
        neither=compute_spread("triplet", "NEITHER"),
    )


def compute_survey_rows(surveys: Sequence[Questionnaire]) -> tuple[SurveyRow, ...]:
    """Compute Table 3.7."""
    rows = []
    for question in SURVEY:
        choices = [survey.find_favoured(question) for survey in surveys]
        counts = (choices.count(choice) for choice in ("pair", "triplet", "none"))
        rows.append(SurveyRow(question.name, question.row, *counts))
    return tuple(rows)


def compute_confusion(people: Sequence[Participant], kind: QuestionKind) -> Confusion:
    """Compute Table 3.8 or 3.9 for one kind of question."""
    words = WORDS[kind]
    counts = np.zeros((len(words), len(words)))
    every = [one for person in people for one in person.get_answers(kind)]
    for one in every:
        counts[words.index(one.truth), words.index(one.answer)] += 1
    return Confusion(
        words,
        tuple(map(tuple, (counts / max(len(people), 1)).tolist())),
        compute_accuracy(counts.tolist()),
        Spread.from_values(_compute_share_right(person.get_answers(kind)) for person in people),
        easy=_compute_share_right([one for one in every if one.difficulty == "easy"]),
        difficult=_compute_share_right([one for one in every if one.difficulty == "difficult"]),
    )


def compute_accuracy(table: Sequence[Sequence[float]]) -> float | None:
    """Return the share of the diagonal of a confusion table.

    Table 3.9(a) of the thesis, flowers in pairs, has 96.65% in its caption:

    >>> round(compute_accuracy([[158.54, 4.54], [2.00, 29.92]]), 4)
    0.9665
    """
    counts = np.asarray(table, dtype=np.float64)
    total = float(counts.sum())
    return float(np.trace(counts)) / total if total else None


def _compute_share_right(given: Sequence[StudyAnswer]) -> float | None:
    return sum(one.answer == one.truth for one in given) / len(given) if given else None
