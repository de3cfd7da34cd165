"""All parts of the studio, and interviews, agree on which events count, whatever people do."""

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise._event_log import KnownRelations
from likewise.active import Event, Interview, Question, Reply
from likewise.studio._earlier_answers import read_interview
from likewise.studio._stored_events import LiveEventLog
from likewise.studio.exports import Snapshot, make_answers_table
from likewise.studio.jobs._ledger import Ledger
from likewise.studio.records import QueuedQuestion, StoredEvent
from likewise.studio.study.plan import find_progress
from likewise.supervision import RowIds

IDS = ("a", "b", "c", "d")
ROW_OF = {id: row for row, id in enumerate(IDS)}
TIME = "2026-03-09T12:00:00+00:00"


def list_asked(items):
    return {"kind": "pair" if len(items) == 2 else "triplet", "items": list(items)}


def number(bodies):
    """Make events of what people did: (kind, person, body), numbered from 1."""
    return [
        StoredEvent(seq, f"key {seq}", kind, person, TIME, body, str(seq))
        for seq, (kind, person, body) in enumerate(bodies, start=1)
    ]


people = st.sampled_from([1, 2])
sources = st.sampled_from(["question", "groups", "import", "study", "practice"])
pairs = st.sampled_from([("a", "b"), ("b", "a"), ("b", "c"), ("c", "d")])
statements = st.one_of(
    st.builds(
        lambda items, word: list_asked(items) | {"answer": word},
        pairs,
        st.sampled_from(["SAME", "DIFFERENT"]),
    ),
    st.builds(
        lambda word: list_asked(("a", "b", "c")) | {"answer": word},
        st.sampled_from(["AB", "NEITHER", "UNSURE"]),
    ),
)
answers = st.tuples(
    st.just("answer"), people, st.builds(lambda body, source: body | {"source": source}, statements, sources)
)
skips = st.tuples(st.just("skip"), people, pairs.map(list_asked))
about = st.integers(1, 9).map(lambda of: {"of": of})
undos = st.tuples(st.just("undo"), people, about)
marks = st.tuples(st.sampled_from(["confirm", "again"]), people, about)
names = st.tuples(st.just("name"), people, st.just({"item": "a", "name": "owls"}))
events = st.lists(st.one_of(answers, answers, undos, undos, skips, marks, names), max_size=9).map(number)


def find_not_undone(events):
    """Return the seqs of the events that no undo takes back, unless it was taken back: the definition."""
    undone = set()
    for event in reversed(events):
        if event.kind == "undo" and event.seq not in undone and event.body["of"] < event.seq:
            undone.add(event.body["of"])
    return [event.seq for event in events if event.seq not in undone]


def find_counted(events):
    """Return the seqs of the answers that count: a person's last to each question, without practice."""
    not_undone = find_not_undone(events)
    last = {
        (event.person, event.body["kind"], frozenset(event.body["items"])): event.seq
        for event in events
        if event.kind == "answer" and event.seq in not_undone and event.body["source"] != "practice"
    }
    return sorted(last.values())


@given(events, st.integers(0, 9))
def test_service_worker_export_and_study_agree(events, at):
    not_undone, counted = find_not_undone(events), find_counted(events)
    log = LiveEventLog()
    log.extend(events[:at])
    log.extend(events)
    assert [event.seq for event in events if log.is_last_answer(event)] == counted
    assert log.count_answers() == len(counted)
    for person in (1, 2):
        theirs = [event.seq for event in events if event.person == person]
        assert log.count_answers(person) == len(set(theirs) & set(counted))
    assert [event.seq for event in log.get_not_undone("answer", "skip", "name", "undo")] == [
        seq for seq in not_undone if events[seq - 1].kind not in ("confirm", "again")
    ]

    ledger = Ledger(ROW_OF)
    ledger.tell(events)
    assert [voice.seq for voice in ledger.get_counted_replies().voices] == counted
    skipped = [event.seq for event in events if event.kind == "skip" and event.seq in not_undone]
    assert len(ledger.get_counted_replies().skipped) == len(skipped)

    snapshot = Snapshot({}, tuple(events))
    assert [event.seq for event in snapshot.answers] == counted
    assert [event.seq for event in snapshot.log.get_not_undone("skip")] == skipped
    table = make_answers_table(snapshot).columns
    assert [seq for seq, undone in zip(table["seq"], table["undone"], strict=True) if not undone] == [
        event.seq for event in events if event.kind == "answer" and event.seq in not_undone
    ]
    done = {event.seq for event in events if event.kind == "answer" and event.seq in not_undone}
    progress = [find_progress(person, events)[0] for person in (1, 2)]
    assert {int(question) for answers in progress for question in answers} == done


