"""The database: the only room of SQLModel, SQLAlchemy and Alembic."""

from arena.store.agents import Registration
from arena.store.calls import Bill, Call, Cost, Mean
from arena.store.database import DEFAULT, MissingDatabase, StoreError, Unavailable, is_of, redacted
from arena.store.listing import Filter, Listed
from arena.store.logs import Deviation
from arena.store.pace import Pace
from arena.store.replays import Replay
from arena.store.store import Store, StoredDesign
from arena.store.streaming import Whole
from arena.store.training import RunStatus, TrainingRun
from arena.store.voids import VoidCount

__all__ = [
    "DEFAULT",
    "Bill",
    "Call",
    "Cost",
    "Deviation",
    "Filter",
    "Listed",
    "Mean",
    "MissingDatabase",
    "Pace",
    "Registration",
    "Replay",
    "RunStatus",
    "Store",
    "StoreError",
    "StoredDesign",
    "TrainingRun",
    "Unavailable",
    "VoidCount",
    "Whole",
    "is_of",
    "redacted",
]
