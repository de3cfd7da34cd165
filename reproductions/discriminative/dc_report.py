"""Create the figures and the tables of the README from the results."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from dc_curves import CURVES, SHARES
from scipy.stats import t as student

CONFIDENCE = 0.95
OF_USE = 0.005  # smaller differences are called "same", even if they are significant
SHOWN = 3  # the level of the tables: the middle one
PAIR_BASELINES = ("xing", "itml", "em")
TRIPLET_BASELINES = ("lsml", "sparse_lp", "sssvad")
FIGURES = {
    "figure_3_2": (
        "Figure 3.2: pairs",
        ("dc_p", "dc_p_chosen", *PAIR_BASELINES, "xing_0", "kmeans"),
    ),
    "figure_3_3": (
        "Figure 3.3: triplets",
        ("dc_r", "dc_r_c", "dc_r_chosen", *TRIPLET_BASELINES, "relative_svm", "kmeans"),
    ),
    "figure_3_4": ("Figure 3.4: pairs, soft and hard", ("dc_p", "dc_p_hard", "dc_p_printed", "dc_none")),
    "figure_3_5": ("Figure 3.5: triplets, soft and hard", ("dc_r", "dc_r_hard", "dc_r_printed", "dc_none")),
    "figure_3_8": (
        "Figure 3.8: triplets, and pairs that show as many rows",
        ("dc_p_matched", "dc_r", "dc_r_c", "kmeans"),
    ),
}


def half_width(values: np.ndarray) -> float:
    """Return half the width of the 95 % confidence interval of the mean, by Student's t."""
    n = len(values)
    if n < 2:
        return 0.0
    return float(student.ppf((1 + CONFIDENCE) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))


# ---------------------------------------------------------------------- tables


def cell(curve: dict[str, Any], level: int) -> str:
    """Return the mean and the half width at a level."""
    at = curve["levels"].index(level)
    return f"{curve['mean'][at]:.3f} ± {curve['half_width'][at]:.3f}"


def difference(curves: dict[str, Any], level: int, ours: str, other: str) -> tuple[float, float]:
    """Return the mean of ours minus the other over the runs that both have, and its half width."""
    a, b = (curves[key]["runs"][curves[key]["levels"].index(level)] for key in (ours, other))
    n = min(len(a), len(b))
    values = np.subtract(a[:n], b[:n])
    return float(values.mean()), half_width(values)


def verdict(mean: float, half: float) -> str:
    """Return "better" or "worse" if the interval excludes 0 and the difference is not tiny, else "same"."""
    if abs(mean) <= max(half, OF_USE):
        return "same"
    return "better" if mean > 0 else "worse"


def compare_with_best(curves: dict[str, Any], level: int, ours: str, others: tuple[str, ...]) -> str:
    """Return ours minus the best of the others, with the verdict."""
    best = max(others, key=lambda key: curves[key]["mean"][curves[key]["levels"].index(level)])
    mean, half = difference(curves, level, ours, best)
    name = f" ({CURVES[best].label})" if len(others) > 1 else ""
    return f"{mean:+.3f} ± {half:.3f} {verdict(mean, half)}{name}"


