"""Small steps that every part takes when something is kept."""

from __future__ import annotations

from likewise.exceptions import ConflictError, KeyReusedError
from likewise.studio.records import NewEvent, StoredEvent
from likewise.studio.store import Transaction


def append(tx: Transaction, event: NewEvent) -> tuple[StoredEvent, bool]:
    """Keep an event; say it plainly if its key was used for another."""
    try:
        return tx.append(event)
    except KeyReusedError as error:
        raise ConflictError(str(error), "Reload the page.") from error
