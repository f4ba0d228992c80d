"""A small real tournament, played and stored in a plain loop: what the pages are tested on."""

from pathlib import Path

from agents.build import build
from agents.scripted import spec_of
from arena.design import Design, DesignDomain, Player
from arena.drivers import run
from arena.measures import Yardstick
from arena.play import briefs, play
from arena.record import drawn, played, utc_now
from arena.schedule import plan
from arena.store import Store
from scenarios.catalogue import bundled
from scenarios.draw import DRAW_VERSION, draw
from scenarios.scenario import Role, Scenario, Split


def make_design(
    sellers=("boulware", "logroller", "random"),
    buyers=("boulware", "linear"),
    domains=3,
    held_out=1,
    **settings,
) -> Design:
    """Return a design of scripted agents on bundled domains; the last `held_out` are held out."""
    chosen = sorted(bundled().values(), key=lambda domain: (domain.held_out, domain.name))[-domains:]

    def players(names) -> tuple[Player, ...]:
        return tuple(
            Player(name=n, version=spec_of(n).version, deterministic=n != "random") for n in names
        )

    return Design(
        sellers=players(sellers),
        buyers=players(buyers),
        domains=tuple(
            DesignDomain(name=domain.name, version=domain.version, held_out=place >= domains - held_out)
            for place, domain in enumerate(chosen)
        ),
        **settings,
    )


def play_into(path: Path, design: Design, skip=lambda place: False, agents=None) -> None:
    """Play what `design` plans, but for what `skip` says, and store it.

    `agents` by version: those that are no scripted strategy of the name that the design gives them.
    """
    domains = {domain.version: domain for domain in bundled().values()}
    agents = dict(agents or {})
    for player in (*design.sellers, *design.buyers):
        if player.version not in agents:
            agents[player.version] = build(spec_of(player.name))
    specs = {version: agent.spec for version, agent in agents.items()}
    with Store.open(str(path)) as store:
        used = [domains[entry.version] for entry in design.domains]
        store.add_design(design, specs.values(), used)
        scenarios: dict[tuple[str, int, bool], tuple[Scenario, Yardstick]] = {}
        rows = []
        for place in plan(design):
            if skip(place):
                continue
            domain = domains[place.domain_version]
            if place.scenario not in scenarios:
                drawn_one = draw(domain, Split.EVAL, place.number, place.feasible)
                scenarios[place.scenario] = drawn_one, Yardstick(drawn_one)
            scenario, yardstick = scenarios[place.scenario]
            key = place.key(design, scenario.key)
            sides = {Role.SELLER: agents[key.seller], Role.BUYER: agents[key.cell.buyer]}
            game = play(scenario, briefs(domain, scenario, design.rules), design.rules, key.cell.opener)
            outcome = run(game, sides, key.rngs())
            rows.append(played(key, outcome, yardstick, utc_now(), 0.0, "test"))
        store.add_scenarios(drawn(scenario, DRAW_VERSION) for scenario, _ in scenarios.values())
        store.add_matches(rows)
