"""A language model as an agent: its identity, and matches it plays through a scripted provider."""

import asyncio
import json
from random import Random
from typing import Any

import pytest

from agents.agent import Agent, Brief, Negotiator, Reply, View, accept
from agents.build import UnplayableError, build
from agents.language_model import PROMPT_VERSION, LanguageModelAgent, model_spec
from agents.language_model.gateway import MOST_TRIES
from agents.language_model.prompt import prompt_hash
from agents.spec import AgentSpec, Connection
from arena.drivers import run_async
from arena.play import Outcome, briefs, play
from arena.protocol import Ending, Fault, Rules
from scenarios.scenario import Role
from tests.agents.language_model.scripted_api import Api, chat, error
from tests.arena.protocol.flat import FLAT, SCENARIO

MODEL = "hosted_vllm/some-model"
OFFER = {"rent": "$1,100", "start": "1 May", "pets": "not allowed"}


class Agreeable:
    """A buyer that takes whatever is offered."""

    spec = AgentSpec(kind="scripted", strategy="agreeable")
    deterministic = True

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        class Mind:
            def reply(self, view: View) -> Reply:
                return accept("Deal.")

        return Mind()


def answer(action: str = "propose", message: str = "My best.", **extra: Any) -> str:
    return json.dumps({"reasoning": "Aim high.", "message": message, "action": action, **extra})


def match(api: Api, *answers: Any, model: str = MODEL, **spec: Any) -> Outcome:
    """Play a model that opens as seller against the agreeable buyer."""
    api.answers = [chat(a) if isinstance(a, str) else a for a in answers]
    agents: dict[Role, Agent] = {
        Role.SELLER: build(model_spec(model, **spec), Connection(api_base=api.address)),
        Role.BUYER: Agreeable(),
    }
    rules = Rules()
    game = play(SCENARIO, briefs(FLAT, SCENARIO, rules), rules, Role.SELLER)
    return asyncio.run(run_async(game, agents, {role: Random(1) for role in Role}))


def test_a_match(api: Api) -> None:
    outcome = match(api, answer(terms=OFFER), sampling={"temperature": 0})
    assert outcome.ending is Ending.AGREEMENT
    assert outcome.deal == (2, 0, 1)
    assert outcome.seller_score == 1.0
    turn = outcome.turns[0]
    assert (turn.message, turn.reasoning) == ("My best.", "Aim high.")
    assert turn.attempts[0].text == answer(terms=OFFER)
    assert turn.attempts[0].usage is not None
    assert turn.attempts[0].usage.input_tokens == 1000
    receipt = outcome.receipts[Role.SELLER]
    assert receipt["model"] == MODEL
    assert receipt["served_model"] == "served-model"
    assert receipt["sampling"] == {"temperature": 0, "max_tokens": 4096}
    assert receipt["prompt"] == f"{PROMPT_VERSION}-{prompt_hash(PROMPT_VERSION)}"
    assert receipt["litellm"] == "1.110.2"
    assert receipt["schema"] is None
    assert "response_format" not in api.requests[0]


def test_faulty_answers_are_kept_and_asked_for_again(api: Api) -> None:
    cut = chat('{"reasoning": "Well', "length")
    outcome = match(api, cut, "I propose $1,100.", answer(terms=OFFER))
    assert outcome.ending is Ending.AGREEMENT
    faults = [attempt.fault for attempt in outcome.turns[0].attempts]
    assert faults == [Fault.CUT_OFF, Fault.NO_OBJECT, None]
    last = [(message["role"], message["content"]) for message in api.requests[2]["messages"]]
    assert [role for role, _ in last] == ["system", *["user", "assistant"] * 2, "user"]
    assert last[2][1] == '{"reasoning": "Well'
    assert Fault.CUT_OFF.description in last[3][1]
    assert last[4][1] == "I propose $1,100."
    assert Fault.NO_OBJECT.description in last[5][1]
    assert api.requests[1]["messages"] == api.requests[2]["messages"][:4]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (chat(None, "content_filter"), Fault.REFUSAL),
        (chat(None, refusal="No."), Fault.REFUSAL),
        (chat("{", "length"), Fault.CUT_OFF),
        (chat(""), Fault.EMPTY),
    ],
)
def test_the_models_own_faults_forfeit(api: Api, given: Any, fault: Fault) -> None:
    outcome = match(api, given, given, given)
    assert outcome.ending is Ending.FORFEIT_FORMAT
    assert outcome.at_fault is Role.SELLER
    assert [attempt.fault for attempt in outcome.turns[0].attempts] == [fault] * 3
    assert outcome.seller_score == 0.0


