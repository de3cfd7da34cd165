"""Hints: the row-aligned `Supervision` object, its closure, conversion and sampling, and its files."""

from likewise.supervision._bag_tables import BagData, read_bag_labels, read_bags, write_bags
from likewise.supervision._closure import Closure, Relation
from likewise.supervision._convert import bags_to_links, labels_to_links, triplets_to_links
from likewise.supervision._diagnosis import Diagnosis
from likewise.supervision._labels import Bags
from likewise.supervision._links import TRIPLET_ANSWERS, RowGroups
from likewise.supervision._sample import sample_bag_labels, sample_links, sample_triplets
from likewise.supervision._supervision import KINDS, Supervision
from likewise.supervision.io import read_hints, write_hints
from likewise.tables import FewIds, RowIds

__all__ = [
    "KINDS",
    "TRIPLET_ANSWERS",
    "BagData",
    "Bags",
    "Closure",
    "Diagnosis",
    "FewIds",
    "Relation",
    "RowGroups",
    "RowIds",
    "Supervision",
    "bags_to_links",
    "labels_to_links",
    "read_bag_labels",
    "read_bags",
    "read_hints",
    "sample_bag_labels",
    "sample_links",
    "sample_triplets",
    "triplets_to_links",
    "write_bags",
    "write_hints",
]
