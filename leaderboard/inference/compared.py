"""What a contrast comes to, over the open domains and over those held out."""

from dataclasses import dataclass
from typing import Any

from arena.analysis import Contrast
from leaderboard.inference import power
from leaderboard.inference.statistic import ALPHA, Estimate
from scenarios.scenario import Role

Interval = tuple[float, float]
UNDECLARED = "not declared in the design"
UNPLAYED = "no cell was completed by all of its agents"


@dataclass(frozen=True)
class ContrastPanel:
    """A contrast over one set of domains: the open ones, or those held out."""

    estimate: Estimate
    t_interval: Interval | None
    bootstrap_interval: Interval | None
    interval: Interval | None
    """The one of the two that the design prints."""
    cells: int
    """Cells that all the contrast's agents completed."""
    dropped: int
    """Planned cells that not all of them completed."""
    p: float | None
    declared: bool
    """Whether the design declares it, so that it is in the family."""
    adjusted_p: float | None
    """Holm's, over the family; None for a contrast that is not in it, or has no cell."""
    confirmatory: bool
    why: str
    """Why it is exploratory, or UNPLAYED; empty where it is confirmatory."""
    mde: float | None
    """The minimal detectable effect: 80% power, alpha 0.05, before any correction."""

    @property
    def kind(self) -> str:
        """What it may be taken for: confirmatory, exploratory, or for nothing, not played."""
        if not self.cells:
            return "not played"
        return "confirmatory" if self.confirmatory else "exploratory"

    @property
    def status(self) -> str:
        """Its kind and why, and why there is no interval where there is none."""
        said = f"{self.kind}: {self.why}" if self.why else self.kind
        problem = self.estimate.problem if self.cells else None
        return f"{said}; no interval: {problem}" if problem else said

    @property
    def detectable(self) -> bool:
        """Whether p, adjusted in the family, is below 0.05."""
        p = self.p if self.adjusted_p is None else self.adjusted_p
        return self.p is not None and p is not None and p < ALPHA

    def figures(self, *wanted: str, **renamed: str) -> dict[str, Any]:
        """Return these figures for JSON, in this order, under their own names or what `renamed` calls
        them: those of an estimate, with the ends of `interval`, and the fields of a panel."""
        low, high = self.interval or (None, None)
        own = vars(self) | {"low": low, "high": high}
        own |= self.estimate.figures("value", "df", "clusters", "problem")
        return {renamed.get(name, name): own[name] for name in wanted}


@dataclass(frozen=True)
class Comparison(ContrastPanel):
    """A contrast over the open domains, with where it comes from. Edges are those of `estimate`: where
    its `problem` says why there is no interval, p is None too, and counts as 1 in the family."""

    contrast: Contrast
    role: Role
    names: dict[str, str]
    """What the board calls its agents, by version."""
    label: str
    """``a - b``; a difference of gains is ``(a - base a) - (b - base b)``."""
    by_buyer: dict[str, Estimate]
    """By opponent; those of a contrast of buyers are sellers."""
    by_domain: dict[str, Estimate]
    """Over each open domain alone."""
    leave_one_out: dict[str, Estimate]
    """Over the open domains without this one; empty where there is only one."""
    held_out: ContrastPanel | None
    """None where the design holds no domain out. Its domains are in no other figure."""
    components: power.Components | None
    """None where there is no interval."""
    scenarios: int
    """Planned a domain."""
    replicates: int | None
    """Planned a cell; None where another replicate could not differ."""
    tests: int
    """The size of the family that it is in; 1 outside."""

    def estimates(self) -> list[Estimate]:
        """Return every estimate of the comparison, held-out domains included."""
        parts = (self.by_buyer, self.by_domain, self.leave_one_out)
        apart = [] if self.held_out is None else [self.held_out.estimate]
        return [self.estimate, *(one for part in parts for one in part.values()), *apart]

    def needs(self, effect: float | None = None, chance: float = power.POWER) -> power.Needs | None:
        """Return how much more detects `effect` (None: the difference seen) with this power; in a family
        at Holm's first and strictest step. None where there is no interval."""
        effect = self.estimate.value if effect is None else effect
        if self.components is None or effect is None:
            return None
        level = 1 - ALPHA / self.tests
        return power.needs(self.components, effect, self.replicates, chance, level)

    @property
    def advice(self) -> str:
        """How many more scenarios or replicates would settle it, or that it is not worth settling; empty
        where there is no interval."""
        found = self.needs()
        if found is None:
            return ""
        return power.advice(found, self.detectable, self.scenarios, self.replicates)
