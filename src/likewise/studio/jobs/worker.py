"""The server's hand on the process that thinks: starts it, tells it events, revives it if it dies."""

from __future__ import annotations

import atexit
import contextlib
import logging
import multiprocessing
import queue
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from likewise.exceptions import render
from likewise.studio.jobs._process import STOP, load, run
from likewise.studio.project import Project
from likewise.studio.records import FromWorker, StoredEvent, Tell, Trouble

logger: logging.Logger = logging.getLogger(__name__)
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0
_LONG_LIFE = 30.0  # seconds after which a death is not held to be of the same cause as the one before
_GRACE = 2.0


class Worker:
    """A process of its own that makes questions, pictures, progress and the map of a project.

    It is told events and answers with messages, in its own time. It keeps nothing: if it dies it is started
    again and told all events anew.

    Parameters
    ----------
    project : Project
        What it is about.
    on_message : callable
        Takes each message. It is called from a thread of the worker's own, one message at a time.
    """

    def __init__(self, project: Project, on_message: Callable[[FromWorker], None]) -> None:
        self._make = partial(load, project.folder, project.settings)
        self._on_message = on_message
        self._lock = threading.Lock()
        self._events: dict[int, StoredEvent] = {}
        self._last: Tell | None = None
        self._outbox: queue.SimpleQueue[tuple[Connection | None, Any]] = queue.SimpleQueue()
        self._connection: Connection | None = None
        self._process: Any = None
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def pid(self) -> int | None:
        """The number of the process, None if there is none."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> None:
        """Start the process; returns at once."""
        if self._threads:
            raise RuntimeError("this worker was started before. Make another.")
        atexit.register(self.stop)  # the process ignores SIGTERM, by which Python would end it then
        for name, target in (("keep", self._keep), ("send", self._deliver)):
            thread = threading.Thread(target=target, name=f"likewise worker: {name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def tell(self, message: Tell) -> None:
        """Tell events, and how many questions are wanted. Never waits for the process."""
        with self._lock:
            self._events |= {event.seq: event for event in message.events}
            self._last = message
            if self._connection is not None:
                self._outbox.put((self._connection, message))

    def stop(self) -> None:
        """End the process, by force if it does not go within two seconds."""
        self._stopping.set()
        atexit.unregister(self.stop)
        with self._lock:
            if self._connection is not None:
                self._outbox.put((self._connection, STOP))
        process = self._process
        if process is not None:
            process.join(_GRACE)
            if process.is_alive():
                process.kill()
                process.join(_GRACE)
        self._outbox.put((None, STOP))
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_GRACE)

    # ------------------------------------------------------------------ threads

    def _keep(self) -> None:
        """Start the process, hand on what it says, and start it again when it ends by itself."""
        wait = _FIRST_WAIT
        while not self._stopping.is_set():
            born = time.monotonic()
            how = self._run_and_describe()
            if self._stopping.is_set():
                return
            wait = _FIRST_WAIT if time.monotonic() - born > _LONG_LIFE else min(2 * wait, _LONGEST_WAIT)
            self._hand_on(Trouble(f"The background process ended ({how}); it is started again."))
            self._stopping.wait(wait)

    def _run_and_describe(self) -> str:
        """Run one process, and say how it ended; whatever happens, another can be tried."""
        try:
            code = self._run_process()
        except Exception as error:  # no memory for another process, or a message that is cut off
            logger.exception("the worker could not be run")
            with self._lock:
                self._connection, process = None, self._process
            if process is not None and process.is_alive():
                process.kill()
                process.join(_GRACE)
            return render(error)
        return f"signal {-code}" if code is not None and code < 0 else f"code {code}"

    def _run_process(self) -> int | None:
        """Run one process from its start to its end, and return its exit code."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=run, args=(theirs, self._make), name="likewise worker", daemon=True)
        with self._lock:
            if self._stopping.is_set():
                return None
            _hold_off_signals()
            process.start()
            theirs.close()  # or its end would never be noticed
            self._process, self._connection = process, ours
            if self._last is not None:
                events = tuple(self._events[seq] for seq in sorted(self._events))
                self._outbox.put((ours, Tell(events, self._last.wanted, self._last.pending)))
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._hand_on(ours.recv())
        with self._lock:
            self._connection = None
        process.join()
        ours.close()
        return process.exitcode

    def _hand_on(self, message: FromWorker) -> None:
        try:
            self._on_message(message)
        except Exception:  # whatever it is, the next message is to be heard
            logger.exception("a message of the worker could not be handled")

    def _deliver(self) -> None:
        """Send what is to be said. A full pipe makes this thread wait, and nobody else."""
        while True:
            connection, message = self._outbox.get()
            if connection is None:
                return
            with contextlib.suppress(OSError, ValueError):  # it died: all is told again to the next one
                connection.send(message)


def _hold_off_signals() -> None:
    """Block signals in this thread, which the process inherits: from its first moment they are not for it."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # which lets them through again, when it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
