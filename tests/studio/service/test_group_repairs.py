"""Repairs of many items: one event each, which is derived, undone, exported and imported as one."""

import json

import pytest

from likewise.exceptions import BadRequestError, NotFoundError
from likewise.studio._repairs import read_repair, resolve_repairs
from likewise.studio.exports import Snapshot, export_bytes
from likewise.studio.imports import import_answers
from studio.service.desk import new_key


@pytest.fixture
def ann(desk):
    return desk.person("Ann")


def rows_of(desk, *items):
    return desk.project.items.get_rows(items)


def group_of(desk, item):
    """Return the number of the group that an item is in; -1 for none."""
    return int(desk.hub.picture.shown_labels[desk.project.items.get_row(item)])


def repair(desk, person, act, *items, groups=()):
    stated = desk.studio.repairs.repair(
        person, key=new_key(), act=act, rows=rows_of(desk, *items), groups=list(groups)
    )
    desk.settle()
    return stated


def repairs_of(desk):
    return [event for event in desk.hub.log.get_events() if event.kind == "repair"]


# ---------------------------------------------------------------------- moves, splits and merges


FROM_B = {"act": "move", "items": ["a"], "target": "x", "from": [{"reference": "b", "items": ["a"]}]}


@pytest.mark.parametrize(
    ("repairs", "relations"),
    [
        # The reference of the group that a left is moved as well: nothing separates them any more.
        ([FROM_B, {"act": "move", "items": ["b"], "target": "x"}], [("x", "a", True), ("x", "b", True)]),
        (
            [
                {
                    "act": "split",
                    "items": ["a", "b"],
                    "target": "a",
                    "from": [{"reference": "y", "items": ["a", "b"]}],
                },
                {"act": "merge", "items": ["a", "y"], "target": "a"},
            ],
            [("a", "b", True), ("a", "y", True)],
        ),
        ([FROM_B, {"act": "shelve", "items": ["a"]}], []),
        # The others of a move stay together if the item that they were moved to is shelved.
        (
            [{"act": "move", "items": ["a", "b"], "target": "x"}, {"act": "shelve", "items": ["x"]}],
            [("a", "b", True)],
        ),
    ],
)
def test_later_repairs_replace_what_earlier_ones_state(repairs, relations):
    found = resolve_repairs([(1, body) for body in repairs])
    assert [relation for one in found for relation in one] == relations


@pytest.mark.parametrize("broken", [5, [["r"]], [{"reference": "q"}], [{"items": ["a"]}]])
def test_a_repair_with_a_malformed_origin_is_refused(broken):
    def find_id(item):
        if not isinstance(item, str):
            raise ValueError(f"{item!r} is no id")
        return item

    with pytest.raises(ValueError, match=r"'from'|is no id"):
        read_repair(["a"], {"act": "move", "target": "x", "from": broken}, find_id)


def test_items_move_together_and_come_back_with_one_undo(desk, ann):
    before = desk.hub.picture.labels.tolist()
    target = group_of(desk, "b0")
    stated = repair(desk, ann, "move", "a0", "a1", groups=[target])
    assert stated["message"] == f"2 items belong to group {target + 1}."
    assert [group_of(desk, item) for item in ("a0", "a1", "b0")] == [target] * 3
    assert group_of(desk, "a2") != target
    (event,) = repairs_of(desk)
    assert len(event.relations) == 4  # two per item, never all pairs
    assert event.body["from"][0]["items"] == ["a0", "a1"]
    desk.undo(ann)
    desk.settle()
    assert desk.hub.picture.labels.tolist() == before


def test_a_split_adds_a_group_and_an_undo_removes_it(desk, ann):
    assert repair(desk, ann, "split", "a0", "a1")["message"] == "2 items are a new group."
    assert len(desk.hub.picture.groups) == desk.groups.show_all()["wanted"] == 3
    assert group_of(desk, "a0") == group_of(desk, "a1")
    assert len({group_of(desk, item) for item in ("a0", "a2", "b0")}) == 3
    desk.undo(ann)
    desk.settle()
    assert len(desk.hub.picture.groups) == desk.groups.show_all()["wanted"] == 2


