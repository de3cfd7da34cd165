"""Items that cannot be judged: anyone who is asked reports them, and the owner sees and restores them."""

from __future__ import annotations

from likewise.exceptions import NotAllowedError, NotFoundError
from likewise.studio.records import NewEvent, Person, StoredEvent
from likewise.studio.service._hub import Hub, append
from likewise.studio.service._questions_and_answers import QuestionsAndAnswers
from likewise.studio.service._views import BrokenItemsView, StatedView
from likewise.studio.store import Transaction
from likewise.studio.wording import LONGEST_NOTE, check_text

_REPORTED = "It is no longer asked about. The owner sees it in a list."


class BrokenItems:
    """Stores which items are broken. A report is an event, so it can be undone.

    Parameters
    ----------
    hub : Hub
        The latest derived state.
    asking : QuestionsAndAnswers
        Shows items.
    """

    def __init__(self, hub: Hub, asking: QuestionsAndAnswers) -> None:
        self._hub = hub
        self._asking = asking

    def report(
        self, person: Person, *, key: str, row: int, question: str | None, note: str | None
    ) -> StatedView:
        """Store that an item cannot be judged; annotators can report items of questions they were asked."""
        if self._asking.follows_plan:
            raise NotAllowedError("The items of a study are fixed.", "Choose the answer that seems likelier.")
        item = self._asking.get_item(row).id
        body = {"item": item}
        if note and (text := check_text(note, "A note", LONGEST_NOTE)):
            body["note"] = text
        self._hub.refresh()

        def work(tx: Transaction) -> tuple[StoredEvent, bool]:
            before = tx.get_event_by_key(key)
            known = self._hub.log.get_broken().get(item)
            if before is None and known is not None:
                return known, False  # another person was faster
            asked = tx.get_question(question) if question is not None else None
            shown = asked is not None and tx.was_leased(asked.id, person.id)
            if person.role != "owner" and not (shown and asked is not None and asked.shows(item)):
                raise NotFoundError("You were not asked about this item.", "Reload the page.")
            return append(tx, NewEvent(key, "broken", person.id, body))

        event, new = self._hub.store.write(work)
        self._hub.refresh()
        return {"seq": event.seq, "new": new, "message": _REPORTED}

    def show(self) -> BrokenItemsView:
        """Return the broken items, the latest first."""
        self._hub.refresh()
        events = sorted(self._hub.log.get_broken().values(), key=lambda event: -event.seq)
        rows = self._asking.get_rows([str(event.body["item"]) for event in events])
        return {
            "items": [
                {
                    "seq": event.seq,
                    "item": item,
                    "person": self._asking.get_name(event.person),
                    "time": event.time,
                    "note": event.body.get("note"),
                }
                for event, item in zip(events, self._asking.make_item_views(rows), strict=True)
            ]
        }
