"""The arithmetic of docs/scale.md: what a million matches of language models take.

    python -m tests.scale

writes the page's tables anew. Matches are played in all nine domains by a stand-in that bargains by
arithmetic, in as many words as are assumed of a language model, through the real prompts, rules and
store; their tokens are counted by a real tokenizer, and their bytes in a real database. The rest is
multiplication, with the prices of LiteLLM's map. What is assumed stands here as constants.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

from agents.agent import Usage
from agents.language_model import model_spec
from agents.language_model.gateway import Answered, Gateway
from agents.language_model.library import library
from agents.language_model.request import Completion, Request
from agents.spec import AgentSpec, Connection, Profile
from arena import lineup
from arena.record import utc_now
from arena.schedule import plan
from arena.store import Registration, Store
from arena.workers import Setup, Share, Table
from tests.agents.language_model import bargainer
from trainers.sizes import SIZES

MATCHES = 1_000_000
SCENARIOS = 8
"""Of each of the nine domains, on which the lengths are measured."""
REASONING_WORDS, MESSAGE_WORDS = 110, 40
"""Of one answer. With the terms it then has about the 300 tokens that `arena run-tournament --dry-run`
assumes, too. A thinking model takes many times as many."""
MODELS = (
    *("anthropic/claude-sonnet-5", "anthropic/claude-haiku-4-5"),
    *("gpt-5", "gpt-5-mini", "gemini/gemini-2.5-flash"),
)
CACHED_UNASKED = ("gpt-5", "gpt-5-mini", "gemini/gemini-2.5-flash")
"""Those whose providers look for a known beginning of a prompt by themselves. Anthropic's wants marks,
which the arena does not set."""
BYTES_A_SECOND, FLOPS_A_SECOND = 3.35e12, 989e12
"""Of one H100 SXM by NVIDIA's data sheet: memory, and dense bfloat16."""
REACHED = 0.4
"""Of both; the rest is attention, the cache of keys and values, and gaps between batches. A guess."""
AT_ONCE = 64
"""Answers that one GPU generates together. A choice: more are quicker, as far as memory goes."""
SERVED = {"4.5b": 1, "12b": 1, "31b": 2}
"""The GPUs of 80 GB that hold one replica in bfloat16, with room for what is being said."""
CALLS_A_SECOND = 177
"""That one process of the arena makes on a core of its own: measured, in docs/performance.md."""
TOKENS_A_SECOND = 40.0
"""What one conversation hears from a provider, for the time by the clock. A guess."""
CONCURRENCY = (16, 64, 256, 1024)
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scale.md"
WORDS = sorted(set(re.findall("[A-Za-z]+", (ROOT / "LICENSE").read_text())))
"""Drawn at random they stand for prose, which packs about as well."""


@dataclass(frozen=True)
class Lengths:
    """What one match takes on average."""

    calls: float
    tokens_in: float
    cached: float
    """Of `tokens_in`, those that the call before in the same conversation had sent already."""
    tokens_out: float
    stored: float
    """Bytes in the database."""

    @property
    def new(self) -> float:
        """Tokens of prompts that no cache can know."""
        return self.tokens_in - self.cached


class Talker(Gateway):
    """Answers by arithmetic, in words that mean nothing; notes the tokens of every call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[int, int, int]] = []
        """Tokens sent, of them known from the call before, and answered."""

    async def complete(
        self,
        spec: AgentSpec,
        connection: Connection,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
    ) -> Answered:
        """Return the stand-in's answer."""
        said = json.loads(bargainer.answer([dict(message) for message in messages]))
        random = Random(repr(messages))
        said["reasoning"], said["message"] = (
            " ".join(random.choices(WORDS, k=words)) for words in (REASONING_WORDS, MESSAGE_WORDS)
        )
        text = json.dumps(said)
        counts = [tokens(message["content"]) for message in messages]
        sent, given = sum(counts), tokens(text)
        self.calls.append((sent, sum(counts[:-2]) if len(counts) > 2 else 0, given))
        usage = Usage(sent, given, None, 1.0)
        return Answered(Completion(text, "", None, usage, None), Request(spec, list(messages), schema))


@lru_cache(100_000)
def tokens(text: str) -> int:
    """Return the tokens of a text by cl100k_base, which LiteLLM brings along."""
    library()
    from litellm.litellm_core_utils.default_encoding import encoding

    return len(encoding.encode(text))


def measured(buyer: str) -> Lengths:
    """Play the stand-in, called `model`, as seller in all nine domains against `buyer`."""
    talker = Talker()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arena.db"
        with Store.open(str(path)) as store:
            played = _lineup(store, buyer)
            store.add_design(
                played.design,
                [agent.spec for agent in played.agents.values()],
                played.domains.values(),
            )
        empty = path.stat().st_size
        shares = asyncio.run(_play(played, talker))
        with Store.open(str(path)) as store:
            store.add_scenarios({share.scenario.key: share.scenario for share in shares}.values())
            store.add_matches(row for share in shares for _, row in share.rows)
        stored = (path.stat().st_size - empty) / len(shares)
    sent, known, given = (sum(column) / len(shares) for column in zip(*talker.calls, strict=True))
    return Lengths(len(talker.calls) / len(shares), sent, known, given, stored)