def test_several_groups_become_one(open_studio):
    desk = open_studio(n_clusters=4)
    numbers = [group.number for group in desk.hub.picture.groups][:3]
    names = f"Group {numbers[0] + 1}, group {numbers[1] + 1}"
    stated = repair(desk, desk.owner, "merge", groups=numbers)
    assert stated["message"] == f"{names} and group {numbers[2] + 1} are one group."
    assert len(desk.hub.picture.groups) == 2
    (event,) = repairs_of(desk)
    assert len(event.relations) == 2


def test_the_last_repair_of_an_item_counts(desk, ann):
    b = group_of(desk, "b0")
    repair(desk, ann, "split", "a0", "a1", "a2")
    repair(desk, ann, "move", "a0", groups=[b])  # the first of the new group, which the others refer to
    assert group_of(desk, "a0") == group_of(desk, "b0")
    assert group_of(desk, "a1") == group_of(desk, "a2") not in (group_of(desk, "a3"), group_of(desk, "b0"))
    repair(desk, ann, "move", "a0", groups=[group_of(desk, "a3")])
    assert group_of(desk, "a0") == group_of(desk, "a3")
    assert desk.groups.show_conflicts(ann)["conflicts"] == []
    assert group_of(desk, "a1") == group_of(desk, "a2") not in (group_of(desk, "a3"), group_of(desk, "b0"))


def test_a_moved_item_leaves_the_items_that_the_same_person_joined_it_with(desk, ann):
    for a, b in [("a0", "a1"), ("a0", "a2"), ("a1", "a3"), ("a2", "a3"), ("b0", "b1")]:
        desk.state(ann, a, b, "SAME")
    desk.state(ann, "a0", "b0", "DIFFERENT")
    desk.settle()
    seq = repair(desk, ann, "move", "a3", groups=[group_of(desk, "b0")])["seq"]
    assert group_of(desk, "a3") == group_of(desk, "b0") == group_of(desk, "b1")
    assert group_of(desk, "a0") == group_of(desk, "a1") == group_of(desk, "a2") != group_of(desk, "b0")
    assert desk.groups.show_conflicts(ann)["conflicts"] == []
    desk.asking.undo(ann, key=new_key(), of=seq)
    desk.settle()
    assert group_of(desk, "a3") == group_of(desk, "a0")


def test_a_move_keeps_answers_that_agree_with_it(desk, ann):
    desk.state(ann, "a0", "a1", "SAME")
    desk.state(ann, "a0", "b1", "SAME")  # a0 is in the group of a1 or of b1, but not in both
    desk.state(ann, "a1", "b1", "DIFFERENT")
    desk.settle()
    target = group_of(desk, "b1")
    other = "a1" if group_of(desk, "a0") == group_of(desk, "a1") else "a3"
    repair(desk, ann, "move", "a0", groups=[target])
    (event,) = repairs_of(desk)
    separated = {(item, one["reference"]) for one in event.body.get("from", ()) for item in one["items"]}
    assert ("a0", "b1") not in separated
    assert group_of(desk, "a0") == group_of(desk, "b1") != group_of(desk, other)


def test_a_repair_can_contain_all_members_of_the_group(desk, ann):
    target = group_of(desk, "a0")
    stated = repair(desk, ann, "move", *(f"a{k}" for k in range(4)), groups=[target])
    assert stated["new"]
    assert len({group_of(desk, f"a{k}") for k in range(4)}) == 1


def test_repairs_join_items_and_their_questions_are_not_asked(desk, ann):
    repair(desk, ann, "move", "a0", "a1", groups=[group_of(desk, "a2")])
    for (question,) in desk.ask_to_the_end(ann):
        shown = {item["id"] for item in question["items"]}
        assert len(shown & {"a0", "a1"}) < 2
        desk.asking.skip(ann, key=new_key(), question=question["id"], seconds=None)


# ---------------------------------------------------------------------- the shelf


