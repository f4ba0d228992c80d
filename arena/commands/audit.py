"""`arena scenarios audit`: whether a policy that does not bargain can beat the buyers."""

import json
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from agents.agent import Agent
    from arena.audit import BuyerAudit
    from scenarios.domain import Domain


def audit(
    scenarios: Annotated[int, typer.Option(min=1, help="Dev scenarios of each domain.")] = 64,
    domains: Annotated[
        str | None, typer.Option(help="Domain names or .yaml files, separated by commas; all nine.")
    ] = None,
    buyers: Annotated[
        str | None,
        typer.Option(help="Buyers, separated by commas: names or module:object; the scripted panel."),
    ] = None,
    turn_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a turn, for plug-ins.")] = 60.0,
    db: Annotated[
        str | None, typer.Option(envvar="ARENA_DB", help="The database: a path or URL.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Sell to every buyer by fixed policies, and say what share of the ceiling the best of them earns.

    The ceiling is the most a package gives the seller while the buyer still gets its walk-away value;
    a buyer from whom a fixed policy earns over 90% of it is exploitable. Uses the dev split.
    """
    from arena.audit import audit as run_audit
    from scenarios.draw import DrawError

    played, found = _domains(domains), _buyers(buyers, db)
    try:
        with _progress(len(played) * scenarios) as advance:
            audits = run_audit(found, played, scenarios, turn_timeout, advance)
    except DrawError as error:
        raise UserError(str(error)) from error
    if as_json:
        typer.echo(json.dumps([_json(one) for one in audits], ensure_ascii=False, indent=2))
    else:
        from rich.console import Console

        # A pipe has no width; a table is better wide than cut.
        console = Console()
        console = console if console.is_terminal else Console(width=140)
        console.print(_table(audits, len(played)), highlight=False)


def _domains(names: str | None) -> "list[Domain]":
    from scenarios.catalogue import bundled, find

    if names is None:
        return list(bundled().values())
    try:
        found = {name: find(name) for name in map(str.strip, names.split(",")) if name}
    except ValueError as error:
        raise UserError(str(error)) from error
    if not found:
        raise UserError("name at least one domain, such as --domains car_sale")
    return list(found.values())


def _buyers(names: str | None, db: str | None) -> "dict[str, Agent]":
    from agents.build import UnplayableError, build
    from agents.scripted import PANEL_BUYERS
    from arena.commands.named import named_agent

    wanted = names.split(",") if names is not None else PANEL_BUYERS
    found = {}
    for name in (name.strip() for name in wanted):
        if not name:
            continue
        agent = named_agent(name, db)
        if agent.spec.kind == "model":
            raise UserError(f"{name} is a language model; the audit plays scripted agents and plug-ins")
        try:
            found[name] = build(agent.spec, agent.connection)
        except UnplayableError as error:
            raise UserError(str(error)) from error
    if not found:
        raise UserError("name at least one buyer, such as --buyers boulware")
    return found


@contextmanager
def _progress(total: int) -> "Iterator[Callable[[], None]]":
    """Show a bar on stderr; gives the function to call once a scenario."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("scenarios", total=total)
        yield lambda: progress.advance(task)


def _json(one: "BuyerAudit") -> dict[str, Any]:
    return asdict(one) | {"best": one.best.policy, "exploitable": one.exploitable}


def _table(audits: "Sequence[BuyerAudit]", domains: int) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    first = audits[0]
    title = (
        f"Share of the ceiling that fixed policies earn ({first.scenarios} scenarios of {domains} "
        f"domains; ceiling {first.ceiling:.3f}, no deal {first.walk_away / first.ceiling:.1%})"
    )
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("buyer")
    for result in first.policies:
        table.add_column(result.policy, justify="right")
    table.add_column("best")
    table.add_column("of the gain", justify="right")
    table.add_column("")
    for one in audits:
        table.add_row(
            one.buyer,
            *(f"{result.share:.1%}" for result in one.policies),
            one.best.policy,
            f"{one.best.gain_share:.1%}",
            "exploitable" if one.exploitable else "",
        )
    return table
