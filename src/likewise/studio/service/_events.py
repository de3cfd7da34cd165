"""Small steps that every part takes when something is kept."""

from __future__ import annotations

from likewise.studio.records import NewEvent, StoredEvent
from likewise.studio.service.errors import Clash
from likewise.studio.store import KeyReused, Transaction


def append(tx: Transaction, event: NewEvent) -> tuple[StoredEvent, bool]:
    """Keep an event; say it plainly if its key was used for another."""
    try:
        return tx.append(event)
    except KeyReused as error:
        raise Clash(str(error), "Reload the page.") from error
