"""The background process: receives events, computes questions and groups, and sends them back."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.exceptions import render
from likewise.studio.records import FromWorker, Settings, Tell, Trouble

if TYPE_CHECKING:  # the server imports this module too and must start before scikit-learn is imported
    from likewise.studio.jobs.brain import Brain

_NICE, _NICEST = 10, 19
_DERIVED = ("picture", "standing", "progress")
STOP = None  # sent by the server at shutdown


def load(folder: Path, settings: Settings) -> Brain:
    """Open a project and create its brain."""
    from likewise.studio.jobs.brain import Brain
    from likewise.studio.project import Project

    project = Project.open(folder)
    return Brain(project.load_features(), project.items.get_ids(), settings, project.get_kept_groups())


def run(connection: Connection, make: Callable[[], Brain]) -> None:
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
        Returns the brain.
    give_way : callable, optional
        Called after the first questions have been sent, for which a person may be waiting.
    """

    def __init__(
        self,
        inbox: queue.SimpleQueue[Tell],
        send: Callable[[Any], None],
        make: Callable[[], Brain],
        give_way: Callable[[], None] | None = None,
    ) -> None:
        self._inbox, self._send_now, self._make, self._give_way = inbox, send, make, give_way
        self._lock = threading.Lock()
        self._due: list[str] = []  # longest waiting first
        self._last: Tell | None = None
        self._reported_troubles: dict[str, str] = {}
        self._maps_nearness = False  # True once the better map has been started
        self.brain: Brain | None = None

    def run(self) -> None:
        """Run until the process ends."""
        self._attempt("load", self._load)
        while True:
            self.turn()

    def turn(self) -> None:
        """Receive messages, waiting if nothing is due; then run the questions step, if due, and one other."""
        self._take()
        if self.brain is None:
            return
        if "questions" in self._due:
            self._run_step("questions")
            self._take()
        other = next((step for step in self._due if step != "questions"), None)
        if other is not None:
            self._run_step(other)

    def _send(self, message: FromWorker) -> None:
        with self._lock:
            self._send_now(message)

    def _load(self) -> None:
        self.brain = self._make()

    def _take(self) -> None:
        wait = not self._due
        while wait or not self._inbox.empty():
            wait = False
            message = self._inbox.get()
            if self.brain is None:
                continue
            changed = self.brain.tell(message.events)
            first = self._last is None
            if first:
                self._mark("map")
            # The server asks for no questions if enough are ready.
            if message.wanted > 0:
                self._mark("questions")
            self._last = message
            if changed or first:
                for step in _DERIVED:
                    self._mark(step)
            for seq, sentence in self.brain.ignored.items():
                self._send_trouble(f"event {seq}", sentence)

    def _mark(self, step: str) -> None:
        if step not in self._due:
            self._due.append(step)

    def _run_step(self, step: str) -> None:
        self._due.remove(step)
        self._attempt(step, getattr(self, f"_send_{step}"))

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

    def _send_questions(self) -> None:
        assert self.brain is not None
        assert self._last is not None
        self._send(self.brain.choose_questions(self._last.wanted, self._last.pending))
        if self._give_way is not None:
            self._give_way()
            self._give_way = None

    def _send_picture(self) -> None:
        assert self.brain is not None
        assert self._last is not None
        was_rough = self.brain.rough
        self._send(self.brain.make_picture())
        if self.brain.rough:
            self._mark("picture")
            return
        if was_rough and self._last.wanted > 0:
            self._mark("questions")  # based on the new picture
        if not self._maps_nearness:
            self._maps_nearness = True
            threading.Thread(target=self._lay_out, args=(self.brain,), daemon=True).start()

    def _send_standing(self) -> None:
        assert self.brain is not None
        self._send(self.brain.compute_standing())

    def _send_progress(self) -> None:
        assert self.brain is not None
        self._send(self.brain.compute_progress())
        if self.brain.lags:
            self._mark("progress")

    def _send_map(self) -> None:
        from likewise.studio.jobs.layout import compute_plain_layout

        assert self.brain is not None
        self._send(compute_plain_layout(self.brain.X, seed=self.brain.settings.seed))

    def _lay_out(self, brain: Brain) -> None:
        """Compute the better map in a separate thread, since it takes long and nothing depends on it."""
        from likewise.studio.jobs.layout import compute_near_layout

        if sys.platform == "linux":  # priorities are per thread on Linux
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICEST)
        draw = partial(compute_near_layout, brain.X, seed=brain.settings.seed)
        self._attempt("better map", lambda: self._send(draw()))
