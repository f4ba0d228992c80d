"""Several addresses of one model: load spreads, a match keeps its own, and a dead one is got round."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agents.language_model import gateway
from arena.entry import entry_from
from arena.lineup import request_from, resolve
from arena.registry import Registry
from arena.store import Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.agents.language_model.scripted_api import Api, chat, scripted_api

MATCHES = 24
DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture
def apis(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Api]]:
    """Three servers of one model, which talks on."""
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    with ExitStack() as stack:
        running = [stack.enter_context(scripted_api()) for _ in range(3)]
        for api in running:
            api.answers = [chat(json.dumps({"action": "talk", "message": "Well."}))] * 10_000
        yield running


def run(folder: Path, *addresses: str) -> Summary:
    """Play one seller, reached at `addresses`, three turns a side."""
    with Store.open(str(folder / "arena.db")) as store:
        entry = {"name": "m", "model": "hosted_vllm/m", "api_base": list(addresses)}
        Registry(store).register([entry_from(entry)])
        asked = {"sellers": ["m"], "buyers": ["linear"], "domains": ["lamps"], "turns": 3}
        lineup = resolve(request_from({**asked, "scenarios": MATCHES}), store)
        return Tournament(store, lineup, Settings(concurrency=8)).run()


def matches_of(api: Api) -> Counter[str]:
    """The requests that a server got, by the prompt of their match."""
    return Counter(request["messages"][0]["content"] for request in api.requests)


def test_the_load_spreads_and_a_match_keeps_its_address(tmp_path: Path, apis: list[Api]) -> None:
    assert run(tmp_path, *(api.address for api in apis)).complete
    found = [matches_of(api) for api in apis]
    # The draw is by the matches' keys: 24 of them drawn evenly over three are at one of them fewer than
    # twice with a chance of 1 in 400, and the same in every run.
    assert all(len(matches) >= 2 for matches in found), [len(matches) for matches in found]
    where: dict[str, list[int]] = defaultdict(list)
    for number, matches in enumerate(found):
        for prompt in matches:
            where[prompt].append(number)
    assert len(where) == MATCHES
    assert all(len(at) == 1 for at in where.values())
    assert sum(matches.total() for matches in found) == 3 * MATCHES


def test_a_dead_address_is_got_round(tmp_path: Path, apis: list[Api]) -> None:
    summary = run(tmp_path, DEAD, apis[0].address, DEAD, apis[1].address)
    assert summary.complete
    assert summary.void == 0
    found = [matches_of(api) for api in apis[:2]]
    assert sum(matches.total() for matches in found) == 3 * MATCHES
    assert all(matches for matches in found)
    assert not found[0].keys() & found[1].keys()
