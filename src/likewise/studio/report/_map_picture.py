"""Draw the map as a picture: a dot per item in the colour of its group, on a transparent background."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

from likewise._optional import require

_WIDTH, _HEIGHT, _RIM = 960, 640, 12


def map_picture(xy: npt.NDArray[np.float32], labels: npt.NDArray[np.int32], colors: dict[int, str]) -> bytes:
    """Return a PNG picture.

    The dots are written into an array, one offset of the dot shape at a time, so 10^6 dots cost only a few
    passes over the points.

    Parameters
    ----------
    xy : array of shape (n, 2)
        Position of each item in [0, 1] x [0, 1].
    labels : array of shape (n,)
        The group of each item.
    colors : dict of int to str
        The colour of each group, as "#rrggbb".
    """
    pillow = require("PIL.Image", extra="studio")
    n = len(xy)
    radius = 5 if n <= 300 else 4 if n <= 2_000 else 2 if n <= 20_000 else 1 if n <= 100_000 else 0
    place = np.clip(np.nan_to_num(np.asarray(xy, dtype=np.float64), nan=0.5), 0.0, 1.0)
    column = np.rint(_RIM + place[:, 0] * (_WIDTH - 1 - 2 * _RIM)).astype(np.intp)
    line = np.rint(_RIM + place[:, 1] * (_HEIGHT - 1 - 2 * _RIM)).astype(np.intp)
    palette = np.zeros((max([*colors, int(labels.max(initial=0))]) + 1, 3), dtype=np.uint8)
    for number, color in colors.items():
        palette[number] = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    picture = np.zeros((_HEIGHT, _WIDTH, 4), dtype=np.uint8)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            if dx * dx + dy * dy <= radius * (radius + 0.8):
                picture[line + dy, column + dx, :3] = palette[labels]
                picture[line + dy, column + dx, 3] = 255
    out = io.BytesIO()
    pillow.fromarray(picture, "RGBA").save(out, "PNG", optimize=True)
    return out.getvalue()
