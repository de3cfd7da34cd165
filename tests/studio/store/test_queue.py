"""Questions and leases, on both databases."""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from likewise._reasons import Reason
from likewise.exceptions import BadValueError
from likewise.studio.records import QueuedQuestion
from likewise.studio.store._queue import _reason_from_text
from patience import PATIENCE

from .twin import TwinQueue


def pairs(*ids):
    return [QueuedQuestion(id, "pair", (f"{id}/a", f"{id}/ü"), 0.5, Reason("why not")) for id in ids]


def get_question_ids(store, person, n=1, *, now=0.0, until=10.0, overlap=1):
    """The ids of the questions that a person gets."""
    leased = store.write(lambda t: t.lease(person, n, now=now, until=until, overlap=overlap))
    assert all(end == until for _, end in leased)
    return [question.id for question, _ in leased]


def test_queued_questions_are_returned_unchanged(store, people):
    reason = Reason("{Row} is near to {rows:2}; of {{}} and 50%.", ("ä", "b", "c"))
    asked = [*pairs("q1"), QueuedQuestion("q2", "triplet", ("ä", "b", "c"), reason=reason)]
    store.write(lambda t: t.refill(asked))
    assert [store.read(lambda t, id=id: t.get_question(id)) for id in ("q1", "q2", "q3")] == [*asked, None]
    assert store.write(lambda t: t.lease(people[0], 5, now=0.0, until=9.0, overlap=1)) == [
        (asked[0], 9.0),
        (asked[1], 9.0),
    ]


def test_a_reason_stored_as_a_sentence_is_read():
    for text in ("Item a has no cluster yet.", "", "{odd", '{"json": 1}'):
        assert str(_reason_from_text(text)) == text


def test_two_people_get_different_questions(store, people):
    ann, bob, cem = people
    store.write(lambda t: t.refill(pairs("a", "b", "c", "d")))
    assert get_question_ids(store, ann, 2) == ["a", "b"]
    assert get_question_ids(store, bob, 2) == ["c", "d"]
    assert get_question_ids(store, cem, 2) == []
    assert get_question_ids(store, ann, 2, until=20.0) == ["a", "b"], "asking again gives the same"
    assert get_question_ids(store, cem, 2, now=15.0) == ["c", "d"], "bob's have ended, ann's were renewed"


def test_an_answered_question_is_not_asked_again(store, people):
    ann, bob, _ = people
    store.write(lambda t: t.refill(pairs("a", "b")))
    assert get_question_ids(store, ann, 1) == ["a"]
    store.write(lambda t: t.mark_answered("a", ann))
    assert get_question_ids(store, ann, 5, now=100.0, until=110.0) == ["b"]
    assert get_question_ids(store, bob, 5, now=100.0, until=110.0) == []
    assert store.read(lambda t: t.get_question("a")) is not None, "it can still be looked up"


def test_with_overlap_each_question_goes_to_two_people(store, people):
    ann, bob, cem = people
    store.write(lambda t: t.refill(pairs("a")))
    assert get_question_ids(store, ann, overlap=2) == ["a"]
    store.write(lambda t: t.mark_answered("a", ann))
    store.write(lambda t: t.mark_answered("a", ann))
    assert get_question_ids(store, ann, overlap=2) == [], "never twice to the same"
    store.write(lambda t: t.refill(pairs("z")))
    assert get_question_ids(store, bob, overlap=2) == ["a"], "what is begun is finished first"
    assert get_question_ids(store, cem, overlap=2) == ["z"]
    store.write(lambda t: t.mark_answered("a", bob))
    assert get_question_ids(store, cem, 5, overlap=2) == ["z"]


def test_a_skipped_question_goes_to_others(store, people):
    ann, bob, _ = people
    store.write(lambda t: t.refill(pairs("a")))
    get_question_ids(store, ann)
    store.write(lambda t: t.mark_skipped("a", ann))
    assert get_question_ids(store, ann) == []
    assert get_question_ids(store, bob) == ["a"]


def test_an_undone_question_can_be_answered_again(store, people):
    ann, bob, _ = people
    store.write(lambda t: t.refill(pairs("a", "b")))
    get_question_ids(store, ann, 2)
    store.write(lambda t: (t.mark_answered("a", ann), t.mark_skipped("b", ann)))
    assert get_question_ids(store, ann, 2) == []
    back = {"now": 1.0, "until": 30.0, "overlap": 1}
    store.write(lambda t: (t.reopen("a", ann, **back), t.reopen("b", ann, **back)))
    assert get_question_ids(store, bob, 2) == []
    assert get_question_ids(store, ann, 2) == ["a", "b"]
    store.write(lambda t: t.mark_answered("a", ann))
    assert get_question_ids(store, bob, 2, now=50.0) == ["b"]


