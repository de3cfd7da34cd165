"""Plot the picture of the README: ten hints, a clustering without them, and one with them.

Run with ``make pictures``. Writes ``docs/images/before-after.png``.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from likewise import MPCKMeans
from likewise.datasets import make_two_views
from likewise.supervision import sample_links

SEED = 3
TARGET = Path(__file__).parents[1] / "docs" / "images" / "before-after.png"
COLORS = ["#0072B2", "#E69F00", "#009E73"]  # distinguishable with colour blindness
GREY, SAME, DIFFERENT = "#B8B8B8", "#222222", "#C0392B"


def draw_points(ax: Axes, X, colors, title: str, note: str) -> None:
    """Plot the points in their colours, with a title and a note below them."""
    ax.scatter(X[:, 0], X[:, 1], s=20, c=colors, edgecolors="white", linewidths=0.4)
    ax.set_title(title, fontsize=14, fontweight="bold")
    ax.set_xlabel(note, fontsize=12)
    ax.set(xticks=[], yticks=[], aspect="equal")
    for side in ax.spines.values():
        side.set_visible(False)


def main() -> None:
    """Cluster the same points twice, plot both beside the hints, and write the picture."""
    toy = make_two_views(stretch=2.0, random_state=SEED)
    X = toy.X[:, ::-1]  # the longer side is horizontal
    hints = sample_links(toy.y, 10, balance=0.5, random_state=SEED)
    before = KMeans(3, n_init=10, random_state=SEED).fit(X)
    after = MPCKMeans(3, random_state=SEED).fit(X, supervision=hints)

    figure = Figure(figsize=(13, 4.1), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(wspace=0.06)
    known, plain, hinted = figure.subplots(1, 3, sharex=True, sharey=True)
    draw_points(
        known,
        X,
        GREY,
        "1. You give 10 hints",
        f"about pairs of the {len(X)} points\n(nothing is known of the grey ones)",
    )
    for pairs, color, style in ((hints.must, SAME, "-"), (hints.cannot, DIFFERENT, (0, (4, 2)))):
        for i, j in pairs:
            known.plot(X[[i, j], 0], X[[i, j], 1], color=color, lw=1.8, ls=style, marker="o", ms=5)
    for ax, model, title in (
        (plain, before, "2. Without them: k-means"),
        (hinted, after, "3. With them: MPCK-Means"),
    ):
        score = adjusted_rand_score(toy.y, model.labels_)
        meaning = "not the groups you mean" if score < 0.1 else "the groups you mean"
        colors = [COLORS[label] for label in model.labels_]
        draw_points(ax, X, colors, title, f"{meaning}\n(adjusted Rand index {abs(round(score, 2)):.1f})")
    figure.legend(
        handles=[
            Line2D(
                [], [], color=SAME, lw=1.8, marker="o", ms=5, label="must-link: these two belong together"
            ),
            Line2D(
                [],
                [],
                color=DIFFERENT,
                lw=1.8,
                ls=(0, (4, 2)),
                marker="o",
                ms=5,
                label="cannot-link: these two do not",
            ),
        ],
        loc="outside lower center",
        ncols=2,
        frameon=False,
        fontsize=12,
    )
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, dpi=100, bbox_inches="tight")
    print(f"wrote {TARGET.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
