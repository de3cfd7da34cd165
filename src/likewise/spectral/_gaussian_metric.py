r"""Gaussian mixtures combined with the graph: a metric learned from hints, weighted by its predictions.

The nearest-neighbour graph uses the original columns. If the classes differ in directions of small variance,
that metric is unsuitable, and a Gaussian mixture can learn a better one. Four mixtures are fitted by EM to
the hinted rows and a sample of the others. :math:`L_i(c)` is the likelihood of the hints of row i if it is in
cluster c; it multiplies the density of the row in every step. A log-linear stack combines the shares
:math:`p_m` of the mixtures with the shares :math:`p_0` of the graph,

.. math:: q(c) \propto \exp\bigl(a \log p_0(c) + \sum_m b_m \log p_m(c)\bigr), \qquad
          a \ge 0.05,\ b_m \ge 0 . \qquad (1)

The weights maximise :math:`\sum_i \log \sum_c L_i(c)\, q_i(c)` over held-out rows (three folds), with a
normal prior of mean 1 on a and an exponential prior on each b_m. So the graph is preferred while there is
little evidence, and a mixture that does not improve its predictions has weight 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment, minimize
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin

_COLUMNS = 30  # more columns are reduced to their leading principal components
_ROWS = 400  # EM uses a sample of this size of the rows whose cluster is unknown
_STEPS = 8
_FREE_STEPS = 25
_FOLDS = 3
_MIN_ROWS, _MIN_ROWS_PER_CLUSTER = 8, 1.5  # minimum number of hinted rows: total, and mean per cluster
_RIDGE = 1e-3
_LOW_WEIGHT = 0.1  # of rows of unknown cluster: in the first step, and in all steps of the first candidate
_GRAPH_FLOOR, _MIXTURE_FLOOR = 0.05, 0.02  # no cluster is less likely than this divided by their number
_GRAPH_SPREAD = 0.3  # standard deviation of the prior on a
_MIXTURE_COST = 1.0  # rate of the prior on b
_UNUSED = 1e-3
_LEAST_SHARE = 1e-12  # added to every share so that hints can override a density that underflows
# Start ("graph" shares, or "free": a mixture fitted without hints), covariance, weight of unhinted rows.
_CANDIDATES = (
    ("graph", "tied", _LOW_WEIGHT),
    ("graph", "own", 1.0),
    ("free", "tied", 1.0),
    ("free", "own", 1.0),
)

GraphShares = Callable[[np.ndarray, np.ndarray], np.ndarray]


class MixtureSpace:
    """Rows prepared for mixtures: reduced columns and a sample for EM.

    Products of pairs of columns are stored as additional columns, so scatter matrices and quadratic forms of
    all clusters are single matrix products.
    """

    def __init__(self, X: np.ndarray, n_clusters: int, random_state: int) -> None:
        self.n_clusters: int = n_clusters
        self.random_state: int = random_state
        X = np.asarray(X, dtype=np.float64)
        if X.shape[1] > _COLUMNS and len(X) > _COLUMNS:
            fit_on = X[_draw(len(X), 20 * _ROWS, random_state)]
            solver = "covariance_eigh" if X.shape[1] <= 2000 else "randomized"
            reduction = PCA(_COLUMNS, svd_solver=solver, random_state=random_state).fit(fit_on)
            X = reduction.transform(X)
        self.X: Any = X - X.mean(axis=0)
        self.sample: np.ndarray = _draw(len(X), _ROWS, random_state)
        self._first, self._second = np.triu_indices(self.X.shape[1])
        self._multiplicity = np.where(self._first == self._second, 1.0, 2.0)
        self._free: list[np.ndarray] | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns after the reduction."""
        return int(self.X.shape[1])

    def compute_products(self, X: np.ndarray) -> np.ndarray:
        """Return the products of all pairs of columns."""
        return np.asarray(X[:, self._first] * X[:, self._second])

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        """Return symmetric matrices from rows of products."""
        full = np.empty((len(packed), self.n_columns, self.n_columns))
        full[:, self._first, self._second] = packed
        full[:, self._second, self._first] = packed
        return full

    def pack(self, matrices: np.ndarray) -> np.ndarray:
        """Return for each matrix a row whose product with `compute_products(X).T` is its quadratic form."""
        return np.asarray(matrices[:, self._first, self._second] * self._multiplicity)

    def compute_free_shares(self) -> list[np.ndarray]:
        """Return shares of tied mixtures fitted to the sample without hints, from two k-means starts.

        One start is k-means on the original columns, the other on whitened columns.
        """
        if self._free is None:
            X = self.X[self.sample]
            variance, turn = np.linalg.eigh(np.cov(X.T).reshape(self.n_columns, -1))
            scale = np.sqrt(np.maximum(variance, 0) + _RIDGE * max(variance.mean(), 1e-12))
            self._free = []
            for space in (X, X @ (turn / scale)):
                k_means = KMeans(self.n_clusters, n_init=2, random_state=self.random_state).fit(space)
                start = np.eye(self.n_clusters)[k_means.labels_]
                none = np.empty((0, self.n_clusters))
                products = self.compute_products(X)
                fitted = _fit_mixture(self, X, products, start, none, "tied", 1.0, _FREE_STEPS)
                self._free.append(fitted.shares)
        return self._free


