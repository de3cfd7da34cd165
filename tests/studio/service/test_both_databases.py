"""The service on both databases: many people at once, and no event is missed."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from likewise.studio.store import open_store
from studio.service.desk import open_desk

pytest.importorskip("sqlalchemy")


@pytest.fixture
def desk(database_url, tmp_path):
    """A studio on SQLite, and one on PostgreSQL."""
    store = open_store(database_url, backups=tmp_path / "copies")
    desk = open_desk(tmp_path, 30, options={"store": store}, overlap=2)
    yield desk
    desk.close()
    store.close()


def test_concurrent_answers_are_the_same_in_log_and_store(desk):
    people = [desk.person(f"P{number}") for number in range(8)]

    def work(person):
        waiting, sent = desk.ask(person, 2), []
        for turn in range(6):
            if not waiting:
                waiting = desk.ask(person, 2)
                continue
            if turn == 3:
                desk.skip(person, waiting[0])
                waiting = waiting[1:]
                continue
            done = desk.answer(person, waiting[0], desk.true_word(waiting[0]))
            waiting = done["next"]
            if turn == 4:
                desk.undo(person, of=done["seq"])
            else:
                sent.append(done["seq"])
        return sent

    with ThreadPoolExecutor(len(people)) as pool:
        sent = [seq for seqs in pool.map(work, people) for seq in seqs]
    desk.settle()
    stored = desk.events()
    assert [event.seq for event in desk.hub.log.get_events()] == [event.seq for event in stored]
    assert set(sent) <= {event.seq for event in stored}
    by_question = {}
    for event in desk.hub.log.get_not_undone("answer"):
        by_question.setdefault(event.question, []).append(event.person)
    assert all(len(who) == len(set(who)) <= 2 for who in by_question.values())
    assert desk.hub.log.count_answers() == sum(map(len, by_question.values()))
    assert desk.teller.analysis.seq == desk.hub.log.last
