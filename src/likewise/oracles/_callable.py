"""An oracle that calls a function, such as a dialogue, a web service or a language model."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from likewise.active import Answer, OddOne, Piles, Question, Reply
from likewise.base import choice, either, integer
from likewise.exceptions import OracleError


class CallableOracle:
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
        for name, value, rule in (
            ("retries", retries, integer(0)),
            ("budget", budget, either(integer(0), choice(None))),
        ):
            if not rule.holds(value):
                raise ValueError(f"CallableOracle: {name} must be {rule.expected}, got {value!r}.")
        self.function = function
        self.retries = retries
        self.budget = budget
        self.n_calls = 0

    def answer(self, question: Question) -> Answer | OddOne | Piles | Reply:
        """Call the function with a question.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Answer, OddOne, Piles or Reply
            The answer of the function.
        """
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
                return _check_answer(self.function(question), question)
            except Exception as error:  # a service may raise anything
                problem = error
        raise OracleError(
            f"“{question.text}” was not answered after {tries} call(s): {type(problem).__name__}: {problem}",
            question,
        ) from problem


def _check_answer(answer: Any, question: Question) -> Answer | OddOne | Piles | Reply:
    if inspect.isawaitable(answer):
        answer = _await_result(answer)
    if isinstance(answer, Reply):
        return Reply(question, answer.to(question), answer.annotator, answer.time, answer.seconds)
    return question.check_answer(answer)


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
