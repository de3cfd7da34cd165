"""Cluster digits on pages: it is known which digits are on each page, but not where.

Writes ``docs/images/bags.png``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from likewise import Supervision
from likewise.plotting import BagDisplay
from likewise.spectral import BagSpectralClustering

TARGET = Path(__file__).parents[1] / "docs" / "images" / "bags.png"


def pages(y: np.ndarray, size: int, seed: int) -> Supervision:
    """Return bags: rows on random pages, labelled with the digits on each page."""
    page_of = np.random.RandomState(seed).permutation(len(y)) // size
    names = [f"page {page}" for page in page_of]
    held = {f"page {page}": set(y[page_of == page].tolist()) for page in np.unique(page_of)}
    return Supervision.from_bags(names, held)


def main() -> None:
    """Cluster the digits with the labels of the pages, and plot the result."""
    X, y = load_digits(return_X_y=True)
    hints = pages(y, 4, seed=0)
    model = BagSpectralClustering(10, random_state=0).fit(X, supervision=hints)
    display = BagDisplay.from_estimator(
        model, X, hints, image_shape=(8, 8), title="1,797 digits on pages of four, 10 clusters"
    )
    display.save(TARGET, dpi=90)
    print(f"wrote {TARGET.relative_to(Path(__file__).parents[1])}")


if __name__ == "__main__":
    main()
