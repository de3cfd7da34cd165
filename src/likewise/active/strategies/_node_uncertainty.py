"""Node uncertainty: the row whose cluster is least certain, given its neighbours or all rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from scipy.special import entr

from likewise.active._questions import Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.active.strategies._farthest_first import explore_then
from likewise.active.strategies._placing import (
    FloatArray,
    IntArray,
    PlacedRows,
    Placing,
    cache_result,
    get_model_labels,
    iterate_squared_distances,
    order_by_score,
    standardize_columns,
)
from likewise.base import Rule

Scope = Literal["local", "global", "density", "compound"]

_MOST_ROWS = 10_000  # enough to fit a mixture of a few Gaussians
_RIDGE = 0.01  # relative to the mean variance; the first eigenvector of a graph is nearly constant
_MAX_ITER = 30
_DENSITY_ROWS = 2_000  # densities are estimated from this many rows
_EXACT_ROWS = 20_000  # computing all distances takes 2 s
_TREE_COLUMNS = 8


@dataclass(frozen=True)
class NodeUncertainty(CheckedStrategy):
    """The row whose cluster is most uncertain (OCSNU; Xiong, Johnson & Corso).

    Groups are first explored as in :class:`FarthestFirst`. Then, after each clustering with labels c, the row
    j with the largest uncertainty among those that are not placed is placed next. *Local*, with N(j) its
    nearest neighbours:

    .. math:: u_j = 1 - |\\{ z \\in N(j) : c_z = c_j \\}| / |N(j)| \\qquad (6)

    with the Mahalanobis distance (columns of unit variance, Ledoit-Wolf shrinkage of the covariance, which
    makes it invertible for any number of columns). *Global*, with a Gaussian mixture that starts from the
    clusters:

    .. math:: u_j = -\\sum_z p(z | x_j) \\log p(z | x_j) \\qquad (9)

    (the minus sign is missing in print). The mixture is fitted to the model's ``embedding_``. For the
    spectral family these are the eigenvectors of the kernel, which depends on the hints. For a model without
    an embedding, the first K principal components of the standardised rows are used.

    The paper leaves two more measures to future work; their definitions here are ours. *Density* is the
    non-parametric version of global: eq. 9 with a kernel density estimate of each cluster instead of a
    Gaussian,

    .. math:: p(z | x_j) = \\frac{\\sum_{i \\ne j, c_i = z} e^{-\\|x_i - x_j\\|^2 / 2 h^2}}
        {\\sum_{i \\ne j} e^{-\\|x_i - x_j\\|^2 / 2 h^2}} , \\qquad h = n^{-1 / (m + 4)} ,

    on the same m columns at unit variance (Scott 1992), estimated from a random subset of 2,000 rows if there
    are more. *Compound* is the mean of the local measure and of the density measure divided by log K, both
    between 0 and 1. It prefers rows that are uncertain by both.

    Ties, which are common for the local measure, are broken at random, reproducibly by the seed.

    The neighbours are computed once: exactly, in O(n^2 d), for up to 20,000 rows or 8 columns. Otherwise each
    row is compared with about 6,000 others in nearby cells, which finds more than 90 % of the neighbours
    (100,000 rows of 16 columns: 3 s). After that a question costs O(n) times the number of neighbours. The
    global measure costs about thirty EM steps on at most 10,000 rows, the density measure O(2,000 n).

    Parameters
    ----------
    scope : {"local", "global", "density", "compound"}, default="local"
        The measure of uncertainty: by the neighbours, by a Gaussian mixture, by kernel densities, or by the
        neighbours and the densities.
    n_neighbors : int, default=10
        The number of neighbours for the local and the compound measure.

    References
    ----------
    C. Xiong, D. M. Johnson and J. J. Corso, Online active constraint selection for semi-supervised
    clustering, sect. 2.2, 2.3 and 4.
    D. W. Scott (1992), Multivariate density estimation, Wiley, sect. 6.3.

    Examples
    --------
    None of the neighbours of row 2 is in its cluster.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import NodeUncertainty
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> state = InterviewState.from_data(X, Supervision.from_links(6, cannot=[(0, 5)]), n_clusters=2,
    ...                  labels=np.array([0, 0, 1, 1, 1, 1]))
    >>> question = NodeUncertainty("local", n_neighbors=2).choose(state, 1)[0]
    >>> question.rows, question.score
    ((0, 2), 1.0)
    """

    scope: Scope = "local"
    n_neighbors: int = 10

    needs: ClassVar[frozenset[str]] = frozenset({"labels"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "scope": Rule.choice(*get_args(Scope)),
        "n_neighbors": Rule.integer(1),
    }

    @property
    def name(self) -> str:
        """The name of the strategy in files and tables."""
        return f"node-{self.scope}"

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        return explore_then(state, n, lambda places: self._make_placing(state, places))

    def _make_placing(self, state: InterviewState, places: PlacedRows) -> Placing:
        labels = get_model_labels(state, self.name)
        if self.scope == "local":
            scores = compute_disagreement(labels, get_neighbors(state, self.n_neighbors))
        else:
            scores = self._compute_entropy(state, labels)
        if self.scope == "compound":  # the mean of two measures between 0 and 1
            local = compute_disagreement(labels, get_neighbors(state, self.n_neighbors))
            scores = (local + scores / np.log(max(2, int(labels.max()) + 1))) / 2

        def explain(row: int) -> str:
            if self.scope == "local":
                return f"has {scores[row]:.0%} of its neighbours in other clusters"
            if self.scope == "compound":
                return f"is {scores[row]:.0%} uncertain by its neighbours and by all {{things}}"
            return f"may belong to any of {np.exp(scores[row]):.1f} clusters"

        return Placing(order_by_score(state, places, scores), explain, scores)

    def _compute_entropy(self, state: InterviewState, labels: IntArray) -> FloatArray:
        """Return a global measure; it is kept while the labels and the embedding stay the same."""
        entropy_of = compute_mixture_entropy if self.scope == "global" else compute_density_entropy
        key = (entropy_of.__name__, state.random_state)
        rows = _get_embedding(state, labels)
        entropy: FloatArray = cache_result(
            state, key, lambda: entropy_of(rows, labels, state.random_state), labels, rows
        )
        return entropy


def get_neighbors(state: InterviewState, k: int) -> IntArray:
    """Return the k nearest neighbours of each row by the Mahalanobis distance; they are cached."""
    key = ("mahalanobis neighbours", k)
    return cache_result(state, key, lambda: find_mahalanobis_neighbors(state.X, k))


def find_mahalanobis_neighbors(X: FloatArray, k: int) -> IntArray:
    """Return the k nearest neighbours of each row, or all other rows if there are fewer.

    For more than 20,000 rows with more than 8 columns the search is approximate.
    """
    from sklearn.covariance import ledoit_wolf
    from sklearn.neighbors import NearestNeighbors

    rows = standardize_columns(X)
    if rows.any():
        variances, directions = np.linalg.eigh(ledoit_wolf(rows, assume_centered=True)[0])
        # Directions with almost no variance contain only rounding errors.
        use = variances > 1e-10 * variances[-1]
        rows = rows @ (directions[:, use] / np.sqrt(variances[use]))
    k = min(k, len(rows) - 1)
    # Measured on 100,000 rows: a tree is 10 times faster with 4 columns, and slower from 9 on.
    few_columns = rows.shape[1] <= _TREE_COLUMNS
    if len(rows) > _EXACT_ROWS and not few_columns:
        from likewise.backends.neighbors import find_near_rows_by_cells

        return find_near_rows_by_cells(rows, k, 0)
    search = NearestNeighbors(n_neighbors=k, algorithm="kd_tree" if few_columns else "brute")
    found = search.fit(rows).kneighbors(return_distance=False)
    return np.asarray(found.astype(np.int64))


def compute_disagreement(labels: IntArray, neighbors: IntArray) -> FloatArray:
    """Return the proportion of each row's neighbours that are in another cluster (eq. 6)."""
    return np.asarray((labels[neighbors] != labels[:, None]).mean(axis=1))


