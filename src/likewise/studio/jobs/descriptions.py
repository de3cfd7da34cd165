"""Describe the groups of the current clustering: the words or the columns that set each of them apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise._words import truncate
from likewise.evaluation import describe_clusters
from likewise.studio.items import ItemFile
from likewise.tables import is_plain_number

FloatArray = npt.NDArray[np.float64]
_MOST_GROUPS = 200  # further groups, the smallest, are not described, but count as others
_MOST_ITEMS = 5_000
_MOST_CELLS = 250_000
_LEAST = 10  # items per group, even if there are more than `_MOST_ITEMS` then
_MOST_CHARACTERS = 1_000  # of each text
_N_KEYWORDS, _N_COLUMNS = 5, 3
_N_NAMING = 2  # keywords or columns in a name
_DIFFERENT = 0.5  # standard deviations between the mean of a group and that of the others, at least
_MOST_LEVELS = 20  # of a category
_LONGEST = 40  # characters of the name of a column, or of a level


@dataclass(frozen=True)
class DescribedGroup:
    """Phrases that describe a group, the most distinctive first, and a short name made of two of them."""

    phrases: tuple[str, ...]
    name: str


def describe_groups(
    items: ItemFile, labels: npt.NDArray[np.int32], *, seed: int = 0
) -> dict[int, DescribedGroup]:
    """Return phrases that describe each group, and a name made of them.

    Texts are described by up to five keywords, such as "card". Rows of a table are described by up to three
    columns, such as "price 3.51 (others 1.20)" or "colour red 90 % (others 20 %)", which make the name "high
    price, colour red". Pictures and sounds are not described: their typical members are shown instead. See
    :func:`likewise.evaluation.describe_clusters`.
    A column whose difference could be chance, given the number of columns and of members, is left out.

    At most about 5,000 items are read. With more items, or more than 250,000 cells, an equal number of
    members of each group is drawn at random, at least ten if the group has them. The mean of the others
    weights each group by its size. The first 1,000 characters of each text are used. The 200 largest groups
    are described; the others count as one group.

    Parameters
    ----------
    items : ItemFile
        The items.
    labels : ndarray of shape (n_items,)
        The group of each item; items of -1, which are in none, count among the others.
    seed : int, default=0
        Seed of the sample.

    Returns
    -------
    dict of int to DescribedGroup
        The groups for which there are phrases; empty if there is only one group.
    """
    labels, rest = _merge_smallest(labels)
    first, found = items.get(0), dict[int, DescribedGroup]()
    if first.kind == "text":
        rows = _sample_members(labels, _MOST_ITEMS, seed)
        texts = [(item.text or "")[:_MOST_CHARACTERS] for item in items.get_items(rows.tolist())]
        # Only the keywords are used, for which the features do not matter.
        described = describe_clusters(
            np.zeros((len(rows), 1)), labels[rows], texts=texts, n_keywords=_N_KEYWORDS, n_rows=0
        )
        names = _make_names({one.cluster: one.keywords for one in described})
        found = {
            one.cluster: DescribedGroup(one.keywords, names[one.cluster]) for one in described if one.keywords
        }
    elif first.kind == "row" and first.cells:
        most = min(_MOST_ITEMS, _MOST_CELLS // len(first.cells))
        rows = _sample_members(labels, most, seed)
        cells = [dict(item.cells) for item in items.get_items(rows.tolist())]
        columns = {name: [row.get(name, "") for row in cells] for name, _ in first.cells}
        found = _describe_by_columns(columns, labels, rows)
    return {group: described for group, described in found.items() if group not in (rest, -1)}


def _make_names(parts: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """Return a name for each group: two of its parts, preferably such that few other groups have.

    >>> _make_names({0: ("card", "bank", "lost"), 1: ("card", "new")})
    {0: 'bank, lost', 1: 'new, card'}
    """
    shared = Counter(part for some in parts.values() for part in some)
    return {
        group: ", ".join(sorted(some, key=shared.__getitem__)[:_N_NAMING]) for group, some in parts.items()
    }


def _merge_smallest(labels: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], int]:
    """Return labels in which all but the largest groups are one group, and the label of that group."""
    groups, sizes = np.unique(labels, return_counts=True)
    smallest = groups[np.argsort(-sizes, kind="stable")[_MOST_GROUPS:]]
    rest = int(groups[-1]) + 1
    return np.where(np.isin(labels, smallest), np.int32(rest), labels), rest


def _sample_members(labels: npt.NDArray[np.int32], most: int, seed: int) -> npt.NDArray[np.intp]:
    """Return rows in ascending order: all of them, or an equal number from each group."""
    if len(labels) <= most:
        return np.arange(len(labels))
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    shuffled = shuffled[np.argsort(labels[shuffled], kind="stable")]
    starts = np.unique(labels[shuffled], return_index=True)[1]
    share = max(most // len(starts), _LEAST)
    return np.sort(np.concatenate([group[:share] for group in np.split(shuffled, starts[1:])]))


# ---------------------------------------------------------------------- columns


def _describe_by_columns(
    columns: Mapping[str, Sequence[str]], labels: npt.NDArray[np.int32], rows: npt.NDArray[np.intp]
) -> dict[int, DescribedGroup]:
    """Return phrases on the columns of each group.

    `columns` are the cells of `rows`, and `labels` the groups of all items. The rows of a group are weighted
    by its size, so that means are estimates for all items.
    """
    groups, place, n_read = np.unique(labels[rows], return_inverse=True, return_counts=True)
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    weights = (shares / n_read)[place]
    parts: list[tuple[str, str | None, FloatArray]] = []  # column, level of a category, values
    for name, cells in columns.items():
        parts += [(name, level, values) for level, values in _read_column(cells, weights)]
    if not parts or len(groups) < 2:
        return {}
    values = np.column_stack([part[2] for part in parts])
    members = csr_array((np.ones(len(rows)), (place, np.arange(len(rows)))), shape=(len(groups), len(rows)))
    means: FloatArray = (members @ values) / n_read[:, None]
    spread = np.sqrt(weights @ (values - shares @ means) ** 2)
    spread[spread <= 1e-12 * np.abs(values).max(axis=0)] = 0.0  # only rounding errors
    found, naming = dict[int, tuple[str, ...]](), dict[int, list[str]]()
    for at, group in enumerate(groups.tolist()):
        others = shares.copy()
        others[at] = 0.0
        others /= others.sum()
        elsewhere = others @ means
        gap = means[at] - elsewhere
        difference = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
        # About the largest difference that as many columns of noise would show between samples of this size.
        error = math.sqrt(1 / n_read[at] + (others**2 / n_read).sum())
        noise = error * math.sqrt(2 * math.log(max(len(parts), 2)))
        phrases: dict[str, str] = {}
        parts_of_name = []
        # Of two levels, which differ equally, the more frequent one in the group is shown.
        for j in np.lexsort((-difference, -np.abs(difference).round(9))).tolist():
            name, level, numbers = parts[j]
            is_large = abs(difference[j]) >= _DIFFERENT and abs(difference[j]) > noise
            if is_large and name not in phrases and len(phrases) < _N_COLUMNS:
                both = float(means[at, j]), float(elsewhere[j])
                phrases[name] = _format_phrase(name, level, *both, float(np.ptp(numbers)))
                parts_of_name.append(_format_name(name, level, *both))
        if phrases:
            found[group], naming[group] = tuple(phrases.values()), parts_of_name
    names = _make_names(naming)
    return {group: DescribedGroup(phrases, names[group]) for group, phrases in found.items()}


def _read_column(cells: Sequence[str], weights: FloatArray) -> list[tuple[str | None, FloatArray]]:
    """Return a column as numbers, or as one indicator per level of a category.

    A column in which nine of ten cells that are not empty are numbers is one of numbers; the mean replaces
    other cells. A column with more than 20 levels, such as a name, is left out.
    """
    known = [cell for cell in cells if cell.strip()]
    numbers = np.array([float(cell) if is_plain_number(cell) else math.nan for cell in cells])
    is_number = np.isfinite(numbers)
    if known and is_number.sum() >= 0.9 * len(known):
        mean = np.average(numbers[is_number], weights=weights[is_number])
        return [(None, np.where(is_number, numbers, mean))]
    levels = Counter(cell.strip() for cell in known)
    if not levels or len(levels) > _MOST_LEVELS:
        return []
    stripped = [cell.strip() for cell in cells]
    return [(level, np.array([float(cell == level) for cell in stripped])) for level in levels]


def _format_name(name: str, level: str | None, mean: float, elsewhere: float) -> str:
    """Return what is special about a column in a group, as a part of the name of the group.

    >>> _format_name("price", None, 3.5, 1.2), _format_name("colour", "red", 0.1, 0.9)
    ('high price', 'not colour red')
    """
    is_more, name = mean >= elsewhere, truncate(name, _LONGEST)
    if level is None:
        return f"{'high' if is_more else 'low'} {name}"
    return f"{'' if is_more else 'not '}{name} {truncate(level, _LONGEST)}"


def _format_phrase(name: str, level: str | None, mean: float, elsewhere: float, spread: float) -> str:
    """Return a column and its means as a phrase.

    >>> _format_phrase("price", None, 3.512, 1.2, 4.0), _format_phrase("colour", "red", 0.9, 0.2, 1.0)
    ('price 3.51 (others 1.20)', 'colour red 90 % (others 20 %)')
    """
    if level is not None:
        start = f"{truncate(name, _LONGEST)} {truncate(level, _LONGEST)}"
        return f"{start} {mean * 100:.0f} % (others {elsewhere * 100:.0f} %)"
    start = truncate(name, _LONGEST)
    if 1e-4 <= spread < 1e6:  # three significant digits of the range
        digits = max(2 - math.floor(math.log10(spread)), 0)
        return f"{start} {mean:.{digits}f} (others {elsewhere:.{digits}f})"
    return f"{start} {mean:.3g} (others {elsewhere:.3g})"
