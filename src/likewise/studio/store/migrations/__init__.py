"""Database migrations between releases, one module each; run by :mod:`likewise.studio.store._migrate`.

Released migrations never change; add a new one instead.
"""
