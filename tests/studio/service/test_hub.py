"""Between store and worker: temporary failures, and a lock that must not be waited for."""

import threading

import pytest

from patience import PATIENCE, wait_until

pytest.importorskip("sqlalchemy")


def test_a_failure_ends_when_the_worker_can_be_reached_again(open_studio):
    desk = open_studio()
    desk.teller.paused.set()
    desk.hub.wake_worker()
    wait_until(lambda: desk.hub.trouble is not None, "the trouble")
    desk.teller.paused.clear()
    wait_until(lambda: desk.hub.trouble is None, "its end")


def test_watching_can_start_while_the_database_is_slow(open_studio):
    """The event stream of a page starts in the loop that serves all requests."""
    desk = open_studio()
    reading, done = threading.Event(), threading.Event()

    def slow(work):
        reading.set()
        assert done.wait(PATIENCE)
        return []

    read, desk.hub.store.read = desk.hub.store.read, slow
    thread = threading.Thread(target=desk.hub.refresh)
    thread.start()
    watching = threading.Thread(target=lambda: desk.hub.watch(lambda *_: None), daemon=True)
    try:
        assert reading.wait(PATIENCE)
        watching.start()
        watching.join(PATIENCE)
        assert not watching.is_alive()
    finally:
        desk.hub.store.read = read
        done.set()
        thread.join()


def test_with_each_picture_pages_learn_how_far_the_groups_are_behind(open_studio):
    """The progress of the same answers may have come before."""
    desk, seen, here = open_studio(), [], threading.current_thread()
    picture = wait_until(lambda: desk.hub.picture, "a picture")
    leave = desk.hub.watch(lambda name, _: threading.current_thread() is here and seen.append(name))
    desk.hub._receive(picture)
    leave()
    assert seen == ["picture", "progress"]
