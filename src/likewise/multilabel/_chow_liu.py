"""The Chow–Liu tree of labels and a classifier along the tree."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.special import expit, log_expit, logit, xlogy
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

from likewise.base import Rule
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._base import SHARE, LabelColumns, MultilabelClassifier

Edges = Literal["all", "significant", "attracting"]
Prediction = Literal["marginals", "map"]

# The value of the parent is multiplied by this in a regression, which weakens the penalty on its effect.
_LOUD = 10.0


class ChowLiuTree(MultilabelClassifier):
    """The tree over labels closest to their joint distribution, and a classifier along it.

    Among all distributions in which each label depends on at most one other, the one along the spanning tree
    T with the largest

    .. math::

        \\sum_{(j, k) \\in T} I(j, k), \\qquad
        I(j, k) = \\sum_{a, b \\in \\{0, 1\\}} p_{jk}(a, b) \\log \\frac{p_{jk}(a, b)}{p_j(a) p_k(b)} \\tag{1}

    has the largest likelihood (Chow & Liu 1968); p are fractions of rows, I is the mutual information in
    nats. X is not used for the tree. The likelihood determines neither directions nor a root: here the most
    frequent label of each part of the tree becomes its root, so labels tend to become rarer downwards.

    The classifier is in the spirit of Bradley & Guestrin (2010): label k with parent p has the probability

    .. math::

        P(y_k = 1 \\mid x, y_p) = \\sigma(w_k^T x + u_k y_p + b_k), \\tag{2}

    a logistic regression on the row and the recorded parent. The joint distribution of the labels is the
    product along the tree; predictions are its exact marginals or its most probable labelling.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty on the coefficients w, as in scikit-learn's ``LogisticRegression``.
        The effect u of the parent is penalised a hundred times less.
    edges : {"all", "significant", "attracting"}, default="all"
        Which edges of the tree the hierarchy keeps. "all": the Chow–Liu tree with one root. "significant":
        edges that are significant in a likelihood-ratio test. "attracting": of these, edges between labels
        that occur together more often than by chance; labels that exclude each other have a large mutual
        information, although neither includes the other. A label whose edge to its parent is removed becomes
        a root.
    significance : float from 0 to 1, default=0.01
        The level of the test.
    smoothing : float, default=0.0
        Number of pseudo-rows added to the counts of a pair of labels, spread over its four cells.
    prediction : {"marginals", "map"}, default="marginals"
        Whether ``predict`` returns the labels whose probability is above the threshold, or the most probable
        set of labels, found by max-product, which ignores the threshold.
    threshold : float or array of shape (n_labels,), default=0.5
        A label is predicted if its probability is above this.
    max_iter : int, default=1000
        Maximum number of iterations of each regression.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The names of the labels.
    mutual_information_ : ndarray of shape (n_labels, n_labels)
        I(j, k); the entropies on the diagonal.
    tree_ : ndarray of shape (n_labels - 1, 2)
        The undirected edges of the whole tree as positions of labels, the smaller first. Ties go to edges of
        earlier labels.
    hierarchy_ : LabelHierarchy
        The selected edges, directed away from the roots. The score of an edge is n I(j, k), its gain in
        log-likelihood over no edge; its margin is the difference to the best alternative edge. Roots have the
        margin 0, since the likelihood does not determine the root.
    coef_ : ndarray of shape (n_labels, n_features)
        The coefficients w.
    parent_coef_ : ndarray of shape (n_labels,)
        The effects u of the parents; 0 for roots.
    intercept_ : ndarray of shape (n_labels,)
        The intercepts b.
    n_features_in_ : int
        The number of columns of X.
    n_iter_ : int
        The largest number of iterations of a regression.

    Notes
    -----
    The cost is O(n K²) for the counts of K labels, O(K² log K) for the tree, at most O(K³) for the margins,
    and one logistic regression per label. A label that all rows or no rows have is uninformative: its edge
    has score 0 and its probability is (n₁ + ½) / (n + 1). Recorded labels are taken as complete; missing
    labels are not modelled.

    References
    ----------
    C. K. Chow and C. N. Liu, Approximating discrete probability distributions with dependence trees, IEEE
    Transactions on Information Theory 14 (1968). J. K. Bradley and C. Guestrin, Learning tree conditional
    random fields, ICML 2010.

    Examples
    --------
    Every dog and every cat is an animal.

    >>> import pandas as pd
    >>> from likewise.multilabel import ChowLiuTree
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]] * 5
    >>> Y = pd.DataFrame({"cat": [0, 0, 0, 0, 0, 1] * 5, "animal": [0, 0, 0, 1, 1, 1] * 5})
    >>> Y["dog"] = Y["animal"] - Y["cat"]
    >>> model = ChowLiuTree().fit(X, Y)
    >>> model.hierarchy_.edges
    (('animal', 'cat'), ('animal', 'dog'))
    >>> model.predict([[5.0]])
    array([[1, 1, 0]])
    """

    mutual_information_: np.ndarray
    tree_: np.ndarray
    hierarchy_: LabelHierarchy
    coef_: np.ndarray
    parent_coef_: np.ndarray
    intercept_: Any
    n_iter_: int

    parameter_rules: ClassVar[dict[str, Rule]] = {
        "C": Rule.real(0, strict=True),
        "edges": Rule.choice("all", "significant", "attracting"),
        "significance": SHARE,
        "smoothing": Rule.real(0),
        "prediction": Rule.choice("marginals", "map"),
        "max_iter": Rule.integer(1),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        edges: Edges = "all",
        significance: float = 0.01,
        smoothing: float = 0.0,
        prediction: Prediction = "marginals",
        threshold: Any = 0.5,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.edges = edges
        self.significance = significance
        self.smoothing = smoothing
        self.prediction = prediction
        self.threshold = threshold
        self.max_iter = max_iter

    def _fit(self, X: Any, labels: LabelColumns) -> None:
        counts, n = labels.counts, len(labels.Y)
        self.mutual_information_ = compute_mutual_information(labels.Y, self.smoothing)
        self.tree_ = find_spanning_tree(self.mutual_information_)
        kept = self.tree_[self._find_kept_edges(labels)]
        parents = direct_edges(kept, counts)
        child = np.flatnonzero(parents >= 0)
        gain = np.zeros(labels.n_labels)
        gain[child] = n * self.mutual_information_[parents[child], child]
        self.hierarchy_ = LabelHierarchy(
            labels.names,
            [(int(parents[k]), int(k)) for k in child],
            scores=gain,
            margins=n * exchange_margins(self.mutual_information_, self.tree_, parents),
            counts=counts.astype(np.float64),
        )
        self._learn_regressions(X, labels, parents)

    def _find_kept_edges(self, labels: LabelColumns) -> np.ndarray:
        """Return a mask of the edges of the tree that the hierarchy keeps."""
        j, k = self.tree_.T
        n, counts = len(labels.Y), labels.counts
        if self.edges == "all":
            return np.ones(len(j), dtype=bool)
        # Under independence, twice the gain in log-likelihood is chi-squared with one degree of freedom.
        keeps = 2.0 * n * self.mutual_information_[j, k] > chi2.isf(self.significance, 1)
        if self.edges == "attracting":
            together = (labels.Y[:, j] & labels.Y[:, k]).sum(axis=0, dtype=np.int64)
            keeps &= n * together > counts[j] * counts[k]
        return np.asarray(keeps)

    def _learn_regressions(self, X: Any, labels: LabelColumns, parents: np.ndarray) -> None:
        """Fit the classifier of each label given its parent (eq. 2)."""
        n, d = X.shape
        self.coef_ = np.zeros((labels.n_labels, d))
        self.parent_coef_ = np.zeros(labels.n_labels)
        self.intercept_ = logit((labels.counts + 0.5) / (n + 1.0))
        self.n_iter_ = 1
        for k in np.flatnonzero((labels.counts > 0) & (labels.counts < n)):
            rows = X
            if parents[k] >= 0:
                column = _LOUD * labels.Y[:, [parents[k]]]
                rows = (
                    sparse.hstack([X, column], format="csr") if sparse.issparse(X) else np.hstack([X, column])
                )
            one = LogisticRegression(C=self.C, max_iter=self.max_iter).fit(rows, labels.Y[:, k])
            self.coef_[k] = one.coef_[0, :d]
            self.parent_coef_[k] = _LOUD * one.coef_[0, d:].sum()
            self.intercept_[k] = one.intercept_[0]
            self.n_iter_ = max(self.n_iter_, int(one.n_iter_[0]))

    def _log_odds(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label without its parent and with it, of shape (2, n, n_labels)."""
        without = X @ self.coef_.T + self.intercept_
        return np.stack([without, without + self.parent_coef_])

    def _compute_probabilities(self, X: Any) -> np.ndarray:
        return compute_marginals(expit(self._log_odds(X)), self.hierarchy_.parents, self.hierarchy_.order)

    def _predict(self, X: Any) -> np.ndarray:
        if self.prediction == "marginals":
            return super()._predict(X)
        odds = self._log_odds(X)
        log_p = np.stack([log_expit(-odds), log_expit(odds)])
        return find_tree_maximum(log_p, self.hierarchy_.parents, self.hierarchy_.order)


