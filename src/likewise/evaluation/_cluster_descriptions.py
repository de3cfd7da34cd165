"""What is in each cluster: words or columns that set it apart, and typical and doubtful rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances

IntArray = npt.NDArray[np.intp]
FloatArray = npt.NDArray[np.floating[Any]]
_DIFFERENT = 0.5  # standard deviations between a cluster's mean and that of the other rows


@dataclass(frozen=True)
class ColumnDifference:
    """A column whose mean in a cluster differs from its mean in all other rows.

    Attributes
    ----------
    name : str
        The name of the column.
    mean, mean_elsewhere : float
        Its mean in the cluster, and in all other rows.
    difference : float
        The difference of the two means, in standard deviations of the column over all rows.
    """

    name: str
    mean: float
    mean_elsewhere: float
    difference: float


@dataclass(frozen=True)
class ClusterDescription:
    """What is in a cluster.

    Attributes
    ----------
    cluster : int
        The label of the cluster.
    size : int
        Its number of rows.
    keywords : tuple of str
        The words that set it apart, the best first; empty without texts.
    columns : tuple of ColumnDifference
        The columns that set it apart, the most different first; empty without `feature_names`.
    typical : tuple of int
        The rows nearest to its mean.
    doubtful : tuple of (int, int)
        The rows of which it is least certain that they belong here, each with its second-best cluster.
    """

    cluster: int
    size: int
    keywords: tuple[str, ...]
    columns: tuple[ColumnDifference, ...]
    typical: tuple[int, ...]
    doubtful: tuple[tuple[int, int], ...]


def describe_clusters(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    texts: Sequence[str | None] | None = None,
    feature_names: Sequence[str] | None = None,
    values: npt.ArrayLike | None = None,
    estimator: Any = None,
    n_keywords: int = 6,
    n_columns: int = 3,
    n_rows: int = 3,
) -> list[ClusterDescription]:
    r"""Describe each cluster by its keywords or columns, its typical rows and its doubtful rows.

    The keywords of cluster :math:`c` are the words :math:`w` with the largest class-based TF-IDF,

    .. math:: \frac{n_{cw}}{n_c} \log\Bigl(1 + \frac{\bar n}{n_w}\Bigr),

    where :math:`n_{cw}` counts the word in the texts of the cluster, :math:`n_c` all words of the cluster,
    :math:`n_w` the word in all texts, and :math:`\bar n` is the mean of :math:`n_c` [1]_. A keyword occurs
    in at least two texts of the cluster, unless the cluster has only one.

    The columns are those whose mean differs from the mean of all other rows by at least half a standard
    deviation. Rows are doubtful if the estimator's probabilities, distances or embedding hardly prefer their
    cluster to the next one; without an estimator, their distances to the means of the clusters.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows that were clustered.
    labels : array-like of int of shape (n_rows,)
        The cluster of each row; rows with a negative label are left out.
    texts : sequence of str or None, optional
        The text of each row.
    feature_names : sequence of str, optional
        The names of the columns. With them, columns are described, and standardised to find typical rows.
    values : array-like of shape (n_rows, n_features), optional
        The same rows in the units in which to report means, if `X` is scaled.
    estimator : object, optional
        The fitted model, with `predict_proba`, `transform` or `embedding_`.
    n_keywords, n_columns, n_rows : int
        Maximum number of keywords, of columns, and of typical and of doubtful rows.

    Returns
    -------
    descriptions : list of ClusterDescription
        One for each cluster that has rows, in the order of their labels; empty if there is only one cluster.

    References
    ----------
    .. [1] Grootendorst, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure", 2022.

    Examples
    --------
    >>> from likewise.evaluation import describe_clusters
    >>> texts = ["a red car", "a fast car", "my small cat", "our old cat"]
    >>> found = describe_clusters([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1], texts=texts)
    >>> [(each.size, each.keywords) for each in found]
    [(2, ('car',)), (2, ('cat',))]
    """
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(labels)
    shown = rows if values is None else np.asarray(values, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions; got shape {rows.shape}.")
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be a one-dimensional array of integers; got shape {labels.shape} and type "
            f"{labels.dtype}. numpy.unique(labels, return_inverse=True) numbers other labels."
        )
    for name, given in (("labels", labels), ("texts", texts), ("values", shown)):
        if given is not None and len(given) != len(rows):
            raise ValueError(
                f"{name} has {len(given)} entries, but X has {len(rows)} rows; expected as many."
            )
    if feature_names is not None and len(feature_names) != rows.shape[1]:
        raise ValueError(f"got {len(feature_names)} feature_names for {rows.shape[1]} columns of X.")
    used = np.flatnonzero(labels >= 0)
    found = np.unique(labels[used])
    if len(found) < 2:
        return []
    near = rows if feature_names is None else _standardize(shown, used)
    squares = measure_squares(near, compute_means(near, labels))
    other, rank = _rank_by_certainty(estimator, X, labels, squares)
    keywords = _find_keywords(texts, labels, found, n_keywords) if texts is not None else {}
    columns = (
        {} if feature_names is None else _compare_columns(shown, labels, found, feature_names, n_columns)
    )
    descriptions = []
    for cluster in found.tolist():
        members = np.flatnonzero(labels == cluster)
        members = members[np.argsort(squares[members, cluster], kind="stable")]
        rest = members[n_rows:]
        rest = rest[np.argsort(rank[rest], kind="stable")[:n_rows]]
        descriptions.append(
            ClusterDescription(
                cluster,
                len(members),
                keywords.get(cluster, ()),
                columns.get(cluster, ()),
                tuple(members[:n_rows].tolist()),
                tuple((row, int(other[row])) for row in rest.tolist()),
            )
        )
    return descriptions


def _find_keywords(
    texts: Sequence[str | None], labels: IntArray, found: IntArray, most: int
) -> dict[int, tuple[str, ...]]:
    from sklearn.feature_extraction.text import CountVectorizer

    rows = np.flatnonzero(labels >= 0)
    vectorizer = CountVectorizer(stop_words="english", max_features=50_000)
    try:
        counts = vectorizer.fit_transform([texts[row] or "" for row in rows.tolist()]).astype(np.float64)
    except ValueError:  # no words
        return {}
    place = np.searchsorted(found, labels[rows])
    groups = csr_array((np.ones(len(rows)), (place, np.arange(len(rows)))), shape=(len(found), len(rows)))
    in_cluster = (groups @ counts).toarray()
    n_texts = (groups @ (counts > 0).astype(np.float64)).toarray()
    total = np.maximum(in_cluster.sum(axis=1, keepdims=True), 1.0)
    weights = in_cluster / total * np.log1p(total.mean() / in_cluster.sum(axis=0))
    weights[n_texts < np.minimum(2, np.bincount(place))[:, None]] = 0.0
    words = vectorizer.get_feature_names_out()
    order = np.argsort(-weights, axis=1, kind="stable")[:, :most]
    return {
        cluster: tuple(str(words[column]) for column in order[row] if weights[row, column] > 0)
        for row, cluster in enumerate(found.tolist())
    }


def _compare_columns(
    values: FloatArray, labels: IntArray, found: IntArray, names: Sequence[str], most: int
) -> dict[int, tuple[ColumnDifference, ...]]:
    used = values[labels >= 0]
    means, overall, spread = compute_means(values, labels), used.mean(axis=0), used.std(axis=0)
    spread[spread <= 1e-12 * np.abs(used).max(axis=0)] = 0.0  # only rounding errors
    columns = {}
    for cluster in found.tolist():
        share = np.count_nonzero(labels == cluster) / len(used)
        elsewhere = (overall - share * means[cluster]) / (1 - share)
        gap = means[cluster] - elsewhere
        difference = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
        columns[cluster] = tuple(
            ColumnDifference(
                str(names[j]), float(means[cluster, j]), float(elsewhere[j]), float(difference[j])
            )
            for j in np.argsort(-np.abs(difference), kind="stable")[:most].tolist()
            if abs(difference[j]) >= _DIFFERENT
        )
    return columns


def _standardize(values: FloatArray, used: IntArray) -> FloatArray:
    spread = values[used].std(axis=0)
    return np.asarray((values - values[used].mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def compute_means(rows: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean of each cluster; NaN for an empty cluster."""
    used = np.flatnonzero(labels >= 0)
    counts = np.bincount(labels[used])
    place = (labels[used], used)
    sums: FloatArray = csr_array((np.ones(len(used)), place), shape=(len(counts), len(labels))) @ rows
    return np.divide(sums, counts[:, None], out=np.full_like(sums, np.nan), where=counts[:, None] > 0)