@given(events)
def test_the_server_implies_what_follows_from_the_answers_of_the_worker(events):
    log, ledger, known = LiveEventLog(), Ledger(ROW_OF), KnownRelations()
    for event in events:
        log.extend([event])
        ledger.tell([event])
        log.count_joined()  # computed after each event, so that nothing is left to the end
    for voice in ledger.get_counted_replies().voices:
        known.add((IDS[i], IDS[j], together) for i, j, together in voice.reply.relations)
    assert log.count_joined() == known.count_joined()
    for pair in combinations(IDS, 2):
        assert log.is_implied(QueuedQuestion("q", "pair", pair)) == known.is_implied(pair)


@given(events)
def test_an_interview_and_its_import_agree_with_the_studio(tmp_path_factory, events):
    kept = [event for event in events if event.kind in ("answer", "skip", "undo")]
    place = {event.seq: at for at, event in enumerate(kept)}
    history, entries = [], []
    for at, event in enumerate(kept):
        if event.kind == "undo":
            of = place.get(event.body["of"], len(events))
            history.append(Event("undo", Question.pair(0, 1), undoes=of))
            entries.append({"event": "undo", "of": of})
            continue
        question = Question(event.body["kind"], tuple(ROW_OF[item] for item in event.body["items"]))
        word = event.body.get("answer")
        history.append(Event(event.kind, question, None if word is None else Reply(question, word, str(at))))
        entries.append({"event": event.kind, "annotator": str(at), **event.body})
    counted = [
        at for at, event in enumerate(kept) if event.kind == "answer" and event.seq in find_not_undone(kept)
    ]

    interview = Interview([[0.0], [1.0], [2.0], [3.0]])
    interview._hold(history)
    assert [int(reply.annotator) for reply in interview.replies] == counted

    path = tmp_path_factory.mktemp("interview") / "birds.ask.json"
    saved = {"format": "likewise interview", "version": 1, "data": {"rows": 4}, "history": entries}
    path.write_text(json.dumps(saved))
    assert [int(answer.annotator) for answer in read_interview(path, RowIds.from_ids(IDS)).answers] == counted


def test_an_undone_undo_brings_the_answer_back_everywhere():
    body = {**list_asked(("a", "b")), "answer": "SAME", "source": "question"}
    events = number([("answer", 1, body), ("undo", 1, {"of": 1}), ("undo", 1, {"of": 2})])
    log, ledger = LiveEventLog(), Ledger(ROW_OF)
    log.extend(events)
    ledger.tell(events)
    assert log.count_answers() == len(ledger.get_counted_replies().voices) == 1
    assert len(Snapshot({}, tuple(events)).answers) == 1
    assert log.is_implied(QueuedQuestion("q", "pair", ("b", "a")))


@pytest.mark.parametrize("of", [2, 3, 99])
def test_an_undo_of_itself_or_of_a_later_event_has_no_effect_anywhere(of):
    body = {**list_asked(("a", "b")), "answer": "SAME", "source": "question"}
    events = number([("answer", 1, body), ("undo", 1, {"of": of}), ("answer", 2, body)])
    log, ledger = LiveEventLog(), Ledger(ROW_OF)
    log.extend(events)
    ledger.tell(events)
    assert log.count_answers() == len(ledger.get_counted_replies().voices) == 2
    assert len(Snapshot({}, tuple(events)).answers) == 2
