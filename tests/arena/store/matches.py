"""Made-up rows for tests of the store."""

from agents.agent import ActionKind, Usage
from agents.scripted import spec_of
from arena.design import Design, DesignDomain, Player
from arena.measures import Yardstick, words
from arena.play import Attempt, Turn
from arena.protocol import Fault
from arena.record import Played, drawn
from arena.schedule import Place, plan
from arena.store import Store
from arena.transcript import encode
from scenarios.catalogue import bundled
from scenarios.draw import DRAW_VERSION, draw
from scenarios.scenario import Role, Scenario, Split

SELLERS, BUYERS = ("boulware", "random"), ("linear", "conceder")


def design(**settings: object) -> Design:
    """Return a small design: two sellers, two buyers, two domains (one held out), four scenarios."""

    def players(names: tuple[str, ...]) -> tuple[Player, ...]:
        return tuple(
            Player(name=n, version=spec_of(n).version, deterministic=n != "random") for n in names
        )

    domains = [bundled()[name] for name in ("coffee_import", "car_sale")]
    content = {
        "sellers": players(SELLERS),
        "buyers": players(BUYERS),
        "domains": tuple(
            DesignDomain(name=d.name, version=d.version, held_out=d.held_out) for d in domains
        ),
        "scenarios": 4,
    }
    return Design.model_validate(content | settings)


def freeze(store: Store, plan_of: Design) -> dict[tuple[str, int, bool], Scenario]:
    """Store the design with everything its matches refer to; return its scenarios."""
    domains = {domain.version: domain for domain in bundled().values()}
    used = [domains[entry.version] for entry in plan_of.domains]
    store.add_design(plan_of, [spec_of(name) for name in (*SELLERS, *BUYERS)], used)
    scenarios: dict[tuple[str, int, bool], Scenario] = {}
    for place in plan(plan_of):
        if place.scenario not in scenarios:
            domain = domains[place.domain_version]
            scenarios[place.scenario] = draw(domain, Split.EVAL, place.number, place.feasible)
    store.add_scenarios(drawn(scenario, DRAW_VERSION) for scenario in scenarios.values())
    return scenarios


def row(plan_of: Design, place: Place, scenario: Scenario, **changes: object) -> Played:
    """Return an agreement at `place`, with `changes` to its columns."""
    key = place.key(plan_of, scenario.key)
    made = Played(
        key=key.text,
        seller_version=place.seller_version,
        buyer_version=place.buyer_version,
        scenario_key=scenario.key,
        opener=place.opener,
        replicate=place.replicate,
        turns_rule=plan_of.turns,
        message_limit=plan_of.message_limit,
        protocol=plan_of.protocol,
        ending="agreement",
        at_fault=None,
        detail="",
        deal="[" + ",".join("0" for _ in scenario.terms) + "]",
        seller_utility=0.5,
        buyer_utility=0.25,
        turns=3,
        seller_tokens_in=None,
        seller_tokens_out=None,
        seller_cost_usd=None,
        seller_latency_s=None,
        seller_faults=0,
        buyer_tokens_in=None,
        buyer_tokens_out=None,
        buyer_cost_usd=None,
        buyer_latency_s=None,
        buyer_faults=0,
        turn_timeout_s=None,
        started_at="2026-11-29T12:00:00.000000+00:00",
        seconds=0.001,
        worker="1",
        receipts=None,
        transcript=encode([]),
        measures=Yardstick(scenario).row([], None),
        words=None,
        trouble=None,
    )
    return made._replace(**changes)


def fill(store: Store, plan_of: Design) -> list[Played]:
    """Freeze the design and store a match at every place; return the rows."""
    scenarios = freeze(store, plan_of)
    made = [row(plan_of, place, scenarios[place.scenario]) for place in plan(plan_of)]
    store.add_matches(made)
    return made


def play_some(store: Store) -> dict[str, tuple[bytes, str | None]]:
    """Store a match with turns at every place; return what is to be measured, by key."""
    plan_of, expected = design(), {}
    scenarios = freeze(store, plan_of)
    for number, place in enumerate(plan(plan_of)):
        scenario = scenarios[place.scenario]
        deal = tuple((number + t) % len(term.options) for t, term in enumerate(scenario.terms))
        fault = Attempt("x", Fault.EMPTY, Usage(1, 1, None, None))
        turns = [
            Turn(Role.SELLER, ActionKind.PROPOSE, deal, f"Take {number} of them", "", (fault,)),
            Turn(Role.BUYER, ActionKind.ACCEPT, None, "", "because"),
        ]
        content, said = Yardstick(scenario).row(turns, deal), words(turns)
        changes = {"deal": str(list(deal)), "transcript": encode(turns), "measures": content}
        made = row(plan_of, place, scenario, **changes, words=said)
        store.add_matches([made])
        expected[made.key] = (content, said)
    return expected
