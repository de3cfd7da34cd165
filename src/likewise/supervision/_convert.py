"""Conversion of other hints to links."""

from __future__ import annotations

from likewise.supervision._implied import LIMIT
from likewise.supervision._supervision import Supervision


def labels_to_links(
    hints: Supervision, *, more_clusters_than_classes: bool = False, limit: int = LIMIT
) -> Supervision:
    """Convert labels to links: must-links within a class, cannot-links between classes.

    Each class becomes a must-link group of its rows, and one cannot-link group contains the first row of each
    class. Their closure implies all pairs, with memory linear in the number of labels.

    Parameters
    ----------
    hints : Supervision
        Hints with labels; other kinds are left out.
    more_clusters_than_classes : bool, default=False
        Whether a class may consist of several clusters. There are then no must-links, and each pair of rows
        of different classes becomes a cannot-link.
    limit : int, default=1_000_000
        Maximum number of cannot-links; it is an error if there are more.

    Returns
    -------
    Supervision
        Hints with links only.

    Examples
    --------
    >>> from likewise.supervision import Supervision, labels_to_links
    >>> links = labels_to_links(Supervision.from_labels(["a", "b", None, "a", "b"]))
    >>> links
    Supervision(5 rows: 2 must group(s), 1 cannot group(s))
    >>> links.relation(3, 4).reason
    '3 = 0 ≠ 1 = 4'
    """
    return _convert(hints, "labels", more_clusters_than_classes, limit)


def bags_to_links(
    hints: Supervision, *, more_clusters_than_classes: bool = False, limit: int = LIMIT
) -> Supervision:
    """Return the links that the label sets of the bags imply, for K clusters and C classes.

    ===============================================  =========  =========
    the bags of two rows (one bag, or two)           K = C      K > C
    ===============================================  =========  =========
    have one label each, the same                    must-link  unknown
    share no label                                   cannot     cannot
    anything else, or one of them is unlabelled      unknown    unknown
    ===============================================  =========  =========

    With K = C, the rows of all single-label bags of a label form a must-link group, and one of them
    represents the label. The cannot-links of bags with several labels have no such compact form: they are
    counted first, and created as pairs if there are at most `limit`. The cost is linear in the links, plus
    one comparison for each pair of different label sets.

    Parameters
    ----------
    hints : Supervision
        Hints with bags; other kinds are left out.
    more_clusters_than_classes : bool, default=False
        Whether K > C, so that a class may consist of several clusters.
    limit : int, default=1_000_000
        Maximum number of cannot-links; it is an error, which gives the number, if there are more.

    Returns
    -------
    Supervision
        Hints with links only.

    References
    ----------
    Y. Pei and X. Z. Fern (2014), Constrained instance clustering in multi-instance multi-label learning,
    Pattern Recognition Letters 37, table 1 and section 4.3.

    Examples
    --------
    >>> from likewise.supervision import Supervision, bags_to_links
    >>> hints = Supervision.from_bags(
    ...     ["r1", "r1", "r2", "r3"], {"r1": ["wren"], "r2": ["wren"], "r3": ["owl", "thrush"]}
    ... )
    >>> bags_to_links(hints)
    Supervision(4 rows: 1 cannot, 1 must group(s))
    >>> bags_to_links(hints, more_clusters_than_classes=True).cannot.tolist()
    [[0, 3], [1, 3], [2, 3]]
    """
    return _convert(hints, "bags", more_clusters_than_classes, limit)


def triplets_to_links(hints: Supervision) -> Supervision:
    """Return the links that the triplets imply, with the weights of the triplets.

    AB implies that a and b belong together and that c belongs with neither; AC and BC likewise. NEITHER
    implies no links, since it is the answer both for three rows of one class and for three of different
    classes.

    Parameters
    ----------
    hints : Supervision
        Hints with triplets; other kinds are left out.

    Returns
    -------
    Supervision
        Hints with links only.

    Examples
    --------
    >>> from likewise.supervision import Supervision, triplets_to_links
    >>> links = triplets_to_links(Supervision.from_triplets(4, [(0, 1, 3)], "AC"))
    >>> links.must.tolist(), links.cannot.tolist()
    ([[0, 3]], [[0, 1], [1, 3]])
    """
    return _convert(hints, "triplets", False, LIMIT)


def _convert(hints: Supervision, kind: str, more: bool, limit: int) -> Supervision:
    return hints.select_kinds(kind).to_links(more_clusters_than_classes=more, limit=limit)
