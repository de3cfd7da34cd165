"""The groups as people see them (names, members, examples, contradictions), and corrections of them."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from likewise.exceptions import BadRequestError, NotFoundError
from likewise.studio._stored_events import LiveEventLog
from likewise.studio.items import ItemFile
from likewise.studio.records import (
    Conflict,
    Group,
    Item,
    NewEvent,
    Person,
    Picture,
    StoredEvent,
    SuspectAnswer,
)
from likewise.studio.service import _views as views
from likewise.studio.service._accounts import clean_name
from likewise.studio.service._hub import Hub
from likewise.studio.service._questions_and_answers import QuestionsAndAnswers

Found = TypeVar("Found", Conflict, SuspectAnswer)
_EXAMPLES = 6  # per group in the reference book
_SHOWN = 12  # typical and doubtful members per card
# Okabe and Ito (2008), distinguishable with any colour vision; then hues far from each other.
_FIRST_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#7a5195")


def get_color(number: int) -> str:
    """Return the colour of a group.

    >>> get_color(0), get_color(8) != get_color(9)
    ('#0072b2', True)
    """
    if number < len(_FIRST_COLORS):
        return _FIRST_COLORS[number]
    hue = (0.13 + (number - len(_FIRST_COLORS)) * 0.6180339887) % 1.0
    light = (0.42, 0.55, 0.34)[number % 3]
    parts = colorsys.hls_to_rgb(hue, light, 0.6)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def suggest_unused_names(suggested: Mapping[int, str], names: Mapping[int, str]) -> dict[int, str]:
    """Return suggestions for groups without a name, without names in use or suggested twice.

    >>> suggest_unused_names({0: "card", 1: "refund", 2: "refund", 3: "login"}, {0: "Cards", 4: "Login"})
    {}
    >>> suggest_unused_names({0: "card", 1: "refund"}, {})
    {0: 'card', 1: 'refund'}
    """
    used = Counter(name.casefold() for name in [*suggested.values(), *names.values()])
    return {
        group: name for group, name in suggested.items() if group not in names and used[name.casefold()] == 1
    }


def find_references(
    picture: Picture, log: LiveEventLog, items: ItemFile, but: Container[int] = ()
) -> dict[int, int]:
    """Return the row that represents each group: the one that answers join to most others, or a typical one.

    Rows in `but` are left out, and so are groups without other rows.
    """
    labels, sizes = picture.shown_labels, log.count_joined()
    found: dict[int, tuple[int, int]] = {}
    for size, row in zip(sizes.values(), items.get_rows(list(sizes)), strict=True):
        number = int(labels[row]) if row < len(labels) else -1
        if size > 1 and number >= 0 and row not in but:
            found[number] = max(found.get(number, (0, 0)), (size, -row))
    references = {number: -row for number, (_, row) in found.items()}
    for group in picture.groups:
        if group.number not in references:
            rows = (row for row in group.typical if row not in but)
            members = (row for row in np.flatnonzero(labels == group.number).tolist() if row not in but)
            if (one := next(chain(rows, members), None)) is not None:
                references[group.number] = one
    return references


class GroupPages:
    """Shows groups and accepts statements about them."""

    def __init__(self, hub: Hub, items: ItemFile, asking: QuestionsAndAnswers) -> None:
        self._hub = hub
        self._items = items
        self._asking = asking

    def _get_group(self, number: int) -> Group:
        for group in self._hub.get_picture().groups:
            if group.number == number:
                return group
        raise NotFoundError(
            f"There is no group {number}.", "Groups change with the answers; reload the page."
        )

    # ------------------------------------------------------------------ views

    def show_all(self) -> views.GroupsView:
        """Return all groups with a few members each."""
        picture = self._hub.picture
        if picture is None:
            return {"seq": 0, "groups": [], "n_shelf": 0, "wanted": None}
        names, described = self._asking.get_group_names(), self._hub.descriptions
        suggested = suggest_unused_names(described.names, names)
        return {
            "seq": picture.seq,
            "groups": [
                {
                    "number": group.number,
                    "name": names.get(group.number),
                    "size": group.size,
                    "color": get_color(group.number),
                    "description": list(described.phrases.get(group.number, ())),
                    "suggestion": suggested.get(group.number),
                    "typical": self._asking.make_item_views(group.typical[:_SHOWN]),
                    "doubtful": self._asking.make_item_views(group.doubtful[:_SHOWN]),
                }
                for group in picture.groups
            ],
            "n_shelf": len(picture.shelf),
            "wanted": self._asking.count_wanted_groups(),
        }

    def show_members(self, number: int, offset: int, limit: int, order: str) -> views.MembersView:
        """Return members of a group, most typical or most doubtful first."""
        self._get_group(number)
        picture = self._hub.get_picture()
        rows = np.flatnonzero(picture.shown_labels == number)
        doubt = picture.doubt[rows]
        rows = rows[np.argsort(doubt if order == "typical" else -doubt, kind="stable")]
        return {
            "items": self._asking.make_item_views(rows[offset : offset + limit].tolist()),
            "total": len(rows),
        }

    def show_reference(self, person: Person) -> views.ReferenceView:
        """Return examples: of the true classes in a study, chosen by the owner, or of the groups so far."""
        examples = self._asking.get_examples()
        if examples is not None:
            book: list[views.ReferenceGroupView] = [
                {"name": name, "items": self._asking.make_item_views([self._items.get_row(item)])}
                for name, item in examples
            ]
            return {"groups": book, "given": True}
        if chosen := self._asking.get_chosen_examples():
            return {"groups": chosen, "given": True}
        picture = self._hub.picture
        if picture is None or self._asking.hides_groups(person):
            return {"groups": [], "given": False}
        names = self._asking.get_group_names()
        return {
            "groups": [
                {
                    "name": names.get(group.number, f"Group {group.number + 1}"),
                    "items": self._asking.make_item_views(group.typical[:_EXAMPLES]),
                }
                for group in picture.groups
            ],
            "given": False,
        }

    # ------------------------------------------------------------------ statements

    def name_group(self, person: Person, number: int, *, key: str, name: str) -> views.StatedView:
        """Name a group. The name belongs to the group's most typical item and moves with it."""
        name = clean_name(name, "The name of a group")
        if before := self._find_earlier(person, key, name=name):
            return {"seq": before.seq, "new": False, "message": f"The group is now called {name}."}
        item = self._items.get(self._get_group(number).typical[0])
        body = {"item": item.id, "name": name}
        event, new = self._hub.add_event(NewEvent(key, "name", person.id, body))
        return {"seq": event.seq, "new": new, "message": f"The group is now called {name}."}

    def remove_item(self, person: Person, number: int, *, key: str, row: int) -> views.StatedView:
        """State that an item does not belong to its group: it is apart from the group's most typical item."""
        return self._store_statement(person, number, key, row, "DIFFERENT")

    def add_item(self, person: Person, number: int, *, key: str, row: int) -> views.StatedView:
        """State that an item belongs to a group: it is together with the group's most typical item."""
        return self._store_statement(person, number, key, row, "SAME")

    def _store_statement(
        self, person: Person, number: int, key: str, row: int, answer: str
    ) -> views.StatedView:
        item = self._asking.get_item(row)
        before = self._find_earlier(person, key, source="groups", answer=answer)
        if before is not None and item.id in before.body["items"]:
            return {"seq": before.seq, "new": False, "message": str(before.body["why"])}
        group = self._get_group(number)
        middle = self._find_middle(group, but=row)
        statement = "belong together" if answer == "SAME" else "do not belong together"
        return self._asking.store_pair(
            person,
            key=key,
            items=(item.id, middle.id),
            answer="SAME" if answer == "SAME" else "DIFFERENT",
            why=f"{item.title} and {middle.title} {statement}.",
        )

    def _find_middle(self, group: Group, but: int | None = None) -> Item:
        """Return the item that represents a group; a statement about it applies to all joined to it."""
        picture = self._hub.get_picture()
        references = find_references(picture, self._hub.log, self._items, but=() if but is None else (but,))
        if group.number not in references:
            raise BadRequestError("The group has no other member to compare it with.")
        return self._items.get(references[group.number])

    def _find_earlier(self, person: Person, key: str, **statement: str) -> StoredEvent | None:
        """Return this person's earlier statement with this key. It counts once, even if groups changed."""
        event: StoredEvent | None = self._hub.store.read(lambda tx: tx.get_event_by_key(key))
        if event is None or event.person != person.id:
            return None
        return event if all(event.body.get(name) == value for name, value in statement.items()) else None

    # ------------------------------------------------------------------ contradictions

    def show_conflicts(self, person: Person) -> views.ConflictsView:
        """Return contradictions: all for the owner, for others those among their own answers."""
        picture, log = self._hub.picture, self._hub.log
        shown, hidden = self._list_visible(
            picture.conflicts if picture else (), person, lambda event: not log.is_undone(event.seq)
        )
        conflicts: list[views.ConflictView] = [
            {
                "items": self._asking.make_item_views(conflict.rows),
                "chain": self._asking.make_item_views(conflict.chain),
                "answers": answers,
            }
            for conflict, answers in shown
        ]
        return {"conflicts": conflicts, "hidden": hidden}

    def show_suspect_answers(self, person: Person) -> views.SuspectAnswersView:
        """Return answers that look wrong: all for the owner, for others their own."""
        picture, log = self._hub.picture, self._hub.log

        def is_open(event: StoredEvent) -> bool:
            if not log.is_last_answer(event):
                return False
            return not (log.is_asked_again(event) or log.is_confirmed(event.seq))

        shown, hidden = self._list_visible(picture.suspects if picture else (), person, is_open)
        suspects: list[views.SuspectAnswerView] = [
            {
                "items": self._asking.make_item_views(suspect.rows),
                "answers": answers,
                "chance": suspect.chance,
                "n_against": suspect.n_against,
                "n_near": suspect.n_near,
            }
            for suspect, answers in shown
        ]
        return {"suspects": suspects, "hidden": hidden}

    def _list_visible(
        self, found: Iterable[Found], person: Person, is_open: Callable[[StoredEvent], bool]
    ) -> tuple[list[tuple[Found, list[views.EventView]]], int]:
        """Return what is still open since the last fit, with its answers, and how much others may not see."""
        shown, hidden = [], 0
        for one in found:
            events = [event for seq in one.events if (event := self._hub.log.get(seq)) is not None]
            if not all(is_open(event) for event in events):
                continue
            if person.role == "owner" or all(event.person == person.id for event in events):
                among = self._find_ids(one) if any(event.kind == "repair" for event in events) else ()
                shown.append((one, [self._asking.show_event(event, person, among) for event in events]))
            else:
                hidden += 1
        return shown, hidden

    def _find_ids(self, found: Conflict | SuspectAnswer) -> frozenset[str]:
        chain = found.chain if isinstance(found, Conflict) else ()
        return frozenset(item.id for item in self._items.get_items([*found.rows, *chain]))

    # ------------------------------------------------------------------ the map

    def get_points(self) -> tuple[bytes, str]:
        """Return map positions as little-endian float32, and the method that computed them."""
        layout, picture = self._hub.layout, self._hub.picture
        if layout is None or (picture is not None and len(picture.labels) != len(layout.xy)):
            raise NotFoundError(
                "There is no map yet.", "It appears within seconds of the start; wait a moment."
            )
        return layout.xy.astype("<f4").tobytes(), f"{layout.method};{'final' if layout.final else 'first'}"

    def get_labels(self) -> tuple[bytes, int]:
        """Return the group of each item as little-endian uint16, and the seq on which it is based.

        Items on the shelf have 65,535.
        """
        picture = self._hub.get_picture()
        return picture.shown_labels.astype("<u2").tobytes(), picture.seq

    def get_doubt(self) -> tuple[bytes, int]:
        """Return how doubtful each item is, from 0 to 255."""
        picture = self._hub.get_picture()
        levels: npt.NDArray[np.uint8] = np.clip(picture.doubt * 255, 0, 255).astype(np.uint8)
        return levels.tobytes(), picture.seq

    def get_links(self, person: Person) -> list[tuple[int, int, int]]:
        """Return pairs answered together (1) or apart (0): all for the owner, for others their own."""
        if person.role == "owner":
            links = self._hub.picture.links.tolist() if self._hub.picture else []
            return [(int(i), int(j), int(is_together)) for i, j, is_together in links]
        mine = self._hub.log.get_not_undone("answer", "repair", person=person.id)
        related = [relation for event in mine for relation in event.relations]
        ids = list({id for relation in related for id in relation[:2]})
        row_of = dict(zip(ids, self._items.get_rows(ids), strict=True))
        return [(row_of[i], row_of[j], int(is_together)) for i, j, is_together in related]
