"""The database: the only room of SQLModel, SQLAlchemy and Alembic."""

from arena.store.agents import Registration
from arena.store.database import MissingDatabase, StoreError
from arena.store.listing import Filter, Listed
from arena.store.pace import Pace
from arena.store.store import Store, StoredDesign

__all__ = [
    "Filter",
    "Listed",
    "MissingDatabase",
    "Pace",
    "Registration",
    "Store",
    "StoreError",
    "StoredDesign",
]
