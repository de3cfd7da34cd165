"""Data sets of the papers, synthetic data sets, and data in files larger than memory.

Importing this package reads no data and opens no connection; only :func:`load` does.
"""

from __future__ import annotations

from likewise.backends import MemmapRows, ParquetRows
from likewise.datasets._catalogue import Entry as Entry
from likewise.datasets._catalogue import describe, get_catalogue
from likewise.datasets._generators import (
    LabelTree as LabelTree,
)
from likewise.datasets._generators import (
    Spelling as Spelling,
)
from likewise.datasets._generators import (
    Toy as Toy,
)
from likewise.datasets._generators import (
    make_label_tree,
    make_two_views,
    spell,
)
from likewise.datasets._load import Dataset as Dataset
from likewise.datasets._load import load

__all__ = [
    "MemmapRows",
    "ParquetRows",
    "describe",
    "get_catalogue",
    "load",
    "make_label_tree",
    "make_two_views",
    "spell",
]
