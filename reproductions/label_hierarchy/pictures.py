"""The curves of each figure, and the plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import case_study as cs
import numpy as np
from scipy.stats import t

from _curves import Style, describe_counts

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A curve of a figure: the method, the measure, and its look."""

    method: str
    measure: str
    style: Style


@dataclass(frozen=True)
class Panel:
    """A panel for each set: lines by noise."""

    axis: str
    lines: tuple[Line, ...]
    truth: bool = False  # True if the noise is the value to estimate


def _get_tuned_name(measure: str) -> str:
    return measure.replace("f1_", "tuned_")


def _panel(axis: str, measure: str, styles: dict[str, Style], *more: Line, truth: bool = False) -> Panel:
    return Panel(axis, (*(Line(key, measure, style) for key, style in styles.items()), *more), truth)


_LEARN = Style("learn", "#D55E00", "o")
_GT = Style("GT: the true tree is given", "#000000", "D", "--")
SCHEMES = {
    "learn": _LEARN,
    "counts": Style("a tree of counts, kept", "#E69F00", "1", "-."),
    "literal": Style("the thesis' steps, from a star", "#0072B2", "s", "--"),
    "counts_literal": Style("the thesis' steps, from a tree of counts", "#56B4E9", "^", "-."),
    "intercept": Style("intercept moved for each parent, from a star", "#009E73", "v", ":"),
    "profile": Style("classifier refitted for each parent, from a star", "#F0E442", "P", ":"),
    "chow_liu": Style("Chow-Liu", "#CC79A7", "x", "--"),
    "chow_liu_cut": Style("Chow-Liu, only edges that attract", "#777777", "+", ":"),
}
CLASSIFIERS = {
    "gt": _GT,
    "learn": _LEARN,
    "br_rescaled": Style("BR, true missing rate", "#0072B2", "s", "--"),
    "br": Style("BR", "#56B4E9", "s", ":"),
    "fasttag": Style("FastTag", "#009E73", "^", "-."),
    "clique": Style("label graph (tanCVPR, reduced)", "#CC79A7", "v", "-."),
    "chow_liu": Style("Chow-Liu, with classifiers", "#777777", "x", ":"),
    "literal": Style("the thesis' steps, from a star", "#F0E442", "P", "--"),
}
RATES = {
    "gt": _GT,
    "learn": _LEARN,
    "gt_em": Style("GT, by EM", "#777777", "D", ":"),
    "learn_em": Style("learn, by EM", "#E69F00", "s", "--"),
    "literal": Style("the thesis' steps, from a star", "#0072B2", "v", "-."),
}
_TUNED = Style("learn, thresholds set for F1", "#E69F00", "*", "-.")
FIGURES: dict[str, tuple[str, tuple[Panel, ...]]] = {
    "figure5_3": ("how far the tree is from the true one", (_panel("RF distance", "rf", SCHEMES),)),
    "figure5_4": (
        "classifying rows with all their labels",
        tuple(
            _panel(axis, measure, CLASSIFIERS, Line("learn", _get_tuned_name(measure), _TUNED))
            for axis, measure in (("F1 micro", "f1_micro"), ("F1 macro", "f1_macro"))
        ),
    ),
    "figure5_5": ("the missing rate", (_panel("estimated missing rate", "rate", RATES, truth=True),)),
}


def interval(curve: Mapping[str, Any]) -> np.ndarray:
    """Return half the width of the 95 % t interval at each noise."""
    n = len(curve["runs"])
    return (
        float(t.ppf(0.975, n - 1)) * np.asarray(curve["standard_error"])
        if n > 1
        else np.zeros_like(curve["mean"])
    )


def curves_of(found: Results, panel: Panel) -> Iterator[tuple[Line, Mapping[str, Any]]]:
    """Yield the lines of a panel that have curves, in the order of the legend."""
    for line in panel.lines:
        curve = found.get("curves", {}).get(line.method, {}).get(line.measure)
        if curve is not None:
            yield line, curve


def _has(found: Results, panels: tuple[Panel, ...]) -> bool:
    return any(True for panel in panels for _ in curves_of(found, panel))


def draw(results: Results, titles: Mapping[str, str], folder: Path) -> None:
    """Plot the figures that have curves, and the trees of the case study."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure, (what, panels) in FIGURES.items():
        sets = {name: found for name, found in results["data"].items() if _has(found, panels)}
        if sets:
            _draw_figure(sets, titles, what, panels, folder / f"{figure}.png")
    for name in cs.SETS:
        if name in results["data"]:
            _draw_tree(name, results["data"][name], folder / f"{name}.png")


def _draw_figure(
    sets: Mapping[str, Any], titles: Mapping[str, str], what: str, panels: tuple[Panel, ...], path: Path
) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = max(3.4 * len(sets) + 0.3, 8.2)  # leaves room for the legend beside a single set
    figure = Figure(figsize=(width, 3.3 * len(panels) + 1.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels), len(sets), squeeze=False)
    legend: dict[str, Any] = {}
    shown = []
    for row, panel in zip(axes, panels, strict=True):
        for ax, (name, found) in zip(row, sets.items(), strict=True):
            for line, curve in curves_of(found, panel):
                legend[line.style.label] = _draw_line(ax, found["noises"], line.style, curve)
                shown.append(curve)
            if panel.truth:
                (truth,) = ax.plot(found["noises"], found["noises"], color="#999999", linewidth=4, alpha=0.4)
                legend["the truth"] = truth
            ax.set_title(f"{titles[name]}: {found['n_train']} rows, {found['n_labels']} labels", fontsize=9)
            ax.set_xlabel("share of the labels that is missing", fontsize=8)
            ax.set_ylabel(panel.axis, fontsize=9)
            ax.grid(alpha=0.3, linewidth=0.6)
            ax.spines[["top", "right"]].set_visible(False)
            if not panel.axis.startswith("F1"):
                ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    figure.suptitle(f"{what}; mean and 95 % interval of {describe_counts(shown)}", fontsize=11)
    figure.legend(
        [*legend.values()], [*legend], loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )
    figure.savefig(path, dpi=90)


def _draw_line(ax: Any, noises: list[float], style: Style, curve: Mapping[str, Any]) -> Any:
    return ax.errorbar(
        noises,
        curve["mean"],
        yerr=interval(curve),
        color=style.color,
        marker=style.marker,
        linestyle=style.line,
        markersize=4,
        linewidth=1.4,
        elinewidth=0.9,
        capsize=2,
    )


def _draw_tree(name: str, found: Mapping[str, Any], path: Path) -> None:
    from likewise.plotting import HierarchyDisplay

    title = f"{name}: the learned tree; missing rate {found['missing_rate']:.2f}"
    HierarchyDisplay.from_hierarchy(cs.hierarchy(dict(found)), title=title).save(path, dpi=100)
