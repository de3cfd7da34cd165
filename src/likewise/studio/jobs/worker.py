"""The background process and its control from the server: start it, send it events, restart it if it dies."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import logging
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from likewise.exceptions import render
from likewise.studio.project import Project
from likewise.studio.records import FromWorker, StoredEvent, Tell, Trouble

if TYPE_CHECKING:  # the server imports this module and must start before scikit-learn is imported
    from likewise.studio.jobs.analysis import ProjectAnalysis

logger: logging.Logger = logging.getLogger(__name__)
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0
_LONG_LIFE = 30.0  # seconds; a process that ran longer did not die of a permanent cause
_GRACE = 2.0
START_METHOD: Literal["spawn", "forkserver"] = (
    "spawn"  # a fork would copy locks that threads of the server hold
)
_NICE, _NICEST = 10, 19
_DERIVED = ("picture", "agreement", "progress")
STOP = None  # sent by the server at shutdown
RELOAD = "reload"  # in the outbox: send all events and ask to open the project again


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
        self._make = partial(load, project.folder)
        self._on_message = on_message
        self._lock = threading.Lock()
        self._events: dict[int, StoredEvent] = {}
        self._last: Tell | None = None
        self._outbox: queue.SimpleQueue[tuple[Connection | None, Any]] = queue.SimpleQueue()
        self._connection: Connection | None = None
        self._to_reload: Connection | None = None  # for which a reload is queued
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

    def reload(self) -> None:
        """Open the project again, because items were added to it or its settings changed.

        The process finishes its current step first. Another process would need seconds to start, and if
        items were added more often than that, there would never be any questions.
        """
        with self._lock:
            if self._connection is not None and self._connection is not self._to_reload:
                self._to_reload = self._connection
                self._outbox.put((self._connection, RELOAD))

    def _repeat_all(self, last: Tell) -> Tell:
        """Return the last message with all events. The caller must hold the lock."""
        return replace(last, events=tuple(self._events[seq] for seq in sorted(self._events)))

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
        context: Any = multiprocessing.get_context(START_METHOD)
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
                self._outbox.put((ours, self._repeat_all(self._last)))
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._hand_on(ours.recv())
        with self._lock:
            self._connection = None
        process.join()
        ours.close()
        code: int | None = process.exitcode
        return code

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
            if message is RELOAD:
                with self._lock:
                    self._to_reload = None
                    message = replace(self._repeat_all(self._last or Tell((), 0)), reload=True)
            with contextlib.suppress(OSError, ValueError):  # it died; the next process receives everything
                connection.send(message)


def _hold_off_signals() -> None:
    """Block signals in this thread; the process inherits this and never receives them."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # its start would unblock them
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})


def load(folder: Path) -> ProjectAnalysis:
    """Open a project, with the settings as they are now, and create its analysis."""
    from likewise.studio.jobs.analysis import ProjectAnalysis

    return ProjectAnalysis.from_project(Project.open(folder))


def run(connection: Connection, make: Callable[[], ProjectAnalysis]) -> None:
    """Run the process until the server sends STOP or is gone."""
    with contextlib.suppress(ValueError):
        # Ctrl-C and many supervisors signal all processes; the server alone handles it, then sends STOP.
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
    from threadpoolctl import threadpool_limits

    inbox: queue.SimpleQueue[Tell] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
    with threadpool_limits(limits=1):
        Loop(inbox, connection.send, make, _lower_priority).run()


