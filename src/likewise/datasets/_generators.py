"""Generators of synthetic data sets with known classes."""

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
    """A synthetic data set with its classes and, optionally, another grouping that is equally clear.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The class of each row.
    y_other : ndarray of shape (n_samples,), optional
        The other grouping.

    Examples
    --------
    >>> from likewise.datasets import make_two_views
    >>> toy = make_two_views(60, random_state=0)
    >>> toy.X.shape, toy.y.shape, toy.y_other.shape
    ((60, 2), (60,), (60,))
    """

    X: FloatArray
    y: IntArray
    y_other: IntArray | None = None


@dataclass(frozen=True, eq=False)
class LabelTree:
    """A synthetic data set with several labels for each row, which form a tree and are partly missing.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features.
    Y : ndarray of bool, of shape (n_samples, n_labels)
        The complete labels. A row with a label also has the parent of the label.
    Z : ndarray of bool, of shape (n_samples, n_labels)
        The observed labels: those of `Y` without the missing ones.
    parents : ndarray of shape (n_labels,)
        The parent of each label, -1 for a child of the root. Parents come before their children.

    Examples
    --------
    >>> from likewise.datasets import make_label_tree
    >>> tree = make_label_tree(50, 4, random_state=0)
    >>> tree.X.shape, tree.Y.shape, tree.parents.shape
    ((50, 10), (50, 4), (4,))
    """

    X: FloatArray
    Y: BoolArray
    Z: BoolArray
    parents: IntArray


def _make_minimum_check(least: int, **given: int) -> None:
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
    """Generate blobs that can be grouped in two ways; k-means finds the unintended grouping.

    The blobs form a grid. The column of a blob is its class, `y`; the row is another grouping, `y_other`.
    Both are equally well separated, with 6 standard deviations between neighbours, but the second axis is
    `stretch` times as wide. k-means with `n_groups` clusters therefore finds `y_other`: with the default
    stretch and up to four groups, its ARI with `y` is below 0.2. A few links between rows of the same column
    show that the second axis is irrelevant, and a method that learns a weight for each feature then finds
    `y`.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_groups : int, default=3
        Number of groups in each of the two groupings.
    stretch : float, default=3.0
        The width of the second axis relative to the first; above 1. Near 1, k-means finds neither grouping.
    n_noise : int, default=0
        Number of additional features of pure noise, with the variance of one group.
    random_state : int, RandomState or None, default=None
        The seed.

    Returns
    -------
    Toy
        `X` of shape (n_samples, 2 + n_noise), `y` and `y_other`. The sizes of the blobs differ by at most one
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

    _make_minimum_check(2, n_groups=n_groups)
    _make_minimum_check(n_groups**2, n_samples=n_samples)
    _make_minimum_check(0, n_noise=n_noise)
    if not stretch > 1:
        raise ValueError(f"stretch must be above 1, so that the second axis is wider; got {stretch}.")
    rng = check_random_state(random_state)
    cell = rng.permutation(n_samples) % n_groups**2
    y, y_other = (cell % n_groups).astype(np.int64), (cell // n_groups).astype(np.int64)
    X = rng.normal(size=(n_samples, 2 + n_noise))
    X[:, 0] += 6 * (y - (n_groups - 1) / 2)
    X[:, 1] += 6 * (y_other - (n_groups - 1) / 2)
    X[:, 1] *= stretch
    return Toy(X, y, y_other)


def make_moons(n_samples: int = 300, *, noise: float = 0.06, random_state: RandomStateLike = None) -> Toy:
    """Generate two interleaved half circles, which k-means with two centres cannot separate.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    noise : float, default=0.06
        Standard deviation of the noise on each coordinate; the circles have radius 1.
    random_state : int, RandomState or None, default=None
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
    """Generate rows with several labels from a random tree of labels, and remove some of the labels.

    The tree is sampled label by label, each below the root or an earlier label. A row can have label c only
    if it has the parent of c. It then has c if w_c · x plus logistic noise is above a threshold, which is set
    so that 60 % of the rows with the parent have c. Each label of a row is missing with probability
    `missing_rate`, independently of the others; no label is ever added. So
    P(z = 1 | y = 1) = 1 - `missing_rate` and P(z = 1 | y = 0) = 0.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_labels : int, default=8
        Number of labels.
    n_features : int, default=10
        Number of features, which are standard normal.
    max_depth : int, default=3
        The maximum depth of a label; the rarest labels occur in a fraction of about 0.6^max_depth of the
        rows.
    missing_rate : float, default=0.3
        The probability that a label is missing: at least 0 and below 1.
    random_state : int, RandomState or None, default=None
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

    _make_minimum_check(1, n_samples=n_samples, n_labels=n_labels, n_features=n_features, max_depth=max_depth)
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
