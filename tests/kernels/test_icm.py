"""Iterated conditional modes: the energy against reference code, and no step raises it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.backends import as_rows
from likewise.kernels import icm
from likewise.kmeans._loop import Metric
from likewise.kmeans._mpck import LinkedRows, Penalty
from profiles import fewer
from reference.kmeans import gather_hints, link_energy


def draw_links(rng, n, n_pairs, n_groups):
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    chosen = pairs[rng.permutation(len(pairs))[:n_pairs]]
    must = rng.uniform(size=len(chosen)) < 0.5
    groups = [rng.permutation(n)[: rng.integers(2, n + 1)] for _ in range(n_groups)]
    return Supervision.from_links(
        n,
        must=chosen[must],
        cannot=chosen[~must],
        must_weights=rng.uniform(0.5, 2, must.sum()),
        cannot_weights=rng.uniform(0.5, 2, (~must).sum()),
        must_groups=groups[::2],
        cannot_groups=groups[1::2],
        must_group_weights=rng.uniform(0.5, 2, len(groups[::2])),
        cannot_group_weights=rng.uniform(0.5, 2, len(groups[1::2])),
    )


def draw_metric(rng, kind, k, d):
    if kind == "euclidean":
        return Metric(np.ones((1, d)))
    H = k if "own" in kind else 1
    if "diagonal" in kind:
        A = rng.uniform(0.3, 2, size=(H, d))
        return Metric(A, np.log(A).sum(axis=1))
    root = rng.normal(size=(H, d, d))
    A = root @ root.transpose(0, 2, 1) + 0.5 * np.eye(d)
    return Metric(A, np.linalg.slogdet(A)[1])


KINDS = ["euclidean", "shared diagonal", "own diagonal", "shared full", "own full"]


def problem(seed, kind, *, constant=False, n=9, d=2, k=3, n_pairs=10, n_groups=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    hints = draw_links(rng, n, n_pairs, n_groups)
    metric = draw_metric(rng, kind, k, d)
    penalty = Penalty(1.5, 0.7, 2.0, 0.0, 3.0) if constant else Penalty(1.5, 0.7, 0.0, 1.0, None)
    linked = LinkedRows(as_rows(X), gather_hints(X, hints), penalty, np.random.RandomState(seed))
    return X, hints, metric, penalty, linked, rng.normal(size=(k, d))


def energy_of(labels, X, hints, metric, penalty, linked, centers):
    k = len(centers)
    A = np.stack([np.diag(a) for a in metric.A]) if metric.diagonal else metric.A
    A = np.repeat(A, k // len(A), axis=0)
    reach = np.full(k, penalty.reach)
    if penalty.reach is None:
        reach = [
            max((X[i] - X[j]) @ A[h] @ (X[i] - X[j]) for i in range(len(X)) for j in range(i))
            for h in range(k)
        ]
    everywhere = np.full(len(X), -1)
    everywhere[linked.rows] = labels
    cost = metric.compute_costs(linked.X, centers)[np.arange(len(labels)), labels].sum()
    return cost + link_energy(
        X, everywhere, hints, A,
        must_weight=penalty.must_weight, cannot_weight=penalty.cannot_weight,
        alpha=penalty.alpha, beta=penalty.beta, reach=reach,
    )  # fmt: skip


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_the_energy_equals_the_sum_over_all_pairs(kind, constant, seed):
    X, hints, metric, penalty, linked, centers = problem(seed, kind, constant=constant)
    placed = linked.place(metric, centers, None)
    expected = energy_of(placed.labels, X, hints, metric, penalty, linked, centers)
    assert placed.energy == pytest.approx(expected, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_labelling_never_raises_the_energy(kind, seed):
    X, hints, metric, penalty, linked, centers = problem(seed, kind)
    before = np.random.default_rng(seed + 1).integers(0, 3, len(linked.rows))
    placed = linked.place(metric, centers, before)
    assert placed.energy <= energy_of(before, X, hints, metric, penalty, linked, centers) + 1e-8


@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_no_move_of_a_row_or_a_component_lowers_the_energy(seed):
    X, hints, metric, penalty, linked, centers = problem(seed, "shared full", n_groups=2)
    placed = linked.place(metric, centers, None)
    component = hints.closure(on_conflict="keep").component[linked.rows]
    for rows in [[i] for i in range(len(linked.rows))] + [
        np.flatnonzero(component == c) for c in set(component)
    ]:
        for h in range(3):
            moved = placed.labels.copy()
            moved[rows] = h
            energy = energy_of(moved, X, hints, metric, penalty, linked, centers)
            assert energy >= placed.energy - 1e-7 * max(1.0, abs(energy))


def place_in_python(linked, *state):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_compiled", None), ("_total", 0)):
            patch.setattr(icm, name, value)
        placed = linked.place(*state)
        assert icm._compiled is None
    return placed


def place_compiled(linked, *state):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(icm, "_SMALL", -1)
        placed = linked.place(*state)
    assert icm._compiled is not None
    return placed


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 10**6),
    n_groups=st.sampled_from([0, 3]),
    constant=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
    scale=st.sampled_from([0.0, 1e-160, 1.0, 1e100]),
)
def test_python_and_compiled_code_agree_to_the_last_digit(kind, seed, n_groups, constant, dtype, scale):
    *_, metric, _, linked, centers = problem(
        seed, kind, constant=constant, n=20, n_pairs=25, n_groups=n_groups, dtype=dtype
    )
    before = np.random.default_rng(seed + 1).integers(0, 3, len(linked.rows))
    for previous in (None, before):
        state = (metric, scale * centers, previous)
        placed, expected = place_in_python(linked, *state), place_compiled(linked, *state)
        np.testing.assert_array_equal(placed.labels, expected.labels)
        assert placed.labels.dtype == expected.labels.dtype
        assert np.float64(placed.energy).tobytes() == np.float64(expected.energy).tobytes()


def test_many_small_problems_are_compiled_in_the_end(monkeypatch):
    *_, metric, _, linked, centers = problem(0, "euclidean")
    monkeypatch.setattr(icm, "_compiled", None)
    monkeypatch.setattr(icm, "_total", 0)
    linked.place(metric, centers, None)
    assert icm._compiled is None
    monkeypatch.setattr(icm, "_TOTAL", icm._total)
    monkeypatch.setattr(icm, "_CALLS", 1)
    linked.place(metric, centers, None)
    assert icm._compiled is not None


def test_groups_equal_the_sum_over_their_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    groups = Supervision.from_links(12, must_groups=[[0, 1, 2, 3]], cannot_groups=[[3, 4, 5], [6, 7, 8, 9]])
    pairs = Supervision.from_links(
        12,
        must=list(itertools.combinations(range(4), 2)),
        cannot=[*itertools.combinations([3, 4, 5], 2), *itertools.combinations([6, 7, 8, 9], 2)],
    )
    placed = []
    for hints in (groups, pairs):
        penalty = Penalty(1.0, 1.0, 0.0, 1.0, None)
        linked = LinkedRows(as_rows(X), gather_hints(X, hints), penalty, np.random.RandomState(0))
        placed.append(linked.place(draw_metric(np.random.default_rng(5), "own full", 4, 3), X[:4], None))
    np.testing.assert_array_equal(placed[0].labels, placed[1].labels)
    assert placed[0].energy == pytest.approx(placed[1].energy)


def test_by_hand_a_must_link_moves_the_row_with_the_smaller_cost():
    # Rows at 0, 3, 10; centres at 0 and 10. Row 1 (at 3) must be with row 2 (at 10): in cluster 1 it costs
    # 49, in cluster 0 it costs 9 and the violated link. With a constant penalty of 45 the link is kept.
    X = np.array([[0.0], [3.0], [10.0]])
    hints = Supervision.from_links(3, must=[(1, 2)])
    for penalty, labels, energy in ((45.0, [1, 1], 49.0), (30.0, [0, 1], 39.0)):
        cost = Penalty(1.0, 1.0, penalty, 0.0, penalty)
        linked = LinkedRows(as_rows(X), gather_hints(X, hints), cost, np.random.RandomState(0))
        placed = linked.place(Metric(np.ones((1, 1))), np.array([[0.0], [10.0]]), None)
        assert placed.labels.tolist() == labels
        assert placed.energy == energy
        assert placed.nearest.tolist() == [0, 1]
