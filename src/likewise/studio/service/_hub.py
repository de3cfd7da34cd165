"""Connect the store, the worker and watching pages: holds the latest derived state."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from likewise.exceptions import ConflictError, KeyReusedError, NotFoundError
from likewise.studio._stored_events import LiveEventLog, is_informative
from likewise.studio.records import (
    FromWorker,
    GroupDescriptions,
    Layout,
    NewEvent,
    PeopleAgreement,
    Picture,
    Progress,
    QuestionKey,
    QueuedQuestion,
    Ready,
    StoredEvent,
    Tell,
    Trouble,
)
from likewise.studio.store import Store, Transaction

log = logging.getLogger("likewise.studio")
Watcher = Callable[[str, dict[str, Any]], None]
_TRY_AGAIN = 1.0  # seconds until events are sent to the worker again after a failure


def append(tx: Transaction, event: NewEvent) -> tuple[StoredEvent, bool]:
    """Append an event; raise an error that pages can show if its key was used for another event."""
    try:
        return tx.append(event)
    except KeyReusedError as error:
        raise ConflictError(str(error), "Reload the page.") from error


class Teller(Protocol):
    """Derives questions and groups from events: the worker process, or a substitute in a test."""

    def start(self) -> None:
        """Start."""

    def tell(self, message: Tell) -> None:
        """Receive new events."""

    def reload(self) -> None:
        """Open the project again, because items were added to it or its settings changed."""

    def stop(self) -> None:
        """Stop."""


class Hub:
    """Holds the latest derived state, and keeps worker, queue and watchers up to date.

    Parameters
    ----------
    store : Store
        The store of events and questions.
    teller : callable
        Creates the worker, given a callback for its messages.
    wanted : callable
        Returns the number of questions to have ready; 0 if no strategy chooses them, as in a study.
    clock : callable
        Returns the current time.
    keep : callable
        Called with each new picture.
    """

    def __init__(
        self,
        store: Store,
        teller: Callable[[Callable[[FromWorker], None]], Teller],
        wanted: Callable[[], int],
        clock: Callable[[], float],
        keep: Callable[[Picture], None],
    ) -> None:
        self.store = store
        self.log: LiveEventLog = LiveEventLog()
        self.picture: Picture | None = None
        self.descriptions: GroupDescriptions = GroupDescriptions(0, {})
        self.progress: Progress | None = None
        self.agreement: PeopleAgreement | None = None
        self.layout: Layout | None = None
        self.finished: str | None = None  # why no questions are left
        self.trouble: str | None = None
        self._own_trouble: str | None = None  # a failure here, not in the worker
        self.asked_seq: int = -1  # seq on which the queued questions are based
        self._wanted = wanted
        self._clock = clock
        self._keep = keep
        self._watchers: set[Watcher] = set()
        self._watching = threading.Lock()  # never held while the database is read, unlike the next lock
        self._lock = threading.RLock()
        self._meant: frozenset[QuestionKey] = frozenset()  # asked although answers seem to imply them
        self._news = threading.Condition()
        self._has_news = True
        self._closing = False
        self._worker = teller(self._receive)
        self._thread = threading.Thread(target=self._notify_loop, name="likewise-teller", daemon=True)

    # ------------------------------------------------------------------ start and stop

    def start(self) -> None:
        """Read the events, start the worker and send it the events."""
        self.refresh()
        self._worker.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop the worker. Unfinished work is derived again at the next start."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout=5)
        self._worker.stop()

    def use_new_items(self, n_items: int) -> None:
        """Derive everything again, with items that were added; the picture stays until there is another."""
        self.layout = None
        self._worker.reload()
        self.emit("items", {"n": n_items})

    def use_new_settings(self, asks_differently: bool) -> None:
        """Tell pages that settings have changed, and choose other questions if these depend on them."""
        if asks_differently:
            self.finished, self.asked_seq = None, -1
            self._worker.reload()
            self.wake_worker()
        self.emit("settings", {})

    def get_picture(self) -> Picture:
        """Return the latest picture of the groups, or raise an error if there is none yet."""
        if self.picture is None:
            raise NotFoundError(
                "There are no groups yet.", "They appear within seconds of the start; wait a moment."
            )
        return self.picture

    # ------------------------------------------------------------------ events and messages

    def refresh(self) -> None:
        """Read new events from the store; other processes may have written them."""
        with self._lock:
            events = self.store.read(lambda tx: tx.get_events(after=self.log.last))
            new = self.log.extend(events)
        if new:
            self.wake_worker()

    def take_event(self, event: StoredEvent) -> None:
        """Add an event that was just stored; events before it that are missing here are read first."""
        with self._lock:
            next_one = event.seq == self.log.last + 1
            if next_one:
                self.log.extend([event])
        if next_one:
            self.wake_worker()
        else:
            self.refresh()

    def add_event(self, event: NewEvent) -> tuple[StoredEvent, bool]:
        """Store an event; return it, and whether it is new."""
        stored, new = self.store.write(lambda tx: append(tx, event))
        self.refresh()
        return stored, new

    def wake_worker(self) -> None:
        """Notify the worker of new events, soon and from another thread."""
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
                self._worker.tell(Tell(events, self._wanted(), tuple(pending)))
                n_sent_events = events[-1].seq if events else n_sent_events
            except Exception as error:  # the database may be unavailable for a while
                self._report_failure(f"The background process could not be notified of new answers: {error}")
                with self._news:
                    self._has_news = True
                    self._news.wait_for(lambda: self._closing, timeout=_TRY_AGAIN)

    def _receive(self, message: FromWorker) -> None:
        """Handle a message of the worker; called from its reading thread."""
        if isinstance(message, Ready):
            self._refill(message)
        elif isinstance(message, Picture):
            self.picture = message
            self.trouble = None
            self._keep(message)
            self.emit("picture", {"seq": message.seq})
            self.emit("progress", {"seq": message.seq})  # it says how far the groups are behind
        elif isinstance(message, GroupDescriptions):
            before, self.descriptions = self.descriptions, message
            if message.phrases != before.phrases:
                self.emit("descriptions", {"seq": message.seq})
        elif isinstance(message, Progress):
            self.progress = message
            self.emit("progress", {"seq": message.seq})
        elif isinstance(message, PeopleAgreement):
            self.agreement = message
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
        fresh = [
            question
            for question in ready.questions
            if not self.log.was_answered(question) and not self.log.has_broken_items(question)
        ]
        # The log trusts every answer. The worker leaves out disputed answers and those given only by
        # unreliable people. If it asks a question with all answers known, the question does not follow from
        # them.
        meant = {question.key for question in fresh if self.log.is_implied(question)}
        if ready.seq >= self.log.last:
            self._meant |= meant
        try:
            shown = self.store.write(lambda tx: self._fill_queue(tx, fresh))
        except Exception as error:  # the disk may be full; the next batch comes with the next answer
            self._report_failure(f"New questions could not be stored: {error}")
            return
        if ready.seq >= self.log.last:
            self._meant = frozenset(meant | (self._meant & shown))
        if self.trouble is not None and self.trouble == self._own_trouble:
            self.trouble = None  # the database works again
        self.finished = ready.finished if not fresh else None
        self.asked_seq = ready.seq
        self.emit("ready", {"n": len(fresh)})
        if len(fresh) < len(ready.questions):
            self.wake_worker()

    def _fill_queue(self, tx: Transaction, fresh: list[QueuedQuestion]) -> set[QuestionKey]:
        """Queue these questions, after those to be asked again; return what people are looking at.

        Questions to be asked again go to people who have not answered them, if there are any, otherwise to
        anyone.
        """
        revisits = self.log.get_revisits().values()
        again = [question for question in revisits if not self.log.has_broken_items(question)]
        tx.refill([*again, *fresh], now=self._clock())
        shown = {question.key for question in tx.open_leases(self._clock())}
        if not again:
            return shown
        people = {one.id for one in tx.get_people() if one.active and self.log.count_answers(one.id)}
        for question in again:
            before = self.log.get_answerers(question)
            for person in before if people - before else ():
                if not tx.was_leased(question.id, person):
                    tx.mark_skipped(question.id, person)
        return shown

    def is_queue_leased(self) -> bool:
        """Return True if people are looking at questions; used when no others are left."""
        return bool(self.store.read(lambda tx: tx.open_leases(self._clock())))

    # ------------------------------------------------------------------ watchers

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` with the name and content of each update; return a function that unsubscribes."""
        with self._watching:
            self._watchers.add(watcher)

        def leave() -> None:
            with self._watching:
                self._watchers.discard(watcher)

        return leave

    def emit(self, name: str, content: dict[str, Any]) -> None:
        """Notify all watchers."""
        with self._watching:
            watchers = list(self._watchers)
        for watcher in watchers:
            try:
                watcher(name, content)
            except Exception:
                log.exception("a watcher failed")

    # ------------------------------------------------------------------ derived state

    @property
    def behind(self) -> int:
        """The number of events that the picture does not include yet."""
        seen = self.picture.seq if self.picture is not None else 0
        return sum(
            event.kind in ("undo", "confirm", "repair") or is_informative(event)
            for event in self.log.get_events(after=seen)
        )

    def split_questions(
        self, leased: list[tuple[QueuedQuestion, float]], person: int, overlap: int
    ) -> tuple[list[Any], list[str], dict[str, QueuedQuestion]]:
        """Divide leased questions into those worth asking, those already implied, and those to be replaced.

        If several people are to answer each question, the second is asked even if the first has answered.
        A question is replaced if the groups in it have changed; see :meth:`LiveEventLog.update_groups`.

        Returns
        -------
        kept : list of (QueuedQuestion, float)
            The questions to ask.
        implied : list of str
            The ids of questions with a known answer, or about items that cannot be judged.
        changed : dict of str to QueuedQuestion
            The questions that replace others, by the ids of these.
        """
        kept, implied, changed = [], [], {}
        for question, until in leased:
            if self.log.has_broken_items(question):
                implied.append(question.id)
                continue
            again = overlap > 1 and self.log.is_answered_by_others_only(question, person)
            meant = again or question.key in self._meant
            if not meant and all(question.id != one.id for one in self.log.get_revisits().values()):
                if self.log.is_implied(question):
                    implied.append(question.id)
                    continue
                if (now := self.log.update_groups(question)) is not None:
                    changed[question.id] = now
                    continue
            kept.append((question, until))
        return kept, implied, changed
