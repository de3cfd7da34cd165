"""Everything that can be done inside one transaction, the same for all databases."""

from __future__ import annotations

from likewise.studio.store._event_table import Events
from likewise.studio.store._people_table import PeopleTable
from likewise.studio.store._queue import Queue


class Transaction(PeopleTable, Events, Queue):
    """People, events and the queue; the argument of `work` in :meth:`Store.write` and :meth:`Store.read`."""
