"""Counting: budgets, disputes, undo by the owner, repeated requests."""

import pytest

from patience import wait_until
from studio.service.desk import new_key

pytest.importorskip("sqlalchemy")


def answer_all(desk, people, word, rounds=60):
    """Let people answer in turn; return whether all of them finished."""
    for _ in range(rounds):
        shown = [(person, desk.asking.give_questions(person, 1)) for person in people]
        if all(one["state"] == "finished" for _, one in shown):
            return True
        for person, one in shown:
            for question in one["questions"]:
                desk.answer(person, question, word(person, question))
        desk.settle()
    return False


@pytest.mark.parametrize("overlap", [1, 2])
def test_prefetched_questions_do_not_exceed_the_budget(open_studio, overlap):
    desk = open_studio(20, budget=5, overlap=overlap)
    ann = desk.person("Ann")
    waiting, n = desk.ask(ann, 3), 0
    while waiting:
        waiting = desk.answer(ann, waiting[0], desk.true_word(waiting[0]))["next"]
        n += 1
        desk.settle()
    assert n == 5
    assert desk.asking.give_questions(ann, 3)["state"] == "finished"
    assert desk.asking.give_questions(desk.person("Bob"), 3)["state"] == "finished"


@pytest.mark.parametrize("overlap", [1, 2])
def test_people_who_answer_concurrently_share_the_rest_of_a_budget(open_studio, overlap):
    desk = open_studio(20, budget=5, overlap=overlap)
    people = [desk.person(name) for name in ("Ann", "Bob", "Cem")]
    assert sum(len(desk.ask(person, 3)) for person in people) == 5


def test_the_rest_of_a_budget_is_released_when_a_person_leaves(open_studio):
    desk = open_studio(20, budget=2)
    ann, bob = desk.person("Ann"), desk.person("Bob")
    assert len(desk.ask(ann, 3)) == 2
    assert desk.ask(bob, 3) == []
    desk.clock.now += 10_000
    # At once, or as soon as the queue is filled again.
    wait_until(lambda: len(desk.ask(bob, 3)) == 2, "two free questions")


def test_a_disputed_answer_implies_nothing(open_studio):
    """Ann answers SAME, Bob DIFFERENT to everything: nothing follows, so everything is asked."""
    desk = open_studio(6, overlap=2)
    ann, bob = desk.person("Ann"), desk.person("Bob")
    assert answer_all(desk, [ann, bob], lambda person, _: "SAME" if person == ann else "DIFFERENT")


def test_the_answers_of_an_unreliable_person_imply_nothing(open_studio):
    """What only they answered does not count, so further questions are asked."""
    desk = open_studio(12, overlap=1)
    ann, bob, cem, dan = (desk.person(name) for name in ("Ann", "Bob", "Cem", "Dan"))
    ids = [f"{letter}{i}" for letter in "ab" for i in range(6)]
    pairs = [(a, b) for at, a in enumerate(ids) for b in ids[at + 1 :]][:30]
    for a, b in pairs:
        true, false = ("SAME", "DIFFERENT") if a[0] == b[0] else ("DIFFERENT", "SAME")
        for person in (ann, bob, cem):
            desk.state(person, a, b, true)
        desk.state(dan, a, b, false)
    desk.state(dan, "a5", "b5", "SAME")
    desk.settle()
    assert answer_all(desk, [ann, bob], lambda _, question: desk.true_word(question))


def test_an_answer_undone_by_the_owner_no_longer_counts_for_the_overlap(open_studio):
    desk = open_studio(8, overlap=2)
    ann = desk.person("Ann")
    (asked,) = desk.ask(ann, 1)
    done = desk.answer(ann, asked, desk.true_word(asked))
    desk.undo(desk.owner, of=done["seq"])
    n_answers = desk.studio.store.read(
        lambda tx: tx._connection.exec_driver_sql(
            "SELECT n_answers FROM questions WHERE id = ?", (asked["id"],)
        ).scalar_one()
    )
    assert n_answers == 0


def test_a_repeated_statement_about_groups_counts_once_after_the_groups_changed(open_studio):
    desk = open_studio(12)
    ann = desk.person("Ann")
    sent = {}
    group = desk.groups.show_all()["groups"][0]
    row = group["doubtful"][0]["row"] if group["doubtful"] else group["typical"][-1]["row"]
    calls = {
        "not_here": lambda key: desk.groups.remove_item(ann, group["number"], key=key, row=row),
        "belongs": lambda key: desk.groups.add_item(ann, 1, key=key, row=row),
        "name": lambda key: desk.groups.name_group(ann, group["number"], key=key, name="owls"),
        "merge": lambda key: desk.studio.repairs.repair(ann, key=key, act="merge", rows=[], groups=[0, 1]),
    }
    for name, call in calls.items():
        key = new_key()
        sent[name] = key, call(key)
        desk.settle()
    for name, (key, first) in sent.items():
        again = calls[name](key)
        assert (again["seq"], again["new"]) == (first["seq"], False)
    assert len(desk.events("answer", "name", "repair")) == 4


def test_a_late_repeated_undo_does_not_affect_the_new_answer(open_studio):
    desk = open_studio(8)
    ann = desk.person("Ann")
    (asked,) = desk.ask(ann, 1)
    done, key = desk.answer(ann, asked, "SAME"), new_key()
    again = desk.undo(ann, of=done["seq"], key=key)["question"]
    assert again["id"] == asked["id"]
    assert desk.undo(ann, of=done["seq"], key=key)["question"]["id"] == asked["id"]
    desk.answer(ann, again, "DIFFERENT")
    assert desk.undo(ann, of=done["seq"], key=key)["question"] is None
    assert asked["id"] not in [question["id"] for question in desk.ask(ann, 3)]
