"""The same path on a real model: SmolLM2-135M-Instruct, served by llama.cpp on this machine."""

import asyncio

import pytest

from agents.language_model.agent import model_spec, response_format_of
from agents.language_model.gateway import Gateway
from agents.language_model.prompt import first_messages
from agents.spec import Connection
from arena.answer import Answer, parse
from arena.play import briefs
from arena.protocol import Rules
from scenarios.scenario import Role
from tests.arena.protocol.flat import FLAT, SCENARIO
from tests.served import MODEL

pytestmark = pytest.mark.llm


def test_a_constrained_answer_of_a_real_model_parses(smollm2: str) -> None:
    """Of three answers the first that is not cut off; what is cut off is told from what is not."""
    brief = briefs(FLAT, SCENARIO, Rules(turns=2))[Role.SELLER]
    connection = Connection(api_base=smollm2)
    for seed in range(3):
        spec = model_spec(MODEL, {"temperature": 0.7, "seed": seed, "max_tokens": 240}, structured=True)
        asked = Gateway().complete(
            spec, connection, first_messages(brief), response_format_of(spec, brief)
        )
        answer = asyncio.run(asked).completion
        assert answer.usage.input_tokens is not None
        assert 400 < answer.usage.input_tokens < 800
        assert answer.usage.output_tokens is not None
        assert 0 < answer.usage.output_tokens <= 240
        assert answer.usage.cost_usd is None
        assert answer.fault is None or answer.usage.output_tokens == 240
        whole = isinstance(parse(answer.text), Answer)
        assert whole == (answer.fault is None)
        if whole:
            return
    pytest.fail("every answer was cut off")
