"""What paired contrasts are read from: their cells, what was planned, which matches are older than the
design."""

from dataclasses import dataclass

import numpy as np

from arena.analysis import Analysis, Contrast
from arena.errors import UserError
from arena.results import BoolArray, FloatArray, Results, Seen
from leaderboard.inference.cells import CellTable, tabulate
from leaderboard.inference.statistic import Cells, score_weights
from scenarios.scenario import Role


@dataclass(frozen=True)
class Contrasted:
    """What all contrasts of one role stand on: axis A its agents, axis O their opponents."""

    results: Results
    role: Role
    table: CellTable
    seen: Seen

    @classmethod
    def of(cls, results: Results, role: Role) -> "Contrasted":
        """Return what contrasts of agents that play `role` are read from."""
        return cls(results, role, tabulate(results, role), results.seen_by(role))

    @property
    def analysis(self) -> Analysis:
        """What the design declares, or the defaults."""
        return self.results.design.analysis or Analysis()

    @property
    def family(self) -> tuple[Contrast, ...]:
        """The declared contrasts; a design declares contrasts of sellers only."""
        return self.analysis.contrasts if self.role is Role.SELLER else ()

    def weights(self, in_score_D: BoolArray) -> FloatArray:
        """Return the weights of a score over the marked domains."""
        return score_weights(len(self.seen.other.players), in_score_D)

    def arms(self, contrast: Contrast) -> tuple[list[int], list[int]]:
        """Return the positions of a contrast's agents. Raises UserError for a stranger."""
        position = {player.version: place for place, player in enumerate(self.seen.own.players)}
        if strangers := [version for version in contrast.sellers if version not in position]:
            raise UserError(f"the design has no {self.role.value} of version {strangers[0]}")
        plus, minus = ([position[v] for v in side] for side in (contrast.plus, contrast.minus))
        return plus, minus

    def cells(self, contrast: Contrast) -> Cells:
        """Return the contrast cell by cell, where all its agents completed."""
        return self.table.combined(*self.arms(contrast))

    def stale(self, contrast: Contrast, in_score_D: BoolArray) -> int:
        """Count the contrast's matches in these domains from before the design was frozen."""
        match_X_C, shared_C = self.table.shared(self._everyone(contrast))
        used_M = np.zeros(len(self.results.fresh_M), dtype=bool)
        used_M[match_X_C[:, shared_C & in_score_D[self.table.domain_C]]] = True
        return int(np.count_nonzero(used_M & ~self.results.fresh_M))

    def planned(self, contrast: Contrast, in_score_D: BoolArray) -> int:
        """Count the cells that were planned to be shared; a single match stands for all replicates."""
        return int(self.seen.planned_A_O_D[self._everyone(contrast)].max(axis=0)[:, in_score_D].sum())

    def replicates(self, contrast: Contrast) -> int | None:
        """Return the replicates a cell, or None where another replicate could not differ."""
        players = [self.seen.own.players[arm] for arm in self._everyone(contrast)]
        certain = all(player.deterministic for player in (*players, *self.seen.other.players))
        return None if certain else self.results.design.replicates

    def _everyone(self, contrast: Contrast) -> list[int]:
        plus, minus = self.arms(contrast)
        return [*plus, *minus]
