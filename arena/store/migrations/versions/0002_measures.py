"""What is measured on transcripts, deviations from designs, audits of buyers, and training runs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables. `arena.store.measuring` then measures the matches that are there already."""
    op.add_column(
        "state", sa.Column("measures_version", sa.Integer(), nullable=False, server_default="0")
    )
    op.create_table(
        "measures",
        sa.Column("key", sa.String(32), sa.ForeignKey("matches.key"), primary_key=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("words", sa.Text()),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "deviations",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "design_hash", sa.String(12), sa.ForeignKey("designs.hash"), nullable=False, index=True
        ),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
    )
    op.create_table(
        "audits",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("buyer_version", sa.String(12), nullable=False, index=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
    )
    op.create_table(
        "training_runs",
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("recipe", sa.Text(), nullable=False),
        sa.Column("started_at", sa.String(32), nullable=False),
        sa.Column("ended_at", sa.String(32)),
        sa.Column("status", sa.String(32), nullable=False),
    )
    op.create_table(
        "training_steps",
        sa.Column("run", sa.String(100), sa.ForeignKey("training_runs.name"), primary_key=True),
        sa.Column("step", sa.Integer(), primary_key=True),
        sa.Column("metrics", sa.Text(), nullable=False),
    )
