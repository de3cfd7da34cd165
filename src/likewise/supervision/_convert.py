"""Conversion: hints of one kind said again as links."""

from __future__ import annotations

from likewise.supervision._implied import LIMIT
from likewise.supervision._supervision import Supervision


def labels_to_links(
    hints: Supervision, *, more_clusters_than_classes: bool = False, limit: int = LIMIT
) -> Supervision:
    """Say with links what the labels say: rows of one class together, rows of different classes apart.

    Each class becomes a must group of its rows, and one cannot group holds the first row of each class;
    by closure that states every pair, in as many numbers as there are labels.

    Parameters
    ----------
    hints : Supervision
        Hints with labels; other kinds are left out.
    more_clusters_than_classes : bool, default=False
        With True a class may fall into several clusters: there are no must-links, and each pair of rows of
        different classes is a cannot-link of its own.
    limit : int, default=1_000_000
        The most cannot-links to build; more are an error.

    Returns
    -------
    Supervision
        Links alone.

    Examples
    --------
    >>> from likewise.supervision import Supervision, labels_to_links
    >>> links = labels_to_links(Supervision.from_labels(["a", "b", None, "a", "b"]))
    >>> links
    Supervision(5 rows: 2 must group(s), 1 cannot group(s))
    >>> links.relation(3, 4).reason
    '3 = 0 ≠ 1 = 4'
    """
    return _converted(hints, "labels", more_clusters_than_classes, limit)


def bags_to_links(
    hints: Supervision, *, more_clusters_than_classes: bool = False, limit: int = LIMIT
) -> Supervision:
    """Return the links that the bags' label sets imply, for K = C clusters or for K > C.

    ===============================================  =========  =========
    the bags of two rows (one bag, or two)           K = C      K > C
    ===============================================  =========  =========
    have one label each, the same                    must-link  unknown
    share no label                                   cannot     cannot
    anything else, or one of them is unlabelled      unknown    unknown
    ===============================================  =========  =========

    With K = C the rows of all single-label bags of a label form a must group, and one of them stands for
    the label. The cannot-links of bags with several labels have no such short form: they are counted first,
    and built as pairs if there are no more than `limit`. The cost is that of the links, plus one comparison
    for each two different label sets.

    Parameters
    ----------
    hints : Supervision
        Hints with bags; other kinds are left out.
    more_clusters_than_classes : bool, default=False
        Whether K > C: a class may then fall into several clusters.
    limit : int, default=1_000_000
        The most cannot-links to build; more are an error that tells the number.

    Returns
    -------
    Supervision
        Links alone.

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
    return _converted(hints, "bags", more_clusters_than_classes, limit)


def triplets_to_links(hints: Supervision) -> Supervision:
    """Return the links that the triplets imply, each with its triplet's weight.

    AB implies that a and b belong together and that c belongs with neither; AC and BC likewise. NEITHER
    implies nothing, since it is said both of three alike and of three different rows.

    Examples
    --------
    >>> from likewise.supervision import Supervision, triplets_to_links
    >>> links = triplets_to_links(Supervision.from_triplets(4, [(0, 1, 3)], "AC"))
    >>> links.must.tolist(), links.cannot.tolist()
    ([[0, 3]], [[0, 1], [1, 3]])
    """
    return _converted(hints, "triplets", False, LIMIT)


def _converted(hints: Supervision, kind: str, more: bool, limit: int) -> Supervision:
    return hints.only(kind).to_links(more_clusters_than_classes=more, limit=limit)
