"""Hierarchies as JSON: one object per label, with its parents, score, margin and count."""

from __future__ import annotations

import json
import math
from typing import Any

from likewise.exceptions import FileFormatError
from likewise.hierarchy._hierarchy import COLUMNS, LabelHierarchy, get_known_columns
from likewise.tables import parse_number

FORMAT = "likewise label hierarchy"
VERSION = 1


def compose(hierarchy: LabelHierarchy) -> str:
    """Return the JSON text, with one line per label."""
    columns = get_known_columns(hierarchy)
    lines = []
    for k, name in enumerate(hierarchy.names):
        label: dict[str, Any] = {
            "name": name,
            "parents": [hierarchy.names[p] for p in hierarchy.parent_lists[k]],
        }
        label |= {column: _to_json_number(values[k]) for column, values in columns.items()}
        lines.append("    " + json.dumps(label, ensure_ascii=False, allow_nan=False))
    head = f'{{\n  "format": {json.dumps(FORMAT)},\n  "version": {VERSION},\n  "labels": [\n'
    return head + ",\n".join(lines) + "\n  ]\n}\n"


def _to_json_number(value: float) -> float | str | None:
    """Return a JSON value for a number; JSON has no infinity and no NaN."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def parse(text: str, root: str, path: str) -> dict[str, Any]:
    """Return the names, edges and columns of a JSON text."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{path}:{error.lineno}: invalid JSON: {error.msg}. The file may be truncated."
        ) from error
    labels = _read_labels(content, path)
    names = [label["name"] for label in labels]
    is_label = root in names
    parts: dict[str, Any] = {
        "names": names,
        "edges": [
            (parent, label["name"])
            for label in labels
            for parent in label.get("parents", [])
            if is_label or parent != root
        ],
    }
    for column, of in COLUMNS.items():
        if any(column in label for label in labels):
            parts[of] = [_read_number(label.get(column), label["name"], column, path) for label in labels]
    return parts


def _read_labels(content: Any, path: str) -> list[dict[str, Any]]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(
            f'{path}: this is JSON, but not a label hierarchy; expected an object with "format": '
            f'"{FORMAT}", as '
            "write_hierarchy writes it. Edges in a table can be read from CSV."
        )
    version = content.get("version")
    if not isinstance(version, int) or version < 1:
        raise FileFormatError(f"{path}: the version is {version!r}; expected an integer from 1 to {VERSION}.")
    if version > VERSION:
        raise FileFormatError(
            f"{path}: the file has format version {version}, but this version of likewise reads up to "
            f"{VERSION}. "
            "Update likewise, or write CSV with the newer version."
        )
    labels = content.get("labels")
    if not isinstance(labels, list):
        raise FileFormatError(f'{path}: "labels" must be a list of objects, one per label.')
    for k, label in enumerate(labels):
        if not _is_label(label):
            raise FileFormatError(
                f"{path}: labels[{k}] is {json.dumps(label)[:80]}; expected "
                f'{{"name": …, "parents": […]}} with '
                "names as strings."
            )
    return labels


def _is_label(label: Any) -> bool:
    if not isinstance(label, dict) or not isinstance(label.get("name"), str):
        return False
    parents = label.get("parents", [])
    return isinstance(parents, list) and all(isinstance(parent, str) for parent in parents)


def _read_number(value: Any, name: str, column: str, path: str) -> float:
    if value is None:
        return math.nan
    number = None if isinstance(value, bool) else parse_number(value)
    if number is None:
        raise FileFormatError(
            f'{path}: the {column} of label {name!r} is {value!r}; expected a number, "inf", or null '
            "if it is unknown."
        )
    return number
