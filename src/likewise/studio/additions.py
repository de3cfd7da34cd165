"""Items that join a project later: what is new, changed or gone, and how it gets into the project."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._words import format_count, format_some
from likewise.exceptions import LikewiseError
from likewise.studio.items import make_stamp
from likewise.studio.project import Project
from likewise.studio.records import Item


@dataclass(frozen=True)
class SourceChanges:
    """How the source of a project differs from its items.

    Attributes
    ----------
    new : tuple of int
        The places of new items in the list of the source.
    maybe_changed : mapping of int to int
        The places of items that may have changed, with their rows in the project.
    removed : tuple of str
        The ids of items that are no longer in the source.
    """

    new: tuple[int, ...]
    maybe_changed: Mapping[int, int]
    removed: tuple[str, ...]


_ABOUT_CHANGED = (
    " Answers about changed items stay. If the table has no --id, check that they are still the same items."
)


@dataclass(frozen=True)
class AddedItems:
    """What an addition did: ids of items that were added, that changed, and that are now gone or back."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()

    def describe(self) -> list[str]:
        """Return a sentence for each kind of change."""
        words = [
            ("added", self.added, ""),
            ("changed", self.changed, _ABOUT_CHANGED),
            ("gone", self.removed, " Items that are gone are not asked about; their answers stay."),
            ("back", self.returned, " Items that are back are asked about again."),
        ]
        found = [
            f"{format_count(len(ids), 'item')} {word}: {format_some(ids)}.{more}"
            for word, ids, more in words
            if ids
        ]
        return found or ["Nothing has changed."]


def compare_with_source(project: Project, listed: Sequence[Item | None]) -> SourceChanges:
    """Compare the items of a project with those that its source lists now; None has no content."""
    stamps, root = project.items.get_stamps(), project.media_root
    places = {item.id: at for at, item in enumerate(listed) if item is not None}
    uploaded = project.uploaded_rows
    changed, removed = {}, []
    for old in project.items:
        if old.id not in places:
            if not any(start <= old.row < end for start, end in uploaded):
                removed.append(old.id)
            continue
        at = places.pop(old.id)
        now = listed[at]
        assert now is not None
        is_other_file = bool(
            now.media is not None and stamps.get(old.row) and stamps[old.row] != make_stamp(root / now.media)
        )
        # Of a row, the features also decide, since some digits are not shown.
        is_other = old.cells != now.cells if old.kind == "row" else not _are_equal(old, now)
        if _get_content(now) != _get_content(old) or is_other_file or is_other:
            changed[at] = old.row
    return SourceChanges(tuple(sorted(places.values())), changed, tuple(removed))


def check_places(project: Project, listed: Sequence[Item | None], changes: SourceChanges) -> None:
    """Raise an error if rows have moved in a table without ids, where the id is the number of the row.

    Answers would then be about other rows. A row has moved if it now has the content of other rows, one of
    which has changed or is gone now, or if it was gone and is back with other content.
    """
    was_gone = set(project.gone)
    now_gone = [id for id in changes.removed if id not in was_gone]
    left = {*changes.maybe_changed.values(), *project.items.get_rows(now_gone)}
    in_project = list(project.items)
    exact: dict[Any, list[Item]] = {}
    rounded: dict[Any, list[Item]] = {}
    for old in in_project:
        exact.setdefault(_make_key(old), []).append(old)
        rounded.setdefault(_make_key(old, is_rounded=True), []).append(old)
    advice = (
        "The project has no column of ids, so answers would be about other rows. Restore the order and the "
        "rows that are gone, and add rows after them; or create a project with --id, in which rows may move "
        "and be removed."
    )
    for at, row in changes.maybe_changed.items():
        item, before = listed[at], in_project[row]
        assert item is not None
        if _get_content(item) == _get_content(before) and _are_equal(before, item):
            continue
        if item.id in was_gone:
            raise LikewiseError(
                f"row {item.id} of {project.source} was gone and is back with other content; expected what "
                f"it had. {advice}"
            )
        # The digits shown differ only if the range of the column has changed.
        owners = exact.get(_make_key(item)) or rounded.get(_make_key(item, is_rounded=True), [])
        moved = [owner for owner in owners if owner.row in left]
        if moved and row not in {owner.row for owner in owners}:
            raise LikewiseError(
                f"rows of {project.source} have moved: row {item.id} now has the content of row "
                f"{moved[0].id}. {advice}"
            )


