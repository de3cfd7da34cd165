"""Summarise, compare, merge, write and plot curves of scores by the number of answers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy.integrate import trapezoid

from _runner import count_runs, write_json


@dataclass(frozen=True)
class Style:
    """The label and the look of a curve."""

    label: str
    color: str  # from the colour-blind safe palette of Okabe and Ito
    marker: str
    line: Any = "-"


def curve_of(runs: Any) -> dict[str, Any]:
    """Summarise runs x places: means, standard errors, and the runs for paired comparisons."""
    found = np.asarray(runs, dtype=float)
    spread = found.std(axis=0, ddof=1) if len(found) > 1 else np.zeros(found.shape[1:])
    return {
        "mean": found.mean(axis=0).round(4).tolist(),
        "standard_error": (spread / np.sqrt(len(found))).round(4).tolist(),
        "runs": found.round(4).tolist(),
    }


def areas(curve: Mapping[str, Any], places: Sequence[int]) -> np.ndarray:
    """Return the mean score of each run over the answers: the area under its curve divided by the width."""
    runs = np.asarray(curve["runs"], dtype=float)
    width = places[-1] - places[0]
    return np.asarray(trapezoid(runs, places, axis=1) / width if width else runs[:, -1])


def over(ahead: np.ndarray, behind: np.ndarray) -> tuple[float, float]:
    """Return the lead of the first and its standard error, over the runs that both have."""
    n = min(len(ahead), len(behind))
    less = ahead[:n] - behind[:n]
    return float(less.mean()), float(less.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def verdict(ahead: np.ndarray, behind: np.ndarray) -> str:
    """Return "ahead" or "behind" if the two differ by more than two standard errors, else "equal"."""
    mean, error = over(ahead, behind)
    return "equal" if abs(mean) <= 2 * error else "ahead" if mean > 0 else "behind"


def merge_results(old: Mapping[str, Any], new: Mapping[str, Any], order: Iterable[str]) -> dict[str, Any]:
    """Return the new results, with curves that only the old ones have."""
    out = dict(new)
    if "n_runs" in old:
        out["n_runs"] = max(old["n_runs"], new["n_runs"])
    sets = {**old.get("data", {}), **new["data"]}
    out["data"] = {name: sets[name] for name in order if name in sets}
    for name in out["data"]:
        out["data"][name] = _deep(old.get("data", {}).get(name, {}), new["data"].get(name, {}))
    return out


def _deep(old: Any, new: Any) -> Any:
    """Return old updated with new, key by key; a curve is replaced as a whole."""
    both = isinstance(old, dict) and isinstance(new, dict)
    if not both or "runs" in new:
        return new
    return {**old, **{key: _deep(old[key], value) if key in old else value for key, value in new.items()}}


def read(path: Path) -> dict[str, Any]:
    """Return results from a file, or empty results if it does not exist."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"data": {}}
    return found


def save(results: Mapping[str, Any], path: Path) -> None:
    """Replace the results in a file atomically, so that an interrupted run loses nothing."""
    beside = path.with_suffix(".new")
    write_json(dict(results), beside)
    beside.replace(path)


def describe_counts(curves: Iterable[Mapping[str, Any]]) -> str:
    """Return the number of runs of some curves as text: "10 runs" or "5 to 10 runs"."""
    sizes = sorted({len(curve["runs"]) for curve in curves})
    return f"{sizes[0]} runs" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} runs"


def draw(
    panels: Sequence[Sequence[tuple[str, str, Sequence[int], Mapping[str, Any]]]],
    styles: Mapping[str, Style],
    title: str,
    path: Path,
) -> None:
    """Plot rows of panels, each with a title, the name of the score, the places and the curves by name."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_rows, n_columns = len(panels), max(len(row) for row in panels)
    width = max(3.9 * n_columns + 0.3, 8.2)  # leaves room for the legend beside a single panel
    figure = Figure(figsize=(width, 3.3 * n_rows + 1.3), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    lines: dict[str, Any] = {}
    for row, of_row in zip(axes, panels, strict=True):
        for ax in row[len(of_row) :]:
            ax.set_axis_off()
        for ax, (name, score, places, curves) in zip(row, of_row, strict=False):
            for key, curve in curves.items():
                style = styles[key]
                lines[style.label] = ax.errorbar(
                    places,
                    curve["mean"],
                    yerr=curve["standard_error"],
                    color=style.color,
                    marker=style.marker,
                    linestyle=style.line,
                    markersize=4,
                    linewidth=1.4,
                    elinewidth=0.9,
                    capsize=2,
                )
            ax.set_title(name, fontsize=10)
            ax.set_xlabel("answers", fontsize=9)
            ax.set_ylabel(score, fontsize=9)
            ax.grid(alpha=0.3, linewidth=0.6)
            ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=11)
    figure.legend(
        [*lines.values()],
        [*lines],
        loc="outside lower center",
        ncols=min(4, len(lines)),
        frameon=False,
        fontsize=9,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


@dataclass(frozen=True)
class Report:
    """The steps of a reproduction: measure a plan, show a table, and plot figures.

    Attributes
    ----------
    measure : callable
        Takes the plan, a console and a function that saves the results so far; returns all results.
    shown, pictures : callable
        Return a table of results, and plot them into a folder.
    order : iterable of str
        The data sets in the order of the paper.
    """

    measure: Callable[..., dict[str, Any]]
    shown: Callable[[dict[str, Any]], Any]
    pictures: Callable[[dict[str, Any], Path], None]
    order: Iterable[str]

    def run(self, plan: Any, given: argparse.Namespace, here: Path) -> int:
        """Measure, plot and write; return 0, or 1 if no data set is available.

        Results are written after each part, and with ``--record`` merged into ``expected.json``.
        """
        expected = here / "expected.json"

        def keep(results: dict[str, Any]) -> None:
            save(results, given.out / "results.json")
            if given.record:
                save(merge_results(read(expected), results, self.order), expected)

        console = Console()
        results = self.measure(plan, console, keep)
        if not results["data"]:
            console.print("No data set is available; nothing was written.")
            return 1
        console.print(self.shown(results))
        self.pictures(results, given.out)
        console.print(f"Wrote results.json and the figures to {given.out}", highlight=False)
        if given.record:
            self.pictures(read(expected), here / "figures")
        return 0


def make_plan(quick: Any, full: Any, given: argparse.Namespace, names: Iterable[str]) -> Any:
    """Return the plan that the options define; `names` are the options with several values."""
    chosen = {name: tuple(getattr(given, name) or ()) for name in names}
    chosen |= {"n_runs": count_runs(given, given.runs), "jobs": given.jobs}
    return replace(quick if given.quick else full, **{key: value for key, value in chosen.items() if value})
