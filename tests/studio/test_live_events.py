"""The events in the memory of the server: few bytes each, and the same answers count as in the store."""

import tracemalloc

from likewise.studio._stored_events import LiveEventLog, StoredEventLog
from likewise.studio.records import QueuedQuestion, StoredEvent


def make_event(seq, person=1):
    body = {
        "kind": "pair",
        "items": [f"item {seq % 97}", f"item {seq % 101 + 200}"],
        "source": "studio",
        "answer": "SAME" if seq % 3 else "DIFFERENT",
        "score": seq / 7,
        "why": f"The model is unsure about item {seq}, which could be in either of two groups.",
        "reason": {"template": "{0} or {1}", "rows": [f"item {seq}"], "values": [seq / 3]},
    }
    key, time = f"{seq:032x}", f"2026-11-18T08:29:49.{seq % 1000:03}+00:00"
    return StoredEvent(seq, key, "answer", person, time, body, f"{seq:016x}", 1.5)


def test_an_event_takes_less_than_two_kilobytes():
    n = 4000
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    log = LiveEventLog()
    for seq in range(1, n + 1):
        log.extend([make_event(seq, seq % 20)])
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used / n < 2000  # 20,000 answers take less than 40 MB
    assert len(log) == n


def test_what_counts_is_as_in_the_store():
    events = [make_event(seq, seq % 4) for seq in range(1, 400)]
    events += [StoredEvent(400 + k, f"u{k}", "undo", 1, "", {"of": 3 * k + 1}) for k in range(60)]
    live, stored = LiveEventLog(), StoredEventLog.from_events(events)
    live.extend(events)
    assert [event.seq for event in live.get_counted("answer")] == [
        event.seq for event in stored.get_counted("answer")
    ]
    for event in events[:50]:
        asked = QueuedQuestion("q", "pair", tuple(event.body["items"]))
        people = {one.person for one in stored.get_counted("answer") if one.question_key == asked.key}
        assert live.get_answerers(asked) == people


def test_why_a_question_was_asked_is_only_in_the_store():
    log = LiveEventLog()
    log.extend([make_event(1)])
    assert log[1].body == {
        **{"kind": "pair", "items": ["item 1", "item 201"], "source": "studio", "answer": "SAME"},
    }
