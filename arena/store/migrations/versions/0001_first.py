"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table. In matches and voids the transcript comes last: columns behind a long blob
    are slow to read in SQLite."""
    state = op.create_table(
        "state",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.CheckConstraint("id = 1", name="one_row"),
    )
    op.bulk_insert(state, [{"id": 1, "revision": 0}])
    op.create_table(
        "agents",
        sa.Column("version", sa.String(12), primary_key=True),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("added_at", sa.String(32), nullable=False),
    )
    op.create_table(
        "registrations",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False, index=True),
        sa.Column("version", sa.String(12), sa.ForeignKey("agents.version"), nullable=False),
        sa.Column("role", sa.String(6), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("connection", sa.Text(), nullable=False),
        sa.Column("registered_at", sa.String(32), nullable=False),
        sa.Column("withdrawn_at", sa.String(32)),
        sa.Column("withdrawn_reason", sa.Text()),
    )
    op.create_table(
        "designs",
        sa.Column("hash", sa.String(12), primary_key=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("last_run_at", sa.String(32), nullable=False),
        sa.Column("arena_version", sa.String(32), nullable=False),
    )
    op.create_table(
        "domains",
        sa.Column("version", sa.String(12), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
    )
    op.create_table(
        "scenarios",
        sa.Column("key", sa.String(32), primary_key=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("domain_version", sa.String(12), sa.ForeignKey("domains.version"), nullable=False),
        sa.Column("split", sa.String(8), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("feasible", sa.Boolean(), nullable=False),
        sa.Column("draw_version", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.UniqueConstraint(
            "domain_version", "split", "number", "feasible", "draw_version", name="one_draw"
        ),
    )
    op.create_table(
        "matches",
        sa.Column("key", sa.String(32), primary_key=True),
        *_played(),
        sa.Column("withdrawn_at", sa.String(32)),
        sa.Column("withdrawn_reason", sa.Text()),
        sa.Column("transcript", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "voids",
        sa.Column("key", sa.String(32), primary_key=True),
        sa.Column("attempt", sa.Integer(), primary_key=True),
        *_played(),
        sa.Column("transcript", sa.LargeBinary(), nullable=False),
    )


def _played() -> list[sa.Column[Any]]:
    sides: list[sa.Column[Any]] = []
    for side in ("seller", "buyer"):
        sides += [
            sa.Column(f"{side}_tokens_in", sa.Integer()),
            sa.Column(f"{side}_tokens_out", sa.Integer()),
            sa.Column(f"{side}_cost_usd", sa.Float()),
            sa.Column(f"{side}_latency_s", sa.Float()),
            sa.Column(f"{side}_faults", sa.Integer(), nullable=False),
        ]
    return [
        sa.Column("seller_version", sa.String(12), sa.ForeignKey("agents.version"), nullable=False),
        sa.Column("buyer_version", sa.String(12), sa.ForeignKey("agents.version"), nullable=False),
        sa.Column(
            "scenario_key", sa.String(32), sa.ForeignKey("scenarios.key"), nullable=False, index=True
        ),
        sa.Column("opener", sa.String(6), nullable=False),
        sa.Column("replicate", sa.Integer(), nullable=False),
        sa.Column("turns_rule", sa.Integer()),
        sa.Column("message_limit", sa.Integer(), nullable=False),
        sa.Column("protocol", sa.Integer(), nullable=False),
        sa.Column("ending", sa.String(16), nullable=False),
        sa.Column("at_fault", sa.String(6)),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("deal", sa.Text()),
        sa.Column("seller_utility", sa.Float()),
        sa.Column("buyer_utility", sa.Float()),
        sa.Column("turns", sa.Integer(), nullable=False),
        *sides,
        sa.Column("turn_timeout_s", sa.Float()),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("receipts", sa.Text()),
    ]
