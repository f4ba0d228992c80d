"""What boards read of matches, packed; which matches are withdrawn, found without reading all."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table. `arena.store.packing` then packs the matches that are there already."""
    op.add_column("state", sa.Column("packed", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "packs",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("matches", sa.Integer(), nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("words", sa.LargeBinary()),
        sqlite_autoincrement=True,
    )
    withdrawn = sa.text("withdrawn_at IS NOT NULL")
    op.create_index(
        "ix_matches_withdrawn",
        "matches",
        ["key"],
        sqlite_where=withdrawn,
        postgresql_where=withdrawn,
    )
