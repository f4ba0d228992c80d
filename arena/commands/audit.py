"""`arena scenarios audit`: whether a policy that does not bargain can beat the buyers."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store, split_names
from arena.commands.printing import add_row, new_table, print_json, print_table, progress_bar
from arena.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from agents.agent import Agent
    from arena.audit import BuyerAudit
    from scenarios.domain import Domain


def audit(
    scenarios: Annotated[int, typer.Option(min=1, help="Dev scenarios of each domain.")] = 64,
    domains: Annotated[
        str | None,
        typer.Option(help="Domains, suites or .yaml files, separated by commas. [default: trade]"),
    ] = None,
    buyers: Annotated[
        str | None,
        typer.Option(
            help="Buyers, separated by commas: names or module:object. [default: the scripted panel]"
        ),
    ] = None,
    turn_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a turn, for plug-ins.")] = 60.0,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Sell to every buyer by fixed policies, and say what share of the ceiling the best of them earns.

    The ceiling is the most a package gives the seller while the buyer still gets its walk-away value;
    a buyer from whom a fixed policy earns over 90% of it is exploitable. Uses the dev split. Where there
    is a database (--db), the results are kept in it, and its boards mark exploitable buyers by their
    newest audit; none is created.
    """
    from arena.audit import audit as run_audit
    from scenarios.draw import DrawError

    played = _domains(domains)
    found = _buyers(buyers, db, played)
    try:
        with progress_bar("scenarios", len(played) * scenarios) as advance:
            audits = run_audit(found, played, scenarios, turn_timeout, advance)
    except DrawError as error:
        raise UserError(str(error)) from error
    content = [_json(one) for one in audits]
    _keep(db, {found[one["buyer"]].spec.version: one for one in content})
    if as_json:
        print_json(content)
    else:
        print_table(_table(audits, len(played)))


def _domains(names: str | None) -> "list[Domain]":
    from scenarios.catalogue import bundled, named

    if names is None:
        return list(bundled().values())
    try:
        found = {domain.version: domain for name in split_names(names) or () for domain in named(name)}
    except ValueError as error:
        raise UserError(str(error)) from error
    if not found:
        raise UserError("name at least one domain, such as --domains car_sale")
    return list(found.values())


def _buyers(names: str | None, db: str | None, domains: "Sequence[Domain]") -> "dict[str, Agent]":
    from agents.build import UnplayableError, build, refusal
    from agents.scripted import PANEL_BUYERS
    from arena.commands.named import named_agent

    found = {}
    for name in PANEL_BUYERS if names is None else split_names(names) or ():
        agent = named_agent(name, db)
        if agent.spec.is_language_model:
            raise UserError(f"{name} is a language model; the audit plays scripted agents and plug-ins")
        if refused := next((why for domain in domains if (why := refusal(agent.spec, domain))), None):
            raise UserError(refused)
        try:
            found[name] = build(agent.spec, agent.connection)
        except UnplayableError as error:
            raise UserError(str(error)) from error
    if not found:
        raise UserError("name at least one buyer, such as --buyers boulware")
    return found


def _keep(db: str | None, audits: "Mapping[str, dict[str, Any]]") -> None:
    """Keep the audits, by version, in the database, if there is one; say so."""
    from arena.store import MissingDatabase

    try:
        store = open_store(db)
    except MissingDatabase:
        return
    with store:
        for version, found in audits.items():
            store.add_audit(version, found)
        typer.echo(f"Kept in {store.address}, whose boards mark exploitable buyers.", err=True)


def _json(one: "BuyerAudit") -> dict[str, Any]:
    return asdict(one) | {"best": one.best.policy, "exploitable": one.exploitable}


def _table(audits: "Sequence[BuyerAudit]", domains: int) -> "Table":
    from leaderboard.wording import counted

    first = audits[0]
    table = new_table(
        "buyer", *(f">{result.policy}" for result in first.policies), "best", ">of the gain", "verdict"
    )
    table.title_justify = "left"
    table.title = (
        f"Share of the ceiling that fixed policies earn ({counted(first.scenarios, 'scenario')} of "
        f"{counted(domains, 'domain')}; ceiling {first.ceiling:.3f}, no deal "
        f"{first.walk_away / first.ceiling:.1%})"
    )
    for one in audits:
        add_row(
            table,
            one.buyer,
            *(f"{result.share:.1%}" for result in one.policies),
            one.best.policy,
            f"{one.best.gain_share:.1%}",
            "exploitable" if one.exploitable else "not exploitable",
        )
    return table
