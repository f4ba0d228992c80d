"""What one design changes of another, in words."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from arena.analysis import Analysis
from arena.design import Design, Player

SIZES = {
    "scenarios": "scenarios a domain",
    "infeasible": "scenarios a domain without a zone of agreement",
    "replicates": "replicates",
    "seed": "seed, and so all scenarios,",
}
RULES = {
    "opener": "opener",
    "turns": "turns a side",
    "message_limit": "message limit",
    "protocol": "protocol",
    "draw": "recipe of the draws",
}


class Kind(StrEnum):
    """What an entry of the log is about."""

    ARM = "arm"
    """A seller was added later, dropped, or withdrawn with matches left to play."""
    BUYER = "buyer"
    DOMAIN = "domain"
    HELD_OUT = "held_out"
    SIZE = "n"
    """Scenarios, replicates, or which scenarios."""
    RULES = "rules"
    CONTRAST = "contrast"
    GUARD = "guard"
    """A limit was moved."""
    ANALYSIS = "analysis"
    """Bases, buyers excluded from training, training families, the alarm's margin, the interval."""
    CELL = "cell"
    """A planned match was taken out."""
    OTHER = "other"


class Departure(NamedTuple):
    """An entry before it is logged: what differs, in words."""

    kind: Kind
    what: str


def differences(old: Design, new: Design) -> list[Departure]:
    """Return in words what `new` changes of `old`, one entry a kind; empty for the same plan."""
    before, after = old.analysis or Analysis(), new.analysis or Analysis()
    names = _names(old, new)
    found: dict[Kind, list[str]] = {
        Kind.ARM: list(_sellers(old, new, names)),
        Kind.BUYER: list(_changed_players(old.buyers, new.buyers, names, "buyer")),
        Kind.DOMAIN: list(_domains(old, new)),
        Kind.HELD_OUT: list(_held_out(old, new)),
        Kind.SIZE: list(_moved(old, new, SIZES)),
        Kind.RULES: list(_moved(old, new, RULES)),
        Kind.CONTRAST: list(_contrasts(before, after, names)),
        Kind.GUARD: list(_guards(before, after)),
        Kind.ANALYSIS: list(_analysis(*_shared_bases(old, new, before, after), names)),
    }
    return [Departure(kind, "; ".join(words)) for kind, words in found.items() if words]


def _names(old: Design, new: Design) -> dict[str, str]:
    """Return what to call each version: its name, or ``name@version`` where that is ambiguous."""
    players = {p.version: p for design in (new, old) for p in (*design.buyers, *design.sellers)}
    called = [player.name for player in players.values()]
    return {v: p.name if called.count(p.name) == 1 else p.full_name for v, p in players.items()}


def _sellers(old: Design, new: Design, names: dict[str, str]) -> Iterator[str]:
    arms = {arm for design in (old, new) if design.analysis for arm in design.analysis.bases}
    for noun, chosen in (("arm", True), ("seller", False)):
        before, after = ([p for p in d.sellers if (p.version in arms) == chosen] for d in (old, new))
        yield from _changed_players(before, after, names, noun)


def _changed_players(
    old: Iterable[Player], new: Iterable[Player], names: dict[str, str], noun: str
) -> Iterator[str]:
    before, after = ({player.version for player in side} for side in (old, new))
    yield from (f"{noun} {name} added later" for name in sorted(names[v] for v in after - before))
    yield from (f"{noun} {name} dropped" for name in sorted(names[v] for v in before - after))


def _domains(old: Design, new: Design) -> Iterator[str]:
    before, after = ({d.name: d.version for d in design.domains} for design in (old, new))
    yield from (f"domain {name} added" for name in sorted(after.keys() - before.keys()))
    yield from (f"domain {name} dropped" for name in sorted(before.keys() - after.keys()))
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"domain {name} is of another version ({before[name]} to {after[name]})"


def _held_out(old: Design, new: Design) -> Iterator[str]:
    before, after = ({d.name: d.held_out for d in design.domains} for design in (old, new))
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"{name} is {'held out now' if after[name] else 'no longer held out'}"


def _moved(old: Design, new: Design, fields: dict[str, str]) -> Iterator[str]:
    for field, words in fields.items():
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            yield f"{words} from {_said(before)} to {_said(after)}"


def _said(value: object) -> str:
    return "hidden limits" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _contrasts(before: Analysis, after: Analysis, names: dict[str, str]) -> Iterator[str]:
    old, new = ({c.key(): c.label(names) for c in analysis.contrasts} for analysis in (before, after))
    yield from (f"contrast {label} added" for key, label in sorted(new.items()) if key not in old)
    yield from (f"contrast {label} dropped" for key, label in sorted(old.items()) if key not in new)
    if len(old) != len(new):
        yield f"Holm's m from {len(old)} to {len(new)}"


def _guards(before: Analysis, after: Analysis) -> Iterator[str]:
    for guard, old in before.guards:
        new = getattr(after.guards, guard)
        if old != new:
            yield f"limit of {guard} from {old:g} to {new:g}"


def _shared_bases(
    old: Design, new: Design, before: Analysis, after: Analysis
) -> tuple[Analysis, Analysis]:
    """Return both analyses with the bases of those arms only that stand in both designs: of the others
    it is said already that they were added or dropped."""
    both = {p.version for p in old.sellers} & {p.version for p in new.sellers}
    kept = [
        analysis.model_copy(update={"bases": {a: b for a, b in analysis.bases.items() if a in both}})
        for analysis in (before, after)
    ]
    return kept[0], kept[1]


def _analysis(before: Analysis, after: Analysis, names: dict[str, str]) -> Iterator[str]:
    for arm in sorted(before.bases.keys() | after.bases.keys(), key=names.__getitem__):
        old, new = (analysis.bases.get(arm) for analysis in (before, after))
        if old != new:
            was, will = ("none" if base is None else names[base] for base in (old, new))
            yield f"base of {names[arm]} from {was} to {will}"
    sides = [{names[version] for version in analysis.excluded} for analysis in (before, after)]
    yield from _listed("buyers excluded from training", *sides)
    yield from _listed("training families", set(before.training_families), set(after.training_families))
    if before.alarm_margin != after.alarm_margin:
        yield f"the pooling alarm's margin from {before.alarm_margin:g} to {after.alarm_margin:g}"
    if before.interval != after.interval:
        yield f"interval from {before.interval} to {after.interval}"


def _listed(what: str, before: set[str], after: set[str]) -> Iterator[str]:
    if before != after:
        old, new = (", ".join(sorted(side)) or "none" for side in (before, after))
        yield f"{what} from {old} to {new}"
