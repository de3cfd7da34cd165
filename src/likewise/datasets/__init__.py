"""Data sets of the papers, synthetic data sets, and data in files larger than memory.

Importing this package reads no data and opens no connection; only :func:`load` does.
"""

from __future__ import annotations

from likewise.backends import MemmapRows, ParquetRows
from likewise.datasets._catalogue import Entry, describe, get_catalogue
from likewise.datasets._generators import (
    LabelTree,
    Spelling,
    Toy,
    make_label_tree,
    make_moons,
    make_two_views,
    spell,
)
from likewise.datasets._load import Dataset, load

__all__ = [
    "Dataset",
    "Entry",
    "LabelTree",
    "MemmapRows",
    "ParquetRows",
    "Spelling",
    "Toy",
    "describe",
    "get_catalogue",
    "load",
    "make_label_tree",
    "make_moons",
    "make_two_views",
    "spell",
]
