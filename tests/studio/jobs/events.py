"""Shorthands for events, for tests of what is derived from them."""

from likewise.studio.records import StoredEvent

TIME = "2026-03-09T12:00:00+00:00"


class Log:
    """Makes events with consecutive numbers. Items are named by row: "i7"."""

    def __init__(self):
        self.events = []

    def add(self, kind, body, person=1, seconds=1.0):
        seq = len(self.events) + 1
        self.events.append(StoredEvent(seq, f"key {seq}", kind, person, TIME, body, None, seconds))
        return self.events[-1]

    def answer(self, rows, word, person=1, source="question"):
        return self.add("answer", {**_make_question_body(rows), "answer": word, "source": source}, person)

    def skip(self, rows, person=1):
        return self.add("skip", _make_question_body(rows), person)

    def undo(self, seq, person=1):
        return self.add("undo", {"of": seq}, person)


def _make_question_body(rows):
    return {"kind": "pair" if len(rows) == 2 else "triplet", "items": [f"i{row}" for row in rows]}


def ids(n):
    """Return the ids of n items."""
    return [f"i{row}" for row in range(n)]


def rows_of(question):
    """Return the rows that a queued question is about."""
    return tuple(int(item[1:]) for item in question.items)