@dataclass(frozen=True, eq=False)
class HintedMixtureRows:
    """Hinted rows with the posterior and likelihood of their clusters."""

    rows: np.ndarray  # (n_hinted,) the rows, ascending
    # (n_hinted, n_clusters) the posterior given graph and hints, one-hot if the clusters are certain; EM
    # starts here
    shares: np.ndarray
    # (n_hinted, n_clusters) the likelihood of the hints if the row is in each cluster, up to a factor for
    # each row
    likelihood: np.ndarray

    @classmethod
    def from_clusters(cls, rows: np.ndarray, clusters: np.ndarray, n_clusters: int) -> HintedMixtureRows:
        """Build from rows whose cluster is certain."""
        shares = np.eye(n_clusters)[clusters]
        return cls(rows, shares, shares)

    def take(self, use: np.ndarray) -> HintedMixtureRows:
        """Return the rows selected by the mask `use`."""
        return HintedMixtureRows(self.rows[use], self.shares[use], self.likelihood[use])

    @property
    def clusters(self) -> np.ndarray:
        """The most probable cluster of each row."""
        return np.asarray(self.shares.argmax(axis=1))


def _draw(n: int, size: int, random_state: int) -> np.ndarray:
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, size, replace=False))


@dataclass(frozen=True, eq=False)
class _Mixture:
    """A fitted mixture: log densities are quadratic in the columns."""

    means: np.ndarray
    precisions: np.ndarray  # one matrix, or one for each cluster
    offsets: np.ndarray
    shares: np.ndarray  # of the rows it was fitted to

    def predict_shares(self, X: np.ndarray) -> np.ndarray:
        """Return the probability of each cluster for other rows."""
        logs = np.empty((len(X), len(self.means)))
        for c, mean in enumerate(self.means):
            precision = self.precisions[c if len(self.precisions) > 1 else 0]
            away = X - mean
            logs[:, c] = self.offsets[c] - 0.5 * np.einsum("ij,ij->i", away @ precision, away)
        return _compute_softmax(logs)


def _compute_softmax(logs: np.ndarray) -> np.ndarray:
    transposed = np.ascontiguousarray(logs.T)  # reductions over the first axis are several times as fast
    transposed -= transposed.max(axis=0)
    np.exp(transposed, out=transposed)
    transposed /= transposed.sum(axis=0)
    return transposed.T


def _fit_mixture(
    space: MixtureSpace,
    X: np.ndarray,
    products: np.ndarray,
    start: np.ndarray,
    likelihood: np.ndarray,
    covariance: str,
    weight: float,
    n_steps: int = _STEPS,
) -> _Mixture:
    """Fit by EM from the shares in `start`.

    The first ``len(likelihood)`` rows are hinted and have weight 1. The others have `weight`, or
    `_LOW_WEIGHT` in the first step.
    """
    d, k = space.n_columns, start.shape[1]
    shares, prior_rows = start, 2.0 * d + 5.0
    diagonal = np.diag_indices(d)
    n_hinted = len(likelihood)
    row_weight = np.ones(len(X))
    for step in range(n_steps):
        row_weight[n_hinted:] = _LOW_WEIGHT if step == 0 and n_hinted else weight
        weighted = shares * row_weight[:, None]
        counts = weighted.sum(axis=0)
        total = counts.sum()
        means = weighted.T @ X / np.maximum(counts, 1e-9)[:, None]
        mean_products = space.compute_products(means)
        if step < 2:  # row weights, and so this sum, are constant from the second step on
            second = row_weight @ products
        pooled = space.unpack(((second - counts @ mean_products) / total)[None])[0]
        shrink = d / (d + max(total - k, 1.0))
        tied = (1.0 - shrink) * pooled
        tied[diagonal] = np.diag(pooled) + _RIDGE * max(np.trace(pooled) / d, 1e-12)
        offsets = np.log((counts + 1.0) / (total + k))
        if covariance == "tied":
            precisions = np.linalg.inv(tied)[None]
            linear = means @ precisions[0]
            logs = X @ linear.T - 0.5 * np.einsum("kd,kd->k", linear, means) + offsets
        else:
            own = space.unpack(weighted.T @ products - counts[:, None] * mean_products)
            own = (own + prior_rows * tied) / (counts + prior_rows)[:, None, None]
            precisions = np.linalg.inv(own)
            offsets = offsets - 0.5 * np.linalg.slogdet(own)[1]
            linear = np.einsum("kde,ke->kd", precisions, means)
            logs = X @ linear.T - 0.5 * (products @ space.pack(precisions).T)
            logs += offsets - 0.5 * np.einsum("kd,kd->k", linear, means)
        found = _compute_softmax(logs)
        posterior = (found[:n_hinted] + _LEAST_SHARE) * likelihood
        shares = np.concatenate([posterior / posterior.sum(axis=1, keepdims=True), found[n_hinted:]])
    return _Mixture(means, precisions, offsets, found)


