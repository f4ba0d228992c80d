"""Weights on this machine as agents: what they are asked, what is fed back, when they cannot play."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

pytest.importorskip("trl", reason="tiny models need pip install 'bargaining-arena[train]'")

import torch

from agents.agent import ActionKind, Agent, Brief, Event, ProviderError, Trouble, View
from agents.build import UnplayableError, build
from agents.language_model.prompt import first_messages, prompt_hash
from agents.local import agent as agent_module
from agents.local.agent import local_spec, spec_of_weights
from agents.local.dialogue import Dialogue
from agents.local.engine import Engines
from agents.local.reading import reading
from agents.local.request import Request, Sampling
from agents.local.tokens import ChatTokens
from agents.local.weights import Weights, WeightsError, weights_hash
from agents.local.with_transformers import Loaded
from agents.scripted import spec_of
from agents.spec import Connection
from arena.drivers import run_async
from arena.play import Outcome, briefs, play
from arena.protocol import Ending, Fault, Rules
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from tests.agents.local.untaught import FAMILIES, untaught

RULES = Rules(turns=2)
DOMAIN = bundled("small")["lamps"]


class Watched:
    """Engines that keep every request and what came of it."""

    def __init__(self) -> None:
        self.engines = Engines(Loaded)
        self.seen: list[tuple[Request, list[int]]] = []

    async def answer(self, weights: Weights, request: Request) -> Any:
        ids, receipt = await self.engines.answer(weights, request)
        self.seen.append((request, ids))
        return ids, receipt


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    found = Watched()
    monkeypatch.setattr(agent_module, "engines", lambda: found)
    return found


def seller(weights: Weights, **sampling: Any) -> Agent:
    spec = local_spec("tiny", weights.revision, {"max_tokens": 24, **sampling}, "brief1")
    return build(spec, Connection(weights=str(weights.folder)))


def match(player: Agent, seed: int = 0) -> Outcome:
    """Play one match in which `player` sells and opens."""
    scenario = draw(DOMAIN, Split.DEV, seed)
    game = play(scenario, briefs(DOMAIN, scenario, RULES), RULES, Role.SELLER)
    sides = {Role.SELLER: player, Role.BUYER: build(spec_of("linear"))}
    rngs = {Role.SELLER: Random(seed), Role.BUYER: Random(1)}
    return asyncio.run(run_async(game, sides, rngs))


def requests(weights: Weights, temperature: float, number: int = 8) -> list[Request]:
    """Return first turns of many scenarios, with more said after them, so that lengths differ."""
    found = []
    for index in range(number):
        scenario = draw(DOMAIN, Split.DEV, index)
        brief = briefs(DOMAIN, scenario, RULES)[Role.SELLER]
        ids = reading(weights).chat.first(first_messages(brief, "brief1"))
        more = [20 + place for place in range(Random(index).randrange(90))]
        found.append(Request(tuple(ids + more), Sampling(temperature, max_tokens=16), index))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_sampled_is_fed_back_as_it_was_sampled(family: str, watched: Watched) -> None:
    weights = untaught(family)
    outcome = match(seller(weights))
    # It talks rubbish: asked three times, then it forfeits, with all three answers on record.
    assert outcome.ending is Ending.FORFEIT_FORMAT
    (turn,) = outcome.turns
    chat = reading(weights).chat
    assert len(watched.seen) == len(turn.attempts) == 3
    for attempt, (_, sampled) in zip(turn.attempts, watched.seen, strict=True):
        assert (attempt.fault is Fault.CUT_OFF) == (not chat.ended(sampled))
    for (earlier, sampled), (later, _) in zip(watched.seen, watched.seen[1:], strict=False):
        assert later.ids[: len(earlier.ids)] == earlier.ids
        rest = list(later.ids[len(earlier.ids) :])
        assert rest[: len(sampled)] == sampled
        assert (rest[len(sampled)] == chat.close) == (not chat.ended(sampled))
    # Sampled ids are not how the tokenizer would write their text: telling them apart matters.
    told = [chat.text(sampled) for _, sampled in watched.seen]
    assert [attempt.text for attempt in turn.attempts] == told
    again = [chat._ids(text) for text in told]
    assert any(ids != sampled for ids, (_, sampled) in zip(again, watched.seen, strict=True))
    seeds = [request.seed for request, _ in watched.seen]
    rng = Random(0)
    assert seeds == [rng.getrandbits(32) for _ in seeds]


def test_usage_and_receipt(watched: Watched) -> None:
    weights = untaught("E-series")
    outcome = match(seller(weights, temperature=0.5, top_k=20))
    for attempt, (request, sampled) in zip(outcome.turns[0].attempts, watched.seen, strict=True):
        assert attempt.usage is not None
        assert attempt.usage.input_tokens == len(request.ids)
        assert attempt.usage.output_tokens == len(sampled) <= 24
        assert attempt.usage.cost_usd is None
        assert attempt.usage.latency_s is not None
        assert attempt.usage.latency_s > 0
    assert outcome.receipts[Role.SELLER] == {
        "model": "tiny",
        "weights": weights.revision,
        "sampling": {"temperature": 0.5, "top_p": 1.0, "top_k": 20, "max_tokens": 24},
        "prompt": f"brief1-{prompt_hash('brief1')}",
        "transformers": "5.24.0",
        "torch": torch.__version__,
        "dtype": "float32",
        "device": "cpu",
    }


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_answer_is_the_same_alone_and_in_a_batch(family: str, temperature: float) -> None:
    """True of float32 on a CPU; where numbers are coarser, padding may tip a close choice."""
    weights = untaught(family)
    model, asked = Loaded(weights), requests(weights, temperature)
    together = model.answer(asked)
    assert together == [model.answer([request])[0] for request in asked]
    assert together[::-1] == model.answer(asked[::-1])
    assert len({tuple(ids) for ids in together}) > 1


def test_answers_are_those_of_plain_generation() -> None:
    weights = untaught("conventional")
    model = Loaded(weights)
    for request, ids in zip(requests(weights, 0, 4), model.answer(requests(weights, 0, 4)), strict=True):
        ones = torch.ones(1, len(request.ids), dtype=torch.long)
        plain = model._model.generate(
            torch.tensor([request.ids]),
            attention_mask=ones,
            max_new_tokens=16,
            do_sample=False,
            eos_token_id=sorted(reading(weights).chat.stops),
        )
        assert plain[0, len(request.ids) :].tolist() == ids


def test_an_answer_ends_with_its_end_token_and_at_its_own_limit() -> None:
    """A batch runs on until the last row is done: the others get no more than they asked for."""
    weights = untaught("E-series")
    chat, many = reading(weights).chat, []
    for seed in range(64):
        request = requests(weights, 1.0, 1)[0]
        limit = 5 if seed % 2 else 80
        many.append(Request(request.ids, Sampling(temperature=3.0, max_tokens=limit), seed))
    answers = Loaded(weights).answer(many)
    ended = [ids for ids in answers if chat.ended(ids)]
    assert 0 < len(ended) < len(answers)
    for request, ids in zip(many, answers, strict=True):
        assert len(ids) == request.sampling.max_tokens or chat.ended(ids)
        assert not chat.stops & set(ids[:-1])


def test_a_prompt_that_does_not_fit_is_void(watched: Watched) -> None:
    weights = untaught("E-series")
    context = reading(weights).context
    first = len(requests(weights, 0, 1)[0].ids)
    assert context == 2048
    outcome = match(seller(weights, max_tokens=context - 60))
    assert (outcome.ending, outcome.trouble) == (Ending.PROVIDER_ERROR, Trouble.CONTEXT)
    assert "does not fit the context of 2048 tokens, of which an answer needs 1988" in outcome.detail
    assert watched.seen == []
    assert first > 60


@pytest.mark.parametrize(("own", "theirs", "fault"), [(40, 1, True), (3, 40, False)])
def test_whose_words_fill_a_context_says_whose_fault_it_is(own: int, theirs: int, fault: bool) -> None:
    """The model's where at least half of what the conversation grew by is its own; asked again, it stays
    so."""
    weights = untaught("E-series")
    chat, scenario = reading(weights).chat, draw(DOMAIN, Split.DEV, 0)
    told = briefs(DOMAIN, scenario, RULES)[Role.SELLER]
    view = View(told, 0, (), None, None)
    dialogue = Dialogue(told, "brief1", chat, room=1_200)
    new, turn = dialogue.ask(view), 0
    while new is not None:
        dialogue.answered([*chat._ids("a word " * own), chat.close])
        turn += 1
        heard = (Event(Role.BUYER, ActionKind.TALK, None, "a word " * theirs),)
        new = dialogue.ask(replace(view, turn=turn, history=heard))
    assert turn > 2
    assert dialogue.filled_itself is fault
    for _ in range(2):
        assert dialogue.ask(replace(view, fault="That did not fit.")) is None
        assert dialogue.filled_itself is fault


def test_a_context_that_is_full_of_its_own_words_is_the_models_fault(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = untaught("E-series")
    first = len(requests(weights, 0, 1)[0].ids)
    monkeypatch.setattr(agent_module, "Dialogue", partial(Roomy, room=first + 10))
    outcome = match(seller(weights, max_tokens=80, temperature=3.0))
    assert (outcome.ending, outcome.at_fault) == (Ending.FORFEIT_FORMAT, Role.SELLER)
    (turn,) = outcome.turns
    assert [attempt.fault for attempt in turn.attempts][1:] == [Fault.CONTEXT_OVERRUN] * 2
    assert len(watched.seen) == 1


class Roomy(Dialogue):
    """A dialogue with another room than the model's context leaves."""

    def __init__(self, brief: Brief, version: str, chat: ChatTokens, _: int, room: int) -> None:
        super().__init__(brief, version, chat, room)


