"""What a model thinks stays with it: kept, counted once, and shown to nobody, over real HTTP."""

import asyncio
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from agents.agent import Agent, Reply
from agents.build import build
from agents.language_model import model_spec
from agents.language_model.gateway import Gateway
from agents.spec import Connection
from arena.drivers import run_async
from arena.play import Outcome, briefs, play
from arena.protocol import Ending, Rules
from scenarios.scenario import Role
from tests.agents.language_model.scripted_api import Answer, Api, chat, scripted_api
from tests.arena.protocol.flat import FLAT, SCENARIO

PLAN = "They look keen: I shall hold out for 1,234."
OFFER = {"rent": "$1,100", "start": "1 May", "pets": "not allowed"}
PRICES = {"input_usd_per_million": 2.0, "output_usd_per_million": 10.0}


def words(action: str, **extra: Any) -> str:
    return json.dumps({"message": "Hello.", "action": action, **extra})


def aside(text: str) -> Answer:
    """As DeepSeek, vLLM, OpenRouter and others send it."""
    return chat(text, reasoning_content=PLAN)


def named_reasoning(text: str) -> Answer:
    """As newer vLLM and OpenRouter name it."""
    return chat(text, reasoning=PLAN)


def in_the_text(text: str) -> Answer:
    return chat(f"<think>\n{PLAN} {{no}}\n</think>\n\n{text}")


def headless(text: str) -> Answer:
    """Where the chat template opened the block."""
    return chat(f"{PLAN}\n</think>\n{text}")


def anthropic(text: str) -> Answer:
    return Answer(
        body={
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "served-model",
            "stop_reason": "end_turn",
            "content": [
                {"type": "thinking", "thinking": PLAN, "signature": "c2lnbmVk"},
                {"type": "redacted_thinking", "data": "aGlkZGVu"},
                {"type": "text", "text": text},
            ],
            "usage": {"input_tokens": 1000, "output_tokens": 50},
        }
    )


def gemini(text: str) -> Answer:
    return Answer(
        body={
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [{"text": PLAN, "thought": True}, {"text": text}],
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 1000,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 30,
                "totalTokenCount": 1050,
            },
        }
    )


def counted(text: str, given: int, thought: int) -> Answer:
    """A chat completion that says how many of its tokens were thought."""
    answer = chat(text, reasoning_content=PLAN)
    answer.body["usage"] = {
        "prompt_tokens": 1000,
        "completion_tokens": given,
        "total_tokens": 1050,
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    return answer


STYLES: dict[str, tuple[str, Callable[[str], Answer]]] = {
    "reasoning_content": ("hosted_vllm/m", aside),
    "reasoning": ("hosted_vllm/m", named_reasoning),
    "think tags": ("hosted_vllm/m", in_the_text),
    "think tags of openai/": ("openai/m", in_the_text),
    "headless": ("hosted_vllm/m", headless),
    "deepseek": ("deepseek/deepseek-reasoner", aside),
    "anthropic": ("anthropic/claude-haiku-4-5", anthropic),
    "gemini": ("gemini/gemini-2.5-pro", gemini),
}


def played(seller: str, api: Api, other: Api) -> Outcome:
    """Play a thinking seller, whose first answer is faulty, and a buyer that talks and then accepts."""
    gateway = Gateway()
    agents: dict[Role, Agent] = {
        Role.SELLER: build(model_spec(seller), Connection(api_base=api.address, **PRICES), gateway),
        Role.BUYER: build(model_spec("hosted_vllm/b"), Connection(api_base=other.address), gateway),
    }
    rules = Rules()
    game = play(SCENARIO, briefs(FLAT, SCENARIO, rules), rules, Role.SELLER)
    return asyncio.run(run_async(game, agents, {role: Random(1) for role in Role}))


@pytest.mark.parametrize("style", STYLES)
def test_thinking_is_kept_and_nobody_else_is_told(api: Api, style: str) -> None:
    model, thinking = STYLES[style]
    with scripted_api() as other:
        api.answers = [
            thinking("no object"),
            thinking(words("talk")),
            thinking(words("propose", terms=OFFER)),
        ]
        other.answers = [chat(words("talk")), chat(words("accept"))]
        outcome = played(model, api, other)
        assert outcome.ending is Ending.AGREEMENT, outcome.detail
        # Nothing of it reaches the other side, whichever channel it came by.
        assert "1,234" not in json.dumps(other.requests)
        assert "1,234" not in "".join(turn.message for turn in outcome.turns)
    own = [turn for turn in outcome.turns if turn.role is Role.SELLER]
    for turn in own:
        last = turn.attempts[-1]
        assert PLAN in turn.reasoning or PLAN in (last.text or "")
    first = own[0].attempts[0]
    assert first.fault is not None
    assert PLAN in first.reasoning or PLAN in (first.text or "")
    for usage in (attempt.usage for turn in own for attempt in turn.attempts):
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens) == (1000, 50)
        assert usage.cost_usd == pytest.approx(1000 * 2e-6 + 50 * 10e-6)


