"""Check values before they reach the database; the same rules apply to all databases."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from likewise.exceptions import BadValueError

MOST_NAME = 200
MOST_BODY = 64 * 1024
MOST_DEPTH = 20
_LOW, _HIGH = -(2**63), 2**63 - 1


def check_text(value: object, what: str, *, most: int | None = None, empty: bool = False) -> str:
    """Return `value` if it is a text that both databases can store."""
    if not isinstance(value, str):
        raise BadValueError(f"{what} must be a text; got {type(value).__name__}.")
    if not empty and not value.strip():
        raise BadValueError(f"{what} is empty.")
    if most is not None and len(value) > most:
        raise BadValueError(f"{what} has {len(value)} characters; expected at most {most}.")
    if "\0" in value:
        raise BadValueError(f"{what} contains a NUL character, which cannot be stored.", "Remove it.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise BadValueError(
            f"{what} contains half of a surrogate pair, which is not a character.", "Remove it."
        ) from None
    return value


def check_integer(value: object, what: str, *, least: int = _LOW) -> int:
    """Return `value` if it is an integer of at most 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadValueError(f"{what} must be an integer; got {type(value).__name__}.")
    if not least <= value <= _HIGH:
        raise BadValueError(f"{what} must be between {least} and {_HIGH}.")
    return value


def check_number(value: object, what: str) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValueError(f"{what} must be a number; got {type(value).__name__}.")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise BadValueError(f"{what} must be finite; got {result}.")
    return result


def format_body(value: Mapping[str, Any], what: str) -> str:
    """Return a mapping as canonical JSON: equal contents give equal texts."""
    if not isinstance(value, Mapping):
        raise BadValueError(f"{what} must be a mapping; got {type(value).__name__}.")
    written = json.dumps(
        _check_plain(value, what, 0),
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
    )
    size = len(written.encode("utf-8"))
    if size > MOST_BODY:
        raise BadValueError(f"{what} takes {size} bytes as JSON; expected at most {MOST_BODY}.")
    return written


def _check_plain(value: Any, what: str, depth: int) -> Any:
    if depth > MOST_DEPTH:
        raise BadValueError(f"{what} is nested more than {MOST_DEPTH} levels deep.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, what, empty=True)
    if isinstance(value, int):
        return check_integer(value, what)
    if isinstance(value, float):
        return check_number(value, what)
    if isinstance(value, Mapping):
        return {
            check_text(key, f"a key of {what}", most=MOST_NAME, empty=True): _check_plain(
                inner, f"{what}[{key!r}]", depth + 1
            )
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_check_plain(inner, f"{what}[{i}]", depth + 1) for i, inner in enumerate(value)]
    raise BadValueError(f"{what} contains a {type(value).__name__}, which is not JSON.")
