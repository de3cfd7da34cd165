"""Hints as records that refer to rows by sample id, the common form of all file formats."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from likewise.exceptions import SupervisionError
from likewise.supervision._labels import sort_values
from likewise.supervision._links import TRIPLET_ANSWERS
from likewise.supervision._supervision import Supervision
from likewise.tables import SHOWN, Problems, RowIds, parse_number

_WHOLE = re.compile(r"[+-]?\d+(\.0+)?")


class Record(NamedTuple):
    """One hint, or part of one. `kind` determines which other fields are used; see `USES`."""

    line: int
    kind: str
    a: Any = ""
    b: Any = ""
    c: Any = ""
    answer: Any = ""
    label: Any = ""
    bag: Any = ""
    group: Any = ""
    weight: float = 1.0


FIELDS = Record._fields[1:]
USES: dict[str, tuple[str, ...]] = {
    "must": ("a", "b"),
    "cannot": ("a", "b"),
    "must_group": ("a", "group"),
    "cannot_group": ("a", "group"),
    "triplet": ("a", "b", "c", "answer"),
    "label": ("a", "label"),
    "bag": ("a", "bag"),
    "bag_label": ("bag", "label"),
}
_N_IDS = {kind: len({"a", "b", "c"}.intersection(names)) for kind, names in USES.items()}
WEIGHTED = frozenset({"must", "cannot", "must_group", "cannot_group", "triplet"})
ALL_LABELS = "bag_labels"  # all labels of a bag, in JSON Lines and in tables with id,bag,labels


def parse_weight(value: Any) -> float:
    """Parse a weight; an empty cell means 1."""
    if value == "" or value is None:
        return 1.0
    weight = None if isinstance(value, bool) else parse_number(value)
    if weight is None:
        raise ValueError(f"the weight is {value!r}; expected a number such as 0.5.")
    if not (math.isfinite(weight) and weight > 0):
        raise ValueError(f"the weight is {value!r}; weights must be finite and above 0.")
    return weight


# ---------------------------------------------------------------------- from records to hints


@dataclass
class _HintBuilder:
    """Collects records, and builds hints if they have no problems."""

    ids: RowIds
    problems: Problems
    # The rows and the weights of links and triplets, by kind.
    found: dict[str, tuple[list[tuple[int, ...]], list[float]]] = field(
        default_factory=lambda: {kind: ([], []) for kind in ("must", "cannot", "triplet")}
    )
    answers: list[str] = field(default_factory=list)
    groups: dict[tuple[str, Hashable], tuple[int, float, list[int]]] = field(default_factory=dict)
    labels: dict[int, tuple[Hashable, int]] = field(default_factory=dict)
    bags: dict[int, tuple[Hashable, int]] = field(default_factory=dict)
    bag_labels: dict[Hashable, tuple[set[Hashable], int]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Add a record, or raise an error that describes its problem."""
        ids = record[2 : 2 + _N_IDS.get(record.kind, 0)]
        found = tuple(map(self.ids.find, ids))
        if None in found:
            raise self.ids.unknown_id(ids[found.index(None)])
        rows = cast("tuple[int, ...]", found)
        if len(set(rows)) < len(rows):
            raise ValueError(
                f"the id {ids[0] if ids[0] in ids[1:] else ids[1]!r} occurs twice; expected different ids."
            )
        if record.kind == "triplet":
            answer = str(record.answer).strip().upper()
            if answer not in TRIPLET_ANSWERS:
                raise ValueError(
                    f"the answer is {record.answer!r}; expected one of {', '.join(TRIPLET_ANSWERS)}."
                )
            self.answers.append(answer)
        if record.kind in self.found:
            into, weights = self.found[record.kind]
            into.append(rows)
            weights.append(record.weight)
        elif record.kind.endswith("_group"):
            line, weight, group = self.groups.setdefault(
                (record.kind, record.group), (record.line, record.weight, [])
            )
            if weight != record.weight:
                raise ValueError(f"group {record.group!r} has the weight {weight} on line {line}.")
            group.append(rows[0])
        elif record.kind in ("label", "bag"):
            self._add_value(record, rows[0])
        else:
            self._add_bag_label(record)

    def _add_value(self, record: Record, row: int) -> None:
        into, value = (self.labels, record.label) if record.kind == "label" else (self.bags, record.bag)
        before, line = into.setdefault(row, (value, record.line))
        if (type(before), before) != (type(value), value):
            raise ValueError(f"{record.a!r} has the {record.kind} {value!r}, but {before!r} on line {line}.")

    def _add_bag_label(self, record: Record) -> None:
        whole = record.kind == ALL_LABELS
        given = set(record.label) if whole else {record.label}
        if (before := self.bag_labels.get(record.bag)) is None:
            self.bag_labels[record.bag] = (given, record.line)
        elif not whole:
            before[0].update(given)
        elif before[0] != given:
            raise ValueError(
                f"bag {record.bag!r} has the labels {sort_values(given)}, "
                f"but {sort_values(before[0])} on line {before[1]}."
            )

    def _mark_unlabelled(self, missing: Any) -> bool:
        """Replace `missing` among the labels by -1; return True if it occurred.

        -1 itself counts only if all labels are integers.
        """
        texts = {row: str(label).strip() for row, (label, _) in self.labels.items()}
        if missing == -1 and not all(_WHOLE.fullmatch(text) for text in texts.values()):
            return False
        rows = [row for row, text in texts.items() if text == str(missing)]
        for row in rows:
            self.labels[row] = (-1, self.labels[row][1])
        if rows:
            self.problems.notes.append(
                f"{len(rows)} label(s) of {missing} were read as unlabelled. If {missing} is a class, give "
                "it another name."
            )
        return bool(rows)

    def _note_spellings(self) -> None:
        """Note labels that differ only in case or in spaces around them."""
        labels = [label for label, _ in self.labels.values()]
        labels += [label for given, _ in self.bag_labels.values() for label in given]
        spellings: dict[str, dict[str, int]] = {}
        for label in labels:
            if isinstance(label, str) and len(label.strip()) > 1:  # "a" and "A" may be two classes
                counts = spellings.setdefault(label.strip().casefold(), {})
                counts[label] = counts.get(label, 0) + 1
        twice = [counts for counts in spellings.values() if len(counts) > 1]
        if twice:
            shown = "; ".join(
                " and ".join(f"{label!r} ({n})" for label, n in counts.items()) for counts in twice[:SHOWN]
            )
            self.problems.notes.append(
                f"labels that differ only in case or spaces are read as different classes: {shown}. If they "
                "are one class, use one spelling."
            )

    def build(self, *, missing: Any = None, by_hand: bool = False) -> Supervision:
        """Return the hints, or raise the error that lists the problems.

        `missing` is a label that means unlabelled; `by_hand` looks for likely mistakes in hand-written files.
        """
        groups: dict[str, list[list[int]]] = {"must_group": [], "cannot_group": []}
        group_weights: dict[str, list[float]] = {"must_group": [], "cannot_group": []}
        for (kind, name), (line, weight, rows) in self.groups.items():
            if len(set(rows)) < max(len(rows), 2):
                twice = "contains an id twice" if len(set(rows)) < len(rows) else "has one id; it needs two"
                self.problems.add(line, f"the {kind} {name!r} {twice}.")
            groups[kind].append(rows)
            group_weights[kind].append(weight)
        names = {bag for bag, _ in self.bags.values()}
        for bag, (_, line) in self.bag_labels.items():
            if bag not in names:
                self.problems.add(line, f"bag {bag!r} has labels, but no id is in it.")
        self.problems.settle()

        n = len(self.ids)
        links: dict[str, Any] = {}
        for kind in ("must", "cannot"):
            links[kind], links[f"{kind}_weights"] = self.found[kind]
            links[f"{kind}_groups"] = groups[f"{kind}_group"]
            links[f"{kind}_group_weights"] = group_weights[f"{kind}_group"]
        hints = Supervision.from_links(n, **links)
        triplets, weights = self.found["triplet"]
        if triplets:
            hints |= Supervision.from_triplets(n, triplets, self.answers, weights=weights)
        if self.labels:
            marker = -1 if missing is not None and self._mark_unlabelled(missing) else None
            values = [self.labels.get(row, (None,))[0] for row in range(n)]
            hints |= Supervision.from_labels(values, missing=marker)
        if self.bags:
            bag_labels = {bag: labels for bag, (labels, _) in self.bag_labels.items()}
            hints |= Supervision.from_bags([self.bags.get(row, (None,))[0] for row in range(n)], bag_labels)
        if by_hand and (self.labels or self.bag_labels):
            self._note_spellings()
        return hints


