"""Several addresses of one model: one that fails costs a match one try, and no later turn any."""

import asyncio
from collections.abc import Iterator

import pytest

from agents.agent import ProviderError, Trouble
from agents.language_model import addresses, gateway, model_spec
from agents.language_model.gateway import Gateway
from agents.occasion import OCCASION, Occasion
from agents.spec import Connection
from tests.agents.language_model.faulty_api import FaultyApi, always, faulty_api

SPEC = model_spec("hosted_vllm/m")
MESSAGES = [
    {"role": "system", "content": 'With no deal you get 10 points.\n- "price" [one of]: "$1" = 100'},
    {"role": "user", "content": "Your turn 1."},
]


@pytest.fixture
def dead() -> Iterator[FaultyApi]:
    """A second server, which takes requests and says nothing."""
    with faulty_api(always("hang")) as running:
        yield running


def ask(asks: Gateway, connection: Connection, limit_s: float | None = None, match: str = "0") -> str:
    async def main() -> str:
        OCCASION.set(Occasion(match, 0, limit_s))
        return (await asks.complete(SPEC, connection, MESSAGES)).completion.text

    return asyncio.run(main())


def both(dead: FaultyApi, faulty: FaultyApi) -> Connection:
    """Match 0 begins at the one that is dead."""
    return Connection(api_base=dead.address, api_bases=(faulty.address,), timeout_s=0.5)


def test_a_silent_address_is_tried_once_and_passed_over_then(
    faulty: FaultyApi, dead: FaultyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the silence took longer than tries may go on."""
    monkeypatch.setattr(gateway, "PATIENCE_S", 0.2)
    asks, reached = Gateway(), both(dead, faulty)
    for turn in (1, 2, 3):
        assert "propose" in ask(asks, reached)
        assert (len(dead.requests), len(faulty.requests)) == (1, turn)
    monkeypatch.setattr(addresses.time, "monotonic", lambda later=addresses.time.monotonic: later() + 61)
    dead.plan = always("not_json")
    ask(asks, reached)
    assert len(dead.requests) == 2


def test_an_address_where_nobody_is_costs_no_later_turn_a_try(faulty: FaultyApi) -> None:
    asks = Gateway()
    reached = Connection(api_base="http://127.0.0.1:9/v1", api_bases=(faulty.address,))
    tried = [asks._addresses.choose(reached, Occasion("0", 0), 1)]
    ask(asks, reached)
    tried.append(asks._addresses.choose(reached, Occasion("0", 0), 1))
    assert tried == ["http://127.0.0.1:9/v1", faulty.address]


def test_where_all_are_silent_each_is_tried_once(faulty: FaultyApi, dead: FaultyApi) -> None:
    faulty.plan = always("hang")
    with pytest.raises(ProviderError) as raised:
        ask(Gateway(), both(dead, faulty))
    assert raised.value.trouble is Trouble.SILENCE
    assert (len(dead.requests), len(faulty.requests)) == (1, 1)


def test_one_address_alone_is_not_asked_again(dead: FaultyApi, faulty: FaultyApi) -> None:
    with pytest.raises(ProviderError):
        ask(Gateway(), Connection(api_base=dead.address, timeout_s=0.5))
    assert len(dead.requests) == 1


def test_no_try_begins_when_the_turn_is_over(faulty: FaultyApi, dead: FaultyApi) -> None:
    """The next turn finds the address that answers."""
    asks, reached = Gateway(), both(dead, faulty)
    with pytest.raises(ProviderError) as raised:
        ask(asks, reached, limit_s=0.5)
    assert raised.value.trouble is Trouble.SILENCE
    assert not faulty.requests
    assert "propose" in ask(asks, reached, limit_s=20.0)
    assert len(dead.requests) == 1


def test_each_match_keeps_to_an_address(faulty: FaultyApi, dead: FaultyApi) -> None:
    dead.plan = always("not_json")
    asks, reached = Gateway(), both(dead, faulty)
    for match in ("0", "1", "0", "1", "1"):
        ask(asks, reached, match=match)
    assert (len(dead.requests), len(faulty.requests)) == (2, 3)
