"""Plot two moons, clustered with one and with three Gaussians per class.

Writes ``docs/images/two-moons.png``.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from likewise import PairwiseGaussianMixture
from likewise.plotting import ClusterDisplay
from likewise.supervision import sample_links

TARGET = Path(__file__).parents[1] / "docs" / "images" / "two-moons.png"


def main() -> None:
    """Fit both mixtures to the same rows and links, plot them, and write the picture."""
    X, y = make_moons(300, noise=0.08, random_state=0)
    hints = sample_links(y, 30, random_state=0)
    figure = Figure(figsize=(12, 4.1), layout="constrained")
    FigureCanvasAgg(figure)
    for ax, n_subclusters in zip(figure.subplots(1, 2, sharex=True, sharey=True), (1, 3), strict=True):
        model = PairwiseGaussianMixture(2, n_subclusters=n_subclusters, random_state=0)
        model.fit(X, supervision=hints)
        ClusterDisplay.from_estimator(model, X, hints, ax=ax, legend=False)
        agreement = adjusted_rand_score(y, model.labels_)
        ax.set_title(f"n_subclusters={n_subclusters}: ARI {agreement:.2f}", fontsize=13)
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[], aspect="equal")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, dpi=80)
    print(f"wrote {TARGET.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
