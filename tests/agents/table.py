"""What the tests of agents share: hand-made briefs, views, and drawn matches."""

from random import Random

from agents.agent import ActionKind, Agent, Brief, Event, Reply, View
from arena.drivers import run
from arena.play import Outcome, briefs, play
from arena.protocol import Rules
from scenarios.catalogue import bundled
from scenarios.domain import Term
from scenarios.draw import draw
from scenarios.scenario import Package, Preferences, Role, Scenario, Split


def brief(
    weights: tuple[int, ...],
    values: tuple[tuple[int, ...], ...],
    walk_away: float,
    turns: tuple[int, int] = (6, 12),
    role: Role = Role.SELLER,
) -> Brief:
    """Return a brief over terms t0, t1, ... with options o0, o1, ...; the first option is default."""
    names = [tuple(f"o{option}" for option in range(len(row))) for row in values]
    terms = tuple(
        Term(name=f"t{term}", options=options, default="o0") for term, options in enumerate(names)
    )
    mine = Preferences(weights, values, round(walk_away * 10_000))
    return Brief(role, "own", "A trade", "Trade well.", terms, mine, *turns, message_limit=2_000)


def view(told: Brief, turn: int, theirs: Package | None = None) -> View:
    """Return the view of a turn on which the other side's last offer was `theirs`."""
    other = told.role.other
    if theirs is None:
        return View(told, turn, (), None, None)
    history = (Event(other, ActionKind.PROPOSE, theirs, ""),)
    return View(told, turn, history, theirs, other)


def answers(agent: Agent, told: Brief, offers: list[Package | None], seed: int = 0) -> list[Reply]:
    """Return the agent's replies to the other side's offers, one a turn, None where it only talked."""
    mind = agent.begin(told.role, told, Random(seed))
    standing: Package | None = None
    replies = []
    for turn, offer in enumerate(offers):
        standing = offer or standing
        reply = mind.reply(view(told, turn, standing))
        assert isinstance(reply, Reply)
        replies.append(reply)
    return replies


def offered(reply: Reply) -> Package:
    """Return what a reply proposes; it must be a proposal in the fast form."""
    assert reply.action is not None
    assert reply.action.kind is ActionKind.PROPOSE
    assert isinstance(reply.action.terms, tuple)
    return reply.action.terms


def accepts(reply: Reply) -> bool:
    """Whether a reply accepts."""
    return reply.action is not None and reply.action.kind is ActionKind.ACCEPT


def drawn(domain: int, index: int) -> Scenario:
    """Return a train scenario of the bundled domain with this number (taken modulo nine)."""
    domains = list(bundled().values())
    return draw(domains[domain % len(domains)], Split.TRAIN, index)


def match(
    scenario: Scenario,
    seller: Agent,
    buyer: Agent,
    turns: int | None = None,
    opener: Role = Role.SELLER,
    seeds: tuple[int, int] = (1, 2),
) -> Outcome:
    """Play one match by the arena's own rules."""
    rules = Rules(turns=turns)
    told = briefs(bundled()[scenario.domain], scenario, rules)
    rngs = {Role.SELLER: Random(seeds[0]), Role.BUYER: Random(seeds[1])}
    game = play(scenario, told, rules, opener)
    return run(game, {Role.SELLER: seller, Role.BUYER: buyer}, rngs)
