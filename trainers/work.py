"""What a run is expected to take: tokens, training FLOPs, and money for buyers that are paid for.

An expectation, not a promise: it rests on how long dialogues are. A forward pass costs 2 FLOPs a
parameter and token, a backward pass 4 (Kaplan et al. 2020, arXiv 2001.08361); the parameters are the
effective ones, and the part of attention that grows with the square of the length is left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

from agents.language_model.prices import price_of
from agents.language_model.prompt import system_prompt
from agents.spec import AgentSpec, Connection
from arena.play import briefs
from arena.protocol import MOST_TURNS
from arena.registry import costs_money, unregistered
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from trainers.choice import matches_to_choose
from trainers.recipe import Recipe


class Assumed(NamedTuple):
    """What is assumed of dialogues: counted on scripted matches rendered as a model reads them, of the
    trade and the small domains; a language model's reasoning and prose are guessed."""

    characters: float
    """To a token of the system prompt, which is known."""
    heard: float
    """Tokens that the seller is told on a turn."""
    answer: float
    """Tokens that it answers, reasoning included."""
    turns: float
    """Of the seller in a dialogue."""


FULL = Assumed(characters=4.0, heard=120, answer=170, turns=7)
BRIEF = Assumed(characters=4.0, heard=25, answer=45, turns=7)
TINY = Assumed(characters=4.6, heard=25, answer=15, turns=5)


@dataclass(frozen=True)
class Lengths:
    """How long dialogues are taken to be, in tokens of the seller's tokenizer."""

    prompt: float
    """Of the system prompt."""
    heard: float
    """What the seller is told on a turn."""
    answer: float
    """What it answers, reasoning included."""
    turns: float
    """Of the seller in a dialogue."""

    @property
    def tokens(self) -> float:
        """Of a whole dialogue, which is what a step learns from."""
        return self.prompt + self.turns * (self.heard + self.answer)

    @property
    def sampled(self) -> float:
        """Of the seller's own."""
        return self.turns * self.answer

    @property
    def read_anew(self) -> float:
        """Tokens that all turns process together where nothing is kept between them."""
        growing = self.turns * (self.turns + 1) / 2
        return self.turns * self.prompt + growing * (self.heard + self.answer)


@dataclass(frozen=True)
class Bill:
    """What a buyer that is a language model is expected to be asked, and its price."""

    name: str
    calls: float
    tokens_in: float
    tokens_out: float
    usd: float | None
    """None where nobody knows the price; 0 where it is served on a machine of one's own."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-ready data, calls and tokens as whole numbers."""
        counts = {key: round(getattr(self, key)) for key in ("calls", "tokens_in", "tokens_out")}
        return {"name": self.name, **counts, "usd": self.usd}


@dataclass(frozen=True)
class Work:
    """A whole run's."""

    lengths: Lengths
    dialogues: int
    to_choose: int
    """Matches of the dev split, by which a checkpoint is chosen at the end."""
    tokens: float
    """Of the dialogues: each is learned from once."""
    seller_tokens: float
    flops: float
    bills: tuple[Bill, ...]

    @property
    def usd(self) -> float | None:
        """US dollars for all buyers; None where a price is not known."""
        prices = [bill.usd for bill in self.bills]
        return None if None in prices else sum(price for price in prices if price is not None)


def work_of(
    recipe: Recipe,
    params: float | None,
    domains: Mapping[str, Domain],
    pool: Mapping[str, tuple[AgentSpec, Connection]],
    *,
    tiny: bool,
    vllm: bool,
) -> Work:
    """Return what a run is expected to take; FLOPs are NaN where the model's `params` are not known."""
    lengths = lengths_of(recipe, domains, tiny=tiny)
    dialogues = recipe.steps * recipe.rows_per_step
    tokens = dialogues * lengths.tokens
    anew = dialogues * lengths.read_anew
    read = read_tokens(tokens, anew, reference=recipe.beta > 0, vllm=vllm)
    return Work(
        lengths=lengths,
        dialogues=dialogues,
        to_choose=matches_to_choose(recipe),
        tokens=tokens,
        seller_tokens=dialogues * lengths.sampled,
        flops=float("nan") if params is None else training_flops(params, tokens, read),
        bills=tuple(_bills(recipe, lengths, pool)),
    )


def training_flops(params: float, learned: float, read: float) -> float:
    """Return 6 N for each token learned from, and 2 N for each only read (:func:`read_tokens`)."""
    return params * (6 * learned + 2 * read)


def read_tokens(tokens: float, anew: float, *, reference: bool, vllm: bool) -> float:
    """Return how many tokens are only read where so many `tokens` of dialogues are learned from.

    They are sampled or prefilled: by vLLM once, since it keeps what it has read, by transformers `anew`,
    as many as all turns process together where nothing is kept between them. They are scored by the
    reference, and again by the trainer where vLLM sampled them.
    """
    return (tokens if vllm else anew) + tokens * (reference + vllm)


def lengths_of(recipe: Recipe, domains: Mapping[str, Domain], *, tiny: bool) -> Lengths:
    """Return the lengths expected: the prompt as the run's own domains and wording give it."""
    assumed = TINY if tiny else BRIEF if recipe.prompt_version.startswith("brief") else FULL
    prompt = fmean(map(len, (_prompt(domain, recipe) for domain in domains.values())))
    return Lengths(
        prompt=prompt / assumed.characters,
        heard=assumed.heard,
        answer=min(assumed.answer, recipe.answer_tokens),
        turns=min(assumed.turns, recipe.turns or MOST_TURNS),
    )


def longest(recipe: Recipe, lengths: Lengths) -> int:
    """Return the tokens of the longest dialogue expected: every turn is taken."""
    whole = replace(lengths, turns=recipe.turns or MOST_TURNS)
    return min(round(whole.tokens), recipe.context_tokens)


def _prompt(domain: Domain, recipe: Recipe) -> str:
    scenario = draw(domain, Split.TRAIN, 0)
    return system_prompt(briefs(domain, scenario, recipe.rules)[Role.SELLER], recipe.prompt_version)


def _bills(
    recipe: Recipe, lengths: Lengths, pool: Mapping[str, tuple[AgentSpec, Connection]]
) -> Iterator[Bill]:
    """Yield the language models of the pool: each buyer takes an even share of the dialogues and of the
    matches to choose by, reads the whole conversation on every turn, and answers as the seller is taken
    to."""
    matches = recipe.steps * recipe.rows_per_step + matches_to_choose(recipe)
    calls = matches / len(recipe.buyers) * lengths.turns
    taken, given = lengths.read_anew / lengths.turns, lengths.answer
    for buyer in recipe.buyers:
        spec, connection = pool[buyer.version]
        if spec.kind != "model":
            continue
        usd: float | None = 0.0
        if costs_money(unregistered(buyer.name, spec, connection)):
            # By the call: some providers ask more for tokens beyond a length.
            one = price_of(spec, connection, round(taken), round(given))
            usd = None if one is None else calls * one
        yield Bill(buyer.name, calls, calls * taken, calls * given, usd)
