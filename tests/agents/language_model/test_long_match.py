"""Matches of 100 turns a side with messages of 2,000 characters: they fit a model's context, or end as
whose words filled it says; and what is built for them grows with their length, no faster."""

import asyncio
import json
import tracemalloc
from random import Random
from typing import Any

import pytest

from agents.agent import Action, ActionKind, Agent, Brief, Negotiator, Reply, Trouble, View
from agents.language_model import prompt
from agents.language_model.agent import LanguageModelAgent, model_spec
from agents.language_model.prompt import Conversation, versions
from agents.spec import Connection
from arena.drivers import run, run_async
from arena.play import Outcome, briefs, play
from arena.protocol import ATTEMPTS, MESSAGE_LIMIT, Ending, Fault, Rules
from scenarios.scenario import Role
from tests.agents.language_model.scripted_api import Answer, Api, chat, error
from tests.arena.protocol.flat import FLAT, SCENARIO

TURNS = 100
CHARACTERS_A_TOKEN = 4
MAX_TOKENS = 600


class Served(list[Answer]):
    """A server with a context of so many tokens and a model that talks at some length."""

    def __init__(self, api: Api, context: int, spoken: int) -> None:
        super().__init__()
        self._api, self._context, self._spoken = api, context, spoken
        self.most = 0
        """Tokens of the longest request that was answered."""

    def pop(self, _: Any = 0) -> Answer:
        body = self._api.requests[-1]
        said = sum(len(message["content"]) for message in body["messages"])
        tokens = said // CHARACTERS_A_TOKEN + MAX_TOKENS
        if tokens > self._context:
            return error(
                400,
                f"This model's maximum context length is {self._context} tokens. However, you requested "
                f"{tokens} tokens. Please reduce the length of the messages or completion.",
            )
        self.most = max(self.most, tokens)
        return chat(json.dumps({"message": "w" * self._spoken, "action": "talk"}))


class Talker:
    """A side that says as much every turn, and proposes nothing."""

    deterministic = True

    def __init__(self, spoken: int) -> None:
        self.spec = model_spec("hosted_vllm/talker")
        self._words = "“" * spoken

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        return self

    def reply(self, view: View) -> Reply:
        return Reply(Action(ActionKind.TALK), self._words)


class Rendering(Talker):
    """One that keeps a conversation as language models do."""

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        self._conversation = Conversation(brief, "v1")
        return self

    def reply(self, view: View) -> Reply:
        self._conversation.ask(view)
        text = json.dumps({"message": self._words, "action": "talk"}, ensure_ascii=False)
        self._conversation.answered(text)
        return Reply(text=text)


def game(turns: int) -> Any:
    rules = Rules(turns=turns)
    return play(SCENARIO, briefs(FLAT, SCENARIO, rules), rules, Role.SELLER)


RNGS = {role: Random(0) for role in Role}


def served(api: Api, context: int, spoken: int, heard: int) -> tuple[Outcome, Served]:
    """Play a served seller that says `spoken` characters a turn against a side that says `heard`."""
    server = Served(api, context, spoken)
    api.answers = server
    spec = model_spec("hosted_vllm/m", {"max_tokens": MAX_TOKENS})
    seller: Agent = LanguageModelAgent(spec, Connection(api_base=api.address))
    sides = {Role.SELLER: seller, Role.BUYER: Talker(heard)}
    return asyncio.run(run_async(game(TURNS), sides, RNGS)), server


def test_a_long_match_is_played_to_its_end_where_the_context_is_wide_enough(api: Api) -> None:
    outcome, server = served(api, 131_072, MESSAGE_LIMIT, MESSAGE_LIMIT)
    assert outcome.ending is Ending.DEADLINE
    assert len(outcome.turns) == 2 * TURNS
    assert all(len(turn.message) == MESSAGE_LIMIT for turn in outcome.turns)
    assert TURNS * MESSAGE_LIMIT * 2 // CHARACTERS_A_TOKEN < server.most <= 131_072
    sent = [len(request["messages"]) for request in api.requests]
    assert sent == [2 + 2 * turn for turn in range(TURNS)]


def test_a_context_that_is_full_of_its_own_words_is_the_models_fault(api: Api) -> None:
    outcome, server = served(api, 16_384, MESSAGE_LIMIT, 0)
    assert (outcome.ending, outcome.at_fault) == (Ending.FORFEIT_FORMAT, Role.SELLER)
    assert [a.fault for a in outcome.turns[-1].attempts] == [Fault.CONTEXT_OVERRUN] * ATTEMPTS
    assert 20 < len(outcome.turns) < 2 * TURNS
    assert server.most <= 16_384


@pytest.mark.parametrize("spoken", [10, 400])
def test_a_context_that_is_full_of_others_words_is_void(api: Api, spoken: int) -> None:
    outcome, server = served(api, 16_384, spoken, MESSAGE_LIMIT)
    assert (outcome.ending, outcome.at_fault) == (Ending.PROVIDER_ERROR, Role.SELLER)
    assert outcome.trouble is Trouble.CONTEXT
    assert "does not fit the model's context; serve it with a larger one" in outcome.detail
    assert 20 < len(outcome.turns) < 2 * TURNS
    assert server.most <= 16_384


@pytest.mark.parametrize("version", versions())
def test_what_was_said_is_never_rendered_again(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message is quoted once, and what stands in a conversation is the same object ever after."""
    quoted: list[int] = []
    monkeypatch.setattr(prompt, "quoted", lambda text: quoted.append(len(text)) or json.dumps(text))

    class Watching(Rendering):
        def reply(self, view: View) -> Reply:
            before = list(self._conversation.messages)
            answer = super().reply(view)
            assert all(a is b for a, b in zip(before, self._conversation.messages, strict=False))
            assert len(self._conversation.messages) <= 2 * view.turn + 3
            return answer

        def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
            self._conversation = Conversation(brief, version)
            return self

    sides = {role: Watching(MESSAGE_LIMIT) for role in Role}
    outcome = run(game(TURNS), sides, RNGS)
    assert outcome.ending is Ending.DEADLINE
    assert quoted == [MESSAGE_LIMIT] * (2 * TURNS - 1)


def test_memory_grows_with_the_length_of_a_match() -> None:
    """Twice the turns take about twice the memory, and no more than a few times what was said."""
    peaks = []
    for turns in (TURNS // 2, TURNS):
        sides = {role: Rendering(MESSAGE_LIMIT) for role in Role}
        tracemalloc.start()
        try:
            run(game(turns), sides, RNGS)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 2.5 * peaks[0]
    said = 2 * TURNS * MESSAGE_LIMIT * 2  # such a character takes two bytes
    assert peaks[1] < 8 * said
