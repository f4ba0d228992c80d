"""In which form answers are asked for, where a provider takes a schema, refuses it, or does so once."""

import asyncio

import pytest

from agents.agent import ProviderError
from agents.language_model.gateway import PLAIN_JSON, Gateway
from agents.spec import Connection
from tests.agents.language_model.faulty_api import FaultyApi, always
from tests.agents.language_model.test_gateway import MESSAGES, SCHEMA, SPEC

ODD = [
    *MESSAGES[:-1],
    {"role": "user", "content": f"a response_format, isn't it? {MESSAGES[-1]['content']}"},
]


@pytest.mark.parametrize("refusal", ["no_schema", "literal"])
def test_a_refused_schema_costs_one_request_a_run(faulty: FaultyApi, refusal: str) -> None:
    faulty.plan = always(refusal)

    async def main() -> None:
        asks, reached = Gateway(), Connection(api_base=faulty.address)
        for _ in range(3):
            answered = await asks.complete(SPEC, reached, MESSAGES, SCHEMA)
            assert answered.request.format == PLAIN_JSON

    asyncio.run(main())
    sent = [request["response_format"]["type"] for request in faulty.requests]
    assert sent == ["json_schema", *["json_object"] * 3]


def formats(faulty: FaultyApi, asked: list[list[dict[str, str]]]) -> list[str | None]:
    """Ask one conversation after another; return what each was answered in, or its trouble."""

    async def main() -> list[str | None]:
        asks, reached = Gateway(), Connection(api_base=faulty.address)
        found: list[str | None] = []
        for messages in asked:
            try:
                answered = await asks.complete(SPEC, reached, messages, SCHEMA)
            except ProviderError as error:
                found.append(error.trouble)
            else:
                found.append((answered.request.format or {}).get("type"))
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("fault", ["echoed_400", "echoed_422"])
def test_a_request_that_is_repeated_does_not_speak_of_the_schema(faulty: FaultyApi, fault: str) -> None:
    faulty.plan = lambda body, before: fault if body["messages"] == ODD else None
    assert formats(faulty, [ODD, MESSAGES, ODD, MESSAGES]) == ["rejected", "json_schema"] * 2
    assert len(faulty.requests) == 4


def test_what_is_refused_in_every_format_turns_no_schema_off(faulty: FaultyApi) -> None:
    faulty.plan = lambda body, before: "bad_schema" if body["messages"] == ODD else None
    assert formats(faulty, [ODD, MESSAGES]) == ["rejected", "json_schema"]


def test_one_refusal_among_good_answers_is_about_its_conversation(faulty: FaultyApi) -> None:
    faulty.plan = lambda body, before: "no_schema" if body["messages"] == ODD else None
    found = formats(faulty, [MESSAGES, ODD, MESSAGES, ODD, MESSAGES])
    assert found == ["json_schema", "json_object", "json_schema", "json_object", "json_schema"]
