"""Whether a gain is a gain against everyone, or lives on one buyer: buyer splits and the pooling alarm.

The split of an arm is its score against one buyer less its score against the other; with more than two
buyers, its score against each less the mean of its scores against the others. A gain that is the same
against everyone leaves the split where the base has it, so what counts is how far it *moved*: the
difference of the arm's split from its base's, over the cells that both completed.

The pooling alarm of an arm is raised when all three hold:

- its pooled gain over its base is detectable (above 0, p < .05);
- a split moved detectably (Holm over arms with a base; with more than two buyers, over arms x buyers);
- the gain against its weakest buyer is not detectable, or the interval of such a move lies wholly beyond
  the alarm margin on either side (0.05 unless the design declares another; ours).

A gain is *general* where it is above 0 and detectable against every buyer separately. That mark is a
claim, so it takes p adjusted by Holm over arms x buyers; the alarm's own gains take the plain p, which
agrees with the interval beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.analysis import Analysis
from arena.results import FloatArray, Results
from leaderboard.inference.cells import CellTable, tabulate
from leaderboard.inference.holm import holm
from leaderboard.inference.statistic import (
    ALPHA,
    FEWEST_CLUSTERS,
    Cells,
    Estimate,
    buyer_weights,
    estimate,
    score_weights,
)
from leaderboard.wording import difference
from scenarios.scenario import Role

OTHERS = "the others"


@dataclass(frozen=True)
class ArmSplit:
    """A seller's splits over open domains; what is compared with a base is empty or None without one.

    `split`, `base_split` and `moved` have one entry with two buyers, keyed "x - y"; one a buyer with
    more, keyed "x - the others"; none with one buyer.
    """

    arm: str
    version: str
    base: str | None
    gain: Estimate | None
    """The pooled one, over the cells that arm and base both completed."""
    gain_by_buyer: dict[str, Estimate]
    gain_by_buyer_adjusted_p: dict[str, float]
    split: dict[str, Estimate]
    base_split: dict[str, Estimate]
    moved: dict[str, Estimate]
    moved_adjusted_p: dict[str, float]
    alarm: bool
    why: str
    """Why the alarm is raised, or why it is not, as a sentence."""
    general: bool

    def to_json(self) -> dict[str, Any]:
        """Return the row as `arena splits --json` prints it."""
        return {
            "agent": self.arm,
            "version": self.version,
            "base": self.base,
            "gain": self.gain and self.gain.to_json(),
            "gain_by_buyer": {
                buyer: gain.to_json() | {"adjusted_p": self.gain_by_buyer_adjusted_p[buyer]}
                for buyer, gain in self.gain_by_buyer.items()
            },
            "split": {label: split.to_json() for label, split in self.split.items()},
            "base_split": {label: split.to_json() for label, split in self.base_split.items()},
            "moved": {
                label: moved.to_json() | {"adjusted_p": self.moved_adjusted_p[label]}
                for label, moved in self.moved.items()
            },
            "alarm": self.alarm,
            "why": self.why,
            "general": self.general,
        }


def splits(results: Results) -> list[ArmSplit]:
    """Return every seller's splits, and the alarm of each with a base, in the design's order.

    Names are as on the board. Nothing is detectable where there is no interval, so an arm with too few
    matches raises no alarm and earns no mark.
    """
    design = results.design
    analysis = design.analysis or Analysis()
    names = design.names(Role.SELLER)
    place = {player.version: arm for arm, player in enumerate(design.sellers)}
    table, weights = tabulate(results, Role.SELLER), _Weights.of(results)
    bases = [analysis.bases.get(version) for version in place]
    parts = [
        _part(table, weights, arm, None if base is None else place[base])
        for arm, base in zip(place.values(), bases, strict=True)
    ]
    gains_p = _adjusted([part.by_buyer for part in parts])
    moves_p = _adjusted([part.moved for part in parts])
    rules = _Rules(analysis.alarm_margin, weights.sides, _families(results, analysis))
    rows = []
    for version, base, part, gain_p, move_p in zip(place, bases, parts, gains_p, moves_p, strict=True):
        alarm, why = _alarm(part, move_p, rules)
        rows.append(
            ArmSplit(
                arm=names[version],
                version=version,
                base=None if base is None else names[base],
                gain=part.gain,
                gain_by_buyer=part.by_buyer,
                gain_by_buyer_adjusted_p=gain_p,
                split=part.split,
                base_split=part.base_split,
                moved=part.moved,
                moved_adjusted_p=move_p,
                alarm=alarm,
                why=why,
                general=len(part.by_buyer) > 1
                and all(_above(gain, gain_p[buyer]) for buyer, gain in part.by_buyer.items()),
            )
        )
    return rows


@dataclass(frozen=True)
class _Weights:
    """Weights, shape (B, D), over open domains: of the score, and by buyer and by split."""

    score: FloatArray
    by_buyer: dict[str, FloatArray]
    split: dict[str, FloatArray]
    sides: dict[str, tuple[str, str]]
    """Whom a split sets against whom: a buyer, and the other one or OTHERS."""

    @classmethod
    def of(cls, results: Results) -> "_Weights":
        design = results.design
        names = list(design.names(Role.BUYER).values())
        open_D = results.open_D
        by_buyer = {name: buyer_weights(b, len(names), open_D) for b, name in enumerate(names)}
        total = np.sum(list(by_buyer.values()), axis=0)
        split, sides = {}, {}
        for name, own in list(by_buyer.items())[: {1: 0, 2: 1}.get(len(names), len(names))]:
            other = names[1] if len(names) == 2 else OTHERS
            split[f"{name} - {other}"] = own - (total - own) / (len(names) - 1)
            sides[f"{name} - {other}"] = name, other
        return cls(score_weights(len(names), open_D), by_buyer, split, sides)


@dataclass(frozen=True)
class _Part:
    """An arm's estimates, before anything is adjusted over arms."""

    gain: Estimate | None
    by_buyer: dict[str, Estimate]
    split: dict[str, Estimate]
    base_split: dict[str, Estimate]
    moved: dict[str, Estimate]


