"""Repairs of the groups as stored events: the links they imply, the shelf, and validation.

A repair is one event about any number of items. Its body has ``act`` and ``items``, and

- "move": the items belong to the group of ``target``, an item of that group;
- "split": the items are a new group; ``target`` is the first of them;
- "merge": the items represent groups that are one; ``target`` is the first of them;
- "shelve": the items belong to no group; "unshelve": they are to be grouped again.

If a person repairs an item again, only the last repair of it counts; earlier repairs that used the item to
represent its former group use another member instead (:func:`resolve_repairs`).

``from`` has, for each group that items were taken from, an item of that group (``reference``) and the
``items`` taken; before it, other items of that group with the items that the person had joined them with.
``apart`` has one item of each group that the group of the target differs from. This module
imports neither NumPy nor scikit-learn, because the server of the studio must start without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from likewise._event_log import KnownRelations

RepairAct = Literal["move", "split", "merge", "shelve", "unshelve"]
MOST_REPAIRED = 5_000  # items in one repair
STATED = ("act", "target", "from", "apart")  # what a repair states about its items
_LINKING = ("move", "split", "merge")
Relation = tuple[str, str, bool]


def list_repair_relations(body: Mapping[str, Any]) -> list[Relation]:
    """Return the pairs of items that a repair relates, each with whether they belong together.

    There are at most two per item, one per other group and one per earlier answer, never all pairs.

    >>> list_repair_relations({"act": "move", "items": ["a", "b"], "target": "x",
    ...                        "from": [{"reference": "y", "items": ["a"]}]})
    [('x', 'a', True), ('x', 'b', True), ('a', 'y', False)]
    """
    if body["act"] not in _LINKING:
        return []
    target = body["target"]
    found = [(target, item, True) for item in body["items"] if item != target]
    for taken in body.get("from", ()):
        found += [(item, taken["reference"], False) for item in taken["items"]]
    return found + [(target, reference, False) for reference in body.get("apart", ())]


def resolve_repairs(repairs: Sequence[tuple[int, Mapping[str, Any]]]) -> list[list[Relation]]:
    """Return the relations that each repair still states, given all repairs that count.

    Parameters
    ----------
    repairs : sequence of (int, mapping)
        Who made each repair, and its body, in the order in which they were made.

    Returns
    -------
    list of list of (str, str, bool)
        The relations of each repair. An item that the same person repaired later is left out. If it
        represented a group that it was taken from later, another member of that group takes its place. Groups
        that the person merged later are no longer apart.

    Examples
    --------
    >>> first = {"act": "split", "items": ["a", "b", "c"], "target": "a"}
    >>> again = {"act": "move", "items": ["a"], "target": "x", "from": [{"reference": "b", "items": ["a"]}]}
    >>> resolve_repairs([(1, first), (1, again)])
    [[('b', 'c', True)], [('x', 'a', True), ('a', 'b', False)]]
    """
    histories: dict[int, _LaterRepairs] = {}
    found: list[list[Relation]] = []
    for person, body in reversed(repairs):
        found.append(histories.setdefault(person, _LaterRepairs()).resolve(body))
    return found[::-1]


class _LaterRepairs:
    """The repairs of one person, from the last one back to some moment."""

    def __init__(self) -> None:
        self._repaired: set[str] = set()  # items that were moved, split off or shelved
        self._replacements: dict[str, str] = {}  # what represents a group instead of an item taken from it
        self._known = KnownRelations()

    def _replace(self, item: str) -> str | None:
        """Return what represents the group of an item at that moment; None if all who did were repaired."""
        found = self._replacements.get(item, item)
        return None if found in self._repaired else found

    def resolve(self, body: Mapping[str, Any]) -> list[Relation]:
        """Return the relations that the repair before these still states, and add it to them."""
        act, relations = body["act"], list[Relation]()
        if act in _LINKING:
            relations = self._list_relations(body)
            for a, b, together in relations:
                if together:
                    self._known.join(a, b)
            # Groups that were merged later are no longer apart.
            relations = [one for one in relations if one[2] or not self._known.are_joined(one[0], one[1])]
        if act in ("move", "split"):
            for taken in body.get("from", ()):
                if (reference := self._replace(taken["reference"])) is not None:
                    self._replacements.update(dict.fromkeys(taken["items"], reference))
        if act in ("move", "split", "shelve"):
            self._repaired.update(body["items"])
        return relations

    def _list_relations(self, body: Mapping[str, Any]) -> list[Relation]:
        if body["act"] == "merge":
            items = [one for item in body["items"] if (one := self._replace(item)) is not None]
        else:
            items = [item for item in body["items"] if item not in self._repaired]
        target = self._replace(body["target"]) or next(iter(items), None)
        if target is None:
            return []
        taken = [
            {"reference": one, "items": [item for item in taken["items"] if item not in self._repaired]}
            for taken in body.get("from", ())
            if (one := self._replace(taken["reference"])) is not None
        ]
        apart = [one for item in body.get("apart", ()) if (one := self._replace(item)) is not None]
        now = {"act": body["act"], "items": items, "target": target, "from": taken, "apart": apart}
        return [(a, b, together) for a, b, together in list_repair_relations(now) if a != b]


def describe_repair(act: RepairAct, items: Sequence[str], group: str = "") -> str:
    """Return a repair as a sentence.

    Parameters
    ----------
    act : str
        What it does.
    items : sequence of str
        The names of its items, or of the groups that it merges.
    group : str, default=""
        The name of the group that the items are moved to.

    Examples
    --------
    >>> describe_repair("move", ["a", "b"], "“owls”")
    '2 items belong to “owls”.'
    >>> describe_repair("merge", ["“owls”", "group 2", "group 5"])
    '“owls”, group 2 and group 5 are one group.'
    """
    is_one = len(items) == 1
    some = items[0] if is_one else f"{len(items):,} items"
    if act == "merge":
        sentence = f"{', '.join(items[:-1])} and {items[-1]} are one group."
        return sentence[:1].upper() + sentence[1:]
    if act == "move":
        return f"{some} belong{'s' * is_one} to {group}."
    if act == "split":
        return f"{some} {'is' if is_one else 'are'} a new group."
    if act == "shelve":
        return f"{some} belong{'s' * is_one} to none of the groups."
    return f"{some} can be in a group again."


def update_shelf(shelf: dict[str, None], body: Mapping[str, Any]) -> None:
    """Put the items of a repair on the shelf, or take them off; any act but "shelve" takes them off."""
    if body["act"] == "shelve":
        shelf.update(dict.fromkeys(body["items"]))
    else:
        for item in body["items"]:
            shelf.pop(item, None)


def fill_shelf(bodies: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    """Return the items on the shelf after some repairs, in the order in which they were put there."""
    shelf: dict[str, None] = {}
    for body in bodies:
        update_shelf(shelf, body)
    return shelf


def count_new_groups(bodies: Iterable[Mapping[str, Any]]) -> int:
    """Return the change in the number of groups: a split adds one, a merge of m groups subtracts m - 1."""
    change = {"split": lambda items: 1, "merge": lambda items: 1 - len(items)}
    return sum(change[body["act"]](body["items"]) for body in bodies if body["act"] in change)


def read_repair(
    items: Iterable[str], answer: Mapping[str, Any], find_id: Callable[[Any], str]
) -> dict[str, Any]:
    """Return the body of a repair from a file; `find_id` returns the id of an item or raises an error."""
    body = {**answer, "items": [find_id(item) for item in items]}
    act, unknown = body.get("act"), set(answer) - set(STATED)
    if act not in get_args(RepairAct) or unknown:
        raise ValueError(
            f"{dict(answer)} is not a repair; its act is one of {', '.join(get_args(RepairAct))}."
        )
    if not 1 <= len(body["items"]) <= MOST_REPAIRED or len(set(body["items"])) < len(body["items"]):
        raise ValueError(f"a repair has 1 to {MOST_REPAIRED:,} different items.")
    if act not in _LINKING:
        return {"act": act, "items": body["items"]}
    if act == "move" and "target" not in answer:
        raise ValueError("a move needs its target, an item of the group.")
    body["target"] = find_id(body["target"]) if act == "move" else body["items"][0]
    entries, apart = body.get("from", ()), body.get("apart", ())
    if not isinstance(entries, list | tuple) or not isinstance(apart, list | tuple):
        raise ValueError("'from' and 'apart' must be lists.")
    if not all(isinstance(one, Mapping) and isinstance(one.get("items"), list | tuple) for one in entries):
        raise ValueError("'from' must be a list of objects with 'reference' and 'items'.")
    taken = [(find_id(one.get("reference")), list(map(find_id, one["items"]))) for one in entries]
    if any(set(those) - set(body["items"]) or one in those for one, those in taken):
        raise ValueError("'from' lists an item that is not in the repair, or that is its own reference.")
    body["from"] = [{"reference": one, "items": those} for one, those in taken]
    body["apart"] = [find_id(one) for one in apart]
    if body["target"] in body["apart"]:
        raise ValueError("'apart' must not contain the target.")
    if act == "merge" and len(body["items"]) < 2:
        raise ValueError("a merge needs at least two groups.")
    return {name: value for name, value in body.items() if value or name in ("act", "items")}
