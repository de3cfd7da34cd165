"""Maps: within the unit square, reproducible, preserving neighbourhoods, and unusual shapes."""

import numpy as np
import pytest

from likewise.studio.jobs import layout as layout_module
from likewise.studio.jobs.layout import compute_near_layout, compute_plain_layout


def blobs(n=240, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return (8.0 * rng.normal(size=(3, d))[y] + rng.normal(size=(n, d))).astype(np.float32), y


@pytest.mark.parametrize("make", [compute_plain_layout, compute_near_layout])
def test_a_map_is_within_the_unit_square_and_reproducible(make):
    X, _ = blobs()
    one, other = make(X, seed=3), make(X, seed=3)
    assert one.xy.shape == (240, 2)
    assert one.xy.dtype == np.float32
    assert one.xy.min() >= 0.0
    assert one.xy.max() <= 1.0
    assert np.ptp(one.xy) > 0.5
    assert np.array_equal(one.xy, other.xy)


def test_the_first_map_shows_the_principal_components():
    X = np.array([[0.0, 0.0], [10.0, 1.0], [20.0, 0.0], [30.0, 1.0]])
    layout = compute_plain_layout(X)
    assert layout.method == "PCA"
    assert not layout.final
    assert np.all(np.diff(layout.xy[:, 0]) > 0) or np.all(np.diff(layout.xy[:, 0]) < 0)
    assert np.ptp(layout.xy[:, 1]) < 0.2 * np.ptp(layout.xy[:, 0])


def test_the_better_map_keeps_groups_apart(monkeypatch):
    monkeypatch.setattr(layout_module, "_LANDMARKS", 60)
    X, y = blobs()
    layout = compute_near_layout(X)
    assert layout.method == "t-SNE"
    assert layout.final
    middles = np.stack([layout.xy[y == c].mean(axis=0) for c in range(3)])
    away = ((layout.xy[:, None] - middles) ** 2).sum(axis=2)
    assert (away.argmin(axis=1) == y).mean() > 0.98


@pytest.mark.parametrize("make", [compute_plain_layout, compute_near_layout])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((1, 3)),
        np.zeros((2, 1)),
        np.zeros((40, 4)),
        np.arange(30.0)[:, None],
        np.repeat(np.eye(4), 10, axis=0),
        np.eye(12),
        1e30 * np.eye(12, dtype=np.float32),
        1e-30 * np.arange(24.0).reshape(12, 2),
        np.r_[np.zeros((50, 2)), [[1e9, 1e9]]],
    ],
    ids=["one", "two alike", "all alike", "one column", "four places", "corners", "huge", "tiny", "outlier"],
)
def test_unusual_shapes(make, X):
    xy = make(X).xy
    assert xy.shape == (len(X), 2)
    assert np.isfinite(xy).all()
    assert xy.min() >= 0.0
    assert xy.max() <= 1.0


def test_an_outlier_does_not_compress_the_others():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(2000, 2)), [[1e4, 1e4]]]
    assert np.ptp(compute_plain_layout(X).xy[:-1], axis=0).min() > 0.3


def test_rows_of_many_columns():
    X, _ = blobs(n=50, d=2_500)
    assert np.isfinite(compute_near_layout(X).xy).all()


def test_the_result_does_not_depend_on_blocks(monkeypatch):
    monkeypatch.setattr(layout_module, "_LANDMARKS", 60)
    X, _ = blobs(n=500)
    whole = compute_near_layout(X, seed=1).xy
    monkeypatch.setattr(layout_module, "_BLOCK", 64)
    assert np.allclose(compute_near_layout(X, seed=1).xy, whole, atol=1e-3)
