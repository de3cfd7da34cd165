"""Projection of rows to the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
_GOLDEN = 0.6180339887498949  # fractional parts of its multiples spread evenly over [0, 1]


@dataclass(frozen=True, eq=False)
class PlanarProjection:
    """Points in the plane, and the labels of the two axes."""

    points: FloatArray
    axes: tuple[str, str]


def project(X: Any, feature_names: Any = None) -> PlanarProjection:
    """Return rows as points: two features unchanged, more by their first two principal components.

    The components maximise the variance of the projected rows; they come from the singular value
    decomposition of the centred rows, in O(n d min(n, d)) for n rows of d features. The largest entry of a
    component is positive, so the same rows always give the same plot. One feature is shown along x, with
    the rows spread evenly over y.

    Examples
    --------
    >>> plane = project(np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [4.0, 0.0, 1.0]]))
    >>> plane.points[:, 0].tolist(), plane.axes[0]
    ([-2.0, 0.0, 2.0], 'first component (100% of the variance)')
    """
    X = np.asarray(X, dtype=np.float64)
    names = tuple(feature_names) if feature_names is not None else None
    if X.shape[1] == 1:
        spread = np.arange(1, len(X) + 1) * _GOLDEN % 1
        return PlanarProjection(np.column_stack([X[:, 0], spread]), (names[0] if names else "feature 0", ""))
    if X.shape[1] == 2:
        return PlanarProjection(X, (names[0], names[1]) if names else ("feature 0", "feature 1"))
    centred = X - X.mean(axis=0)
    _, singular, components = np.linalg.svd(centred, full_matrices=False)
    components = components[:2]
    signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
    points = np.zeros((len(X), 2))
    points[:, : len(components)] = centred @ (components * np.where(signs == 0, 1.0, signs)[:, None]).T
    share = np.zeros(2)
    total = float((singular**2).sum())
    if total > 0:
        share[: len(components)] = singular[:2] ** 2 / total
    first, second = (
        f"{word} component ({part:.0%} of the variance)"
        for word, part in zip(("first", "second"), share, strict=True)
    )
    return PlanarProjection(points, (first, second))
