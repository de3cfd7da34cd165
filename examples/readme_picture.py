"""Draw the picture of the README: a clustering before and after ten hints.

Run with ``make pictures``; it writes ``docs/images/before-after.png``.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.cluster import KMeans

from likewise import MPCKMeans
from likewise.datasets import make_two_views
from likewise.evaluation import adjusted_rand_score
from likewise.plotting import ClusterDisplay
from likewise.supervision import sample_links

SEED = 3
TARGET = Path(__file__).parents[1] / "docs" / "images" / "before-after.png"


def main() -> None:
    """Cluster the same rows twice, draw both, and write the picture."""
    toy = make_two_views(stretch=2.0, random_state=SEED)
    X = toy.X[:, ::-1]  # the wide axis lies flat
    hints = sample_links(toy.y, 10, balance=0.5, random_state=SEED)
    before = KMeans(3, n_init=10, random_state=SEED).fit(X)
    after = MPCKMeans(3, random_state=SEED).fit(X, supervision=hints)

    figure = Figure(figsize=(12, 4.1), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [
        ("No hints: k-means cuts across the longer side", before),
        ("Ten hints: MPCK-Means cuts the way that is meant", after),
    ]
    for ax, (text, model) in zip(figure.subplots(1, 2, sharex=True, sharey=True), panels, strict=True):
        ClusterDisplay.from_estimator(model, X, hints, ax=ax, legend=False)
        agreement = adjusted_rand_score(toy.y, model.labels_)
        ax.set_title(f"{text}\nagreement with what is meant (ARI): {round(agreement, 1) + 0.0}", fontsize=13)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[], aspect="equal")
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    figure.legend(
        handles=[
            Line2D([], [], color="#444444", lw=1.5, label="“these two belong together”, kept"),
            Line2D([], [], color="#444444", lw=1.5, ls=(0, (4, 2.5)), label="“these two do not”, kept"),
            Line2D([], [], color="#D00000", lw=2.4, label="broken"),
        ],
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=12,
    )
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, dpi=100)
    print(f"wrote {TARGET.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
