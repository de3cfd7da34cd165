"""The Chow–Liu tree of labels and a classifier along the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit, logit
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from likewise.base import Rule, choice, integer, real
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._base import SHARE, MultilabelClassifier
from likewise.multilabel._label_matrix import LabelColumns
from likewise.multilabel._mutual_tree import (
    compute_mutual_information,
    compute_tree_marginals,
    direct_edges,
    exchange_margins,
    find_spanning_tree,
    find_tree_maximum,
)

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

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
        I(j, k) = \\sum_{a, b \\in \\{0, 1\\}} p_{jk}(a, b) \\log \\frac{p_{jk}(a, b)}{p_j(a) p_k(b)}

    has the largest likelihood (Chow & Liu 1968); p are fractions of rows, I is the mutual information in
    nats. X is not used for the tree. The likelihood determines neither directions nor a root: here the most
    frequent label of each part of the tree becomes its root, so labels tend to become rarer downwards.

    The classifier is in the spirit of Bradley & Guestrin (2010): label k with parent p has the probability

    .. math::

        P(y_k = 1 \\mid x, y_p) = \\sigma(w_k^T x + u_k y_p + b_k),

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
        "C": real(0, strict=True),
        "edges": choice("all", "significant", "attracting"),
        "significance": SHARE,
        "smoothing": real(0),
        "prediction": choice("marginals", "map"),
        "max_iter": integer(1),
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
        n, d = X.shape
        self.coef_ = np.zeros((labels.n_labels, d))
        self.parent_coef_ = np.zeros(labels.n_labels)
        self.intercept_ = logit((labels.counts + 0.5) / (n + 1.0))
        self.n_iter_ = 1
        for k in np.flatnonzero((labels.counts > 0) & (labels.counts < n)):
            rows = X if parents[k] < 0 else _append_column(X, _LOUD * labels.Y[:, parents[k]])
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
        return compute_tree_marginals(
            expit(self._log_odds(X)), self.hierarchy_.parents, self.hierarchy_.order
        )

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log-odds of each label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_odds : ndarray of shape (n_samples, n_labels)
            The logarithm of p / (1 - p), where p are the probabilities of `predict_proba`.
        """
        odds: np.ndarray = logit(np.clip(self.predict_proba(X), 1e-300, 1.0 - 1e-16))
        return odds

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Y : ndarray of int, shape (n_samples, n_labels)
            1 where a label is predicted and 0 elsewhere.
        """
        if self.prediction == "marginals":
            return super().predict(X)
        check_is_fitted(self, "classes_")
        odds = self._log_odds(self._check_X(X, reset=False))
        log_p = np.stack([log_expit(-odds), log_expit(odds)])
        return find_tree_maximum(log_p, self.hierarchy_.parents, self.hierarchy_.order)


def _append_column(X: Any, column: np.ndarray) -> Any:
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_array(column[:, None].astype(np.float64))], format="csr")
    return np.column_stack([X, column])