def _make_key(item: Item, *, is_rounded: bool = False) -> tuple[Any, ...]:
    """Return the content of an item; if rounded, with no more digits than are shown in every column."""
    cells = tuple((name, _round(value) if is_rounded else value) for name, value in item.cells)
    return (*_get_content(item), *cells)


def _round(value: str) -> str:
    number, digits = _read_number(value)
    return value if digits is None else f"{number:.{_count_decimals(number)}f}"


def _read_number(value: str) -> tuple[float, int | None]:
    """Return a number and the decimals that are known of it; None if the text is not a finite number."""
    try:
        number = float(value)
    except ValueError:
        return 0.0, None
    if not math.isfinite(number):
        return number, None
    mantissa, _, exponent = value.lower().partition("e")
    shown = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return number, max(shown, _count_decimals(number))


def _count_decimals(number: float) -> int:
    """Return how many decimals are shown in every column: four digits are, and all before the point."""
    return max(3 - math.floor(math.log10(abs(number))), 0) if number else 0


def _get_content(item: Item) -> tuple[Any, ...]:
    return item.text, item.media, item.part


def _are_equal(old: Item, now: Item) -> bool:
    """Return True if the cells are equal but for the digits shown, which depend on the whole column."""
    return len(old.cells) == len(now.cells) and all(
        one == other or (one[0] == other[0] and _are_close(one[1], other[1]))
        for one, other in zip(old.cells, now.cells, strict=True)
    )


def _are_close(first: str, second: str) -> bool:
    """Return True if two texts may show the same number with different digits.

    >>> _are_close("5000.12", "5000"), _are_close("5001", "5000"), _are_close("2.5", "2.54")
    (True, False, False)
    """
    (one, digits), (other, more) = _read_number(first), _read_number(second)
    if digits is None or more is None:
        return False
    if digits == more:
        return one == other
    return abs(one - other) <= 0.5 * 10.0 ** -min(digits, more) * (1 + 1e-6)


def add_from_source(
    project: Project,
    listed: Sequence[Item | None],
    changes: SourceChanges,
    places: Sequence[int],
    X: npt.NDArray[Any],
) -> tuple[Project, AddedItems]:
    """Add new items and replace changed ones; `places` and `X` are those whose features could be computed.

    An item whose text, file name, cells and features are as before did not change.
    """
    check_additions_allowed(project)
    features = dict(zip(places, X, strict=True))
    is_folder, has_truth = project.source.is_dir(), project.described.has_truth
    old, n = project.load_features(), project.items.n
    items: list[Item] = []
    for at in changes.new:
        item = listed[at]
        if item is not None and at in features:
            truth = _find_folder(item) if is_folder and has_truth else item.truth
            items.append(replace(item, row=n + len(items), truth=truth))
    replaced: list[Item] = []
    for at, row in changes.maybe_changed.items():
        item, before = listed[at], project.items.get(row)
        if item is None or at not in features:
            continue
        shown = _get_content(item) == _get_content(before) and _are_equal(before, item)
        if not shown or not np.allclose(features[at], old[row], rtol=1e-3, atol=1e-4):
            replaced.append(replace(item, row=row, truth=before.truth if is_folder else item.truth))
    was_gone, is_gone = set(project.gone), set(changes.removed)
    done = AddedItems(
        tuple(i.id for i in items),
        tuple(i.id for i in replaced),
        tuple(id for id in changes.removed if id not in was_gone),
        tuple(id for id in project.gone if id not in is_gone),
    )
    if not items and not replaced:
        return project.keep_comparison(changes.removed), done
    place_of = {item.id: at for at, item in enumerate(listed) if item is not None}
    project = project.add_items(
        np.array([features[place_of[item.id]] for item in items]).reshape(-1, old.shape[1]),
        items,
        changed={item.row: features[place_of[item.id]] for item in replaced},
        changed_items=replaced,
        gone=changes.removed,
    )
    return project, done


def _find_folder(item: Item) -> str | None:
    """Return the folder of a file, which is its class if each class has a folder."""
    return (item.media or "").rpartition("/")[0] or None


def check_additions_allowed(project: Project) -> None:
    """Raise an error if the items of a project are fixed."""
    if project.settings.study is not None:
        raise LikewiseError(
            "the items of a study are fixed, because its questions were drawn from them. Create another "
            "project for more items."
        )
