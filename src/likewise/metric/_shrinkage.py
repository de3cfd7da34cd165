"""Metrics as matrices: the linear map of a metric, and its shrinkage, chosen by cross-validation.

A full metric learned from few links overfits them. For each fold of hinted rows the metric is fitted to the
links among the other rows; links that involve a held-out row are classified as must- or cannot-link by
logistic regression on log distance. Comparisons are judged by the difference of log distances.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_expit
from sklearn.linear_model import LogisticRegression

from likewise.exceptions import InfeasibleSupervisionError
from likewise.supervision import RowGroups, Supervision

if TYPE_CHECKING:
    from likewise.metric._base import Comparisons

FOLDS = 5
GRID = np.array([1.0, 0.75, 0.5, 0.25, 0.0])  # from the prior alone to the metric as it was learned
# Maximum number of held-out pairs; more would take longer without changing the choice.
_MOST_PAIRS = 20_000
_TINY = 1e-12
_RANK = 1e-10  # eigenvalues below this share of the largest count as 0

# Learns the components of a metric from some of the rows and the hints about them.
Learn = Callable[[np.ndarray, Supervision], np.ndarray]
# Returns the squared lengths of differences (columns) for each shrinkage (rows).
SquaredLengths = Callable[[np.ndarray], np.ndarray]


# ---------------------------------------------------------------------- matrices


def compute_scale(X: np.ndarray) -> float:
    """Return the power of two just above the largest absolute value, or 1 if all values are 0.

    Rows divided by it can be squared without overflow.
    """
    largest = float(np.abs(X).max(initial=0.0))
    return float(np.ldexp(1.0, max(int(np.frexp(largest)[1]), -1000)))


def compute_total_covariance(X: np.ndarray) -> np.ndarray:
    """Return the covariance of centred rows: the sum of outer products divided by their number."""
    return X.T @ X / len(X)


def is_positive_definite(M: np.ndarray) -> bool:
    """Return True if the smallest eigenvalue exceeds rounding errors."""
    values = np.linalg.eigvalsh(M)
    return bool(values[0] > _RANK * max(values[-1], 0.0))


def compute_whitener(within: np.ndarray, total: np.ndarray, regularization: float) -> np.ndarray:
    """Return W of shape (r, d) with ``W C W^T = I`` for ``C = (1 - reg) within + reg total``.

    Directions in which `total` or C is 0 are dropped; r is the number of the others. Rows of W are sorted by
    the ratio of total to within variance, largest first. The computation uses coordinates in which `total` is
    the identity, so the units of the columns do not matter.
    """
    scale = np.sqrt(total.diagonal())
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    use = values > _RANK * max(values[-1], 0.0)
    if not use.any():
        return np.empty((0, len(total)))
    P = vectors[:, use] / np.sqrt(values[use]) / scale[:, None]  # P^T total P = I
    spread, turn = np.linalg.eigh(P.T @ within @ P)
    spread = (1.0 - regularization) * np.maximum(spread, 0.0) + regularization
    seen = spread > _RANK * spread[-1]
    W: np.ndarray = (P @ (turn[:, seen] / np.sqrt(spread[seen]))).T
    return _fix_signs(W)


def compute_components(M: np.ndarray) -> np.ndarray:
    """Return L with ``L^T L = M``; it has fewer rows than columns if M is singular.

    A diagonal M gives the square roots of its entries and a full-rank M its symmetric root; both keep the
    columns in place. Otherwise the rows are scaled eigenvectors, largest eigenvalue first.
    """
    diagonal = M.diagonal()
    if np.array_equal(M, np.diag(diagonal)):
        use = diagonal > 0
        use[diagonal.argmax()] = True
        return np.diag(np.sqrt(np.maximum(diagonal, 0.0)))[use]
    values, vectors = np.linalg.eigh((M + M.T) / 2.0)
    use = values > _RANK * values[-1]
    if use.all():
        return (vectors * np.sqrt(values)) @ vectors.T
    return _fix_signs((vectors[:, use] * np.sqrt(values[use])).T[::-1])


def _fix_signs(rows: np.ndarray) -> np.ndarray:
    """Flip signs so that the largest entry of each row is positive; the sign of eigenvectors is arbitrary."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return rows * np.where(largest < 0, -1.0, 1.0)


