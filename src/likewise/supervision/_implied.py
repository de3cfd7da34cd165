"""The links that labels, bags and triplets imply, in linear space where possible.

Labels imply a cannot-link for each pair of rows of different classes. If the rows of a class are must-linked,
one row can represent its class: a cannot-link group of these rows implies all the pairs. If they are not, the
pairs are counted first, and it is an error if there are too many.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise.exceptions import SupervisionError
from likewise.supervision._bags import Bags, LabelSet
from likewise.supervision._labels import Labels
from likewise.supervision._links import Links
from likewise.supervision._row_checks import IntArray
from likewise.supervision._triplets import Triplets

LIMIT = 1_000_000
_BLOCK = 1_000_000  # number of pairs of label sets that are compared at once


def derive_links_from_labels(labels: Labels, *, more_clusters_than_classes: bool, limit: int) -> Links:
    """Return the links that partial labels imply: each label is a bag of one row with one label."""
    sets = [frozenset([label]) for label in labels.classes]
    return _derive_links_from_sets(labels.codes, sets, more_clusters_than_classes, limit, "labels")


def derive_links_from_bags(bags: Bags, *, more_clusters_than_classes: bool, limit: int) -> Links:
    """Return the links that the bags' label sets imply (Pei and Fern 2014, table 1 and section 4.3)."""
    sets = list(dict.fromkeys(labels for labels in bags.labels if labels is not None))
    number: dict[LabelSet | None, int] = {labels: s for s, labels in enumerate(sets)} | {None: -1}
    codes = np.array([*(number[labels] for labels in bags.labels), -1], dtype=np.int64)[bags.codes]
    return _derive_links_from_sets(codes, sets, more_clusters_than_classes, limit, "bags")


def derive_links_from_triplets(triplets: Triplets, n_samples: int) -> Links:
    """Return the links that triplets imply: a must-link, and two cannot-links to the third row."""
    is_answered = triplets.answers < 3
    code, weight = triplets.answers[is_answered], triplets.weights[is_answered]
    every = np.arange(len(code))
    two = np.array([(0, 1), (0, 2), (1, 2)])[code]
    odd = np.array([2, 1, 0])[code]
    rows = triplets.rows_abc[is_answered]
    first, second, third = rows[every, two[:, 0]], rows[every, two[:, 1]], rows[every, odd]
    apart = np.concatenate([np.column_stack([first, third]), np.column_stack([second, third])])
    return Links.from_pairs(
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
    return Links.from_pairs(
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