def build_hints(
    records: Iterable[Record],
    ids: RowIds,
    problems: Problems,
    *,
    missing: Any = None,
    by_hand: bool = False,
    lines: set[int] | None = None,
) -> Supervision:
    """Build hints from records, or raise one error that lists the invalid lines.

    The numbers of the lines that hold records are added to `lines`.
    """
    builder = _HintBuilder(ids, problems)
    for record in records:
        if lines is not None:
            lines.add(record.line)
        try:
            builder.add(record)
        except ValueError as error:
            problems.add(record.line, error)
    return builder.build(missing=missing, by_hand=by_hand)


# ---------------------------------------------------------------------- from hints to records


def iterate_records(hints: Supervision, ids: RowIds) -> Iterator[Record]:
    """Yield the hints as records in a fixed order; the members of a group are consecutive."""
    if hints.n_samples != len(ids):
        raise SupervisionError(f"the hints are for {hints.n_samples} rows, but there are {len(ids)} ids.")
    name = ids.ids
    line = 0
    for kind in ("must", "cannot"):
        weights = getattr(hints, f"{kind}_weights").tolist()
        for (i, j), weight in zip(getattr(hints, kind).tolist(), weights, strict=True):
            yield Record(line := line + 1, kind, a=name[i], b=name[j], weight=weight)
    for kind in ("must_group", "cannot_group"):
        groups = getattr(hints, f"{kind}s")
        for g, (rows, weight) in enumerate(zip(groups, groups.weights.tolist(), strict=True), start=1):
            for i in rows.tolist():
                yield Record(line := line + 1, kind, a=name[i], group=str(g), weight=weight)
    triplets = zip(hints.triplets.tolist(), hints.answer_words, hints.triplet_weights.tolist(), strict=True)
    for (i, j, k), answer, weight in triplets:
        yield Record(
            line := line + 1, "triplet", a=name[i], b=name[j], c=name[k], answer=answer, weight=weight
        )
    for i, code in enumerate(hints.label_codes.tolist()):
        if code >= 0:
            yield Record(
                line := line + 1, "label", a=name[i], label=_check_plain(hints.classes[code], "label")
            )
    if (bags := hints.bags) is not None:
        for i, code in enumerate(bags.codes.tolist()):
            if code >= 0:
                yield Record(line := line + 1, "bag", a=name[i], bag=_check_plain(bags.names[code], "bag"))
        for bag, labels in zip(bags.names, bags.labels, strict=True):
            for label in sort_values(labels or ()):
                yield Record(line := line + 1, "bag_label", bag=bag, label=_check_plain(label, "label"))


def _check_plain(value: Any, what: str) -> Any:
    """Return the value as a plain string, number or boolean; raise an error if a file cannot store it."""
    if value == "" or type(value) not in {str, bool, int, float}:
        raise SupervisionError(
            f"the {what} {value!r} cannot be written to a file; expected non-empty text or a number. "
            "Make the hints with text instead."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise SupervisionError(f"the {what} {value!r} cannot be written to a file; expected a finite number.")
    return value
