"""The numbers that a hierarchy may know of each label, and what files and graphs call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likewise.hierarchy._hierarchy import LabelHierarchy

# What they are for one label, and what they are called for all.
COLUMNS = {"score": "scores", "margin": "margins", "count": "counts"}


def get_known_columns(hierarchy: LabelHierarchy) -> dict[str, list[float]]:
    """Return the columns that there are, as plain numbers; a whole count is written without a point."""
    columns = {name: getattr(hierarchy, of) for name, of in COLUMNS.items()}
    numbers = {name: values.tolist() for name, values in columns.items() if values is not None}
    if "count" in numbers:
        numbers["count"] = [int(x) if x.is_integer() else x for x in numbers["count"]]
    return numbers