# ---------------------------------------------------------------------- shrinkage


def shrink(M: np.ndarray, prior: np.ndarray, X: np.ndarray, shrinkage: float) -> np.ndarray:
    """Return ``(1 - s) M / c + s prior``; c makes the mean squared distances of both metrics equal."""
    T = compute_total_covariance(X)
    c = np.sum(M * T) / max(np.sum(prior * T), _TINY)
    return (1.0 - shrinkage) * M / max(c, _TINY) + shrinkage * prior


def choose_shrinkage(
    X: np.ndarray,
    hints: Supervision,
    comparisons: Comparisons | None,
    prior: np.ndarray,
    learn: Learn,
    n_errors: float,
) -> float:
    """Return the largest shrinkage whose loss on held-out comparisons, or else links, is close to the lowest.

    Close means that the mean loss is within `n_errors` standard errors of the lowest (paired by hint).
    Returns 1.0 if there are too few hints to hold any out, or if all links are cannot-links.
    """
    rng, is_cannot = np.random.RandomState(0), None
    if comparisons is None:
        members, is_cannot, weight = _draw_held_out_pairs(hints, len(X), rng)
        near = X[members[:, 0]] - X[members[:, 1]]
    else:
        members, weight = comparisons.rows, comparisons.weights
        near, far = comparisons.get_near_differences(X), comparisons.get_far_differences(X)

    def values(test: np.ndarray, squared: SquaredLengths) -> np.ndarray:
        if comparisons is None:
            return squared(near[test])
        a, b = squared(far[test]), squared(near[test])
        tiny = _TINY * (a.mean() + b.mean() + _TINY)
        return np.log(a + tiny) - np.log(b + tiny)

    which, found = _cross_validate(X, hints, members, prior, learn, values, rng)
    if not len(which) or (is_cannot is not None and len(np.unique(is_cannot)) < 2):
        return 1.0
    losses = _compute_losses(found, None if is_cannot is None else is_cannot[which], weight[which])
    # A hint with rows in several folds is held out several times, so its losses are averaged.
    count = np.bincount(which, minlength=len(weight))
    each = np.array([np.bincount(which, weights=loss, minlength=len(weight)) for loss in losses])
    each = each[:, count > 0] / count[count > 0]
    return float(GRID[_find_first_near_best(each, weight[count > 0], n_errors)])