def _get_embedding(state: InterviewState, labels: IntArray) -> FloatArray:
    """Return the model's embedding of the rows, or their principal components if it has none."""
    given = getattr(state.model, "embedding_", None)
    if given is not None and np.shape(given)[0] == state.n_samples:
        return np.asarray(given, dtype=np.float64)
    rows = standardize_columns(state.X)
    size = min(rows.shape[1], int(labels.max()) + 1)
    directions = np.linalg.eigh(rows.T @ rows)[1]
    return np.asarray(rows @ directions[:, ::-1][:, :size])


def compute_mixture_entropy(rows: FloatArray, labels: IntArray, random_state: int) -> FloatArray:
    """Return the entropy of each row's cluster in a Gaussian mixture that starts from the labels (eq. 9)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    k, d = int(labels.max()) + 1, rows.shape[1]
    ridge = _RIDGE * float(rows.var(axis=0).mean()) or 1.0
    means = np.stack([rows[labels == z].mean(axis=0) for z in range(k)])
    within = rows - means[labels]
    spread = np.stack([within[labels == z].T @ within[labels == z] / (labels == z).sum() for z in range(k)])
    mixture = GaussianMixture(
        k,
        reg_covar=ridge,
        max_iter=_MAX_ITER,
        weights_init=np.bincount(labels) / len(labels),
        means_init=means,
        precisions_init=np.linalg.inv(spread + ridge * np.eye(d)),
        init_params="random_from_data",  # fast, and not used, because all starting values are given
        random_state=random_state % 2**32,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few steps are enough
        mixture.fit(rows[_draw_some(len(rows), _MOST_ROWS, random_state)])
    return np.asarray(entr(mixture.predict_proba(rows)).sum(axis=1))


def compute_density_entropy(rows: FloatArray, labels: IntArray, random_state: int) -> FloatArray:
    """Return the entropy of each row's cluster by leave-one-out kernel densities of the clusters.

    A row that is far from all others gets the cluster of the nearest row.
    """
    rows = standardize_columns(rows)
    drawn = _draw_some(len(rows), _DENSITY_ROWS, random_state)
    width = len(drawn) ** (-1.0 / (rows.shape[1] + 4))
    chance = np.zeros((len(rows), int(labels.max()) + 1))
    member = np.eye(chance.shape[1])[labels[drawn]]
    for block, away in iterate_squared_distances(rows, drawn):
        log = -away / (2 * width**2)
        at = np.arange(len(rows))[block]
        log[at[:, None] == drawn] = -np.inf
        top = log.max(axis=1, keepdims=True)
        chance[block] = np.exp(log - np.where(np.isfinite(top), top, 0.0)) @ member
    total = chance.sum(axis=1, keepdims=True)
    return np.asarray(entr(chance / np.where(total > 0, total, 1.0)).sum(axis=1))


def _draw_some(n: int, most: int, random_state: int) -> IntArray:
    """Return the numbers of all rows, or of a random subset of `most`."""
    every = np.arange(n)
    return every if n <= most else np.random.default_rng(random_state).choice(every, most, replace=False)
