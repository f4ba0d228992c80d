"""`arena design`: freeze a plan before it is played, show it, and log what departs from it."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from arena.commands.options import AsJson, Db, open_if_there, open_store
from arena.commands.request import (
    Buyers,
    Contrasts,
    Domains,
    Infeasible,
    Interval,
    Opener,
    Reason,
    Replicates,
    Scenarios,
    Seed,
    Sellers,
    Turns,
    asked,
    lineup_of,
)
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.store import Store, StoredDesign

design_app = typer.Typer(help="Freeze a design, show it, and log what departs from it.")

File = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="A YAML or JSON file that stands for all the options."),
]
Hash = Annotated[
    str | None,
    typer.Argument(metavar="HASH", help="A design's hash, or how it starts. [default: the last one]"),
]
Kind = Literal[
    "arm",
    "buyer",
    "domain",
    "held_out",
    "n",
    "rules",
    "contrast",
    "guard",
    "analysis",
    "cell",
    "other",
]


@design_app.command()
def freeze(
    file: File = None,
    sellers: Sellers = None,
    buyers: Buyers = None,
    domains: Domains = None,
    scenarios: Scenarios = None,
    replicates: Replicates = None,
    opener: Opener = None,
    turns: Turns = None,
    infeasible: Infeasible = None,
    seed: Seed = None,
    contrasts: Contrasts = None,
    interval: Interval = None,
    reason: Reason = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Freeze a design with its hash and the time, and play nothing.

    Contrasts are confirmatory over matches that begin after this. What the design changes of an earlier
    one over the same declared sellers goes to its log.
    """
    from arena.commands import design_lines, plan_lines
    from arena.deviations import freeze
    from arena.printable import plain

    given = asked(locals())
    with open_if_there(db) as found:  # a mistake leaves no database behind
        lineup = lineup_of(found, file, given, called="the file")
    for note in lineup.notes:
        typer.echo(f"note: {plain(note)}", err=True)
    with open_store(db, create=True) as store:
        specs = [agent.spec for agent in lineup.agents.values()]
        frozen = freeze(store, lineup.design, specs, lineup.domains.values(), reason)
        for line in plan_lines.frozen_lines(frozen):
            typer.echo(line, err=True)
        if as_json:
            _print_json(store, store.design(lineup.design.hash))
            return
        for line in design_lines.frozen_now(store, store.design(lineup.design.hash), frozen.new):
            typer.echo(line)


@design_app.command()
def show(design: Hash = None, db: Db = None, as_json: AsJson = False) -> None:
    """Show what a design plans and declares, and the log of what departed from it.

    With --json it is what `--design FILE` reads: kept in a file, it is the same design anywhere.
    """
    from arena.commands import design_lines

    with open_store(db) as store:
        stored = store.design(design)
        if as_json:
            _print_json(store, stored)
        else:
            design_lines.show(store, stored)


@design_app.command()
def deviate(
    design: Annotated[str, typer.Argument(metavar="HASH", help="A design's hash, or how it starts.")],
    what: Annotated[str, typer.Option(help="What departs from the design.")],
    reason: Annotated[str, typer.Option(help="Why. It is kept and shown for good.")],
    kind: Annotated[Kind, typer.Option(help="What it is about.")] = "other",
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Add an entry to a design's log of deviations. Nothing in the log is ever changed or taken out."""
    from arena.commands.printing import print_json
    from arena.printable import plain
    from leaderboard.wording import counted

    if not what.strip() or not reason.strip():
        raise UserError("a deviation needs --what departs, and the --reason for it")
    with open_store(db) as store:
        found = store.design(design).design.hash
        store.add_deviation(found, kind, what.strip(), reason.strip())
        log = store.deviations(found)
    if as_json:
        print_json([entry._asdict() for entry in log])
    else:
        count = counted(len(log), "entry", "entries")
        typer.echo(f"Logged with design {found} ({kind}): {plain(what.strip())}; its log has {count}.")


def _print_json(store: "Store", stored: "StoredDesign") -> None:
    from arena.commands.printing import print_json

    content: dict[str, Any] = {"hash": stored.design.hash}
    content |= stored.design.model_dump(mode="json")
    content |= {"created_at": stored.created_at, "last_run_at": stored.last_run_at}
    content["deviations"] = [entry._asdict() for entry in store.deviations(stored.design.hash)]
    print_json(content)
