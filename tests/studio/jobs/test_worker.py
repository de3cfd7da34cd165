"""The worker: a real process, its messages, restart after being killed, failures, and shutdown."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

from likewise.studio.jobs import worker as worker_module
from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.jobs.worker import Loop, Worker, release_memory
from likewise.studio.project import Project
from likewise.studio.records import (
    Described,
    GroupDescriptions,
    Item,
    Layout,
    PeopleAgreement,
    Picture,
    Progress,
    Ready,
    Settings,
    Tell,
    Trouble,
)
from patience import PATIENCE, wait_until
from small_projects import make
from studio.jobs.events import Log, ids, rows_of

X = np.r_[np.linspace(0, 1, 12), np.linspace(3, 4, 12)][:, None]


@pytest.fixture
def project(tmp_path):
    source = tmp_path / "rows.csv"
    source.write_text("x\n" + "\n".join(map(str, X[:, 0])), encoding="utf-8")
    items = [Item(row, name, "row", name) for row, name in enumerate(ids(len(X)))]
    return Project.create(
        tmp_path / "rows.likewise",
        X=X,
        items=items,
        settings=Settings("toy", n_clusters=2),
        described=Described("row", len(X)),
        source=source,
    )


class Heard:
    """Collects messages and waits for those of a kind."""

    def __init__(self):
        self.messages = queue.Queue()

    def __call__(self, message):
        self.messages.put(message)

    def next(self, *kinds, after=0):
        """Return the first message of each kind based on the event `after` or a later one."""
        found, end = {}, time.monotonic() + PATIENCE
        while len(found) < len(kinds):
            message = self.messages.get(timeout=max(end - time.monotonic(), 0.01))
            kind = type(message)
            if kind in kinds and getattr(message, "seq", after) >= after:
                found.setdefault(kind, message)
        return [found[kind] for kind in kinds]


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def worker(project, heard):
    made = Worker(project, heard)
    made.start()
    yield made
    made.stop()


def list_asked(ready):
    return [frozenset(rows_of(question)) for question in ready.questions]


def test_it_sends_every_kind_of_message(worker, heard):
    worker.tell(Tell((), 3))
    ready, picture, agreement, progress = heard.next(Ready, Picture, PeopleAgreement, Progress)
    assert len(ready.questions) == 3
    assert [group.size for group in picture.groups] == [12, 12]
    assert agreement.people == ()
    assert progress.n_answers == 0
    log = Log()
    log.answer(rows_of(ready.questions[0]), "DIFFERENT")
    worker.tell(Tell(tuple(log.events), 3, ready.questions[1:]))
    again, picture, progress = heard.next(Ready, Picture, Progress, after=1)
    assert list_asked(again)[0] not in list_asked(ready)
    assert len(picture.links) == 1
    assert progress.n_answers == 1


def test_it_sends_two_maps(worker, heard):
    worker.tell(Tell((), 0))
    (first,) = heard.next(Layout)
    (better,) = heard.next(Layout)
    assert (first.method, first.final, better.final) == ("PCA", False, True)
    assert first.xy.shape == better.xy.shape == (24, 2)


def test_it_describes_the_groups_after_each_picture(tmp_path, heard):
    texts = ["a blue car", "my old car", "the car", "car keys", "one cat", "our cat", "cat and dog", "a cat"]
    made = Worker(make(tmp_path, ids(8), texts=texts), heard)
    made.start()
    log = Log()
    try:
        for n_answers in range(2):
            made.tell(Tell(tuple(log.events), 1))
            picture, described = heard.next(Picture, GroupDescriptions, after=n_answers)
            cars, cats = picture.labels[[0, 7]].tolist()
            assert described.phrases == {cars: ("car",), cats: ("cat",)}
            log.answer((0, 1), "SAME")
    finally:
        made.stop()


def test_it_runs_at_low_priority_and_ignores_ctrl_c(worker, heard):
    worker.tell(Tell((), 1))
    heard.next(Ready, Picture)
    process = psutil.Process(worker.pid)
    assert process.nice() >= min(19, psutil.Process().nice() + 10)
    os.kill(worker.pid, signal.SIGINT)  # Ctrl-C in the terminal goes to all processes
    log = Log()
    log.answer((0, 1), "SAME")
    worker.tell(Tell(tuple(log.events), 1))
    heard.next(Ready, after=1)
    assert psutil.pid_exists(process.pid)


def test_after_a_kill_it_returns_the_same_questions(worker, heard):
    log = Log()
    log.answer((0, 20), "DIFFERENT")
    worker.tell(Tell(tuple(log.events), 4))
    (before,) = heard.next(Ready, after=1)
    log.answer((0, 11), "SAME")
    worker.tell(Tell(tuple(log.events[1:]), 4))
    (before,) = heard.next(Ready, after=2)
    first = worker.pid
    os.kill(first, signal.SIGKILL)
    (trouble,) = heard.next(Trouble)
    assert "signal 9" in trouble.text
    (after,) = heard.next(Ready, after=2)
    assert list_asked(after) == list_asked(before)
    assert worker.pid != first


def test_events_sent_before_its_start_or_after_a_kill_arrive(project, heard):
    made = Worker(project, heard)
    log = Log()
    log.answer((0, 20), "DIFFERENT")
    made.tell(Tell(tuple(log.events), 2))
    made.start()
    try:
        heard.next(Ready, after=1)
        os.kill(made.pid, signal.SIGKILL)
        log.answer((0, 11), "SAME")
        made.tell(Tell(tuple(log.events[1:]), 2))
        (ready,) = heard.next(Ready, after=2)
        assert len(ready.questions) == 2
    finally:
        made.stop()


def test_problems_with_the_project_are_reported(project, heard):
    os.truncate(project.folder / "features.npy", 40)
    made = Worker(project, heard)
    made.tell(Tell((), 1))
    made.start()
    try:
        (trouble,) = heard.next(Trouble)
        assert "could not be opened" in trouble.text
        assert psutil.pid_exists(made.pid)
    finally:
        made.stop()


def test_a_failing_handler_does_not_stop_it(project, caplog):
    seen = threading.Event()

    def handler(message):
        if isinstance(message, Picture):
            seen.set()
        raise RuntimeError("no")

    made = Worker(project, handler)
    made.start()
    made.tell(Tell((), 1))
    try:
        assert seen.wait(PATIENCE)
    finally:
        made.stop()
    assert "could not be handled" in caplog.text


def test_memory_is_released_if_the_c_library_can(monkeypatch):
    calls = []
    monkeypatch.setattr(worker_module, "_find_malloc_trim", lambda: calls.append)
    release_memory()
    monkeypatch.setattr(worker_module, "_find_malloc_trim", lambda: None)
    release_memory()
    assert calls == [0]


def test_it_stops(project, heard):
    made = Worker(project, heard)
    made.stop()  # nothing was started
    made = Worker(project, heard)
    made.start()
    made.tell(Tell((), 1))
    heard.next(Ready)
    pid = made.pid
    made.stop()
    assert not psutil.pid_exists(pid)
    assert all(not thread.is_alive() for thread in made._threads)
    made.stop()


ORPHAN = """
import os, sys, time
from likewise.studio.jobs.worker import Worker
from likewise.studio.project import Project
from likewise.studio.records import Ready, Tell
if __name__ == "__main__":
    def heard(message):
        if isinstance(message, Ready):
            print(worker.pid, flush=True)
            os.kill(os.getpid(), 9)
    worker = Worker(Project.open(sys.argv[1]), heard)
    worker.tell(Tell((), 1))
    worker.start()
    time.sleep(900)
