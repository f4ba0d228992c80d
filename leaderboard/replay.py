"""A finished match made ready to be read: its offers in the plane of utilities, its terms, its turns."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.agent import UNNAMED, ActionKind
from arena.design import Design
from arena.disclosures import Disclosures
from arena.play import Turn
from arena.store import Listed, Store
from scenarios.frontier import Point, frontier, reference_points
from scenarios.scenario import SCALE, Package, Role, Scenario


@dataclass(frozen=True)
class Offer:
    """A proposal with its defaults filled in, and what it is worth to each side, in [0, 1]."""

    turn: int
    """Counted from 1 over both sides."""
    role: Role
    seller: float
    buyer: float


@dataclass(frozen=True)
class TermLine:
    """One term: what each side wanted most, what was agreed, and who got how much from it."""

    name: str
    kind: str
    seller_wants: str
    buyer_wants: str
    agreed: str | None
    seller_got: float | None
    seller_most: float
    buyer_got: float | None
    buyer_most: float


@dataclass(frozen=True)
class Replay:
    """What a page shows beside the dialogue. Points are (seller's, buyer's) utilities."""

    frontier: list[tuple[float, float]]
    walk_away: tuple[float, float]
    offers: list[Offer]
    named_points: dict[str, tuple[float, float]]
    """Nash, Kalai-Smorodinsky (where there is a zone of agreement) and the deal (where there is one)."""
    terms: list[TermLine]


@dataclass(frozen=True)
class Transcript:
    """All that the pages show of one match or void attempt."""

    match: Listed
    scenario: Scenario
    turns: list[Turn]
    names: dict[Role, str]
    """What the design's boards call the two sides."""

    @property
    def deal(self) -> Package | None:
        """What was agreed, with the defaults filled in."""
        return None if self.match.deal is None else tuple(json.loads(self.match.deal))


def transcript(store: Store, design: Design, match: Listed) -> Transcript:
    """Read a match; `design` names its sides."""
    versions = {Role.SELLER: match.seller_version, Role.BUYER: match.buyer_version}
    return Transcript(
        match,
        store.scenarios([match.scenario_key])[match.scenario_key],
        store.turns(match),
        {role: design.names(role).get(version, version) for role, version in versions.items()},
    )


def replay(scenario: Scenario, turns: Sequence[Turn], deal: Package | None) -> Replay:
    """Return the match of `scenario` with these turns and this deal, ready to be shown."""
    front = frontier(scenario)
    points = reference_points(scenario, front)
    named: dict[str, Point | None] = {
        "Nash": points.nash,
        "Kalai-Smorodinsky": points.kalai_smorodinsky,
    }
    shown = {name: (point.seller, point.buyer) for name, point in named.items() if point is not None}
    if deal is not None:
        shown["deal"] = (scenario.seller.utility(deal), scenario.buyer.utility(deal))
    pairs = [front.package(place) for place in range(len(front))]
    return Replay(
        frontier=[(scenario.seller.utility(p), scenario.buyer.utility(p)) for p in pairs],
        walk_away=(scenario.seller.walk_away, scenario.buyer.walk_away),
        offers=list(_offers(scenario, turns)),
        named_points=shown,
        terms=[_term(scenario, place, deal) for place in range(len(scenario.terms))],
    )


def filled(offer: Package, scenario: Scenario) -> Package:
    """Return an offer with the public defaults at the terms it left out."""
    pairs = zip(offer, scenario.default, strict=True)
    return tuple(default if option == UNNAMED else option for option, default in pairs)


def cached_answers(turns: Sequence[Turn]) -> int:
    """Return how many of a match's answers came from the cache."""
    usages = (attempt.usage for turn in turns for attempt in turn.attempts)
    return sum(usage.cached for usage in usages if usage is not None)


def chip(turn: Turn, scenario: Scenario) -> str:
    """Return the binding part of a turn in words."""
    match turn.kind:
        case None:
            return "no valid action"
        case ActionKind.PROPOSE if turn.offer is not None:
            package = filled(turn.offer, scenario)
            worth = [f"{role} {scenario.preferences(role).utility(package):.3f}" for role in Role]
            return f"proposes ({', '.join(worth)})"
        case ActionKind.ACCEPT:
            return "accepts"
        case ActionKind.WALK_AWAY:
            return "walks away"
        case _:
            return "talks"


def offered_terms(turn: Turn, scenario: Scenario) -> list[tuple[str, str, bool]]:
    """Return (term, option, whether it was left at its default) of a proposal; else nothing."""
    if turn.offer is None:
        return []
    package = filled(turn.offer, scenario)
    return [
        (term.name, term.options[option], named == UNNAMED)
        for term, option, named in zip(scenario.terms, package, turn.offer, strict=True)
    ]


def turns_content(turns: Sequence[Turn], scenario: Scenario) -> list[dict[str, Any]]:
    """Return turns whole, as JSON-ready data: what `arena show --json` prints and a download holds."""
    stated = Disclosures(scenario).of(turns)
    return [
        _turn(turn, scenario) | {"discloses": discloses}
        for turn, discloses in zip(turns, stated, strict=True)
    ]


def _turn(turn: Turn, scenario: Scenario) -> dict[str, Any]:
    terms = offered_terms(turn, scenario)
    package = None if turn.offer is None else filled(turn.offer, scenario)
    return {
        "role": turn.role.value,
        "action": None if turn.kind is None else turn.kind.value,
        "terms": None if package is None else {name: option for name, option, _ in terms},
        "left_at_default": [name for name, _, default in terms if default],
        "seller_utility": None if package is None else scenario.seller.utility(package),
        "buyer_utility": None if package is None else scenario.buyer.utility(package),
        "message": turn.message,
        "reasoning": turn.reasoning,
        "attempts": [
            {
                "text": attempt.text,
                "fault": None if attempt.fault is None else attempt.fault.value,
                "reasoning": attempt.reasoning,
                "usage": None if attempt.usage is None else attempt.usage._asdict(),
            }
            for attempt in turn.attempts
        ],
    }


def _offers(scenario: Scenario, turns: Sequence[Turn]) -> list[Offer]:
    found = []
    for number, turn in enumerate(turns, start=1):
        if turn.offer is not None:
            package = filled(turn.offer, scenario)
            worth = (scenario.seller.utility(package), scenario.buyer.utility(package))
            found.append(Offer(number, turn.role, *worth))
    return found


def _term(scenario: Scenario, place: int, deal: Package | None) -> TermLine:
    term = scenario.terms[place]
    seller, buyer = (side.table[place] for side in (scenario.seller, scenario.buyer))
    option = None if deal is None else deal[place]
    return TermLine(
        name=term.name,
        kind=scenario.kinds[place].value,
        seller_wants=term.options[seller.index(max(seller))],
        buyer_wants=term.options[buyer.index(max(buyer))],
        agreed=None if option is None else term.options[option],
        seller_got=None if option is None else seller[option] / SCALE,
        seller_most=max(seller) / SCALE,
        buyer_got=None if option is None else buyer[option] / SCALE,
        buyer_most=max(buyer) / SCALE,
    )
