"""Compare strategies and models by many simulated interviews on the same rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from likewise._parts import get_part
from likewise.active._comparison import Comparison, RunFailure
from likewise.active._interview import Interview
from likewise.active._simulate import Score, Trace, check_oracle, check_y_true, simulate
from likewise.active._state import check_rows
from likewise.active.strategies import DEFAULT, make_model, make_strategy
from likewise.base import Warned, choice, either, integer, repeat_warnings, warn_caller
from likewise.exceptions import LikewiseError

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike

Progress = bool | Callable[[int, int], Any] | None


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
    for name, value, rule in (
        ("budget", budget, either(integer(0), choice(None))),
        ("repeats", repeats, integer(1)),
        ("every", every, integer(1)),
        ("random_state", random_state, integer(0)),
        ("n_clusters", n_clusters, either(integer(2), choice(None))),
    ):
        if not rule.holds(value):
            raise ValueError(f"compare: {name} must be {rule.expected}, got {value!r}.")
    rows = check_rows(X)
    classes = check_y_true(y_true, len(rows))
    n_classes = len(set(classes.tolist()))
    if n_classes < 2:
        raise ValueError(
            f"compare: expected at least two classes in y_true; got {classes.tolist()[0]!r} for all "
            f"{len(rows)} rows. Check that y_true is the right column."
        )
    entries = _make_entries(strategies, n_clusters, model, n_classes)
    make = _LabelOracles(classes) if oracle is None else oracle
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


@dataclass(frozen=True, eq=False)
class _LabelOracles:
    """Factory of the default oracle, which answers by the classes."""

    classes: npt.NDArray[Any]

    def __call__(self, random_state: int) -> Any:
        return get_part("oracle by classes")(self.classes)


# ---------------------------------------------------------------------- one run


@dataclass(frozen=True, eq=False)
class _Run:
    """The result of one run, in this process or another."""

    name: str
    seed: int
    trace: Trace | None
    failure: str | None
    rows: tuple[int, ...]
    warned: tuple[Warned, ...]


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
    trace, failure, rows = None, None, ()
    # Other processes get large arrays as read-only memory maps, for which kernels would be compiled again.
    # On one thread the order of summation does not depend on the number of processes.
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            interview = entry.make_interview(np.array(X, order="C"), seed)
            trace = simulate(interview, oracle(seed), budget, y_true=classes, score=score, every=every)
        except Exception as error:  # models, strategies, oracles and scores may raise anything
            failure = " ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
            rows = getattr(error, "rows", ())
    warned = tuple(Warned.from_record(w, f"{entry.name!r} with seed {seed}: ") for w in caught)
    return place, _Run(entry.name, seed, trace, failure, rows, warned)


def _gather_runs(entries: list[_Entry], runs: list[_Run], score: Score) -> Comparison:
    traces: dict[str, dict[int, Trace]] = {entry.name: {} for entry in entries}
    errors: list[RunFailure] = []
    for run in runs:
        if run.trace is not None:
            traces[run.name][run.seed] = run.trace
        else:
            errors.append(RunFailure(run.name, run.seed, run.failure or "", run.rows))
    if len(errors) == len(runs):
        raise LikewiseError(f"compare: every run failed, the first {errors[0]}", rows=errors[0].rows)
    repeat_warnings(warned for run in runs for warned in run.warned)
    if errors:
        warn_caller(
            f"compare: {len(errors)} of {len(runs)} runs failed, the first {errors[0]} The result contains "
            "the other runs; its `errors` lists all failures.",
            FitFailedWarning,
        )
    name = getattr(score, "__name__", "score").removesuffix("_score").replace("_", " ")
    return Comparison(traces, tuple(errors), "adjusted Rand index" if name == "adjusted rand" else name)


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
