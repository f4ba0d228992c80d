"""The ground of a design as HTML: a domain's terms, what its draws come out as, and one scenario."""

from collections.abc import Sequence

from leaderboard.figures import palette
from leaderboard.grounds import points_rows, spreads, terms_rows, utilities_rows
from leaderboard.markup import cell, heading, table, text
from leaderboard.wording import NONE
from scenarios.domain import Domain, Kind
from scenarios.scenario import Scenario
from scenarios.survey import Survey


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


def spreads_table(found: Survey) -> str:
    """Return :func:`leaderboard.grounds.spreads` as a table."""
    headings = [heading("over the draws"), *(heading(name, number=True) for name in _SPREAD)]
    rows = []
    for row in spreads(found):
        counts = row["figure"].endswith(("terms", "frontier"))
        forms = {"least": "g", "mean": ".1f", "most": "g"} if counts else dict.fromkeys(_SPREAD, ".3f")
        numbers = "".join(cell(format(row[name], forms[name]), number=True) for name in _SPREAD)
        rows.append(f"<tr>{cell(text(row['figure']))}{numbers}</tr>")
    return table(headings, rows)


_SPREAD = ("least", "mean", "most")


def points_table(scenario: Scenario) -> str:
    """Return :func:`leaderboard.grounds.points_rows` as a table."""
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


def utilities_table(scenario: Scenario) -> str:
    """Return both sides' private tables as one: what each option adds to the utility, with bars."""
    rows = utilities_rows(scenario)
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
