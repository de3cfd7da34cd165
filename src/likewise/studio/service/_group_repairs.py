"""Repair the groups: many items at a time, each repair one event; and what the last refits moved."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._words import truncate
from likewise.exceptions import BadRequestError, NotFoundError
from likewise.studio._repairs import MOST_REPAIRED, RepairAct, describe_repair
from likewise.studio._stored_events import is_informative
from likewise.studio.items import ItemFile
from likewise.studio.records import Person, Picture, StoredEvent
from likewise.studio.service import _views as views
from likewise.studio.service._group_pages import find_references, get_color
from likewise.studio.service._hub import Hub
from likewise.studio.service._profile import LONGEST_LEVEL
from likewise.studio.service._questions_and_answers import QuestionsAndAnswers
from likewise.tables import is_plain_number

MOST_FOUND = 2_000  # items that a search returns
_MOST_APART = 50  # other groups that a new group is apart from, the largest first
_KEPT_REFITS = 20
_KEPT_COLUMNS = 8
_NONE = 255  # a cell that is neither a number nor one of the levels


@dataclass(frozen=True, eq=False)
class Moves:
    """The rows that changed their group between the pictures of two seqs; -1 is no group."""

    since: int
    seq: int
    rows: npt.NDArray[np.int64]
    before: npt.NDArray[np.int32]
    after: npt.NDArray[np.int32]


class GroupRepairs:
    """Accepts repairs, and shows the shelf, search results and what moved.

    Parameters
    ----------
    hub : Hub
        The latest derived state.
    items : ItemFile
        The items.
    asking : QuestionsAndAnswers
        Shows items and names of groups.
    """

    def __init__(self, hub: Hub, items: ItemFile, asking: QuestionsAndAnswers) -> None:
        self._hub = hub
        self._items = items
        self._asking = asking
        self._last: Picture | None = None
        self._refits: deque[Moves] = deque(maxlen=_KEPT_REFITS)
        self._columns: dict[tuple[str, int], tuple[bytes, str]] = {}

    # ------------------------------------------------------------------ repairs

    def repair(
        self, person: Person, *, key: str, act: RepairAct, rows: Sequence[int], groups: Sequence[int] = ()
    ) -> views.StatedView:
        """Store a repair as one event, and return a sentence about it once it is on disk.

        Parameters
        ----------
        person : Person
            Who repairs.
        key : str
            Identifies the repair; a repeated key counts once.
        act : {"move", "split", "merge", "shelve", "unshelve"}
            What to do; see :mod:`likewise.studio._repairs`.
        rows : sequence of int
            The items; none for a merge.
        groups : sequence of int
            The group that the items belong to, or the groups to merge.
        """
        before: StoredEvent | None = self._hub.store.read(lambda tx: tx.get_event_by_key(key))
        if before is not None and before.person == person.id and before.body.get("act") == act:
            return {"seq": before.seq, "new": False, "message": str(before.body["why"])}
        rows, groups = list(dict.fromkeys(rows)), list(dict.fromkeys(groups))
        self._check(act, rows, groups)
        body = self._merge(groups) if act == "merge" else self._repair_items(person, act, rows, groups)
        body["source"] = "groups"
        return self._asking.store_repair(person, key, body)

    def _check(self, act: RepairAct, rows: Sequence[int], groups: Sequence[int]) -> None:
        """Raise an error if these are not the items and groups of such a repair."""
        if act == "merge" and (rows or len(groups) < 2):
            raise BadRequestError("A merge takes groups, not items.", "Choose at least two groups.")
        if act != "merge" and not rows:
            raise BadRequestError("No items are selected.", "Select at least one.")
        if act != "merge" and len(groups) != int(act == "move"):
            raise BadRequestError(
                "Items are moved to one group." if act == "move" else "This repair is not about a group.",
                "Reload the page.",
            )
        if len(rows) > MOST_REPAIRED:
            raise BadRequestError(
                f"A repair can have at most {MOST_REPAIRED:,} items; got {len(rows):,}.",
                "Repair them in parts.",
            )
        for row in rows:
            if not 0 <= row < self._items.n:
                raise NotFoundError(f"There is no item {row}; there are {self._items.n}, numbered from 0.")
        if act == "unshelve":
            shelf = set(self._hub.log.get_shelf())
            if not all(item.id in shelf for item in self._items.get_items(rows)):
                raise BadRequestError("Some of these items are in a group already.", "Reload the page.")

    def _repair_items(
        self, person: Person, act: RepairAct, rows: Sequence[int], groups: Sequence[int]
    ) -> dict[str, Any]:
        items = {row: item.id for row, item in zip(rows, self._items.get_items(rows), strict=True)}
        titles = [view["title"] for view in self._asking.make_item_views(rows[:1])] * len(rows)
        body: dict[str, Any] = {"act": act, "items": list(items.values())}
        if act in ("shelve", "unshelve"):
            return {**body, "why": describe_repair(act, titles)}
        picture = self._hub.get_picture()
        body["why"] = describe_repair(act, titles, *(self._get_name(picture, group) for group in groups))
        labels = picture.shown_labels
        taken: dict[int, list[int]] = {}
        for row in items:
            if row < len(labels) and labels[row] >= 0 and labels[row] not in groups:
                taken.setdefault(int(labels[row]), []).append(row)
        references = find_references(picture, self._hub.log, self._items, but=items)
        if act == "move":
            (number,) = groups
            if number not in references:  # all members of the group are among the items
                own = (row for row in items if row < len(labels) and labels[row] == number)
                references[number] = next(own, rows[0])
            body["target"] = self._items.get(references[number]).id
        else:
            body["target"] = body["items"][0]
            sizes = {group.number: group.size for group in picture.groups}
            others = sorted((one for one in references if one not in taken), key=lambda one: -sizes[one])
            body["apart"] = self._get_ids([references[one] for one in others[:_MOST_APART]])
        main = {
            items[row]: self._items.get(references[one]).id
            for one, those in taken.items()
            if one in references
            for row in those
        }
        left: dict[str, list[str]] = {}
        for item, other in [*self._find_joined(person, set(main), picture), *main.items()]:
            if item not in left.setdefault(other, []):
                left[other].append(item)
        body["from"] = [{"reference": other, "items": those} for other, those in left.items()]
        return body

    def _find_joined(self, person: Person, leaving: set[str], picture: Picture) -> list[tuple[str, str]]:
        """Return pairs of an item that leaves its group and one that stays, which the person had joined.

        The repair separates these, too: separated from one item of its group alone, an item might stay in the
        group while that item moves.
        """
        log, found = self._hub.log, dict[tuple[str, str], None]()
        for event in log.get_not_undone("answer", person=person.id):
            for first, second, together in event.relations if log.is_last_answer(event) else ():
                if together and (first in leaving) != (second in leaving):
                    found[(first, second) if first in leaving else (second, first)] = None
        labels = picture.shown_labels
        group_of = {
            item: int(labels[row]) if row < len(labels) else -1
            for item in {item for pair in found for item in pair}
            for row in (self._items.get_row(item),)
        }
        return [(item, other) for item, other in found if group_of[item] == group_of[other]]

    def _merge(self, groups: Sequence[int]) -> dict[str, Any]:
        picture = self._hub.get_picture()
        names = [self._get_name(picture, group) for group in groups]
        references = find_references(picture, self._hub.log, self._items)
        ids = self._get_ids([references[number] for number in groups])
        body = {"act": "merge", "items": ids, "target": ids[0]}
        return {**body, "why": describe_repair("merge", names)}

    def _get_ids(self, rows: Sequence[int]) -> list[str]:
        return [item.id for item in self._items.get_items(rows)]

    def _get_name(self, picture: Picture, number: int) -> str:
        """Return the name of a group of a picture, in quotation marks, or its number."""
        if all(group.number != number for group in picture.groups):
            raise NotFoundError(
                f"There is no group {number}.", "Groups change with the answers; reload the page."
            )
        name = self._asking.get_group_names().get(number)
        return f"group {number + 1}" if name is None else f"“{name}”"

    # ------------------------------------------------------------------ the shelf and the search

    def show_shelf(self, offset: int, limit: int) -> views.MembersView:
        """Return the items that belong to no group, the latest first."""
        shelf = self._hub.log.get_shelf()[::-1]
        rows = self._items.get_rows(shelf[offset : offset + limit])
        return {"items": self._asking.make_item_views(rows), "total": len(shelf)}

    def search(self, text: str, limit: int) -> views.FoundView:
        """Return the items whose id, title, text or cells contain a text; case is ignored.

        Only what pages show is searched, so that a search does not reveal a true class.
        """
        wanted = text.strip().casefold()
        if not wanted:
            return {"items": [], "rows": [], "more": False}
        found: list[views.ItemView] = []
        for item in self._items.search(wanted):
            view = views.make_item_view(self._asking.veil(item))
            parts = [view["id"], view["title"], view["text"] or "", *(value for _, value in view["cells"])]
            if any(wanted in part.casefold() for part in parts):
                found.append(view)
                if len(found) > MOST_FOUND:
                    break
        picture = self._hub.picture
        labels: Sequence[int] = [] if picture is None else picture.shown_labels.tolist()
        return {
            "items": [{"item": view, "group": _get_group(labels, view["row"])} for view in found[:limit]],
            "rows": [view["row"] for view in found[:MOST_FOUND]],
            "more": len(found) > MOST_FOUND,
        }

    # ------------------------------------------------------------------ what moved

    def note_picture(self, picture: Picture) -> None:
        """Compare a new picture with the one before it."""
        last, self._last = self._last, picture
        if last is None or last.seq == picture.seq:
            return
        n = min(len(last.labels), len(picture.labels))
        before, after = last.shown_labels[:n], picture.shown_labels[:n]
        rows = np.flatnonzero(before != after)
        if len(rows):
            self._refits.append(Moves(last.seq, picture.seq, rows, before[rows], after[rows]))

    def show_moves(self, offset: int, limit: int) -> views.MovesView:
        """Return the items that changed their group with the last refit that moved any."""
        if not self._refits:
            return {"seq": 0, "n": 0, "n_answers": 0, "n_repairs": 0, "items": []}
        moves = self._refits[-1]
        names = self._asking.get_group_names()

        def label(number: int) -> views.GroupLabelView | None:
            if number < 0:
                return None
            return {"number": number, "name": names.get(number), "color": get_color(number)}

        part = slice(offset, offset + limit)
        shown = self._asking.make_item_views(moves.rows[part].tolist())
        pairs = zip(moves.before[part].tolist(), moves.after[part].tolist(), strict=True)
        causes = [event for event in self._hub.log.get_events(moves.since) if event.seq <= moves.seq]
        return {
            "seq": moves.seq,
            "n": len(moves.rows),
            "n_answers": sum(is_informative(event) for event in causes),
            "n_repairs": sum(event.kind == "repair" for event in causes),
            "items": [
                {"item": item, "before": label(was), "after": label(now)}
                for item, (was, now) in zip(shown, pairs, strict=True)
            ],
        }

    # ------------------------------------------------------------------ colour by a column

    def forget_columns(self) -> None:
        """Read columns again, after items have changed."""
        self._columns.clear()

    def get_column(self, column: views.ColumnView) -> tuple[bytes, str]:
        """Return a column as one byte per item, and whether it has numbers or levels.

        Numbers are scaled to 0 to 254 over the usual range of the column. A level is its index in the list of
        the column. 255 is any other value.
        """
        at = column["name"], self._items.n
        if at not in self._columns:
            while len(self._columns) >= _KEPT_COLUMNS:
                self._columns.pop(next(iter(self._columns)))
            codes = np.fromiter(_encode(self._items.get_cells(column["name"]), column), np.uint8)
            self._columns[at] = codes.tobytes(), "levels" if column["low"] is None else "numbers"
        return self._columns[at]


def _get_group(labels: Sequence[int], row: int) -> int | None:
    number = int(labels[row]) if row < len(labels) else -1
    return None if number < 0 else number


def _encode(cells: Iterator[str], column: views.ColumnView) -> Iterator[int]:
    """Return the cells of a column as numbers from 0 to 255; see :meth:`GroupRepairs.get_column`."""
    low, high = column["low"], column["high"]
    if low is None or high is None:
        place = {level: at for at, level in enumerate(column["levels"][:_NONE])}
        return (place.get(truncate(cell.strip(), LONGEST_LEVEL), _NONE) for cell in cells)
    scale = (_NONE - 1) / (high - low) if high > low else 0.0
    numbers = (float(cell) if is_plain_number(cell) else math.nan for cell in cells)
    return (
        _NONE if math.isnan(number) else round((min(max(number, low), high) - low) * scale)
        for number in numbers
    )