def _lineup(store: Store, buyer: str) -> lineup.Lineup:
    model = Registration(
        name="model",
        spec=model_spec("hosted_vllm/stand-in", {"max_tokens": 4096}),
        role="both",
        profile=Profile(),
        connection=Connection(api_base="http://nowhere"),
        registered_at=utc_now(),
    )
    store.add_registrations([model])
    wanted = lineup.Request(sellers=["model"], buyers=[buyer], scenarios=SCENARIOS)
    return lineup.resolve(wanted, store)


async def _play(played: lineup.Lineup, gateway: Gateway) -> list[Share]:
    agents = {version: (agent.spec, agent.connection) for version, agent in played.agents.items()}
    table = Table(Setup(played.design, played.domains, agents), gateway)
    return [await table.play_async(place) for place in plan(played.design)]


def usd(model: str, one: Lengths, *, cached: bool) -> float:
    """Return what MATCHES cost at the prices of LiteLLM's map, with what was sent before read from the
    provider's cache or not."""
    call = {
        "prompt_tokens": round(one.tokens_in / one.calls),
        "completion_tokens": round(one.tokens_out / one.calls),
        "cache_read_input_tokens": round(one.cached / one.calls) if cached else 0,
    }
    return MATCHES * one.calls * float(sum(library().cost_per_token(model=model, **call)))


def gpu_hours(size: str, one: Lengths) -> float:
    """Return the hours of an H100 that MATCHES take on vLLM with its prefix cache.

    New tokens of prompts take 2 FLOPs a parameter each (Kaplan et al. 2020, arXiv 2001.08361). Of
    answers every step reads all weights once, 2 bytes a parameter, for AT_ONCE of them on each GPU, or
    multiplies by the weights for as many, whatever takes longer.
    """
    params = SIZES[size].effective_params
    reading = one.new * 2 * params / (FLOPS_A_SECOND * REACHED)
    token = max(
        2 * params / (BYTES_A_SECOND * REACHED) / AT_ONCE, 2 * params / (FLOPS_A_SECOND * REACHED)
    )
    return MATCHES * (reading + one.tokens_out * token) / 3600


def gpus_kept_busy(size: str, one: Lengths) -> float:
    """Return how many H100s answer as many calls a second as one process of the arena makes."""
    return CALLS_A_SECOND / (MATCHES * one.calls / (gpu_hours(size, one) * 3600))


def days(one: Lengths, at_once: int) -> float:
    """Return the days by the clock of MATCHES, so many matches at once."""
    return MATCHES * one.tokens_out / TOKENS_A_SECOND / at_once / 86_400


def tables() -> Mapping[str, str]:
    """Return the page's tables, in Markdown, by name."""
    kinds = {"a model and a scripted buyer": measured("boulware"), "two models": measured("model")}
    both = tuple(kinds.values())
    price_map = f"LiteLLM {version('litellm')}"
    lengths = (
        ("calls", [f"{one.calls:.1f}" for one in both]),
        ("tokens sent", [f"{one.tokens_in:,.0f}" for one in both]),
        ("of them, sent before in the same conversation", [f"{one.cached:,.0f}" for one in both]),
        ("tokens answered", [f"{one.tokens_out:,.0f}" for one in both]),
        ("kB in the database", [f"{one.stored / 1000:.0f}" for one in both]),
    )
    return {
        "lengths": _table(("a match of", *kinds), [(what, *said) for what, said in lengths]),
        "gpus": _table(
            ("H100-hours", "GPUs a replica", *kinds, "GPUs that one process keeps busy"),
            [
                (
                    f"`{size}`",
                    str(gpus),
                    *(f"{gpu_hours(size, one):,.0f}" for one in both),
                    f"{gpus_kept_busy(size, both[0]):.0f}",
                )
                for size, gpus in SERVED.items()
            ],
        ),
        "money": _table(
            (f"US dollars, {price_map}", *kinds, *(f"{kind}, with a cache" for kind in kinds)),
            [
                (
                    f"`{model}`",
                    *(f"{usd(model, one, cached=False):,.0f}" for one in both),
                    *(
                        f"{usd(model, one, cached=True):,.0f}"
                        if model in CACHED_UNASKED
                        else "not asked for"
                        for one in both
                    ),
                )
                for model in MODELS
            ],
        ),
        "days": _table(
            ("days, by `--concurrency`", *kinds),
            [(f"{many:,}", *(f"{days(one, many):,.1f}" for one in both)) for many in CONCURRENCY],
        ),
        "disk": _table(
            ("GB in the database", *kinds),
            [(f"{MATCHES:,} matches", *(f"{one.stored * MATCHES / 1e9:.0f}" for one in both))],
        ),
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def in_page(page: str, found: Mapping[str, str]) -> str:
    """Return the page with these tables where `<!-- NAME -->` stands before one."""
    for name, table in found.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n)(\|.*\n)*")
        page, times = place.subn(lambda _, new=table: new + "\n", page)
        if times != 1:
            raise ValueError(f"the page has {times} places for <!-- {name} -->")
    return page


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(in_page(PAGE.read_text(), tables()))


if __name__ == "__main__":
    main()