def compute_mutual_information(Y: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """Return the mutual information of each pair of labels (columns of 0 and 1) in nats (eq. 1).

    `smoothing` pseudo-rows are spread over the four cells of each pair. The diagonal contains the entropies.
    """
    Y = Y.astype(np.float64)
    both = Y.T @ Y + smoothing / 4.0
    first = Y.sum(axis=0) + smoothing / 2.0
    total = len(Y) + smoothing
    one, other = first[:, None], first[None, :]
    cells = {
        (1, 1): both,
        (1, 0): one - both,
        (0, 1): other - both,
        (0, 0): total - one - other + both,
    }
    found = np.zeros_like(both)
    for (a, b), cell in cells.items():
        margins = (one if a else total - one) * (other if b else total - other)
        share = np.maximum(cell, 0.0) / total
        # The margins of a non-empty cell are not 0.
        found += xlogy(share, np.divide(cell * total, margins, out=np.ones_like(share), where=share > 0))
    found = np.maximum(found, 0.0)
    share = first / total
    np.fill_diagonal(found, -xlogy(share, share) - xlogy(1.0 - share, 1.0 - share))
    return (found + found.T) / 2.0


def find_spanning_tree(worth: np.ndarray) -> np.ndarray:
    """Return the edges of the tree with the largest sum (eq. 1), as sorted pairs of positions.

    SciPy's minimum spanning tree takes the ranks of the edges as weights. Mutual information cannot be the
    weight, since SciPy treats an edge of weight 0 as absent.
    """
    i, j = np.triu_indices(len(worth), 1)
    rank = np.zeros(worth.shape)
    order = np.argsort(-worth[i, j], kind="stable")
    rank[i[order], j[order]] = 1.0 + np.arange(len(order))
    found = minimum_spanning_tree(sparse.csr_array(rank)).tocoo()
    edges = np.sort(np.column_stack([found.row, found.col]).astype(np.int64), axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def direct_edges(edges: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the parent of each label; the most frequent (or first) label of each part is a root, with -1."""
    n_labels = len(counts)
    parents = np.full(n_labels, -1, dtype=np.int64)
    graph = sparse.csr_array((np.ones(len(edges)), tuple(edges.T)), shape=(n_labels, n_labels))
    n_parts, part = connected_components(graph, directed=False)
    for c in range(n_parts):
        members = np.flatnonzero(part == c)
        top = members[np.argmax(counts[members])]
        reached, before = breadth_first_order(graph, top, directed=False)
        parents[reached[1:]] = before[reached[1:]]
    return parents


def exchange_margins(worth: np.ndarray, tree: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Return the value of the edge into each label minus that of the best replacement.

    Removing the edge splits the tree in two; a replacement joins the parts again. The margin is infinite if
    there is none, and 0 for labels without a parent.
    """
    n_labels = len(worth)
    margins = np.zeros(n_labels)
    for k in np.flatnonzero(parents >= 0):
        p = parents[k]
        rest = tree[~((tree == min(p, k)).any(axis=1) & (tree == max(p, k)).any(axis=1))]
        graph = sparse.csr_array((np.ones(len(rest)), tuple(rest.T)), shape=(n_labels, n_labels))
        below = np.zeros(n_labels, dtype=bool)
        below[breadth_first_order(graph, k, directed=False, return_predecessors=False)] = True
        across = worth[np.ix_(below, ~below)]
        across[np.flatnonzero(below).searchsorted(k), np.flatnonzero(~below).searchsorted(p)] = -np.inf
        margins[k] = worth[p, k] - across.max()
    return margins


def compute_marginals(given_parent: np.ndarray, parents: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the probability of each label, given its probability without and with its parent.

    `given_parent` has shape (2, n, n_labels).
    """
    found = given_parent[0].copy()
    for k in order:
        if parents[k] >= 0:
            found[:, k] += found[:, parents[k]] * (given_parent[1, :, k] - given_parent[0, :, k])
    return np.clip(found, 0.0, 1.0)


def find_tree_maximum(log_p: np.ndarray, parents: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the most probable labelling of each row.

    `log_p[y, p]`, of shape (n, n_labels), is the log-probability of value y of a label given value p of its
    parent.
    """
    below = np.zeros((2, *log_p.shape[2:]))  # best log-probability of the labels below, given the value
    best = np.zeros((2, *log_p.shape[2:]), dtype=np.int64)  # best value, given the value of the parent
    for k in order[::-1]:
        for p in (0, 1):
            either = log_p[:, p, :, k] + below[:, :, k]
            best[p, :, k] = either.argmax(axis=0)
            if parents[k] >= 0:
                below[p, :, parents[k]] += either.max(axis=0)
    found = best[0].copy()
    for k in order:
        if parents[k] >= 0:
            found[:, k] = np.where(found[:, parents[k]] == 1, best[1, :, k], best[0, :, k])
    return found