def test_an_undone_skip_does_not_exceed_the_overlap(store, people):
    ann, bob, cem = people
    store.write(lambda t: t.refill(pairs("a")))
    get_question_ids(store, ann, overlap=2)
    store.write(lambda t: t.mark_skipped("a", ann))
    for other in (bob, cem):
        assert get_question_ids(store, other, overlap=2) == ["a"]
        store.write(lambda t, other=other: t.mark_answered("a", other))
    store.write(lambda t: t.reopen("a", ann, now=1.0, until=30.0, overlap=2))
    assert not store.read(lambda t: t.is_leased("a", ann))
    store.write(lambda t: t.reopen("a", bob, now=1.0, until=30.0, overlap=2))
    assert store.read(lambda t: t.is_leased("a", bob))  # the place of an undone answer is free


def test_a_released_question_is_free(store, people):
    ann, bob, _ = people
    store.write(lambda t: t.refill(pairs("a", "b", "c")))
    get_question_ids(store, ann, 3)
    store.write(lambda t: t.release(ann, ["b"]))
    assert get_question_ids(store, bob, 3) == ["b"]
    store.write(lambda t: t.release(bob))
    store.write(lambda t: t.release(ann))
    assert get_question_ids(store, bob, 3) == ["a", "b", "c"]


def test_past_leases_are_remembered(store, people):
    ann, bob, _ = people
    store.write(lambda t: t.refill(pairs("a")))
    get_question_ids(store, ann)
    store.write(lambda t: t.release(ann))
    assert store.read(lambda t: t.was_leased("a", ann))
    assert not store.read(lambda t: t.was_leased("a", bob))
    assert not store.read(lambda t: t.was_leased("z", ann))


def test_open_leases_are_listed(store, people):
    ann, bob, _ = people
    store.write(lambda t: t.refill(pairs("a", "b", "c")))
    get_question_ids(store, bob, 1, until=5.0, overlap=2)
    get_question_ids(store, ann, 2, overlap=2)
    assert store.read(lambda t: t.open_leases(3.0)) == pairs("a", "b")
    assert store.read(lambda t: t.open_leases(7.0)) == pairs("a", "b")
    store.write(lambda t: t.mark_answered("a", ann))
    assert store.read(lambda t: t.open_leases(7.0)) == pairs("b")
    assert store.read(lambda t: t.open_leases(10.0)) == []


def test_a_refill_keeps_held_and_answered_questions(store, people):
    ann, bob, cem = people
    store.write(lambda t: t.refill(pairs("held", "begun", "skipped", "free")))
    get_question_ids(store, ann, 1)
    get_question_ids(store, bob, 2)
    store.write(lambda t: (t.mark_answered("begun", bob), t.mark_skipped("skipped", bob)))
    store.write(lambda t: t.refill(pairs("new", "held")))
    known = {
        id
        for id in ("held", "begun", "skipped", "free", "new")
        if store.read(lambda t, id=id: t.get_question(id))
    }
    assert known == {"held", "begun", "skipped", "new"}, "what somebody has seen can be looked up"
    assert get_question_ids(store, cem, 9, overlap=2) == ["held", "begun", "new"]
    assert get_question_ids(store, ann, 9, overlap=2) == ["held", "new"], "two have the other"


def test_a_refill_replaces_expired_leases_given_the_time(store, people):
    ann, bob, _ = people
    store.write(lambda t: t.refill(pairs("a")))
    get_question_ids(store, ann, until=10.0)
    store.write(lambda t: t.refill(pairs("b")))
    store.write(lambda t: t.refill(pairs("c"), now=10.0))
    assert get_question_ids(store, bob, 9, now=10.0, until=20.0) == ["c"]
    assert store.read(lambda t: t.get_question("a")) == pairs("a")[0], "a late answer still finds it"
    store.write(lambda t: t.mark_answered("a", ann))
    store.write(lambda t: t.refill([]))
    assert get_question_ids(store, bob, 9, now=30.0, until=40.0) == ["c"]


