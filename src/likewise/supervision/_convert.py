"""Conversion of labels, bags and triplets to the links that they imply, in linear space where possible.

Labels imply a cannot-link for each pair of rows of different classes. If the rows of a class are must-linked,
one row can represent its class: a cannot-link group of these rows implies all the pairs. If they are not, the
pairs are counted first, and it is an error if there are too many.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise.exceptions import SupervisionError
from likewise.supervision._labels import Bags, Labels, LabelSet
from likewise.supervision._links import Links, Triplets
from likewise.supervision.row_checks import IntArray

if TYPE_CHECKING:
    from likewise.supervision._supervision import Supervision

LIMIT = 1_000_000
_BLOCK = 1_000_000  # number of pairs of label sets that are compared at once


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
    return hints.select_kinds("labels").to_links(
        more_clusters_than_classes=more_clusters_than_classes, limit=limit
    )


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
    return hints.select_kinds("bags").to_links(
        more_clusters_than_classes=more_clusters_than_classes, limit=limit
    )


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
    return hints.select_kinds("triplets").to_links()


# ---------------------------------------------------------------------- the links of each kind


def derive_links(
    part: Triplets | Bags | Labels, n_samples: int, more_clusters_than_classes: bool, limit: int
) -> Links:
    """Return the links that hints of one kind imply (for bags Pei and Fern 2014, table 1 and section 4.3)."""
    if isinstance(part, Triplets):
        return _derive_links_from_triplets(part, n_samples)
    if isinstance(part, Labels):  # each label is a bag of one row with one label
        sets = [frozenset([label]) for label in part.classes]
        return _derive_links_from_sets(part.codes, sets, more_clusters_than_classes, limit, "labels")
    sets = list(dict.fromkeys(labels for labels in part.labels if labels is not None))
    number: dict[LabelSet | None, int] = {labels: s for s, labels in enumerate(sets)} | {None: -1}
    codes = np.array([*(number[labels] for labels in part.labels), -1], dtype=np.int64)[part.codes]
    return _derive_links_from_sets(codes, sets, more_clusters_than_classes, limit, "bags")


def _derive_links_from_triplets(triplets: Triplets, n_samples: int) -> Links:
    """Return the links that triplets imply: a must-link, and two cannot-links to the third row."""
    is_answered = triplets.answers < 3
    code, weight = triplets.answers[is_answered], triplets.weights[is_answered]
    every = np.arange(len(code))
    two = np.array([(0, 1), (0, 2), (1, 2)])[code]
    odd = np.array([2, 1, 0])[code]
    rows = triplets.rows_abc[is_answered]
    first, second, third = rows[every, two[:, 0]], rows[every, two[:, 1]], rows[every, odd]
    apart = np.concatenate([np.column_stack([first, third]), np.column_stack([second, third])])
    return Links.from_pairs_and_groups(
        n_samples,
        must=np.column_stack([first, second]),
        must_weights=weight,
        cannot=apart,
        cannot_weights=np.tile(weight, 2),
    )


def _derive_links_from_sets(
    codes: IntArray, sets: list[LabelSet], more: bool, limit: int, what: str
) -> Links:
    """Return the links of rows whose class is in the set ``sets[codes[i]]``, or unknown if the code is -1."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(sets) + 1))
    sizes = np.diff(starts)
    single = np.array([len(labels) == 1 for labels in sets], dtype=bool) & (not more)
    must_groups = [order[starts[s] : starts[s + 1]] for s in np.flatnonzero(single & (sizes > 1))]
    stand_ins = order[starts[:-1][single]]
    sizes = np.where(single, 1, sizes)  # the first row represents the others
    pairs, count = _find_disjoint(sets, sizes, single, limit)
    if count > limit:
        raise SupervisionError(
            f"the {what} imply {count} cannot-links between rows, more than the limit of {limit}. Use fewer "
            f"rows, raise `limit`, or use a method that supports {what} directly."
        )
    return Links.from_pairs_and_groups(
        len(codes),
        cannot=_make_products(pairs, order, starts, sizes),
        must_groups=must_groups,
        cannot_groups=[stand_ins] if len(stand_ins) > 1 else None,
    )


def _find_disjoint(
    sets: list[LabelSet], sizes: IntArray, single: npt.NDArray[np.bool_], limit: int
) -> tuple[IntArray, int]:
    """Return the pairs of sets, s < t, that share no label, and the number of pairs of rows in them.

    Pairs of two `single` sets are left out, because a group represents them. Beyond the limit, the pairs are
    only counted.
    """
    code: dict[Hashable, int] = {}
    at = [(s, code.setdefault(label, len(code))) for s, labels in enumerate(sets) for label in labels]
    s, c = np.array(at, dtype=np.int64).reshape(-1, 2).T
    holds = csr_array((np.ones(len(s), dtype=np.int32), (s, c)), shape=(len(sets), max(len(code), 1)))
    step = max(_BLOCK // max(len(sets), 1), 1)
    found: list[IntArray] = [np.empty((0, 2), dtype=np.int64)]
    count = 0
    for start in range(0, len(sets), step):
        first = np.arange(start, min(start + step, len(sets)))
        apart = (holds[first] @ holds.T).toarray() == 0
        apart &= np.arange(len(sets)) > first[:, None]
        apart &= ~(single[first][:, None] & single)
        count += int(sizes[first] @ (apart @ sizes))
        if count <= limit:
            i, j = np.nonzero(apart)
            found.append(np.column_stack([first[i], j]))
    return np.concatenate(found), count


def _make_products(pairs: IntArray, order: IntArray, starts: IntArray, sizes: IntArray) -> IntArray:
    """Return each row of set s with each row of set t, for all pairs (s, t) of sets at once."""
    counts = sizes[pairs[:, 0]] * sizes[pairs[:, 1]]
    pair = np.repeat(np.arange(len(pairs)), counts)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
    s, t = pairs[pair].T
    i, j = np.divmod(within, sizes[t])
    return np.column_stack([order[starts[s] + i], order[starts[t] + j]])
