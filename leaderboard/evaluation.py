"""What a design says of the checkpoints of a run: each one's gain over base, where the gain comes from,
its guards, and its difference from the other sellers there. Every figure is from the module that the
commands of the same name read."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.analysis import Contrast
from arena.results import Results
from leaderboard import comparison
from leaderboard.inference.compared import Comparison
from leaderboard.inference.contrasts import compare_all
from leaderboard.inference.guards import Guard, guards
from leaderboard.inference.statistic import Estimate, mean
from leaderboard.inference.value import MAIN_PARTS, Value, value
from leaderboard.known import known_kl
from scenarios.scenario import Role


@dataclass(frozen=True)
class Evaluated:
    """One checkpoint."""

    name: str
    """What the board calls it."""
    version: str
    step: int | None
    arm: str | None
    """By its lineage: runs that share it have one recipe but for the seed."""
    seed: int | None
    kl: float | None
    """From its base when it was saved, as registered; it decides nothing."""
    gain: Comparison
    values: tuple[Value, ...]
    """Where the gain comes from: over the open domains, then over those held out, as far as there are
    any."""
    guards: tuple[Guard, ...]
    against: tuple[Comparison, ...]
    """Its differences from the design's other sellers, which nobody declared."""

    def to_json(self, design: str) -> dict[str, Any]:
        """Return it as `arena evaluate --json` prints it; `design` is the design's hash."""
        return {
            "agent": self.name,
            "version": self.version,
            "step": self.step,
            "arm": self.arm,
            "seed": self.seed,
            "kl": self.kl,
            "gain": comparison.to_json(self.gain, design),
            "value": [found.to_json() for found in self.values],
            "guards": [guard.to_json() for guard in self.guards],
            "against": [comparison.to_json(one, design) for one in self.against],
        }


def evaluated(
    results: Results,
    base: str,
    checkpoints: Sequence[str],
    lineages: Mapping[str, Mapping[str, Any]],
) -> list[Evaluated]:
    """Return what became of each checkpoint, in the order given.

    `base` and `checkpoints` are versions of sellers of the design; `lineages`, by version, tell steps
    and KL. A seller that is neither base nor checkpoint is held against every checkpoint.
    """
    design = results.design
    names = design.names(Role.SELLER)
    others = [version for version in names if version not in (base, *checkpoints)]
    pairs = [(arm, other) for arm in checkpoints for other in (base, *others)]
    contrasts = [Contrast(plus=(arm,), minus=(other,)) for arm, other in pairs]
    found = dict(zip(pairs, compare_all(results, contrasts, booted=False), strict=True))
    panels = [held_out for held_out in (False, True) if (results.held_D == held_out).any()]
    judged, kl = guards(results), known_kl(design, lineages)
    return [
        Evaluated(
            name=names[arm],
            version=arm,
            step=_whole(lineages.get(arm, {}), "step"),
            arm=lineages.get(arm, {}).get("arm"),
            seed=_whole(lineages.get(arm, {}), "seed"),
            kl=kl.get(names[arm]),
            gain=found[arm, base],
            values=tuple(value(results, arm, base, held_out) for held_out in panels),
            guards=judged[names[arm]],
            against=tuple(found[arm, other] for other in others),
        )
        for arm in checkpoints
    ]


@dataclass(frozen=True)
class SeedMean:
    """Checkpoints of the same step whose runs differ in seed alone, in the mean, over the open domains
    or those held out. Intervals are for these very runs on new scenarios, not for new runs."""

    names: tuple[str, ...]
    step: int | None
    held_out: bool
    gain: Estimate
    parts: Mapping[str, Estimate]
    """Where the gain comes from: forfeits avoided, deals gained or lost, better deals."""
    against: Mapping[str, Estimate]
    """By the name of another seller of the design, over the open domains; empty for those held out."""

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena evaluate --json` prints it."""
        return {
            "agents": list(self.names),
            "step": self.step,
            "held_out": self.held_out,
            "gain": self.gain.to_json(),
            "parts": {label: one.to_json() for label, one in self.parts.items()},
            "against": {name: one.to_json() for name, one in self.against.items()},
        }


def seed_means(found: Sequence[Evaluated]) -> Iterator[SeedMean]:
    """Yield the means of the checkpoints that differ in seed alone, where there are two or more. Of two
    runs of the same seed the first counts: the other tells nothing of what a seed changes."""
    alike: defaultdict[tuple[str, int | None], dict[int | None, Evaluated]] = defaultdict(dict)
    for one in found:
        if one.arm is not None:
            alike[one.arm, one.step].setdefault(one.seed, one)
    for (_, step), by_seed in alike.items():
        seeds = list(by_seed.values())
        if len(seeds) < 2:
            continue
        for values in zip(*(one.values for one in seeds), strict=True):
            held_out = values[0].held_out
            parts = [value.main_parts() for value in values]
            against = [] if held_out else zip(*(one.against for one in seeds), strict=True)
            yield SeedMean(
                names=tuple(one.name for one in seeds),
                step=step,
                held_out=held_out,
                gain=mean([value.gain for value in values]),
                parts={label: mean([each[label] for each in parts]) for label in MAIN_PARTS},
                against={
                    others[0].names[others[0].contrast.minus[0]]: mean([o.estimate for o in others])
                    for others in against
                },
            )


def _whole(lineage: Mapping[str, Any], key: str) -> int | None:
    found = lineage.get(key)
    return found if isinstance(found, int) else None
