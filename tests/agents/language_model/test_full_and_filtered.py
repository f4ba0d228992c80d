"""Conversations that do not fit or that a filter flags: what is kept of them, and what they cost."""

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

import pytest

from agents.agent import ProviderError, Trouble
from agents.language_model import model_spec
from agents.language_model.book import Asked, Came, NoBook
from agents.language_model.gateway import Gateway
from agents.language_model.request import Completion
from agents.spec import Connection
from tests.agents.language_model.faulty_api import FaultyApi, always

SPEC = model_spec("hosted_vllm/m", {"max_tokens": 64})
SYSTEM, ASKED = {"role": "system", "content": "You sell."}, {"role": "user", "content": "Your turn."}
OTHERS = [
    SYSTEM,
    ASKED,
    {"role": "assistant", "content": "No."},
    {"role": "user", "content": "Oh! " * 40},
]
OWN = [SYSTEM, ASKED, {"role": "assistant", "content": "Well, " * 40}, ASKED]


@dataclass
class Kept(NoBook):
    """A book with a cache."""

    cache: "Kept | None" = None
    kept: list[Completion] = field(default_factory=list)
    settled: list[tuple[Came, Completion | None, Trouble | None]] = field(default_factory=list)

    async def reserve(self, asked: Asked) -> int:
        return 0

    def settle(
        self, call: int, came: Came, completion: Completion | None, trouble: Trouble | None
    ) -> None:
        self.settled.append((came, completion, trouble))

    def __post_init__(self) -> None:
        self.cache = self

    def alone(self, key: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def known(self, key: str, agent: str, match: str | None) -> Completion | None:
        return None

    def keep(self, key: str, completion: Completion) -> None:
        self.kept.append(completion)


def ask(api: FaultyApi, book: Kept, messages: list[dict[str, str]]) -> Completion:
    reached = Connection(api_base=api.address, input_usd_per_million=1.0, output_usd_per_million=1.0)
    return asyncio.run(Gateway(book).complete(SPEC, reached, messages)).completion


@pytest.mark.parametrize(
    ("plan", "fault", "kept"),
    [
        ("overrun_vllm", "context_overrun", False),
        ("flagged", "refusal", False),
        ("length_early", "context_overrun", True),
        ("refusal", "refusal", True),
        ("cut_off", "cut_off", True),
    ],
)
def test_only_what_was_an_answer_is_kept(faulty: FaultyApi, plan: str, fault: str, kept: bool) -> None:
    faulty.plan, book = always(plan), Kept()
    completion = ask(faulty, book, OWN)
    assert completion.fault == fault
    assert book.kept == ([completion] if kept else [])


@pytest.mark.parametrize(
    ("plan", "trouble", "says"),
    [
        ("overrun_vllm", Trouble.CONTEXT, "serve it with a larger one"),
        ("length_early", Trouble.CONTEXT, "after 63 of 64 tokens"),
        ("flagged", Trouble.REJECTED, "not the model's own words"),
        ("flagged_403", Trouble.REJECTED, "not the model's own words"),
    ],
)
def test_the_other_sides_words_are_not_the_models_fault(
    faulty: FaultyApi, plan: str, trouble: Trouble, says: str
) -> None:
    faulty.plan, book = always(plan), Kept()
    with pytest.raises(ProviderError, match=says) as raised:
        ask(faulty, book, OTHERS)
    assert raised.value.trouble is trouble
    assert not book.kept
    assert len(faulty.requests) == 1


def test_an_answer_that_found_the_context_full_is_paid_for(faulty: FaultyApi) -> None:
    faulty.plan, book = always("length_early"), Kept()
    with pytest.raises(ProviderError):
        ask(faulty, book, OTHERS)
    ((came, completion, trouble),) = book.settled
    assert (came, trouble) == (Came.ANSWER, None)
    assert completion is not None
    assert completion.usage.output_tokens == 63
    assert completion.usage.cost_usd is not None
    assert completion.usage.cost_usd > 63 / 1e6
