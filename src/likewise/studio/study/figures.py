"""Plot the curves of a study, in the style of :mod:`likewise.plotting`."""

from __future__ import annotations

import io
from typing import Any

from likewise.plotting._curves import COLOURS
from likewise.plotting._figure import MARKERS, QUIET, hide_spines, make_detached_figure
from likewise.studio.study.curves import BUDGETS, METHODS, Budget, Method, StudyCurves

NAMES: dict[Method, str] = {"P": "pairs", "R": "triplets", "R-C": "triplets without “neither”"}
TITLES: dict[Budget, str] = {"items": "same number of items", "time": "same time"}
_AXES: dict[Budget, str] = {"items": "share of the answers", "time": "share of the time"}


def draw_scores(curves: StudyCurves) -> Any:
    """Plot Figure 3.9, the F-measure for the same items and the same time, and return the figure."""
    figure = make_detached_figure(9.0, 3.8)
    for ax, budget in zip(figure.subplots(1, 2, sharey=True), BUDGETS, strict=True):
        for place, method in enumerate(METHODS):
            curve = curves.get(budget, method)
            # A small offset keeps error bars of different curves apart.
            parts = [part + 0.012 * (place - 1) for part in curve.parts]
            errors = None
            if all(high is not None for high in curve.high):
                errors = [(high or 0.0) - mean for mean, high in zip(curve.mean, curve.high, strict=True)]
            ax.errorbar(
                parts,
                curve.mean,
                yerr=errors,
                color=COLOURS[place],
                marker=MARKERS[place],
                markersize=4.5,
                linewidth=1.6,
                capsize=2.5,
                label=NAMES[method],
            )
        ax.axhline(curves.start, color=QUIET, linestyle=":", linewidth=1.0, label="without answers")
        _format_axes(ax, budget)
    figure.axes[0].set_ylabel("pairwise F-measure")
    _draw_legend(figure, 4)
    return figure


def draw_numbers(curves: StudyCurves) -> Any:
    """Plot Figure 3.10, the number of answers used and of right answers, and return the figure."""
    figure = make_detached_figure(9.0, 3.8)
    for ax, budget in zip(figure.subplots(1, 2, sharey=True), BUDGETS, strict=True):
        for place, method in enumerate(METHODS):
            curve = curves.get(budget, method)
            look = {"color": COLOURS[place], "marker": MARKERS[place], "markersize": 4.5, "linewidth": 1.6}
            ax.plot(curve.parts, curve.n_used, label=f"{NAMES[method]}, all", **look)
            ax.plot(
                curve.parts, curve.n_correct, label=f"{NAMES[method]}, right", **look, linestyle="--", mfc="w"
            )
        _format_axes(ax, budget)
        ax.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("answers of a participant")
    _draw_legend(figure, 3)
    return figure


def _draw_legend(figure: Any, n_columns: int) -> None:
    """Place the legend below both axes."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, frameon=False, fontsize=8)


def _format_axes(ax: Any, budget: Budget) -> None:
    ax.set_title(TITLES[budget], fontsize=10)
    ax.set_xlabel(_AXES[budget])
    ax.set_xticks([0.2, 0.4, 0.6, 0.8, 1.0], ["0.2", "0.4", "0.6", "0.8", "1"])
    hide_spines(ax)


def format_png(figure: Any, *, dpi: int = 120) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()