def _part(table: CellTable, weights: _Weights, arm: int, base: int | None) -> _Part:
    def each(cells: Cells, of: dict[str, FloatArray]) -> dict[str, Estimate]:
        return {key: estimate(cells, weight_B_D) for key, weight_B_D in of.items()}

    split = each(table.of(arm), weights.split)
    if base is None:
        return _Part(None, {}, split, {}, {})
    gain = table.difference(arm, base)
    return _Part(
        gain=estimate(gain, weights.score),
        by_buyer=each(gain, weights.by_buyer),
        split=split,
        base_split=each(table.of(base), weights.split),
        moved=each(gain, weights.split),
    )


def _adjusted(found: Sequence[dict[str, Estimate]]) -> list[dict[str, float]]:
    """Return Holm's p of all estimates together, arranged as they came."""
    adjusted = iter(holm([one.p for estimates in found for one in estimates.values()]))
    return [{key: next(adjusted) for key in estimates} for estimates in found]


def _above(found: Estimate, p: float | None) -> bool:
    """Whether it is detectably above 0."""
    return found.value is not None and found.value > 0 and p is not None and p < ALPHA


@dataclass(frozen=True)
class _Rules:
    """What an alarm is judged by, and worded with."""

    margin: float
    sides: dict[str, tuple[str, str]]
    """As in _Weights."""
    families: dict[str, list[str]]
    """The board names of the buyers of every family that has two of them or more."""


def _alarm(part: _Part, moved_p: dict[str, float], rules: _Rules) -> tuple[bool, str]:
    """Return whether the alarm is raised, and why or why not."""
    if part.gain is None:
        return False, "no base is declared for it, so no gain is questioned"
    if not part.moved:
        return False, "there is one buyer only, and so no split"
    if part.gain.value is None:
        return False, f"its gain has no value: {part.gain.problem}"
    if not _above(part.gain, part.gain.p):
        return False, "no pooled gain is detectable, so there is none to question"
    moved = {label: one for label, one in part.moved.items() if moved_p[label] < ALPHA}
    if not moved:
        return False, "its split did not move detectably from its base's"
    weakest = min(part.by_buyer, key=lambda buyer: part.by_buyer[buyer].value or 0.0)
    least = part.by_buyer[weakest]
    lean = _lean(moved, rules)
    if not _above(least, least.p) and not _certain(least):
        return True, f"{lean}, and its gain against {weakest} is not detectable ({difference(least)})"
    if any(_beyond(one, rules.margin) for one in moved.values()):
        return True, f"{lean}, which lies beyond {rules.margin:.3f} (ours)"
    seen = "the same on every cell" if _certain(least) else "detectable"
    against = f"its gain against {weakest} is {seen} ({difference(least)})"
    return False, f"{lean}, but {against} and the move is not clearly beyond {rules.margin:.3f} (ours)"


def _certain(gain: Estimate) -> bool:
    """Whether every cell gained the same: there is no p then, and nothing to doubt."""
    many = gain.clusters >= FEWEST_CLUSTERS and gain.se is not None
    return many and gain.interval() is None and (gain.value or 0.0) > 0


def _beyond(moved: Estimate, margin: float) -> bool:
    low, high = moved.interval() or (0.0, 0.0)
    return low > margin or high < -margin


def _lean(moved: dict[str, Estimate], rules: _Rules) -> str:
    """Say which buyers a gain leans toward or away from, and by how much: by family only where all of a
    family's buyers, at least two, do."""
    label, most = max(moved.items(), key=lambda item: abs(item[1].value or 0.0))
    toward, away = [], []
    for key, one in moved.items():
        first, second = rules.sides[key]
        for_it, against_it = (first, second) if (one.value or 0.0) > 0 else (second, first)
        toward += [for_it] if for_it != OTHERS else []
        away += [against_it] if against_it != OTHERS else []
    word, buyers = ("toward", toward) if toward else ("away from", away)
    for family, members in rules.families.items():
        if set(members) <= set(buyers):
            rest = [buyer for buyer in buyers if buyer not in members]
            buyers = [f"the {family} family ({', '.join(members)})", *rest]
    moves = f"{label} moved by {difference(most)} from its base's"
    return f"its gain leans {word} {' and '.join(buyers)}: {moves}"


def _families(results: Results, analysis: Analysis) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for version, name in results.design.names(Role.BUYER).items():
        if (family := analysis.families.get(version)) is not None:
            members.setdefault(family, []).append(name)
    return {family: buyers for family, buyers in members.items() if len(buyers) > 1}
