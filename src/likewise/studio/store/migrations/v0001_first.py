"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    seq = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "about",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("id", seq, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sqlite_autoincrement=True,
    )
    for table in ("logins", "sessions"):
        op.create_table(
            table,
            sa.Column("digest", sa.Text(), primary_key=True),
            sa.Column("person", seq, sa.ForeignKey("people.id"), nullable=False),
            sa.Column("expires", sa.Double(), nullable=False),
        )
        op.create_index(f"ix_{table}_person", table, ["person"])
    op.create_table(
        "events",
        sa.Column("seq", seq, primary_key=True, autoincrement=True),
        sa.Column("key", sa.Text(), nullable=False, unique=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("person", seq, sa.ForeignKey("people.id"), nullable=False),
        sa.Column("time", sa.Text(), nullable=False),
        sa.Column("question", sa.Text()),
        sa.Column("seconds", sa.Double()),
        sa.Column("body", sa.Text(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("events_of_person", "events", ["person", "seq"])
    op.create_table(
        "questions",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("items", sa.Text(), nullable=False),
        sa.Column("score", sa.Double()),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("place", seq, nullable=False),
        sa.Column("queued", sa.Integer(), nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
    )
    op.create_index("questions_in_order", "questions", ["queued", "place"])
    op.create_index("questions_by_answers", "questions", ["queued", "n_answers"])
    op.create_table(
        "leases",
        sa.Column("question", sa.Text(), sa.ForeignKey("questions.id"), primary_key=True),
        sa.Column("person", seq, sa.ForeignKey("people.id"), primary_key=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
    )
    op.create_index("leases_of_person", "leases", ["person", "state"])
    op.create_index("leases_by_end", "leases", ["state", "until"])


def downgrade() -> None:
    """Raise an error: there is no older schema."""
    raise NotImplementedError("this is the first schema")
