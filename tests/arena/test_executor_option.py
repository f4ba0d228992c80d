"""The options of `arena run-tournament` that choose the executor."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.commands import settings

TOURNAMENT = ("run-tournament", "--sellers", "boulware", "--buyers", "linear", "--scenarios", "1")


def said(*options: str, code: int = 2) -> str:
    done = CliRunner().invoke(app, [*TOURNAMENT, *options])
    assert done.exit_code == code, done.output
    return " ".join(done.stderr.split())


@pytest.mark.usefixtures("own_folder")
def test_an_address_needs_the_executor() -> None:
    assert "--ray-address goes with --executor ray" in said("--ray-address", "auto")


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_address_that_is_none_is_refused_before_anything_is_kept(more: tuple[str, ...]) -> None:
    assert "'foo' is no HOST:PORT" in said("--executor", "ray", "--ray-address", "foo", *more)
    assert not list(Path().iterdir())


@pytest.mark.usefixtures("own_folder")
def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    assert "pip install 'bargaining-arena[ray]'" in said("--executor", "ray")


@pytest.mark.usefixtures("own_folder")
def test_the_plan_says_what_ray_would_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: object())
    plan = said("--executor", "ray", "--dry-run", code=0)
    assert "9 to play (9 on a Ray of its own)" in plan
    plan = said("--executor", "ray", "--ray-address", "head:6379", "--dry-run", code=0)
    assert "9 to play (9 on a Ray at head:6379)" in plan