def _fit_candidates(
    space: MixtureSpace, graph: np.ndarray, hinted: HintedMixtureRows, use: tuple[int, ...]
) -> list[_Mixture]:
    """Fit the candidates in `use` to the hinted rows and the sample of the others."""
    rows, targets = hinted.rows, hinted.shares
    others = np.setdiff1d(space.sample, rows, assume_unique=True)
    everything = np.concatenate([rows, others])
    X = space.X[everything]
    products = space.compute_products(X)
    free: np.ndarray | None = None
    found = []
    for candidate in use:
        origin, covariance, weight = _CANDIDATES[candidate]
        if origin == "graph":
            start = graph[everything]
        else:
            if free is None:
                free = _match_free_start(space, hinted)
            start = np.full((len(everything), targets.shape[1]), 1.0 / targets.shape[1])
            start[len(rows) :] = free[np.searchsorted(space.sample, others)]
        start[: len(rows)] = targets
        found.append(_fit_mixture(space, X, products, start, hinted.likelihood, covariance, weight))
    return found


def _match_free_start(space: MixtureSpace, hinted: HintedMixtureRows) -> np.ndarray:
    """Return the shares of the hint-free mixture that agrees best, reordered to match the hinted clusters.

    Agreement is measured on the hinted rows in the sample. If there are none, each hinted row is represented
    by the nearest row of the sample.
    """
    rows, targets = hinted.rows, hinted.shares
    place = np.searchsorted(space.sample, rows)
    place = np.minimum(place, len(space.sample) - 1)
    inside = space.sample[place] == rows
    if not inside.any():
        place, inside = pairwise_distances_argmin(space.X[rows], space.X[space.sample]), np.ones_like(inside)
    best, shares = -1.0, space.compute_free_shares()[0]
    for candidate in space.compute_free_shares():
        gain = candidate[place[inside]].T @ targets[inside]
        source, target = linear_sum_assignment(gain, maximize=True)
        if gain[source, target].sum() > best:
            best = float(gain[source, target].sum())
            shares = np.empty_like(candidate)
            shares[:, target] = candidate[:, source]
    return shares


