"""The tables as the latest migration leaves them; a test compares the two.

Only events cannot be derived again. Questions and leases merely record who is looking at what.
"""

from __future__ import annotations

import sqlalchemy as sa

REVISION = "0001"  # the latest in migrations
VERSION_TABLE = "likewise_version"

metadata = sa.MetaData()
_Seq = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite increments only INTEGER columns

# Facts about the database: "data" is the mark of the items, which protects against answers about other items.
about = sa.Table(
    "about",
    metadata,
    sa.Column("name", sa.Text(), primary_key=True),
    sa.Column("value", sa.Text(), nullable=False),
)

people = sa.Table(
    "people",
    metadata,
    sa.Column("id", _Seq, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text(), nullable=False, unique=True),
    sa.Column("role", sa.Text(), nullable=False),
    sa.Column("active", sa.Boolean(), nullable=False),
    sa.Column("created", sa.Text(), nullable=False),
    sqlite_autoincrement=True,
)

# Digests only: reading the database does not allow anyone to log in.
logins = sa.Table(
    "logins",
    metadata,
    sa.Column("digest", sa.Text(), primary_key=True),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), nullable=False, index=True),
    sa.Column("expires", sa.Double(), nullable=False),
)
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("digest", sa.Text(), primary_key=True),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), nullable=False, index=True),
    sa.Column("expires", sa.Double(), nullable=False),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", _Seq, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text(), nullable=False, unique=True),
    sa.Column("kind", sa.Text(), nullable=False),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), nullable=False),
    sa.Column("time", sa.Text(), nullable=False),
    sa.Column("question", sa.Text()),
    sa.Column("seconds", sa.Double()),
    sa.Column("body", sa.Text(), nullable=False),  # JSON with sorted keys
    sa.Index("events_of_person", "person", "seq"),
    sqlite_autoincrement=True,  # seqs are never reused
)

# Questions that a person has seen are kept, so that a late answer finds them; `queued` marks those still
# offered.
questions = sa.Table(
    "questions",
    metadata,
    sa.Column("id", sa.Text(), primary_key=True),
    sa.Column("kind", sa.Text(), nullable=False),
    sa.Column("items", sa.Text(), nullable=False),  # a JSON list of item ids
    sa.Column("score", sa.Double()),
    sa.Column("why", sa.Text(), nullable=False),
    sa.Column("place", _Seq, nullable=False),  # order in which questions are offered
    sa.Column("queued", sa.Integer(), nullable=False),
    sa.Column("n_answers", sa.Integer(), nullable=False),
    sa.Index("questions_in_order", "queued", "place"),
    sa.Index("questions_by_answers", "queued", "n_answers"),
)

# One row per question and person who was given it. `state` is "held" (until `until`), "released", "answered"
# or "skipped".
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("question", sa.Text(), sa.ForeignKey("questions.id"), primary_key=True),
    sa.Column("person", _Seq, sa.ForeignKey("people.id"), primary_key=True),
    sa.Column("state", sa.Text(), nullable=False),
    sa.Column("until", sa.Double(), nullable=False),
    sa.Index("leases_of_person", "person", "state"),
    sa.Index("leases_by_end", "state", "until"),
)