def test_bad_questions_are_refused_and_nothing_changes(store, people):
    store.write(lambda t: t.refill(pairs("a")))
    bad = [
        QueuedQuestion("", "pair", ("a", "b")),
        QueuedQuestion("x" * 201, "pair", ("a", "b")),
        QueuedQuestion("x", "tray", ("a", "b")),
        QueuedQuestion("x", "pair", ("a", "\0")),
        QueuedQuestion("x", "pair", ("a", "\ud800")),
        QueuedQuestion("x", "pair", ("a", "b"), float("nan")),
        QueuedQuestion("x", "pair", ("a", "b"), 1.0, Reason("\0")),
    ]
    for question in bad:
        with pytest.raises(BadValueError):
            store.write(lambda t, question=question: t.refill([question]))
    assert get_question_ids(store, people[0], 5) == ["a"]


def test_invalid_values_are_refused(store, people):
    store.write(lambda t: t.refill(pairs("a")))
    with pytest.raises(BadValueError, match="no question z"):
        store.write(lambda t: t.mark_answered("z", people[0]))
    with pytest.raises(BadValueError, match="no person 77"):
        store.write(lambda t: t.mark_skipped("a", 77))
    for change in ({"n": -1}, {"n": 2**64}, {"overlap": 0}, {"now": float("nan")}, {"until": float("inf")}):
        choice = {"n": 1, "now": 0.0, "until": 1.0, "overlap": 1, **change}
        with pytest.raises(BadValueError):
            store.write(lambda t, choice=choice: t.lease(people[0], **choice))


@pytest.mark.parametrize("overlap", [1, 2])
def test_concurrent_leases_never_exceed_the_overlap(store, overlap):
    n_people, n_questions = 20, 240 // overlap
    who = [store.write(lambda t, i=i: t.add_person(f"P{i}", "annotator")).id for i in range(n_people)]
    names = [f"q{i}" for i in range(n_questions)]
    store.write(lambda t: t.refill(pairs(*names)))
    start, count, wanted = threading.Barrier(n_people), threading.Lock(), n_questions * overlap
    got, deadline = Counter(), time.monotonic() + PATIENCE

    def take(person):
        n_mine = 0
        start.wait()
        while sum(got.values()) < wanted and time.monotonic() < deadline:
            mine = get_question_ids(store, person, n_mine + 3, overlap=overlap)
            assert len(set(mine)) == len(mine)
            with count:
                got.update(mine[n_mine:])  # held questions come first
            n_mine = len(mine)

    with ThreadPoolExecutor(n_people) as pool:
        list(pool.map(take, who))
    assert set(got.values()) == {overlap}
    assert len(got) == n_questions


@pytest.mark.parametrize("seed", range(3))
def test_the_queue_equals_the_reference_implementation(store, people, seed):
    draw, twin, now, serial = random.Random(seed), TwinQueue(), 0.0, 0
    overlap = draw.choice([1, 2, 3])
    for _ in range(120):
        person, now = draw.choice(people), now + draw.random()
        until = now + draw.choice([0.5, 3.0, 10.0])
        seen = [id for id, who in twin.leases if who == person] or [None]
        id = draw.choice(sorted(seen, key=str))
        match draw.choice(["refill", "answered", "answered", "skipped", "reopen", "release", *["lease"] * 5]):
            case "refill":
                fresh = [f"q{serial + i}" for i in range(draw.randrange(4))]
                serial += len(fresh)
                again = draw.sample(sorted(twin.questions), min(2, len(twin.questions)))
                new, at = pairs(*fresh, *again), draw.choice([None, now])
                call = ("refill", (new,), {"now": at})
            case "lease":
                choice = {"now": now, "until": until, "overlap": overlap}
                call = ("lease", (person, draw.randrange(5)), choice)
            case "release":
                call = ("release", (person, draw.choice([None, [id or "q0"]])), {})
            case "reopen" if id:
                call = ("reopen", (id, person), {"now": now, "until": until, "overlap": overlap})
            case ("answered" | "skipped") as word if id:
                call = (word, (id, person), {})
            case _:
                continue
        name, values, named = call
        ours = store.write(
            lambda t, name=name, v=values, k=named: getattr(
                t, {"answered": "mark_answered", "skipped": "mark_skipped"}.get(name, name)
            )(*v, **k)
        )
        assert ours == getattr(twin, name)(*values, **named), call
        assert store.read(lambda t, now=now: t.open_leases(now)) == twin.open_leases(now)
    for id in [f"q{i}" for i in range(serial)]:
        assert store.read(lambda t, id=id: t.get_question(id)) == twin.question(id)
        for who in people:
            assert store.read(lambda t, id=id, who=who: t.was_leased(id, who)) == twin.was_leased(id, who)
