"""Examples of a class: selection of typical rows, and drawing in a cell of a grid."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise.plotting._cluster_display import BROKEN

HIGH = 0.66  # height of an example in its cell; the rest is for a name below
DEVIATIONS = 2.5  # standard deviations at which a profile is clipped
Place = tuple[int, int]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def find_typical_rows(space: FloatArray, labels: IntArray, clusters: Sequence[int], limit: int) -> IntArray:
    """Return the rows nearest to the means of their clusters, alternating between clusters.

    The cost is O(n_samples · n_dimensions) for the rows of these clusters.

    >>> space = np.array([[0.0], [1.0], [5.0], [9.0], [9.5]])
    >>> find_typical_rows(space, np.array([0, 0, 0, 1, 1]), [0, 1], 3).tolist()
    [3, 1, 4]
    """
    ranked: list[tuple[int, float, int]] = []
    for cluster in clusters:
        rows = np.flatnonzero(labels == cluster)
        if not rows.size:
            continue
        away = ((space[rows] - space[rows].mean(axis=0)) ** 2).sum(axis=1)
        nearest = np.lexsort((rows, away))[:limit]
        ranked += [(turn, float(away[k]), int(rows[k])) for turn, k in enumerate(nearest)]
    return np.array([row for _, _, row in sorted(ranked)[:limit]], dtype=np.int64)


def group_clusters_by_class(class_of_cluster: Sequence[Any], labels: IntArray) -> dict[Hashable, list[int]]:
    """Return the clusters of each class, the class with the most rows first, without clusters of no class.

    >>> group_clusters_by_class(["owl", None, "wren", "owl"], np.array([0, 2, 2, 2, 3, 1]))
    {'wren': [2], 'owl': [0, 3]}
    """
    sizes = np.bincount(labels, minlength=len(class_of_cluster))
    found: dict[Hashable, list[int]] = {}
    for cluster, name in enumerate(class_of_cluster):
        if name is not None:
            found.setdefault(name, []).append(cluster)
    order = sorted(found, key=lambda name: (-int(sizes[found[name]].sum()), str(name)))
    return {name: found[name] for name in order}


def standardize_columns(X: FloatArray) -> FloatArray:
    """Return columns with mean 0 and variance 1; a constant column becomes 0."""
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    flat = spread <= 1e-12 * np.abs(X).max(axis=0)
    scaled: FloatArray = np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
    return scaled


# ---------------------------------------------------------------------- drawing, in cells of size 1


def draw_image(
    ax: Any, image: FloatArray, limits: tuple[float, float], at: Place, colour: str, against: bool
) -> None:
    """Draw a grey image with square pixels; `limits` are the values of white and black."""
    (height, width), (place, line) = image.shape, at
    unit = min(HIGH / height, 0.92 / width)
    left, middle = place + 0.5 - unit * width / 2, line + HIGH / 2
    box = (left, left + unit * width, middle + unit * height / 2, middle - unit * height / 2)
    low, high = limits
    ax.imshow(image, cmap="gray_r", vmin=low, vmax=max(high, low + 1e-12), extent=box)
    _draw_frame(ax, box, BROKEN if against else colour, 2.0 if against else 0.8)


def draw_profile(ax: Any, values: FloatArray, at: Place, colour: str, against: bool) -> None:
    """Draw one bar per value; values are between -1 and 1."""
    place, line = at
    left, right, middle = place + 0.06, place + 0.94, line + HIGH / 2
    edges = np.linspace(left, right, len(values) + 1)
    ax.stairs(middle - values * HIGH / 2, edges, baseline=middle, fill=True, color=colour)
    _draw_frame(
        ax, (left, right, line + HIGH, line), BROKEN if against else "#CCCCCC", 1.3 if against else 0.5
    )


def _draw_frame(ax: Any, box: tuple[float, float, float, float], colour: str, width: float) -> None:
    left, right, bottom, top = box
    rectangle = require("matplotlib.patches", extra="plot").Rectangle
    shape = rectangle((left, top), right - left, bottom - top, fill=False, zorder=3)
    shape.set_edgecolor(colour)
    shape.set_linewidth(width)
    ax.add_patch(shape)
