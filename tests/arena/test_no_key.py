"""A server echoes its key in errors and answers, and speaks to terminals and browsers: the key is kept
nowhere, and nothing is obeyed."""

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents.language_model import gateway
from agents.language_model.redaction import HIDDEN
from arena.cli import app
from tests.agents.language_model.scripted_api import Answer, Api, chat, error, scripted_api
from tests.arena.test_language_model_tournament import SHED
from tests.leaderboard.pages import shown, visit

KEY = "Canary/5f1e+Zq8KD0aV7"
"""It has no shape by which a secret is known."""
HOSTILE = "<img src=x onerror=alert(1)> \x1b]0;title\x07 \x9b31m \u202e\u2028 [bold]x[/bold]"
"""What a page or a terminal might obey."""
DRIVING = "\x1b\x07\x9b\u202e\u2028"
ECHO = f"{HOSTILE} invalid header authorization: Bearer {KEY}"


def said(message: str, action: str = "talk", reasoning: str = "", **extra: Any) -> Answer:
    content = {"reasoning": reasoning, "message": message, "action": action}
    return chat(json.dumps(content), **extra)


def served_by(name: str, answer: Answer) -> Answer:
    return Answer(body=answer.body | {"model": name})


ANSWERS = [
    said(f"Your key is {KEY}. {HOSTILE}", reasoning=f"I was sent {KEY}."),
    chat(f"No JSON, but the key: {KEY} {HOSTILE}"),
    served_by(f"model-for-{KEY}{HOSTILE}", said("", reasoning_content=ECHO)),
    error(500, ECHO),
    error(429, ECHO, retry_after="0"),
    said("No.", "walk_away"),
    chat(json.dumps({"message": "Bye.", "action": "walk_away"}).replace("Bye", KEY.replace("/", "\\/"))),
    chat(None, refusal=f"I will not reveal {KEY}."),
    Answer(body=f"<html>{ECHO}</html>".encode()),
    error(400, ECHO),
    error(503, ECHO + " " * 300 + KEY),
]


@pytest.fixture
def api() -> Iterator[Api]:
    class Endless(list[Answer]):
        _next = cycle(ANSWERS)

        def pop(self, _: Any = 0) -> Answer:
            return next(self._next)

    with scripted_api() as running:
        running.answers = Endless()
        yield running


def texts(value: object) -> Iterator[str]:
    """Yield what a database's value says, unpacked where it is compressed."""
    if isinstance(value, str):
        yield value
    if isinstance(value, bytes):
        yield value.decode("latin-1")
        for start in (0, 1):
            try:
                content = zlib.decompress(value[start:])
            except zlib.error:
                continue
            yield content.decode("latin-1")
            yield content.decode("utf-8", "surrogateescape")


def stored(database: Path) -> str:
    """Return all that a database holds, as one text."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        rows = [row for (table,) in found for row in connection.execute(f'SELECT * FROM "{table}"')]
    return "\n".join(text for row in rows for value in row for text in texts(value))


class Arena:
    """The command line; keeps all that it prints."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self.pages: list[str] = []

    def __call__(self, *arguments: str, fails: bool = False) -> str:
        done = CliRunner().invoke(app, [*arguments, "--db", "arena.db"])
        assert done.exit_code in ((0, 1) if fails else (0,)), f"{arguments}\n{done.output[-3000:]}"
        self.printed.append(done.output)
        return done.stdout


def test_a_key_that_is_echoed_stays_nowhere(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ECHO_CREDENTIALS_FILE", KEY)
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    (tmp_path / "shed.yaml").write_text(SHED)
    arena, where = Arena(), ("--api-base", api.address, "--api-key-env", "ECHO_CREDENTIALS_FILE")
    with caplog.at_level(logging.DEBUG):
        play(arena, where)
        matches = look(arena)
        open_pages(arena, matches, monkeypatch)
    assert {headers["authorization"] for headers in api.headers} == {f"Bearer {KEY}"}
    assert len(api.headers) > len(ANSWERS), "every answer was given"
    record = stored(tmp_path / "arena.db")
    assert HIDDEN in record
    assert "Your key is [hidden]." in record
    assert "model-for-[hidden]" in record
    assert "I will not reveal [hidden]." in record
    everywhere = [record, caplog.text, *arena.printed, *arena.pages]
    everywhere += [
        text for file in tmp_path.rglob("*") if file.is_file() for text in texts(file.read_bytes())
    ]
    for printed in arena.printed:
        assert not set(DRIVING) & set(printed), printed
    for page in arena.pages:
        assert "<img" not in page
    assert any("&lt;img" in page for page in arena.pages)
    assert sum(HIDDEN in text for text in everywhere) > 5
    for text in everywhere:
        assert not [form for form in (KEY, KEY.replace("/", "\\/")) if form in text], text[:300]


def play(arena: Arena, where: tuple[str, ...]) -> None:
    """Register, check and play a model whose answers echo its key, and one whose key is refused."""
    arena("register", "echo", "--model", "hosted_vllm/echo", *where, "--max-tokens", "500")
    arena("check", "echo", fails=True)
    arena(
        *("run-tournament", "--sellers", "echo", "--buyers", "conceder,stall", "--domains", "shed.yaml"),
        *("--scenarios", "4", "--turns", "3", "--concurrency", "1", "--log-file", "run.jsonl"),
        *("--cache", "--json"),
        fails=True,
    )


def look(arena: Arena) -> list[dict[str, Any]]:
    """Print and export all that there is; return the matches."""
    matches = [json.loads(line) for line in arena("matches", "--json").splitlines()]
    voids = [json.loads(line) for line in arena("matches", "--void", "--json").splitlines()]
    assert matches
    assert voids, "some attempts were void"
    for match in matches:
        arena("show", match["key"])
    arena("export", "--format", "csv")
    arena("export", "--format", "json")
    arena("show", matches[0]["key"], "--json")
    arena("show", voids[0]["key"], "--void")
    for command in ("agents", "standings", "costs", "voids", "guards"):
        arena(command)
        arena(command, "--json")
    arena("standings", "--measures")
    arena("matches", "--void")
    arena("prompt", "show", "echo", "--scenario", "bread/eval/0")
    for form in ("csv", "json", "html", "parquet"):
        arena("export", "--format", form, "--out", f"matches.{form}")
    return matches


def open_pages(arena: Arena, matches: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Open the pages that show what was said, or why there is nothing."""
    monkeypatch.setenv("ARENA_DB", "arena.db")
    arena.pages += [shown(visit(view=view)) for view in ("board", "matches", "guards", "buyers")]
    for match in matches[:2]:
        arena.pages.append(shown(visit(view="match", key=match["key"])))
