"""`arena drift`: whether what was served changed while a tournament went on."""

from typing import TYPE_CHECKING, Any

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.design import Design
    from arena.lineup import Lineup
    from arena.store import Replay, Store
    from arena.tournament import Tournament

NOTHING = "No match was replayed: arena run-tournament --drift 0.05 replays some of a base's."


def drift(design: DesignHash = None, db: Db = None, as_json: AsJson = False) -> None:
    """Print how much more, or less, a base scored on cells that were played once more.

    run-tournament --drift replays a share of a base's cells with every block of scenarios: a mean
    difference that is not 0 shows that what a provider serves changed meanwhile.
    """
    from arena.commands.printing import add_row, new_table, print_json, print_table
    from leaderboard import drift_words, wording
    from leaderboard.inference.drift import drift as find

    with open_store(db) as store:
        plan = store.design(design).design
        replays = store.replays(plan)
        found = find(plan, replays)
        void = len(store.replay_places(plan)[1])
    if as_json:
        figures = found.to_json() if found else {}
        print_json({"design": plan.hash, "void": void, **figures, "replays": _listed(plan, replays)})
        return
    if found is None:
        typer.echo(NOTHING)
        return
    table = new_table("replays", ">drift", "95% interval", ">n/G")
    for row in drift_words.rows(found):
        add_row(table, *row)
    print_table(table)
    typer.echo(f"{drift_words.capital(drift_words.verdict(found))}.")
    if void:
        typer.echo(f"Void so far, and left out: {wording.counted(void, 'replay')}.")
    typer.echo(f"{drift_words.READING} n/G: replays, and scenarios.")
    shown = [one for _, one in drift_words.parts(found) if one.problem is None]
    for note in wording.notes(shown):
        typer.echo(note)


def _listed(plan: "Design", replays: "Sequence[Replay]") -> list[dict[str, Any]]:
    from scenarios.scenario import Role

    sellers, buyers = plan.names(Role.SELLER), plan.names(Role.BUYER)
    return [
        {
            "key": replay.key,
            "first_key": replay.first_key,
            "seller": sellers[replay.seller_version],
            "buyer": buyers[replay.buyer_version],
            "block": replay.block,
            "score": replay.score,
            "first_score": replay.first_score,
            "started_at": replay.started_at,
            "first_started_at": replay.first_started_at,
        }
        for replay in replays
    ]


def drift_lines(store: "Store", plan: "Design") -> "Iterator[str]":
    """Yield the line that a run of a design with replays ends with; nothing without any."""
    from leaderboard import drift_words
    from leaderboard.inference.drift import drift as find

    found = find(plan, store.replays(plan))
    if found is not None:
        yield f"{drift_words.capital(drift_words.sentence(found))}: {drift_words.verdict(found)}."


def drift_found(store: "Store", plan: "Design") -> str | None:
    """Return what a design's replays show, where that is a change of what was served; else None."""
    from leaderboard import drift_words
    from leaderboard.inference.drift import drift as find

    found = find(plan, store.replays(plan))
    if found is None or not found.changed:
        return None
    return f"{drift_words.sentence(found)}: {drift_words.verdict(found)}"


def plan_line(tournament: "Tournament", lineup: "Lineup") -> str:
    """Say what a run replays to see drift, or why nothing."""
    from arena.printable import plain
    from arena.replays import bases, replays
    from leaderboard.inference.statistic import too_few
    from leaderboard.wording import counted

    design = lineup.design
    found = bases(design, tournament.remote)
    if not found:
        return "  drift:   nothing is replayed, since no agent here is served by a provider"
    after = replays(design, tournament.remote, tournament.settings.drift)
    if not after:
        return "  drift:   nothing is replayed, since one scenario a domain is one block"
    names = ", ".join(plain(lineup.agents[version].name) for version in found)
    few = too_few(len({place.scenario for places in after.values() for place in places}))
    return (
        f"  drift:   cells of {names} are replayed after {counted(len(after), 'block')} of scenarios; "
        f"{counted(tournament.replays, 'replay')} to play, beside what is planned"
        + (f" ({few}: no interval)" if few else "")
    )
