"""Simulated annotators, which draw errors from the error probabilities of pairs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from likewise.active import (
    Answer,
    AnswerValue,
    InGroup,
    Named,
    OddOne,
    Oracle,
    Piles,
    Question,
    Reply,
    Unlike,
)
from likewise.base import Rule, check_no_times
from likewise.exceptions import SupervisionError
from likewise.oracles._given_answers import LabelOracle, check_argument

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Pairs = Sequence[tuple[int, int]]

PROBABILITY = Rule("a number from 0 to 1", lambda v: Rule.real(0).holds(v) and bool(v <= 1))
_N_PAIRS = 10_000  # number of sampled pairs that distances are ranked against
_LARGEST_CHANCE = 0.95  # maximum probability of an error on a look-alike pair
# Other random streams than for a pair or a triplet of the same rows.
_STREAMS = {"odd": (1,), "piles": (2,), "placement": (3,), "members": (4,), "groups": (5,), "label": (6,)}


def check_rows(owner: str, X: Any, n_samples: int) -> FloatArray:
    """Return the rows as an array, after checking that there is one per class."""
    check_no_times(X, owner)
    rows: FloatArray = check_array(X, dtype=np.float64, input_name="X")
    if len(rows) != n_samples:
        raise SupervisionError(
            f"{owner}: X has {len(rows)} rows, but y has {n_samples} entries. Pass one class per row of X."
        )
    return rows


class ErringOracle(Oracle):
    """Answers by the classes of the rows, with errors. Subclasses define the error probability of each pair.

    A wrong answer misjudges one or more pairs of rows. Its weight is the mean error probability of these
    pairs. NEITHER of three rows has two readings, "all together" and "all different"; the reading with the
    larger weight counts. The probability of a wrong answer is the largest weight, and each wrong answer is
    drawn in proportion to its weight. For a pair this is the error probability of that pair.

    The rows of a tray are moved one by one. The weight of another pile is the mean error probability of the
    row with the rows of that pile; the weight of a new pile is the mean over the other rows of its own pile.

    Each row of a question about members is misjudged with the error probability of its pair with the
    reference row, independently of the others. A wrong placement is another group or NEW. A wrong name is
    that of another class; its weight is the error probability of the row with the first row of that class.

    Errors depend on the seed and the rows of the question only.
    """

    def __init__(self, y: Any, random_state: int) -> None:
        check_argument(type(self).__name__, "random_state", random_state, Rule.integer(0))
        self.random_state: int = int(random_state)
        self._truth = LabelOracle(y)
        self._codes = self._truth._codes

    @abstractmethod
    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        """Return the mean probability that these pairs of rows are misjudged."""

    def answer(self, question: Question) -> AnswerValue:
        # Draw for the rows in ascending order, then translate to the order of the question.
        rows = question.key[1]
        ordered = Question(question.kind, rows)
        true = self._truth.answer(ordered)
        if true is Answer.UNSURE:
            return true
        rng = np.random.default_rng([self.random_state, len(rows), *rows, *_STREAMS.get(question.kind, ())])
        return Reply(ordered, self._draw(ordered, true, rng)).to(question)

    def _draw(self, question: Question, true: AnswerValue, rng: np.random.Generator) -> AnswerValue:
        if isinstance(true, Piles):
            return self._sort(question, true, rng)
        if question.kind == "members":
            return self._judge_members(question, rng)
        wrong = self._list_wrong(question, true)
        if not wrong:
            return true
        chance, shares = _normalize([self._weigh(question, answer) for answer in wrong])
        place = draw_index([1 - chance, *(chance * share / sum(shares) for share in shares)], rng.random())
        return [true, *wrong][place]

    def _list_wrong(self, question: Question, true: AnswerValue) -> list[AnswerValue]:
        """Return the wrong answers that may be drawn."""
        answers: Sequence[AnswerValue]
        if question.kind in ("pair", "groups"):
            answers = [Answer.SAME, Answer.DIFFERENT]
        elif question.kind == "triplet":
            answers = [Answer.AB, Answer.AC, Answer.BC, Answer.NEITHER]
        elif question.kind == "placement":
            right = true.references if isinstance(true, InGroup) else ()
            answers = [*(InGroup(row) for row in question.references if row not in right), Answer.NEW]
        elif question.kind == "label":
            answers = self._truth._names
        else:
            answers = [OddOne(row) for row in question.rows]
        return [answer for answer in answers if answer != true]

    def _judge_members(self, question: Question, rng: np.random.Generator) -> AnswerValue:
        """Compare each row with the reference row; each has its own probability of an error."""
        first, *others = question.rows
        odd = [
            row
            for row, draw in zip(others, rng.random(len(others)).tolist(), strict=True)
            if (self._codes[row] != self._codes[first])
            != (draw < self._compute_chance(question, [(first, row)]))
        ]
        return question.check_answer(Unlike(odd))

    def _weigh(self, question: Question, answer: AnswerValue) -> float:
        """Return the weight of a wrong answer."""
        rows = question.rows
        if isinstance(answer, Named):
            other = int(np.argmax(self._codes == self._truth._names.index(answer)))
            return self._compute_chance(question, [(rows[0], other)])
        if question.kind == "placement":
            misjudged = [
                (i, j)
                for i, j, together in Reply(question, answer).relations
                if together != (self._codes[i] == self._codes[j])
            ]
            return self._compute_chance(question, misjudged)
        piles = Reply(question, answer).piles
        readings = [piles] if piles else [(rows,), tuple((row,) for row in rows)]
        return max(self._compute_chance(question, self._find_misjudged(reading)) for reading in readings)

    def _find_misjudged(self, piles: tuple[tuple[int, ...], ...]) -> Pairs:
        """Return the pairs of rows on which the piles and the classes disagree."""
        pile_of = {row: place for place, pile in enumerate(piles) for row in pile}
        return [
            (i, j)
            for i, j in combinations(sorted(pile_of), 2)
            if (pile_of[i] == pile_of[j]) != (self._codes[i] == self._codes[j])
        ]

    def _sort(self, question: Question, true: Piles, rng: np.random.Generator) -> Piles:
        """Sort a tray; each row has its own probability of a wrong pile."""
        pile_of = {row: place for place, pile in enumerate(true.groups) for row in pile}
        sorted_rows: dict[int, list[int]] = {}
        draws = rng.random((len(pile_of), 2)).tolist()
        for row, (draw, where) in zip(sorted(pile_of), draws, strict=True):
            home = pile_of[row]
            # Maps each wrong pile to the rows that the row would be misjudged against.
            against = {place: pile for place, pile in enumerate(true.groups) if place != home}
            if mates := tuple(mate for mate in true.groups[home] if mate != row):
                against[-1 - row] = mates  # a new pile
            chance, shares = _normalize(
                [
                    self._compute_chance(question, [(row, other) for other in pile])
                    for pile in against.values()
                ]
            )
            target = list(against)[draw_index(shares, where)] if draw < chance else home
            sorted_rows.setdefault(target, []).append(row)
        return Piles(tuple(tuple(pile) for pile in sorted_rows.values()))


def _normalize(weights: list[float]) -> tuple[float, list[float]]:
    """Return the largest weight, and all weights divided by it."""
    largest = max(weights)
    return largest, [weight / largest if largest else 1.0 for weight in weights]


def draw_index(weights: Sequence[float], draw: float) -> int:
    """Return a random index with probabilities proportional to the weights; `draw` is uniform on [0, 1)."""
    place = int(np.searchsorted(np.cumsum(weights), draw * sum(weights), side="right"))
    return min(place, len(weights) - 1)


class NoisyOracle(ErringOracle):
    """Answers by the classes of the rows, with errors at a constant rate.

    The same question always gets the same answer, as a person who confuses a wren with an owl would do so
    again. Errors depend on the seed and the rows of the question only. For other kinds of errors see
    :func:`make_oracle`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    rate : float, default=0.1
        The probability of a wrong answer. A wrong answer to a triplet is any of the three others. A wrong
        answer to the odd one out names another row. On a tray, each row moves with this probability to
        another pile or to a new one. Of a question about members, each row is misjudged with this
        probability. A wrong placement is any other group or NEW, and a wrong name that of any other class.
    table : mapping of answer to mapping of answer to probability, optional
        The probability of each given answer (inner mapping) for each true answer (outer mapping); replaces
        `rate`. True answers that are absent are given correctly. AB, AC and BC refer to the three rows in
        ascending order. A table covers pairs, triplets and two groups; other questions raise an error.
    random_state : int, default=0
        Seed of the errors.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import NoisyOracle
    >>> str(NoisyOracle([0, 0, 1], rate=1.0).answer(Question.pair(0, 1)))
    'DIFFERENT'
    >>> shy = NoisyOracle([0, 0, 1], table={"DIFFERENT": {"UNSURE": 1.0}})
    >>> str(shy.answer(Question.pair(0, 1))), str(shy.answer(Question.pair(0, 2)))
    ('SAME', 'UNSURE')
    """

    def __init__(
        self,
        y: Any,
        *,
        rate: float = 0.1,
        table: Mapping[Any, Mapping[Any, float]] | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(y, random_state)
        check_argument("NoisyOracle", "rate", rate, PROBABILITY)
        self.rate: float = float(rate)
        self.table: dict[Answer, dict[Answer, float]] | None = None if table is None else _check_table(table)

    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        return self.rate

    def _draw(self, question: Question, true: AnswerValue, rng: np.random.Generator) -> AnswerValue:
        if self.table is None:
            return super()._draw(question, true, rng)
        if question.kind not in ("pair", "triplet", "groups"):
            raise SupervisionError(
                f"the table has the errors of words such as SAME, but “{question.text}” is not answered with "
                "a word. Use rate instead of table, or ask pairs and triplets."
            )
        assert isinstance(true, Answer)
        row = self.table.get(true, {true: 1.0})
        return list(row)[draw_index(list(row.values()), rng.random())]


def _check_table(table: Mapping[Any, Mapping[Any, float]]) -> dict[Answer, dict[Answer, float]]:
    checked: dict[Answer, dict[Answer, float]] = {}
    for true, row in table.items():
        checked[Answer.from_word(true)] = chances = {
            Answer.from_word(word): chance for word, chance in row.items()
        }
        if not all(Rule.real(0).holds(c) for c in chances.values()) or abs(sum(chances.values()) - 1) > 1e-6:
            raise SupervisionError(
                f"table[{true!r}] must contain probabilities that add up to 1, got {row!r}."
            )
    return checked


class FatigueOracle(ErringOracle):
    """Answers by the classes of the rows, with errors that become more frequent.

    The probability of an error grows linearly from `rate` at the first question to `final_rate` at question
    number `n_questions`, and stays there. Only different questions count: a question that is asked again gets
    its first answer. The answers therefore depend on the order of the questions; make a new oracle for each
    simulated interview.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    rate : float, default=0.0
        The probability of an error at the first question. See :class:`NoisyOracle` for the wrong answers.
    final_rate : float, default=0.2
        The probability of an error from question number `n_questions` on; at least `rate`.
    n_questions : int, default=100
        The number of questions over which the probability grows, at least 2.
    random_state : int, default=0
        Seed of the errors.

    Attributes
    ----------
    n_answered : int
        The number of different questions answered so far.
    current_rate : float
        The probability of an error at the next new question.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import FatigueOracle
    >>> oracle = FatigueOracle([0, 0, 0, 0], rate=0.0, final_rate=1.0, n_questions=3)
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2, 3, 1)][::2]
    ['SAME', 'DIFFERENT']
    >>> oracle.n_answered, oracle.current_rate
    (3, 1.0)
    """

    rate: float
    final_rate: float
    n_questions: int

    def __init__(
        self,
        y: Any,
        *,
        rate: float = 0.0,
        final_rate: float = 0.2,
        n_questions: int = 100,
        random_state: int = 0,
    ) -> None:
        super().__init__(y, random_state)
        check_argument("FatigueOracle", "rate", rate, PROBABILITY)
        grows = Rule(
            f"a number from rate, which is {rate:g}, to 1", lambda v: PROBABILITY.holds(v) and v >= rate
        )
        check_argument("FatigueOracle", "final_rate", final_rate, grows)
        check_argument("FatigueOracle", "n_questions", n_questions, Rule.integer(2))
        self.rate, self.final_rate, self.n_questions = float(rate), float(final_rate), int(n_questions)
        # The error rate of each question when it was first asked.
        self._rates: dict[tuple[str, tuple[int, ...]], float] = {}

    @property
    def n_answered(self) -> int:
        """The number of different questions answered so far."""
        return len(self._rates)

    @property
    def current_rate(self) -> float:
        """The probability of an error at the next new question."""
        progress = min(1.0, self.n_answered / (self.n_questions - 1))
        return (1 - progress) * self.rate + progress * self.final_rate

    def answer(self, question: Question) -> AnswerValue:
        self._truth.answer(question)  # raises an error if a row does not exist, before the question counts
        self._rates.setdefault(question.key, self.current_rate)
        return super().answer(question)

    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        return self._rates[question.key]


class LookAlikeOracle(ErringOracle):
    """Answers by the classes of the rows, and confuses similar rows.

    The probability of a wrong answer to a pair depends on the rank r of its distance, from 0 for the nearest
    to 1 for the farthest of random pairs:

        p(i, j) = min(0.95, s (1 - r)) if the classes differ, min(0.95, s r) if they are the same.

    The factor s makes the mean of p over random pairs equal to `rate`. The proportion of errors is larger for
    a strategy that asks about doubtful pairs, and smaller for a strategy that asks about clear pairs. The
    same question always gets the same answer.

    Wrong answers to triplets and odd ones out are drawn in proportion to the mean p of the pairs that they
    misjudge. On a tray, a row tends to move to the pile of the rows that it resembles.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    X : array-like of shape (n_samples, n_features)
        The rows; distances are Euclidean. Scale the columns, or pass an embedding, so distances reflect what
        a person would confuse.
    rate : float, default=0.1
        The mean probability of a wrong answer over random pairs, from 0 to 0.95.
    random_state : int, default=0
        Seed of the errors. The probabilities p do not depend on it.

    Notes
    -----
    Ranks are relative to all pairs of rows with a known class, or to a fixed sample of 10,000 of them.

    Examples
    --------
    >>> from likewise.oracles import LookAlikeOracle
    >>> oracle = LookAlikeOracle([0, 0, 1, 1], [[0.0], [3.0], [4.0], [9.0]], rate=0.3)
    >>> round(oracle.compute_error_probability(1, 2), 2), round(oracle.compute_error_probability(0, 3), 2)
    (0.62, 0.06)
    """

    def __init__(self, y: Any, X: MatrixLike, *, rate: float = 0.1, random_state: int = 0) -> None:
        super().__init__(y, random_state)
        largest = Rule(
            f"a number from 0 to {_LARGEST_CHANCE}", lambda v: Rule.real(0).holds(v) and v <= _LARGEST_CHANCE
        )
        check_argument("LookAlikeOracle", "rate", rate, largest)
        self.rate: float = float(rate)
        self._X = check_rows("LookAlikeOracle", X, len(self._codes))
        i, j = _sample_pairs(np.flatnonzero(self._codes >= 0))
        distances = self._compute_distances(i, j)
        self._sample = np.sort(distances)
        self._scale = _compute_scale(self._compute_weights(i, j, distances), self.rate)

    def compute_error_probability(self, i: int, j: int) -> float:
        """Return the probability p(i, j) of a wrong answer to a pair.

        Parameters
        ----------
        i, j : int
            The two rows.

        Returns
        -------
        float
            The probability of a wrong answer; 0 if a class is unknown.
        """
        question = Question.pair(i, j)
        if self._truth.answer(question) is Answer.UNSURE:
            return 0.0
        return self._compute_chance(question, [(i, j)])

    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        i, j = np.array(pairs, dtype=np.intp).T
        weights = self._compute_weights(i, j, self._compute_distances(i, j))
        return float(np.minimum(_LARGEST_CHANCE, self._scale * weights).mean())

    def _compute_distances(self, i: IntArray, j: IntArray) -> FloatArray:
        return np.asarray(np.linalg.norm(self._X[i] - self._X[j], axis=1))

    def _compute_weights(self, i: IntArray, j: IntArray, distances: FloatArray) -> FloatArray:
        below = np.searchsorted(self._sample, distances, side="left")
        up_to = np.searchsorted(self._sample, distances, side="right")
        ranks = (below + up_to) / (2 * max(1, len(self._sample)))
        return np.where(self._codes[i] == self._codes[j], ranks, 1 - ranks)


def _sample_pairs(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs of these rows, or a fixed sample if there are many."""
    n = len(rows)
    if n * (n - 1) // 2 <= _N_PAIRS:
        i, j = np.triu_indices(n, k=1)
    else:
        rng = np.random.default_rng(0)
        i, j = rng.integers(n, size=_N_PAIRS), rng.integers(n - 1, size=_N_PAIRS)
        j += j >= i
    return rows[i], rows[j]


def _compute_scale(weights: FloatArray, rate: float) -> float:
    """Return s such that the mean of min(0.95, s · weights) is the rate, by bisection."""
    if not len(weights):
        return 0.0
    low, high = 0.0, _LARGEST_CHANCE / float(weights.min())
    for _ in range(80):
        middle = (low + high) / 2
        if np.minimum(_LARGEST_CHANCE, middle * weights).mean() < rate:
            low = middle
        else:
            high = middle
    return low
