"""Gains over base against size: what is known of every arm, arranged for the figure of scaling.

Size, learning rate, architecture and compute come from the agents' registrations, gains from the design.
The rules below are this project's:

- *Size*: the effective parameters of the arm, or else of its base.
- *Line*: one a learning rate. Of several checkpoints of one size and rate the line passes through the
  one trained longest; the others are points beside it.
- *Compute*: the reference is the learning rate with arms of the most bases, of equals the smallest
  rate. Another arm is compute-matched where it took as many tokens, within TOLERANCE, as the reference's
  arm of the same base; where either does not say its tokens, as many steps.
- *Boundary*: between neighbouring sizes of different architectures: those that the bases were registered
  with where all of them have one, else the bases' families.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite, sqrt
from typing import Any, NamedTuple

from arena.analysis import Analysis
from arena.design import Design
from leaderboard.inference.compared import Comparison
from leaderboard.known import Known
from scenarios.scenario import Role

TOLERANCE = 0.05
"""Of the tokens of two arms that count as compute-matched. Ours."""
MATCHED = "compute-matched"
REFERENCE = "the reference for compute"


@dataclass(frozen=True)
class Point:
    """One arm: its gain over base, and what is known of how it was made (None: nothing)."""

    seller: str
    version: str
    base: str
    gain: Comparison
    params: float | None
    learning_rate: float | None
    steps: float | None
    tokens: float | None
    architecture: str | None
    family: str | None
    """Of its base."""
    on_line: bool = False
    """Whether its learning rate's line passes through it."""
    compute: str = ""
    """MATCHED, REFERENCE, or why it is neither."""

    @property
    def placed(self) -> bool:
        """Whether it can stand in the figure."""
        known = self.params is not None and self.learning_rate is not None
        return known and self.gain.estimate.value is not None

    @property
    def matched(self) -> bool:
        """Whether it is compute-matched, or what the others are matched with."""
        return self.compute in (MATCHED, REFERENCE)

    @property
    def lacking(self) -> list[str]:
        """What is missing for the figure."""
        wanted = {"params": self.params, "lineage: learning_rate": self.learning_rate}
        lacks = [name for name, value in wanted.items() if value is None]
        return [*lacks, *([] if self.gain.estimate.value is not None else ["matches"])]


class Boundary(NamedTuple):
    """Where one architecture ends and another begins: parameters, halfway on a log axis."""

    at: float
    smaller: str
    larger: str


def points(design: Design, agents: Mapping[str, Known], gains: Mapping[str, Comparison]) -> list[Point]:
    """Return a point for every arm with a base, in the order of size and learning rate.

    `agents` and `gains` by version; an arm without a gain there is left out.
    """
    names = design.names(Role.SELLER)
    bases = (design.analysis or Analysis()).bases
    found = [_point(names, agents, arm, base, gains[arm]) for arm, base in bases.items() if arm in gains]
    found.sort(key=lambda point: (point.params or 0.0, point.learning_rate or 0.0))
    return _with_compute(_with_lines(found))


def boundaries(shown: Sequence[Point]) -> list[Boundary]:
    """Return where the architecture changes along the sizes of `shown`, smallest first."""
    named = all(point.architecture for point in shown)
    kinds: dict[float, set[str]] = {}
    for point in shown:
        kind = point.architecture if named else point.family
        if point.params is not None and kind:
            kinds.setdefault(point.params, set()).add(kind)
    sizes = sorted(kinds)
    return [
        Boundary(sqrt(small * large), " / ".join(sorted(kinds[small])), " / ".join(sorted(kinds[large])))
        for small, large in pairwise(sizes)
        if kinds[small].isdisjoint(kinds[large])
    ]


def rate_label(rate: float) -> str:
    """Return a learning rate as people write it: ``3e-6``."""
    mantissa, _, exponent = f"{rate:.3e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def size_label(params: float) -> str:
    """Return effective parameters as people write them: ``2.3B``, ``450M``."""
    for unit, word in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if params >= unit:
            return f"{params / unit:.3g}{word}"
    return f"{params:.3g}"


def _point(
    names: Mapping[str, str], agents: Mapping[str, Known], arm: str, base: str, gain: Comparison
) -> Point:
    own, other = agents[arm], agents[base]
    architecture = other.lineage.get("architecture") or own.lineage.get("architecture")
    return Point(
        seller=names[arm],
        version=arm,
        base=names[base],
        gain=gain,
        params=_number(own.params) or _number(other.params),
        learning_rate=_number(own.lineage.get("learning_rate")),
        steps=_number(own.lineage.get("steps")),
        tokens=_number(own.lineage.get("tokens")),
        architecture=str(architecture) if architecture else None,
        family=other.family,
    )


def _number(given: Any) -> float | None:
    """Return what a profile says as a positive number; YAML reads ``1e-6`` as text."""
    if isinstance(given, bool):
        return None
    try:
        number = float(given)
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) and number > 0 else None


def _with_lines(found: Sequence[Point]) -> list[Point]:
    """Mark the points that lines pass through."""
    longest: dict[tuple[float | None, float | None], Point] = {}
    for point in found:
        key = (point.params, point.learning_rate)
        before = longest.get(key)
        if point.placed and (before is None or _length(point) > _length(before)):
            longest[key] = point
    chosen = {point.version for point in longest.values()}
    return [replace(point, on_line=point.version in chosen) for point in found]


def _length(point: Point) -> tuple[float, float]:
    return point.tokens or 0.0, point.steps or 0.0


def _with_compute(found: Sequence[Point]) -> list[Point]:
    rate = _reference([point for point in found if point.on_line])
    reference = {point.base: point for point in found if point.on_line and point.learning_rate == rate}
    return [replace(point, compute=_compute(point, reference.get(point.base))) for point in found]


def _reference(lines: Iterable[Point]) -> float | None:
    bases: dict[float, set[str]] = {}
    for point in lines:
        if point.learning_rate is not None:
            bases.setdefault(point.learning_rate, set()).add(point.base)
    return min(bases, key=lambda rate: (-len(bases[rate]), rate), default=None)


def _compute(point: Point, reference: Point | None) -> str:
    if reference is None:
        return "no arm of the same base to be matched with"
    if point.version == reference.version:
        return REFERENCE
    if point.tokens is not None and reference.tokens is not None:
        close = abs(point.tokens - reference.tokens) <= TOLERANCE * reference.tokens
        return MATCHED if close else f"{point.tokens:.3g} tokens, not {reference.tokens:.3g}"
    if point.steps is not None and reference.steps is not None:
        same = point.steps == reference.steps
        return MATCHED if same else f"{point.steps:g} steps, not {reference.steps:g}"
    return "tokens and steps are not known"