def _cross_validate(
    X: np.ndarray,
    hints: Supervision,
    members: np.ndarray,
    prior: np.ndarray,
    learn: Learn,
    values: Callable[[np.ndarray, SquaredLengths], np.ndarray],
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of held-out hints, fold by fold, and their values for each shrinkage (rows).

    Row t of `members` lists the rows of X in hint t; the hint is held out if any of them is. Both arrays are
    empty if the hints outside some fold are too few to learn a metric.
    """
    rows = np.unique(members)
    rows = rows[np.lexsort(X[rows].T[::-1])]  # folds do not depend on the order of rows
    fold = np.full(len(X), -1)
    fold[rows] = rng.permutation(len(rows)) % FOLDS
    root, T = np.linalg.cholesky(prior).T, compute_total_covariance(X)
    nothing = np.empty(0, dtype=np.int64), np.empty((len(GRID), 0))
    which, found = [], []
    for number in range(FOLDS):
        test = np.flatnonzero((fold[members] == number).any(axis=1))
        keep = fold != number
        if not len(test):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all hints issues them
                L = learn(X[keep], hints[keep])
        except InfeasibleSupervisionError:
            return nothing
        learned, plain = (np.einsum("ij,jk,ik->", each, T, each) for each in (L, root))
        c = max(float(learned) / max(float(plain), _TINY), _TINY)

        def compute_lengths(V: np.ndarray, L: np.ndarray = L, c: float = c) -> np.ndarray:
            learned, plain = np.square(V @ L.T).sum(axis=1), np.square(V @ root.T).sum(axis=1)
            return np.outer(1.0 - GRID, learned / c) + np.outer(GRID, plain)

        which.append(test)
        found.append(values(test, compute_lengths))
    return (np.concatenate(which), np.hstack(found)) if which else nothing


def _find_first_near_best(losses: np.ndarray, weight: np.ndarray, n_errors: float) -> int:
    """Return the first candidate whose mean loss is within `n_errors` standard errors of the lowest."""
    share = weight / weight.sum()
    mean = losses @ share
    over = losses - losses[mean.argmin()]
    error = np.sqrt(np.square(over - (over @ share)[:, None]) @ np.square(share))
    return int(np.flatnonzero(over @ share <= n_errors * error + _TINY)[0])


def _compute_losses(values: np.ndarray, is_cannot: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
    """Return the loss of each hint (columns) for each candidate (rows) by logistic regression.

    The values are squared distances of links, or differences of log distances, which need no intercept.
    """
    losses, weight = np.empty(values.shape), weight / weight.mean()
    for row, z in zip(losses, values, strict=True):
        if is_cannot is None:
            z = z / (z.std() + _TINY)
            model, sign = LogisticRegression(fit_intercept=False), np.ones(len(z))
            model.fit(np.append(z, -z)[:, None], np.repeat([1, 0], len(z)), sample_weight=np.tile(weight, 2))
        else:
            z = np.log(z + _TINY * (z.mean() + _TINY))
            z = (z - z.mean()) / (z.std() + _TINY)
            model, sign = LogisticRegression(), np.where(is_cannot, 1.0, -1.0)
            model.fit(z[:, None], is_cannot, sample_weight=weight)
        row[:] = -log_expit(sign * model.decision_function(z[:, None]))
    return losses


def _draw_held_out_pairs(
    hints: Supervision, n_rows: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs of rows to evaluate a metric on, whether each is a cannot-link, and their weights.

    A group of n rows contributes n - 1 pairs: its rows are shuffled and consecutive rows are paired. Without
    cannot-links, random pairs of rows are used in their place.
    """
    parts = [
        (hints.must, np.zeros(len(hints.must), dtype=bool), hints.must_weights),
        (hints.cannot, np.ones(len(hints.cannot), dtype=bool), hints.cannot_weights),
        _draw_group_pairs(hints.must_groups, False, rng),
        _draw_group_pairs(hints.cannot_groups, True, rng),
    ]
    pairs, apart, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    if len(pairs) and not apart.any():
        drawn = rng.randint(0, n_rows, size=(len(pairs), 2))
        drawn = drawn[drawn[:, 0] != drawn[:, 1]]
        pairs = np.concatenate([pairs, drawn])
        apart = np.append(apart, np.ones(len(drawn), dtype=bool))
        weight = np.append(weight, np.full(len(drawn), weight.mean()))
    if len(pairs) > _MOST_PAIRS:
        some = rng.permutation(len(pairs))[:_MOST_PAIRS]
        pairs, apart, weight = pairs[some], apart[some], weight[some]
    return pairs, apart, weight


def _draw_group_pairs(
    groups: RowGroups, apart: bool, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    members = [rng.permutation(rows) for rows in groups]
    pairs = np.concatenate(
        [np.empty((0, 2), dtype=np.int64), *(np.column_stack([rows[:-1], rows[1:]]) for rows in members)]
    )
    weight = np.repeat(groups.weights, [max(len(rows) - 1, 0) for rows in members])
    return pairs, np.full(len(pairs), apart), weight
