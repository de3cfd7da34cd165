"""All agreement scores of one clustering at once, on the rows that should count."""

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

from likewise._html import render_table
from likewise.evaluation._agreement import Table
from likewise.evaluation._codes import check_same_rows, paired_codes

if TYPE_CHECKING:
    from likewise._typing import ArrayLike

Rows = Literal["all", "untouched", "touched"]


@dataclass(frozen=True)
class Scores:
    """Agreement of a clustering with the classes, and the number of rows it was measured on."""

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
    """Score a clustering against the classes, on all rows or on those that no hint names.

    A method that is told about a row gets that row right for the asking. To see what the hints did for
    the others, score ``rows="untouched"``; a paper's table usually means ``rows="all"``.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The classes and the clusters. Only which rows share a label counts.
    supervision : Supervision, optional
        The hints that the clustering was given. Needed unless `rows` is ``"all"``.
    rows : {"all", "untouched", "touched"}, default="all"
        ``"untouched"``: rows that no hint names. ``"touched"``: rows that at least one hint names.

    Returns
    -------
    Scores
        ARI, NMI (with the arithmetic mean, which makes it equal to the V-measure), Rand, V-measure,
        purity, precision, recall and F over pairs, and the number of rows.

    See Also
    --------
    pairwise_precision_recall_f : the pair scores, with their limiting cases.
    link_satisfaction : how far the hints themselves are kept.

    Notes
    -----
    The cost is O(n log n) for n rows, whatever the number of hints. Two equal partitions score 1
    throughout, those of a single row included.

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
    true, pred = paired_codes(labels_true, labels_pred)
    if supervision is not None:
        check_same_rows(supervision, len(true), labels_true, what="labels_true")
    if rows != "all":
        mask = _mask(supervision, rows)
        true, pred = true[mask], pred[mask]
        true, pred = np.unique(true, return_inverse=True)[1], np.unique(pred, return_inverse=True)[1]
    table = Table.of(true, pred)
    pairs = table.pairwise()
    return Scores(
        ari=float(adjusted_rand_score(true, pred)),
        nmi=float(normalized_mutual_info_score(true, pred)),
        rand=float(rand_score(true, pred)),
        v_measure=float(v_measure_score(true, pred)),
        purity=table.purity(),
        precision=pairs.precision,
        recall=pairs.recall,
        f=pairs.f,
        n_rows=len(true),
    )


def _mask(supervision: Any, rows: Rows) -> np.ndarray:
    """Return which rows count, or say why none does."""
    if supervision is None:
        raise ValueError(f"rows={rows!r} asks which rows the hints name; pass them as supervision=.")
    touched = np.asarray(supervision.touched, dtype=bool)
    mask = touched if rows == "touched" else ~touched
    if not mask.any():
        found = "every row is" if rows == "untouched" else "no row is"
        raise ValueError(
            f"rows={rows!r} leaves nothing to score: {found} named by a hint ({len(touched)} rows). "
            "Use rows='all', or hold some rows back."
        )
    return mask
