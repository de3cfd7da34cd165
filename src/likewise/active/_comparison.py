"""Results of simulated interviews: traces, curves with bands, areas, answers needed, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid
from scipy.stats import t as student

from likewise._parts import get_part
from likewise._repr_html import render_table

FloatArray = npt.NDArray[np.float64]
Measure = Literal["area", "final", "start"]
_LEVEL = 0.95
_LEFT = ("strategy", "behind the best, 95 %")  # columns of text


@dataclass(frozen=True, eq=False)
class Trace:
    """The scores of a simulated interview and the time per question.

    Parameters
    ----------
    n_answers : ndarray of shape (n_scores,)
        The numbers of answers at which the clusters were scored, ascending.
    scores : ndarray of shape (n_scores,)
        The score at each of these numbers.
    seconds : ndarray of shape (n_questions,)
        The seconds that the selection of each question took, including the fit if the strategy needs one.
    answer_seconds : ndarray of shape (n_scores,), optional
        The seconds that a person spends on the answers up to each score: as the oracle states them, otherwise
        the assumed seconds of each kind of question, see ``Interview.seconds_per_kind``.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import Trace
    >>> trace = Trace(np.array([0, 10, 20]), np.array([0.2, 0.6, 0.8]), np.zeros(20))
    >>> trace.start, trace.final, round(trace.area, 2), trace.answers_to_reach(0.5)
    (0.2, 0.8, 0.55, 10)
    """

    n_answers: npt.NDArray[np.int64]
    scores: FloatArray
    seconds: FloatArray
    answer_seconds: FloatArray | None = None

    @property
    def start(self) -> float:
        """The first score, before the first question."""
        return float(self.scores[0])

    @property
    def final(self) -> float:
        """The last score."""
        return float(self.scores[-1])

    @property
    def area(self) -> float:
        """The area under the curve, divided by its width: the mean score over the answers."""
        width = float(self.n_answers[-1] - self.n_answers[0])
        if width == 0:
            return self.final
        return float(trapezoid(self.scores, self.n_answers) / width)

    def answers_to_reach(self, score: float) -> int | None:
        """Return the number of answers at which a score was first reached.

        Parameters
        ----------
        score : float
            The score to reach.

        Returns
        -------
        int or None
            The number of answers; None if the score was never reached.
        """
        reached = np.flatnonzero(self.scores >= score)
        return int(self.n_answers[reached[0]]) if len(reached) else None

    def get_scores_at(self, n_answers: Any) -> FloatArray:
        """Return the scores at given numbers of answers.

        Scores are interpolated linearly. After the last one the score stays constant, because an interview
        with nothing left to ask keeps its clusters.

        Parameters
        ----------
        n_answers : array-like of int
            The numbers of answers.

        Returns
        -------
        ndarray of float
            The score at each number of answers.
        """
        return np.asarray(np.interp(n_answers, self.n_answers, self.scores), dtype=np.float64)

    def get_scores_after(self, seconds: Any) -> FloatArray:
        """Return the scores after given seconds of a person's time; kinds of questions differ in their time.

        Parameters
        ----------
        seconds : array-like of float
            The seconds that the person has spent on answers.

        Returns
        -------
        ndarray of float
            The score after each of them, interpolated linearly and constant after the last one.

        Examples
        --------
        >>> import numpy as np
        >>> from likewise.active import Trace
        >>> seconds = np.array([0.0, 25.0, 75.0])
        >>> trace = Trace(np.array([0, 10, 20]), np.array([0.2, 0.6, 0.8]), np.zeros(20), seconds)
        >>> trace.get_scores_after([0, 50, 100]).tolist()
        [0.2, 0.7, 0.8]
        """
        if self.answer_seconds is None:
            raise ValueError("the trace has no answer_seconds; simulate() measures them.")
        return np.asarray(np.interp(seconds, self.answer_seconds, self.scores), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays as lists that can be written as JSON.

        Returns
        -------
        dict
            The keys are "n_answers", "scores", "seconds" and, if they are known, "answer_seconds".
        """
        document = {
            "n_answers": self.n_answers.tolist(),
            "scores": self.scores.tolist(),
            "seconds": self.seconds.tolist(),
        }
        if self.answer_seconds is not None:
            document["answer_seconds"] = self.answer_seconds.tolist()
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Trace:
        """Make a trace from the result of :meth:`to_dict`.

        Parameters
        ----------
        document : mapping
            A mapping with the keys "n_answers", "scores" and "seconds", and perhaps "answer_seconds".

        Returns
        -------
        Trace
            The same trace.
        """
        return cls(
            np.array(document["n_answers"], dtype=np.int64),
            np.array(document["scores"], dtype=np.float64),
            np.array(document["seconds"], dtype=np.float64),
            np.array(document["answer_seconds"], dtype=np.float64) if "answer_seconds" in document else None,
        )


