"""Label hierarchies as data: edges between labels, implied labels, and files."""

from likewise.hierarchy._hierarchy import LabelHierarchy
from likewise.hierarchy._indicators import Consistency as Consistency
from likewise.hierarchy._partial import PartialHierarchy
from likewise.hierarchy.io import read_hierarchy, write_hierarchy

__all__ = [
    "LabelHierarchy",
    "PartialHierarchy",
    "read_hierarchy",
    "write_hierarchy",
]
