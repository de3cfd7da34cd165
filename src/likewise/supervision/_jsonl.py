"""Hints as JSON Lines: one object per line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from likewise.supervision._records import ALL_LABELS, WEIGHTED, Record, parse_weight
from likewise.tables import Problems

# The required and the optional keys of each kind.
KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "must": (("items",), ("weight",)),
    "cannot": (("items",), ("weight",)),
    "must_group": (("items",), ("weight",)),
    "cannot_group": (("items",), ("weight",)),
    "triplet": (("items", "answer"), ("weight",)),
    "label": (("item", "label"), ()),
    "bag": (("bag", "items"), ("labels",)),
}
IDS = "ids"  # kind of the optional first line, which describes the ids that the hints were written for
_LENGTHS = {"must": 2, "cannot": 2, "triplet": 3}


def iterate_json_records(
    objects: Iterable[tuple[int, dict[str, Any]]], problems: Problems
) -> Iterator[Record]:
    """Yield the records of the objects, and collect the problems of malformed ones."""
    for line, value in objects:
        try:
            yield from _make_records(line, value)
        except ValueError as error:
            problems.add(line, error)


def _make_records(line: int, value: dict[str, Any]) -> list[Record]:
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KEYS:
        where = f", and {IDS} in the first line only" if kind == IDS else ""
        raise ValueError(f"the kind is {kind!r}; expected one of {', '.join(KEYS)}{where}.")
    needed, allowed = KEYS[kind]
    if missing := [key for key in needed if key not in value]:
        raise ValueError(f"an object of kind {kind} needs {missing[0]!r}.")
    if unknown := sorted(set(value) - {"kind", "note", *needed, *allowed}):
        raise ValueError(
            f"unknown key {unknown[0]!r} for kind {kind}; expected {', '.join([*needed, *allowed])}."
        )
    if kind == "label":
        return [Record(line, kind, a=value["item"], label=_check_scalar(value["label"], "label"))]
    items = value["items"]
    if not isinstance(items, list) or len(items) != _LENGTHS.get(kind, len(items)) or not items:
        wanted = f"{_LENGTHS[kind]} ids" if kind in _LENGTHS else "ids"
        raise ValueError(f"items must be a list of {wanted}, got {items!r}.")
    if kind == "bag":
        bag = _check_scalar(value["bag"], "bag")
        records = [Record(line, kind, a=item, bag=bag) for item in items]
        if value.get("labels") is not None:
            if not isinstance(value["labels"], list) or not value["labels"]:
                raise ValueError(
                    f"labels must be a list of labels, got {value['labels']!r}; or leave it out."
                )
            labels = frozenset(_check_scalar(label, "label") for label in value["labels"])
            records.append(Record(line, ALL_LABELS, bag=bag, label=labels))
        return records
    weight = parse_weight(value.get("weight"))
    if kind.endswith("_group"):
        if len(items) < 2:
            raise ValueError(f"a group needs at least two ids, got {items!r}.")
        return [Record(line, kind, a=item, group=f"of line {line}", weight=weight) for item in items]
    named = dict(zip("abc", items, strict=False))
    return [Record(line, kind, **named, answer=value.get("answer", ""), weight=weight)]


def _check_scalar(value: Any, what: str) -> Any:
    if isinstance(value, str | int | float) and value != "" and value not in (math.inf, -math.inf):
        return value
    raise ValueError(f"the {what} is {value!r}; expected text that is not empty, or a finite number.")


def iterate_json_objects(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield one JSON object for each hint, group, label or bag in the records."""
    bags: dict[Any, dict[str, Any]] = {}
    for (kind, _), run in groupby(records, key=_make_object_key):
        group = list(run)
        if kind in {"bag", "bag_label"}:
            for record in group:
                entry = bags.setdefault(record.bag, {"kind": "bag", "bag": record.bag, "items": []})
                if kind == "bag":
                    entry["items"].append(record.a)
                else:
                    entry.setdefault("labels", []).append(record.label)
            continue
        first = group[0]
        if kind == "label":
            yield {"kind": kind, "item": first.a, "label": first.label}
            continue
        items = [r.a for r in group] if kind.endswith("_group") else [first.a, first.b, first.c]
        out: dict[str, Any] = {"kind": kind, "items": [item for item in items if item]}
        if kind == "triplet":
            out["answer"] = first.answer
        if kind in WEIGHTED and first.weight != 1:
            out["weight"] = first.weight
        yield out
    yield from bags.values()


def _make_object_key(record: Record) -> tuple[str, Any]:
    """Return a key that is equal for the records of one object."""
    if record.kind.endswith("_group"):
        return record.kind, record.group
    return record.kind, record.line if record.kind not in {"bag", "bag_label"} else 0
