"""`arena designs`: the frozen plans that were played."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store

if TYPE_CHECKING:
    from arena.store import StoredDesign


def designs(
    show: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="Print one design as JSON, to be kept for --design FILE."),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List the designs, the one run last first: boards show that one unless told otherwise."""
    from arena.commands.printing import print_json

    with open_store(db) as store:
        if show is not None:
            print_json(store.design(show).design.model_dump(mode="json"))
            return
        found = [_row(stored, len(store.places(stored.design)[0])) for stored in store.designs()]
    if as_json:
        print_json(found)
    elif found:
        _print(found)
    else:
        typer.echo("No design yet: arena run-tournament makes and plays one.")


def _row(stored: "StoredDesign", scored: int) -> dict[str, Any]:
    from arena.schedule import planned
    from scenarios.scenario import Role

    design = stored.design
    return {
        "design": design.hash,
        "created_at": stored.created_at,
        "last_run_at": stored.last_run_at,
        "planned": planned(design),
        "scored": scored,
        "sellers": list(design.names(Role.SELLER).values()),
        "buyers": list(design.names(Role.BUYER).values()),
        "domains": [domain.name for domain in design.domains],
        "scenarios": design.scenarios,
        "infeasible": design.infeasible,
        "replicates": design.replicates,
        "opener": design.opener,
        "turns": design.turns,
        "seed": design.seed,
    }


def _print(found: list[dict[str, Any]]) -> None:
    from arena.commands.printing import add_row, new_table, print_table

    columns = ("design", "frozen (UTC)", ">sellers", ">buyers", ">domains", ">scenarios")
    table = new_table(*columns, ">scored", ">planned", "rules")
    for row in found:
        turns = f"{row['turns']} turns" if row["turns"] else "hidden limits"
        counts = [len(row[side]) for side in ("sellers", "buyers", "domains")]
        frozen = row["created_at"][:16].replace("T", " ")
        scored, planned = f"{row['scored']:,}", f"{row['planned']:,}"
        rules = f"{row['opener']}, {turns}, seed {row['seed']}"
        add_row(table, row["design"], frozen, *counts, row["scenarios"], scored, planned, rules)
    print_table(table)