"""


def test_it_ends_when_the_server_is_killed(project, tmp_path):
    script = tmp_path / "server.py"
    script.write_text(ORPHAN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(project.folder)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    wait_until(
        lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE,
        "the end of the background process",
    )


# ---------------------------------------------------------------------- the loop by itself


class Wrong(ProjectAnalysis):
    """An analysis that fails to make pictures."""

    def make_picture(self):
        raise ValueError("the paint is dry")


def loop_of(made, inbox):
    sent = []
    loop = Loop(inbox, sent.append, lambda: made)
    loop.analysis = made
    loop._lay_out = lambda: None
    return loop, sent


def test_a_failure_is_reported_once_and_other_steps_continue():
    inbox = queue.SimpleQueue()
    log = Log()
    loop, sent = loop_of(Wrong(X, ids(24), Settings("toy", n_clusters=2)), inbox)
    inbox.put(Tell((), 2))
    for _ in range(4):
        log.answer((len(log.events), 20), "UNSURE")
        inbox.put(Tell(tuple(log.events), 2))
        while loop._due or not inbox.empty():
            loop.turn()
    assert [message.text for message in sent if isinstance(message, Trouble)] == [
        "The picture could not be made: the paint is dry"
    ]
    assert [message.seq for message in sent if isinstance(message, Progress)][-1] == 4


def test_questions_come_first_and_nothing_starves():
    inbox = queue.SimpleQueue()
    log = Log()
    loop, sent = loop_of(ProjectAnalysis(X, ids(24), Settings("toy", n_clusters=2)), inbox)
    for _ in range(12):  # there are always new events
        log.answer((len(log.events), 20), "UNSURE")
        inbox.put(Tell(tuple(log.events[-1:]), 2))
        loop.turn()
    kinds = [type(message) for message in sent]
    assert kinds[::2] == [Ready] * 12
    assert kinds[1] is Layout
    derived = (Picture, PeopleAgreement, Progress, GroupDescriptions)
    assert {kinds[3:].count(kind) for kind in derived} <= {2, 3}


def test_questions_come_between_reloads():
    """Items that are added faster than everything can be derived must not stop the questions."""
    inbox = queue.SimpleQueue()
    log, made = Log(), []
    log.answer((0, 20), "DIFFERENT")

    def make():
        made.append(ProjectAnalysis(X[: 14 + len(made)], ids(14 + len(made)), Settings("toy", n_clusters=2)))
        return made[-1]

    sent = []
    loop = Loop(inbox, sent.append, make)
    loop._lay_out = lambda: None
    for _ in range(5):
        inbox.put(Tell((), 2))
        inbox.put(Tell(tuple(log.events), 2, reload=True))
        inbox.put(Tell(tuple(log.events), 2, reload=True))
        loop.turn()
        assert isinstance(sent[-2], Ready)
        assert sent[-2].questions
    assert len(made) == 5  # two reloads at once are one
    while loop._due:
        loop.turn()
    picture = [message for message in sent if isinstance(message, Picture)][-1]
    assert len(picture.labels) == 18


def test_a_failed_reload_waits_for_the_next_one():
    inbox = queue.SimpleQueue()
    log, broken = Log(), False
    log.answer((0, 20), "DIFFERENT")

    def make():
        if broken:
            raise ValueError("the file is half-written")
        return ProjectAnalysis(X, ids(24), Settings("toy", n_clusters=2))

    sent = []
    loop = Loop(inbox, sent.append, make)
    loop._lay_out = lambda: None
    reload = Tell(tuple(log.events), 2, reload=True)
    inbox.put(reload)
    loop.turn()
    assert loop._due  # the picture has yet to be made
    broken = True
    inbox.put(reload)
    loop.turn()
    assert loop._due == []  # so the next turn waits for a message
    assert "the file is half-written" in sent[-1].text
    broken = False
    inbox.put(reload)
    loop.turn()
    assert any(isinstance(message, Ready) for message in sent[-2:])


def test_reloads_that_are_not_sent_yet_are_one(project, heard):
    worker = Worker(project, heard)  # not started: nothing is sent
    worker._connection = object()
    for _ in range(3):
        worker.reload()
    assert worker._outbox.qsize() == 1


def test_a_reload_keeps_the_process_and_uses_new_items(project, worker, heard):
    log = Log()
    log.answer((0, 20), "DIFFERENT")
    worker.tell(Tell(tuple(log.events), 2))
    heard.next(Ready, Picture, after=1)
    pid = worker.pid
    project.add_items([[5.0]], [Item(24, "later", "row", "later")], uploaded=True)
    worker.reload()
    n = 24
    while n == 24:
        (picture,) = heard.next(Picture, after=1)
        n = len(picture.labels)
    assert n == 25
    assert worker.pid == pid
    assert picture.links.tolist() == [[0, 20, 0]]


def test_a_map_of_former_items_is_not_sent():
    loop, sent = loop_of(ProjectAnalysis(X, ids(24), Settings("toy", n_clusters=2)), queue.SimpleQueue())
    former = loop.analysis
    loop.analysis = ProjectAnalysis(X[:20], ids(20), Settings("toy", n_clusters=2))
    loop._send_better_map(former)
    assert sent == []
    loop._send_better_map(loop.analysis)
    assert [len(message.xy) for message in sent] == [20]


def test_starting_a_failed_worker_is_retried(tmp_path, monkeypatch):
    def fail(_):
        raise OSError("no memory")

    monkeypatch.setattr(Worker, "_run_process", fail)
    monkeypatch.setattr("likewise.studio.jobs.worker._FIRST_WAIT", 0.001)
    heard = []
    one = Worker(make(tmp_path), heard.append)
    one.start()
    try:
        wait_until(lambda: len(heard) >= 3, "a third try")
    finally:
        one.stop()
    assert "no memory" in heard[0].text