def tables(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the README, as lines of Markdown, by title. Absent curves are left out."""
    data = results["data"]
    out: dict[str, list[str]] = {}

    def add(title: str, heads: list[str], rows: dict[str, list[str]], first: str = "data") -> None:
        if not rows:
            return
        lines = [f"| {first} | {' | '.join(heads)} |", f"|{' --- |' * (len(heads) + 1)}"]
        out[title] = lines + [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]

    def levels(found: dict[str, Any]) -> list[int]:
        return next(list(c["levels"]) for c in found["curves"].values() if c["levels"] != [0])

    for title, kind, keys in (
        ("pairs", "pairs", ("dc_p", *PAIR_BASELINES)),
        ("triplets", "triplets", ("dc_r", "dc_r_c", *TRIPLET_BASELINES, "relative_svm")),
    ):
        keys = tuple(key for key in keys if all(key in found["curves"] for found in data.values()))
        rows = {
            name: [
                cell(found["curves"]["kmeans"], 0),
                *(cell(found["curves"][key], SHOWN) for key in keys),
            ]
            for name, found in data.items()
            if SHOWN in levels(found)
        }
        heads = ["K-Means", *(CURVES[key].label for key in keys)]
        add(f"pairwise F, {title}, {SHOWN * SHARES[kind]:.2g} N", heads, rows)

    tally: dict[str, list[str]] = {}
    for title, kind, ours, others in (
        ("DC-P less the best baseline", "pairs", "dc_p", PAIR_BASELINES),
        ("DC-R-C less the best baseline", "triplets", "dc_r_c", TRIPLET_BASELINES),
        ("DC-R less the best baseline", "triplets", "dc_r", TRIPLET_BASELINES),
        # The thesis tried the SVM-style metric and left it out of its figure, as it was generally worse.
        ("SVM-style metric less the best other baseline", "triplets", "relative_svm", TRIPLET_BASELINES),
        ("DC-R less DC-R-C", "triplets", "dc_r", ("dc_r_c",)),
        ("soft less hard, pairs", "pairs", "dc_p", ("dc_p_hard",)),
        ("soft less hard, triplets", "triplets", "dc_r", ("dc_r_hard",)),
        ("soft less hard as printed, pairs", "pairs", "dc_p", ("dc_p_printed",)),
        ("soft less hard as printed, triplets", "triplets", "dc_r", ("dc_r_printed",)),
        ("Xing with rho = 0 less rho = 0.3", "pairs", "xing_0", ("xing",)),
        ("DC-R less DC-P, as many rows", "triplets", "dc_r", ("dc_p_matched",)),
        ("DC-R-C less DC-P, as many rows", "triplets", "dc_r_c", ("dc_p_matched",)),
        ("epsilon 0.15 less 0.05, pairs", "pairs", "dc_p_15", ("dc_p",)),
        ("epsilon 0.15 less 0.05, triplets", "triplets", "dc_r_15", ("dc_r",)),
        ("tau and lambda chosen less default, pairs", "pairs", "dc_p_chosen", ("dc_p",)),
        ("tau and lambda chosen by accuracy less default, pairs", "pairs", "dc_p_accuracy", ("dc_p",)),
        ("tau and lambda chosen less default, triplets", "triplets", "dc_r_chosen", ("dc_r",)),
    ):
        with_it = {
            name: found["curves"] for name, found in data.items() if {ours, *others} <= set(found["curves"])
        }
        if not with_it:
            continue
        shown = next(iter(with_it.values()))[ours]["levels"]
        rows = {
            name: [compare_with_best(curves, level, ours, others) for level in shown]
            for name, curves in with_it.items()
        }
        add(title, [f"{level * SHARES[kind]:.2g} N" for level in shown], rows)
        words = [word for cells in rows.values() for cell in cells for word in cell.split()]
        tally[title] = [str(words.count(word)) for word in ("better", "same", "worse")]
    add("tally", ["better", "same", "worse"], tally, first="comparison")

    rows = {
        name: [
            f"{found['largest_share']:.2f}",
            *(f"{bits:.3f}" for bits in (found["pair_bits"], found["triplet_bits"])),
            *(f"{bits:.3f}" for bits in (3 * found["pair_bits"], 2 * found["triplet_bits"])),
        ]
        for name, found in data.items()
    }
    add("information", ["largest class", "pair", "triplet", "three pairs", "two triplets"], rows)
    return out


def agreement(results: dict[str, Any], measure: str) -> tuple[int, int]:
    """Return the number of comparisons of two methods with the same result as by pairwise F, and of all.

    The means of every two methods of figure 3.2 and of figure 3.3 are compared, at each level and data set.
    """
    same = total = 0
    for found in results["data"].values():
        for keys in (("dc_p", *PAIR_BASELINES), ("dc_r", "dc_r_c", *TRIPLET_BASELINES)):
            curves = [found["curves"][key] for key in keys]
            for one, other in combinations(curves, 2):
                f, m = (np.subtract(one[what], other[what]) for what in ("mean", measure))
                same += int(np.sum(f * m > 0))
                total += len(f)
    return same, total


# ---------------------------------------------------------------------- figures


def draw_curves(results: dict[str, Any], folder: Path) -> None:
    """Plot figures 3.2 to 3.5 and 3.8: one panel per data set, error bars of 95 % confidence."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    data = results["data"]
    columns = min(4, len(data) + 1)
    rows = -(-(len(data) + 1) // columns)  # one panel for the legend
    for file, (title, keys) in FIGURES.items():
        figure = Figure(figsize=(3.3 * columns, 3.0 * rows + 0.4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for ax, (name, found) in zip(axes, data.items(), strict=False):
            present = [key for key in keys if key in found["curves"]]
            for place, key in enumerate(present):
                aside = 0.06 * (place - (len(present) - 1) / 2)  # keeps error bars from overlapping
                handles.setdefault(CURVES[key].label, _draw(ax, key, found["curves"][key], aside))
            ax.set_title(
                f"{name}\n{found['n_samples']} rows, {found['n_clusters']} classes, {found['n_runs']} runs",
                fontsize=9,
            )
            ax.set_xlabel(_axis(keys), fontsize=8)
            if ax.get_subplotspec().is_first_col():
                ax.set_ylabel("pairwise F, all rows", fontsize=8)
            ax.tick_params(labelsize=8)
            low, high = ax.get_ylim()
            ax.set_ylim(max(low, 0.0), min(high, 1.02))
            ax.grid(alpha=0.3, linewidth=0.6)
            ax.spines[["top", "right"]].set_visible(False)
        for ax in axes[len(data) :]:
            ax.axis("off")
        axes[len(data)].legend(handles.values(), handles.keys(), loc="center", frameon=False, fontsize=10)
        figure.suptitle(f"{title}; mean and 95 % confidence interval", fontsize=12)
        figure.savefig(folder / f"{file}.png", dpi=100)


def _axis(keys: tuple[str, ...]) -> str:
    kinds = {CURVES[key].kind for key in keys} - {None}
    if kinds == {"pairs"}:
        return "pairs, as a share of the rows"
    return "triplets, as a share of the rows"


def _draw(ax: Any, key: str, found: dict[str, Any], aside: float) -> Any:
    """Plot one curve, shifted sideways, and return its handle; without hints it is a horizontal line."""
    curve = CURVES[key]
    look = {"color": curve.color, "linestyle": curve.line, "linewidth": 1.5}
    if curve.kind is None:
        return ax.axhline(found["mean"][0], **look)
    share = SHARES["triplets" if curve.kind == "matched_pairs" else curve.kind]
    return ax.errorbar(
        [(level + aside) * share for level in found["levels"]],
        found["mean"],
        yerr=found["half_width"],
        marker=curve.marker,
        markersize=9 if curve.marker == "*" else 5,
        elinewidth=1.0,
        capsize=2.5,
        **look,
    )


def draw_information(results: dict[str, Any], folder: Path) -> None:
    """Plot figure 3.6, with the data sets marked next to the curves of equal classes."""
    from likewise.plotting import InformationDisplay

    display = InformationDisplay.from_classes(20)
    for ax, pairs, triplets in zip(display.axes_, (1, 3), (1, 2), strict=True):
        for found in results["data"].values():
            for times, bits, line in (
                (pairs, found["pair_bits"], "pair"),
                (triplets, found["triplet_bits"], "triplet"),
            ):
                color = display.lines_[line].get_color()
                ax.plot(
                    found["n_clusters"], times * bits, "*", color=color, markersize=11, mec="black", mew=0.7
                )
        ax.plot([], [], "*", color="white", markersize=11, mec="black", mew=0.7, label="the data sets here")
        ax.legend(frameon=False, fontsize="small")
    display.save(folder / "figure_3_6.png")
