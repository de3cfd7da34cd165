"""Plot the figures as PNG files. matplotlib is imported when a figure is plotted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import experiments as ex
import numpy as np

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
# From few labelled bags to all: light to dark.
BY_SHARE = (("#56B4E9", "o"), ("#0072B2", "s"), ("#000000", "D"))
WORDS = {"purity": "class purity", "nmi": "normalised mutual information"}


def draw(number: int, sets: dict[str, Any], path: Path, n_runs: int) -> None:
    """Plot a figure from the results."""
    draws: dict[int, Callable[[dict[str, Any], int], Any]] = {
        1: _against_alpha,
        2: lambda found, runs: _curves(found, runs, 2, "nmi", "share of labelled bags", SHARES),
        3: lambda found, runs: _curves(found, runs, 3, "purity", "share of labelled bags", SHARES),
        4: lambda found, runs: _curves(found, runs, 4, "purity", "number of clusters, all bags labelled"),
        5: _ablation,
        6: _development,
        7: lambda found, runs: _curves(found, runs, 7, "purity", "number of clusters, all bags labelled"),
        8: lambda found, runs: _curves(found, runs, 8, "purity", "share of labelled bags", (1.0,)),
    }
    draws[number](sets, n_runs).savefig(path, dpi=100)


def _figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _panels(sets: Any, height: float, **options: Any) -> tuple[Any, Any]:
    figure = _figure(max(4.3 * len(sets) + 0.4, 9.0), height)
    return figure, figure.subplots(1, len(sets), squeeze=False, **options)[0]


def _plain(ax: Any) -> None:
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _title(name: str, found: dict[str, Any]) -> str:
    return (
        f"{name}: {found['n_samples']} rows, {found['n_classes']} classes\n"
        f"{found['n_bags']} bags of {found['labels_per_bag']:.1f} labels"
    )


def _line(ax: Any, curve: dict[str, Any], measure: str, places: Any, method: ex.Method) -> None:
    scores = curve[measure]
    once = curve["same_everywhere"]
    ax.errorbar(
        places if once else curve["x"],
        scores["mean"] * len(places) if once else scores["mean"],
        yerr=scores["standard_deviation"] * len(places) if once else scores["standard_deviation"],
        label=method.label,
        color=method.color,
        marker=method.marker,
        linestyle=method.line,
        markersize=5,
        linewidth=1.6,
        elinewidth=1.0,
        capsize=2.5,
    )


def _against_alpha(sets: dict[str, Any], n_runs: int) -> Any:
    figure, axes = _panels(sets, 4.2)
    for ax, (name, found) in zip(axes, sets.items(), strict=True):
        curve = found["curves"]["csp"]
        _line(ax, curve, "purity", curve["x"], ex.METHODS["csp"])
        ax.axhline(curve["purity"]["mean"][0], color="#000000", linestyle=":", label="SP: no hints (α = 0)")
        ax.axvline(0.7, color="#999999", linewidth=0.8, label="the paper's α = 0.7")
        ax.set_title(_title(name, found), fontsize=10)
        ax.set_xlabel("α")
        _plain(ax)
    axes[0].set_ylabel(WORDS["purity"])
    axes[0].legend(frameon=False, fontsize=9, loc="upper left")
    figure.suptitle(
        f"after Figure 1: all bags labelled, mean and standard deviation of {n_runs} runs", fontsize=11
    )
    return figure


def _curves(
    sets: dict[str, Any], n_runs: int, number: int, measure: str, xlabel: str, places: Any = ()
) -> Any:
    figure, axes = _panels(sets, 6.2)
    for ax, (name, found) in zip(axes, sets.items(), strict=True):
        for key, curve in found["curves"].items():
            _line(ax, curve, measure, places or curve["x"], ex.METHODS[key])
        ax.set_title(_title(name, found), fontsize=10)
        ax.set_xlabel(xlabel)
        if places:
            ax.set_xticks(places, [f"{share:.0%}" for share in places])
        _plain(ax)
    axes[0].set_ylabel(WORDS[measure])
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        lines, labels, loc="outside lower center", ncols=min(4, len(sets) + 1), frameon=False, fontsize=9
    )
    figure.suptitle(f"after Figure {number}: mean and standard deviation of {n_runs} runs", fontsize=11)
    return figure


def _dots(ax: Any, means: Any, spreads: Any, heights: Any, **look: Any) -> None:
    ax.errorbar(means, heights, xerr=spreads, linestyle="", markersize=6, elinewidth=1.0, capsize=2.0, **look)


def _ablation(sets: dict[str, Any], n_runs: int) -> Any:
    figure, axes = _panels(sets, 4.8, sharey=True)
    for ax, (name, found) in zip(axes, sets.items(), strict=True):
        keys = list(found["curves"])
        shares = max((curve["x"] for curve in found["curves"].values()), key=len)
        for s, (share, (color, marker)) in enumerate(zip(shares, BY_SHARE, strict=True)):
            cells = [_at(found["curves"][key], share) for key in keys]
            heights = np.arange(len(keys)) + 0.18 * (s - 1)
            means, spreads = zip(*cells, strict=True)
            _dots(
                ax, means, spreads, heights, color=color, marker=marker, label=f"{share:.0%} of bags labelled"
            )
        labels = [ex.METHODS[key].label for key in keys]
        ax.set_yticks(range(len(keys)), [label.replace(" (", "\n(") for label in labels])
        ax.set_title(_title(name, found), fontsize=10)
        ax.set_xlabel(WORDS["purity"])
        _plain(ax)
    axes[0].invert_yaxis()
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(
        f"The default, and with one part of it changed: mean and standard deviation of {n_runs} runs",
        fontsize=11,
    )
    return figure


def _at(curve: dict[str, Any], share: float) -> tuple[float, float]:
    at = curve["x"].index(share) if share in curve["x"] else 0
    return curve["purity"]["mean"][at], curve["purity"]["standard_deviation"][at]


def _development(sets: dict[str, Any], n_runs: int) -> Any:
    first = next(iter(sets.values()))["curves"]
    keys, shares = list(first), next(iter(first.values()))["x"]
    figure = _figure(12.4, 1.8 + 0.5 * len(sets))
    axes = figure.subplots(1, len(shares), sharey=True)
    for ax, share in zip(axes, shares, strict=True):
        for place, key in enumerate(keys):
            method = ex.METHODS[key]
            means, spreads = zip(*(_at(found["curves"][key], share) for found in sets.values()), strict=True)
            heights = np.arange(len(sets)) + 0.13 * (place - (len(keys) - 1) / 2)
            _dots(ax, means, spreads, heights, color=method.color, marker=method.marker, label=method.label)
        ax.set_yticks(range(len(sets)), list(sets))
        ax.set_title(f"{share:.0%} of bags labelled", fontsize=10)
        ax.set_xlabel(WORDS["purity"])
        _plain(ax)
    axes[0].invert_yaxis()
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(
        f"Sets of the kind that the default was chosen on: mean and spread of {n_runs // 2} draws",
        fontsize=11,
    )
    return figure
