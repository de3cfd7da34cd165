"""What people told us: the row-aligned bundle, what follows from it, and its files."""

from likewise.supervision._bags import Bags
from likewise.supervision._closure import Closure, Relation
from likewise.supervision._convert import bags_to_links, labels_to_links, triplets_to_links
from likewise.supervision._diagnosis import Diagnosis
from likewise.supervision._groups import Groups
from likewise.supervision._ids import RowIds
from likewise.supervision._sample import sample_links, sample_triplets
from likewise.supervision._supervision import KINDS, Supervision
from likewise.supervision._triplets import TRIPLET_ANSWERS
from likewise.supervision.io import read_hints, write_hints

__all__ = [
    "KINDS",
    "TRIPLET_ANSWERS",
    "Bags",
    "Closure",
    "Diagnosis",
    "Groups",
    "Relation",
    "RowIds",
    "Supervision",
    "bags_to_links",
    "labels_to_links",
    "read_hints",
    "sample_links",
    "sample_triplets",
    "triplets_to_links",
    "write_hints",
]
