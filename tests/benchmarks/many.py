"""A store of very many matches, filled quickly.

    python -m tests.benchmarks.many --matches 1000000 many.db

plays 20 sellers against 6 buyers on a few scenarios of each of the nine domains, and keeps what came
of it under the numbers of as many scenarios as it takes: what is stored is a tournament of about so many
matches, played to its end. Scenario N of a domain is a copy of scenario N modulo PLAYED, so each match
is true to its own scenario, transcript, measures and all; only its draw is not the one that a tournament
would make. That one finds all its matches there.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby, islice
from typing import NamedTuple

from agents.scripted import PANEL_BUYERS, PANEL_SELLERS, spec_of
from arena.lineup import Lineup, Request, resolve
from arena.record import Drawn, Played, drawn, utc_now
from arena.registry import unregistered
from arena.schedule import Place, plan
from arena.store import Store
from arena.workers import Setup, Stop, Table

PLAYED = 8
"""Scenarios of each domain that are played: an even number, since openers alternate."""
PACES = 10
"""Sellers beside the panel's: of one strategy, each giving way at a pace of its own."""
A_SCENARIO = (len(PANEL_SELLERS) + PACES) * len(PANEL_BUYERS)
DOMAINS = 9
BATCH = 2_000
"""Matches that are committed together, as a tournament does at most."""


class Match(NamedTuple):
    """A finished match and its scenario."""

    scenario: Drawn
    row: Played


def lineup(store: Store, matches: int) -> Lineup:
    """Register the sellers, and return a design of about so many matches, at least one scenario's."""
    sellers = [
        replace(
            unregistered(f"pace-{n}", spec_of("linear", exponent=1.2 + 0.2 * n)),
            role="seller",
            registered_at=utc_now(),
        )
        for n in range(PACES)
    ]
    known = {agent.name for agent in store.registrations()}
    store.add_registrations(seller for seller in sellers if seller.name not in known)
    wanted = Request(
        sellers=[*PANEL_SELLERS, *(seller.name for seller in sellers)],
        buyers=[*PANEL_BUYERS],
        scenarios=max(1, round(matches / (A_SCENARIO * DOMAINS))),
    )
    return resolve(wanted, store)


def finished(lineup: Lineup) -> Iterator[Match]:
    """Yield every match of the design, those of one scenario together."""
    design = lineup.design
    agents = {version: (agent.spec, agent.connection) for version, agent in lineup.agents.items()}
    table = Table(Setup(design, lineup.domains, agents))
    play = cache(lambda place: table.play_batch((place,), Stop()).rows[0][1])
    for _, places in groupby(plan(design), key=lambda place: place.scenario):
        first, *others = places
        scenario = replace(table.scenario(_like(first)), index=first.number)
        row, started_at = drawn(scenario, design.draw), utc_now()
        for place in (first, *others):
            key = place.key(design, scenario.key).text
            again = {"key": key, "scenario_key": scenario.key, "started_at": started_at}
            yield Match(row, play(_like(place))._replace(**again))


def _like(place: Place) -> Place:
    """Return the place that is played for `place`."""
    return place._replace(number=place.number % PLAYED)


def batches(lineup: Lineup, size: int = BATCH) -> Iterator[list[Match]]:
    """Yield the same, so many at a time."""
    matches = finished(lineup)
    while batch := list(islice(matches, size)):
        yield batch


def add(store: Store, batch: list[Match]) -> None:
    """Store matches and their scenarios."""
    store.add_scenarios({match.scenario.key: match.scenario for match in batch}.values())
    store.add_matches(match.row for match in batch)


def frozen(store: Store, matches: int) -> Lineup:
    """Freeze a design of about so many matches; return its line-up."""
    played = lineup(store, matches)
    specs = [agent.spec for agent in played.agents.values()]
    store.add_design(played.design, specs, played.domains.values())
    return played


def fill(store: Store, matches: int) -> Lineup:
    """Store every match of such a design, which is frozen first; return its line-up."""
    played = frozen(store, matches)
    for batch in batches(played):
        add(store, batch)
    return played


def main() -> int:
    """Fill the database that the command line names."""
    asked = argparse.ArgumentParser(prog="python -m tests.benchmarks.many", description=__doc__)
    asked.add_argument("--matches", type=int, default=1_000_000)
    asked.add_argument("database", help="a path, or any address that --db takes")
    given = asked.parse_args()
    with Store.open(given.database) as store:
        fill(store, given.matches)
    return 0


if __name__ == "__main__":
    sys.exit(main())
