"""The database: the only room of SQLModel, SQLAlchemy and Alembic."""

from arena.store.agents import Registration
from arena.store.columns import Place
from arena.store.database import StoreError
from arena.store.listing import Filter, Listed
from arena.store.store import Store, StoredDesign

__all__ = ["Filter", "Listed", "Place", "Registration", "Store", "StoreError", "StoredDesign"]
