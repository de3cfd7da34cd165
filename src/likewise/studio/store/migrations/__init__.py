"""Database migrations between releases; run by :mod:`likewise.studio.store._migrate`."""
