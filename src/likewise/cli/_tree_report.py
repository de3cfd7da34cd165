"""Report a learned tree of ``likewise hierarchy`` as text and as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.cli._tags import Items, LabelTable, Tags
from likewise.plotting.tree_layout import MEANING, count_texts, find_children, find_edge_sureness
from likewise.supervision import RowIds

if TYPE_CHECKING:
    from likewise.hierarchy import LabelHierarchy

SHOWN = 40  # maximum number of labels on a screen
_LEAST_SURE = 5


@dataclass(frozen=True, eq=False)
class TreeReport:
    """A fitted model and its training data."""

    model: Any  # a LatentHierarchyClassifier
    tags: Tags
    ids: RowIds
    items: Items
    truth: LabelHierarchy | None = None  # the true tree

    @property
    def tree(self) -> LabelHierarchy:
        """The tree of the model."""
        tree: LabelHierarchy = self.model.hierarchy_
        return tree

    @cached_property
    def against_truth(self) -> dict[str, int | float]:
        """Scores of the tree against the true tree; empty if that is unknown."""
        if self.truth is None:
            return {}
        from likewise.evaluation import ancestor_f1, robinson_foulds

        return {
            "robinson_foulds": int(robinson_foulds(self.truth, self.tree)),
            "ancestor_f1": float(ancestor_f1(self.truth, self.tree)),
        }

    def make_suggestions(self, X: Any, top: int, at_least: float) -> Mapping[str, list[Any]]:
        """Return a table of labels that may be missing, the most probable first within each row."""
        kept = self.model.suggest(X, LabelTable(self.tags.Y, self.tags.names), top=top, least=at_least)
        return {
            "id": [self.ids[int(one.row)] for one in kept],
            "label": [str(one.label) for one in kept],
            "probability": [round(float(one.probability), 6) for one in kept],
        }

    # ------------------------------------------------------------------ in words

    def format_lines(
        self, labels: str | None, id_column: str | None, *, whole: bool, fixed_rate: bool
    ) -> list[str]:
        """Return the report."""
        n_rows, n_labels, n_tags = self.tags.Y.shape[0], self.tags.Y.shape[1], self.tags.n_tags
        n_bare, s = self.tags.n_bare, "s" * (n_labels != 1)
        bare = f"; {n_bare:,} rows have none" if n_bare else ""
        rows = "rows are numbered from 0" if id_column is None else f"rows are named by {id_column!r}"
        lines = [
            f"{n_rows:,} rows, {n_labels} label{s}, {n_tags:,} tags: {n_tags / n_rows:.1f} per row{bare}",
            f"tags in {labels or 'the data'}: {self.tags.layout}; {rows}",
            f"learned from {' and '.join(self.items.descriptions)}",
            self._format_rate(fixed_rate),
            "",
            f"the tree ({format_legend(self.tree)}):" if format_legend(self.tree) else "the tree:",
            *(f"  {line}" for line in format_tree(self.tree, whole=whole)),
        ]
        summary = self.model.summary()
        lines += ["", *(line for line in str(summary).splitlines() if not line.startswith("Missing rate"))]
        if doubtful := format_least_sure(self.tree):
            lines += ["", "least certain:", *(f"  {line}" for line in doubtful)]
        if self.against_truth:
            distance, f1 = self.against_truth.values()
            lines += ["", f"against the truth: Robinson-Foulds distance {distance:g}, ancestor F1 {f1:.3f}"]
        return lines

    def _format_rate(self, fixed: bool) -> str:
        rate = float(self.model.missing_rate_)
        if fixed:
            return f"missing rate {rate:.2f}, as given"
        rates = [float(one) for one in self.model.missing_rates_]
        each = (
            f", from {min(rates):.2f} to {max(rates):.2f} by label" if max(rates) - min(rates) > 1e-9 else ""
        )
        guess = "; a guess, because no edge is certain enough to estimate it"
        if self.model.n_anchors_:
            guess = ""
        return f"missing rate about {rate:.2f}{each}: the share of true labels that were not recorded{guess}"

    # ------------------------------------------------------------------ as a document

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values; None for numbers that are unknown or infinite."""
        tree = self.tree
        rates = self.model.missing_rates_
        listed = [
            {
                "label": name,
                "parents": [tree.names[p] for p in tree.parent_lists[k]],
                "recorded": int(self.tags.Y[:, k].sum()),
                "held": _format_values(tree.counts, k),
                "score": _format_values(tree.scores, k),
                "margin": _format_values(tree.margins, k),
                "missing_rate": float(rates[k]),
            }
            for k, name in enumerate(tree.names)
        ]
        return {
            "n_rows": len(self.ids),
            "n_labels": len(tree.names),
            "n_tags": self.tags.n_tags,
            "n_rows_without_tags": self.tags.n_bare,
            "unused_labels": list(self.tags.unused),
            "layout": self.tags.layout,
            "features": list(self.items.descriptions),
            "n_features": int(self.items.X.shape[1]),
            "missing_rate": float(self.model.missing_rate_),
            "n_guesses": self.model.summary().n_guesses,
            "indistinguishable": [list(pair) for pair in self.model.indistinguishable_],
            "labels": listed,
            **self.against_truth,
        }


def _format_values(values: Any, k: int) -> float | None:
    value = math.nan if values is None else float(values[k])
    return value if math.isfinite(value) else None


# ---------------------------------------------------------------------- the tree as text


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
