"""Statements about groups, contradictions, and who may see which answers."""

import pytest

from likewise._event_log import KnownRelations
from likewise.exceptions import BadRequestError, ConflictError, NotFoundError
from likewise.studio.records import GroupDescriptions
from studio.service.desk import new_key


@pytest.fixture
def ann(desk):
    return desk.person("Ann")


def group_of(desk, item):
    """Return the number of the group that an item is in."""
    return int(desk.hub.picture.labels[desk.project.items.get_row(item)])


def get_group_names(desk):
    return {group["number"]: group["name"] for group in desk.groups.show_all()["groups"]}


def settle_answers(desk, person, *answers):
    """Store answers such as ("a0", "a1", "SAME"), and wait until they are processed."""
    for a, b, word in answers:
        desk.state(person, a, b, word)
    desk.settle()


# ---------------------------------------------------------------------- names


def test_a_name_follows_its_item(desk, ann):
    number = group_of(desk, "a0")
    typical = desk.groups.show_all()["groups"][0]["typical"][0]["id"]
    assert desk.groups.name_group(ann, group_of(desk, typical), key=new_key(), name="  owls ")["new"]
    assert get_group_names(desk)[group_of(desk, typical)] == "owls"
    # The groups change: the a's and the b's are joined, and a new item is separated from them.
    settle_answers(desk, ann, ("a0", "b0", "SAME"), ("a1", "b1", "SAME"), ("a0", "a3", "DIFFERENT"))
    assert get_group_names(desk)[group_of(desk, typical)] == "owls"
    assert number in get_group_names(desk)


def test_the_last_name_counts_and_can_be_undone(desk, ann):
    number = group_of(desk, "b0")
    for name in ("wrens", "Zaunkönige <b>"):
        desk.groups.name_group(ann, number, key=new_key(), name=name)
    assert get_group_names(desk)[number] == "Zaunkönige <b>"
    desk.undo(ann)
    assert get_group_names(desk)[number] == "wrens"
    desk.undo(ann)
    assert get_group_names(desk)[number] is None


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 101, "two\nlines", "\x00", "\u202eabc", "a\x1b[2J", "\ud800"]
)
def test_names_that_cannot_be_shown_are_refused(desk, ann, name):
    with pytest.raises(BadRequestError, match="The name of a group must"):
        desk.groups.name_group(ann, 0, key=new_key(), name=name)
    with pytest.raises(BadRequestError, match="The name of a person must"):
        desk.studio.people.add(name, "annotator")


def test_names_of_people_are_unique(desk, ann):
    with pytest.raises(BadRequestError, match="already a person called ANN"):
        desk.person("ANN")


# ---------------------------------------------------------------------- descriptions


def test_groups_are_described_and_pages_learn_of_changes_only(desk, ann):
    described = {group["number"]: group["description"] for group in desk.groups.show_all()["groups"]}
    # Each text is "text of a0" and so on: "text" occurs everywhere, and each of the names once.
    assert described == {group_of(desk, "a0"): ["text"], group_of(desk, "b0"): ["text"]}
    news = []
    desk.hub.watch(lambda name, content: news.append((name, content)))
    desk.hub._receive(GroupDescriptions(7, desk.hub.descriptions.phrases))
    assert news == []
    number = group_of(desk, "b0")
    desk.hub._receive(GroupDescriptions(8, {number: ("owl", "wren")}))
    assert news == [("descriptions", {"seq": 8})]
    described = {group["number"]: group["description"] for group in desk.groups.show_all()["groups"]}
    assert described == {group_of(desk, "a0"): [], number: ["owl", "wren"]}


# ---------------------------------------------------------------------- hints about groups


def test_not_here_separates_the_item_from_the_representative_of_its_group(desk, ann):
    number = group_of(desk, "a0")
    group = next(g for g in desk.groups.show_all()["groups"] if g["number"] == number)
    middle = group["typical"][0]["id"]
    item = group["typical"][-1]
    stated = desk.groups.remove_item(ann, number, key=new_key(), row=item["row"])
    assert stated["message"] == f"{item['id']} and {middle} do not belong together."
    body = desk.events("answer")[-1].body
    assert (body["items"], body["answer"]) == ([item["id"], middle], "DIFFERENT")
    assert (body["kind"], body["source"]) == ("pair", "groups")
    desk.settle()
    assert group_of(desk, item["id"]) != group_of(desk, middle)


