"""Void attempts counted: how many, at whose fault, through what trouble."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import func

from arena.design import Design
from arena.store.columns import select_in_design
from arena.store.models import VOIDS
from arena.store.opened import Opened


class VoidCount(NamedTuple):
    """Void attempts of one pair of agents that went wrong in one way."""

    seller_version: str
    buyer_version: str
    at_fault: str | None
    """The role whose provider failed, or whose turn it was where the arena itself did."""
    ending: str
    trouble: str | None
    """An `agents.agent.Trouble`; null where it was our own bug, and in attempts of older releases."""
    attempts: int


class Voids(Opened):
    """The part of a store that counts void attempts."""

    def void_counts(self, design: Design) -> list[VoidCount]:
        """Count the void attempts at the design's matches, those of matches that were scored later
        and of the infeasible panel included, in a fixed order; replays are none of them."""
        by = [VOIDS.c[name] for name in VoidCount._fields[:-1]]
        # Where nulls stand, every database has its own mind.
        order = [column.nulls_first() for column in by]
        query = select_in_design(design, VOIDS, *by, func.count()).group_by(*by).order_by(*order)
        with self._reading() as connection:
            rows: Iterable[Any] = connection.execute(query)
            return [VoidCount(*row) for row in rows]
