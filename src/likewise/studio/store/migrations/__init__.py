"""How a database of one release becomes one of the next; run by :mod:`likewise.studio.store._migrate`."""
