"""The table of docs/agents/faults.md, walked row by row: real matches over real HTTP."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from agents.agent import Agent, ProviderError, Trouble
from agents.build import build
from agents.language_model import model_spec
from agents.language_model import prompt as prompts
from agents.language_model.gateway import MOST_TRIES
from agents.spec import AgentSpec, Connection
from arena.drivers import run_async
from arena.play import Outcome, briefs, play
from arena.protocol import ATTEMPTS, Ending, Fault, Rules
from scenarios.scenario import Role
from tests.agents.language_model.bargainer import Body
from tests.agents.language_model.faults import FAULTS, OVERRUNS
from tests.agents.language_model.faulty_api import FaultyApi, Plan, always
from tests.arena.protocol.flat import FLAT, SCENARIO, Replay

MODEL = "hosted_vllm/m"
LIMITS_S = {"silence": 0.5, "forfeit_timeout": 3.0}
"""What a call may take, where a case is about that; elsewhere, more than any answer takes."""
DOCS = Path(__file__).parents[3] / "docs" / "agents" / "faults.md"


def match(
    address: str, stream: bool = False, agent: Agent | None = None, limit_s: float = 60.0
) -> Outcome:
    """Play the served model, which opens as seller, against a scripted buyer."""
    connection = Connection(api_base=address, timeout_s=limit_s, stream=stream)
    agents: dict[Role, Agent] = {
        Role.SELLER: agent or build(model_spec(MODEL), connection),
        Role.BUYER: build(AgentSpec(kind="scripted", strategy="conceder", strategy_version=1)),
    }
    rules = Rules()
    game = play(SCENARIO, briefs(FLAT, SCENARIO, rules), rules, Role.SELLER)
    return asyncio.run(run_async(game, agents, {role: Random(1) for role in Role}))


def second_turn(before: str | None, then: str) -> Plan:
    """Plan one fault (None: none) for the first turn, and another for what follows."""

    def plan(body: Body, count: int) -> str | None:
        return before if len(body["messages"]) == 2 else then

    return plan


class Case(NamedTuple):
    """What a plan makes of a match, and in how many requests."""

    plan: Plan
    ending: Ending
    requests: int
    streams: tuple[bool, ...] = (False, True)


def own(fault: str, requests: int = ATTEMPTS) -> Case:
    return Case(always(fault), Ending.FORFEIT_FORMAT, requests)


def own_words_then(fault: str) -> Case:
    """Most of the conversation is the model's own when the fault strikes."""
    return Case(second_turn("wordy", fault), Ending.FORFEIT_FORMAT, 1 + ATTEMPTS)


def void(fault: str, requests: int, streams: tuple[bool, ...] = (False, True)) -> Case:
    return Case(always(fault), Ending.PROVIDER_ERROR, requests, streams)


CASES: dict[str, list[Case]] = {
    "empty": [own("null_content")],
    "no_object": [own("not_json")],
    "unknown_term": [own("unknown_term")],
    "cut_off": [own("cut_off"), own("length_uncounted")],
    "refusal": [
        own("refusal"),
        own("content_filter"),
        *(own_words_then(flagged) for flagged in ("flagged", "flagged_403")),
    ],
    "context_overrun": [
        own_words_then("length_early"),
        *(own_words_then(f"overrun_{vendor}") for vendor in OVERRUNS),
    ],
    "forfeit_timeout": [Case(always("stream_without_end"), Ending.FORFEIT_TIMEOUT, 1, (True,))],
    "connection": [
        void("reset_before_headers", MOST_TRIES),
        void("reset_in_body", MOST_TRIES),
        void("stream_breaks", MOST_TRIES, (True,)),
    ],
    "server": [
        void(f"error_{status}", MOST_TRIES) for status in ("500", "502", "503", "504", "529", "408")
    ],
    "rate_limit": [void("rate_limit", MOST_TRIES), void("long_retry_after", 1)],
    "malformed": [
        *(void(f, MOST_TRIES) for f in ("truncated_json", "malformed_json", "text_body", "html_body")),
        *(void(f, MOST_TRIES) for f in ("empty_body", "no_choices", "empty_choices", "other_json")),
        *(void(f, MOST_TRIES) for f in ("null_choices", "number_content", "list_content")),
        *(void(f, MOST_TRIES, (True,)) for f in ("stream_ends_early", "stream_fails")),
    ],
    "silence": [void("hang", 1), void("drip", 1), void("stream_stalls", 1, (True,))],
    "rejected": [
        *(
            void(fault, 1)
            for fault in ("rejected", "rejected_422", "echoed_400", "echoed_422", "too_large")
        ),
        *(void(fault, 1) for fault in ("bad_schema", "flagged", "flagged_403")),
        Case(second_turn(None, "flagged"), Ending.PROVIDER_ERROR, 2),
    ],
    "context": [
        *(void(f"overrun_{vendor}", 1) for vendor in OVERRUNS),
        void("length_early", 1),
        Case(second_turn(None, "length_early"), Ending.PROVIDER_ERROR, 2),
        Case(second_turn(None, "overrun_vllm"), Ending.PROVIDER_ERROR, 2),
    ],
    "authentication": [void("wrong_key", 1), void("forbidden", 1)],
    "unknown_model": [void("unknown_model", 1)],
    "quota": [void("no_money", 1), void("no_quota", 1)],
}
"""By what is recorded. `weights` and `harness_error` do not come from a server, and are below."""
ELSEWHERE = {"weights", "harness_error"}
IN_THE_END = ("uncounted", "retry_after", "retry_after_date", "error_in_200")
"""What is answered in the end."""


