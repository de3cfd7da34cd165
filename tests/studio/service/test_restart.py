"""A restarted studio has the same state: everything is derived from the events."""

import pytest

from studio.service.desk import new_key


@pytest.fixture
def before(open_studio):
    """A studio with events of every kind, and the people who use it."""
    desk = open_studio(12)
    ann, bob = desk.person("Ann"), desk.person("Bob")
    for person in (ann, bob, ann):
        question = desk.ask(person, 1)[0]
        desk.answer(person, question, desk.true_word(question))
        desk.settle()
    desk.undo(ann)
    desk.skip(bob, desk.ask(bob, 1)[0])
    desk.groups.name_group(ann, 0, key=new_key(), name="owls")
    desk.settle()
    return desk, ann, bob


def show_pages(desk, *people):
    """What people see, except the numbers of groups, which may change after a restart."""
    return [
        [desk.asking.show_history(person, None, 50) for person in people],
        {
            (group["name"], tuple(item["id"] for item in group["typical"]))
            for group in desk.groups.show_all()["groups"]
        },
        sorted(desk.groups.get_links(desk.owner)),
        desk.studio.people.show_all(),
    ]


def test_history_groups_and_names_are_the_same(before, request):
    desk, ann, bob = before
    seen = show_pages(desk, ann, bob, desk.owner)
    again = desk.again()
    request.addfinalizer(again.close)
    assert again.owner == desk.owner
    assert show_pages(again, ann, bob, again.owner) == seen


def test_held_questions_can_still_be_answered(before, request):
    desk, ann, bob = before
    mine, theirs = desk.ask(ann, 3), desk.ask(bob, 3)
    again = desk.again()
    request.addfinalizer(again.close)
    assert [q["id"] for q in again.ask(ann, len(mine))] == [q["id"] for q in mine]
    for person, questions in ((ann, mine), (bob, theirs)):
        for question in questions:
            assert again.answer(person, question, again.true_word(question))["new"]


def test_a_request_repeated_after_a_restart_counts_once(before, request):
    desk, ann, _ = before
    question, key = desk.ask(ann, 1)[0], new_key()
    first = desk.answer(ann, question, "SAME", key=key)
    again = desk.again()
    request.addfinalizer(again.close)
    repeated = again.answer(ann, question, "SAME", key=key)
    assert (repeated["seq"], repeated["new"]) == (first["seq"], False)


def test_sessions_survive_a_restart(before, request):
    desk, ann, _ = before
    _, session = desk.studio.people.log_in(desk.studio.people.make_link_token(ann.id))
    again = desk.again()
    request.addfinalizer(again.close)
    assert again.studio.people.find_by_session(session) == ann
