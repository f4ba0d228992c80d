"""`arena designs`: the frozen plans."""

from typing import TYPE_CHECKING, Any

import typer

from arena.commands.options import AsJson, Db, open_store

if TYPE_CHECKING:
    from arena.store import Store, StoredDesign


def designs(
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List the designs, the one frozen or run last first: boards show that one unless told otherwise."""
    from arena.commands.printing import print_json

    with open_store(db) as store:
        found = [_row(store, stored) for stored in store.designs()]
    if as_json:
        print_json(found)
    elif found:
        _print(found)
    else:
        typer.echo("No design yet: arena run-tournament makes and plays one.")


def _row(store: "Store", stored: "StoredDesign") -> dict[str, Any]:
    from arena.schedule import planned
    from arena.store import Filter
    from scenarios.scenario import Role

    design = stored.design
    return {
        "design": design.hash,
        "created_at": stored.created_at,
        "last_run_at": stored.last_run_at,
        "planned": planned(design),
        "scored": store.count(Filter(design=design)),
        "sellers": list(design.names(Role.SELLER).values()),
        "buyers": list(design.names(Role.BUYER).values()),
        "domains": [domain.name for domain in design.domains],
        "scenarios": design.scenarios,
        "infeasible": design.infeasible,
        "replicates": design.replicates,
        "opener": design.opener,
        "turns": design.turns,
        "seed": design.seed,
        "contrasts": len(design.analysis.contrasts) if design.analysis is not None else 0,
        "deviations": len(store.deviations(design.hash)),
    }


def _print(found: list[dict[str, Any]]) -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard.wording import counted, when

    columns = ("design", "frozen", ">sellers", ">buyers", ">domains", ">scenarios", ">contrasts")
    table = new_table(*columns, ">deviations", ">scored", ">planned", "rules")
    for row in found:
        turns = counted(row["turns"], "turn") if row["turns"] else "hidden limits"
        counts = [len(row[side]) for side in ("sellers", "buyers", "domains")]
        scored, planned = f"{row['scored']:,}", f"{row['planned']:,}"
        rules = f"{row['opener']}, {turns}, seed {row['seed']}"
        counts += [row[count] for count in ("scenarios", "contrasts", "deviations")]
        add_row(table, row["design"], when(row["created_at"]), *counts, scored, planned, rules)
    print_table(table)
