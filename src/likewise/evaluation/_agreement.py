"""Agreement scores that scikit-learn lacks: pairwise F and purity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.metrics.cluster import contingency_matrix

from likewise._repr_html import render_table
from likewise.evaluation._codes import IntArray, encode_label_pair

if TYPE_CHECKING:
    from likewise._typing import ArrayLike


@dataclass(frozen=True)
class PairwiseScores:
    """Precision, recall and F over the pairs of rows in the same cluster.

    Parameters
    ----------
    precision : float
        The fraction of the pairs in the same cluster that are in the same class.
    recall : float
        The fraction of the pairs in the same class that are in the same cluster.
    f : float
        The harmonic mean of the two.

    Examples
    --------
    >>> from likewise.evaluation import pairwise_precision_recall_f
    >>> pairwise_precision_recall_f([0, 0, 1, 1], [0, 0, 0, 1])
    PairwiseScores(precision=0.333..., recall=0.5, f=0.4)
    """

    precision: float
    recall: float
    f: float

    def _repr_html_(self) -> str:
        rows = [("precision", self.precision), ("recall", self.recall), ("F", self.f)]
        return render_table("Pairs of rows in the same cluster", ("score", "value"), rows)


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """The non-zero cells and the two margins of a contingency table."""

    cells: IntArray
    true_sizes: IntArray
    pred_sizes: IntArray
    largest: IntArray  # the largest cell of each cluster

    @classmethod
    def from_codes(cls, true: IntArray, pred: IntArray) -> ContingencyTable:
        """Count the cells of two arrays of codes."""
        table = sparse.csc_array(contingency_matrix(true, pred, sparse=True, dtype=np.int64))
        return cls(
            cells=table.data,
            true_sizes=np.bincount(true).astype(np.int64),
            pred_sizes=np.bincount(pred).astype(np.int64),
            largest=table.max(axis=0).toarray().reshape(-1),
        )

    def compute_pairwise(self) -> PairwiseScores:
        """Return precision, recall and F over pairs; counts are exact integers until the last division."""
        both, in_true, in_pred = map(count_pairs, (self.cells, self.true_sizes, self.pred_sizes))
        if in_true == in_pred == 0:  # every row is alone in both, so the partitions are equal
            return PairwiseScores(1.0, 1.0, 1.0)
        return PairwiseScores(
            precision=both / in_pred if in_pred else 0.0,
            recall=both / in_true if in_true else 0.0,
            f=2 * both / (in_true + in_pred),
        )

    def compute_purity(self) -> float:
        """Return the fraction of rows that belong to the largest class of their cluster."""
        return int(self.largest.sum()) / int(self.true_sizes.sum())


def count_pairs(sizes: IntArray) -> int:
    """Return the number of unordered pairs inside groups of these sizes.

    >>> count_pairs(np.array([3, 1, 2]))
    4
    """
    sizes = sizes.astype(np.int64, copy=False)  # 10^6 rows make 5·10^11 pairs, too many for 32 bits
    return int((sizes * (sizes - 1) // 2).sum())


def pairwise_precision_recall_f(labels_true: ArrayLike, labels_pred: Any) -> PairwiseScores:
    """Score the pairs of rows that a clustering puts into the same cluster.

    With n_kc the number of rows in cluster k and class c, let TP = Σ C(n_kc, 2) be the number of
    pairs that share both, PP = Σ C(n_k·, 2) the number of pairs in the same cluster and PT = Σ C(n_·c, 2) the
    number of pairs in the same class, where C(n, 2) = n (n - 1) / 2. Then

    precision = TP / PP,  recall = TP / PT,  F = 2 TP / (PP + PT).

    A score with the denominator 0 is 0: clusters of one row each have precision 0 if the classes are larger.
    The exception is that every row is alone in both labellings. They are then the same partition, and all
    three scores are 1, even for a single row.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The classes and the clusters, of any sortable type. Only which rows share a label matters; -1 is a
        label like any other.

    Returns
    -------
    PairwiseScores
        The scores `precision`, `recall` and `f`.

    Notes
    -----
    The cost is O(n log n) for n rows; the memory is proportional to the non-zero cells of the contingency
    table.

    Examples
    --------
    >>> pairwise_precision_recall_f(["a", "a", "a", "b"], [0, 0, 1, 1])
    PairwiseScores(precision=0.5, recall=0.333..., f=0.4)
    """
    return ContingencyTable.from_codes(*encode_label_pair(labels_true, labels_pred)).compute_pairwise()


def pairwise_f(labels_true: ArrayLike, labels_pred: Any) -> float:
    """Return the F score over pairs, 2 TP / (PP + PT).

    See :func:`pairwise_precision_recall_f` for the terms, the cost and the limiting cases.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The classes and the clusters, of any sortable type.

    Returns
    -------
    f : float
        Between 0 and 1.

    Examples
    --------
    >>> pairwise_f(["a", "a", "a", "b"], [0, 0, 1, 1])
    0.4
    """
    return pairwise_precision_recall_f(labels_true, labels_pred).f


def purity_score(labels_true: ArrayLike, labels_pred: Any) -> float:
    """Return the fraction of rows that belong to the largest class of their cluster.

    Purity is Σ_k max_c n_kc / n, with n_kc the number of rows in cluster k and class c. It is at least the
    fraction of rows in the largest class, and it is 1 if every row is a separate cluster. So compare
    purities only for equal numbers of clusters.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The classes and the clusters. Swapping the two changes the score.

    Returns
    -------
    float
        Between 1 / (number of classes) and 1.

    Notes
    -----
    The cost is O(n log n) for n rows.

    Examples
    --------
    >>> purity_score(["a", "a", "a", "b"], [0, 0, 1, 1])
    0.75
    """
    return ContingencyTable.from_codes(*encode_label_pair(labels_true, labels_pred)).compute_purity()
