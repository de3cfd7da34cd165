"""Map positions of the rows: immediately by PCA, later by t-SNE of landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.studio.records import Layout

FloatArray = npt.NDArray[np.float32]
Exact = npt.NDArray[np.float64]
_BLOCK = 16_384
_LANDMARKS = 2_500
_ENOUGH = 20_000  # rows from which principal components are computed
_COLUMNS = 30  # principal components used for distances
_NEAR = 5
_MARGIN = 0.03
_OUTLIERS = 0.2  # percentage at either end that may not stretch the map
_JITTER = 0.002
_FAR = 1e6  # in standard deviations; rows farther out are moved here


def compute_plain_layout(X: npt.NDArray[Any], *, seed: int = 0, final: bool = False) -> Layout:
    """Return the first two principal components of the rows, computed from at most 20,000 of them.

    One column gives a line, and identical rows share one position. A small random offset, which depends only
    on the seed, makes them all visible. Costs O(n d).
    """
    mean, axes = _find_directions(X, 2, seed)
    xy = np.zeros((len(X), 2))
    xy[:, : len(axes)] = _project(X, mean, axes)
    return Layout(_fit_to_square(xy, seed), "PCA", final)


def compute_near_layout(X: npt.NDArray[Any], *, seed: int = 0) -> Layout:
    """Return a map that preserves neighbourhoods: t-SNE of at most 2,500 landmarks.

    Every other row is placed at the mean of its five nearest landmarks, weighted by inverse squared distance.
    Distances use the first 30 principal components. Costs O(n) times the number of landmarks, in blocks.
    """
    mean, axes = _find_directions(X, _COLUMNS, seed)
    landmarks = _draw_landmarks(X, mean, axes, seed)
    if len(landmarks) < 10:  # too few for neighbourhoods
        return compute_plain_layout(X, seed=seed, final=True)
    exact = _project(X[landmarks], mean, axes)
    scale = float(exact[:, 0].std()) or 1.0  # keeps squares of huge numbers within float32
    marks = (exact / scale).astype(np.float32)
    places = _embed_landmarks(marks, seed)
    xy = np.empty((len(X), 2), dtype=np.float32)
    for start in range(0, len(X), _BLOCK):
        rows = slice(start, start + _BLOCK)
        inside = np.clip(_project(X[rows], mean, axes) / scale, -_FAR, _FAR).astype(np.float32)
        xy[rows] = _place_rows(inside, marks, places)
    xy[landmarks] = places
    return Layout(_fit_to_square(xy, seed), "t-SNE", True)


def _find_directions(X: npt.NDArray[Any], n: int, seed: int) -> tuple[Exact, Exact]:
    """Return the mean and at most n principal components, each with a fixed sign."""
    some = X
    if len(X) > _ENOUGH:
        rows = np.random.default_rng(seed).choice(len(X), size=_ENOUGH, replace=False)
        some = X[np.sort(rows)]
    # Squares of huge numbers would overflow; the components do not depend on the scale.
    scale = float(np.abs(some).max()) or 1.0
    some = np.asarray(some, dtype=np.float64) / scale
    mean = some.mean(axis=0)
    centred = some - mean
    if centred.shape[1] <= 2_000:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        axes = vectors[:, ::-1].T[: min(n, len(some))]
        values = values[::-1][: len(axes)]
        axes = axes[values > max(float(values[0]), 1e-30) * 1e-12]
    else:
        from sklearn.utils.extmath import randomized_svd

        _, lengths, axes = randomized_svd(centred, n, random_state=seed % 2**32)
        axes = axes[lengths > 0]
    flip = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]) if len(axes) else np.ones(0)
    return mean * scale, axes * flip[:, None]


def _project(X: npt.NDArray[Any], mean: Exact, axes: Exact) -> Exact:
    """Return the coordinates of rows along the given axes."""
    out: Exact = np.empty((len(X), len(axes)), dtype=np.float64)
    for start in range(0, len(X), _BLOCK):
        rows = slice(start, start + _BLOCK)
        out[rows] = (np.asarray(X[rows], dtype=np.float64) - mean) @ axes.T
    return out


def _draw_landmarks(X: npt.NDArray[Any], mean: Exact, axes: Exact, seed: int) -> npt.NDArray[np.int64]:
    """Return distinct rows drawn at random; the first of several identical rows is kept."""
    rng = np.random.default_rng([seed, 1])
    drawn = rng.choice(len(X), size=min(len(X), 2 * _LANDMARKS), replace=False)
    drawn.sort()
    first = np.unique(_project(X[drawn], mean, axes), axis=0, return_index=True)[1]
    kept = drawn[np.sort(first)]
    if len(kept) > _LANDMARKS:
        kept = np.sort(rng.choice(kept, size=_LANDMARKS, replace=False))
    found: npt.NDArray[np.int64] = kept.astype(np.int64)
    return found


def _embed_landmarks(marks: FloatArray, seed: int) -> FloatArray:
    """Return the positions of the landmarks, initialised with their principal components."""
    from sklearn.manifold import TSNE

    start = np.zeros((len(marks), 2), dtype=np.float32)
    start[:, : min(2, marks.shape[1])] = 1e-4 * marks[:, :2]
    perplexity = min(30.0, (len(marks) - 1) / 3)
    tsne = TSNE(2, perplexity=perplexity, init=start, max_iter=500, random_state=seed % 2**32)
    found: FloatArray = tsne.fit_transform(marks).astype(np.float32)
    return found


def _place_rows(rows: FloatArray, marks: FloatArray, places: FloatArray) -> FloatArray:
    """Return the weighted mean position of the nearest landmarks of each row."""
    away = rows @ (-2.0 * marks.T)
    away += (marks**2).sum(axis=1)  # omits the row's own square, which does not affect the order
    k = min(_NEAR, len(marks))
    near = np.argpartition(away, k - 1, axis=1)[:, :k]
    squares = np.take_along_axis(away, near, axis=1) + (rows**2).sum(axis=1)[:, None]
    squares = np.maximum(squares, 0.0)
    weights = 1.0 / (squares + 1e-9 + 0.05 * squares.mean(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    found: FloatArray = np.einsum("ij,ijc->ic", weights, places[near]).astype(np.float32)
    return found


def _fit_to_square(xy: npt.NDArray[Any], seed: int) -> FloatArray:
    """Scale positions to the unit square, isotropically, with outliers at the edge and a small offset."""
    low, high = np.percentile(xy, [_OUTLIERS, 100 - _OUTLIERS], axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) / 2 * 1.05
    unit = (xy - middle) / half if half > 0 else np.zeros_like(xy)
    step = np.random.default_rng([seed, 2]).uniform(-_JITTER, _JITTER, size=xy.shape)
    inner = 0.5 - _MARGIN
    return (0.5 + inner * np.clip(unit + step, -1.0, 1.0)).astype(np.float32)
