"""Report a clustering, and the contents of its clusters, as a readable summary and as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._words import format_count, format_some, truncate
from likewise.cli._bag_report import BagReport
from likewise.cli._output import SHOWN, format_first
from likewise.cli._row_text import format_number
from likewise.evaluation import (
    Satisfaction,
    Scores,
    TripletSatisfaction,
    describe_clusters,
    scores,
    triplet_satisfaction,
)
from likewise.supervision import Bags, RowIds, Supervision
from likewise.tables import DataTable

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# The attributes in which methods store the value of their objective.
_OBJECTIVES = ("objective_", "inertia_", "lower_bound_")
_BAR = 24
_MOST_CLUSTERS = 8  # maximum number of clusters with contents in the printed summary
_LONGEST_ID = 30
_LONGEST_TEXT = 60
_INDENT = " " * 12
_NO_TRIPLETS = TripletSatisfaction(0, 0, np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Report:
    """The result of a clustering, with the ids of the rows."""

    method: str
    n_clusters: int
    n_iter: int
    objective: float | None  # its final value
    table: DataTable
    hints: Supervision
    labels: IntArray  # the cluster of each row, or of the hinted rows if not all rows are in memory
    counts: IntArray  # the number of rows in each cluster
    kept: Satisfaction  # of the stated links
    kept_triplets: TripletSatisfaction
    # The class that each of the first clusters stands for, if labels or labels of bags were given.
    classes: tuple[str | None, ...]
    strayed: tuple[int, ...]  # labelled rows that are not in the cluster of their class
    # Agreement with the true classes, if known, on "all" rows and on rows "untouched" by hints.
    scores: dict[str, Scores | None]
    bags: BagReport | None = None
    contents: list[dict[str, Any]] | None = None  # of each cluster, if all rows are in memory

    @classmethod
    def from_model(
        cls,
        method: str,
        model: Any,
        table: DataTable,
        hints: Supervision,
        truth: str | None,
        bags: Bags | None = None,
        contents: list[dict[str, Any]] | None = None,
        *,
        labels: IntArray | None = None,
        counts: IntArray | None = None,
    ) -> Report:
        """Summarise a fitted estimator; `bags` are the original bags, which `hints` may contain as links.

        `contents` are those of each cluster; see `list_contents`. If not all rows are in memory, `labels` are
        those of the hinted rows, which are in `table`, and `counts` are the sizes of the clusters.
        """
        labels = np.asarray(model.labels_ if labels is None else labels, dtype=np.int64)
        objective = next(
            (found for name in _OBJECTIVES if (found := getattr(model, name, None)) is not None), None
        )
        by_cluster = tuple(getattr(model, "class_of_cluster_", ()))
        if not any(name is not None for name in by_cluster):  # no bag has labels
            by_cluster = ()
        classes = by_cluster if hasattr(model, "class_of_cluster_") else getattr(model, "classes_", ())
        return cls(
            method=method,
            n_clusters=int(model.n_clusters),
            n_iter=int(model.n_iter_),
            objective=None if objective is None or not np.isfinite(objective) else float(objective),
            table=table,
            hints=hints,
            labels=labels,
            counts=np.bincount(labels, minlength=model.n_clusters) if counts is None else counts,
            kept=Satisfaction._from_codes(labels, hints),
            kept_triplets=triplet_satisfaction(labels, hints) if "triplets" in hints.kinds else _NO_TRIPLETS,
            classes=tuple(None if name is None else str(name) for name in classes),
            strayed=find_strayed_rows(labels, hints.label_codes) if "labels" in hints.kinds else (),
            scores={} if truth is None else compute_scores(table.kept[truth], labels, hints.touched),
            bags=None if bags is None else BagReport(bags, labels, table.ids, model.n_clusters, by_cluster),
            contents=contents,
        )

    def find_violated_links(self) -> list[dict[str, str]]:
        """Return the violated links among those given as pairs, by ids."""
        ids, kept = self.table.ids, self.kept
        return [
            {"link": link, "a": ids[i], "b": ids[j]}
            for link, pairs in (("must", kept.violated_must), ("cannot", kept.violated_cannot))
            for i, j in pairs.tolist()
        ]

    def find_violated_triplets(self) -> list[dict[str, Any]]:
        """Return the violated triplets, by ids."""
        ids, words = self.table.ids, self.hints.answer_words
        return [
            {"items": [ids[row] for row in self.hints.triplets[t].tolist()], "answer": words[t]}
            for t in self.kept_triplets.violated.tolist()
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the labels as plain values."""
        kept = self.kept
        return {
            "rows": int(self.counts.sum()),
            "features": list(self.table.feature_names),
            "feature_description": self.table.description,
            "dropped": list(self.table.dropped),
            "method": self.method,
            "n_clusters": self.n_clusters,
            "iterations": self.n_iter,
            "objective": self.objective,
            "sizes": self.counts.tolist(),
            "classes": list(self.classes),
            "contents": self.contents,
            "hints": {
                "must": len(self.hints.must),
                "cannot": len(self.hints.cannot),
                "must_groups": len(self.hints.must_groups),
                "cannot_groups": len(self.hints.cannot_groups),
                "triplets": len(self.hints.triplets),
                "labels": int((self.hints.label_codes >= 0).sum()),
                "bags": len(self.hints.bags or ()),
                "rows": int(self.hints.touched.sum()),
            },
            "kept": {
                "share": kept.share,
                "must": [kept.n_must_kept, kept.n_must],
                "cannot": [kept.n_cannot_kept, kept.n_cannot],
                "triplets": [self.kept_triplets.n_kept, self.kept_triplets.n_triplets],
                "broken": self.find_violated_links(),
                "broken_triplets": self.find_violated_triplets(),
                "broken_groups": kept.n_violated_must_groups + kept.n_violated_cannot_groups,
                "strayed": [self.table.ids[row] for row in self.strayed],
            },
            "bags": None if self.bags is None else self.bags.as_dict(),
            "scores": {rows: None if found is None else asdict(found) for rows, found in self.scores.items()},
        }

    def format_lines(self) -> list[str]:
        """Return the summary, line by line."""
        table, n_iter, hints = self.table, self.n_iter, self.hints
        dropped = f" (left out: {format_some(list(table.dropped), SHOWN)})" if table.dropped else ""
        numbers = {"row": int(hints.touched.sum()), "feature": len(table.feature_names)}
        numbers |= {"cluster": self.n_clusters, "iteration": n_iter}
        counts = {noun: f"{n:,} {noun}{'' if n == 1 else 's'}" for noun, n in numbers.items()}
        about = "; ".join(part.summary() for part in hints._parts.values()) or "none"
        about += f", about {counts['row']}" if hints.kinds else ""
        lines = [
            f"rows        {self.counts.sum():,}, {counts['feature']}{dropped}",
            *([] if table.description is None else [f"features    {table.description}"]),
            f"hints       {about}",
            f"method      {self.method}, {counts['cluster']}, {counts['iteration']}",
        ]
        for c, size in enumerate(self.counts.tolist()):
            bar = "█" * round(_BAR * size / self.counts.max())
            name = f"  {self.classes[c] or '(no class)'}" if c < len(self.classes) else ""
            lines.append(f"{'sizes' if c == 0 else '':<12}{c:>3}  {size:>7,}  {bar}".rstrip() + name)
        lines += [] if self.contents is None else format_contents(self.contents, table)
        lines += self._format_kept()
        lines += [] if self.bags is None else self.bags.format_lines()
        for rows, found in self.scores.items():
            words = "there are none with a known class"
            if found is not None:
                words = f"ARI {found.ari:.3f}  NMI {found.nmi:.3f}  pairwise F {found.f:.3f}"
                words += f"  ({found.n_rows:,} rows)"
            lines.append(f"{'all rows' if rows == 'all' else rows:<12}{words}")
        return lines

    def _format_kept(self) -> list[str]:
        lines = []
        if "links" in self.hints.kinds:
            lines.append(f"links       {self.kept}")
            if links := self.find_violated_links():
                violated = [
                    f"{_INDENT}violated: {pair['a']} {'=' if pair['link'] == 'must' else '≠'} {pair['b']}"
                    f"   ({pair['link']}-link)"
                    for pair in links
                ]
                lines += format_first(violated, indent=_INDENT)
            if groups := self.kept.n_violated_must_groups + self.kept.n_violated_cannot_groups:
                lines.append(f"{_INDENT}{format_count(groups, 'group')} with a violated link")
        if "triplets" in self.hints.kinds:
            lines.append(f"triplets    {self.kept_triplets}")
            violated = [
                f"{_INDENT}violated: {', '.join(one['items'])}   ({one['answer']})"
                for one in self.find_violated_triplets()
            ]
            lines += format_first(violated, indent=_INDENT)
        if "labels" in self.hints.kinds:
            n_labels = int((self.hints.label_codes >= 0).sum())
            lines.append(f"labels      {n_labels - len(self.strayed)} of {n_labels} with their class")
            if self.strayed:
                lines.append(
                    f"{_INDENT}not: {format_some([self.table.ids[row] for row in self.strayed], SHOWN)}"
                )
        return lines


