"""Where the time goes: every part is somewhere in the code, and none of it is lost."""

import cProfile

import pytest

from tests.benchmarks import parts
from tests.benchmarks.running import ROOT


def test_parts_take_all_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SCENARIOS", 1)
    with cProfile.Profile() as profile:
        assert parts.play() > 0
    found = parts.shares(profile)
    assert found.keys() == {*parts.PARTS, parts.REST}
    assert sum(found.values()) == pytest.approx(1)
    assert found["rules of play"] > found["measures"]


def test_parts_are_named_after_what_is_there() -> None:
    starts = [start for part in parts.PARTS.values() for start in part if start != "sqlalchemy/"]
    assert all((ROOT / start).exists() for start in starts)
    assert parts.part(str(ROOT / "arena" / "play.py")) == "rules of play"
    assert parts.part("/x/site-packages/sqlalchemy/engine/base.py") == "the store"
    assert parts.part("/usr/lib/python3.11/json/encoder.py") == parts.REST
