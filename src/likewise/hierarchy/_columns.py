"""Optional numeric columns of a hierarchy (score, margin, count), and their names in files and graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likewise.hierarchy._hierarchy import LabelHierarchy

# Singular name (one label, in files) and plural name (attribute of the hierarchy).
COLUMNS = {"score": "scores", "margin": "margins", "count": "counts"}


def get_known_columns(hierarchy: LabelHierarchy) -> dict[str, list[float]]:
    """Return the columns that are present, as Python numbers; integral counts are converted to int."""
    columns = {name: getattr(hierarchy, of) for name, of in COLUMNS.items()}
    numbers = {name: values.tolist() for name, values in columns.items() if values is not None}
    if "count" in numbers:
        numbers["count"] = [int(x) if x.is_integer() else x for x in numbers["count"]]
    return numbers
