"""Concurrency: twenty people answer while others export, view the history and undo; also on PostgreSQL."""

import threading
from collections import Counter

import pytest

from likewise.exceptions import RequestError
from likewise.studio.exports import Snapshot, export_bytes
from likewise.studio.store import open_store
from small_projects import make
from studio.service.desk import Desk, names, new_key


def at_once(*works):
    """Run functions in threads; return their errors."""
    wrong = []
    gate = threading.Barrier(len(works))

    def run(work):
        gate.wait()
        try:
            work()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def answering(desk, person, sent, n=3):
    """Answer up to n questions, each request sent twice."""

    def work():
        for _ in range(n):
            for question in desk.ask(person, 1):
                key = new_key()
                for _ in range(2):
                    view = desk.answer(person, question, desk.true_word(question), key=key)
                sent.append((key, view["seq"], question["id"]))

    return work


def test_twenty_answer_while_others_export_and_look(open_studio):
    desk = open_studio(60)
    people = [desk.person(f"P{n}") for n in range(20)]
    desk.settle()
    sent = []

    def export():
        for what in ("answers", "hints", "labels"):
            snapshot = Snapshot.from_store(desk.studio.store)
            export_bytes(what, snapshot, desk.project.items.get_ids(), desk.hub.picture, format="csv")

    def look():
        for _ in range(5):
            desk.asking.show_history(desk.owner, None, 50)
            desk.groups.show_conflicts(desk.owner)
            desk.groups.show_all()

    wrong = at_once(*(answering(desk, person, sent) for person in people), export, look, export, look)
    assert not wrong
    kept = {event.key: event.seq for event in desk.events("answer")}
    assert {key: seq for key, seq, _ in sent} == kept
    assert max(Counter(question for _, _, question in sent).values()) == 1
    assert len(sent) >= 20


def test_postgresql_gives_the_same_guarantees(tmp_path, postgres_url):
    store = open_store(postgres_url, backups=tmp_path / "backups")
    desk = Desk(make(tmp_path, names(30)), store=store)
    try:
        people = [desk.person(f"P{n}") for n in range(6)]
        desk.settle()
        sent = []
        assert not at_once(*(answering(desk, person, sent, 2) for person in people))
        kept = {event.key: event.seq for event in desk.events("answer")}
        assert {key: seq for key, seq, _ in sent} == kept
        assert max(Counter(question for _, _, question in sent).values()) == 1
        last = desk.undo(people[0])["undone"]["seq"]
        for somebody, of in ((people[0], last), (people[1], last)):  # already undone; of another person
            with pytest.raises(RequestError):
                desk.undo(somebody, of=of)
        desk.settle()
        before = desk.asking.show_history(desk.owner, None, 50)
    finally:
        desk.close()
    again = Desk(desk.project, store=store)
    try:
        assert again.asking.show_history(again.owner, None, 50) == before
    finally:
        again.close()
        store.close()