@dataclass(frozen=True)
class RunFailure:
    """A simulated interview that raised an error.

    Parameters
    ----------
    strategy : str
        The name of the strategy.
    seed : int
        The seed of the run.
    error : str
        The type and the message of the error.
    rows : tuple of int, default=()
        The rows that the error is about, if it states any.

    Examples
    --------
    >>> from likewise.active import RunFailure
    >>> print(RunFailure("npu", 3, "ValueError: too few rows"))
    'npu' with seed 3: ValueError: too few rows
    """

    strategy: str
    seed: int
    error: str
    rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))  # JSON has lists only

    def __str__(self) -> str:
        return f"{self.strategy!r} with seed {self.seed}: {self.error}"


@dataclass(frozen=True)
class Estimate:
    """A mean over runs, with its standard error and a confidence interval.

    Parameters
    ----------
    mean : float
        The mean over the runs.
    error : float or None
        The standard error of the mean; None if there is only one run.
    low, high : float or None
        The limits of the confidence interval; None if there is only one run.
    n_runs : int
        The number of runs.

    Examples
    --------
    >>> from likewise.active import Estimate
    >>> estimate = Estimate.from_values([0.4, 0.6])
    >>> round(estimate.mean, 2), round(estimate.error, 2), round(estimate.high - estimate.mean, 2)
    (0.5, 0.1, 1.27)
    """

    mean: float
    error: float | None
    low: float | None
    high: float | None
    n_runs: int

    @classmethod
    def from_values(cls, values: Sequence[float] | FloatArray, level: float = _LEVEL) -> Estimate:
        """Estimate the mean of the population from a sample: mean ± t s / √n (Student).

        Parameters
        ----------
        values : array-like of shape (n_runs,)
            One value per run.
        level : float, default=0.95
            The confidence level of the interval, between 0 and 1.

        Returns
        -------
        Estimate
            The mean, its standard error and its confidence interval.
        """
        numbers = np.asarray(values, dtype=np.float64)
        mean = float(numbers.mean())
        if len(numbers) < 2:
            return cls(mean, None, None, None, len(numbers))
        error, reach = (float(part) for part in _compute_spread(numbers, level))
        return cls(mean, error, mean - reach, mean + reach, len(numbers))


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean score as a function of the number of answers, with a confidence band.

    Parameters
    ----------
    n_answers : ndarray of shape (n_scores,)
        The numbers of answers, ascending.
    mean : ndarray of shape (n_scores,)
        The mean score over the runs at each number of answers.
    low, high : ndarray of shape (n_scores,) or None
        The limits of the band; None if there is only one run.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import Comparison, Trace
    >>> runs = {seed: Trace(np.array([0, 10]), np.array([0.2, 0.6]), np.zeros(10)) for seed in (0, 1)}
    >>> curve = Comparison({"random": runs}).curve("random")
    >>> curve.n_answers.tolist(), curve.mean.tolist()
    ([0, 10], [0.2, 0.6])
    """

    n_answers: npt.NDArray[np.int64]
    mean: FloatArray
    low: FloatArray | None
    high: FloatArray | None


@dataclass(frozen=True)
class Reached:
    """The number of answers after which a strategy first reached a score.

    Parameters
    ----------
    median : float or None
        The median over the runs; None if half of the runs or more never reached the score.
    n_reached : int
        The number of runs that reached the score.
    n_runs : int
        The number of runs.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import Comparison, Trace
    >>> runs = {seed: Trace(np.array([0, 10]), np.array([0.2, 0.6]), np.zeros(10)) for seed in (0, 1)}
    >>> Comparison({"random": runs}).answers_to_reach(0.5)["random"]
    Reached(median=10.0, n_reached=2, n_runs=2)
    """

    median: float | None
    n_reached: int
    n_runs: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """The scores of several strategies, each from the same number of interviews with the same seeds.

    :func:`compare` returns one. The curve of a strategy is the mean over its runs. A run that had nothing
    left to ask keeps its last score, so all curves end at the same number of answers. Bands and
    intervals are mean ± t s / √n over the n runs, with a confidence level of 95 % by default (Student's t: a
    bootstrap of about ten runs would be too narrow). They measure the variation between seeds on these rows,
    and do not generalise to other data.

    Parameters
    ----------
    traces : mapping of str to mapping of int to Trace
        For each strategy, in the order given, the trace of each seed whose run succeeded.
    errors : tuple of RunFailure, default=()
        The runs that failed.
    score_name : str, default="adjusted Rand index"
        The name of the score in tables and plots.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import Comparison
    >>> from likewise.active import Trace
    >>> def trace(*scores):
    ...     return Trace(np.array([0, 10, 20]), np.array(scores), np.zeros(20))
    >>> found = Comparison({
    ...     "random": {0: trace(0.2, 0.2, 0.4), 1: trace(0.2, 0.4, 0.4)},
    ...     "npu": {0: trace(0.2, 0.6, 0.8), 1: trace(0.2, 0.8, 0.8)},
    ... })
    >>> print(found.table(reach=0.6))
    strategy  start  final     ±  area     ±  behind the best, 95 %  answers to .6  seconds
    npu        .200   .800  .000  .600  .050                                    10      .00
    random     .200   .400  .000  .300  .050  -.300 [-.300, -.300]           never      .00
    >>> round(found.difference("npu", "random").mean, 2)
    0.3
    """

    traces: Mapping[str, Mapping[int, Trace]]
    errors: tuple[RunFailure, ...] = ()
    score_name: str = "adjusted Rand index"

    def __repr__(self) -> str:
        runs = sum(map(len, self.traces.values()))
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"Comparison({', '.join(self.traces)}: {runs} runs{failed})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the strategies, in the order given."""
        return tuple(self.traces)

    @cached_property
    def n_answers(self) -> npt.NDArray[np.int64]:
        """All numbers of answers at which at least one run was scored, ascending."""
        parts = [trace.n_answers for runs in self.traces.values() for trace in runs.values()]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]))

    def scores(self, name: str) -> FloatArray:
        """Return the scores of one strategy.

        Parameters
        ----------
        name : str
            The name of the strategy.

        Returns
        -------
        ndarray of shape (n_runs, n_scores)
            The score of each run at each entry of `n_answers`.
        """
        return np.array([trace.get_scores_at(self.n_answers) for trace in self._get_runs(name).values()])

    def curve(self, name: str, *, level: float = _LEVEL) -> Curve:
        """Return the mean curve of one strategy with its confidence band.

        Parameters
        ----------
        name : str
            The name of the strategy.
        level : float, default=0.95
            The confidence level of the band, between 0 and 1.

        Returns
        -------
        Curve
            The mean score at each entry of `n_answers`, with its band.
        """
        scores = self.scores(name)
        mean = scores.mean(axis=0)
        if len(scores) < 2:
            return Curve(self.n_answers, mean, None, None)
        _, reach = _compute_spread(scores, level)
        return Curve(self.n_answers, mean, mean - reach, mean + reach)

    def measure(self, name: str, of: Measure = "area", *, level: float = _LEVEL) -> Estimate:
        """Return the mean of one measure over the runs of a strategy.

        Parameters
        ----------
        name : str
            The name of the strategy.
        of : {"area", "final", "start"}, default="area"
            The measure: the area under the curve divided by its width, the last score, or the first score.
        level : float, default=0.95
            The confidence level of the interval, between 0 and 1.

        Returns
        -------
        Estimate
            The mean over the runs, with its standard error and interval.
        """
        return Estimate.from_values(list(self._get_measure(name, of).values()), level)

    @property
    def areas(self) -> dict[str, Estimate]:
        """The area under the curve, divided by its width, of each strategy with at least one trace."""
        return {name: self.measure(name) for name, runs in self.traces.items() if runs}

    def answers_to_reach(self, score: float) -> dict[str, Reached]:
        """Return the number of answers that each strategy needed to reach a score.

        Parameters
        ----------
        score : float
            The score to reach.

        Returns
        -------
        dict of str to Reached
            One entry per strategy with at least one successful run.
        """
        found = {}
        for name, runs in self.traces.items():
            reached = [trace.answers_to_reach(score) for trace in runs.values()]
            if reached:
                median = float(np.median([np.inf if n is None else n for n in reached]))
                n_reached = sum(n is not None for n in reached)
                found[name] = Reached(median if np.isfinite(median) else None, n_reached, len(reached))
        return found

    def difference(self, first: str, second: str, of: Measure = "area", *, level: float = _LEVEL) -> Estimate:
        """Return the mean difference between two strategies, paired by seed.

        Only seeds whose runs succeeded with both strategies count. If the interval contains 0, these runs do
        not separate the two strategies.

        Parameters
        ----------
        first, second : str
            The names of the strategies. The difference is positive if the first one scores higher.
        of : {"area", "final", "start"}, default="area"
            The measure to compare, see :meth:`measure`.
        level : float, default=0.95
            The confidence level of the interval, between 0 and 1.

        Returns
        -------
        Estimate
            The mean of first minus second over the shared seeds.
        """
        one, other = self._get_measure(first, of), self._get_measure(second, of)
        shared = [seed for seed in one if seed in other]
        if not shared:
            raise ValueError(f"{first!r} and {second!r} have no seed for which both runs succeeded.")
        return Estimate.from_values([one[seed] - other[seed] for seed in shared], level)

    # ------------------------------------------------------------------ tables, files and plots

    def rows(self, reach: float | None = None) -> list[dict[str, Any]]:
        """Return one row per strategy, the largest area first.

        Parameters
        ----------
        reach : float, optional
            A score. If given, the rows also contain the number of answers needed to reach it and the number
            of runs that reached it.

        Returns
        -------
        list of dict
            Names and numbers, such as "strategy", "runs", "area" and "area_error". Unknown values are None.
        """
        reached = {} if reach is None else self.answers_to_reach(reach)
        areas = self.areas
        order = sorted(areas, key=lambda name: -areas[name].mean)
        rows = [self._make_row(name, order[0], reached.get(name)) for name in order]
        failed = [name for name in self.traces if name not in areas]
        return rows + [
            self._make_row(name, None, None) | ({"reached": 0} if reached else {}) for name in failed
        ]

    def table(self, reach: float | None = None) -> str:
        """Return the rows as a text table.

        Parameters
        ----------
        reach : float, optional
            A score. If given, a column shows the number of answers needed to reach it.

        Returns
        -------
        str
            One line per strategy: first score, last score and area (± standard error), the difference to the
            best strategy with its 95 % interval, and the mean seconds per question.
        """
        return _format_columns(self._get_columns(reach), left=_LEFT)

    def _repr_html_(self) -> str:
        columns = self._get_columns()
        head = ["±" if name.startswith("±") else name for name in columns]
        notes = [
            "Sorted by area, the largest first.",
            f"Score: {self.score_name}; area: its mean over the answers; ±: one standard error.",
            *(f"Failed: {failure}" for failure in self.errors[:3]),
        ]
        return render_table(repr(self), head, zip(*columns.values(), strict=True), notes)

    def _get_columns(self, reach: float | None = None) -> dict[str, list[str]]:
        """Return the cells of each column by its heading."""
        rows = self.rows(reach)
        counts = {row["runs"] for row in rows}
        columns = {"strategy": [row["strategy"] for row in rows]}
        if len(counts) > 1:  # some failed
            columns["runs"] = [str(row["runs"]) for row in rows]
        for key in ("start", "final", "area"):
            columns[key] = [_format_short(row[key]) for row in rows]
            if key != "start":
                columns[f"± {key}"] = [_format_short(row[f"{key}_error"]) for row in rows]
        columns["behind the best, 95 %"] = [_format_behind(row) for row in rows]
        if reach is not None:
            columns[f"answers to {_format_short(reach, 'g')}"] = [_format_needed(row) for row in rows]
        columns["seconds"] = [_format_short(row["seconds"], ".2f") for row in rows]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the traces, the failures and the name of the score in a form that can be written as JSON.

        Returns
        -------
        dict
            The input of :meth:`from_dict`.
        """
        return {
            "score_name": self.score_name,
            "traces": {
                name: {str(seed): trace.to_dict() for seed, trace in runs.items()}
                for name, runs in self.traces.items()
            },
            "errors": [asdict(failure) for failure in self.errors],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Comparison:
        """Make a comparison from the result of :meth:`to_dict`.

        Parameters
        ----------
        document : mapping
            The result of :meth:`to_dict`, possibly read from JSON.

        Returns
        -------
        Comparison
            The same comparison.
        """
        traces = {
            name: {int(seed): Trace.from_dict(trace) for seed, trace in runs.items()}
            for name, runs in document["traces"].items()
        }
        errors = tuple(RunFailure(**failure) for failure in document["errors"])
        return cls(traces, errors, document["score_name"])

    def plot(self, **options: Any) -> Any:
        """Plot the curves with their bands.

        Parameters
        ----------
        **options : dict
            Passed to :meth:`likewise.plotting.CurveDisplay.from_comparison`.

        Returns
        -------
        CurveDisplay
            The plot.
        """
        return get_part("plot of curves").from_comparison(self, **options)

    # ------------------------------------------------------------------ parts

    def _get_runs(self, name: str) -> Mapping[int, Trace]:
        if name not in self.traces:
            raise ValueError(f"there is no strategy {name!r}; expected one of {', '.join(self.traces)}.")
        if not self.traces[name]:
            raise ValueError(f"every run of {name!r} failed; see `errors` for the reasons.")
        return self.traces[name]

    def _get_measure(self, name: str, of: Measure) -> dict[int, float]:
        """Return the measure of each seed."""
        if of not in get_args(Measure):
            raise ValueError(f"of must be one of {get_args(Measure)}, got {of!r}.")
        runs = self._get_runs(name)
        if of != "area":
            return {seed: float(getattr(trace, of)) for seed, trace in runs.items()}
        # All areas use the same range of answers, which may be longer than a single trace.
        width = float(self.n_answers[-1] - self.n_answers[0])
        scores = self.scores(name)
        areas = trapezoid(scores, self.n_answers, axis=1) / width if width else scores[:, -1]
        return dict(zip(runs, areas.tolist(), strict=True))

    def _make_row(self, name: str, best: str | None, reached: Reached | None) -> dict[str, Any]:
        runs = self.traces[name]
        failed = sum(failure.strategy == name for failure in self.errors)
        row: dict[str, Any] = {"strategy": name, "runs": len(runs), "failed": failed}
        for of in get_args(Measure):
            found = self.measure(name, of) if runs else None
            row |= {of: found and found.mean, f"{of}_error": found and found.error}
        seconds = np.concatenate([np.empty(0), *(trace.seconds for trace in runs.values())])
        row["seconds"] = float(seconds.mean()) if len(seconds) else None
        shared = best is not None and name != best and set(runs) & set(self.traces[best])
        behind = self.difference(name, best) if shared and best is not None else None
        for key, part in (("behind", "mean"), ("behind_low", "low"), ("behind_high", "high")):
            row[key] = behind and getattr(behind, part)
        if reached is not None:
            row |= {"answers_to_reach": reached.median, "reached": reached.n_reached}
        return row


def _compute_spread(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the standard error of the mean over the first axis, and half the width of its interval."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")
    n = len(values)
    error = np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n))
    return error, np.asarray(student.ppf((1 + level) / 2, n - 1) * error)


def _format_columns(columns: Mapping[str, list[str]], left: tuple[str, ...]) -> str:
    """Return columns as lines of text. Numbers are right-aligned; headings that begin with ± become ±."""
    padded = []
    for head, cells in columns.items():
        shown = [head[0] if head.startswith("±") else head, *cells]
        width = max(map(len, shown))
        padded.append([cell.ljust(width) if head in left else cell.rjust(width) for cell in shown])
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True))


def _format_short(value: float | None, form: str = ".3f") -> str:
    """Format a number without the zero before its decimal point; None gives an empty string."""
    if value is None:
        return ""
    text = format(value, form)
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _format_behind(row: Mapping[str, Any]) -> str:
    if row["behind"] is None:
        return "" if row["runs"] else "every run failed"
    if row["behind_low"] is None:
        return _format_short(row["behind"])
    return (
        f"{_format_short(row['behind'])} [{_format_short(row['behind_low'])}, "
        f"{_format_short(row['behind_high'])}]"
    )


def _format_needed(row: Mapping[str, Any]) -> str:
    if not row["runs"]:
        return ""
    some = "" if row["reached"] == row["runs"] else f" ({row['reached']} of {row['runs']} runs)"
    if row["answers_to_reach"] is None:
        return "never" if not row["reached"] else f"more{some}"
    return f"{row['answers_to_reach']:g}{some}"