def test_the_providers_failure_is_void(api: Api) -> None:
    outcome = match(api, *[error(500, "boom")] * MOST_TRIES)
    assert outcome.ending is Ending.PROVIDER_ERROR
    assert outcome.seller_score is None
    assert "boom" in outcome.detail


def test_a_thinking_models_thoughts_are_its_reasoning(api: Api) -> None:
    outcome = match(api, chat(answer(terms=OFFER), reasoning_content="Long thoughts."))
    assert outcome.turns[0].reasoning == "Long thoughts."


@pytest.mark.parametrize("model", [MODEL, "openai/some-model"])
def test_structured_answers_send_a_schema_that_the_server_takes(api: Api, model: str) -> None:
    outcome = match(api, answer(terms=OFFER), model=model, structured=True)
    sent = api.requests[0]["response_format"]
    assert sent["type"] == "json_schema"
    schema = sent["json_schema"]["schema"]
    plain = schema["anyOf"][0] if model == MODEL else schema
    assert plain["type"] == "object"
    assert plain["properties"]["terms"]["properties"]["rent"]["enum"] == ["$900", "$1,000", "$1,100"]
    assert outcome.receipts[Role.SELLER]["schema"] is not None
    assert not api.requests[0].get("stream")


def test_versions() -> None:
    plain = model_spec(MODEL)
    assert plain.version == model_spec(MODEL, {"temperature": None}).version
    versions = [
        plain.version,
        model_spec(MODEL, {"temperature": 0}).version,
        model_spec(MODEL, {"temperature": 0.7}).version,
        model_spec(MODEL, {"seed": 0}).version,
        model_spec(MODEL, structured=True).version,
        model_spec(MODEL, revision="abc").version,
        model_spec("hosted_vllm/another").version,
    ]
    assert len(set(versions)) == len(versions)
    assert model_spec(MODEL, structured=False).version == plain.version


@pytest.mark.parametrize(
    ("model", "sampling", "says"),
    [
        (" ", {}, "give the model's LiteLLM name"),
        (MODEL, {"heat": 1}, "unknown sampling setting 'heat'"),
    ],
)
def test_mistakes_in_a_spec(model: str, sampling: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        model_spec(model, sampling)


def test_a_missing_key_is_said_before_any_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_PROVIDER", raising=False)
    with pytest.raises(UnplayableError, match="set the environment variable MY_PROVIDER"):
        build(model_spec("openai/gpt-5"), Connection(api_key_env="MY_PROVIDER"))


def test_a_prompt_of_another_release_is_not_played() -> None:
    spec = model_spec(MODEL).model_copy(update={"prompt_version": "v99"})
    with pytest.raises(UnplayableError, match="register the model again"):
        build(spec)


def test_models_are_never_taken_for_deterministic() -> None:
    assert not LanguageModelAgent(model_spec(MODEL, {"temperature": 0, "seed": 0})).deterministic


def test_a_receipt_leaves_out_what_was_not_sent(api: Api) -> None:
    settings = {"temperature": 0, "verbosity": "low"}
    outcome = match(api, answer(terms=OFFER), sampling=settings, may_drop=("verbosity",))
    sampling = outcome.receipts[Role.SELLER]["sampling"]
    assert sampling == {"temperature": 0, "max_tokens": 4096}
    sent = api.requests[0]
    assert {name: sent[name] for name in sent.keys() - {"model", "messages"}} == sampling
