"""Rows that join an interview later: old rows keep their clusters until an answer moves them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from likewise.active._evidence import Event
from likewise.active._group_model import GroupClustering
from likewise.active._questions import Reply
from likewise.exceptions import SupervisionError

if TYPE_CHECKING:
    from likewise.active._interview import Interview

IntArray = npt.NDArray[np.int64]
_N_NEAR = 5  # neighbours that tell whether a row lies where other rows are
_SAMPLE = 2000
_FAR = 0.99  # share of the old rows that are nearer to their neighbours than a row that fits nowhere


@dataclass(frozen=True, eq=False)
class Extension:
    """What an interview knew when rows were added.

    Attributes
    ----------
    sizes : tuple of int
        The number of rows before each addition, the first one first.
    labels : ndarray of int or None
        The cluster of each row before the last addition; None without a model.
    events : tuple of Event
        The history before the last addition.
    """

    sizes: tuple[int, ...]
    labels: IntArray | None
    events: tuple[Event, ...]


@dataclass(frozen=True, eq=False)
class Placements:
    """Where the rows of the last addition belong, given all answers.

    Attributes
    ----------
    rows : ndarray of int
        The rows that were added last.
    labels : ndarray of int
        The cluster of each of them.
    proba : ndarray of float
        The probability of that cluster. It is 0 for every row if the model has no probabilities.
    unplaced : ndarray of int
        The rows that fit nowhere: they probably belong to no cluster so far, or lie farther from the old rows
        than 99 % of the old rows lie from one another.
    """

    rows: IntArray
    labels: IntArray
    proba: npt.NDArray[np.float64]
    unplaced: IntArray


def match_labels(
    labels: npt.NDArray[Any], before: npt.NDArray[Any], taken: npt.NDArray[Any] | None = None
) -> IntArray:
    """Return labels numbered like earlier labels, such that as few rows as possible change their number.

    `before` may cover only the first rows. Clusters without a match get the smallest numbers that occur
    neither in `before` nor in `taken`.
    """
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    n, n_before = int(codes.max()) + 1, int(before.max()) + 1
    pairs = codes[: len(before)] * n_before + before
    table = np.bincount(pairs, minlength=n * n_before).reshape(n, n_before)
    number = np.full(n, -1, dtype=np.int64)
    for now, was in zip(*linear_sum_assignment(table, maximize=True), strict=True):
        if table[now, was]:
            number[now] = was
    used = np.concatenate([before, number, () if taken is None else taken])
    unmatched = np.flatnonzero(number < 0)
    number[unmatched] = np.setdiff1d(np.arange(len(used) + n), used)[: len(unmatched)]
    return number[codes]


def carry_labels(
    kept: npt.NDArray[np.integer[Any]],
    base: npt.NDArray[Any],
    now: npt.NDArray[Any],
    answered: Iterable[int] = (),
) -> IntArray:
    """Return the clusters of all rows; old rows keep theirs unless an answer moved them.

    Parameters
    ----------
    kept : ndarray of shape (n_old,)
        The clusters of the old rows before others were added.
    base, now : ndarray of shape (n_samples,)
        The clusters that the model finds for all rows with the answers at the time of the addition, and with
        the current answers.
        An old row keeps its cluster if both agree.
    answered : iterable of int
        Rows that answers since then are about; these rows always get the cluster of the model.

    Returns
    -------
    ndarray of shape (n_samples,)
        The clusters, numbered like `kept`.

    Examples
    --------
    >>> import numpy as np
    >>> kept = np.array([4, 4, 7])
    >>> carry_labels(kept, np.array([0, 1, 1, 2]), np.array([0, 1, 1, 2])).tolist()  # no answer
    [4, 4, 7, 0]
    >>> carry_labels(kept, np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2])).tolist()
    [4, 4, 0, 0]
    """
    n = len(kept)
    base = match_labels(base, kept)
    now = match_labels(now, base, kept)
    gone = np.setdiff1d(base, now)  # a cluster that answers joined to another one
    stays = (base[:n] == now[:n]) & ~np.isin(kept, gone)
    stays[[row for row in answered if row < n]] = False
    labels = now.copy()
    labels[:n][stays] = kept[stays]
    return labels


def find_answered_rows(then: Sequence[Reply], now: Sequence[Reply]) -> set[int]:
    """Return the rows of the answers that were given, changed or undone since then."""
    before, after = ({(reply.question.key, reply.answer) for reply in replies} for replies in (then, now))
    other = before ^ after
    return {
        row
        for reply in (*then, *now)
        if (reply.question.key, reply.answer) in other
        for row in reply.question.rows
    }


def check_new_rows(X: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return old and new rows together, if they have the same columns."""
    if new.shape[1] != X.shape[1]:
        raise SupervisionError(
            f"Interview: the rows have {X.shape[1]} columns, and the new rows {new.shape[1]}. Compute the "
            "same features for both: transform the new rows with the transformer fitted to the old ones."
        )
    return np.ascontiguousarray(np.vstack([X, new.astype(X.dtype, copy=False)]))


def place_rows(interview: Interview, n_old: int) -> Placements:
    """Return where the rows from `n_old` on belong."""
    rows = np.arange(n_old, interview.n_samples)
    labels, model = interview.labels_[n_old:], interview.model_
    if isinstance(model, GroupClustering):
        groups = model.groups_
        if groups is None:
            return Placements(rows, labels, np.zeros(len(rows)), rows)
        p_new = groups.p_new[rows].astype(np.float64)
        proba = (1.0 - p_new) * groups.proba[rows].max(axis=1)
        return Placements(rows, labels, proba, rows[p_new > 0.5])
    shares = getattr(model, "cluster_proba_", None)
    proba = np.zeros(len(rows)) if shares is None else shares[rows].max(axis=1)
    far = find_far_rows(interview.X, n_old, interview.random_state)
    answered = [row for reply in interview.replies for row in reply.question.rows]
    return Placements(rows, labels, proba, np.setdiff1d(far, answered))


def find_far_rows(X: npt.NDArray[Any], n_old: int, random_state: int) -> IntArray:
    """Return the rows from `n_old` on that lie farther from the old rows than 99 % of them from one another.

    The distance is that to the fifth nearest old row. It is measured for 2,000 old rows, if there are more.
    """
    from sklearn.neighbors import NearestNeighbors

    k = min(_N_NEAR, n_old - 1)
    if not k:
        return np.empty(0, dtype=np.int64)
    some = np.random.default_rng(random_state).permutation(n_old)[:_SAMPLE]
    search = NearestNeighbors(n_neighbors=k + 1).fit(X[:n_old])
    usual = np.quantile(search.kneighbors(X[some])[0][:, -1], _FAR)  # a row is its own neighbour
    found = search.kneighbors(X[n_old:], n_neighbors=k)[0][:, -1]
    return n_old + np.flatnonzero(found > usual)
