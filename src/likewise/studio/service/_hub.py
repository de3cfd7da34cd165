"""Between the store, the worker and whoever watches: what was derived last, and what is still to be told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from likewise.studio.records import (
    FromWorker,
    Layout,
    Picture,
    Progress,
    QueuedQuestion,
    Ready,
    Standing,
    StoredEvent,
    Tell,
    Trouble,
)
from likewise.studio.service._log import Key, Log, is_informative, make_question_key
from likewise.studio.store import Store, Transaction

log = logging.getLogger("likewise.studio")
Watcher = Callable[[str, dict[str, Any]], None]
_TRY_AGAIN = 1.0  # seconds after which the worker is told again of what could not be told


class Teller(Protocol):
    """What derives questions and groups from events: the worker process, or a stand-in of a test."""

    def start(self) -> None:
        """Begin."""

    def tell(self, message: Tell) -> None:
        """Hear of new events."""

    def stop(self) -> None:
        """End."""


class Hub:
    """Holds the newest of everything that is derived, and keeps worker, queue and watchers up to date.

    Parameters
    ----------
    store : Store
        Where events and questions are.
    teller : callable
        Makes the worker, given what to call with its messages.
    wanted : callable
        Tells how many questions to have ready.
    clock : callable
        Tells the time.
    keep : callable
        Is given each picture.
    asks : bool
        False if questions are not chosen by a strategy, as in a study.
    """

    def __init__(
        self,
        store: Store,
        teller: Callable[[Callable[[FromWorker], None]], Teller],
        wanted: Callable[[], int],
        clock: Callable[[], float],
        asks: bool = True,
        keep: Callable[[Picture], None] = lambda picture: None,
    ) -> None:
        self.store = store
        self.log: Log = Log()
        self.picture: Picture | None = None
        self.progress: Progress | None = None
        self.standing: Standing | None = None
        self.layout: Layout | None = None
        self.finished: str | None = None  # why nothing is left to ask
        self.trouble: str | None = None
        self._own_trouble: str | None = None  # what failed here and not in the worker
        self.asked_seq: int = -1  # the questions in the queue are by events up to this one
        self._wanted = wanted
        self._clock = clock
        self._asks = asks
        self._keep = keep
        self._watchers: set[Watcher] = set()
        self._watching = threading.Lock()  # never held while the database is read, as the next one is
        self._lock = threading.RLock()
        self._meant: frozenset[Key] = frozenset()  # asked on purpose, though answers seem to imply them
        self._news = threading.Condition()
        self._has_news = True
        self._closing = False
        self._worker = teller(self._receive)
        self._thread = threading.Thread(target=self._notify_loop, name="likewise-teller", daemon=True)

    # ------------------------------------------------------------------ life

    def start(self) -> None:
        """Read the events, start the worker, and tell it of them."""
        self.refresh()
        self._worker.start()
        self._thread.start()

    def stop(self) -> None:
        """End the worker. What it had not finished is derived anew at the next start."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout=5)
        self._worker.stop()

    # ------------------------------------------------------------------ news

    def refresh(self) -> None:
        """Read what is new in the store; other processes may write to it as well."""
        with self._lock:
            events = self.store.read(lambda tx: tx.get_events(after=self.log.last))
            new = self.log.add(events)
        if new:
            self.wake_worker()

    def take_event(self, event: StoredEvent) -> None:
        """Take in an event that was just kept; what came between is read if there is any."""
        with self._lock:
            next_one = event.seq == self.log.last + 1
            if next_one:
                self.log.add([event])
        if next_one:
            self.wake_worker()
        else:
            self.refresh()

    def wake_worker(self) -> None:
        """Let the worker be told of news, soon and from another thread."""
        with self._news:
            self._has_news = True
            self._news.notify_all()

    def _notify_loop(self) -> None:
        n_sent_events = 0
        while True:
            with self._news:
                self._news.wait_for(lambda: self._has_news or self._closing)
                if self._closing:
                    return
                self._has_news = False
            try:
                events = self.log.get_events(after=n_sent_events)
                pending = self.store.read(lambda tx: tx.open_leases(self._clock()))
                self._worker.tell(Tell(events, self._wanted() if self._asks else 0, tuple(pending)))
                n_sent_events = events[-1].seq if events else n_sent_events
            except Exception as error:  # the database may be away for a while
                self._report_failure(f"The worker could not be told of new answers: {error}")
                with self._news:
                    self._has_news = True
                    self._news.wait_for(lambda: self._closing, timeout=_TRY_AGAIN)

    def _receive(self, message: FromWorker) -> None:
        """Take what the worker says; called from its reading thread."""
        if isinstance(message, Ready):
            self._refill(message)
        elif isinstance(message, Picture):
            self.picture = message
            self.trouble = None
            self._keep(message)
            self.emit("picture", {"seq": message.seq})
        elif isinstance(message, Progress):
            self.progress = message
            self.emit("progress", {"seq": message.seq})
        elif isinstance(message, Standing):
            self.standing = message
        elif isinstance(message, Layout):
            self.layout = message
            self.emit("layout", {"method": message.method, "final": message.final})
        else:
            self.trouble = message.text
            log.warning("%s", message.text)
            self.emit("trouble", {"text": message.text})

    def _report_failure(self, text: str) -> None:
        if text != self.trouble:
            self._own_trouble = text
            self._receive(Trouble(text))

    def _refill(self, ready: Ready) -> None:
        fresh = [question for question in ready.questions if not self.log.was_answered(question)]
        # The log takes every answer at its word. The worker leaves out what people disagree about, or what
        # only somebody unreliable said; what it asks with all answers known does not follow from them.
        if ready.seq >= self.log.last:
            self._meant = frozenset(
                make_question_key(q.kind, q.items) for q in fresh if self.log.is_implied(q)
            )
        try:
            self.store.write(lambda tx: self._fill_queue(tx, fresh))
        except Exception as error:  # the disk may be full; the next batch comes with the next answer
            self._report_failure(f"New questions could not be kept: {error}")
            return
        if self.trouble is not None and self.trouble == self._own_trouble:
            self.trouble = None  # the database is back
        self.finished = ready.finished if not fresh else None
        self.asked_seq = ready.seq
        self.emit("ready", {"n": len(fresh)})
        if len(fresh) < len(ready.questions):
            self.wake_worker()

    def _fill_queue(self, tx: Transaction, fresh: list[QueuedQuestion]) -> None:
        """Offer these questions, and before them those to be asked again.

        These go to people who have not answered them, if any of these answer questions, otherwise to anyone.
        """
        again = list(self.log.get_revisits().values())
        tx.refill([*again, *fresh], now=self._clock())
        if not again:
            return
        people = {one.id for one in tx.get_people() if one.active and self.log.count_answers(one.id)}
        for question in again:
            before = self.log.get_answerers(question)
            for person in before if people - before else ():
                if not tx.was_leased(question.id, person):
                    tx.mark_skipped(question.id, person)

    def is_queue_leased(self) -> bool:
        """Tell whether people are looking at questions; of use where there are no others."""
        return bool(self.store.read(lambda tx: tx.open_leases(self._clock())))

    # ------------------------------------------------------------------ watchers

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` with the name and content of each piece of news; returns what ends that."""
        with self._watching:
            self._watchers.add(watcher)

        def leave() -> None:
            with self._watching:
                self._watchers.discard(watcher)

        return leave

    def emit(self, name: str, content: dict[str, Any]) -> None:
        """Tell all watchers."""
        with self._watching:
            watchers = list(self._watchers)
        for watcher in watchers:
            try:
                watcher(name, content)
            except Exception:
                log.exception("a watcher failed")

    # ------------------------------------------------------------------ derived

    @property
    def behind(self) -> int:
        """How many events the picture does not know of yet."""
        seen = self.picture.seq if self.picture is not None else 0
        return sum(
            event.kind in ("undo", "confirm") or is_informative(event)
            for event in self.log.get_events(after=seen)
        )

    def _is_repeat(self, question: QueuedQuestion) -> bool:
        return any(question.id == one.id for one in self.log.get_revisits().values())

    def split_questions(
        self, leased: list[tuple[QueuedQuestion, float]], person: int, overlap: int
    ) -> tuple[list[Any], list[str]]:
        """Part leased questions into those worth putting and the ids of those whose answer follows by now.

        Where several are to answer the same question, it is put to the second though the first has answered.
        """
        kept, implied = [], []
        for question, until in leased:
            again = overlap > 1 and self.log.is_answered_by_others_only(question, person)
            meant = make_question_key(question.kind, question.items) in self._meant
            if self.log.is_implied(question) and not again and not meant and not self._is_repeat(question):
                implied.append(question.id)
            else:
                kept.append((question, until))
        return kept, implied
