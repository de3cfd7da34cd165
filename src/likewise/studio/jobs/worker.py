"""Control the background process from the server: start it, send it events, restart it if it dies."""

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
_LONG_LIFE = 30.0  # seconds; a process that ran longer did not die of a permanent cause
_GRACE = 2.0
START_METHOD = "spawn"  # a fork would copy locks that threads of the server hold


class Worker:
    """A background process that computes the questions, picture, progress and map of a project.

    It receives events and replies asynchronously with messages. It has no persistent state: if it dies, it is
    restarted and receives all events again.

    Parameters
    ----------
    project : Project
        The project.
    on_message : callable
        Called with each message, one at a time, from a separate thread.
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
        """The id of the process, or None."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> None:
        """Start the process without waiting for it."""
        if self._threads:
            raise RuntimeError("this worker was already started. Create another.")
        atexit.register(self.stop)  # the process ignores SIGTERM, with which Python would end it at exit
        for name, target in (("keep", self._keep), ("send", self._deliver)):
            thread = threading.Thread(target=target, name=f"likewise worker: {name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def tell(self, message: Tell) -> None:
        """Send events and the number of questions needed. Never waits for the process."""
        with self._lock:
            self._events |= {event.seq: event for event in message.events}
            self._last = message
            if self._connection is not None:
                self._outbox.put((self._connection, message))

    def stop(self) -> None:
        """Stop the process, by force if it does not exit within two seconds."""
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
        """Start the process, pass on its messages, and restart it whenever it ends."""
        wait = _FIRST_WAIT
        while not self._stopping.is_set():
            born = time.monotonic()
            how = self._run_and_describe()
            if self._stopping.is_set():
                return
            wait = _FIRST_WAIT if time.monotonic() - born > _LONG_LIFE else min(2 * wait, _LONGEST_WAIT)
            self._hand_on(Trouble(f"The background process ended ({how}); it is being restarted."))
            self._stopping.wait(wait)

    def _run_and_describe(self) -> str:
        """Run one process and return a description of how it ended; never raises."""
        try:
            code = self._run_process()
        except Exception as error:  # out of memory, or a truncated message
            logger.exception("the worker could not be run")
            with self._lock:
                self._connection, process = None, self._process
            if process is not None and process.is_alive():
                process.kill()
                process.join(_GRACE)
            return render(error)
        return f"signal {-code}" if code is not None and code < 0 else f"code {code}"

    def _run_process(self) -> int | None:
        """Run one process until it ends and return its exit code."""
        context = multiprocessing.get_context(START_METHOD)
        ours, theirs = context.Pipe()
        process = context.Process(target=run, args=(theirs, self._make), name="likewise worker", daemon=True)
        with self._lock:
            if self._stopping.is_set():
                return None
            _hold_off_signals()
            process.start()
            theirs.close()  # otherwise the end of the process would go unnoticed
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
        except Exception:  # later messages must still be delivered
            logger.exception("a message of the worker could not be handled")

    def _deliver(self) -> None:
        """Send queued messages. A full pipe blocks only this thread."""
        while True:
            connection, message = self._outbox.get()
            if connection is None:
                return
            with contextlib.suppress(OSError, ValueError):  # it died; the next process receives everything
                connection.send(message)


def _hold_off_signals() -> None:
    """Block signals in this thread; the process inherits this and never receives them."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # its start would unblock them
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
