"""Plot of a comparison of strategies: scores over the number of answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from likewise.plotting._figure import MARKERS, PALETTE, QUIET, AxesDisplay

# Yellow is too pale for a line on white, and black comes last; dashes distinguish repeated colours.
COLOURS = tuple(colour for colour in PALETTE if colour != "#F0E442")
DASHES = ("-", "--", ":", "-.")
_MARKS = 8  # number of markers on a curve
_FEW = 4  # more bands than this overlap and are made fainter
_LINE = 0.17  # distance between names in inches


@dataclass(repr=False, eq=False)
class CurveDisplay(AxesDisplay):
    """Scores over the number of answers, one curve for each strategy, with a confidence band.

    Create it with :meth:`from_comparison`. A curve is the mean over the runs of a strategy, with its name at
    the end. A dotted horizontal line shows the mean score before the first question. Strategies with
    different models can have different initial scores; a line has the colour of its strategy if no other
    strategy shares it, else it is grey. The colours suit colour-blind readers; markers, and from the eighth
    strategy on dashes, also differ.

    Parameters
    ----------
    curves : mapping of str to Curve
        Objects with `n_answers`, `mean`, `low` and `high`; the last two are None if there is no band.
    score_name : str, default="score"
        The name of the score.
    reach : float or None, default=None
        A score to mark by a horizontal line.
    level : float or None, default=None
        The confidence level of the bands, which the plot states.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure; None before :meth:`plot`.
    ax_ : matplotlib Axes
        The axes.
    lines_ : dict of str to Line2D
        The curve of each strategy.
    bands_ : dict of str to PolyCollection
        The bands; empty with a single run.
    starts_ : list of Line2D
        The lines of the initial scores.
    names_ : dict of str to Annotation
        The names beside the curves.
    note_ : Annotation or None
        What the bands are; None without bands or without `level`.

    Examples
    --------
    >>> from likewise.active import compare
    >>> from likewise.datasets import make_two_views
    >>> from likewise.plotting import CurveDisplay
    >>> toy = make_two_views(n_samples=60, random_state=0)
    >>> found = compare(["random", "min-max"], toy.X, toy.y, budget=6, repeats=2, every=3)
    >>> display = CurveDisplay.from_comparison(found)
    >>> sorted(display.lines_), display.ax_.get_xlabel()
    (['min-max', 'random'], 'answers')
    >>> display.save("curves.png")  # doctest: +SKIP
    """

    curves: Mapping[str, Any]
    _: KW_ONLY
    score_name: str = "score"
    reach: float | None = None
    level: float | None = None
    lines_: dict[str, Any] = field(init=False, default_factory=dict)
    bands_: dict[str, Any] = field(init=False, default_factory=dict)
    starts_: list[Any] = field(init=False, default_factory=list)
    names_: dict[str, Any] = field(init=False, default_factory=dict)
    note_: Any = field(init=False, default=None)

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        level: float = 0.95,
        reach: float | None = None,
        ax: Any = None,
        title: str | None = None,
    ) -> CurveDisplay:
        """Plot a comparison of strategies.

        Parameters
        ----------
        comparison : Comparison
            The result of :func:`likewise.active.compare`.
        level : float, default=0.95
            The confidence level of the bands for the mean over seeds.
        reach : float, optional
            A score to mark by a horizontal line.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.
        title : str, optional
            The title.

        Returns
        -------
        CurveDisplay
            The display; see its attributes.
        """
        curves = {name: comparison.curve(name, level=level) for name in comparison.areas}
        return cls(curves, score_name=comparison.score_name, reach=reach, level=level).plot(
            ax=ax, title=title
        )

    def _check_and_measure(self) -> tuple[float, float]:
        if not self.curves:
            raise ValueError("there are no curves to plot.")
        return 7.5, max(4.2, 1.2 + _LINE * len(self.curves))

    def _draw(self, ax: Any) -> None:
        self.lines_, self.bands_ = {}, {}
        faint = 0.18 if len(self.curves) <= _FEW else 0.09
        for number, (name, curve) in enumerate(self.curves.items()):
            colour = COLOURS[number % len(COLOURS)]
            step = max(1, -(-len(curve.n_answers) // _MARKS))
            (self.lines_[name],) = ax.plot(
                curve.n_answers,
                curve.mean,
                color=colour,
                linestyle=DASHES[number // len(COLOURS) % len(DASHES)],
                linewidth=1.6,
                marker=MARKERS[number % len(MARKERS)],
                markersize=4.5,
                # Place the markers of different curves at different positions, so none hides another.
                markevery=(number % step, step),
                label=name,
                zorder=3,
            )
            if curve.low is not None:
                self.bands_[name] = ax.fill_between(
                    curve.n_answers, curve.low, curve.high, color=colour, alpha=faint, linewidth=0
                )
        ax.margins(x=0.02)
        ax.xaxis.get_major_locator().set_params(integer=True)
        if max(float(curve.mean.max()) for curve in self.curves.values()) <= 1.0:
            # Most scores are at most 1, but the confidence band of a mean over few runs may exceed it.
            ax.set_ylim(top=min(ax.get_ylim()[1], 1.02))
        ax.set_xlabel("answers")
        ax.set_ylabel(self.score_name)
        self._draw_levels(ax)
        self._draw_names(ax)
        self.note_ = self._explain_bands(ax)

    def _draw_levels(self, ax: Any) -> None:
        """Draw the initial scores and the score to reach."""
        levels: dict[float, list[str]] = {}
        for name, curve in self.curves.items():
            levels.setdefault(round(float(curve.mean[0]), 2), []).append(name)
        self.starts_ = []
        for names in levels.values():
            level = float(self.curves[names[0]].mean[0])
            own = len(names) == 1 and len(levels) > 1
            colour = self.lines_[names[0]].get_color() if own else QUIET
            self.starts_.append(ax.axhline(level, color=colour, linewidth=0.9, linestyle=":", zorder=1))
        # The space below the lowest line has the fewest curves.
        _write_label(
            ax, "before any answer", 1.0, min(line.get_ydata()[0] for line in self.starts_), below=True
        )
        if self.reach is not None:
            ax.axhline(self.reach, color=QUIET, linewidth=0.8, zorder=1)
            _write_label(ax, f"{self.reach:g}", 0.0, self.reach)

    def _explain_bands(self, ax: Any) -> Any:
        """Say below the axis, beside its label, what the bands are."""
        if not self.bands_ or self.level is None:
            return None
        return ax.annotate(
            f"bands: {100 * self.level:g} % confidence intervals of the means",
            (1.0, 0.0),
            xycoords="axes fraction",
            xytext=(0, -22),
            textcoords="offset points",
            va="top",
            ha="right",
            fontsize="x-small",
            color=QUIET,
        )

    def _draw_names(self, ax: Any) -> None:
        """Write each name beside the end of its curve, without overlaps."""
        ends = {name: float(curve.mean[-1]) for name, curve in self.curves.items()}
        order = sorted(ends, key=lambda name: ends[name])
        low, high = ax.get_ylim()
        inches = ax.figure.get_size_inches()[1] * ax.get_position().height
        heights = spread_out((np.array([ends[name] for name in order]) - low) / (high - low), _LINE / inches)
        self.names_ = {}
        for name, height in zip(order, heights.tolist(), strict=True):
            line = self.lines_[name]
            self.names_[name] = ax.annotate(
                name,
                (float(line.get_xdata()[-1]), ends[name]),
                xytext=(1.05, height),
                textcoords="axes fraction",
                va="center",
                fontsize="small",
                annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-",
                    "color": line.get_color(),
                    "linestyle": line.get_linestyle(),
                    "linewidth": 0.9,
                    "shrinkA": 1,
                    "shrinkB": 1,
                    "relpos": (0.0, 0.5),
                },
            )


def _write_label(ax: Any, text: str, side: float, level: float, *, below: bool = False) -> None:
    """Write a small label on or below a horizontal line, at its left (0) or right (1) end."""
    ax.annotate(
        text,
        (side, level),
        xycoords=ax.get_yaxis_transform(),
        xytext=(4 - 8 * side, -2 if below else 2),
        textcoords="offset points",
        va="top" if below else "bottom",
        ha="right" if side else "left",
        fontsize="x-small",
        color=QUIET,
    )


def spread_out(places: npt.NDArray[np.float64], gap: float) -> npt.NDArray[np.float64]:
    """Move ascending positions in [0, 1] as little as possible so that they are at least `gap` apart.

    >>> spread_out(np.array([0.0, 0.5, 0.5, 0.5]), 0.1).round(2).tolist()
    [0.0, 0.4, 0.5, 0.6]
    """
    gap = min(gap, 1.0 / len(places))
    steps = gap * np.arange(len(places))
    # After subtracting the gaps, the positions must be non-decreasing, which isotonic regression ensures.
    moved = isotonic_regression(places - steps, y_min=0.0, y_max=1.0 - steps[-1])
    return np.asarray(moved + steps, dtype=np.float64)
