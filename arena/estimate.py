"""What a run will cost, said before its first call, and whether that is known at all."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agents.language_model.prices import price_of
from agents.language_model.prompt import first_messages
from agents.language_model.serving import serving_of
from arena.design import Design
from arena.errors import UserError
from arena.lineup import Lineup
from arena.play import briefs
from arena.protocol import LEAST_TURNS, MOST_TURNS
from arena.schedule import indices
from arena.store import Mean, Registration, Store
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Role, Split

CHARACTERS_A_TOKEN = 3
"""Where nothing was played yet: OpenAI's tokenizers find 2.8 to 3.3 in the prompts, which have many
numbers; others find fewer, and servers add a frame."""
ANSWER_TOKENS = 300
"""The same, of one answer with its reasoning."""
THINKING = {"reasoning_effort", "thinking"}
"""Settings of models that think before they answer."""
LEFT_OUT = "which may take many times as many tokens"


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


def estimates(store: Store, lineup: Lineup, matches: Mapping[tuple[str, str], int]) -> list[Estimate]:
    """Return what each agent that a provider serves will cost, in the order of the line-up.

    `matches`: that an agent has to play, by its version and the domain's; whoever has none is left out.
    """
    by_agent = defaultdict[str, dict[str, int]](dict)
    for (version, domain), count in matches.items():
        by_agent[version][domain] = count
    return [
        _estimate(store, lineup, agent, by_agent[agent.spec.version])
        for agent in _served(lineup.agents.values())
        if agent.spec.version in by_agent
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


def _estimate(store: Store, lineup: Lineup, agent: Registration, matches: Mapping[str, int]) -> Estimate:
    """`matches`: by domain version."""
    means = store.mean_matches(agent.spec.version)
    costs, basis = (
        _recorded(store, lineup, agent, matches, means) if means else _assumed(lineup, agent, matches)
    )
    known = [(cost, matches[domain]) for domain, cost in costs.items() if cost is not None]
    cost = sum(each * count for each, count in known) if len(known) == len(matches) else None
    return Estimate(agent.name, agent.spec.version, sum(matches.values()), cost, basis)


_Costs = dict[str, float | None]
"""US dollars a match, by domain version; None where the price is not known."""


def _recorded(
    store: Store,
    lineup: Lineup,
    agent: Registration,
    matches: Mapping[str, int],
    means: Mapping[str, Mean],
) -> tuple[_Costs, str]:
    """Return what matches cost as those on record did. A domain without one takes the mean of all, by
    the length of its prompt."""
    found = {domain: means[domain] for domain in matches if domain in means}
    used, how = list(found.values()), ""
    if new := [domain for domain in matches if domain not in found]:
        used = list(means.values())
        domains = store.domains(means) | lineup.domains
        length = {domain: _prompt_tokens(lineup.design, domains[domain], agent) for domain in domains}
        usual = sum(length[domain] * mean.matches for domain, mean in means.items())
        mean = _mean([(mean, mean.matches) for mean in used])
        for domain in new:
            found[domain] = _scaled(mean, length[domain] * mean.matches / usual)
        where = "a domain" if len(new) == 1 else f"{len(new)} domains"
        how = f", on {where} without one by the length of the prompt"
    whole = _mean([(found[domain], count) for domain, count in matches.items()])
    played = sum(mean.matches for mean in used)
    by_domain = " by domain" if len(found) > 1 and not how else ""
    basis = (
        f"as its {played:,} match{'es' * (played > 1)} here on average{by_domain}{how}: "
        f"{whole.tokens_in:,.0f} tokens in and {whole.tokens_out:,.0f} out a match"
    )
    return {domain: _cost(agent, mean) for domain, mean in found.items()}, basis


def _cost(agent: Registration, mean: Mean) -> float | None:
    if mean.cost_usd is not None:
        return mean.cost_usd
    return price_of(agent.spec, agent.connection, round(mean.tokens_in), round(mean.tokens_out))


def _mean(parts: Sequence[tuple[Mean, int]]) -> Mean:
    """Return the mean of means, each with its weight, a number of matches."""
    count = sum(weight for _, weight in parts)
    taken, given = (
        sum(getattr(mean, name) * weight for mean, weight in parts) / count
        for name in ("tokens_in", "tokens_out")
    )
    costs = [mean.cost_usd * weight for mean, weight in parts if mean.cost_usd is not None]
    return Mean(count, taken, given, sum(costs) / count if len(costs) == len(parts) else None)


def _scaled(mean: Mean, by: float) -> Mean:
    cost = None if mean.cost_usd is None else by * mean.cost_usd
    return Mean(mean.matches, by * mean.tokens_in, by * mean.tokens_out, cost)


def _assumed(lineup: Lineup, agent: Registration, matches: Iterable[str]) -> tuple[_Costs, str]:
    """Return the prices of matches that use all their turns, and what else is assumed of them."""
    design, sampling = lineup.design, agent.spec.sampling
    turns = design.turns or (LEAST_TURNS + MOST_TURNS) // 2
    answer = min(ANSWER_TOKENS, int(sampling.get("max_tokens", ANSWER_TOKENS)))
    costs: _Costs = {}
    lengths = {domain: _prompt_tokens(design, lineup.domains[domain], agent) for domain in matches}
    for domain, prompt in lengths.items():
        # A turn is asked with all before it: the prompt, own answers, and as much from the other side.
        price = price_of(agent.spec, agent.connection, prompt + answer * (turns - 1), answer)
        costs[domain] = None if price is None else price * turns
    least, most = min(lengths.values()), max(lengths.values())
    span = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    thinking = f"; its thinking, {LEFT_OUT}, is left out" if THINKING & sampling.keys() else ""
    return costs, (
        f"assumed, as none is on record: {turns} turns, {answer} tokens an answer of either side, and a "
        f"prompt of {span} tokens as on the first scenario{thinking}"
    )


def _prompt_tokens(design: Design, domain: Domain, agent: Registration) -> int:
    """Return about how many tokens an agent is sent on its first turn in a domain."""
    told = briefs(domain, draw(domain, Split.EVAL, indices(design)[0]), design.rules)[Role.SELLER]
    sent = first_messages(told, agent.spec.prompt_version)
    return sum(len(message["content"]) for message in sent) // CHARACTERS_A_TOKEN
