"""How a run was asked for where money was: its budget, its cache, its replays."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; of older runs nobody knows."""
    op.add_column("bills", sa.Column("ceiling_nano", sa.BigInteger()))
    op.add_column("bills", sa.Column("cache", sa.Boolean()))
    op.add_column("bills", sa.Column("drift", sa.Float()))
