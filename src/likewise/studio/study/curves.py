"""Figures 3.9 and 3.10 of the thesis: clusterings from each participant's answers, and their plots.

The answers of each kind are accumulated in five steps, and the rows are clustered from them. "Same items":
one fifth of the answers per step, which shows the same number of items if there are three pairs per two
triplets. "Same time": the answers given within one fifth, two fifths … of T, where T is the time for the kind
that took less time in total. The thesis writes T_i beside the times of both kinds and does not specify it;
beyond T there are answers of only one kind.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from likewise.discriminative import DiscriminativeClustering
from likewise.evaluation import pairwise_f
from likewise.exceptions import InconsistentSupervisionWarning, StudyError
from likewise.plotting import COLOURS, MARKERS, QUIET, hide_spines, make_detached_figure
from likewise.studio.study.answers import PICKS, Participant, StudyAnswer
from likewise.studio.study.plan import Study
from likewise.supervision import Supervision

Budget = Literal["items", "time"]
Method = Literal["P", "R", "R-C"]  # pairs; triplets; triplets without NEITHER (names of the thesis)

BUDGETS: tuple[Budget, ...] = ("items", "time")
METHODS: tuple[Method, ...] = ("P", "R", "R-C")
NAMES: dict[Method, str] = {"P": "pairs", "R": "triplets", "R-C": "triplets without “neither”"}
PARTS = (0.2, 0.4, 0.6, 0.8, 1.0)
EPSILON = 0.15  # as in the thesis, for answers of people
# Most of the time is spent here: 30 fits per participant. Six starts and 300 iterations took twice as long on
# digits; of seven scores, six changed by at most 0.005 and one by 0.03.
_STARTS = 2
_MAX_ITER = 60
_LEVEL = 0.95


@dataclass(frozen=True)
class StudyCurve:
    """One curve of Figure 3.9 and its numbers of Figure 3.10.

    Attributes
    ----------
    budget : {"items", "time"}
        The quantity held equal.
    method : {"P", "R", "R-C"}
        Which answers are used: pairs, triplets, or triplets without NEITHER.
    parts : tuple of float
        The shares of the budget.
    mean, low, high : tuple of float or None
        Pairwise F-measure, mean over participants, and the 95% interval of the mean by Student's t, within
        0 and 1; None for the interval of one participant.
    n_used, n_correct : tuple of float
        Number of answers used, and of right answers among them, mean over participants.
    by_person : tuple of float
        The F-measure of each participant with the whole budget.
    """

    budget: Budget
    method: Method
    parts: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    n_used: tuple[float, ...]
    n_correct: tuple[float, ...]
    by_person: tuple[float, ...] = ()


@dataclass(frozen=True)
class StudyCurves:
    """All curves, the F-measure without answers, and the number of rows of known class."""

    curves: tuple[StudyCurve, ...]
    start: float
    n_people: int
    n_rows: int
    n_all_rows: int

    def get(self, budget: Budget, method: Method) -> StudyCurve:
        """Return one curve."""
        return next(curve for curve in self.curves if (curve.budget, curve.method) == (budget, method))


def select_answers(
    person: Participant, budget: Budget, method: Method
) -> tuple[tuple[StudyAnswer, ...], ...]:
    """Return the answers that a method uses at each part of a budget."""
    given = person.pairs if method == "P" else person.triplets
    if budget == "items":
        steps = [given[: round(part * len(given))] for part in PARTS]
    else:
        clocks = {kind: _accumulate_seconds(person.get_answers(kind)) for kind in ("pair", "triplet")}
        most = min(clock[-1] for clock in clocks.values())
        clock = clocks["pair" if method == "P" else "triplet"]
        # The last answer of the quicker kind is at T itself: rounding must not exclude it.
        steps = [given[: int((clock <= part * most * (1 + 1e-9)).sum())] for part in PARTS]
    if method == "R-C":
        steps = [tuple(one for one in step if one.answer in PICKS) for step in steps]
    return tuple(steps)


def _accumulate_seconds(given: Sequence[StudyAnswer]) -> npt.NDArray[np.float64]:
    """Return the time after each answer; a missing response time is replaced by the mean."""
    times = np.array([np.nan if one.seconds is None else one.seconds for one in given], dtype=np.float64)
    known = times[~np.isnan(times)]
    return np.cumsum(np.where(np.isnan(times), known.mean() if len(known) else 1.0, times))


def compute_study_curves(
    study: Study,
    people: Sequence[Participant],
    *,
    data_set: str = "",
    max_rows: int = 600,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> StudyCurves:
    """Cluster from the answers of each participant who finished.

    Parameters
    ----------
    study : Study
        Features and classes. There are as many clusters as classes.
    people : sequence of Participant
        The participants.
    data_set : str
        The data set, if the study has several.
    max_rows : int, default=600
        Maximum number of rows clustered and scored per participant: those they were asked about, and
        random others. It bounds the computing time.
    seed : int, default=0
        Random seed.
    progress : callable, optional
        Called with the number of fits done and to do.
    """
    finished = [person.restrict(data_set) for person in people if person.finished]
    truths = study.get_classes_of(data_set)
    if not finished:
        raise StudyError("nobody has finished the study yet, so there is nothing to compare.")
    which = [(budget, method) for budget in BUDGETS for method in METHODS]
    used = {one: [select_answers(person, *one) for person in finished] for one in which}
    scores = {one: np.empty((len(finished), len(PARTS))) for one in which}
    starts, n_rows, done = [], 0, 0
    for who, person in enumerate(finished):
        rows = _draw_rows(truths, person, max_rows, seed)
        fits = _StudyFits(study.X, truths, rows, seed)
        starts.append(fits.score(()))
        n_rows = max(n_rows, len(rows))
        for one in which:
            for step, given in enumerate(used[one][who]):
                scores[one][who, step] = fits.score(given)
                done += 1
                if progress is not None:
                    progress(done, len(which) * len(finished) * len(PARTS))
    return StudyCurves(
        tuple(_make_curve(*one, scores[one], used[one]) for one in which),
        float(np.mean(starts)),
        len(finished),
        n_rows,
        sum(truth is not None for truth in truths),
    )


def _make_curve(
    budget: Budget,
    method: Method,
    scores: npt.NDArray[np.float64],
    sets: Sequence[Sequence[Sequence[StudyAnswer]]],
) -> StudyCurve:
    n, mean = len(scores), scores.mean(axis=0)
    low = high = np.full(len(PARTS), None)
    if n > 1:
        half = stats.t.ppf(0.5 + _LEVEL / 2, n - 1) * scores.std(axis=0, ddof=1) / np.sqrt(n)
        low, high = np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)
    used = np.array([[len(step) for step in steps] for steps in sets], dtype=np.float64).mean(axis=0)
    right = np.array([[sum(one.answer == one.truth for one in step) for step in steps] for steps in sets])
    values = (mean, low, high, used, right.mean(axis=0), scores[:, -1])
    return StudyCurve(budget, method, PARTS, *(tuple(value.tolist()) for value in values))


def _draw_rows(
    truths: Sequence[str | None], person: Participant, most: int, seed: int
) -> npt.NDArray[np.int64]:
    """Return the rows that a person was asked about, and random others of known class up to `most`."""
    asked = {row for one in (*person.pairs, *person.triplets) for row in one.rows}
    known = (row for row, truth in enumerate(truths) if truth is not None)
    others = np.array([row for row in known if row not in asked], dtype=np.int64)
    room = max(0, most - len(asked))
    if len(others) > room:
        others = np.random.default_rng([seed, person.person, 11]).choice(others, room, replace=False)
    return np.sort(np.r_[np.array(sorted(asked), dtype=np.int64), others])


class _StudyFits:
    """Clusterings of the same rows from different answers, cached by the answers."""

    def __init__(
        self, X: npt.NDArray[Any], truths: Sequence[str | None], rows: npt.NDArray[np.int64], seed: int
    ) -> None:
        self._X = np.asarray(X[rows], dtype=np.float64)
        self._y = [truths[row] for row in rows]
        self._k = len(set(truths) - {None})
        self._place = {int(row): place for place, row in enumerate(rows)}
        self._seed = seed
        self._scores: dict[frozenset[tuple[tuple[int, ...], str]], float] = {}

    def score(self, given: Sequence[StudyAnswer]) -> float:
        """Return the pairwise F-measure of the clustering from these answers."""
        key = frozenset((one.rows, one.answer) for one in given)
        if key not in self._scores:
            self._scores[key] = self._fit(given)
        return self._scores[key]

    def _fit(self, given: Sequence[StudyAnswer]) -> float:
        n = len(self._X)
        rows = [([self._place[row] for row in one.rows], one.answer) for one in given]
        must = [pair for pair, answer in rows if answer == "SAME"]
        cannot = [pair for pair, answer in rows if answer == "DIFFERENT"]
        hints = Supervision.from_links(n, must=must or None, cannot=cannot or None)
        if triplets := [(triplet, answer) for triplet, answer in rows if len(triplet) == 3]:
            hints = hints | Supervision.from_triplets(n, *zip(*triplets, strict=True))
        model = DiscriminativeClustering(
            self._k, epsilon=EPSILON, n_init=_STARTS, max_iter=_MAX_ITER, random_state=self._seed, n_jobs=1
        )
        with warnings.catch_warnings():
            # Contradictory answers and the limit on iterations are expected here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", InconsistentSupervisionWarning)
            labels = model.fit(self._X, supervision=hints).labels_
        return float(pairwise_f(self._y, labels))


# ---------------------------------------------------------------------- figures


def draw_scores(curves: StudyCurves) -> Any:
    """Plot Figure 3.9, the F-measure for the same items and the same time, and return the figure."""
    figure = make_detached_figure(9.0, 3.8)
    for ax, budget in zip(figure.subplots(1, 2, sharey=True), BUDGETS, strict=True):
        for place, method in enumerate(METHODS):
            curve = curves.get(budget, method)
            # A small offset keeps error bars of different curves apart.
            parts = [part + 0.012 * (place - 1) for part in curve.parts]
            errors = None
            if None not in curve.low and None not in curve.high:
                mean, low, high = (
                    np.array(one, dtype=np.float64) for one in (curve.mean, curve.low, curve.high)
                )
                errors = [mean - low, high - mean]
            ax.errorbar(parts, curve.mean, yerr=errors, capsize=2.5, label=NAMES[method], **_get_look(place))
        ax.axhline(curves.start, color=QUIET, linestyle=":", linewidth=1.0, label="without answers")
    return _finish(figure, "pairwise F-measure", 4)


def draw_numbers(curves: StudyCurves) -> Any:
    """Plot Figure 3.10, the number of answers used and of right answers, and return the figure."""
    figure = make_detached_figure(9.0, 3.8)
    for ax, budget in zip(figure.subplots(1, 2, sharey=True), BUDGETS, strict=True):
        for place, method in enumerate(METHODS):
            curve, look = curves.get(budget, method), _get_look(place)
            ax.plot(curve.parts, curve.n_used, label=f"{NAMES[method]}, all", **look)
            right = f"{NAMES[method]}, right"
            ax.plot(curve.parts, curve.n_correct, label=right, **look, linestyle="--", mfc="w")
        ax.set_ylim(bottom=0)
    return _finish(figure, "answers of a participant", 3)


def _get_look(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place], "marker": MARKERS[place], "markersize": 4.5, "linewidth": 1.6}


def _finish(figure: Any, y: str, n_columns: int) -> Any:
    """Label the axes of both budgets, and place the legend below them."""
    titles = (("same number of items", "share of the answers"), ("same time", "share of the time"))
    for ax, (title, x) in zip(figure.axes, titles, strict=True):
        ax.set_title(title, fontsize=10)
        ax.set_xlabel(x)
        ax.set_xticks(PARTS, [f"{part:g}" for part in PARTS])
        hide_spines(ax)
    figure.axes[0].set_ylabel(y)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, frameon=False, fontsize=8)
    return figure


def format_png(figure: Any, *, dpi: int = 120) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()
