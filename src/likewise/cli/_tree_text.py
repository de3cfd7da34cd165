"""Format a tree of labels as text that fits on a screen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from likewise.plotting._tree_layout import MEANING, count_texts, find_children, find_edge_sureness

if TYPE_CHECKING:
    from likewise.hierarchy import LabelHierarchy

SHOWN = 40  # maximum number of labels on a screen
_LEAST_SURE = 5


def format_tree(hierarchy: LabelHierarchy, *, whole: bool = False) -> list[str]:
    """Return one line per label, indented by depth; a large tree is cut at a depth that fits the screen."""
    below = find_children(hierarchy)
    entries = _list_entries(below)
    deepest = max(depth for _, depth in entries)
    if not whole and len(entries) > SHOWN:
        sizes = np.cumsum(np.bincount([depth for _, depth in entries]))
        deepest = max(0, int((sizes <= SHOWN).sum()) - 1)
    descriptions = _describe_labels(hierarchy)
    sizes_below = _count_below(entries, below)
    lines: list[str] = []
    for k, depth in entries:
        if depth > deepest:
            continue
        hidden = sizes_below[k] if depth == deepest else 0
        lines.append("  " * depth + descriptions[k] + (f"  … {hidden} more below" if hidden else ""))
    if not whole and len(lines) > SHOWN:
        lines = [*lines[:SHOWN], f"… {len(lines) - SHOWN} more on this level"]
    if not whole and len(entries) > SHOWN:
        lines.append(f"({len(entries)} labels; --all shows the whole tree)")
    return lines


def format_least_sure(hierarchy: LabelHierarchy) -> list[str]:
    """Return a line for each of the edges with the smallest margins, in ascending order."""
    if hierarchy.margins is None:
        return []
    margins = hierarchy.margins
    order = [k for k in np.argsort(margins, kind="stable").tolist() if math.isfinite(margins[k])]
    lines = []
    for k in order[:_LEAST_SURE]:
        above = " and ".join(hierarchy.names[p] for p in hierarchy.parent_lists[k]) or "the root"
        lines.append(f"{hierarchy.names[k]} under {above}: {margins[k]:,.1f}")
    return lines


def format_legend(hierarchy: LabelHierarchy) -> str:
    """Return an explanation of the numbers and words in a line."""
    counted = "" if hierarchy.counts is None else "in brackets the approximate number of rows with the label"
    known = hierarchy.margins is not None and bool(np.isfinite(hierarchy.margins).any())
    sure = f"after + {MEANING}" if known else ""
    return "; ".join(part for part in (counted, sure) if part)


def _list_entries(below: dict[int, list[int]]) -> list[tuple[int, int]]:
    """Return the labels with their depths, each before its descendants."""
    entries: list[tuple[int, int]] = []
    waiting = [(k, 0) for k in below[-1][::-1]]
    while waiting:
        k, depth = waiting.pop()
        entries.append((k, depth))
        waiting += [(child, depth + 1) for child in below[k][::-1]]
    return entries


def _count_below(entries: list[tuple[int, int]], below: dict[int, list[int]]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for k, _ in reversed(entries):
        sizes[k] = sum(1 + sizes[child] for child in below[k])
    return sizes


def _describe_labels(hierarchy: LabelHierarchy) -> list[str]:
    """Return a description of each label: name, count, certainty of its parent, further parents."""
    steps, counts, margins = find_edge_sureness(hierarchy), count_texts(hierarchy), hierarchy.margins
    lines: list[str] = []
    for k, name in enumerate(hierarchy.names):
        parts = [" ".join(name.split())]
        if counts[k]:
            parts.append(f"({counts[k]})")
        if steps[k].word:
            finite = margins is not None and math.isfinite(margins[k])
            parts.append(steps[k].word + (f" +{margins[k]:,.1f}" if finite and margins is not None else ""))
        if others := hierarchy.parent_lists[k][1:]:
            parts.append(f"also under {' and '.join(hierarchy.names[p] for p in others)}")
        lines.append("  ".join(parts))
    return lines
