"""Plot the figures as PNG files. matplotlib is imported when a figure is plotted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import experiments as ex
import numpy as np
from sklearn.datasets import make_moons

CLASSES = ("#0072B2", "#D55E00")  # the two classes of a toy
DIGITS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def _figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_sweep(number: int, found: dict[str, Any], path: Path) -> None:
    """Plot purity (top) and the adjusted Rand index (bottom), one column per set, with standard errors."""
    sweep, sets = ex.SWEEPS[number], found["data"]
    figure = _figure(4.1 * len(sets) + 0.4, 7.0)
    share = "row" if sweep.data == ex.OBJECTS else "none"  # share the axis if the images are the same
    axes = figure.subplots(len(ex.MEASURES), len(sets), squeeze=False, sharex="col", sharey=share)
    for column, (name, of_set) in zip(axes.T, sets.items(), strict=True):
        column[0].set_title("\n".join(ex.SETS[name].rsplit(", ", 1)), fontsize=11)
        for ax, measure in zip(column, ex.MEASURES, strict=True):
            _curves(ax, of_set, measure)
        column[-1].set_xlabel(f"number of links ({sweep.title})")
    for ax, label in zip(axes[:, 0], ("purity", "adjusted Rand index"), strict=True):
        ax.set_ylabel(label)
    lines, labels = axes[0, 0].get_legend_handles_labels()
    figure.suptitle(
        f"after Figure {number}: mean and standard error of {found['n_trials']} trials", fontsize=11
    )
    figure.legend(lines, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)


def _curves(ax: Any, of_set: dict[str, Any], measure: str) -> None:
    links = of_set["links"]
    places = np.arange(len(links))
    for name, curve in of_set["curves"].items():
        method, scores = ex.METHODS[name], curve[measure]
        ax.errorbar(
            places,
            scores["mean"],
            yerr=np.array(scores["standard_deviation"]) / np.sqrt(curve["n_trials"]),
            label=_label(name, of_set["curves"]),
            color=method.color,
            marker=method.marker,
            linestyle=method.line,
            markersize=5,
            linewidth=1.6,
            elinewidth=1.0,
            capsize=2.5,
        )
    for label, level, line in (
        ("GMM: no links", of_set["curves"]["gm_pr"][measure]["mean"][0], (0, (1, 3))),
        ("spectral clustering: no links", of_set["spectral"][measure]["mean"], (0, (5, 4))),
    ):
        ax.axhline(level, label=label, color="#777777", linestyle=line, linewidth=1.2, zorder=0)
    ax.set_xticks(places, [str(count) for count in links])
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _label(name: str, curves: dict[str, Any]) -> str:
    label = ex.METHODS[name].label
    if name == "gm_pr" and any(other.startswith("gm_pr_3") for other in curves):
        label += ", $m_K$ = 1"
    few = ex.METHODS[name].share < 1
    return f"{label} ({curves[name]['n_trials']} trials)" if few else label


# ---------------------------------------------------------------------- the toys


def draw_toy(path: Path, seed: int = 0) -> None:
    """Plot the soft labels of GM-PR on the toy, one row per start, one column per number of links."""
    X, y, right = ex.make_toy(seed)
    amount = [ex.LinkAmount(0, 0), *(ex.LinkAmount(m, c, telling=True) for m, c in ex.AMOUNTS[:3])]
    panels = [
        [(each, ex.toy_links(each, y, right, seed), {"n_subclusters": 1, **start}) for each in amount]
        for start in ex.STARTS.values()
    ]
    _scenes(path, X, y, seed, panels, [each.label.removesuffix(", telling") for each in amount], 3)


def draw_moons(path: Path, seed: int = 0) -> None:
    """Plot the soft labels on two moons: GMM, and GM-PR with one and with two Gaussians per class."""
    X, y = make_moons(ex.N_TOY, noise=0.1, random_state=seed)
    few, none = ex.LinkAmount(2, 2), ex.LinkAmount(0, 0)
    columns = [(none, 1), (few, 1), (few, 2)]
    panels = [
        [(amount, ex.toy_links(amount, y, y, seed), {"n_subclusters": n, **start}) for amount, n in columns]
        for start in ex.STARTS.values()
    ]
    titles = ["GMM: no links", "GM-PR, $m_K$ = 1: 2 must, 2 cannot", "GM-PR, $m_K$ = 2: the same links"]
    _scenes(path, X, y, seed, panels, titles, 8)


def draw_digits(path: Path, names: tuple[str, ...] = ("digits123", "digits4567")) -> None:
    """Plot the digits in their first two principal components, as in figure 5."""
    figure = _figure(5.2 * len(names), 4.8)
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        X, y = ex.data_of(name)
        for c, (digit, color) in enumerate(zip(name.removeprefix("digits"), DIGITS, strict=False)):
            ax.scatter(*X[y == c].T, s=4, color=color, alpha=0.5, linewidths=0, label=digit)
        ax.set(xlabel="first component", ylabel="second component", title=f"digits {', '.join(name[6:])}")
        ax.legend(markerscale=4, frameon=False)
    figure.suptitle("after Figure 5: digits by the first two principal components", fontsize=11)
    figure.savefig(path, dpi=90)


def _scenes(
    path: Path, X: np.ndarray, y: np.ndarray, seed: int, panels: list[Any], titles: list[str], number: int
) -> None:
    figure = _figure(3.4 * len(titles) + 0.5, 6.6)
    axes = figure.subplots(len(panels), len(titles), sharex=True, sharey=True)
    for row, of_start, start in zip(axes, panels, ("the paper's start", "our default start"), strict=True):
        row[0].set_ylabel(start)
        for ax, (_, hints, options) in zip(row, of_start, strict=True):
            model = ex.fit(ex.Method("", ex.GM_PR, "", "", options=ex.PAIRS | options), X, 2, seed, hints)
            wrong = _soft_labels(ax, X, y, model.predict_proba(X))
            ax.set_xlabel(f"{wrong} of {len(X)} rows wrong")
            if hints is not None:
                _links(ax, X, hints)
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, fontsize=10)
    figure.suptitle(
        f"after Figure {number}: trial {seed}; the paler a row, the less sure its class. "
        "Must-links solid, cannot-links dashed",
        fontsize=11,
    )
    figure.savefig(path, dpi=90)


def _soft_labels(ax: Any, X: np.ndarray, y: np.ndarray, soft: np.ndarray) -> int:
    """Colour the rows by class, paler if it is less certain; return the number of wrong rows."""
    from matplotlib.colors import to_rgb

    if (soft.argmax(axis=1) == y).mean() < 0.5:  # cluster numbers are arbitrary
        soft = soft[:, ::-1]
    colors = np.array([to_rgb(color) for color in CLASSES])[soft.argmax(axis=1)]
    sure = 0.15 + 0.85 * (2 * soft.max(axis=1) - 1)[:, None]
    ax.scatter(*X.T, s=16, c=sure * colors + (1 - sure), edgecolors=colors, linewidths=0.4)
    ax.set_xticks([])
    ax.set_yticks([])
    return int((soft.argmax(axis=1) != y).sum())


def _links(ax: Any, X: np.ndarray, hints: Any) -> None:
    for pairs, line in ((hints.must, "-"), (hints.cannot, "--")):
        for i, j in pairs:
            ax.plot(*X[[i, j]].T, color="black", linestyle=line, linewidth=1.4, marker="o", markersize=3)
