"""The scripted strategies by name, with their default parameters and versions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from agents.scripted.agent import ScriptedAgent, Strategy
from agents.scripted.anchors import AcceptFirst, Fixed, Hardliner, RandomOffers, Stall, WalkAway
from agents.scripted.logroller import Logroller
from agents.scripted.micro import MOST_PACKAGES, Micro, MicroQuantile
from agents.scripted.time_dependent import TimeDependent
from agents.scripted.tit_for_tat import TitForTat
from agents.spec import AgentSpec


@dataclass(frozen=True)
class Entry:
    """A strategy as it is offered by name."""

    make: Callable[..., Strategy]
    summary: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Every parameter with its default, whose type is the parameter's type."""
    version: int = 1
    """Raised whenever the strategy would answer any view differently."""
    deterministic: bool = True
    most_packages: int | None = None
    """The largest domain it can play, in packages; None: any."""


STRATEGIES: dict[str, Entry] = {
    "boulware": Entry(
        TimeDependent,
        "holds out and gives way late",
        {"exponent": 0.6, "floor": 0.1, "acceptance": "next", "margin": 0.0},
    ),
    "linear": Entry(
        TimeDependent,
        "gives way at an even pace",
        {"exponent": 1.0, "floor": 0.05, "acceptance": "target", "margin": 0.0},
    ),
    "conceder": Entry(
        TimeDependent,
        "gives way early, then holds what is left",
        {"exponent": 3.0, "floor": 0.2, "acceptance": "next", "margin": 0.02},
    ),
    "tit_for_tat": Entry(TitForTat, "gives way in proportion to what it is given", {"floor": 0.25}),
    "micro": Entry(
        Micro,
        f"one package at a time, as often as the other side (up to {MOST_PACKAGES} packages)",
        most_packages=MOST_PACKAGES,
    ),
    "micro_quantile": Entry(
        MicroQuantile, "one step at a time, as often as the other side", {"steps": 8}
    ),
    "logroller": Entry(
        Logroller,
        "models the other side and trades across terms",
        {"exponent": 2.0, "floor": 0.15},
    ),
    "hardliner": Entry(Hardliner, "asks for its best package and never gives way"),
    "random": Entry(
        RandomOffers,
        "proposes and accepts by chance",
        {"accept_probability": 0.1},
        deterministic=False,
    ),
    "accept_first": Entry(AcceptFirst, "takes the first offer, whatever it is"),
    "walk_away": Entry(WalkAway, "leaves on its first turn"),
    "stall": Entry(Stall, "gives nothing, and takes what there is when time may run out"),
    "fixed": Entry(Fixed, "asks for the same share from first to last", {"aspiration": 0.7}),
}

PANEL_BUYERS = ("boulware", "linear", "conceder", "tit_for_tat", "micro_quantile", "logroller")
"""The scripted buyers of a default tournament."""

PANEL_SELLERS = (*PANEL_BUYERS, "hardliner", "random", "accept_first", "walk_away")
"""The scripted sellers of a default tournament, with the anchors that say what a score is worth."""


def spec_of(name: str, **parameters: Any) -> AgentSpec:
    """Return the identity of a strategy. Parameters left out stand at their defaults, and are part of
    the identity all the same. Raises ValueError for an unknown name or parameter, or a wrong value."""
    entry = _entry(name)
    unknown = sorted(parameters.keys() - entry.defaults.keys())
    if unknown:
        known = ", ".join(entry.defaults) or "none"
        raise ValueError(f"{name} has no parameter {unknown[0]!r}; it has: {known}")
    values = {
        key: _typed(name, key, parameters.get(key, default), default)
        for key, default in entry.defaults.items()
    }
    _made(name, entry, values)
    return AgentSpec(kind="scripted", strategy=name, strategy_version=entry.version, parameters=values)


def build_scripted(spec: AgentSpec) -> ScriptedAgent:
    """Return the agent of a scripted spec. Raises ValueError where this release cannot play it."""
    name = spec.strategy or ""
    entry = _entry(name)
    if spec.strategy_version != entry.version:
        raise ValueError(
            f"{name} is at version {entry.version} in this release, and the agent asks for version "
            f"{spec.strategy_version}; register it again, or install the release that played it"
        )
    complete = spec_of(name, **spec.parameters)
    return ScriptedAgent(spec, _made(name, entry, complete.parameters), entry.deterministic)


def _entry(name: str) -> Entry:
    if name not in STRATEGIES:
        raise ValueError(f"no scripted strategy is called {name!r}; there are: {', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def _made(name: str, entry: Entry, values: Mapping[str, Any]) -> Strategy:
    try:
        return entry.make(**values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _typed(name: str, key: str, value: Any, default: Any) -> Any:
    """Return `value` in the type of `default`, so that 1 and 1.0 are one identity."""
    if isinstance(default, str):
        return value
    try:
        number = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number) or (isinstance(default, int) and number != int(number)):
        wanted = "a whole number" if isinstance(default, int) else "a number"
        raise ValueError(f"{name}: {key} must be {wanted}, not {value!r}")
    return type(default)(number)