def measure_squares(rows: FloatArray, means: FloatArray) -> FloatArray:
    """Return the squared distance of each row to each mean; infinite for an empty cluster."""
    squares: FloatArray = euclidean_distances(rows, np.nan_to_num(means), squared=True)
    squares[:, np.isnan(means[:, 0])] = np.inf
    return squares


def _rank_by_certainty(
    estimator: Any, X: Any, labels: IntArray, squares: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the second-best cluster of each row, and the rank of the row, the least certain first."""
    second, tie_break = _measure_margin(squares, labels)
    margin = tie_break
    if hasattr(estimator, "predict_proba"):
        shares = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        if shares.shape[1] >= squares.shape[1]:
            second, margin = _measure_margin(-shares, labels, relative=False)
    elif hasattr(estimator, "transform"):
        distances = np.asarray(estimator.transform(X), dtype=np.float64)
        if distances.shape[1] >= squares.shape[1]:
            second, margin = _measure_margin(distances, labels)
    elif getattr(estimator, "embedding_", None) is not None:
        embedding = np.asarray(estimator.embedding_, dtype=np.float64)
        means = compute_means(embedding, labels)
        second, margin = _measure_margin(measure_squares(embedding, means), labels)
    rank = np.empty(len(margin), dtype=np.int64)
    rank[np.lexsort((tie_break, margin))] = np.arange(len(margin))
    return second, rank


def _measure_margin(
    distances: FloatArray, labels: IntArray, *, relative: bool = True
) -> tuple[IntArray, FloatArray]:
    """Return the nearest other cluster of each row, and how much farther it is than the row's own cluster."""
    at, own_label = np.arange(len(labels)), np.maximum(labels, 0)
    others = distances.copy()
    others[at, own_label] = np.inf
    nearest = others.argmin(axis=1)
    own, next_best = distances[at, own_label], others[at, nearest]
    gap = next_best - own
    if relative:
        total = next_best + own
        gap = np.divide(gap, total, out=np.zeros_like(gap), where=total > 0)
    return nearest, gap
