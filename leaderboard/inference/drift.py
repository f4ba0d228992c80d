"""Drift: whether a cell that is played once more, days or blocks later, gives another score.

The difference is what the base scored in the replay less what it scored when the cell was first played
(`arena.replays` says which cells). A figure is the plain mean over replays with the clustered error of
:func:`leaderboard.inference.statistic.estimate`: a scenario is a cluster, and all domains are one
stratum, since a sample has few scenarios in each. The replays of one cell share its first play, so they
stand in one cluster, as they must.

Two plays of one cell differ by chance in many ways, but in the mean by nothing, as long as the same is
served. So a mean whose interval excludes 0 says that it is not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from arena.design import Design
from arena.store import Replay
from leaderboard.inference.power import detectable
from leaderboard.inference.statistic import Cells, Estimate, estimate
from scenarios.scenario import Role

K = TypeVar("K", int, str)


@dataclass(frozen=True)
class Drift:
    """How much more, or less, a base scored on cells that were played once more."""

    overall: Estimate
    by_seller: dict[str, Estimate]
    """By the base's name."""
    by_buyer: dict[str, Estimate]
    by_block: dict[int, Estimate]
    """By the block of scenarios that the replays followed, 1 or later: a trend shows here."""
    begun: dict[int, tuple[str, str]]
    """When the first and the last replay of each block began (ISO 8601, UTC)."""

    @property
    def mde(self) -> float | None:
        """The minimal detectable effect of `overall` (two-sided 5%, aimed at 80% power; about 75% as
        measured on few scenarios); None without an interval."""
        found = self.overall
        return None if found.t is None or found.se is None else detectable(found.se, found.df)

    @property
    def changed(self) -> bool:
        """Whether what was served changed, as the interval of `overall`, which excludes 0, shows."""
        interval = self.overall.interval()
        return interval is not None and not interval[0] <= 0 <= interval[1]

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena drift --json` prints it."""
        blocks = {}
        for block, found in self.by_block.items():
            first, last = self.begun[block]
            blocks[str(block)] = found.to_json() | {"begun": first, "last_begun": last}
        return {
            **self.overall.to_json(),
            "mde": self.mde,
            "by_seller": {name: found.to_json() for name, found in self.by_seller.items()},
            "by_buyer": {name: found.to_json() for name, found in self.by_buyer.items()},
            "by_block": blocks,
        }


def drift(design: Design, replays: Sequence[Replay]) -> Drift | None:
    """Return the drift that the design's replays show; None without a replay."""
    if not replays:
        return None
    sellers, buyers = design.names(Role.SELLER), design.names(Role.BUYER)
    blocks = _split(replays, lambda replay: replay.block)
    begun = {block: sorted(replay.started_at for replay in rows) for block, rows in blocks.items()}
    return Drift(
        overall=_mean(replays),
        by_seller=_means(_split(replays, lambda replay: sellers[replay.seller_version])),
        by_buyer=_means(_split(replays, lambda replay: buyers[replay.buyer_version])),
        by_block=_means(blocks),
        begun={block: (times[0], times[-1]) for block, times in begun.items()},
    )


def _split(replays: Sequence[Replay], of: Callable[[Replay], K]) -> dict[K, list[Replay]]:
    keys = sorted({of(replay) for replay in replays})
    return {key: [replay for replay in replays if of(replay) == key] for key in keys}


def _means(parts: Mapping[K, Sequence[Replay]]) -> dict[K, Estimate]:
    return {key: _mean(rows) for key, rows in parts.items()}


def _mean(replays: Sequence[Replay]) -> Estimate:
    y_M = np.array([replay.score - replay.first_score for replay in replays])
    numbers = {key: number for number, key in enumerate(sorted({r.scenario_key for r in replays}))}
    cluster_M = np.array([numbers[replay.scenario_key] for replay in replays], np.int64)
    nothing_M = np.zeros(len(replays), np.int64)
    return estimate(Cells(y_M, nothing_M, nothing_M, cluster_M), np.ones((1, 1)))
