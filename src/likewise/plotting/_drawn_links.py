"""Selection of the links that a plot shows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class DrawnLinks:
    """Links of one kind to show.

    Attributes
    ----------
    pairs : ndarray of shape (n, 2)
        Pairs of rows.
    broken : ndarray of bool, of shape (n,)
        True for links that the clustering violates.
    n_stated : int
        The number of links in the hints; `pairs` may be a subset.
    """

    pairs: IntArray
    broken: BoolArray
    n_stated: int


def select_links(labels: npt.NDArray[Any], supervision: Any, limit: int) -> tuple[DrawnLinks, DrawnLinks]:
    """Return the must-links and the cannot-links to show, at most `limit` in total.

    A must-link group is shown as links from its first row to the others, a cannot-link group as its pairs. If
    there are more links than `limit`, violated links come first, and the two kinds alternate.
    """
    if supervision is None:
        none = DrawnLinks(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool), 0)
        return none, none
    must = np.concatenate([supervision.must, supervision.must_groups.list_star_edges()])
    groups = supervision.cannot_groups
    in_groups = islice((pair for rows in groups for pair in combinations(rows.tolist(), 2)), limit)
    cannot = np.concatenate([supervision.cannot, np.array(list(in_groups), dtype=np.int64).reshape(-1, 2)])
    n_cannot = len(supervision.cannot) + groups.n_pairs
    broken_must = labels[must[:, 0]] != labels[must[:, 1]]
    broken_cannot = labels[cannot[:, 0]] == labels[cannot[:, 1]]
    turn = np.concatenate([_number_in_turns(broken_must), _number_in_turns(broken_cannot)])
    chosen = np.sort(np.lexsort((turn, ~np.concatenate([broken_must, broken_cannot])))[:limit])
    first, second = chosen[chosen < len(must)], chosen[chosen >= len(must)] - len(must)
    return (
        DrawnLinks(must[first], broken_must[first], len(must)),
        DrawnLinks(cannot[second], broken_cannot[second], n_cannot),
    )


def _number_in_turns(broken: BoolArray) -> IntArray:
    """Number the violated links from 0, and the satisfied links from 0 as well."""
    turns: IntArray = np.where(broken, np.cumsum(broken), np.cumsum(~broken)) - 1
    return turns
