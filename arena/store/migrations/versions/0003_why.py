"""Why a training run ended as it did."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; nobody knows it of runs that are there already."""
    op.add_column("training_runs", sa.Column("why", sa.Text()))
