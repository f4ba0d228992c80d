"""A design for people: what it plans and declares, and how much of it was played before it."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import typer

from arena.analysis import Analysis, Guards
from arena.commands.options import to_name
from arena.commands.printing import add_row, new_table, print_table
from arena.design import Design
from arena.printable import plain
from arena.schedule import planned
from arena.store import Filter, Store, StoredDesign
from leaderboard.board_words import play_command
from leaderboard.wording import counted, when
from scenarios.scenario import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from leaderboard.tables.designs import Rows

REUSED = "contrasts over matches begun before the freeze are exploratory"


def frozen_now(store: Store, stored: StoredDesign, new: bool) -> Generator[str]:
    """Yield what a person wants to know of a design that was frozen, not played."""
    design = stored.design
    already = "" if new else "already "
    yield f"Design {design.hash}: {already}frozen on {when(stored.created_at)}."
    yield from map(plain, declared(design))
    played = store.count(Filter(design=design))
    matches = f"{played:,} of {counted(planned(design), 'planned match', 'planned matches')}"
    if not played:
        yield "Matches: none of those it plans is played yet."
    elif new:
        yield f"Matches: {matches} were played before the freeze and are reused; {REUSED}."
    else:
        yield f"Matches: {matches} are played."
    last = store.last_run(design.hash)
    yield f"Next: {play_command(design.hash, last, to_name(store.address))}"


def declared(design: Design) -> Generator[str]:
    """Yield what the design declares, a line each: the family, the guards."""
    analysis = design.analysis or Analysis()
    names = design.names(Role.SELLER)
    labels = ", ".join(contrast.label(names) for contrast in analysis.contrasts)
    count = len(analysis.contrasts)
    if not count:
        yield "Family:  no contrast is declared; every comparison is exploratory."
    else:
        yield f"Family:  {counted(count, 'contrast')}, Holm over m = {count}: {labels}"
        if held_out := [domain.name for domain in design.domains if domain.held_out]:
            yield f"         on {', '.join(held_out)}, held out: a family of its own, m = {count}"
    limits = ", ".join(f"{name} {limit:g}" for name, limit in analysis.guards)
    yield f"Guards:  {limits} (limits of ours)"


def show(store: Store, stored: StoredDesign) -> None:
    """Print a stored design with its log."""
    from leaderboard.tables import designs as tables

    design = stored.design
    analysis = design.analysis or Analysis()
    typer.echo(f"Design {design.hash}, frozen {when(stored.created_at)}")
    for line in _plan(store, design):
        typer.echo(line)
    typer.echo()
    print_table(_table(tables.sellers(design), tables.SELLERS))
    print_table(_table(tables.buyers(design, store.audits()), tables.BUYERS))
    print_table(_domains(design))
    _print_contrasts(design, analysis)
    _print_guards(analysis.guards)
    typer.echo(
        f"The pooling alarm's margin is {analysis.alarm_margin:g} (ours); boards print the "
        f"{analysis.interval} interval."
    )
    _print_log(store, design)


def _plan(store: Store, design: Design) -> Generator[str]:
    results = store.results(design)
    turns = f"{counted(design.turns, 'turn')} a side" if design.turns else "hidden turn limits"
    panel = f" and {design.infeasible} without a zone of agreement" if design.infeasible else ""
    replicates = f", {design.replicates} replicates" if design.replicates > 1 else ""
    yield (
        f"{counted(design.scenarios, 'scenario')} a domain{panel}{replicates}; opener: {design.opener}; "
        f"{turns}; seed {design.seed}"
    )
    before = int((~results.fresh_M).sum())
    reused = f", {before:,} of them begun before the freeze: {REUSED}" if before else ""
    yield f"{len(results.fresh_M):,} of {counted(planned(design), 'match', 'matches')} scored{reused}"


def _table(rows: "Rows", fields: "Sequence[str]") -> "Table":
    """Return some fields of the rows that the page of designs shows as well."""
    table = new_table(*fields)
    for row in rows:
        add_row(table, *(row[name] for name in fields))
    return table


def _domains(design: Design) -> "Table":
    table = new_table("domain", "version", "")
    for domain in design.domains:
        add_row(table, domain.name, domain.version, "held out" if domain.held_out else "")
    return table


def _print_contrasts(design: Design, analysis: Analysis) -> None:
    if not analysis.contrasts:
        typer.echo("No contrast is declared: every comparison is exploratory.\n")
        return
    table = new_table(">", f"declared contrasts (Holm over m = {len(analysis.contrasts)})")
    for number, contrast in enumerate(analysis.contrasts, 1):
        add_row(table, number, contrast.label(design.names(Role.SELLER)))
    print_table(table)


def _print_guards(guards: Guards) -> None:
    table = new_table("guard (ours)", ">limit", "what it limits")
    for name, limit in guards:
        add_row(table, name, f"{limit:g}", Guards.model_fields[name].description)
    print_table(table)


def _print_log(store: Store, design: Design) -> None:
    log = store.deviations(design.hash)
    if not log:
        typer.echo("No deviation is logged.")
        return
    table = new_table("deviation logged", "about", "what", "reason")
    for entry in log:
        add_row(table, when(entry.at), entry.kind, entry.what, entry.reason)
    print_table(table)
