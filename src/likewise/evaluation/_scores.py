"""All agreement scores of a clustering at once, on all rows or on a subset."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    rand_score,
    v_measure_score,
)

from likewise._repr_html import render_table
from likewise.evaluation._agreement import ContingencyTable
from likewise.evaluation._codes import check_same_rows, encode_label_pair

if TYPE_CHECKING:
    from likewise._typing import ArrayLike

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
    pairwise_precision_recall_f : the pair scores, with their limiting cases.
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
    table = ContingencyTable.from_codes(true, pred)
    pairs = table.compute_pairwise()
    return Scores(
        ari=float(adjusted_rand_score(true, pred)),
        nmi=float(normalized_mutual_info_score(true, pred)),
        rand=float(rand_score(true, pred)),
        v_measure=float(v_measure_score(true, pred)),
        purity=table.compute_purity(),
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
