"""Bags on the command line: read their labels, and report the clusters of each bag's rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._words import format_some, truncate
from likewise.cli._options import HINT_OPTIONS
from likewise.cli._output import SHOWN
from likewise.exceptions import FileFormatError, UnknownFormatError, render
from likewise.supervision import Bags, RowIds, Supervision, read_bag_labels

PARTED_BY = ";"
IntArray = npt.NDArray[np.int64]


def read_bag_hints(
    path: str | None, bags: tuple[str | None, ...], *, encoding: str, column: str
) -> Supervision:
    """Read the labels of the bags, for rows with a column of bags; errors mention options."""
    if all(bag is None for bag in bags):
        raise FileFormatError(
            f"--bag-column: all cells of the column {column!r} are empty; no row is in a bag."
        )
    if path is None:
        return Supervision.from_bags(bags)
    try:
        return read_bag_labels(path, bags, encoding=encoding)
    except UnknownFormatError as error:
        raise FileFormatError(f"expected a file that ends with .csv or .parquet; got {path!r}.") from error
    except FileFormatError as error:
        text = render(error, words=HINT_OPTIONS)
        if error.ids:
            text += f"\nThe bags of the rows are in the column {column!r}."
        raise FileFormatError(text) from error


@dataclass(frozen=True, eq=False)
class BagReport:
    """The clusters of the rows of each bag, compared with the labels of the bag."""

    bags: Bags
    labels: IntArray  # the cluster of each row
    ids: RowIds
    n_clusters: int
    # The class that each cluster stands for, or None; empty if the method assigns no classes.
    classes: tuple[Hashable | None, ...] = ()

    @cached_property
    def profile(self) -> IntArray:
        """The number of rows of each bag in each cluster, shape (n_bags, n_clusters)."""
        counts = np.zeros((len(self.bags), self.n_clusters), dtype=np.int64)
        rows = np.flatnonzero(self.bags.codes >= 0)
        np.add.at(counts, (self.bags.codes[rows], self.labels[rows]), 1)
        return counts

    @cached_property
    def order(self) -> list[int]:
        """The bags in the order of their first rows."""
        codes = self.bags.codes
        order: list[int] = codes[np.sort(np.unique(codes, return_index=True)[1])].tolist()
        return [b for b in order if b >= 0]

    @cached_property
    def strangers(self) -> list[list[int]]:
        """The rows of each bag whose cluster stands for a class that is not a label of the bag."""
        found: list[list[int]] = [[] for _ in self.bags.names]
        if self.classes:
            for row in np.flatnonzero(self.bags.codes >= 0).tolist():
                bag_labels, name = self.bags.labels[self.bags.codes[row]], self.classes[self.labels[row]]
                if bag_labels is not None and name is not None and name not in bag_labels:
                    found[self.bags.codes[row]].append(row)
        return found

    @cached_property
    def missing(self) -> list[list[Hashable]]:
        """The labels of each bag for which no row is in a cluster of that class."""
        if not self.classes:
            return [[] for _ in self.bags.labels]
        found = zip(self.bags.labels, self.profile, strict=True)
        there = [
            (labels or (), {self.classes[c] for c in np.flatnonzero(counts)}) for labels, counts in found
        ]
        return [sorted(set(labels) - classes, key=_make_sort_key) for labels, classes in there]

    @property
    def unclaimed(self) -> list[str]:
        """The labels that no cluster stands for."""
        bag_classes = {label for labels in self.bags.labels for label in labels or ()}
        return sorted(map(str, bag_classes - set(self.classes)), key=_make_sort_key) if self.classes else []

    @property
    def n_rows(self) -> tuple[int, int]:
        """The number of rows whose cluster's class is a label of their bag, and of rows in labelled bags."""
        n = int(self.bags.rows.size)
        nameless = {c for c, name in enumerate(self.classes) if name is None}
        lost = sum(int(label) in nameless for label in self.labels[self.bags.rows])
        return n - lost - sum(map(len, self.strangers)), n

    @property
    def n_labels(self) -> tuple[int, int]:
        """The number of labels of bags that a row of the bag has, and of all labels of bags."""
        n = sum(len(bag_labels or ()) for bag_labels in self.bags.labels)
        return n - sum(map(len, self.missing)), n

    def find_doubtful(self) -> list[int]:
        """Return the bags with strangers or missing labels, in descending order of their number."""
        doubt = [len(s) + len(m) for s, m in zip(self.strangers, self.missing, strict=True)]
        sizes = self.profile.sum(axis=1)
        return sorted((b for b, n in enumerate(doubt) if n), key=lambda b: (-doubt[b], -int(sizes[b]), b))

    # ------------------------------------------------------------------ as values

    def make_rows(self) -> list[dict[str, Any]]:
        """Return one record per bag, in the order of the data, with plain values."""
        records = []
        for b in self.order:
            labels, counts = self.bags.labels[b], self.profile[b]
            records.append(
                {
                    "bag": str(self.bags.names[b]),
                    "rows": int(counts.sum()),
                    "labels": None if labels is None else sorted(map(str, labels), key=_make_sort_key),
                    "missing": list(map(str, self.missing[b])),
                    "strangers": [self.ids[row] for row in self.strangers[b]],
                    "clusters": {str(c): int(counts[c]) for c in np.flatnonzero(counts).tolist()},
                }
            )
        return records

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "bags": len(self.bags),
            "labelled": sum(bag_labels is not None for bag_labels in self.bags.labels),
            "classes": [None if name is None else str(name) for name in self.classes],
            "unclaimed": self.unclaimed,
            "rows_in_a_class_of_their_bag": list(self.n_rows) if self.classes else None,
            "labels_carried": list(self.n_labels) if self.classes else None,
            "report": self.make_rows(),
        }

    def make_columns(self) -> dict[str, list[Any]]:
        """Return a table with one row per bag and one column per cluster, named by number and class."""
        rows = self.make_rows()
        table: dict[str, list[Any]] = {
            "bag": [row["bag"] for row in rows],
            "rows": [row["rows"] for row in rows],
        }
        for name in ("labels", "missing", "strangers"):
            table[name] = [PARTED_BY.join(row[name] or ()) for row in rows]
        counts = self.profile[self.order]
        for c in range(self.n_clusters):
            stands_for = self.classes[c] if self.classes else None
            title = f"cluster {c}" if stands_for is None else f"cluster {c}: {stands_for}"
            table[title] = counts[:, c].tolist()
        return table

    # ------------------------------------------------------------------ to read

    def format_lines(self) -> list[str]:
        """Return the summary, line by line."""
        known = sum(bag_labels is not None for bag_labels in self.bags.labels)
        labelled = "all" if known == len(self.bags) else f"{known:,} of them"
        lines = [f"bags        {len(self.bags):,}, {labelled} labelled; {describe_sizes(self.bags)}"]
        if not self.classes:
            return lines
        for (found, n), what in (
            (self.n_rows, "rows in a cluster whose class is a label of their bag"),
            (self.n_labels, "labels of bags found in a row of the bag"),
        ):
            lines += [f"            {found:,} of {n:,} {what} ({found / n:.0%})"] if n else []
        if self.unclaimed:
            lines.append(f"            no cluster stands for {format_some(self.unclaimed, SHOWN)}")
        return [*lines, *self._format_doubtful()]

    def _format_doubtful(self) -> list[str]:
        worst = self.find_doubtful()
        if not worst:
            return []
        cells = [("bag", "rows", "labels", "not found", "also found")]
        for b in worst[:SHOWN]:
            besides = Counter(str(self.classes[self.labels[row]]) for row in self.strangers[b])
            cells.append(
                (
                    str(self.bags.names[b]),
                    str(self.profile[b].sum()),
                    PARTED_BY.join(sorted(map(str, self.bags.labels[b] or ()), key=_make_sort_key)),
                    PARTED_BY.join(map(str, self.missing[b])),
                    ", ".join(f"{name} ({n})" if n > 1 else name for name, n in besides.most_common()),
                )
            )
        widths = [min(max(len(row[c]) for row in cells), 30) for c in range(5)]
        lines = []
        for place, row in enumerate(cells):
            parts = [
                truncate(cell, width).rjust(width) if c == 1 else truncate(cell, width).ljust(width)
                for c, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append(f"{'doubtful' if place == 0 else '':<12}{'  '.join(parts)}".rstrip())
        if len(worst) > SHOWN:
            lines.append(f"            and {len(worst) - SHOWN} more; --bag-report and --json list all bags")
        return lines


def describe_sizes(bags: Bags) -> str:
    """Return the range of bag sizes and the number of rows without a bag, as text.

    >>> describe_sizes(Bags.from_arrays(["r1", "r1", "r2", None]))
    '1 to 2 rows each; 1 row in no bag'
    """
    sizes = np.bincount(bags.codes[bags.codes >= 0], minlength=len(bags))
    low, high = int(sizes.min()), int(sizes.max())
    each = f"{low} to {high} rows each" if low < high else f"{low} row{'' if low == 1 else 's'} each"
    outside = int((bags.codes < 0).sum())
    words = f"; {outside:,} row{'' if outside == 1 else 's'} in no bag" if outside else ""
    return f"{each}{words}"


def describe_labels(bags: Bags) -> dict[str, Any]:
    """Return the number of labels of the bags, and the labels that occur only once."""
    label_sets = [labels for labels in bags.labels if labels is not None]
    counts = Counter(str(label) for labels in label_sets for label in labels)
    return {
        "bags": len(bags),
        "labelled": len(label_sets),
        "rows_in_no_bag": int((bags.codes < 0).sum()),
        "classes": len(counts),
        "labels_a_bag": sum(counts.values()) / len(label_sets) if label_sets else None,
        "bags_with_one_label": sum(len(labels) == 1 for labels in label_sets),
        "label_sets": len(set(label_sets)),
        "in_one_bag_only": sorted(label for label, n in counts.items() if n == 1),
    }


def _make_sort_key(label: Any) -> tuple[float, str]:
    """Return a key that sorts 9 before 10, and text after numbers."""
    text = str(label)
    return (float(text) if text.isdecimal() else math.inf, text)
