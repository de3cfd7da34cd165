"""What is in each cluster: words or columns that set it apart, and typical and doubtful rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances

IntArray = npt.NDArray[np.intp]
FloatArray = npt.NDArray[np.floating[Any]]
_MOST_WORDS = 50_000
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
    deviation. The doubtful rows are those, apart from the typical ones, whose cluster is preferred to the
    next one by the smallest margin: of the estimator's probabilities, distances or embedding, or, without an
    estimator, of the distances to the means of the clusters.

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
        The fitted model, with `predict_proba`, with a `transform` that returns distances to cluster centres,
        or with `embedding_`.
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
    found, place = np.unique(labels[used], return_inverse=True)
    if len(found) < 2:
        return []
    numbers = np.full(len(labels), -1)  # of the clusters, without gaps
    numbers[used] = place
    near = rows if feature_names is None else _standardize(shown, used)
    squares = _compute_squared_distances(near, _compute_means(near, numbers))
    other, rank = _rank_by_certainty(estimator, X, labels, numbers, found, squares)
    keywords: dict[int, tuple[str, ...]] = {}
    if texts is not None:
        words = [text if isinstance(text, str) else "" for text in texts]  # None, NaN and NA are no text
        keywords = _find_keywords([words[row] for row in used.tolist()], place, n_keywords)
    columns: dict[int, tuple[ColumnDifference, ...]] = {}
    if feature_names is not None:
        columns = _compare_columns(shown, numbers, feature_names, n_columns)
    descriptions = []
    for number, cluster in enumerate(found.tolist()):
        members = np.flatnonzero(numbers == number)
        members = members[np.argsort(squares[members, number], kind="stable")]
        rest = members[n_rows:]
        rest = rest[np.argsort(rank[rest], kind="stable")[:n_rows]]
        descriptions.append(
            ClusterDescription(
                cluster,
                len(members),
                keywords.get(number, ()),
                columns.get(number, ()),
                tuple(members[:n_rows].tolist()),
                tuple((row, int(other[row])) for row in rest.tolist()),
            )
        )
    return descriptions


def _find_keywords(texts: list[str], numbers: IntArray, most: int) -> dict[int, tuple[str, ...]]:
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        preprocessor=_remove_contractions, stop_words="english", max_features=_MOST_WORDS
    )
    analyze = vectorizer.build_analyzer()
    if not any(analyze(text) for text in texts):
        return {}
    counts = csr_array(vectorizer.fit_transform(texts), dtype=np.float64)
    n_clusters, rows = int(numbers.max()) + 1, np.arange(len(texts))
    groups = csr_array((np.ones(len(texts)), (numbers, rows)), shape=(n_clusters, len(texts)))
    in_cluster, n_texts = csr_array(groups @ counts), csr_array(groups @ counts.sign())
    total, sizes = in_cluster.sum(axis=1), np.bincount(numbers)
    rarity = np.log1p(max(total.mean(), 1.0) / in_cluster.sum(axis=0))
    words = vectorizer.get_feature_names_out()
    keywords = {}
    for number in range(n_clusters):
        part = slice(in_cluster.indptr[number], in_cluster.indptr[number + 1])
        columns = in_cluster.indices[part]
        often = n_texts[[number]].toarray()[0, columns] >= min(2, sizes[number])
        columns, found = columns[often], in_cluster.data[part][often]
        weights = found / max(total[number], 1.0) * rarity[columns]
        best = np.lexsort((columns, -weights))[:most]
        keywords[number] = tuple(str(words[column]) for column in columns[best].tolist())
    return keywords


def _remove_contractions(text: str) -> str:
    """Return the text in lower case without isn't, 've and the like, which the stop words do not cover."""
    return re.sub(r"\w*n['\u2019]t\b|['\u2019](?:ll|re|ve)\b", " ", text.lower())


def _compare_columns(
    values: FloatArray, numbers: IntArray, names: Sequence[str], most: int
) -> dict[int, tuple[ColumnDifference, ...]]:
    used = values[numbers >= 0]
    means, overall, spread = _compute_means(values, numbers), used.mean(axis=0), used.std(axis=0)
    spread[spread <= 1e-12 * np.abs(used).max(axis=0)] = 0.0  # only rounding errors
    columns = {}
    for number, mean in enumerate(means):
        share = np.count_nonzero(numbers == number) / len(used)
        elsewhere = (overall - share * mean) / (1 - share)
        gap = mean - elsewhere
        difference = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
        columns[number] = tuple(
            ColumnDifference(str(names[j]), float(mean[j]), float(elsewhere[j]), float(difference[j]))
            for j in np.argsort(-np.abs(difference), kind="stable")[:most].tolist()
            if abs(difference[j]) >= _DIFFERENT
        )
    return columns


def _standardize(values: FloatArray, used: IntArray) -> FloatArray:
    spread = values[used].std(axis=0)
    return np.asarray((values - values[used].mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _compute_means(rows: FloatArray, numbers: IntArray) -> FloatArray:
    """Return the mean of each cluster; all have rows."""
    used = np.flatnonzero(numbers >= 0)
    counts = np.bincount(numbers[used])
    place = (numbers[used], used)
    sums: FloatArray = csr_array((np.ones(len(used)), place), shape=(len(counts), len(numbers))) @ rows
    return sums / counts[:, None]


def _compute_squared_distances(rows: FloatArray, means: FloatArray) -> FloatArray:
    return np.asarray(euclidean_distances(rows, means, squared=True))


def _rank_by_certainty(
    estimator: Any, X: Any, labels: IntArray, numbers: IntArray, found: IntArray, squares: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the second-best cluster of each row, and the rank of the row, the least certain first."""
    second, tie_break = _measure_margin(squares, numbers)
    second, margin = found[second], tie_break
    if hasattr(estimator, "predict_proba"):
        shares = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        if shares.shape[1] > labels.max():
            second, margin = _measure_margin(-shares, labels, relative=False)
    elif hasattr(estimator, "transform"):
        distances = np.asarray(estimator.transform(X), dtype=np.float64)
        if distances.shape[1] > labels.max():
            second, margin = _measure_margin(distances, labels)
    elif getattr(estimator, "embedding_", None) is not None:
        embedding = np.asarray(estimator.embedding_, dtype=np.float64)
        means = _compute_means(embedding, numbers)
        second, margin = _measure_margin(_compute_squared_distances(embedding, means), numbers)
        second = found[second]
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
