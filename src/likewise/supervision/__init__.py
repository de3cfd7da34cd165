"""Hints: the row-aligned `Supervision` object, its closure, conversion and sampling, and its files."""

from likewise.supervision._bag_tables import BagData as BagData
from likewise.supervision._bag_tables import read_bag_labels, read_bags, write_bags
from likewise.supervision._closure import Closure as Closure
from likewise.supervision._closure import Relation as Relation
from likewise.supervision._convert import bags_to_links as bags_to_links
from likewise.supervision._convert import labels_to_links as labels_to_links
from likewise.supervision._convert import triplets_to_links as triplets_to_links
from likewise.supervision._diagnosis import Diagnosis as Diagnosis
from likewise.supervision._labels import Bags as Bags
from likewise.supervision._labels import sort_values as sort_values
from likewise.supervision._links import TRIPLET_ANSWERS as TRIPLET_ANSWERS
from likewise.supervision._links import Links as Links
from likewise.supervision._links import RowGroups as RowGroups
from likewise.supervision._links import check_rows as check_rows
from likewise.supervision._sample import sample_bag_labels, sample_links, sample_triplets
from likewise.supervision._supervision import KINDS as KINDS
from likewise.supervision._supervision import Supervision
from likewise.supervision.io import read_hints, write_hints
from likewise.tables import FewIds as FewIds
from likewise.tables import RowIds

__all__ = [
    "RowIds",
    "Supervision",
    "read_bag_labels",
    "read_bags",
    "read_hints",
    "sample_bag_labels",
    "sample_links",
    "sample_triplets",
    "write_bags",
    "write_hints",
]
