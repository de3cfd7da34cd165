"""Append events with errors that pages can show."""

from __future__ import annotations

from likewise.exceptions import ConflictError, KeyReusedError
from likewise.studio.records import NewEvent, StoredEvent
from likewise.studio.store import Transaction


def append(tx: Transaction, event: NewEvent) -> tuple[StoredEvent, bool]:
    """Append an event; raise a clear error if its key was used for another event."""
    try:
        return tx.append(event)
    except KeyReusedError as error:
        raise ConflictError(str(error), "Reload the page.") from error