def test_items_on_the_shelf_are_in_no_group_and_are_not_asked_about(desk, ann):
    number = group_of(desk, "a0")
    size = next(group.size for group in desk.hub.picture.groups if group.number == number)
    desk.ask(ann, 5)
    assert repair(desk, ann, "shelve", "a0", "a1")["message"] == "2 items belong to none of the groups."
    assert group_of(desk, "a0") == -1
    assert next(group.size for group in desk.hub.picture.groups if group.number == number) == size - 2
    shown = {item["id"] for group in desk.groups.show_all()["groups"] for item in group["typical"]}
    assert shown.isdisjoint({"a0", "a1"})
    assert desk.groups.show_all()["n_shelf"] == 2
    assert [item["id"] for item in desk.studio.repairs.show_shelf(0, 10)["items"]] == ["a1", "a0"]
    members = desk.groups.show_members(number, 0, 50, "typical")
    assert {item["id"] for item in members["items"]} == {"a2", "a3"}
    asked = set()
    for (question,) in desk.ask_to_the_end(ann):
        asked |= {item["id"] for item in question["items"]}
        desk.asking.skip(ann, key=new_key(), question=question["id"], seconds=None)
    assert asked
    assert asked.isdisjoint({"a0", "a1"})


@pytest.mark.parametrize("act", ["unshelve", "move"])
def test_items_come_off_the_shelf(desk, ann, act):
    number = group_of(desk, "a0")
    repair(desk, ann, "shelve", "a0", "b1")
    repair(desk, ann, act, "a0", groups=[number] if act == "move" else ())
    assert group_of(desk, "a0") == number
    assert desk.hub.log.get_shelf() == ("b1",)
    desk.undo(ann)
    desk.settle()
    assert set(desk.hub.log.get_shelf()) == {"a0", "b1"}
    again = desk.again()
    assert group_of(again, "a0") == -1
    assert group_of(again, "a1") == number
    again.close()


def test_everything_can_be_on_the_shelf(desk, ann):
    repair(desk, ann, "shelve", *desk.project.items.get_ids())
    assert desk.groups.show_all()["groups"] == []
    assert desk.ask(ann) == []


# ---------------------------------------------------------------------- requests


def test_wrong_repairs_are_refused(desk, ann):
    number = group_of(desk, "a0")

    def call(act, rows=(), groups=()):
        desk.studio.repairs.repair(ann, key=new_key(), act=act, rows=list(rows), groups=list(groups))

    for act, rows, groups in [
        ("move", [], [number]),
        ("move", [0], []),
        ("move", [0], [0, 1]),
        ("split", [0], [number]),
        ("merge", [], [number]),
        ("merge", [], [number, number]),
        ("merge", [1], [0, 1]),
        ("unshelve", [0], []),
        ("shelve", [], []),
    ]:
        with pytest.raises(BadRequestError):
            call(act, rows, groups)
    for act, rows, groups in [("move", [0], [77]), ("split", [8], []), ("merge", [], [0, 77])]:
        with pytest.raises(NotFoundError):
            call(act, rows, groups)
    assert repairs_of(desk) == []


def test_a_repeated_key_counts_once(desk, ann):
    key = new_key()
    first = desk.studio.repairs.repair(ann, key=key, act="shelve", rows=[0], groups=[])
    second = desk.studio.repairs.repair(ann, key=key, act="shelve", rows=[0], groups=[])
    assert second == {**first, "new": False}
    assert len(repairs_of(desk)) == 1


def test_people_see_and_undo_their_own_repairs(desk, ann):
    bob = desk.person("Bob")
    seq = repair(desk, ann, "shelve", "a0")["seq"]
    with pytest.raises(NotFoundError):
        desk.asking.undo(bob, key=new_key(), of=seq)
    assert desk.asking.show_history(bob, None, 10)["events"] == []
    (shown,) = desk.asking.show_history(ann, None, 10)["events"]
    assert shown["sentence"] == "a0 belongs to none of the groups."
    assert shown["can_undo"]
    assert shown["n_items"] == 1
    desk.asking.undo(desk.owner, key=new_key(), of=seq)
    assert desk.hub.log.get_shelf() == ()


def test_a_repair_that_contradicts_answers_is_shown_with_its_relation(desk, ann):
    for a, b, word in [("a0", "a1", "SAME"), ("b0", "b1", "SAME"), ("a1", "b1", "DIFFERENT")]:
        desk.state(ann, a, b, word)
    desk.settle()
    seq = repair(desk, ann, "merge", groups=[group_of(desk, "a0"), group_of(desk, "b0")])["seq"]
    (conflict,) = desk.groups.show_conflicts(ann)["conflicts"]
    shown = next((one for one in conflict["answers"] if one["seq"] == seq), None)
    assert shown is not None
    assert shown["relations"][0][2] == 1


# ---------------------------------------------------------------------- what moved, and search


