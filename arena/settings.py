"""How a tournament is run, whatever its design."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How a tournament is run; no part of the design. A turn's timeout and a cache may change what comes
    out, and receipts and rows say so; a budget, how far it comes."""

    workers: int | None = None
    """Processes for scripted pairs; None: as the cores and the number of matches suggest."""
    on_ray: bool = False
    """Whether Ray tasks take the place of processes: so many of them, or as many as there are CPUs."""
    ray_address: str | None = None
    """Of the Ray to join; None: one is started on this machine."""
    concurrency: int | None = None
    """Matches with a language model that are under way at once; None: as fits who plays."""
    turn_timeout: float | None = None
    retry_voids: bool = False
    drift: float = 0.0
    """Share of a base's cells that are replayed with every block (`arena.replays`); 0: none are."""
    servers: int | None = None
    """How many servers that agents need the arena may run at once; None: it starts none."""
    budget: float | None = None
    """US dollars that all runs of the design together may spend at providers; None: any number."""
    unlimited: bool = False
    """Whether it is to be played without a budget though one is on record."""
    allow_unpriced: bool = False
    """Whether agents whose price is not known play outside the budget."""
    cache: bool = False
    """Whether a request that was answered before is answered from the store."""
