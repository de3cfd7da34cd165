"""What is usual among the items: the range of each column and how common each word is.

Pages need it to show which differences between two items are large and which words are rare.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from likewise._words import truncate
from likewise.studio.items import ItemFile
from likewise.studio.service._views import ColumnView, ProfileView
from likewise.tables import is_plain_number

_MOST_ITEMS = 2_000
_MOST_CELLS = 100_000
_MOST_CHARACTERS = 1_000  # of each text
_MOST_WORDS = 2_000  # other words are rare
_MOST_LEVELS = 12  # of a category; others count as one
LONGEST_LEVEL = 60  # characters of a level
_MOST_DECIMALS = 6
_LARGEST = 1e300
_WORD = re.compile(r"[^\W_]+")


def make_profile(items: ItemFile) -> ProfileView:
    """Return the profile of up to 2,000 items, evenly spaced."""
    first = items.get(0)
    most = min(_MOST_ITEMS, _MOST_CELLS // max(1, len(first.cells)))
    rows = np.unique(np.linspace(0, items.n - 1, min(items.n, max(most, 1))).astype(int))
    sample = items.get_items(rows.tolist())
    names = [name for name, _ in first.cells]
    cells = [dict(item.cells) for item in sample]
    counts: Counter[str] = Counter()
    for item in sample:
        counts.update(set(_WORD.findall((item.text or "")[:_MOST_CHARACTERS].lower())))
    common = [(word, n) for word, n in counts.most_common(_MOST_WORDS) if n > 1]
    return {
        "n": len(sample),
        "columns": [describe_column(name, [row.get(name, "") for row in cells]) for name in names],
        "words": common,
    }


def describe_column(name: str, cells: Sequence[str]) -> ColumnView:
    """Return what is usual in a column.

    `typical` is the root mean square difference of two random rows, where two levels of a category differ by
    1. Numbers beyond the 1st and the 99th percentile count as these, so that one wrong value does not hide
    all differences. A column in which nine of ten cells that are not empty are numbers is one of numbers.

    >>> found = describe_column("price", ["1", "2.5", "4", ""])
    >>> found["low"], found["high"], found["decimals"]
    (1.0, 4.0, 1)
    >>> describe_column("colour", ["red", "red", "blue"])["levels"]
    ['red', 'blue']
    """
    known = [cell.strip() for cell in cells if cell.strip()]
    view: ColumnView = {
        "name": name,
        "typical": 0.0,
        "low": None,
        "high": None,
        "middle": None,
        "decimals": 0,
        "levels": [],
    }
    numbers = np.array([float(cell) for cell in known if is_plain_number(cell)])
    numbers = numbers[np.abs(numbers) < _LARGEST]  # differences of larger ones overflow; also not NaN
    if known and len(numbers) >= 0.9 * len(known):
        outer = np.percentile(numbers, [1, 99])
        clipped = np.clip(numbers, *outer)
        scale = float(np.abs(clipped).max()) or 1.0
        spread = math.sqrt(2.0) * float((clipped / scale).std()) * scale
        quarters = np.percentile(numbers, [25, 75]).tolist()
        view["typical"] = spread if spread > 1e-12 * scale else 0.0
        view["low"], view["high"] = float(numbers.min()), float(numbers.max())
        view["middle"] = quarters[0], quarters[1]
        view["decimals"] = _count_decimals(known, float(outer[1] - outer[0]))
        return view
    levels = Counter(known)
    shares = np.array(list(levels.values())) / max(len(known), 1)
    view["typical"] = math.sqrt(max(1.0 - float((shares**2).sum()), 0.0))
    if len(levels) < max(len(known), 2):  # otherwise names, which are no category
        view["levels"] = [truncate(level, LONGEST_LEVEL) for level, _ in levels.most_common(_MOST_LEVELS)]
    return view


def _count_decimals(cells: Sequence[str], width: float) -> int:
    """Return the number of decimals that all numbers of a column are shown with.

    It is that of the cell with the most, without zeros at the end of all of them, but a step of the last
    digit is at least a ten-thousandth of the width of the column.
    """
    given = max(
        (len(cell.partition(".")[2].rstrip("0")) for cell in cells if "e" not in cell.lower()), default=0
    )
    if width > 0:
        given = min(given, max(0, 4 - math.ceil(math.log10(width))))
    return min(given, _MOST_DECIMALS)
