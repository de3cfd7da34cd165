"""Oracles whose answers are given: by the classes of the rows, by earlier replies, or by a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Literal, get_args

from likewise.active import Answer, AnswerValue, InGroup, Named, OddOne, Oracle, Question, Reply, Unlike
from likewise.base import Rule
from likewise.exceptions import OracleError, SupervisionError
from likewise.supervision import Supervision

Missing = Literal["raise", "unsure"]


def check_argument(owner: str, name: str, value: Any, rule: Rule) -> None:
    """Raise a ValueError if the value of an argument breaks its rule."""
    if not rule.holds(value):
        raise ValueError(f"{owner}: {name} must be {rule.expected}, got {value!r}.")


def read_classes(y: Any) -> Supervision:
    """Return the true classes of rows as labels; -1 is a class, and the index of a Series is ignored."""
    return Supervision.from_labels(y.to_numpy() if hasattr(y, "to_numpy") else y, missing=None)


class LabelOracle(Oracle):
    """Answers by the classes of the rows, and is never wrong.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE. On a
        tray, such rows are set aside and the others are sorted. The names of groups are the classes as
        strings.

    Notes
    -----
    The oracle knows a group from its reference row. If several groups of a placement are of the class of the
    row, it chooses all of them.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import LabelOracle
    >>> oracle = LabelOracle(["wren", "owl", "wren", None])
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2, 3)]
    ['DIFFERENT', 'SAME', 'UNSURE']
    >>> str(oracle.answer(Question.triplet(2, 1, 0)))
    'AC'
    >>> str(oracle.answer(Question.odd([0, 1, 2]))), str(oracle.answer(Question.piles([0, 1, 2, 3])))
    ('ODD 1', '0 2 | 1')
    >>> str(oracle.answer(Question.placement(0, [1, 2]))), str(oracle.answer(Question.label(1)))
    ('IN 2', 'owl')
    """

    def __init__(self, y: Any) -> None:
        labels = read_classes(y)
        self._codes = labels.label_codes
        self._classes: Sequence[Any] = labels.classes

    @cached_property
    def _names(self) -> list[Named]:
        """The name of each class; if two are equal as strings, such as 1 and "1", they are numbered."""
        names = [Named(str(name)) for name in self._classes]
        if len(set(names)) < len(names):
            names = [Named(f"{name} ({code})") for code, name in enumerate(names)]
        return names

    def answer(self, question: Question) -> AnswerValue:
        if max(question.rows) >= len(self._codes):
            raise SupervisionError(
                f"the question contains row {max(question.rows)}, but the oracle knows the classes of "
                f"{len(self._codes)} rows. It may be a question about other data."
            )
        piles: dict[int, list[int]] = {}
        for row in question.rows:
            piles.setdefault(int(self._codes[row]), []).append(row)
        unknown = piles.pop(-1, [])
        if question.kind == "piles":
            return question.check_answer(list(piles.values()))
        if unknown:
            return Answer.UNSURE
        first = int(self._codes[question.rows[0]])
        if question.kind == "label":
            return self._names[first]
        if question.kind == "placement":
            alike = [row for row in question.references if self._codes[row] == first]
            return InGroup(alike) if alike else Answer.NEW
        if question.kind == "members":
            return question.check_answer(Unlike(r for r in question.rows if self._codes[r] != first))
        if len(piles) == 1 and question.kind != "triplet":
            return Answer.SAME
        if question.kind in ("pair", "groups"):
            return Answer.DIFFERENT
        alone = [rows[0] for rows in piles.values() if len(rows) == 1]
        if len(piles) != 2 or len(alone) != 1:
            return Answer.NEITHER
        if question.kind == "odd":
            return OddOne(alone[0])
        return (Answer.BC, Answer.AC, Answer.AB)[question.rows.index(alone[0])]


class RecordedOracle(Oracle):
    """Repeats earlier answers. If a question was answered several times, the last answer counts.

    Parameters
    ----------
    replies : iterable of Reply
        The earlier replies, such as ``interview.replies``.
    missing : {"raise", "unsure"}, default="raise"
        Whether a question without an earlier answer raises a SupervisionError or is answered UNSURE.

    Examples
    --------
    >>> from likewise.active import Question, Reply
    >>> from likewise.oracles import RecordedOracle
    >>> oracle = RecordedOracle([Reply(Question.pair(0, 4), "SAME")], missing="unsure")
    >>> str(oracle.answer(Question.pair(4, 0))), str(oracle.answer(Question.pair(0, 1)))
    ('SAME', 'UNSURE')
    """

    def __init__(self, replies: Iterable[Reply], *, missing: Missing = "raise") -> None:
        if missing not in get_args(Missing):
            raise ValueError(f"missing must be one of {get_args(Missing)}, got {missing!r}.")
        self.missing = missing
        self._replies = {}
        for reply in replies:
            if not isinstance(reply, Reply):
                raise SupervisionError(f"replies must contain Reply objects, got {reply!r}.")
            self._replies[reply.question.key] = reply

    def answer(self, question: Question) -> AnswerValue:
        reply = self._replies.get(question.key)
        if reply is not None:
            return reply.to(question)
        if self.missing == "unsure":
            return Answer.UNSURE
        raise SupervisionError(
            f"there is no recorded answer to “{question.text}”. Use missing='unsure' to answer UNSURE "
            "instead."
        )


class CallableOracle(Oracle):
    """Answers with the result of a function, which may be asynchronous and may fail.

    An :class:`~likewise.exceptions.OracleError` ends :func:`~likewise.active.simulate`. The interview keeps
    the answers before the failure and can be continued later with the same question.

    Parameters
    ----------
    function : callable
        Called with a :class:`~likewise.active.Question`. It returns any answer that
        :meth:`Question.check_answer <likewise.active.Question.check_answer>` accepts, a
        :class:`~likewise.active.Reply` to the question, or an awaitable of one of these.
    retries : int, default=0
        The number of further calls if the function raises an error or returns an invalid answer.
    budget : int, optional
        Maximum number of calls, including failed ones. Further questions raise an OracleError.

    Attributes
    ----------
    n_calls : int
        The number of calls so far.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import CallableOracle
    >>> birds = ["wren", "owl", "winter wren"]
    >>> def by_name(question):
    ...     i, j = question.rows
    ...     return "SAME" if birds[i].split()[-1] == birds[j].split()[-1] else "DIFFERENT"
    >>> str(CallableOracle(by_name).answer(Question.pair(0, 2)))
    'SAME'
    """

    n_calls: int

    def __init__(
        self, function: Callable[[Question], Any], *, retries: int = 0, budget: int | None = None
    ) -> None:
        if not callable(function):
            raise TypeError(f"CallableOracle: function must be callable, got {function!r}.")
        check_argument("CallableOracle", "retries", retries, Rule.integer(0))
        check_argument("CallableOracle", "budget", budget, Rule.either(Rule.integer(0), Rule.choice(None)))
        self.function = function
        self.retries = retries
        self.budget = budget
        self.n_calls = 0

    def answer(self, question: Question) -> AnswerValue | Reply:
        problem: Exception | None = None
        tries = 0
        while tries <= self.retries:
            if self.budget is not None and self.n_calls >= self.budget:
                raise OracleError(
                    f"the budget of {self.budget} calls is spent; “{question.text}” was not answered. "
                    "Earlier answers still count; a new oracle has a new budget.",
                    question,
                ) from problem
            self.n_calls += 1
            tries += 1
            try:
                answer = self.function(question)
                if inspect.isawaitable(answer):
                    answer = _await_result(answer)
                if isinstance(answer, Reply):
                    return Reply(question, answer.to(question), answer.annotator, answer.time, answer.seconds)
                return question.check_answer(answer)
            except Exception as error:  # a service may raise anything
                problem = error
        raise OracleError(
            f"“{question.text}” was not answered after {tries} call(s): {type(problem).__name__}: {problem}",
            question,
        ) from problem


def _await_result(answer: Awaitable[Any]) -> Any:
    async def wait() -> Any:
        return await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # If a loop is running, as in a notebook, a second one needs another thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()
