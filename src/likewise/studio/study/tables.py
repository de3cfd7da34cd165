"""The tables of the thesis's user study: times (3.6), questionnaires (3.7), confusions (3.8, 3.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from likewise.studio.study.answers import SURVEY, Participant, Questionnaire, StudyAnswer
from likewise.studio.study.options import QuestionKind

# Rows and columns of the confusion tables, in the order of the thesis, which calls them CL, ML and ow.
WORDS: dict[QuestionKind, tuple[str, ...]] = {
    "pair": ("DIFFERENT", "SAME"),
    "triplet": ("NEITHER", "AB", "AC", "BC"),
}
PICKS = ("AB", "AC", "BC")


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
