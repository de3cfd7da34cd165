"""Bounds on distances change the time of a pass, not its result."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import PCKMeans
from likewise.backends import ArrayRows, split_rows
from likewise.kmeans import _loop
from likewise.kmeans._loop import KMeansSteps, Metric
from likewise.kmeans._mpck import LinkedRows, Penalty
from likewise.supervision import sample_links
from reference.kmeans import gather_hints


def run_passes(X, hints, moves, monkeypatch, bounded, block_rows=None):
    """Return the labels, sums and objectives of passes over the rows while the centres move."""
    monkeypatch.setattr(_loop, "_BOUNDED", 0 if bounded else 10**9)
    rows = ArrayRows(X, split_rows(len(X), block_rows))
    linked = LinkedRows(
        rows, gather_hints(X, hints), Penalty(1.0, 1.0, 4.0, 0.0, 4.0), np.random.RandomState(0)
    )
    steps = KMeansSteps(rows, len(moves[0]), hinted=linked)
    out, labels = [], None
    for centers in moves:
        found = steps.assign(centers, Metric(np.ones((1, X.shape[1]))), labels)
        labels = found.hinted_labels
        out.append((steps._labels.values.copy(), found.stats.sums, found.stats.counts, found.objective))
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 20),
    step=st.sampled_from([0.0, 1e-3, 0.1, 3.0]),
    share=st.sampled_from([0.1, 0.7]),
    whole=st.booleans(),
)
def test_bounds_change_no_label_sum_or_objective(dtype, seed, k, step, share, whole):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 5))
    X = (np.round(X) if whole else X).astype(dtype)  # whole numbers have ties
    hints = sample_links(rng.integers(0, 3, len(X)), 12, random_state=seed % 1000)
    centers = X[rng.permutation(len(X))[:k]].astype(np.float64)
    moves = [centers]
    for _ in range(5):  # some centres leave all rows, so that clusters are empty and are filled again
        moves.append(moves[-1] + step * rng.normal(size=centers.shape) * (rng.random((k, 1)) < share))
        moves[-1][0] += 100.0 * (rng.random() < 0.1)
    with pytest.MonkeyPatch.context() as patch:
        plain = run_passes(X, hints, moves, patch, bounded=False)
        for block_rows in (None, 16):
            found = run_passes(X, hints, moves, patch, bounded=True, block_rows=block_rows)
            for ours, theirs in zip(found, plain, strict=True):
                np.testing.assert_array_equal(ours[0], theirs[0])
                for mine, other in zip(ours[1:], theirs[1:], strict=True):
                    np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)


def test_few_rows_are_compared_once_the_centres_have_settled(monkeypatch):
    from likewise.kernels import assign

    compared, full = [], assign.two_nearest_linear
    monkeypatch.setattr(
        assign,
        "two_nearest_linear",
        lambda X, rows, *rest: (compared.append(len(rows)), full(X, rows, *rest)),
    )
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(64, 64))
    X = groups[rng.integers(0, 64, 2000)] + 0.3 * rng.normal(size=(2000, 64))
    PCKMeans(64, init=groups, random_state=0).fit(X)
    assert compared[0] == 2000
    assert sum(compared[1:]) < 200


def test_rows_are_compared_with_few_centres_while_only_few_centres_move():
    from likewise.kernels import assign

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 32))
    moves = [X[:64].copy()]
    for _ in range(3):
        moves.append(moves[-1].copy())
        moves[-1][:2] += 0.3 * rng.normal(size=(2, 32))
    compared, full = [], assign.two_nearest_linear
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            assign,
            "two_nearest_linear",
            lambda X, rows, W, *rest: (compared.append(len(rows) * len(W)), full(X, rows, W, *rest)),
        )
        run_passes(X, sample_links(np.zeros(2000, dtype=int), 2, random_state=0), moves, patch, bounded=True)
    assert compared[0] > 1900 * 64
    assert sum(compared[1:]) < 3 * compared[0] / 5


def test_a_long_fit_stops_when_its_objective_hardly_changes(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    plain = PCKMeans(60, n_init=1, random_state=0).fit(X)
    monkeypatch.setattr(_loop, "_LONG", 0)
    short = PCKMeans(60, n_init=1, random_state=0).fit(X)
    assert short.n_iter_ < plain.n_iter_
    assert plain.objective_ < short.objective_ < 1.01 * plain.objective_