@dataclass(frozen=True, eq=False)
class LearnedMetric:
    """Mixtures fitted to hinted rows, and their weights beside the graph."""

    weights: np.ndarray  # (1 + n_used,) the exponents of the stack: the graph, then the mixtures in use
    shares: list[np.ndarray]  # (n_samples, n_clusters) each, the shares of all rows by each mixture in use
    # rows, clusters: The rows it was fitted to, and their clusters at that time
    rows: np.ndarray
    clusters: np.ndarray
    # (n_rows, n_clusters) the shares of these rows by each mixture, each row predicted by a fit without it
    held_out: list[np.ndarray]
    space: MixtureSpace  # the prepared rows, stored for the next fit

    def match(self, clusters_now: np.ndarray) -> np.ndarray:
        """Return the mixture's cluster for each cluster of a later fit; -1 in `clusters_now`: unknown."""
        k = self.space.n_clusters
        table = 1e-3 * np.eye(k)
        known = clusters_now >= 0
        np.add.at(table, (self.clusters[known], clusters_now[known]), 1.0)
        source, target = linear_sum_assignment(table, maximize=True)
        order = np.empty(k, dtype=np.int64)
        order[target] = source
        return order

    def combine(self, graph: np.ndarray, order: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the stacked shares of all rows.

        With `rows` only these are returned, and mixtures do not use the row's own label.
        """
        if rows is None:
            parts = self.shares
        else:
            parts = [part[rows] for part in self.shares]
            place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            fitted = self.rows[place] == rows
            for part, held_out in zip(parts, self.held_out, strict=True):
                part[fitted] = held_out[place[fitted]]
        return _stack(self.weights, graph, [part[:, order] for part in parts])


def _raise_to_floor(shares: np.ndarray, floor: float) -> np.ndarray:
    return np.asarray(np.log((1.0 - floor) * shares + floor / shares.shape[1]))


def _stack(weights: np.ndarray, graph: np.ndarray, mixtures: list[np.ndarray]) -> np.ndarray:
    logs = weights[0] * _raise_to_floor(graph, _GRAPH_FLOOR)
    for weight, shares in zip(weights[1:], mixtures, strict=True):
        logs += weight * _raise_to_floor(shares, _MIXTURE_FLOOR)
    return _compute_softmax(logs)


def _fit_stack(graph: np.ndarray, mixtures: list[np.ndarray], likelihood: np.ndarray) -> np.ndarray:
    """Return the weights of the stack with the largest posterior, given the hints of held-out rows."""
    logs = np.stack(
        [_raise_to_floor(graph, _GRAPH_FLOOR), *(_raise_to_floor(m, _MIXTURE_FLOOR) for m in mixtures)]
    )

    def compute_loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        shares = _compute_softmax(np.tensordot(weights, logs, 1))
        posterior = (shares + _LEAST_SHARE) * likelihood
        total = posterior.sum(axis=1, keepdims=True)
        value = -float(np.log(total).sum())
        slope = np.tensordot(logs, shares - posterior / total, 2)
        away = weights[0] - 1.0
        slope[0] += away / _GRAPH_SPREAD**2
        slope[1:] += _MIXTURE_COST
        return value + away**2 / (2 * _GRAPH_SPREAD**2) + _MIXTURE_COST * weights[1:].sum(), slope

    start = np.r_[1.0, np.full(len(mixtures), 0.2)]
    bounds = [(0.05, 1.5)] + [(0.0, 1.5)] * len(mixtures)
    return np.asarray(minimize(compute_loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def learn_metric(
    space: MixtureSpace, graph_shares: GraphShares, hinted: HintedMixtureRows
) -> LearnedMetric | None:
    """Fit mixtures to hinted rows, and weight them against the graph by cross-validation.

    ``graph_shares(rows, shares)`` returns the graph's shares of all rows, given those of some. The result is
    None if too few rows are hinted, or all hinted rows are in one cluster.
    """
    clusters = hinted.clusters
    needed = max(_MIN_ROWS, _MIN_ROWS_PER_CLUSTER * space.n_clusters)
    if len(clusters) < needed or len(np.unique(clusters)) < 2:
        return None
    rng = np.random.default_rng([space.random_state, len(clusters)])
    fold = np.empty(len(clusters), dtype=np.int64)
    fold[np.lexsort((rng.random(len(clusters)), clusters))] = np.arange(len(clusters)) % _FOLDS
    every = tuple(range(len(_CANDIDATES)))
    graph_held_out = np.empty_like(hinted.shares)
    held_out = [np.empty_like(hinted.shares) for _ in every]
    for f in range(_FOLDS):
        test, train = fold == f, hinted.take(fold != f)
        graph = graph_shares(train.rows, train.shares)
        graph_held_out[test] = graph[hinted.rows[test]]
        X = space.X[hinted.rows[test]]
        for part, mixture in zip(held_out, _fit_candidates(space, graph, train, every), strict=True):
            part[test] = mixture.predict_shares(X)
    weights = _fit_stack(graph_held_out, held_out, hinted.likelihood)
    used = tuple(m for m in every if weights[m + 1] > _UNUSED)
    shares: list[np.ndarray] = []
    if used:
        mixtures = _fit_candidates(space, graph_shares(hinted.rows, hinted.shares), hinted, used)
        shares = [mixture.predict_shares(space.X) for mixture in mixtures]
    kept = np.r_[weights[0], weights[[m + 1 for m in used]]]
    return LearnedMetric(kept, shares, hinted.rows, clusters, [held_out[m] for m in used], space)
