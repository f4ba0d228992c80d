"""What is bargained over, as rows: a domain's terms, what its draws come out as, and one scenario with
both sides' private tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from leaderboard.replay import Replay, replay
from scenarios.domain import Domain, Kind
from scenarios.frontier import reference_points
from scenarios.scenario import SCALE, Package, Scenario
from scenarios.survey import Spread, Survey

KIND_WORDS = {
    Kind.COMPATIBLE: "one option is best for both",
    Kind.DISTRIBUTIVE: "opposed, of similar weight: what one gains the other loses",
    Kind.INTEGRATIVE: "opposed, of unequal weight: worth trading against another term",
    Kind.MIXED: "anything else",
}


def terms_rows(domain: Domain, drawn: Sequence[Scenario]) -> list[dict[str, Any]]:
    """Return a row a term of the domain: options, default, and in how many of the drawn scenarios it is
    of each kind."""
    counts = kinds(drawn)
    return [
        {
            "term": term.name,
            "options": list(term.options),
            "default": term.default,
            "ordered": term.ordered,
            "public": term.seller_prefers,
            **{kind.value: counts[term.name, kind] for kind in Kind},
        }
        for term in domain.terms
    ]


def spreads(found: Survey) -> list[dict[str, Any]]:
    """Return what the draws come out as: least, mean and most of each figure over them."""

    def row(figure: str, spread: Spread) -> dict[str, Any]:
        return {"figure": figure, "least": spread.low, "mean": spread.mean, "most": spread.high}

    return [
        *(row(f"{kind.value} terms", spread) for kind, spread in found.kinds.items()),
        row("share of packages acceptable to both", found.acceptable),
        row("seller's walk-away value", found.seller_walk_away),
        row("buyer's walk-away value", found.buyer_walk_away),
        row("default package, seller's utility", found.seller_default),
        row("default package, buyer's utility", found.buyer_default),
        row("opposition", found.opposition),
        row("points on the Pareto frontier", found.frontier),
    ]


def landscape(scenario: Scenario) -> Replay:
    """Return the scenario as a match that nobody has played: frontier, walk-away values, the reference
    points that exist, and the package of public defaults."""
    points = reference_points(scenario)
    named = {
        "Nash": points.nash,
        "Kalai": points.kalai,
        "Kalai-Smorodinsky": points.kalai_smorodinsky,
        "utilitarian": points.utilitarian,
    }
    shown = {name: (point.seller, point.buyer) for name, point in named.items() if point is not None}
    default = scenario.default
    shown["default"] = (scenario.seller.utility(default), scenario.buyer.utility(default))
    return replace(replay(scenario, [], None), named_points=shown)


def points_rows(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the reference points, walk-away values and default package with what they are worth."""
    points = asdict(reference_points(scenario))
    rows: list[dict[str, Any]] = [
        _point("walk-away values", scenario.seller.walk_away, scenario.buyer.walk_away, "no deal")
    ]
    default = scenario.default
    worth = (scenario.seller.utility(default), scenario.buyer.utility(default))
    rows.append(_point("default package", *worth, _deal(scenario, default)))
    for name, field in _POINTS.items():
        point = points[field]
        rows.append(
            _point(name, None, None, "there is no zone of agreement")
            if point is None
            else _point(name, point["seller"], point["buyer"], _deal(scenario, point["package"]))
        )
    return rows


_POINTS = {
    "Nash": "nash",
    "Kalai (egalitarian)": "kalai",
    "Kalai-Smorodinsky": "kalai_smorodinsky",
    "utilitarian": "utilitarian",
}


def utilities_rows(scenario: Scenario) -> list[dict[str, Any]]:
    """Return a row an option: what it adds to each side's utility."""
    sides = zip(scenario.seller.table, scenario.buyer.table, strict=True)
    return [
        {
            "term": term.name,
            "kind": kind.value,
            "option": option,
            "default": option == term.default,
            "seller": seller / SCALE,
            "buyer": buyer / SCALE,
        }
        for term, kind, rows in zip(scenario.terms, scenario.kinds, sides, strict=True)
        for option, seller, buyer in zip(term.options, *rows, strict=True)
    ]


def kinds(drawn: Sequence[Scenario]) -> Counter[tuple[str, Kind]]:
    """Return in how many of the drawn scenarios each term, by its name, is of each kind."""
    return Counter(
        (term.name, kind)
        for scenario in drawn
        for term, kind in zip(scenario.terms, scenario.kinds, strict=True)
    )


def _point(name: str, seller: float | None, buyer: float | None, deal: str) -> dict[str, Any]:
    return {"point": name, "seller": seller, "buyer": buyer, "deal": deal}


def _deal(scenario: Scenario, package: Package) -> str:
    pairs = zip(scenario.terms, package, strict=True)
    return ", ".join(f"{term.name}: {term.options[option]}" for term, option in pairs)
