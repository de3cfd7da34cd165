"""What must stay stable while a studio runs for days."""

import os
import threading
import time

import pytest

from likewise.studio.jobs import worker
from likewise.studio.jobs.worker import Worker
from likewise.studio.project import Project
from likewise.studio.service import _studio
from patience import wait_until
from small_projects import make

pytest.importorskip("sqlalchemy")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux shows them")
def test_threads_that_come_and_go_leave_no_open_files(tmp_path):
    items = make(tmp_path).items
    items.get(0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        thread = threading.Thread(target=items.get, args=(1,))
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    items.close()
    assert items.get(2).row == 2


def test_a_slow_folder_is_checked_rarely(open_studio, monkeypatch):
    looks, refreshed = [], []

    def slow(_):
        looks.append(True)
        time.sleep(0.05)

    monkeypatch.setattr(_studio, "_LOOK_EVERY", 0.001)
    monkeypatch.setattr(_studio, "_LOOK_SHARE", 1e-6)  # of the time: not again during this test
    monkeypatch.setattr(Project, "describe_changed_source", slow)
    desk = open_studio()
    refresh = desk.hub.refresh
    monkeypatch.setattr(desk.hub, "refresh", lambda: (refreshed.append(True), refresh()))
    wait_until(lambda: len(refreshed) >= 20, "a look at the store")
    assert len(looks) == 1


def test_starting_a_failed_worker_is_retried(tmp_path, monkeypatch):
    def fail(_):
        raise OSError("no memory")

    monkeypatch.setattr(Worker, "_run_process", fail)
    monkeypatch.setattr(worker, "_FIRST_WAIT", 0.001)
    heard = []
    one = Worker(make(tmp_path), heard.append)
    one.start()
    try:
        wait_until(lambda: len(heard) >= 3, "a third try")
    finally:
        one.stop()
    assert "no memory" in heard[0].text
