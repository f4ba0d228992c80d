"""What is bargained over, made ready to be shown: a domain's terms, what its draws come out as, and one
scenario with both sides' private tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import altair as alt
import pandas as pd

from leaderboard.figures import palette
from leaderboard.markup import cell, heading, table, text
from leaderboard.replay import Replay, replay
from leaderboard.wording import NONE
from scenarios.domain import Domain, Kind
from scenarios.frontier import reference_points
from scenarios.scenario import SCALE, Package, Role, Scenario
from scenarios.survey import Spread, Survey

KIND_COLOURS = {
    Kind.COMPATIBLE: "#009E73",
    Kind.DISTRIBUTIVE: "#D55E00",
    Kind.INTEGRATIVE: "#56B4E9",
    Kind.MIXED: "#8A8A8A",
}
KIND_WORDS = {
    Kind.COMPATIBLE: "one option is best for both",
    Kind.DISTRIBUTIVE: "opposed, of similar weight: what one gains the other loses",
    Kind.INTEGRATIVE: "opposed, of unequal weight: worth trading against another term",
    Kind.MIXED: "anything else",
}


def terms_rows(domain: Domain, drawn: Sequence[Scenario]) -> list[dict[str, Any]]:
    """Return a row a term of the domain: options, default, and in how many of the drawn scenarios it is
    of each kind."""
    counts = _kinds(drawn)
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


def terms_table(domain: Domain, drawn: Sequence[Scenario]) -> str:
    """Return the domain's terms as a table: the public default is marked, and in how many of the drawn
    scenarios the term is of each kind."""
    headings = [
        heading("term"),
        heading("options", "bold: the public default, which holds where a deal leaves the term out"),
    ]
    rows = []
    for term, row in zip(domain.terms, terms_rows(domain, drawn), strict=True):
        options = " · ".join(
            f"<b>{text(option)}</b> (default)" if option == term.default else text(option)
            for option in term.options
        )
        notes = ["in this order"] if term.ordered else []
        notes += [f"{kind.value} in {row[kind.value]}" for kind in Kind if row[kind.value]]
        soft = f'<br><span class="soft">{text(" · ".join(notes))}</span>' if notes else ""
        rows.append(f'<tr><td class="name">{text(term.name)}</td>{cell(options + soft)}</tr>')
    return table(headings, rows)


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


def spreads_table(found: Survey) -> str:
    """Return :func:`spreads` as a table."""
    headings = [heading("over the draws"), *(heading(name, number=True) for name in _SPREAD)]
    rows = []
    for row in spreads(found):
        counts = row["figure"].endswith(("terms", "frontier"))
        forms = {"least": "g", "mean": ".1f", "most": "g"} if counts else dict.fromkeys(_SPREAD, ".3f")
        numbers = "".join(cell(format(row[name], forms[name]), number=True) for name in _SPREAD)
        rows.append(f"<tr>{cell(text(row['figure']))}{numbers}</tr>")
    return table(headings, rows)


_SPREAD = ("least", "mean", "most")


def kinds_figure(domain: Domain, drawn: Sequence[Scenario]) -> alt.Chart:
    """Return in how many of the drawn scenarios each term is of each kind, as bars."""
    counts = _kinds(drawn)
    names = [kind.value for kind in Kind]
    rows = [
        {"term": term.name, "kind": kind.value, "place": place, "scenarios": counts[term.name, kind]}
        for term in domain.terms
        for place, kind in enumerate(Kind)
    ]
    colours = alt.Scale(domain=names, range=[KIND_COLOURS[kind] for kind in Kind])
    bars: alt.Chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("scenarios:Q", title=f"of {len(drawn)} scenarios", stack="zero"),
            y=alt.Y("term:N", sort=None, title=None, axis=alt.Axis(labelLimit=180, labelOverlap=False)),
            color=alt.Color(
                "kind:N", scale=colours, legend=alt.Legend(orient="top", title=None, columns=4)
            ),
            order="place:Q",
            tooltip=["term", "kind", "scenarios"],
        )
        .properties(height=24 * len(domain.terms) + 110)
    )
    return bars


def walk_away_figure(drawn: Sequence[Scenario], role: Role) -> alt.Chart:
    """Return one side's walk-away values over the drawn scenarios, as a histogram from 0 to 1."""
    values = [scenario.preferences(role).walk_away for scenario in drawn]
    title = f"{role.value}'s walk-away value, in its own utility"
    figure: alt.Chart = (
        alt.Chart(pd.DataFrame({"value": values}))
        .mark_bar(color=palette.SELLER if role is Role.SELLER else palette.BUYER)
        .encode(
            x=alt.X("value:Q", bin=alt.Bin(step=0.025, extent=[0, 1]), title=title),
            y=alt.Y("count():Q", title="scenarios", axis=alt.Axis(tickMinStep=1, tickCount=3)),
            tooltip=[alt.Tooltip("count():Q", title="scenarios")],
        )
        .properties(height=150)
    )
    return figure


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


def points_table(scenario: Scenario) -> str:
    """Return :func:`points_rows` as a table."""
    headings = [heading("point"), heading("seller", number=True), heading("buyer", number=True)]
    rows = [
        f"<tr>{cell(text(row['point']), row['deal'])}"
        + "".join(
            cell(NONE if row[side] is None else f"{row[side]:.3f}", row["deal"], number=True)
            for side in ("seller", "buyer")
        )
        + "</tr>"
        for row in points_rows(scenario)
    ]
    return table(headings, rows)


def tables_rows(scenario: Scenario) -> list[dict[str, Any]]:
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


def tables(scenario: Scenario) -> str:
    """Return both sides' private tables as one: what each option adds to the utility, with bars."""
    rows = tables_rows(scenario)
    most = max(row[side] for row in rows for side in ("seller", "buyer"))
    headings = [
        heading("term"),
        heading("option"),
        heading("seller", "what the option adds to the seller's utility", number=True),
        heading("buyer", "what the option adds to the buyer's utility", number=True),
    ]
    shown, previous = [], None
    for row in rows:
        first, previous = row["term"] != previous, row["term"]
        name = f'{text(row["term"])} <span class="soft">{text(row["kind"])}</span>' if first else ""
        option = f"{text(row['option'])} (default)" if row["default"] else text(row["option"])
        bars = [
            cell(_bar(row[side], most, colour), number=True)
            for side, colour in (("seller", palette.SELLER), ("buyer", palette.BUYER))
        ]
        shown.append(f"<tr>{cell(name)}{cell(option)}{''.join(bars)}</tr>")
    return table(headings, shown)


def _bar(value: float, most: float, colour: str) -> str:
    width = 100 * value / most
    return (
        f'<span class="ba-bar ba-inline"><span style="width:{width:.0f}%;background:{colour}"></span>'
        f"</span>{value:.3f}"
    )


def _kinds(drawn: Sequence[Scenario]) -> Counter[tuple[str, Kind]]:
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
