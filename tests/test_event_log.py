"""The event log: which events count after undos, and what answers imply, with references."""

from dataclasses import dataclass
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise._event_log import EventLog, KnownRelations, find_undone, list_relations
from profiles import fewer


@dataclass(frozen=True)
class Entry:
    """An event with a slot."""

    kind: str
    undoes: int | None = None
    slot: str | None = None
    practice: bool = False


class SlotLog(EventLog):
    def get_slot(self, event):
        return event.slot

    def is_practice(self, event):
        return event.practice


def answer(slot=None, practice=False):
    return Entry("answer", slot=None if practice else slot, practice=practice)


def undo(of):
    return Entry("undo", of)


def count(*events):
    """Return the numbers, from 0, of the answers that count."""
    log = SlotLog(enumerate(events))
    counted = [number for number in range(len(events)) if log.counts(number)]
    answers = [number for number in counted if events[number].kind == "answer"]
    assert log.get_counted("answer") == [events[number] for number in answers]
    return answers


# ---------------------------------------------------------------------- the rules


def test_an_answer_counts_until_it_is_undone():
    assert count(answer(), answer()) == [0, 1]
    assert count(answer(), answer(), undo(0)) == [1]


def test_an_undone_undo_has_no_effect():
    assert count(answer(), undo(0), undo(1)) == [0]
    assert count(answer(), undo(0), undo(1), undo(2)) == []


def test_an_event_undone_twice_counts_after_both_undos_are_undone():
    assert count(answer(), undo(0), undo(0), undo(1)) == []
    assert count(answer(), undo(0), undo(0), undo(1), undo(2)) == [0]


@pytest.mark.parametrize("of", [1, 2, 99, -1])
def test_an_undo_of_itself_a_later_or_a_missing_event_has_no_effect(of):
    assert count(answer(), undo(of), answer()) == [0, 2]


def test_the_last_answer_of_a_slot_counts():
    assert count(answer("a"), answer("b"), answer("a")) == [1, 2]


def test_an_undo_brings_back_the_answer_that_was_replaced():
    assert count(answer("a"), answer("a"), undo(1)) == [0]
    assert count(answer("a"), answer("a"), undo(0)) == [1]
    assert count(answer("a"), answer("a"), undo(1), undo(2)) == [1]


def test_practice_never_counts_and_replaces_nothing():
    assert count(answer("a"), answer("a", practice=True)) == [0]
    assert count(answer("a", practice=True), undo(0), undo(1)) == []


def test_find_undone_by_hand():
    assert find_undone({3: 1, 4: 2, 5: 4}) == {1, 4}
    assert find_undone({}) == frozenset()


def test_an_event_that_cannot_be_read_changes_nothing():
    log = SlotLog([(0, answer("a"))])
    with pytest.raises(AttributeError):
        log.add([(1, answer("a")), (2, "not an event")])
    assert (len(log), log.get_counted("answer")) == (1, [answer("a")])


# ---------------------------------------------------------------------- laws

entries = st.lists(
    st.one_of(
        st.builds(answer, st.sampled_from([None, "a", "b"])),
        st.just(answer(practice=True)),
        st.builds(undo, st.integers(0, 9)),
    ),
    max_size=10,
)


def is_not_undone(events, number):
    """Return whether no undo that is not undone takes back an event: the definition, without a shortcut."""
    undos = [at for at in range(number + 1, len(events)) if events[at].undoes == number]
    return not any(is_not_undone(events, at) for at in undos)


@given(entries)
def test_what_counts_equals_the_definition(events):
    not_undone = [number for number in range(len(events)) if is_not_undone(events, number)]
    log = SlotLog(enumerate(events))
    assert log.find_not_undone("answer", "undo") == not_undone
    last = {events[at].slot: at for at in not_undone if events[at].kind == "answer"}
    expected = [
        at
        for at in not_undone
        if events[at].kind == "answer"
        and not events[at].practice
        and (events[at].slot is None or last[events[at].slot] == at)
    ]
    assert count(*events) == expected
    assert all(log.get_last(slot) is events[at] for slot, at in last.items() if slot is not None)


@given(entries, st.randoms(use_true_random=False))
def test_neither_order_nor_parts_nor_repetition_matter(events, random):
    numbered = list(enumerate(events))
    whole, parts = SlotLog(numbered), SlotLog()
    shuffled = numbered * 2
    random.shuffle(shuffled)
    while shuffled:
        n = random.randint(1, 4)
        parts.add(shuffled[:n])
        shuffled = shuffled[n:]
    assert parts.get_events() == whole.get_events() == tuple(events)
    assert parts.undone == whole.undone
    assert [parts.counts(at) for at in range(9)] == [whole.counts(at) for at in range(9)]


@fewer(2)
@given(entries)
def test_the_changes_add_up_to_what_counts(events):
    log = SlotLog()
    counted = []
    for number, event in enumerate(events):
        change = log.add([(number, event)])
        for stopped in change.stopped:
            counted.remove(stopped)
        counted += change.started
        now = log.get_counted("answer", "undo")
        assert sorted(map(repr, counted)) == sorted(map(repr, now))


# ---------------------------------------------------------------------- what answers imply

ITEMS = "abcde"
pairs = st.lists(st.sampled_from(list(combinations(ITEMS, 2))), max_size=6)


@given(pairs, pairs, st.randoms(use_true_random=False))
def test_known_relations_equal_the_brute_force_closure(must, cannot, random):
    links = [(pair, "SAME") for pair in must] + [(pair, "DIFFERENT") for pair in cannot]
    random.shuffle(links)
    known = KnownRelations()
    for pair, word in links:
        known.add(list_relations("pair", pair, word))
    group = {item: {item} for item in ITEMS}
    for a, b in must * len(ITEMS):
        merged = group[a] | group[b]
        group.update(dict.fromkeys(merged, merged))
    for a, b in combinations(ITEMS, 2):
        apart = any((c in group[a] and d in group[b]) or (d in group[a] and c in group[b]) for c, d in cannot)
        assert known.is_implied((a, b)) == (b in group[a] or apart)
    mentioned = {item for pair, _ in links for item in pair}
    joined = known.count_joined()
    assert {item: n for item, n in joined.items() if n > 1} == {
        item: len(group[item]) for item in mentioned if len(group[item]) > 1
    }


def test_relations_of_words():
    assert list_relations("pair", [4, 7], "DIFFERENT") == [(4, 7, False)]
    assert list_relations("triplet", [4, 7, 9], "BC") == [(7, 9, True), (7, 4, False), (9, 4, False)]
    assert list_relations("triplet", [4, 7, 9], "NEITHER") == list_relations("pair", [4, 7], "UNSURE") == []
