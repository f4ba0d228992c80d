"""What a run is said to cost before its first call, against tokenizers and what matches then cost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.language_model.library import library
from agents.language_model.prompt import first_messages, versions
from arena.entry import entry_from
from arena.estimate import CHARACTERS_A_TOKEN
from arena.play import briefs
from arena.protocol import Rules
from arena.registry import Registry
from arena.store import Store
from scenarios.catalogue import bundled
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from tests.agents.language_model.faulty_api import FaultyApi, faulty_api
from tests.arena.running import arena, invoke, rows

pytestmark = pytest.mark.usefixtures("own_folder")
ASKED = ("run-tournament", "--sellers", "m", "--buyers", "linear", "--scenarios", "2")


@pytest.fixture
def api() -> Iterator[FaultyApi]:
    with faulty_api() as running:
        yield running


def registered(address: str, **more: object) -> None:
    entry = {"name": "m", "model": "openai/m", "api_base": address, "max_tokens": 400}
    with Store.open("arena.db") as store:
        Registry(store).register([entry_from(entry | {"price_in": 3, "price_out": 15} | more)])


def estimate(*more: str) -> tuple[float, str]:
    """Return the cost of the agent `m`, and what it rests on."""
    (found,) = json.loads(invoke(*ASKED, *more, "--dry-run", "--json"))["estimate"]["agents"]
    return found["cost_usd"], found["basis"]


def sent(domain: Domain, version: str = "v1") -> list[dict[str, str]]:
    told = briefs(domain, draw(domain, Split.EVAL, 0), Rules())[Role.SELLER]
    return first_messages(told, version)


@pytest.mark.parametrize("version", versions())
def test_tokens_of_a_prompt_are_about_what_a_tokenizer_finds(version: str) -> None:
    """OpenAI's, which comes with LiteLLM: at most a tenth fewer are assumed, or a fifth more."""
    for domain in bundled().values():
        messages = sent(domain, version)
        assumed = sum(len(message["content"]) for message in messages) / CHARACTERS_A_TOKEN
        found = library().token_counter(model="gpt-4", messages=messages)
        assert 0.9 <= assumed / found <= 1.2, domain.name


def spent(domain: str) -> list[float]:
    """Return what each match on a domain cost."""
    of = {
        row["key"]
        for row in rows(Path("arena.db"), "scenarios").values()
        if row["domain_version"] == domain
    }
    return [m["seller_cost_usd"] for m in rows(Path("arena.db")).values() if m["scenario_key"] in of]


def test_matches_of_one_domain_are_no_measure_of_another(api: FaultyApi) -> None:
    coffee, car = bundled()["coffee_import"], bundled()["car_sale"]
    registered(api.address)
    invoke(*ASKED, "--domains", coffee.name, "--yes")
    both = ("--domains", "coffee_import,car_sale", "--seed", "1")
    cost, basis = estimate(*both)
    length = {one.name: sum(len(m["content"]) for m in sent(one)) for one in (coffee, car)}
    ratio = length[car.name] / length[coffee.name]
    assert ratio > 1.04
    assert cost == pytest.approx(sum(spent(coffee.version)) * (1 + ratio), rel=0.01)
    assert basis.startswith("as its 2 matches here on average, on a domain without one by the length of")
    invoke(*ASKED, "--domains", car.name, "--scenarios", "4", "--yes")
    known, basis = estimate(*both)
    assert basis.startswith("as its 6 matches here on average by domain: ")
    assert known == pytest.approx(sum(spent(coffee.version)) + sum(spent(car.version)) / 2)


def test_thinking_is_left_out_and_said_to_be(api: FaultyApi) -> None:
    registered(api.address)
    plain = estimate("--domains", "trade")
    assert "1,1" in plain[1].split("prompt of ")[1].split(" to ")[0]
    assert "thinking" not in plain[1]
    registered(api.address, reasoning_effort="low", allow_dropped=["reasoning_effort"])
    cost, basis = estimate("--domains", "trade")
    assert cost == plain[0]
    assert "its thinking, which may take many times as many tokens, is left out" in basis


def test_what_has_no_price_nearby_has_one_line(api: FaultyApi) -> None:
    free = {"price_in": None, "price_out": None}
    for name in ("m", "n", "o", "p"):
        registered(api.address, name=name, model=f"openai/{name}", **free)
    registered("https://far.example.org/v1", name="far", model="openai/far", **free)
    done = arena(*ASKED, "--domains", "bread", "--sellers", "m,n,o,p,far", "--dry-run", cwd=Path.cwd())
    costs = [line.strip() for line in done.stderr.splitlines() if line.startswith("  cost:")]
    assert costs[0] == "cost:    no price given for m, n, o, p: tokens only"
    assert len(costs) == 2
    assert costs[1].startswith("cost:    far: not known for 2 matches (assumed")