@pytest.mark.parametrize("style", ["reasoning_content", "deepseek", "anthropic", "gemini", "reasoning"])
def test_what_a_provider_returns_apart_is_not_sent_back(api: Api, style: str) -> None:
    """DeepSeek refuses it, and templates of open models leave out earlier thinking."""
    model, thinking = STYLES[style]
    with scripted_api() as other:
        api.answers = [thinking(words("talk")), thinking(words("walk_away"))]
        other.answers = [chat(words("talk"))]
        played(model, api, other)
    first, second = api.requests
    assert "Hello." in json.dumps(second)
    assert PLAN not in json.dumps(second)
    assert "signature" not in json.dumps(second)
    assert len(json.dumps(second)) > len(json.dumps(first))


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        ("openai/gpt-5", counted("{}", 50, 30)),
        ("hosted_vllm/m", counted("{}", 50, 30)),
        ("xai/grok-4", counted("{}", 20, 30)),  # xAI counts thinking apart
        ("gemini/gemini-2.5-pro", gemini("{}")),
        ("anthropic/claude-haiku-4-5", anthropic("{}")),
    ],
)
def test_thinking_is_counted_once(api: Api, model: str, answer: Answer) -> None:
    api.answers = [answer]
    reached = Connection(api_base=api.address, **PRICES)
    asked = [{"role": "system", "content": "A"}, {"role": "user", "content": "B"}]
    completion, _ = asyncio.run(Gateway().complete(model_spec(model), reached, asked))
    assert completion.usage.output_tokens == 50
    assert completion.usage.cost_usd == pytest.approx(1000 * 2e-6 + 50 * 10e-6)


def test_thinking_that_is_streamed_is_gathered(api: Api) -> None:
    deltas = [
        {"role": "assistant", "reasoning_content": "They look "},
        {"reasoning_content": "keen."},
        {"content": '{"action": '},
        {"content": '"talk"}'},
    ]
    chunks = [
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        for choice in [
            *({"index": 0, "delta": delta, "finish_reason": None} for delta in deltas),
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        ]
    ]
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    chunks.append({**chunks[0], "choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    api.answers = [Answer(body="".join([*lines, "data: [DONE]\n\n"]).encode())]
    reached = Connection(api_base=api.address, stream=True)
    asked = [{"role": "user", "content": "B"}]
    completion, _ = asyncio.run(Gateway().complete(model_spec("hosted_vllm/m"), reached, asked))
    assert (completion.text, completion.reasoning) == ('{"action": "talk"}', "They look keen.")
    assert completion.usage.output_tokens == 50


def test_thinking_without_an_answer_is_an_empty_answer(api: Api) -> None:
    api.answers = [chat(None, "length", reasoning_content=PLAN)]
    reached = Connection(api_base=api.address)
    asked = [{"role": "user", "content": "B"}]
    completion, _ = asyncio.run(Gateway().complete(model_spec("hosted_vllm/m"), reached, asked))
    assert (completion.text, completion.reasoning, completion.fault) == ("", PLAN, "cut_off")
    assert Reply(text=completion.text).message == ""
