"""What a run will cost, said before its first call, and whether that is known at all."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agents.language_model.prices import price_of
from agents.language_model.prompt import first_messages
from agents.language_model.serving import serving_of
from agents.spec import AgentSpec, Connection
from arena.design import Design
from arena.errors import UserError
from arena.lineup import Lineup
from arena.play import briefs
from arena.protocol import LEAST_TURNS, MOST_TURNS
from arena.schedule import indices
from arena.store import Registration, Store
from scenarios.draw import draw
from scenarios.scenario import Role, Split

CHARACTERS_A_TOKEN = 4
"""Where nothing was played yet: a common rule of thumb for English."""
ANSWER_TOKENS = 300
"""The same, of one answer with its reasoning; a thinking model may take many times as many."""


@dataclass(frozen=True)
class Estimate:
    """What one agent's part in a run will cost."""

    agent: str
    version: str
    matches: int
    """That it has to play, those against itself twice."""
    cost_usd: float | None
    """None where the price is not known."""
    basis: str

    def to_json(self) -> dict[str, Any]:
        """Return the object that `run-tournament --dry-run --json` prints."""
        return asdict(self)


def estimates(store: Store, lineup: Lineup, matches: Mapping[str, int]) -> list[Estimate]:
    """Return what each agent that a provider serves will cost, in the order of the line-up.

    `matches`: that an agent has to play, by version; whoever has none is left out.
    """
    served = _served(lineup.agents.values())
    return [
        _estimate(store, lineup, agent, matches[agent.spec.version])
        for agent in served
        if matches.get(agent.spec.version)
    ]


def total(found: Iterable[Estimate]) -> float | None:
    """Return the sum; None where a part of it is not known."""
    costs = [one.cost_usd for one in found]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def unpriced(agents: Iterable[Registration]) -> list[str]:
    """Return the names of the agents that a provider serves at a price that is not known."""
    return [
        agent.name
        for agent in _served(agents)
        if price_of(agent.spec, agent.connection, 1000, 1000) is None
    ]


def check_prices(agents: Iterable[Registration]) -> None:
    """Raise UserError where nobody knows what an agent costs, so that no budget can hold."""
    if names := unpriced(agents):
        one = names[0] if len(names) == 1 else "NAME"
        raise UserError(
            f"what {', '.join(names)} cost{'s' * (len(names) == 1)} is not known, so --budget cannot "
            f"hold: register {one} again with --price-in and --price-out, in US dollars a million "
            "tokens (0 is a price), or add --allow-unpriced to play outside the budget what has no price"
        )


def _served(agents: Iterable[Registration]) -> list[Registration]:
    """Return the language models that others serve."""
    models = (agent for agent in agents if agent.spec.kind == "model")
    return [agent for agent in models if serving_of(agent.spec, agent.connection) is None]


def _estimate(store: Store, lineup: Lineup, agent: Registration, matches: int) -> Estimate:
    spec, connection = agent.spec, agent.connection
    mean = store.mean_match(spec.version)
    if mean is not None:
        each = mean.cost_usd
        if each is None:
            each = price_of(spec, connection, round(mean.tokens_in), round(mean.tokens_out))
        basis = (
            f"as its {mean.matches:,} matches here on average: {mean.tokens_in:,.0f} tokens in and "
            f"{mean.tokens_out:,.0f} out a match"
        )
    else:
        each, basis = _assumed(lineup.design, lineup, spec, connection)
    cost = None if each is None else each * matches
    return Estimate(agent.name, spec.version, matches, cost, basis)


def _assumed(
    design: Design, lineup: Lineup, spec: AgentSpec, connection: Connection
) -> tuple[float | None, str]:
    """Return the price of a match that uses all its turns, and what else is assumed of it."""
    domain = lineup.domains[design.domains[0].version]
    scenario = draw(domain, Split.EVAL, indices(design)[0])
    told = briefs(domain, scenario, design.rules)[Role.SELLER]
    prompt = (
        sum(len(m["content"]) for m in first_messages(told, spec.prompt_version)) // CHARACTERS_A_TOKEN
    )
    turns = design.turns or (LEAST_TURNS + MOST_TURNS) // 2
    answer = min(ANSWER_TOKENS, int(spec.sampling.get("max_tokens", ANSWER_TOKENS)))
    # A turn is asked with all before it: the prompt, own answers, and as much from the other side.
    taken = prompt + answer * (turns - 1)
    price = price_of(spec, connection, taken, answer)
    basis = (
        f"assumed, as none is on record: {turns} turns, {answer} tokens an answer of either side, and a "
        f"prompt of {prompt:,} tokens as on the first scenario"
    )
    return None if price is None else price * turns, basis
