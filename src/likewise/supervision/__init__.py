"""What people told us: the row-aligned bundle, what follows from it, and its files."""

from likewise.supervision._bags import Bags
from likewise.supervision._closure import Closure, Relation
from likewise.supervision._groups import Groups
from likewise.supervision._supervision import KINDS, Supervision
from likewise.supervision._triplets import TRIPLET_ANSWERS

__all__ = ["KINDS", "TRIPLET_ANSWERS", "Bags", "Closure", "Groups", "Relation", "Supervision"]
