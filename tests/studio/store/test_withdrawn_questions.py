"""Questions that are withdrawn, held and counted, on both databases."""

import pytest

from likewise.studio.records import QueuedQuestion
from likewise.studio.store import open_store

pytest.importorskip("sqlalchemy")
QUESTIONS = [QueuedQuestion(f"q{number}", "pair", ("a", f"b{number}")) for number in range(3)]
LEASE = {"now": 10.0, "until": 20.0, "overlap": 2}


@pytest.fixture
def store(database_url, tmp_path):
    opened = open_store(database_url, backups=tmp_path / "copies")
    opened.write(lambda tx: [tx.add_person(name, "annotator") for name in ("Ann", "Bob")])
    opened.write(lambda tx: tx.refill(QUESTIONS))
    yield opened
    opened.close()


def lease_questions(store, person, n, **given):
    return [q.id for q, _ in store.write(lambda tx: tx.lease(person, n, **{**LEASE, **given}))]


def test_a_withdrawn_question_is_offered_again_after_a_refill(store):
    assert lease_questions(store, 1, 1) == ["q0"]
    store.write(lambda tx: tx.withdraw(1, ["q0"]))
    assert lease_questions(store, 1, 3) == ["q1", "q2"]
    assert lease_questions(store, 2, 3) == ["q1", "q2"]
    assert store.read(lambda tx: tx.was_leased("q0", 1))  # answers given meanwhile are still accepted
    store.write(lambda tx: tx.refill(QUESTIONS[:1]))
    assert lease_questions(store, 1, 3) == ["q1", "q2", "q0"]


def test_others_keep_their_lease_of_a_withdrawn_question(store):
    assert lease_questions(store, 1, 1) == lease_questions(store, 2, 1) == ["q0"]
    store.write(lambda tx: tx.withdraw(1, ["q0"]))
    assert lease_questions(store, 2, 1) == ["q0"]
    assert [store.read(lambda tx, who=who: tx.is_leased("q0", who)) for who in (1, 2)] == [False, True]


def test_active_leases_of_others_are_counted(store):
    lease_questions(store, 1, 2)
    lease_questions(store, 2, 1)

    def held(person, now):
        return store.read(lambda tx: tx.count_leases_of_others(person, now))

    assert (held(1, 15.0), held(2, 15.0), held(2, 25.0)) == (1, 2, 0)
    store.write(lambda tx: tx.mark_answered("q0", 1))
    assert held(2, 15.0) == 1
