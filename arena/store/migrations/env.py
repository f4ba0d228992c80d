"""Alembic's environment: migrations run on the connection that `arena.store.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import arena.store.models
import arena.store.training_tables  # noqa: F401  (both fill the metadata)

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
context.run_migrations()
