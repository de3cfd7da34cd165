"""The assignment kernels, and NumPy for small blocks, against readable reference code."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends import as_rows
from likewise.kmeans import _loop
from likewise.kmeans._loop import (
    NO_ROWS,
    ClusterStats,
    KMeansSteps,
    Metric,
    compute_total_cost,
    sum_rows,
)
from profiles import fewer
from reference.kmeans import nearest


@pytest.fixture(autouse=True, scope="module", params=["kernels", "NumPy"])
def choose_code(request):
    """Run each test with the kernels and, as for small blocks, with NumPy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_loop, "_SMALL", -1 if request.param == "kernels" else 10**9)
        yield


def draw_problem(seed, n, d, k, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).astype(dtype), rng.uniform(0.1, 2, n), rng.normal(size=(k, d)), rng


def label_rows(X, weight, centers, metric, threads=1):
    steps = KMeansSteps(as_rows(X, threads, weight), len(centers), fill=False)
    fit = steps.assign(centers, metric, None)
    return steps.collect_labels(fit), fit.stats


def metrics(rng, k, d):
    diagonal = rng.uniform(0.2, 3, size=(k, d))
    roots = rng.normal(size=(k, d, d))
    full = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(d)
    return {
        "euclidean": Metric(np.ones((1, d))),
        "shared diagonal": Metric(diagonal[:1], np.log(diagonal[:1]).sum(axis=1)),
        "own diagonal": Metric(diagonal, np.log(diagonal).sum(axis=1)),
        "shared full": Metric(full[:1], np.linalg.slogdet(full[:1])[1]),
        "own full": Metric(full, np.linalg.slogdet(full)[1]),
    }


def as_matrices(metric, k):
    A = np.stack([np.diag(a) for a in metric.A]) if metric.diagonal else metric.A
    return np.repeat(A, k // len(A), axis=0), np.resize(metric.log_det, k)


@pytest.mark.parametrize("name", ["euclidean", "shared diagonal", "own diagonal", "shared full", "own full"])
@fewer(2)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 23), d=st.integers(1, 6), k=st.integers(1, 5))
def test_assign_rows_equals_the_plain_formula(name, seed, n, d, k):
    X, weight, centers, rng = draw_problem(seed, n, d, k)
    metric = metrics(rng, k, d)[name]
    labels, stats = label_rows(X, weight, centers, metric)
    expected, sums, counts, cost = nearest(X, weight, *as_matrices(metric, k), centers)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(stats.sums, sums, atol=1e-10)
    np.testing.assert_allclose(stats.counts, counts)
    second = as_rows(X, weight=weight).sum(
        partial(sum_rows, "squares" if metric.diagonal else "products", NO_ROWS)
    )
    assert compute_total_cost(stats, centers, metric, second) == pytest.approx(cost, rel=1e-9, abs=1e-9)


def test_by_hand():
    X = np.array([[0.0], [1.0], [4.0], [6.0], [9.0]])
    centers = np.array([[0.0], [7.0]])
    weight = np.array([1.0, 1, 1, 2, 1])
    labels, stats = label_rows(X, weight, centers, Metric(np.ones((1, 1))))
    assert labels.tolist() == [0, 0, 1, 1, 1]
    assert stats.counts.tolist() == [2, 4]
    assert stats.sums.tolist() == [[1], [25]]
    # 0 + 1 + 9 + 2 * 1 + 4, of which 0 + 1 + 16 + 72 + 81 is the same everywhere
    assert compute_total_cost(stats, centers, Metric(np.ones((1, 1))), np.array([170.0])) == pytest.approx(16)


@pytest.mark.parametrize("name", ["shared full", "own diagonal", "own full"])
def test_threads_and_blocks_do_not_change_the_result(name, monkeypatch):
    X, weight, centers, rng = draw_problem(3, 1000, 4, 3)
    metric = metrics(rng, 3, 4)[name]
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 64)
    found = []
    for threads in (1, 2, 3):
        found.append(label_rows(X, weight, centers, metric, threads))
    for labels, stats in found[1:]:
        np.testing.assert_array_equal(labels, found[0][0])
        np.testing.assert_array_equal(stats.sums, found[0][1].sums)
    monkeypatch.setattr("likewise.backends._rows.BLOCK_ROWS", 10**6)
    _, whole = label_rows(X, weight, centers, metric)
    np.testing.assert_allclose(whole.sums, found[0][1].sums, rtol=1e-12)
    np.testing.assert_allclose(whole.counts, found[0][1].counts, rtol=1e-12)


@fewer(2)
@given(
    seed=st.integers(0, 10**6), cut=st.integers(0, 40), moments=st.sampled_from([None, "diagonal", "full"])
)
def test_statistics_of_two_parts_add_up(seed, cut, moments):
    X, weight, _, rng = draw_problem(seed, 40, 3, 4)
    labels = rng.integers(0, 4, 40)
    whole = ClusterStats.from_labels(X, labels, weight, 4, moments=moments)
    parts = [
        ClusterStats.from_labels(X[s], labels[s], weight[s], 4, moments=moments)
        for s in (slice(cut), slice(cut, None))
    ]
    total = parts[0] + parts[1]
    np.testing.assert_allclose(total.counts, whole.counts, atol=1e-12)
    np.testing.assert_allclose(total.sums, whole.sums, atol=1e-12)
    assert (total.second is None) == (moments is None)
    if moments is not None:
        np.testing.assert_allclose(total.second, whole.second, atol=1e-12)


def test_float32_rows_stay_float32_and_sums_are_float64():
    X, weight, centers, _ = draw_problem(0, 101, 5, 3, np.float32)
    labels, stats = label_rows(X, weight, centers, Metric(np.ones((1, 5))))
    assert stats.sums.dtype == np.float64
    np.testing.assert_array_equal(
        labels, nearest(X, weight, np.stack([np.eye(5)] * 3), np.zeros(3), centers)[0]
    )
