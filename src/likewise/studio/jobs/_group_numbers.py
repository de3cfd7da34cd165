"""Numbers of groups that persist between fits, the doubt of each row, and rows to show."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from likewise.studio.records import Group

Labels = npt.NDArray[np.int32]
Doubt = npt.NDArray[np.float32]
_SHOWN = 24
_CHOICE = 4  # candidates per row shown; rows far apart are chosen among them


def renumber(labels: npt.NDArray[Any], before: Labels | None) -> Labels:
    """Number clusters as before, matched such that as few rows as possible change their number.

    Clusters without a match get the smallest free numbers. If there were no clusters before, the largest
    cluster is number 0.
    """
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    n = int(codes.max()) + 1
    if before is None:
        order = np.argsort(-np.bincount(codes, minlength=n), kind="stable")
        number = np.empty(n, dtype=np.int32)
        number[order] = np.arange(n)
        return number[codes]
    n_before = int(before.max()) + 1
    table = np.bincount(codes * n_before + before, minlength=n * n_before).reshape(n, n_before)
    number = np.full(n, -1, dtype=np.int32)
    for now, was in zip(*linear_sum_assignment(table, maximize=True), strict=True):
        if table[now, was]:
            number[now] = was
    free = iter(np.setdiff1d(np.arange(n + n_before), number).tolist())
    for now in np.flatnonzero(number < 0).tolist():
        number[now] = next(free)
    return number[codes]


def compute_doubt(model: Any, X: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Doubt:
    """Return how uncertain the cluster of each row is, from 0 to 1.

    For a model with probabilities, it is 1 minus the difference between the two largest. Otherwise it is the
    ratio of the distances to the centres of the row's own and the nearest other cluster.
    """
    shares = getattr(model, "cluster_proba_", None)
    if shares is None and hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
    if shares is not None:
        if shares.shape[1] < 2:
            return np.zeros(len(X), dtype=np.float32)
        top = np.partition(shares, shares.shape[1] - 2, axis=1)[:, -2:]
        return np.clip(1.0 - (top[:, 1] - top[:, 0]), 0.0, 1.0).astype(np.float32)
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    if not codes.any():
        return np.zeros(len(X), dtype=np.float32)
    away = cdist(X, _compute_middles(X, codes))
    own = away[np.arange(len(X)), codes].copy()
    away[np.arange(len(X)), codes] = np.inf
    other = away.min(axis=1)
    near = np.divide(own, other, out=np.ones_like(own), where=other > 0)
    found: Doubt = np.clip(near, 0.0, 1.0).astype(np.float32)
    return found


def _compute_middles(X: npt.NDArray[Any], codes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.stack([X[codes == c].mean(axis=0, dtype=np.float64) for c in range(int(codes.max()) + 1)])


def make_groups(X: npt.NDArray[Any], labels: Labels, doubt: Doubt) -> tuple[Group, ...]:
    """Return the groups in the order of their numbers, with rows to show."""
    order = np.argsort(labels, kind="stable")
    numbers, starts = np.unique(labels[order], return_index=True)
    found = []
    for number, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        found.append(Group(number, len(rows), _find_typical(X, rows), _find_doubtful(doubt, rows)))
    return tuple(found)


def _find_typical(X: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """Return rows near the centre of their group, nearest first, that differ from each other."""
    inside = X[rows]
    away = ((inside - inside.mean(axis=0, dtype=np.float64)) ** 2).sum(axis=1)
    near = np.argsort(away, kind="stable")[: _SHOWN * _CHOICE]
    chosen = [0]
    apart = cdist(inside[near], inside[near[:1]])[:, 0]
    while len(chosen) < min(_SHOWN, len(near)):
        apart[chosen[-1]] = -1.0
        chosen.append(int(apart.argmax()))
        apart = np.minimum(apart, cdist(inside[near], inside[near[chosen[-1:]]])[:, 0])
        apart[chosen] = -1.0
    return tuple(rows[near[np.sort(chosen)]].tolist())


def _find_doubtful(doubt: Doubt, rows: npt.NDArray[np.int64]) -> tuple[int, ...]:
    own = doubt[rows]
    first = np.argsort(-own, kind="stable")[:_SHOWN]
    return tuple(rows[first[own[first] > 0]].tolist())