def test_the_representative_itself_is_separated_from_the_next_member(desk, ann):
    group = desk.groups.show_all()["groups"][0]
    middle, second = group["typical"][:2]
    desk.groups.remove_item(ann, group["number"], key=new_key(), row=middle["row"])
    assert desk.events("answer")[-1].body["items"] == [middle["id"], second["id"]]


def test_belongs_joins_the_item_with_the_representative_of_the_group(desk, ann):
    number = group_of(desk, "a0")
    middle = next(g for g in desk.groups.show_all()["groups"] if g["number"] == number)["typical"][0]["id"]
    desk.groups.add_item(ann, number, key=new_key(), row=desk.project.items.get_row("b3"))
    body = desk.events("answer")[-1].body
    assert (body["items"], body["answer"]) == (["b3", middle], "SAME")
    desk.settle()
    assert group_of(desk, "b3") == group_of(desk, middle)


@pytest.mark.parametrize("number", [2, 65_535])
def test_unknown_groups_and_items_are_refused(desk, ann, number):
    with pytest.raises(NotFoundError, match=f"no group {number}"):
        desk.groups.remove_item(ann, number, key=new_key(), row=0)
    with pytest.raises(NotFoundError, match=f"no group {number}"):
        desk.groups.show_members(number, 0, 10, "typical")
    with pytest.raises(NotFoundError, match="no item 8"):
        desk.groups.add_item(ann, 0, key=new_key(), row=8)


def test_members_come_page_by_page_and_each_once(desk):
    for group in desk.groups.show_all()["groups"]:
        pages = [desk.groups.show_members(group["number"], at, 3, "typical") for at in (0, 3, 6)]
        rows = [item["row"] for page in pages for item in page["items"]]
        assert len(rows) == len(set(rows)) == group["size"] == pages[0]["total"]
        backwards = desk.groups.show_members(group["number"], 0, 60, "doubtful")["items"]
        assert {item["row"] for item in backwards} == set(rows)


# ---------------------------------------------------------------------- contradictions


def test_a_contradiction_is_listed_with_its_chain_and_ends_with_an_undo(desk, ann):
    settle_answers(desk, ann, ("a0", "a1", "SAME"), ("a1", "a2", "SAME"), ("a0", "a2", "DIFFERENT"))
    (conflict,) = desk.groups.show_conflicts(ann)["conflicts"]
    assert {item["id"] for item in conflict["items"]} == {"a0", "a2"}
    assert [item["id"] for item in conflict["chain"]] in (["a0", "a1", "a2"], ["a2", "a1", "a0"])
    assert sorted(event["answer"] for event in conflict["answers"]) == ["DIFFERENT", "SAME", "SAME"]
    assert all(event["can_undo"] for event in conflict["answers"])
    assert desk.asking.show_progress(ann)["conflicts"] == 1
    wrong = next(event for event in conflict["answers"] if event["answer"] == "DIFFERENT")
    desk.undo(ann, of=wrong["seq"])
    assert desk.groups.show_conflicts(ann)["conflicts"] == []  # at once, before the next fit
    desk.settle()
    assert desk.asking.show_progress(ann)["conflicts"] == 0


def test_two_people_who_disagree_are_a_contradiction(open_studio):
    desk = open_studio(overlap=2)
    ann, bob = desk.person("Ann"), desk.person("Bob")
    settle_answers(desk, ann, ("a0", "a1", "SAME"))
    settle_answers(desk, bob, ("a0", "a1", "DIFFERENT"))
    (conflict,) = desk.groups.show_conflicts(desk.owner)["conflicts"]
    assert {event["person"] for event in conflict["answers"]} == {"Ann", "Bob"}
    for person in (ann, bob):
        assert desk.groups.show_conflicts(person) == {"conflicts": [], "hidden": 1}
    # The question is not asked for ever, and the worker is not kept busy by it.
    tells = desk.teller.tells
    desk.settle()
    assert desk.teller.tells - tells < 10


