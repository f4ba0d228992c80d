"""The matches behind a row: a list with filters, each with its transcript one click away."""

import streamlit as st

from arena.protocol import Ending
from arena.store import Filter, Listed
from leaderboard import markup
from leaderboard.views import common
from leaderboard.wording import NONE
from scenarios.scenario import Role

PAGE = 100
_ANY = ""


def show() -> None:
    """List the matches that the address asks for."""
    store = common.open_store()
    design = common.chosen_design(store).design
    st.html(markup.link("← the board", "board", design=design.hash))
    names = {role: design.names(role) for role in Role}
    columns = st.columns(5)
    chosen: dict[str, str] = {}
    every = {_ANY: "any"}
    choices = {
        "seller": every | names[Role.SELLER],
        "buyer": every | names[Role.BUYER],
        "domain": every | {domain.name: domain.name for domain in design.domains},
        "ending": every | {end.value: end.value for end in Ending if not end.void},
    }
    for column, (parameter, options) in zip(columns, choices.items(), strict=False):
        with column:
            chosen[parameter] = common.choose(parameter.capitalize(), list(options), parameter, options)
    found = store.matches(
        Filter(
            design=design,
            sellers=[chosen["seller"]] if chosen["seller"] else None,
            buyers=[chosen["buyer"]] if chosen["buyer"] else None,
            domains=[chosen["domain"]] if chosen["domain"] else None,
            ending=chosen["ending"] or None,
        )
    )
    if not found:
        st.info("No scored match fits these filters.")
        return
    numbers = [str(page + 1) for page in range(-(-len(found) // PAGE))]
    with columns[-1]:
        page = int(common.choose("Page", numbers, "page"))
    first = (page - 1) * PAGE
    st.caption(f"{len(found):,} matches; {first + 1:,} to {min(first + PAGE, len(found)):,} shown")
    st.html(_table(found[first : first + PAGE], design.hash, names))


def _table(shown: list[Listed], design: str, names: dict[Role, dict[str, str]]) -> str:
    headings = [
        markup.heading("match"),
        *(markup.heading(label) for label in ("seller", "buyer", "domain")),
        markup.heading("scenario", number=True),
        *(markup.heading(label) for label in ("opens", "ending")),
        *(
            markup.heading(label, number=True)
            for label in ("seller's utility", "buyer's utility", "turns")
        ),
    ]
    return markup.table(headings, [_row(match, design, names) for match in shown])


def _row(match: Listed, design: str, names: dict[Role, dict[str, str]]) -> str:
    fault = f" (by the {match.at_fault})" if match.at_fault else ""
    replicate = f" #{match.replicate + 1}" if match.replicate else ""
    panel = "" if match.feasible else " (infeasible)"
    cells = [
        markup.cell(markup.link(match.key[:8], "match", key=match.key, design=design)),
        markup.cell(markup.text(names[Role.SELLER].get(match.seller_version, match.seller_version))),
        markup.cell(markup.text(names[Role.BUYER].get(match.buyer_version, match.buyer_version))),
        markup.cell(markup.text(match.domain)),
        markup.cell(f"{match.number}{replicate}{panel}", match.scenario, number=True),
        markup.cell(markup.text(match.opener)),
        markup.cell(markup.text(match.ending + fault)),
        markup.cell(_utility(match.seller_utility), number=True),
        markup.cell(_utility(match.buyer_utility), number=True),
        markup.cell(str(match.turns), number=True),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _utility(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
