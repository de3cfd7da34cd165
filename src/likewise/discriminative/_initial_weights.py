"""Initial weights: k-means on the original or the transformed rows, then a logistic fit to its labels."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from likewise._blocks import as_rows
from likewise.discriminative._softmax import Objective
from likewise.seeding import draw_seeds_from_closure, extend_seeds
from likewise.supervision import Supervision

# The penalty of the logistic fit to the labels of a start. It is large, since confident weights are hard to
# leave.
_START_ALPHA = 0.125
_START_STEPS = 30
# Weight of the scatter of all rows relative to the scatter within must-links, in must-links.
_PRIOR_LINKS = 5.0
# Lower bound of the variance of a direction, relative to the mean over all directions.
_NARROWEST = 0.01


def stretch(
    X: np.ndarray, weight: np.ndarray, links: Supervision, hinted_rows: np.ndarray | None = None
) -> np.ndarray | None:
    """Return the rows in a space in which must-linked rows vary equally in all directions.

    The scatter within must-links and must-link groups, shrunk towards the scatter of all rows, becomes the
    identity, as in relevant component analysis (Bar-Hillel et al. 2003). Returns None without must-links.
    With `hinted_rows`, links refer to positions in that array.
    """
    must, groups = links.must, links.must_groups
    if not len(must) and not len(groups):
        return None
    few = X if hinted_rows is None else X[hinted_rows]
    apart = (few[must[:, 0]] - few[must[:, 1]]) * np.sqrt(links.must_weights / 2)[:, None]
    scatter, count = apart.T @ apart, links.must_weights.sum()
    for rows, each in zip(groups, groups.weights, strict=True):
        within = few[rows] - few[rows].mean(axis=0)
        scatter += each * within.T @ within
        count += each * (len(rows) - 1)
    overall = (X * (weight / weight.sum())[:, None]).T @ X
    values, vectors = np.linalg.eigh((scatter + _PRIOR_LINKS * overall) / (count + _PRIOR_LINKS))
    values = np.maximum(values, max(_NARROWEST * values.mean(), np.finfo(float).tiny))
    stretched: np.ndarray = X @ (vectors / np.sqrt(values))
    return stretched


class Starts:
    """The starts of a fit. Random numbers are drawn from the given generator, in the order of the starts.

    Parameters
    ----------
    X, weight : ndarray
        Rows in memory and their weights.
    hinted_rows : ndarray
        The hinted rows among them, ascending.
    hints : Supervision
        The hints, numbered by positions in `hinted_rows`.
    n_clusters : int
        The number of clusters.
    rng : RandomState
        The random number generator.
    """

    def __init__(
        self,
        X: np.ndarray,
        weight: np.ndarray,
        hinted_rows: np.ndarray,
        hints: Supervision,
        n_clusters: int,
        rng: np.random.RandomState,
    ) -> None:
        links = hints.to_links()
        self._weight = weight
        self._hinted_rows = hinted_rows
        self._k = n_clusters
        self._rng = rng
        self._closure = links.closure(on_conflict="keep")
        stretched = stretch(X, weight, links, hinted_rows)
        self._spaces = [X] if stretched is None else [stretched, X]
        everyone, n = np.arange(len(X)), float(len(X))
        self._logistic = Objective.from_memory(
            X, weight, everyone, n_clusters, m=n, tau=0.0, alpha=_START_ALPHA
        )

    def compute_weights(self, number: int) -> np.ndarray:
        """Return the weights of start `number`; spaces alternate, and the second start in each uses hints."""
        space, hinted_rows = self._spaces[number % len(self._spaces)], self._hinted_rows
        draws = as_rows(space, weight=self._weight)
        if number // len(self._spaces) == 1 and self._closure.n_components < len(hinted_rows):
            seeds = draw_seeds_from_closure(
                space[hinted_rows], self._closure, self._k, self._weight[hinted_rows], self._rng, draws=draws
            )
        else:
            seeds = extend_seeds(draws, np.empty((0, space.shape[1])), self._k, None, self._rng)
        with warnings.catch_warnings():  # about duplicate rows; the estimator warns about empty clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(self._k, init=seeds, n_init=1, max_iter=30).fit(space, sample_weight=self._weight)
        labels = model.labels_
        q = np.zeros((self._k, len(labels)))
        q[labels, np.arange(len(labels))] = 1.0
        zero = np.zeros(self._logistic.shape)
        return self._logistic.maximise(zero, q, max_iter=_START_STEPS, tol=1e-4)[0]
