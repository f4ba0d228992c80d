"""What the arena adds to calls of a model, as a test: all ways have to ask what they were to ask."""

import pytest

from tests.benchmarks import gateway
from tests.benchmarks.running import run

LEAST = 0.75
"""Of LiteLLM's requests a second of processor time, how many a tournament makes. The aim is 0.9; the
printed ratio is the figure, and the floor leaves room for a busy machine."""
MOST_MB = 100.0
"""By how much memory may grow over 1,000 matches; a conversation has about 20 kB. What was said in them
would be 20 MB, and all that LiteLLM makes of it several times as much."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_tournament_asks_nearly_as_much_as_litellm_alone(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run("gateway")
    with capsys.disabled():
        print("\n" + ran.printed)
    assert not ran.trouble
    result = ran.result
    for each in result["rounds"]:
        asked = each[gateway.PLAIN]["requests"]
        for name in gateway.TOURNAMENTS:
            assert each[name]["matches"] == gateway.SCENARIOS * 8 * 2 * 2
            assert each[name]["agreements"] > 0
            assert each[name]["requests"] == asked
    assert result["ratio"] >= LEAST
    assert all(each[gateway.ARENA]["mb_grown_per_1000"] < MOST_MB for each in result["rounds"])


def test_the_tournament_asks_what_is_sent_by_itself() -> None:
    asked = gateway.requests(scenarios=1)
    assert {request.spec.sampling["temperature"] for request in asked} == set(gateway.TEMPERATURES)
    with gateway.bargaining_server(latency_s=0.0) as address:
        found = gateway.tournament(address, 8, scenarios=1)
    assert found["requests"] == len(asked)
    assert found["matches"] == 8 * 2 * 2
    assert 0 < found["agreements"] <= found["matches"]
