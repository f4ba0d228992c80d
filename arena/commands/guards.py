"""`arena guards`: whether a seller's gain is hollow."""

from typing import TYPE_CHECKING, Any

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arena.design import Design
    from leaderboard.inference.guards import Guard
    from leaderboard.inference.rates import Rate


def guards(design: DesignHash = None, db: Db = None, as_json: AsJson = False) -> None:
    """Print the four guards of every seller: pass, fail, or not judged, against the design's limits.

    Action leak, concentration of openers, pooling alarm, no worse than base. Guards and limits are ours.
    A guard fails or passes only where its whole 95% interval lies on one side of the limit.
    """
    from arena.commands.printing import print_json
    from leaderboard import board_words
    from leaderboard.inference.guards import guards as judge
    from leaderboard.known import known_kl

    with open_store(db) as store:
        plan = store.design(design).design
        results = store.results(plan)
        lineages = {agent.spec.version: agent.profile.lineage for agent in store.registrations()}
    found, kl = judge(results), known_kl(plan, lineages)
    if as_json:
        print_json(_json(plan, found, kl))
        return
    for line in board_words.caveats(results):
        typer.echo(line)
    _print(found, kl)


def _json(
    plan: "Design", found: "Mapping[str, Sequence[Guard]]", kl: "Mapping[str, float]"
) -> list[dict[str, Any]]:
    from scenarios.scenario import Role

    return [
        {
            "agent": name,
            "version": version,
            "kl": kl.get(name),
            "guards": [guard.to_json() for guard in found[name]],
            "design": plan.hash,
        }
        for version, name in plan.names(Role.SELLER).items()
    ]


def _print(found: "Mapping[str, Sequence[Guard]]", kl: "Mapping[str, float]") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from arena.printable import plain
    from leaderboard.metrics import worded

    table = new_table("seller", "guard", "result", ">found", "95% interval", ">limit", ">n/G")
    for name, judged in found.items():
        for place, guard in enumerate(judged):
            add_row(table, name if place == 0 else "", guard.name, *_figures(guard))
            for part in guard.parts:
                add_row(table, "", f"  {part.name}", *_figures(part))
            for beside, rate in (("faulty turns", guard.beside), ("disclosures", guard.disclosures)):
                if rate is not None and rate.n:
                    add_row(table, "", f"  ({beside})", *_beside(rate))
    print_table(table)
    for line in why(found):
        typer.echo(plain(line))
    typer.echo(
        "Guards and limits are ours. n/G: messages, turns or cells, and scenarios; ~: approximate."
    )
    for name, value in kl.items():
        said = f"KL from its base {worded('kl', value)}, as registered; it decides nothing."
        typer.echo(plain(f"{name}: {said}"))


def _figures(guard: "Guard") -> list[str]:
    from leaderboard import wording
    from leaderboard.inference.guards import ALARM
    from leaderboard.inference.statistic import FEW_CLUSTERS

    if guard.parts:
        return [guard.result.value, "", "", "", ""]
    mark = "~" if guard.low is not None and guard.clusters < FEW_CLUSTERS else ""
    ends = None if guard.low is None or guard.high is None else (guard.low, guard.high)
    count = wording.n_per_g(guard.n, guard.clusters) if guard.n else ""
    if guard.name == ALARM:
        shown = [wording.signed(guard.value), wording.signed_interval(ends) + mark, f"{guard.limit:.3f}"]
    else:
        interval = wording.share_interval(guard.low, guard.high) + mark
        shown = [wording.percent(guard.value), interval, f"{guard.limit:.1%}"]
    return [guard.result.value, *shown, count]


def _beside(rate: "Rate") -> list[str]:
    from leaderboard import wording

    interval = wording.share_interval(rate.low, rate.high)
    return ["", wording.percent(rate.value), interval, "", wording.n_per_g(rate.n, rate.clusters)]


def why(found: "Mapping[str, Sequence[Guard]]") -> "Iterator[str]":
    """Yield why guards failed, or were not judged, sellers with the same reason together."""
    from leaderboard.inference.guards import GuardResult

    sellers: dict[tuple[str, str, str], list[str]] = {}
    for name, judged in found.items():
        for guard in judged:
            if guard.result is not GuardResult.PASS:
                reason = (guard.name, guard.result.value, guard.note)
                sellers.setdefault(reason, []).append(name)
    for (guard_name, result, note), names in sellers.items():
        yield f"{guard_name} ({result}), {', '.join(names)}: {note}."