# ---------------------------------------------------------------------- who sees what


def test_annotators_see_their_answers_and_the_owner_sees_all(desk, ann):
    bob = desk.person("Bob")
    settle_answers(desk, ann, ("a0", "a1", "SAME"))
    settle_answers(desk, bob, ("b0", "b1", "SAME"), ("a2", "b2", "DIFFERENT"))
    mine = desk.asking.show_history(ann, None, 50)["events"]
    assert [(event["person"], event["mine"], event["can_undo"]) for event in mine] == [("Ann", True, True)]
    every = desk.asking.show_history(desk.owner, None, 50)["events"]
    assert [event["person"] for event in every] == ["Bob", "Bob", "Ann"]
    assert all(event["can_undo"] and not event["mine"] for event in every)
    assert desk.groups.get_links(ann) == [(0, 1, 1)]
    assert sorted(desk.groups.get_links(bob)) == [(2, 6, 0), (4, 5, 1)]
    assert sorted(desk.groups.get_links(desk.owner)) == [(0, 1, 1), (2, 6, 0), (4, 5, 1)]


def test_history_comes_page_by_page(desk, ann):
    settle_answers(desk, ann, ("a0", "a1", "SAME"), ("a1", "a2", "SAME"), ("b0", "b1", "SAME"))
    first = desk.asking.show_history(ann, None, 2)
    assert first["more"] is True
    rest = desk.asking.show_history(ann, first["events"][-1]["seq"], 2)
    assert (len(rest["events"]), rest["more"]) == (1, False)
    seqs = [event["seq"] for event in first["events"] + rest["events"]]
    assert seqs == sorted(seqs, reverse=True)


def test_a_link_of_a_triplet_is_three_pairs(open_studio):
    desk = open_studio(ask="triplets")
    ann = desk.person("Ann")
    (question,) = desk.ask(ann, 1)
    desk.answer(ann, question, "AC")
    a, b, c = (item["row"] for item in question["items"])
    assert desk.groups.get_links(ann) == [(a, c, 1), (a, b, 0), (c, b, 0)]


def test_reliability_is_estimated_from_shared_questions(open_studio):
    desk = open_studio(overlap=2)
    ann, bob = desk.person("Ann"), desk.person("Bob")
    for person in (ann, bob):
        settle_answers(desk, person, ("a0", "a1", "SAME"), ("b0", "b1", "SAME"), ("a0", "b0", "DIFFERENT"))
    found = desk.studio.people.show_all()
    assert found["agreement"]["n_shared"] == 3
    assert found["agreement"]["observed"] == 1.0
    assert {one["name"]: one["n_answers"] for one in found["people"]} == {"owner": 0, "Ann": 3, "Bob": 3}


def test_nobody_locks_themselves_out(desk, ann):
    with pytest.raises(Exception, match="yourself"):
        desk.studio.people.set_active(desk.owner.id, False, desk.owner)
    with pytest.raises(NotFoundError, match="number 99"):
        desk.studio.people.set_active(99, False, desk.owner)


def test_a_locked_out_person_releases_their_questions(desk, ann):
    bob = desk.person("Bob")
    held = {question["id"] for question in desk.ask(ann, 10)}
    desk.studio.people.set_active(ann.id, False, desk.owner)
    assert held & {question["id"] for question in desk.ask(bob, 10)}


def test_an_undo_of_an_undo_is_refused(desk, ann):
    settle_answers(desk, ann, ("a0", "a1", "SAME"))
    seq = desk.undo(ann)["seq"]
    with pytest.raises((NotFoundError, ConflictError)):
        desk.undo(ann, of=seq)


def test_the_representative_of_a_group_is_joined_to_most_others():
    known = KnownRelations()
    for a, b in (("a", "b"), ("b", "c"), ("d", "e")):
        known.join(a, b)
    known.separate("c", "f")
    assert known.count_joined() == {"a": 3, "b": 3, "c": 3, "d": 2, "e": 2, "f": 1}
