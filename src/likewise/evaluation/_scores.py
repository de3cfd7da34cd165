"""Agreement of a clustering with true classes: each score, and all of them at once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    rand_score,
    v_measure_score,
)
from sklearn.metrics.cluster import contingency_matrix

from likewise._repr_html import render_table
from likewise.exceptions import SupervisionError
from likewise.supervision.row_checks import check_row_labels

if TYPE_CHECKING:
    from likewise._typing import ArrayLike

IntArray = npt.NDArray[np.int64]
Rows = Literal["all", "untouched", "touched"]


@dataclass(frozen=True)
class Scores:
    """Agreement of a clustering with the classes.

    Parameters
    ----------
    ari : float
        The adjusted Rand index.
    nmi : float
        The normalized mutual information, with the arithmetic mean.
    rand : float
        The Rand index.
    v_measure : float
        The V-measure, which equals `nmi`.
    purity : float
        The fraction of rows that belong to the largest class of their cluster.
    precision, recall, f : float
        Precision, recall and F over pairs of rows in the same cluster.
    n_rows : int
        The number of rows that were scored.

    Examples
    --------
    >>> from likewise.evaluation import scores
    >>> found = scores([0, 0, 1, 1], [1, 1, 0, 0])
    >>> found.ari, found.purity, found.n_rows
    (1.0, 1.0, 4)
    """

    ari: float
    nmi: float
    rand: float
    v_measure: float
    purity: float
    precision: float
    recall: float
    f: float
    n_rows: int

    def as_dict(self) -> dict[str, float | int]:
        """Return the scores by name, as a row of a table.

        Returns
        -------
        row : dict of str to float or int
            The fields and their values.

        Examples
        --------
        >>> scores([0, 0, 1], [1, 1, 0]).as_dict()["n_rows"]
        3
        """
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return (
            f"ARI {self.ari:.3f}  NMI {self.nmi:.3f}  Rand {self.rand:.3f}  V {self.v_measure:.3f}  "
            f"purity {self.purity:.3f}  pairs P {self.precision:.3f} R {self.recall:.3f} F {self.f:.3f}  "
            f"({self.n_rows} rows)"
        )

    def _repr_html_(self) -> str:
        names = {
            "ari": "adjusted Rand index",
            "nmi": "normalized mutual information",
            "rand": "Rand index",
            "v_measure": "V-measure",
            "purity": "purity",
            "precision": "pairwise precision",
            "recall": "pairwise recall",
            "f": "pairwise F",
        }
        rows = [(text, getattr(self, name)) for name, text in names.items()]
        return render_table(f"Agreement with the classes on {self.n_rows:,} rows", ("score", "value"), rows)


def scores(
    labels_true: ArrayLike,
    labels_pred: Any,
    *,
    supervision: Any = None,
    rows: Rows = "all",
) -> Scores:
    """Score a clustering against the classes, on all rows or only on rows with or without hints.

    Rows with hints are easy to get right. To see whether the hints also helped for the other rows, score
    ``rows="untouched"``. Published tables usually use ``rows="all"``.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The classes and the clusters. Only which rows share a label matters.
    supervision : Supervision, optional
        The hints that the clustering used. Required unless `rows` is ``"all"``.
    rows : {"all", "untouched", "touched"}, default="all"
        The rows to score: all, only rows without hints, or only rows with at least one hint.

    Returns
    -------
    Scores
        ARI, NMI, Rand index, V-measure, purity, precision, recall and F over pairs, and the number of rows.

    See Also
    --------
    pairwise_f : F over pairs of rows, with its limiting cases.
    link_satisfaction : the fraction of the hints that are satisfied.

    Notes
    -----
    The cost is O(n log n) for n rows, for any number of hints. Equal partitions have all scores 1, even those
    of a single row.

    Examples
    --------
    >>> print(scores(["a", "a", "a", "b"], [0, 0, 1, 1]))
    ARI 0.000  NMI 0.344  Rand 0.500  V 0.344  purity 0.750  pairs P 0.500 R 0.333 F 0.400  (4 rows)

    >>> from likewise.supervision import Supervision
    >>> hints = Supervision.from_links(4, must=[(0, 1)])
    >>> scores(["a", "a", "a", "b"], [0, 0, 1, 1], supervision=hints, rows="untouched").n_rows
    2
    """
    if rows not in get_args(Rows):
        raise ValueError(f"rows must be one of {', '.join(map(repr, get_args(Rows)))}; got {rows!r}.")
    true, pred = encode_label_pair(labels_true, labels_pred)
    if supervision is not None:
        check_same_rows(supervision, len(true), labels_true, what="labels_true")
    if rows != "all":
        mask = _mask(supervision, rows)
        true, pred = true[mask], pred[mask]
        true, pred = np.unique(true, return_inverse=True)[1], np.unique(pred, return_inverse=True)[1]
    pairs = _compute_pairwise(true, pred)
    return Scores(
        ari=float(adjusted_rand_score(true, pred)),
        nmi=float(normalized_mutual_info_score(true, pred)),
        rand=float(rand_score(true, pred)),
        v_measure=float(v_measure_score(true, pred)),
        purity=_compute_purity(true, pred),
        precision=pairs.precision,
        recall=pairs.recall,
        f=pairs.f,
        n_rows=len(true),
    )


def _mask(supervision: Any, rows: Rows) -> np.ndarray:
    """Return a mask of the rows to score; raise an error if it is empty."""
    if supervision is None:
        raise ValueError(f"rows={rows!r} needs the hints; pass them as supervision=.")
    touched = np.asarray(supervision.touched, dtype=bool)
    mask = touched if rows == "touched" else ~touched
    if not mask.any():
        found = "every row is" if rows == "untouched" else "no row is"
        raise ValueError(
            f"rows={rows!r} leaves no rows to score: {found} in a hint ({len(touched)} rows). "
            "Use rows='all', or withhold some hints."
        )
    return mask


# ---------------------------------------------------------------------- scores that scikit-learn lacks


class _PairwiseScores(NamedTuple):
    """Precision, recall and F over the pairs of rows in the same cluster."""

    precision: float
    recall: float
    f: float


def _compute_pairwise(true: IntArray, pred: IntArray) -> _PairwiseScores:
    """Return precision, recall and F over pairs; counts are exact integers until the last division."""
    cells = contingency_matrix(true, pred, sparse=True, dtype=np.int64).data
    both, in_true, in_pred = map(count_pairs, (cells, np.bincount(true), np.bincount(pred)))
    if in_true == in_pred == 0:  # every row is alone in both, so the partitions are equal
        return _PairwiseScores(1.0, 1.0, 1.0)
    return _PairwiseScores(
        precision=both / in_pred if in_pred else 0.0,
        recall=both / in_true if in_true else 0.0,
        f=2 * both / (in_true + in_pred),
    )


def _compute_purity(true: IntArray, pred: IntArray) -> float:
    largest = contingency_matrix(true, pred, sparse=True, dtype=np.int64).max(axis=0)
    return int(largest.sum()) / len(true)


def count_pairs(sizes: IntArray) -> int:
    """Return the number of unordered pairs inside groups of these sizes.

    >>> count_pairs(np.array([3, 1, 2]))
    4
    """
    sizes = sizes.astype(np.int64, copy=False)  # 10^6 rows make 5·10^11 pairs, too many for 32 bits
    return int((sizes * (sizes - 1) // 2).sum())


def pairwise_f(labels_true: ArrayLike, labels_pred: Any) -> float:
    """Return the F score over the pairs of rows in the same cluster.

    With n_kc the number of rows in cluster k and class c, let TP = Σ C(n_kc, 2) be the number of
    pairs that share both, PP = Σ C(n_k·, 2) the number of pairs in the same cluster and PT = Σ C(n_·c, 2) the
    number of pairs in the same class, where C(n, 2) = n (n - 1) / 2. Then

    precision = TP / PP,  recall = TP / PT,  F = 2 TP / (PP + PT).

    A score with the denominator 0 is 0: clusters of one row each have precision 0 if the classes are larger.
    The exception is that every row is alone in both labellings. They are then the same partition, and all
    three scores are 1, even for a single row. :func:`scores` returns precision and recall too.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The classes and the clusters, of any sortable type. Only which rows share a label matters; -1 is a
        label like any other.

    Returns
    -------
    f : float
        Between 0 and 1.

    Notes
    -----
    The cost is O(n log n) for n rows; the memory is proportional to the non-zero cells of the contingency
    table.

    Examples
    --------
    >>> pairwise_f(["a", "a", "a", "b"], [0, 0, 1, 1])
    0.4
    """
    return _compute_pairwise(*encode_label_pair(labels_true, labels_pred)).f


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
    return _compute_purity(*encode_label_pair(labels_true, labels_pred))


# ---------------------------------------------------------------------- labels as codes


def encode_labels(labels: Any, *, what: str) -> IntArray:
    """Convert labels of any type to codes from 0 to k - 1, in the sorted order of their values.

    >>> encode_labels(["b", "a", "b"], what="labels")
    array([1, 0, 1])
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(
            f"{what} must be one label per row, an array of shape (n_samples,); got shape {array.shape}. "
            "For label indicators, score one column at a time."
        )
    if array.size == 0:
        raise ValueError(f"{what} is empty; a score needs at least one row.")
    missing = np.flatnonzero(_is_missing(array))
    if missing.size:
        raise ValueError(
            f"{what}[{missing[0]}] is {array[missing[0]]}, not a label ({missing.size} such row(s)). "
            "Drop these rows from both labellings before scoring."
        )
    try:
        codes = np.unique(array, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(
            f"{what} mixes values that cannot be compared ({error}). Give labels of one kind, "
            "all numbers or all strings."
        ) from error
    return codes.astype(np.int64, copy=False)


def _is_missing(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if array.dtype.kind in "fc":
        return np.asarray(np.isnan(array), dtype=bool)
    if array.dtype.kind == "O":
        # NaN differs from itself; comparing pandas' NA with itself gives NA.
        return np.array([v is None or type(v).__name__ == "NAType" or bool(v != v) for v in array])
    return np.zeros(array.shape, dtype=bool)


def encode_label_pair(labels_true: Any, labels_pred: Any) -> tuple[IntArray, IntArray]:
    """Validate two labellings of the same rows and return both as codes."""
    true = encode_labels(labels_true, what="labels_true")
    pred = encode_labels(labels_pred, what="labels_pred")
    if len(true) != len(pred):
        raise ValueError(
            f"labels_true has {len(true)} rows and labels_pred has {len(pred)}; both must label the same "
            "rows in the same order."
        )
    return true, pred


def check_same_rows(supervision: Any, n_samples: int, given: Any, *, what: str = "labels") -> None:
    """Raise an error if hints have another number of rows, or another index, than `given`."""
    shape = getattr(supervision, "shape", None)
    if shape is None:
        raise SupervisionError(
            f"supervision must be a likewise.supervision.Supervision; got {type(supervision).__name__}. "
            "Build one with Supervision.from_links(len(X), must=..., cannot=...)."
        )
    if tuple(shape) != (n_samples,):
        raise SupervisionError(
            f"the hints are for {shape[0]} rows, but {what} has {n_samples}. "
            "Select the hints of the same rows with supervision[rows]."
        )
    check_row_labels(supervision, given, what=what)
