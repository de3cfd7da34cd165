"""Toy problems whose answer is known, made from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Toy:
    """Rows with the grouping that is meant, and, where there is one, another that is as plain to see."""

    X: FloatArray
    y: IntArray
    y_other: IntArray | None = None


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Rows with several labels that lie on a tree, complete and as they were observed.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features.
    Y : ndarray of bool, of shape (n_samples, n_labels)
        All labels; a row that has a label has that label's parent.
    Z : ndarray of bool, of shape (n_samples, n_labels)
        The labels that were observed: those of `Y` less the ones that went missing.
    parents : ndarray of shape (n_labels,)
        The parent of each label, -1 for a child of the root. Parents stand before their children.
    """

    X: FloatArray
    Y: BoolArray
    Z: BoolArray
    parents: IntArray


def _at_least(least: int, **given: int) -> None:
    for name, value in given.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least}; got {value}.")


def make_two_views(
    n_samples: int = 300,
    *,
    n_groups: int = 3,
    stretch: float = 3.0,
    n_noise: int = 0,
    random_state: RandomStateLike = None,
) -> Toy:
    """Make blobs that can be split in two ways, of which the less wide one is meant.

    The blobs stand on a grid. The column of the grid is the group that is meant, `y`; its row is another
    group, `y_other`. Both are equally clean, 6 standard deviations from one to the next, but the second
    axis is `stretch` times as wide, so that k-means with `n_groups` clusters finds `y_other`: with the
    default stretch and up to four groups, its ARI with `y` is below 0.2. A few links between rows of the
    same column show that the second axis does not count, and a method that learns a weight for each
    feature then finds `y`.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_groups : int, default=3
        Number of groups of either kind.
    stretch : float, default=3.0
        How many times as wide the second axis is; above 1. Near 1, k-means finds neither grouping.
    n_noise : int, default=0
        Number of further features that say nothing, as wide as a group is on the first axis.
    random_state : int, RandomState or None
        The seed.

    Returns
    -------
    Toy
        `X` of shape (n_samples, 2 + n_noise), `y` and `y_other`. All blobs have the same size, to one
        row.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.metrics import adjusted_rand_score
    >>> toy = make_two_views(random_state=0)
    >>> found = KMeans(3, n_init=5, random_state=0).fit_predict(toy.X)
    >>> adjusted_rand_score(toy.y, found) < 0.2, adjusted_rand_score(toy.y_other, found) > 0.95
    (True, True)
    """
    from likewise._compat import check_random_state

    _at_least(2, n_groups=n_groups)
    _at_least(n_groups**2, n_samples=n_samples)
    _at_least(0, n_noise=n_noise)
    if not stretch > 1:
        raise ValueError(f"stretch must be above 1, for the second axis to be the wider one; got {stretch}.")
    rng = check_random_state(random_state)
    cell = rng.permutation(n_samples) % n_groups**2
    y, y_other = (cell % n_groups).astype(np.int64), (cell // n_groups).astype(np.int64)
    X = rng.normal(size=(n_samples, 2 + n_noise))
    X[:, 0] += 6 * (y - (n_groups - 1) / 2)
    X[:, 1] += 6 * (y_other - (n_groups - 1) / 2)
    X[:, 1] *= stretch
    return Toy(X, y, y_other)


def make_moons(n_samples: int = 300, *, noise: float = 0.06, random_state: RandomStateLike = None) -> Toy:
    """Make two interleaved half circles, which no two centres can tell apart.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    noise : float, default=0.06
        Standard deviation of the noise on each coordinate; the circles have radius 1.
    random_state : int, RandomState or None
        The seed.

    Returns
    -------
    Toy
        `X` of shape (n_samples, 2) and the half circle of each row, `y`.

    Examples
    --------
    >>> toy = make_moons(100, random_state=0)
    >>> toy.X.shape, toy.y.sum()
    ((100, 2), np.int64(50))
    """
    from sklearn import datasets

    X, y = datasets.make_moons(n_samples, noise=noise, random_state=random_state)
    return Toy(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64))


def make_label_tree(
    n_samples: int = 300,
    n_labels: int = 8,
    *,
    n_features: int = 10,
    max_depth: int = 3,
    missing_rate: float = 0.3,
    random_state: RandomStateLike = None,
) -> LabelTree:
    """Make rows with several labels from a random tree over the labels, and lose some of the labels.

    The tree is drawn label by label, each under the root or an earlier label. A row can have label c only
    if it has the parent of c, and then has it if w_c · x, plus logistic noise, is above a threshold, set so
    that 0.6 of the rows that have the parent have c. Of the labels of a row each goes missing with
    probability `missing_rate`, whatever becomes of the others; no label is ever added. So
    P(z = 1 | y = 1) = 1 - `missing_rate` and P(z = 1 | y = 0) = 0.

    Parameters
    ----------
    n_samples, n_labels, n_features : int
        The sizes: rows (300), labels (8) and features (10), which are standard normal.
    max_depth : int, default=3
        The longest way from the root to a label; the rarest labels have about 0.6^max_depth of the rows.
    missing_rate : float, default=0.3
        The probability that a label is missing, from 0 up to, but not including, 1.
    random_state : int, RandomState or None
        The seed.

    Returns
    -------
    LabelTree
        `X`, `Y`, `Z` and `parents`.

    Notes
    -----
    The cost is O(n_samples · n_labels · n_features).

    Examples
    --------
    >>> tree = make_label_tree(200, 6, random_state=0)
    >>> tree.X.shape, tree.Y.shape, len(tree.parents)
    ((200, 10), (200, 6), 6)
    >>> bool((tree.Z <= tree.Y).all())
    True
    """
    from likewise._compat import check_random_state

    _at_least(1, n_samples=n_samples, n_labels=n_labels, n_features=n_features, max_depth=max_depth)
    if not 0 <= missing_rate < 1:
        raise ValueError(f"missing_rate must be from 0 up to, but not including, 1; got {missing_rate}.")
    rng = check_random_state(random_state)
    parents = np.full(n_labels, -1, dtype=np.int64)
    depth = np.ones(n_labels, dtype=np.int64)
    for c in range(1, n_labels):
        open_to = np.append(np.flatnonzero(depth[:c] < max_depth), -1)
        parents[c] = rng.choice(open_to)
        depth[c] = 1 if parents[c] < 0 else depth[parents[c]] + 1
    X = rng.normal(size=(n_samples, n_features))
    weights = rng.normal(size=(n_labels, n_features)) * (3 / np.sqrt(n_features))
    score = X @ weights.T + rng.logistic(size=(n_samples, n_labels))
    Y = np.zeros((n_samples, n_labels), dtype=bool)
    for c in range(n_labels):
        able = np.ones(n_samples, dtype=bool) if parents[c] < 0 else Y[:, parents[c]]
        if able.any():
            Y[:, c] = able & (score[:, c] > np.quantile(score[able, c], 0.4))
    Z = Y & (rng.uniform(size=Y.shape) >= missing_rate)
    return LabelTree(X, Y, Z, parents)
