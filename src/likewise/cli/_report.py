"""Report a clustering as a readable summary and as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.cli._bag_report import BagReport
from likewise.cli._contents import Contents
from likewise.cli._data_tables import DataTable
from likewise.cli._output import format_count, format_some, make_console, print_notes
from likewise.evaluation import (
    Satisfaction,
    Scores,
    TripletSatisfaction,
    link_satisfaction,
    scores,
    triplet_satisfaction,
)
from likewise.supervision import Bags, RowIds, Supervision

SHOWN = 10
# The attributes in which methods store the value of their objective.
_OBJECTIVES = ("objective_", "inertia_", "lower_bound_")
_BAR = 24


@dataclass(frozen=True, eq=False)
class Report:
    """The result of a clustering, with the ids of the rows.

    Attributes
    ----------
    method, n_clusters, n_iter, objective
        The method, the number of clusters and iterations, and the final value of the objective.
    table, hints, labels
        The rows, the hints about them, and the cluster of each row.
    kept : Satisfaction
        The stated links that the clustering keeps.
    kept_triplets : TripletSatisfaction
        The stated triplets that it keeps.
    classes : tuple of str or None
        The class that each of the first clusters stands for, if labels or labels of bags were given.
    strayed : tuple of int
        Labelled rows that are not in the cluster of their class.
    scores : dict of str to Scores or None
        Agreement with the true classes, if known, on "all" rows and on rows "untouched" by hints.
    bags : BagReport or None
        The report on each bag, if there are bags.
    contents : Contents or None
        The description of each cluster, if all rows are in memory.
    counts : ndarray of shape (n_clusters,) or None
        The number of rows in each cluster, if `labels` are those of the hinted rows only.
    """

    method: str
    n_clusters: int
    n_iter: int
    objective: float | None
    table: DataTable
    hints: Supervision
    labels: npt.NDArray[np.int64]
    kept: Satisfaction
    kept_triplets: TripletSatisfaction
    classes: tuple[str | None, ...]
    strayed: tuple[int, ...]
    scores: dict[str, Scores | None]
    bags: BagReport | None = None
    contents: Contents | None = None
    counts: npt.NDArray[np.int64] | None = None

    @classmethod
    def from_model(
        cls,
        method: str,
        model: Any,
        table: DataTable,
        hints: Supervision,
        truth: str | None,
        bags: Bags | None = None,
        X: npt.NDArray[np.float64] | None = None,
        *,
        labels: npt.NDArray[np.int64] | None = None,
        counts: npt.NDArray[np.int64] | None = None,
    ) -> Report:
        """Summarise a fitted estimator; `bags` are the original bags, which `hints` may contain as links.

        With the training rows `X`, the report describes each cluster. If not all rows are in memory, `labels`
        are those of the hinted rows, which are in `table`, and `counts` are the sizes of the clusters.
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
            kept=link_satisfaction(labels, hints),
            kept_triplets=triplet_satisfaction(labels, hints),
            classes=tuple(None if name is None else str(name) for name in classes),
            strayed=find_strayed_rows(labels, hints.label_codes),
            scores={} if truth is None else compute_scores(table.kept[truth], labels, hints.touched),
            bags=None
            if bags is None
            else BagReport(bags, labels, table.ids, int(model.n_clusters), by_cluster),
            contents=None if X is None else Contents.from_model(model, X, table, labels),
            counts=counts,
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.labels) if self.counts is None else int(self.counts.sum())

    @property
    def sizes(self) -> list[int]:
        """The number of rows in each cluster."""
        counts = np.bincount(self.labels, minlength=self.n_clusters) if self.counts is None else self.counts
        sizes: list[int] = counts.tolist()
        return sizes

    def find_broken_links(self) -> list[dict[str, str]]:
        """Return the broken links among those given as pairs, by ids."""
        ids, kept = self.table.ids, self.kept
        return [
            {"link": link, "a": ids[i], "b": ids[j]}
            for link, pairs in (("must", kept.broken_must), ("cannot", kept.broken_cannot))
            for i, j in pairs.tolist()
        ]

    def find_broken_triplets(self) -> list[dict[str, Any]]:
        """Return the broken triplets, by ids."""
        ids, words = self.table.ids, self.hints.answer_words
        return [
            {"items": [ids[row] for row in self.hints.triplets[t].tolist()], "answer": words[t]}
            for t in self.kept_triplets.broken.tolist()
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the labels as plain values."""
        kept = self.kept
        return {
            "rows": self.n_rows,
            "features": list(self.table.feature_names),
            "dropped": list(self.table.dropped),
            "method": self.method,
            "n_clusters": self.n_clusters,
            "iterations": self.n_iter,
            "objective": self.objective,
            "sizes": self.sizes,
            "classes": list(self.classes),
            "contents": None if self.contents is None else self.contents.as_list(),
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
                "broken": self.find_broken_links(),
                "broken_triplets": self.find_broken_triplets(),
                "broken_groups": kept.n_broken_must_groups + kept.n_broken_cannot_groups,
                "strayed": [self.table.ids[row] for row in self.strayed],
            },
            "bags": None if self.bags is None else self.bags.as_dict(),
            "scores": {rows: None if found is None else asdict(found) for rows, found in self.scores.items()},
        }

    # ------------------------------------------------------------------ to read

    def format_lines(self) -> list[str]:
        """Return the summary, line by line."""
        table, n_iter = self.table, self.n_iter
        dropped = f" (left out: {format_some(list(table.dropped))})" if table.dropped else ""
        lines = [
            f"rows        {self.n_rows:,}, {format_count(len(table.feature_names), 'feature')}{dropped}",
            f"hints       {self._describe_hints()}",
            f"method      {self.method}, {format_count(self.n_clusters, 'cluster')}, "
            f"{format_count(n_iter, 'iteration')}",
        ]
        largest = max(self.sizes)
        for c, size in enumerate(self.sizes):
            bar = "█" * round(_BAR * size / largest)
            name = f"  {self.classes[c] or '(no class)'}" if c < len(self.classes) else ""
            lines.append(f"{'sizes' if c == 0 else '':<12}{c:>3}  {size:>7,}  {bar}".rstrip() + name)
        contents = [] if self.contents is None else self.contents.format_lines()
        bags = [] if self.bags is None else self.bags.format_lines()
        return [*lines, *contents, *self._format_kept(), *bags, *self._format_scores()]

    def _describe_hints(self) -> str:
        if not self.hints:
            return "none"
        summary = repr(self.hints).partition(": ")[2].removesuffix(")")
        return f"{summary}, about {format_count(int(self.hints.touched.sum()), 'row')}"

    def _format_kept(self) -> list[str]:
        lines = []
        if "links" in self.hints.kinds:
            lines.append(f"links       {self.kept}")
            broken = self.find_broken_links()
            lines += [
                f"            broken: {pair['a']} {'=' if pair['link'] == 'must' else '≠'} {pair['b']}"
                f"   ({pair['link']}-link)"
                for pair in broken[:SHOWN]
            ]
            if len(broken) > SHOWN:
                lines.append(f"            and {len(broken) - SHOWN} more; --json lists all")
            if groups := self.kept.n_broken_must_groups + self.kept.n_broken_cannot_groups:
                lines.append(f"            {format_count(groups, 'group')} with a broken link")
        if "triplets" in self.hints.kinds:
            lines.append(f"triplets    {self.kept_triplets}")
            lines += [
                f"            broken: {', '.join(one['items'])}   ({one['answer']})"
                for one in self.find_broken_triplets()[:SHOWN]
            ]
            if len(self.kept_triplets.broken) > SHOWN:
                more = len(self.kept_triplets.broken) - SHOWN
                lines.append(f"            and {more} more; --json lists all")
        if "labels" in self.hints.kinds:
            n_labels = int((self.hints.label_codes >= 0).sum())
            lines.append(f"labels      {n_labels - len(self.strayed)} of {n_labels} with their class")
            if self.strayed:
                lines.append(f"            not: {format_some([self.table.ids[row] for row in self.strayed])}")
        return lines

    def _format_scores(self) -> list[str]:
        lines = []
        for rows, found in self.scores.items():
            words = "there are none with a known class" if found is None else _describe_score(found)
            lines.append(f"{'all rows' if rows == 'all' else rows:<12}{words}")
        return lines


def _describe_score(found: Scores) -> str:
    return f"ARI {found.ari:.3f}  NMI {found.nmi:.3f}  pairwise F {found.f:.3f}  ({found.n_rows:,} rows)"


def make_labels_table(
    ids: RowIds, labels: npt.NDArray[np.int64], classes: Sequence[Any] = ()
) -> dict[str, list[Any]]:
    """Return the columns of a label file, including the class of each row's cluster if `classes` is given.

    >>> make_labels_table(RowIds.from_ids(["s1", "s2"]), np.array([1, 0]), ["owl", None])
    {'id': ['s1', 's2'], 'cluster': [1, 0], 'class': ['', 'owl']}
    """
    columns: dict[str, list[Any]] = {"id": list(ids), "cluster": labels.tolist()}
    if any(name is not None for name in classes):
        columns["class"] = ["" if classes[k] is None else str(classes[k]) for k in labels.tolist()]
    return columns


def find_strayed_rows(labels: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]) -> tuple[int, ...]:
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
    truth: tuple[str | None, ...], labels: npt.NDArray[np.int64], touched: npt.NDArray[np.bool_]
) -> dict[str, Scores | None]:
    """Score a clustering on the rows of known class: on all of them, and on the unhinted ones."""
    known = np.array([word is not None for word in truth])
    classes = np.array([word or "" for word in truth])
    found: dict[str, Scores | None] = {}
    for name, rows in (("all", known), ("untouched", known & ~touched)):
        found[name] = scores(classes[rows], labels[rows]) if rows.any() else None
    return found


def print_report(report: Report, notes: list[str], wrote: list[str]) -> None:
    """Print the summary, the notes and the names of the written files on stderr."""
    stderr = make_console()
    for line in report.format_lines():
        stderr.print(line, style="red" if line.lstrip().startswith("broken:") else None)
    print_notes(notes, map(Path, wrote))