def make_labels_table(ids: RowIds, labels: IntArray, classes: Sequence[Any] = ()) -> dict[str, list[Any]]:
    """Return the columns of a label file, including the class of each row's cluster if `classes` is given.

    >>> make_labels_table(RowIds.from_ids(["s1", "s2"]), np.array([1, 0]), ["owl", None])
    {'id': ['s1', 's2'], 'cluster': [1, 0], 'class': ['', 'owl']}
    """
    columns: dict[str, list[Any]] = {"id": list(ids.ids), "cluster": labels.tolist()}
    if any(name is not None for name in classes):
        columns["class"] = ["" if classes[k] is None else str(classes[k]) for k in labels.tolist()]
    return columns


def find_strayed_rows(labels: IntArray, codes: IntArray) -> tuple[int, ...]:
    """Return the labelled rows that are not in the cluster of their class.

    Classes are matched to clusters one to one such that the number of agreeing rows is maximal.

    >>> find_strayed_rows(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 1, -1]))
    (3,)
    """
    from scipy.optimize import linear_sum_assignment

    rows = np.flatnonzero(codes >= 0)
    if not rows.size:
        return ()
    counts = np.zeros((int(codes.max()) + 1, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(counts, (codes[rows], labels[rows]), 1)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    cluster_of = np.full(len(counts), -1)
    cluster_of[classes] = clusters
    return tuple(rows[labels[rows] != cluster_of[codes[rows]]].tolist())


def compute_scores(
    truth: tuple[str | None, ...], labels: IntArray, touched: npt.NDArray[np.bool_]
) -> dict[str, Scores | None]:
    """Score a clustering on the rows of known class: on all of them, and on the unhinted ones."""
    known = np.array([word is not None for word in truth])
    classes = np.array([word or "" for word in truth])
    found: dict[str, Scores | None] = {}
    for name, rows in (("all", known), ("untouched", known & ~touched)):
        found[name] = scores(classes[rows], labels[rows]) if rows.any() else None
    return found


# ---------------------------------------------------------------------- contents of clusters


def list_contents(model: Any, X: FloatArray, table: DataTable) -> list[dict[str, Any]]:
    """Describe each cluster as plain values, with the ids of its typical and doubtful rows.

    `X` are the training rows of the fitted model, and `table` the same rows in the units of the file.
    Columns are described if they are those of the file, and keywords if there are texts. Clusters without
    rows are left out; the list is empty if fewer than two have rows.
    """
    names = table.feature_names if table.description is None else None
    found = describe_clusters(
        X, model.labels_, texts=table.texts, feature_names=names, values=table.X, estimator=model
    )
    return [
        {
            "cluster": one.cluster,
            "size": one.size,
            **({} if table.texts is None else {"keywords": list(one.keywords)}),
            "columns": [vars(column) for column in one.columns],
            "typical": [table.ids[row] for row in one.typical],
            "doubtful": [{"id": table.ids[row], "next_best_cluster": other} for row, other in one.doubtful],
        }
        for one in found
    ]


def format_contents(clusters: list[dict[str, Any]], table: DataTable) -> list[str]:
    """Return the contents of the clusters, line by line; only the largest of many clusters are shown."""
    largest = sorted(clusters, key=lambda one: -one["size"])[:_MOST_CLUSTERS]
    spreads = dict(zip(table.feature_names, np.ptp(table.X, axis=0).tolist(), strict=True))
    lines: list[str] = []
    for one in sorted(largest, key=lambda one: one["cluster"]):
        start = f"{'' if lines else 'contents':<12}{one['cluster']:>3}"
        if table.description is not None:
            lines += _format_items(one, table, start)
            continue
        columns = ", ".join(
            f"{column['name']} {_format_mean(column['mean'], spreads[column['name']])} "
            f"(others {_format_mean(column['mean_elsewhere'], spreads[column['name']])})"
            for column in one["columns"]
        )
        lines.append(f"{start}  {columns or 'no column differs much'}")
        typical, doubtful = (
            [id if len(id) <= _LONGEST_ID else truncate(id, _LONGEST_ID) for id in ids]
            for ids in (one["typical"], [row["id"] for row in one["doubtful"]])
        )
        others = [f"(or in {row['next_best_cluster']})" for row in one["doubtful"]]
        rows = f"typical {', '.join(typical)}"
        if doubtful:
            rows += f"; doubtful {', '.join(map(' '.join, zip(doubtful, others, strict=True)))}"
        lines.append(f"{'':<17}{rows}")
    if n_more := len(clusters) - len(largest):
        lines.append(f"{_INDENT}and {n_more} smaller cluster{'s' if n_more > 1 else ''}; --json lists all")
    return lines


def _format_items(one: dict[str, Any], table: DataTable, start: str) -> list[str]:
    """Return the contents of a cluster of texts or files: keywords, and its typical and doubtful rows."""
    lines = []
    if table.texts is not None:
        lines.append(f"{start}  {', '.join(one['keywords']) or 'no word sets it apart'}")
        start = ""
    rows = [("typical", id, "") for id in one["typical"]]
    rows += [("doubtful", row["id"], f" (or in {row['next_best_cluster']})") for row in one["doubtful"]]
    last = None
    for word, id, other in rows:
        name = truncate(id, _LONGEST_ID)
        row = table.ids.row_of[id]
        if table.texts is not None:
            name += f": {truncate(' '.join(table.texts[row].split()), _LONGEST_TEXT)}"
        elif table.files is not None and table.files[row] != id:
            name += f": {truncate(table.files[row], _LONGEST_TEXT)}"
        lines.append(f"{start:<15}  {'' if word == last else word:<9} {name}{other}")
        last, start = word, ""
    return lines


def _format_mean(mean: float, spread: float) -> str:
    """Return a mean, rounded to three significant digits of the range of its column.

    >>> _format_mean(0.04444, 16.0), _format_mean(2.513, 4.7), _format_mean(883.1, 1402.0)
    ('0.0', '2.51', '883')
    """
    if 1e-4 <= spread < 1e6:
        return f"{mean:.{max(2 - math.floor(math.log10(spread)), 0)}f}"
    return format_number(mean, spread)