@lru_cache(maxsize=1)
def _find_malloc_trim() -> Callable[[int], int] | None:
    """Return the function of glibc that gives free memory back to the system; None with other libraries."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found


def release_memory() -> None:
    """Give the memory that fits have used back to the system; glibc alone would keep tens of megabytes."""
    trim = _find_malloc_trim()
    if trim is not None:
        trim(0)


def _lower_priority() -> None:
    if hasattr(os, "nice"):
        os.nice(_NICE)


def _receive(connection: Connection, inbox: queue.SimpleQueue[Tell]) -> None:
    """Queue messages from the server. When the connection ends, exit at once: no state is lost."""
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            message = STOP
        if message is STOP:
            os._exit(0)
        inbox.put(message)


class Loop:
    """Runs pending steps one at a time: questions first; the better map runs in a separate thread.

    Parameters
    ----------
    inbox : queue of Tell
        Messages from the server.
    send : callable
        Sends a message to the server.
    make : callable
        Returns the analysis.
    give_way : callable, optional
        Called after the first questions have been sent, for which a person may be waiting.
    """

    def __init__(
        self,
        inbox: queue.SimpleQueue[Tell],
        send: Callable[[Any], None],
        make: Callable[[], ProjectAnalysis],
        give_way: Callable[[], None] | None = None,
    ) -> None:
        self._inbox, self._send_now, self._make, self._give_way = inbox, send, make, give_way
        self._lock = threading.Lock()
        self._due: list[str] = []  # longest waiting first
        self._last = Tell((), 0)
        self._is_first = True  # until the first message
        self._reported_troubles: dict[str, str] = {}
        self._mapped: ProjectAnalysis | None = None  # whose better map is computed or finished
        self._is_mapping = False
        self.analysis: ProjectAnalysis | None = None

    def run(self) -> None:
        """Run until the process ends."""
        self._attempt("load", self._load)
        while True:
            self.turn()

    def turn(self) -> None:
        """Receive messages, waiting if nothing is due; then run the questions step, if due, and one other."""
        self._take()
        if self.analysis is None:
            return
        if "questions" in self._due:
            self._run_step("questions", self.analysis)
            self._take()
            if self.analysis is None:
                return
        other = next((step for step in self._due if step != "questions"), None)
        if other is not None:
            self._run_step(other, self.analysis)

    def _send(self, message: FromWorker) -> None:
        with self._lock:
            self._send_now(message)

    def _load(self) -> None:
        # The next analysis needs the memory of this one. If it cannot be made, no step is due.
        self.analysis = None
        self._due.clear()
        with self._lock:
            if not self._is_mapping:
                self._mapped = None
        self.analysis = self._make()

    def _take(self) -> None:
        """Receive messages. Several requests to reload cause one reload."""
        messages = [self._inbox.get()] if not self._due else []
        while not self._inbox.empty():
            messages.append(self._inbox.get())
        reloads = [at for at, message in enumerate(messages) if message.reload]
        if reloads:
            self._attempt("load", self._load)
            self._is_first = True
            del messages[: reloads[-1]]  # the last request repeats their events
        for message in messages:
            if self.analysis is None:
                continue
            changed = self.analysis.tell(message.events)
            if self._is_first:
                self._mark("map")
            # The server asks for no questions if enough are ready.
            if message.wanted > 0:
                self._mark("questions")
            self._last = message
            if changed or self._is_first:
                for step in _DERIVED:
                    self._mark(step)
            self._is_first = False
            for seq, sentence in self.analysis.ignored.items():
                self._send_trouble(f"event {seq}", sentence)

    def _mark(self, step: str) -> None:
        if step not in self._due:
            self._due.append(step)

    def _run_step(self, step: str, analysis: ProjectAnalysis) -> None:
        self._due.remove(step)
        self._attempt(step, partial(getattr(self, f"_send_{step}"), analysis))

    def _attempt(self, step: str, work: Callable[[], None]) -> None:
        """Run a step; report a failure once, until the step succeeds again."""
        try:
            work()
        except (BrokenPipeError, ConnectionError):
            os._exit(0)  # the server is gone
        except Exception as error:
            what = "The project could not be opened" if step == "load" else f"The {step} could not be made"
            self._send_trouble(step, f"{what}: {render(error)}")
        else:
            self._reported_troubles.pop(step, None)

    def _send_trouble(self, about: str, text: str) -> None:
        if self._reported_troubles.get(about) != text:
            self._reported_troubles[about] = text
            self._send(Trouble(text))

    # ------------------------------------------------------------------ steps

    def _send_questions(self, analysis: ProjectAnalysis) -> None:
        self._send(analysis.choose_questions(self._last.wanted, self._last.pending))
        if self._give_way is not None:
            self._give_way()
            self._give_way = None

    def _send_picture(self, analysis: ProjectAnalysis) -> None:
        was_rough = analysis.rough
        self._send(analysis.make_picture())
        release_memory()
        if analysis.rough:
            self._mark("picture")
            return
        self._mark("descriptions")
        if was_rough and self._last.wanted > 0:
            self._mark("questions")  # based on the new picture
        with self._lock:
            is_new, self._mapped = self._mapped is not analysis, analysis
            starts = is_new and not self._is_mapping
            self._is_mapping |= is_new
        if starts:
            threading.Thread(target=self._lay_out, daemon=True).start()

    def _send_descriptions(self, analysis: ProjectAnalysis) -> None:
        self._send(analysis.describe_groups())

    def _send_agreement(self, analysis: ProjectAnalysis) -> None:
        self._send(analysis.compute_agreement())

    def _send_progress(self, analysis: ProjectAnalysis) -> None:
        self._send(analysis.compute_progress())
        release_memory()
        if analysis.lags:
            self._mark("progress")

    def _send_map(self, analysis: ProjectAnalysis) -> None:
        from likewise.studio.jobs.layout import compute_plain_layout

        self._send(compute_plain_layout(analysis.X, seed=analysis.settings.seed))

    def _lay_out(self) -> None:
        """Compute the better map in a separate thread, since it takes long and nothing depends on it.

        If items are added meanwhile, it is computed again; there is one such thread at a time.
        """
        if sys.platform == "linux":  # priorities are per thread on Linux
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICEST)
        while True:
            with self._lock:
                analysis = self._mapped
            assert analysis is not None
            self._attempt("better map", partial(self._send_better_map, analysis))
            with self._lock:
                if self._mapped is analysis:
                    self._is_mapping = False
                    return

    def _send_better_map(self, analysis: ProjectAnalysis) -> None:
        from likewise.studio.jobs.layout import compute_near_layout

        found = compute_near_layout(analysis.X, seed=analysis.settings.seed)
        if analysis is self.analysis:
            self._send(found)
