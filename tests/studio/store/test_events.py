"""Events, on both databases."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from likewise.exceptions import BadValueError, KeyReusedError, StoreError
from likewise.studio.records import NewEvent

BODY = {"kind": "pair", "items": ["ü.png", "b\n.png"], "answer": "SAME", "source": "question", "score": 0.5}


def test_a_stored_event_equals_the_new_one(store, people):
    ann = people[0]
    event, new = store.write(lambda t: t.append(NewEvent("k1", "answer", ann, BODY, "q1", 2.5)))
    assert new
    assert (event.seq, event.key, event.kind, event.person) == (1, "k1", "answer", ann)
    assert (event.body, event.question, event.seconds) == (BODY, "q1", 2.5)
    assert event.time.endswith("+00:00")
    assert store.read(lambda t: t.get_event_by_key("k1")) == event
    assert store.read(lambda t: t.get_event_by_key("k2")) is None
    assert store.read(lambda t: t.get_events()) == [event]
    assert store.read(lambda t: t.get_last_seq()) == 1


def test_an_empty_table_has_no_events(store):
    assert store.read(lambda t: t.get_last_seq()) == 0
    assert store.read(lambda t: t.get_events()) == []


def test_a_repeated_event_counts_once(store, people):
    given = NewEvent("k1", "skip", people[0], {"b": 1, "a": (1, None)}, "q1", 1)
    again = NewEvent("k1", "skip", people[0], {"a": [1, None], "b": 1}, "q1", 1.0)
    first, new = store.write(lambda t: t.append(given))
    assert new
    assert store.write(lambda t: t.append(again)) == (first, False)
    assert store.read(lambda t: t.get_last_seq()) == 1


OTHERS = [
    {"kind": "skip"},
    {"person": 2},
    {"question": "q2"},
    {"question": None},
    {"seconds": 3.0},
    {"seconds": None},
    {"body": {"a": 2}},
]


def test_a_key_cannot_be_used_for_two_events(store, people):
    given = {
        "key": "k1",
        "kind": "answer",
        "person": people[0],
        "body": {"a": 1},
        "question": "q",
        "seconds": 1,
    }
    store.write(lambda t: t.append(NewEvent(**given)))
    for change in OTHERS:
        other = NewEvent(**{**given, **change})
        with pytest.raises(KeyReusedError, match="'k1' was already used"):
            store.write(lambda t, other=other: t.append(other))
    assert store.read(lambda t: t.get_last_seq()) == 1


def test_the_same_key_from_many_at_once_counts_once(store, people):
    start = threading.Barrier(20)

    def report(_):
        start.wait()
        return store.write(lambda t: t.append(NewEvent("k", "answer", people[0], BODY)))

    with ThreadPoolExecutor(20) as pool:
        stored = list(pool.map(report, range(20)))
    assert sum(new for _, new in stored) == 1
    assert len({event.seq for event, _ in stored}) == 1
    assert len(store.read(lambda t: t.get_events())) == 1


def test_events_by_range_person_and_kind(store, people):
    ann, bob, _ = people
    for i, (who, kind) in enumerate([(ann, "answer"), (bob, "skip"), (ann, "undo"), (bob, "answer")]):
        store.write(lambda t, i=i, who=who, kind=kind: t.append(NewEvent(f"k{i}", kind, who, {"i": i})))

    def seen(**choice):
        return [event.body["i"] for event in store.read(lambda t: t.get_events(**choice))]

    first = store.read(lambda t: t.get_events())[0].seq
    assert seen() == [0, 1, 2, 3]
    assert seen(after=first) == [1, 2, 3]
    assert seen(after=first, person=bob) == [1, 3]
    assert seen(person=ann) == [0, 2]
    assert seen(kinds=["answer"]) == [0, 3]
    assert seen(kinds=["answer", "undo"], person=ann) == [0, 2]
    assert seen(kinds=[]) == []
    assert seen(after=2**63 - 1) == []


BAD = [
    ({"key": ""}, "the key is empty"),
    ({"key": "k" * 201}, "at most 200"),
    ({"key": "a\0"}, "the key contains a NUL"),
    ({"kind": "dance"}, "got 'dance'"),
    ({"person": 2**63}, "the person must be between"),
    ({"person": True}, "the person must be an integer; got bool"),
    ({"question": "\udfff"}, "the question contains half of a surrogate"),
    ({"seconds": math.nan}, "the seconds must be finite; got nan"),
    ({"seconds": -math.inf}, "the seconds must be finite"),
    ({"seconds": 10**400}, "the seconds must be finite"),
    ({"seconds": "3"}, "the seconds must be a number"),
    ({"body": {"a": ["x", "\0"]}}, r"the body\['a'\]\[1\] contains a NUL"),
    ({"body": {"a": {"b\ud800": 1}}}, "surrogate"),
    ({"body": {"a": 2**63}}, r"the body\['a'\] must be between"),
    ({"body": {"a": -(2**63) - 1}}, r"the body\['a'\] must be between"),
    ({"body": {"a": math.nan}}, r"the body\['a'\] must be finite"),
    ({"body": {"a": {1: 2}}}, "must be a text; got int"),
    ({"body": {"a": object()}}, "contains a object, which is not JSON"),
    ({"body": ["a"]}, "must be a mapping; got list"),
    ({"body": {"a": "x" * 65536}}, "at most 65536"),
    ({"body": {"a": "é" * 32768}}, "at most 65536"),
]


def test_values_that_one_database_cannot_store_are_refused_by_both(store, people):
    for change, says in BAD:
        given = {"key": "k1", "kind": "answer", "person": people[0], "body": {}, **change}
        with pytest.raises(BadValueError, match=says):
            store.write(lambda t, given=given: t.append(NewEvent(**given)))
    assert store.read(lambda t: t.get_last_seq()) == 0


def test_a_body_nested_too_deep_is_refused(store, people):
    body = inner = {}
    for _ in range(2000):
        inner["a"] = inner = {}
    with pytest.raises(BadValueError, match="nested more than"):
        store.write(lambda t: t.append(NewEvent("k", "answer", people[0], body)))


def test_the_largest_values_can_be_stored(store, people):
    body = {"a": 2**63 - 1, "b": -(2**63), "c": 1e308, "d": "\U0001f600\x01\u2028", "e": [[], {}, None, True]}
    store.write(lambda t: t.append(NewEvent("k" * 200, "survey", people[0], body)))
    assert store.read(lambda t: t.get_events())[0].body == body


def test_an_event_of_an_unknown_person_is_refused(store):
    with pytest.raises(BadValueError, match="no person 5"):
        store.write(lambda t: t.append(NewEvent("k1", "answer", 5, {})))


def test_an_invalid_selection_is_refused(store):
    for choice in ({"after": 2**63}, {"after": 1.5}, {"person": "1"}, {"kinds": ["no"]}):
        with pytest.raises(BadValueError):
            store.read(lambda t, choice=choice: t.get_events(**choice))


def test_a_transaction_that_raises_changes_nothing(store, people):
    def work(t):
        t.append(NewEvent("k1", "answer", people[0], {}))
        t.add_person("Dee", "annotator")
        raise KeyError("changed my mind")

    with pytest.raises(KeyError, match="changed my mind"):
        store.write(work)
    assert store.read(lambda t: (t.get_last_seq(), len(t.get_people()))) == (0, 3)


def test_a_failed_statement_cannot_be_ignored(store, people):
    def work(t):
        t.append(NewEvent("k1", "answer", people[0], {}))
        try:
            t.append(NewEvent("k2", "answer", 99, {}))
        except StoreError:
            return "as if nothing had happened"

    with pytest.raises(BadValueError, match="no person 99"):
        store.write(work)
    assert store.read(lambda t: t.get_last_seq()) == 0


def test_a_refusal_before_the_database_can_be_ignored(store, people):
    def work(t):
        try:
            t.append(NewEvent("", "answer", people[0], {}))
        except BadValueError:
            return t.append(NewEvent("k2", "answer", people[0], {}))[1]

    assert store.write(work) is True


def test_a_continuing_reader_misses_nothing(store, people):
    """Seqs become visible in order: a reader that continues after the last one gets every event once."""
    done = threading.Event()

    def write(part):
        for i in range(25):
            store.write(lambda t, i=i: t.append(NewEvent(f"{part}-{i}", "answer", people[part % 3], {})))

    def follow():
        seen, last, last_round = [], 0, False
        while not last_round:
            last_round = done.wait(0.001)
            seen += store.read(lambda t, last=last: t.get_events(after=last))
            last = seen[-1].seq if seen else 0
        return seen

    with ThreadPoolExecutor(9) as pool:
        reader = pool.submit(follow)
        for writer in [pool.submit(write, part) for part in range(8)]:
            writer.result()
        done.set()
        seen = reader.result()
    assert [event.seq for event in seen] == sorted({event.seq for event in seen})
    assert len(seen) == 200
