"""The database of the studio: events, people and leases, in SQLite by default or in PostgreSQL.

::

    store = open_store("sqlite:///birds.likewise/studio.sqlite")
    ann = store.write(lambda t: t.add_person("Ann", "owner"))
    event, new = store.write(lambda t: t.append(NewEvent("key 1", "answer", ann.id, {...})))   # on disk now
    store.read(lambda t: t.get_events(after=0))
"""

from likewise._optional import require

require("sqlalchemy", extra="studio")

from likewise.studio.store._store import Store, Transaction, open_store  # noqa: E402

__all__ = ["Store", "Transaction", "open_store"]