def rows() -> dict[str, str]:
    """Return whose doing the table says each thing is, by what is recorded."""
    table = DOCS.read_text().partition("| what happened |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1:-1] for row in table.splitlines() if row.startswith("| ")]
    return {name: row[2].strip() for row in cells for name in re.findall(r"`(\w+)`", row[1])}


def test_the_table_and_the_cases_are_the_same() -> None:
    assert rows().keys() == CASES.keys() | ELSEWHERE
    seen_by_the_agent = {Fault.CUT_OFF, Fault.REFUSAL, Fault.CONTEXT_OVERRUN}
    assert rows().keys() >= {*Trouble} | seen_by_the_agent


def numbered() -> list[object]:
    return [
        pytest.param(name, case, stream, id=f"{name}-{number}-{'stream' if stream else 'whole'}")
        for name, cases in CASES.items()
        for number, case in enumerate(cases)
        for stream in case.streams
    ]


@pytest.mark.parametrize(("name", "case", "stream"), numbered())
def test_a_row(faulty: FaultyApi, name: str, case: Case, stream: bool) -> None:
    faulty.plan = case.plan
    outcome = match(faulty.address, stream, limit_s=LIMITS_S.get(name, 60.0))
    assert outcome.ending is case.ending, outcome.detail
    assert outcome.at_fault is Role.SELLER
    assert len(faulty.requests) == case.requests
    assert all(request.get("stream", False) is stream for request in faulty.requests)
    if rows()[name] == "the provider's":
        assert outcome.ending is Ending.PROVIDER_ERROR
        assert outcome.trouble == name
        assert (outcome.seller_score, outcome.buyer_score) == (None, None)
        assert outcome.detail.startswith(f"{MODEL}: ")
        return
    assert outcome.trouble is None
    assert outcome.seller_score == 0.0
    assert outcome.buyer_score == SCENARIO.preferences(Role.BUYER).walk_away
    if outcome.ending is Ending.FORFEIT_FORMAT:
        assert [attempt.fault for attempt in outcome.turns[-1].attempts] == [name] * ATTEMPTS


def test_every_fault_of_the_server_is_played() -> None:
    plans = [case.plan for cases in CASES.values() for case in cases]
    played = {plan({"messages": [{}] * length}, 0) for plan in plans for length in (2, 4)}
    assert FAULTS.keys() - played == {"no_schema", "literal", *IN_THE_END}


def test_weights_that_are_not_there_are_void() -> None:
    error = ProviderError("no such folder", Trouble.WEIGHTS)
    outcome = match("", agent=Replay([error], kind="local"))
    assert (outcome.ending, outcome.trouble) == (Ending.PROVIDER_ERROR, "weights")


def test_a_bug_of_ours_is_nobodys_fault(faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, text: str) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(prompts.Conversation, "answered", broken)
    outcome = match(faulty.address)
    assert outcome.ending is Ending.HARNESS_ERROR
    assert "KeyError: 'a bug'" in outcome.detail
    assert outcome.seller_score is None


@pytest.mark.parametrize(
    "break_it",
    [
        lambda reply: setattr(reply, "choices", None),
        lambda reply: setattr(reply.choices[0], "message", None),
        lambda reply: setattr(reply.choices[0].message, "content", [{"text": "no text"}]),
    ],
)
def test_what_litellm_makes_of_an_odd_answer_is_malformed(
    faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[object], None]
) -> None:
    from agents.language_model import provider

    ask = provider._response

    async def odd(*given: object) -> object:
        reply = await ask(*given)  # type: ignore[arg-type]
        break_it(reply)
        return reply

    monkeypatch.setattr(provider, "_response", odd)
    outcome = match(faulty.address)
    assert (outcome.ending, outcome.trouble) == (Ending.PROVIDER_ERROR, "malformed")
    assert len(faulty.requests) == MOST_TRIES


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", IN_THE_END)
def test_what_passes_leaves_no_trace(faulty: FaultyApi, fault: str, stream: bool) -> None:
    whole = match(faulty.address, stream)
    assert whole.ending is Ending.AGREEMENT
    faulty.plan = lambda body, before: fault if before == 1 and len(body["messages"]) == 4 else None
    outcome = match(faulty.address, stream)
    assert (outcome.ending, outcome.deal) == (whole.ending, whole.deal)
    bare = [[replace(turn, attempts=()) for turn in one.turns] for one in (outcome, whole)]
    assert bare[0] == bare[1]
    own_turns = [turn for turn in outcome.turns if turn.role is Role.SELLER]
    assert all(len(turn.attempts) == 1 for turn in own_turns)
    usages = [turn.attempts[0].usage for turn in own_turns]
    unknown = [usage is None or usage.input_tokens is None for usage in usages]
    assert unknown == [fault == "uncounted" and number == 1 for number in range(len(usages))]
