"""Simulated interviews: an oracle answers, and the clusters are scored as the answers come in.

:func:`simulate` runs one interview, :func:`compare` many, with several strategies and seeds.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from likewise._parts import get_part
from likewise.active._comparison import Comparison, RunFailure, Trace
from likewise.active._interview import Interview
from likewise.active._questions import SECONDS_PER_KIND, AnswerValue, Question, Reply
from likewise.active._state import check_rows
from likewise.active.strategies import DEFAULT, make_model, make_strategy
from likewise.base import Rule, Warned, repeat_warnings, warn_caller
from likewise.exceptions import LikewiseError, OracleError, SupervisionError
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike

Score = Callable[[Any, Any], float]
Progress = bool | Callable[[int, int], Any] | None
_Run = tuple[str, int, Trace | RunFailure, tuple[Warned, ...]]  # strategy, seed, result and warnings


class Oracle(Protocol):
    """The protocol of oracles, which answer questions: any object with a method `answer`.

    No base class is needed. :mod:`likewise.oracles` has oracles that know the classes, simulate errors, call
    a function, or ask a person at a terminal.

    Examples
    --------
    >>> from likewise.active import Answer, Question
    >>> class SameParity:
    ...     def answer(self, question):
    ...         return Answer.SAME if sum(question.rows) % 2 == 0 else Answer.DIFFERENT
    >>> str(SameParity().answer(Question.pair(0, 4)))
    'SAME'
    """

    def answer(self, question: Question) -> AnswerValue | Reply:
        """Answer a question.

        Parameters
        ----------
        question : Question
            The question, usually a pair of rows.

        Returns
        -------
        Answer, OddOne, Piles, InGroup, Unlike, Named or Reply
            The answer, or a reply that also states the annotator, the time and the duration.
        """


def simulate(
    interview: Interview,
    oracle: Oracle,
    budget: int | None = None,
    *,
    y_true: ArrayLike,
    score: Score = adjusted_rand_score,
    every: int = 1,
    progress: Callable[[int, int | None], Any] | None = None,
) -> Trace:
    """Let an oracle answer the questions of an interview, and score the clusters as the answers come in.

    The interview keeps the answers. If the oracle raises an error or returns an invalid answer, this function
    raises an error, and the interview keeps the answers until then.

    Parameters
    ----------
    interview : Interview
        The interview; it may have answers already.
    oracle : Oracle
        An object with a method ``answer(question)``, see :mod:`likewise.oracles`.
    budget : int, optional
        Maximum number of answers in this call; the budget of the interview applies as well. By default
        questions are asked until there is nothing left to ask.
    y_true : array-like of shape (n_samples,)
        The true class of each row, for the scores.
    score : callable, default=adjusted_rand_score
        Called as ``score(y_true, labels)``; returns a finite number.
    every : int, default=1
        The clusters are scored at the start, after every `every` answers, and at the end. If the strategy
        needs no model, each score costs a fit.
    progress : callable, optional
        Called as ``progress(n_answers, budget)`` after every answer.

    Returns
    -------
    Trace
        The scores and the time per question.

    Examples
    --------
    >>> from likewise.active import Interview, RandomPairs, simulate
    >>> from likewise.oracles import LabelOracle
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> interview = Interview(X, n_clusters=2, strategy=RandomPairs())
    >>> trace = simulate(interview, LabelOracle(y), budget=6, y_true=y)
    >>> int(trace.n_answers[-1]) <= 6, trace.final, interview.finished
    (True, 1.0, True)
    """
    classes = check_y_true(y_true, interview.n_samples)
    rules = {"budget": Rule.either(Rule.integer(0), Rule.choice(None)), "every": Rule.integer(1)}
    _check_arguments("simulate", rules, locals())
    check_oracle(oracle)
    n_answers: list[int] = []
    scores: list[float] = []
    seconds: list[float] = []
    spent, answer_seconds = 0.0, []  # seconds of the person
    n_answered = 0
    while True:
        question = None
        if budget is None or n_answered < budget:
            start = time.perf_counter()
            question = interview.ask()
            seconds += [time.perf_counter() - start] * (question is not None)
        if question is None or n_answered % every == 0:
            n_answers.append(interview.n_answers)
            found = float(score(classes, interview.labels_))
            if not math.isfinite(found):
                raise ValueError(f"the score of the clusters must be a finite number, got {found}.")
            scores.append(found)
            answer_seconds.append(spent)
        if question is None:
            return Trace(
                np.array(n_answers, dtype=np.int64),
                np.array(scores),
                np.array(seconds),
                np.array(answer_seconds),
            )
        reply = _answer_question(interview, oracle, question, n_answered)
        spent += SECONDS_PER_KIND[question.kind] if reply.seconds is None else reply.seconds
        n_answered += 1
        if progress is not None:
            progress(n_answered, budget)


def _check_arguments(owner: str, rules: Mapping[str, Rule], values: Mapping[str, Any]) -> None:
    for name, rule in rules.items():
        if not rule.holds(values[name]):
            raise ValueError(f"{owner}: {name} must be {rule.expected}, got {values[name]!r}.")


def check_y_true(y_true: Any, n_samples: int) -> npt.NDArray[Any]:
    """Return the classes as an array after checking that each row has one."""
    classes = np.asarray(y_true)
    if classes.shape != (n_samples,):
        raise SupervisionError(
            f"y_true must have the shape ({n_samples},), one class per row; got {classes.shape}."
        )
    unknown = np.flatnonzero(Supervision.from_labels(classes, missing=None).label_codes < 0)
    if len(unknown):
        raise SupervisionError(
            f"y_true has no class for {len(unknown)} row(s), the first of them row {unknown[0]}, but scores "
            "need known classes. Remove such rows from X and y_true."
        )
    return classes


def check_oracle(oracle: Any) -> None:
    """Raise a TypeError if an object has no method `answer`."""
    if isinstance(oracle, type) or not callable(getattr(oracle, "answer", None)):
        raise TypeError(
            f"expected an oracle with a method answer(question), such as LabelOracle(y); got {oracle!r}. "
            "CallableOracle(function) makes an oracle from a function."
        )


def _answer_question(interview: Interview, oracle: Oracle, question: Question, n_answered: int) -> Reply:
    """Let the oracle answer a question and record the answer; errors state the number of answers so far."""
    kept = f"The interview keeps the {n_answered} answer(s) until then."
    try:
        answer = oracle.answer(question)
        if isinstance(answer, Reply):
            return interview.tell(
                question,
                answer.to(question),
                annotator=answer.annotator,
                time=answer.time,
                seconds=answer.seconds,
            )
        return interview.tell(question, answer)
    except LikewiseError as error:
        error.add_note(kept)
        raise
    except Exception as error:  # oracles may raise anything
        raise OracleError(
            f"the oracle failed at “{question.text}”: {type(error).__name__}: {error}. {kept}", question
        ) from error


# ---------------------------------------------------------------------- many interviews


def compare(
    strategies: Any,
    X: MatrixLike,
    y_true: ArrayLike,
    *,
    n_clusters: int | None = None,
    model: Any = None,
    budget: int | None = 60,
    repeats: int = 10,
    every: int = 1,
    oracle: Callable[[int], Any] | None = None,
    random_state: int = 0,
    score: Score = adjusted_rand_score,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Comparison:
    """Simulate interviews with several strategies, each with several seeds, and compare the scores.

    Run r of every strategy uses the seed ``random_state + r`` for the strategy, the model and the oracle, so
    runs can be compared seed by seed. Each run is independent and uses one thread, so the result does not
    depend on the number of processes. A run that fails is listed in ``errors`` and does not affect the
    others.

    Parameters
    ----------
    strategies : dict or list
        The strategies to compare: a dict with names of your choice as keys, or a list. Each entry is a
        strategy such as ``RandomPairs()``, a name such as "npu", "default" or None for the default of
        :class:`Interview`, or a pair (strategy, model).
    X : array-like of shape (n_samples, n_features)
        The rows.
    y_true : array-like of shape (n_samples,)
        The true class of each row; there must be at least two classes.
    n_clusters : int, optional
        The number of clusters. By default, `n_clusters` of the model if it has one, or else the number of
        classes.
    model : estimator, optional
        The model for strategies that are given without one. By default the default model of
        :class:`Interview`, and ``BayesianClustering`` for the names "info" and "uncertain", which need
        probabilities.
    budget : int or None, default=60
        Maximum number of answers in a run. With None, a run ends when there is nothing left to ask.
    repeats : int, default=10
        The number of runs of each strategy.
    every : int, default=1
        The clusters are scored at the start, after every `every` answers, and at the end.
    oracle : callable, optional
        Called with the seed of a run; returns the oracle that answers in it. With errors, for example:
        ``lambda seed: make_oracle("look-alike", y, X, rate=0.1, random_state=seed)``, see
        :func:`likewise.oracles.make_oracle`. By default ``LabelOracle(y_true)``, which makes no errors.
    random_state : int, default=0
        The seed of the first run.
    score : callable, default=adjusted_rand_score
        Called as ``score(y_true, labels)``; returns a finite number.
    n_jobs : int, optional
        The number of processes that run interviews at the same time, as in scikit-learn.
    progress : bool or callable, optional
        True shows a progress bar on stderr if that is a terminal. A callable is called as
        ``progress(n_done, n_runs)`` after every run. By default nothing is shown.

    Returns
    -------
    Comparison
        The traces of all runs, with methods that average and compare them.

    Examples
    --------
    >>> from likewise.active import NodeUncertainty
    >>> from likewise.active import compare
    >>> from likewise.datasets import make_two_views
    >>> toy = make_two_views(n_samples=60, random_state=0)
    >>> found = compare(["random", NodeUncertainty("local")], toy.X, toy.y, budget=12, repeats=3, every=4)
    >>> found
    Comparison(random, node-local: 6 runs)
    >>> found.n_answers.tolist(), found.scores("random").shape
    ([0, 4, 8, 12], (3, 4))
    """
    rules = {
        "budget": Rule.either(Rule.integer(0), Rule.choice(None)),
        "repeats": Rule.integer(1),
        "every": Rule.integer(1),
        "random_state": Rule.integer(0),
        "n_clusters": Rule.either(Rule.integer(2), Rule.choice(None)),
    }
    _check_arguments("compare", rules, locals())
    rows = check_rows(X)
    classes = check_y_true(y_true, len(rows))
    n_classes = len(set(classes.tolist()))
    if n_classes < 2:
        raise ValueError(
            f"compare: expected at least two classes in y_true; got {classes.tolist()[0]!r} for all "
            f"{len(rows)} rows. Check that y_true is the right column."
        )
    entries = _make_entries(strategies, n_clusters, model, n_classes)
    make = oracle
    if make is None:
        make = partial(_make_label_oracle, classes)
    if not callable(make):
        raise TypeError(
            "compare: oracle must be a function that makes an oracle from the seed of a run, such as "
            f"lambda seed: make_oracle('uniform', y, rate=0.1, random_state=seed); got {oracle!r}."
        )
    check_oracle(make(random_state))
    for entry in entries:  # raises errors about a strategy or a model before the work begins
        entry.make_interview(rows, random_state)
    runs = [(entry, number) for number in range(random_state, random_state + repeats) for entry in entries]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    found: list[_Run | None] = [None] * len(runs)
    with _report_progress(progress, len(runs)) as tell:
        done = parallel(
            delayed(_run)(place, entry, number, rows, classes, make, budget, every, score)
            for place, (entry, number) in enumerate(runs)
        )
        for n_done, (place, run) in enumerate(done, start=1):
            found[place] = run
            tell(n_done, len(runs))
    return _gather_runs(entries, [run for run in found if run is not None], score)


# ---------------------------------------------------------------------- entries


@dataclass(frozen=True, eq=False)
class _Entry:
    """A strategy with its model and its name."""

    name: str
    strategy: Any
    model: Any
    n_clusters: int

    def make_interview(self, X: npt.NDArray[Any], seed: int) -> Interview:
        """Return a new interview for one run."""
        return Interview(
            X, model=self.model, strategy=self.strategy, n_clusters=self.n_clusters, random_state=seed
        )


def _is_pair(spec: Any) -> bool:
    """Return whether a tuple is a strategy with its model, not two strategies."""
    return isinstance(spec, tuple) and len(spec) == 2 and (spec[1] is None or hasattr(spec[1], "fit"))


def _make_entries(strategies: Any, n_clusters: int | None, model: Any, n_classes: int) -> list[_Entry]:
    if isinstance(strategies, str) or _is_pair(strategies) or hasattr(strategies, "choose"):
        strategies = [strategies]  # a single strategy
    if not isinstance(strategies, Iterable):
        raise TypeError(f"compare: strategies must be a dict or a list of strategies, got {strategies!r}.")
    named: Iterable[tuple[Any, Any]] = (
        strategies.items() if isinstance(strategies, Mapping) else ((None, spec) for spec in strategies)
    )
    entries: list[_Entry] = []
    for name, spec in named:
        strategy, own = spec if _is_pair(spec) else (spec, None)
        chosen = model if own is None else own
        k = n_clusters or getattr(chosen, "n_clusters", None) or n_classes
        called = DEFAULT if strategy is None else strategy
        if isinstance(called, str):
            strategy = make_strategy(called)
            chosen = make_model(called, k) if chosen is None else chosen
        else:
            called = str(getattr(strategy, "name", strategy))
        if name is None:
            name = called if own is None else f"{called} with {type(own).__name__}"
        entries.append(_Entry(str(name), strategy, chosen, k))
    counts = Counter(entry.name for entry in entries)
    if not entries:
        raise ValueError("compare: strategies is empty; expected at least one strategy.")
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(
            f"compare: {counts[twice[0]]} strategies are called {twice[0]!r}. Pass a dict with different "
            "names: compare({'one': ..., 'other': ...}, ...)."
        )
    return entries


def _make_label_oracle(classes: npt.NDArray[Any], random_state: int) -> Any:
    return get_part("oracle by classes")(classes)


# ---------------------------------------------------------------------- one run


def _run(
    place: int,
    entry: _Entry,
    seed: int,
    X: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    oracle: Callable[[int], Any],
    budget: int | None,
    every: int,
    score: Score,
) -> tuple[int, _Run]:
    """Return the place of a run, and its trace or failure with the warnings."""
    result: Trace | RunFailure
    # Other processes get large arrays as read-only memory maps, for which kernels would be compiled again.
    # On one thread the order of summation does not depend on the number of processes.
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            interview = entry.make_interview(np.array(X, order="C"), seed)
            result = simulate(interview, oracle(seed), budget, y_true=classes, score=score, every=every)
        except Exception as error:  # models, strategies, oracles and scores may raise anything
            message = " ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
            result = RunFailure(entry.name, seed, message, getattr(error, "rows", ()))
    warned = tuple(Warned.from_record(w, f"{entry.name!r} with seed {seed}: ") for w in caught)
    return place, (entry.name, seed, result, warned)


def _gather_runs(entries: list[_Entry], runs: list[_Run], score: Score) -> Comparison:
    traces: dict[str, dict[int, Trace]] = {entry.name: {} for entry in entries}
    errors: list[RunFailure] = []
    for name, seed, result, _ in runs:
        if isinstance(result, RunFailure):
            errors.append(result)
        else:
            traces[name][seed] = result
    if len(errors) == len(runs):
        raise LikewiseError(f"compare: every run failed, the first {errors[0]}", rows=errors[0].rows)
    repeat_warnings(warned for *_, caught in runs for warned in caught)
    if errors:
        warn_caller(
            f"compare: {len(errors)} of {len(runs)} runs failed, the first {errors[0]} The result contains "
            "the other runs; its `errors` lists all failures.",
            FitFailedWarning,
        )
    called = getattr(score, "__name__", "score").removesuffix("_score").replace("_", " ")
    return Comparison(traces, tuple(errors), "adjusted Rand index" if called == "adjusted rand" else called)


@contextmanager
def _report_progress(progress: Progress, n_runs: int) -> Iterator[Callable[[int, int], Any]]:
    """Yield the function that is called after every run."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda n_done, n_runs: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("interviews", total=n_runs)
        yield lambda n_done, n_runs: bar.update(task, completed=n_done)