def test_a_batch_too_large_for_the_memory_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = untaught("E-series")
    model, asked = Loaded(weights), requests(weights, 1.0, 11)
    whole, sizes = model.answer(asked), []
    generate = model._answered

    def cramped(batch: Sequence[Request]) -> list[list[int]]:
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return generate(batch)

    monkeypatch.setattr(model, "_answered", cramped)
    assert model.answer(asked) == whole
    assert sizes[0] == 11
    assert max(sizes[1:]) < 11
    monkeypatch.setattr(model, "_answered", lambda batch: cramped([*batch] * 4))
    with pytest.raises(ProviderError, match="too large for the memory"):
        model.answer(asked[:1])


def test_a_closed_model_ends_its_batch_at_the_next_token() -> None:
    weights = untaught("E-series")
    model = Loaded(weights)
    model._stop.set()
    with pytest.raises(ProviderError, match="stopped"):
        model.answer(requests(weights, 1.0, 2))


@pytest.fixture
def copy(tmp_path: Path) -> Weights:
    found = untaught("E-series")
    folder = Path(shutil.copytree(found.folder, tmp_path / "checkpoint"))
    return Weights(folder, weights_hash(folder))


def test_a_missing_folder(copy: Weights) -> None:
    shutil.rmtree(copy.folder)
    with pytest.raises(UnplayableError, match=r"no folder .*checkpoint.* moved or deleted"):
        seller(copy)


