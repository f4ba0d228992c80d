"""Calls to providers and what they cost, cached answers, and why an attempt was void."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; what older releases called, nobody counted."""
    op.add_column("voids", sa.Column("trouble", sa.String(16)))
    op.create_table(
        "bills",
        sa.Column("id", sa.String(12), primary_key=True),
        sa.Column("design_hash", sa.String(12), sa.ForeignKey("designs.hash"), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("charged_nano", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_bills_design_hash", "bills", ["design_hash"])
    op.create_table(
        "calls",
        sa.Column("bill", sa.String(12), sa.ForeignKey("bills.id"), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("agent_version", sa.String(12), sa.ForeignKey("agents.version"), nullable=False),
        sa.Column("match_key", sa.String(32)),
        sa.Column("sending", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("came", sa.String(8)),
        sa.Column("trouble", sa.String(16)),
        sa.Column("most_nano", sa.BigInteger()),
        sa.Column("cost_nano", sa.BigInteger()),
        sa.Column("tokens_in", sa.Integer()),
        sa.Column("tokens_out", sa.Integer()),
        sa.Column("latency_s", sa.Float()),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "answers",
        sa.Column("key", sa.String(32), primary_key=True),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
    )