def test_a_refit_says_what_moved_from_where_to_where(desk, ann):
    assert desk.studio.repairs.show_moves(0, 10)["n"] == 0
    a, b = group_of(desk, "a0"), group_of(desk, "b0")
    desk.groups.name_group(ann, b, key=new_key(), name="wrens")
    repair(desk, ann, "move", "a0", "a1", groups=[b])
    moved = desk.studio.repairs.show_moves(0, 10)
    assert (moved["n"], moved["n_repairs"], moved["n_answers"]) == (len(moved["items"]), 1, 0)
    found = {(one["item"]["id"], one["before"]["number"], one["after"]["name"]) for one in moved["items"]}
    assert found >= {("a0", a, "wrens"), ("a1", a, "wrens")}
    repair(desk, ann, "shelve", "b1")
    moved = desk.studio.repairs.show_moves(0, 10)["items"]
    assert next(one for one in moved if one["item"]["id"] == "b1")["after"] is None
    assert len(desk.studio.repairs.show_moves(1, 10)["items"]) == len(moved) - 1


def test_search_finds_what_is_shown_in_any_case(desk):
    found = desk.studio.repairs.search("TEXT OF A", 2)
    assert [one["item"]["id"] for one in found["items"]] == ["a0", "a1"]
    assert found["rows"] == rows_of(desk, "a0", "a1", "a2", "a3")
    assert found["items"][0]["group"] == group_of(desk, "a0")
    for nothing in ("", "   ", "%", "_0", "text%a", "\x00"):
        assert desk.studio.repairs.search(nothing, 10)["rows"] == []


# ---------------------------------------------------------------------- export and import


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_repairs_survive_export_and_import(open_studio, tmp_path, format):
    desk = open_studio(n_clusters=2)
    ann = desk.person("Ann")
    repair(desk, ann, "split", "a0", "a1")
    repair(desk, ann, "move", "b1", "b2", groups=[group_of(desk, "a3")])
    repair(desk, ann, "shelve", "a2", "b3")
    repair(desk, ann, "unshelve", "b3")
    repair(desk, ann, "merge", groups=[group_of(desk, "a0"), group_of(desk, "b0")])
    undone = repair(desk, ann, "shelve", "b0")["seq"]
    desk.asking.undo(ann, key=new_key(), of=undone)
    desk.settle()
    ids = desk.project.items.get_ids()
    snapshot = Snapshot.from_store(desk.studio.store)
    path = tmp_path / f"answers.{format}"
    path.write_bytes(export_bytes("answers", snapshot, ids, format=format))
    assert import_answers(desk.studio.store, ids, path).n_new == 0  # they are there already

    other = open_studio(n_clusters=2)
    read = import_answers(other.studio.store, ids, path)
    assert (read.n_read, read.n_new) == (5, 5)
    assert read.notes == ("Left out: 1 answer that had been undone.",)
    other.hub.refresh()
    other.settle()
    assert other.hub.log.get_shelf() == desk.hub.log.get_shelf() == ("a2",)
    pairs = set(zip(*(one.hub.picture.shown_labels.tolist() for one in (desk, other)), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})  # the same groups
    stated = [(event.body["items"], event.relations) for event in repairs_of(other)]
    assert stated == [(event.body["items"], event.relations) for event in repairs_of(desk)[:5]]
    labels = export_bytes("labels", Snapshot.from_store(other.studio.store), ids, other.hub.picture).decode()
    assert next(line for line in labels.splitlines() if line.startswith("a2,")).startswith("a2,,,")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"act": "burn"}, "is not a repair"),
        ({"act": "move"}, "needs its target"),
        ({"act": "move", "target": "zz"}, "zz"),
        ({"act": "move", "target": "b0", "more": 1}, "is not a repair"),
        ({"act": "split", "from": [{"reference": "b0", "items": ["b1"]}]}, "is not in the repair"),
        ({"act": "merge", "apart": ["a0"]}, "must not contain the target"),
        ("SAME", "not valid JSON"),
        (["move"], "not a repair"),
    ],
)
def test_a_wrong_repair_in_a_file_is_refused(desk, tmp_path, answer, reason):
    path = tmp_path / "answers.jsonl"
    line = {"kind": "repair", "a": "a0", "b": "a1", "answer": answer}
    path.write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(Exception, match=reason):
        import_answers(desk.studio.store, desk.project.items.get_ids(), path)