def test_weights_that_were_overwritten(copy: Weights) -> None:
    seller(copy)
    file = copy.folder / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(UnplayableError, match=f"other weights .*{copy.revision}.*overwritten"):
        seller(copy)


def test_weights_that_nobody_said_where_to_find(copy: Weights) -> None:
    with pytest.raises(UnplayableError, match="register it with --weights"):
        build(local_spec("tiny", copy.revision))


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_a_library_that_is_not_installed(
    copy: Weights, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = agent_module.find_spec
    monkeypatch.setattr(agent_module, "find_spec", lambda name: None if name == library else find(name))
    with pytest.raises(UnplayableError, match=rf"{library}: pip install 'bargaining-arena\[train\]'"):
        seller(copy)


def test_weights_that_lack_some_are_not_filled_in_at_random(copy: Weights) -> None:
    from safetensors.torch import load_file, save_file

    file = copy.folder / "model.safetensors"
    tensors = load_file(file)
    lost = next(name for name in tensors if name.endswith("q_proj.weight"))
    save_file({n: t for n, t in tensors.items() if n != lost}, file, {"format": "pt"})
    with pytest.raises(WeightsError, match="lack 1 of the model's weights"):
        Loaded(Weights(copy.folder, weights_hash(copy.folder)))


def test_a_damaged_file_of_weights_is_no_bug_of_ours(copy: Weights) -> None:
    file = copy.folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(WeightsError, match="cannot be read"):
        Loaded(Weights(copy.folder, weights_hash(copy.folder)))


def test_a_tokenizer_with_no_end_of_an_answer_voids_with_advice(copy: Weights) -> None:
    (copy.folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 1}))
    outcome = match(seller(Weights(copy.folder, weights_hash(copy.folder))))
    assert outcome.ending is Ending.PROVIDER_ERROR
    assert "generation config does not fit" in outcome.detail


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("tokenizer.json", "{}"),
        ("tokenizer_config.json", '{"chat_template": "", "eos_token": 5}'),
        ("generation_config.json", "[]"),
        ("generation_config.json", '{"eos_token_id": "the end"}'),
        ("config.json", '{"model_type": "gemma4_text", "hidden_size": "wide"}'),
        ("config.json", '{"model_type": "mamba"}'),
        ("chat_template.jinja", '{{ 1 + "a" }}'),
    ],
)
def test_a_damaged_file_beside_the_weights_voids_and_is_no_bug_of_ours(
    copy: Weights, file: str, content: str
) -> None:
    (copy.folder / file).write_text(content)
    outcome = match(seller(Weights(copy.folder, weights_hash(copy.folder))))
    assert outcome.ending is Ending.PROVIDER_ERROR
    assert str(copy.folder) in outcome.detail


def test_what_makes_another_version(copy: Weights) -> None:
    spec = spec_of_weights(str(copy.folder))
    assert spec.model == "gemma4_text"
    assert spec.revision == copy.revision
    assert spec.sampling == {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 512}
    moved = copy.folder.rename(copy.folder.parent / "moved")
    assert spec_of_weights(str(moved)).version == spec.version
    others = [
        spec_of_weights(str(moved), "gemma-4-E4B"),
        spec_of_weights(str(moved), sampling={"temperature": 0}),
        spec_of_weights(str(moved), prompt_version="brief1"),
        spec_of_weights(str(untaught("conventional").folder)),
    ]
    assert len({spec.version, *(other.version for other in others)}) == 5
    assert spec_of_weights(str(moved), sampling={"temperature": None}).version == spec.version


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sampling": {"seed": 1}}, "no setting 'seed'"),
        ({"prompt_version": "v99"}, "v99"),
    ],
)
def test_mistakes_in_a_spec(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        local_spec("tiny", "abc", **changes)
