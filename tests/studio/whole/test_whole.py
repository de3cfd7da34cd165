"""A complete run of a studio over HTTP, with the real command; and again after a restart."""

import csv
import io
import json
import os
import signal
import threading
from pathlib import Path

import pytest

from likewise.studio.project import Project
from patience import PATIENCE, wait_until
from small_projects import open_project_store
from studio.service.desk import new_key

pytest.importorskip("fastapi")
OPTIONS = ("--text", "text", "--id", "name", "-k", "2")


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    """The arguments for the database; none for the file of the project."""
    return () if request.param == "sqlite" else ("--db", request.getfixturevalue("postgres_url"))


def all_at_once(people, n):
    """Let people answer concurrently, each up to n questions."""
    failed = []

    def one(person):
        try:
            person.answer_many(n)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not failed


def wait_until_settled(owner):
    wait_until(lambda: owner.get("progress")["behind"] == 0, "a model that knows all answers")


def export(owner, what, form="csv"):
    reply = owner.client.get(f"/api/export?what={what}&format={form}")
    assert reply.status_code == 200
    return reply


def stand(owner):
    """The stored and derived state, for comparison with a later one."""
    wait_until_settled(owner)
    history = owner.get("history?limit=200")
    groups = owner.get("groups")["groups"]
    return {
        "events": [(one["seq"], one["kind"], one["answer"], one["undone"]) for one in history["events"]],
        "people": [(one["name"], one["role"], one["n_answers"]) for one in owner.get("people")["people"]],
        "names": {group["name"] for group in groups},
        "sizes": sorted(group["size"] for group in groups),
        "answers": export(owner, "answers").text,
        "hints": export(owner, "hints").text,
    }


@pytest.mark.slow
def test_a_complete_run(start, database):
    command = start(*OPTIONS, *database)
    owner = command.owner()
    people = [owner]
    for name in ("Ann", "<b>Bob</b>", "=Cy"):
        link = owner.post("people", name=name, role="annotator")["link"]
        people.append(command.log_in(link))
    ann = people[1]
    question = owner.ask()
    owner.change("skips", question=question["id"], seconds=0.5)
    owner.change("revisit", question=question["id"])
    all_at_once(people, 30)
    n = sum(len(person.acknowledged) for person in people)
    assert n >= 30

    # Undone, skipped and revisited.
    undone = ann.change("undo", of=None)
    assert undone["undone"]["mine"]
    ann.answer_truly(undone["question"])

    # Groups.
    wait_until_settled(owner)
    owner.change("groups/0/name", name="Owls & <i>cats</i>")
    odd = owner.get("groups/0/items?order=doubtful&limit=1")["items"][0]
    ann.change("groups/0/not-here", row=odd["row"])
    taken_back = ann.change("undo", of=None)
    assert taken_back["undone"]["answer"] == "DIFFERENT"

    # A contradiction, which is resolved.
    wait_until_settled(owner)
    merged = owner.change("repairs", act="merge", groups=[0, 1])
    wait_until(lambda: owner.get("conflicts")["conflicts"], "a contradiction")
    (conflict, *_) = owner.get("conflicts")["conflicts"]
    assert merged["seq"] in {event["seq"] for event in conflict["answers"]}
    owner.change("undo", of=merged["seq"])
    wait_until(lambda: not owner.get("conflicts")["conflicts"], "an end of it")

    # Results.
    before = stand(owner)
    assert any(name == "Owls & <i>cats</i>" for name in before["names"])
    assert before["sizes"] == [20, 20]
    for what in ("labels", "hints", "answers"):
        assert export(owner, what, "parquet").content[:4] == b"PAR1"
        lines = export(owner, what, "jsonl").text.splitlines()
        assert all(isinstance(json.loads(line), dict) for line in lines)
        assert people[1].client.get(f"/api/export?what={what}").status_code == 403
    labels = list(csv.DictReader(io.StringIO(export(owner, "labels").text)))
    by_id = {row["id"]: row["group"] for row in labels}
    assert (
        len({by_id[f"i{k}"] for k in range(0, 40, 2)}) == 1 == len({by_id[f"i{k}"] for k in range(1, 40, 2)})
    )
    report = owner.client.get("/api/report")
    assert report.status_code == 200
    assert "<b>Bob</b>" not in report.text

    # After the end everything is there, and nothing twice.
    code, output = command.end(lambda pid: os.kill(pid, signal.SIGTERM))
    assert (code, "Traceback" in output) == (0, False)
    again = start(*OPTIONS, *database)
    owner = again.owner()
    assert stand(owner) == before
    project = Project.open(again.printed["project"], database=database[1] if database else None)
    with open_project_store(project) as store:
        events = store.read(lambda tx: tx.get_events())
    project.items.close()
    kept = {event.key: event.seq for event in events}
    assert len(kept) == len(events)
    for person in people:
        assert person.acknowledged.items() <= kept.items()


@pytest.mark.slow
def test_a_database_that_goes_away_and_comes_back(start, own_postgres):
    command = start(*OPTIONS, "--db", own_postgres.empty())
    owner = command.owner()
    assert owner.answer_many(5) == 5
    question = owner.ask()
    own_postgres.stop()
    body = {"key": new_key(), "question": question["id"], "answer": "UNSURE", "seconds": 1.0}
    reply = owner.client.post("/api/answers", json=body)
    assert reply.status_code == 503
    error = reply.json()["error"]
    assert "cannot be reached" in error["message"]
    assert own_postgres.password not in reply.text
    assert owner.client.get("/health").status_code == 503
    own_postgres.start()
    reply = owner.client.post("/api/answers", json=body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["seq"] not in owner.acknowledged.values()
    assert owner.answer_many(3) == 3
    assert owner.client.get("/health").status_code == 200
    seqs = {event["seq"] for event in owner.get("history?limit=100")["events"]}
    assert {reply.json()["seq"], *owner.acknowledged.values()} <= seqs
    code, output = command.end(lambda pid: os.kill(pid, signal.SIGINT))
    assert (code, "Traceback" in output) == (0, False)
    assert own_postgres.password not in output
    kept = Path(command.printed["project"], "project.json").read_text()
    assert "postgresql://tester@127.0.0.1" in kept
    assert "s3cret" not in kept
