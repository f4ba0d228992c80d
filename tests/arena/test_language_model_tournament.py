"""The main job on a language model through the command line, from register to show: on a scripted
server, and slowly on SmolLM2."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from arena.cli import app
from tests.agents.language_model.scripted_api import chat, scripted_api
from tests.served import MODEL, smollm2

__all__ = ["smollm2"]

SHED = """\
name: shed
title: Sale of a garden shed
briefs:
  seller: You sell the garden shed that you no longer use.
  buyer: You look for a garden shed.
aim: {distributive: 1, integrative: 2, mixed: 1}
terms:
  - {name: price, options: [$200, $250, $300, $350], default: $300, ordered: true, seller_prefers: last}
  - {name: collection, options: [this week, next week, next month], default: next month}
  - {name: taking it down, options: [by the seller, by the buyer, together], default: together}
  - {name: tools, options: [none, the spade, all of them], default: none}
"""
ACTIONS = {"propose", "accept", "walk_away", "talk"}


class Arena:
    """The command line, in a folder and with a database of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        monkeypatch.delenv("ARENA_DB", raising=False)
        (folder / "shed.yaml").write_text(SHED)

    def __call__(self, *arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, "--db", "llm.db"])
        assert done.exit_code == 0, f"{arguments}\n{done.output[-4000:]}\n{done.exception}"
        return done.stdout


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
    return Arena(tmp_path, monkeypatch)


def play(arena: Arena, address: str, domain: str, buyers: str, *more: str) -> dict[str, Any]:
    """Register SmolLM2 and play it as seller against `buyers` and itself; return the run's figures."""
    arena(
        *("register", "smollm2", "--model", MODEL, "--api-base", address, "--structured"),
        *("--temperature", "0.7", "--max-tokens", "250", "--family", "smollm", "--params", "135e6"),
    )
    out = arena(
        *("run-tournament", "--sellers", "smollm2", "--buyers", f"{buyers},smollm2"),
        *("--domains", domain, "--turns", "2", "--concurrency", "2", "--json", *more),
    )
    figures: dict[str, Any] = json.loads(out)
    return figures


def check_record(arena: Arena, figures: dict[str, Any], buyers: set[str]) -> dict[str, Any]:
    """Check board, matches and transcripts, print what was measured; return the board's row."""
    assert figures["void"] == figures["left"] == figures["already"] == 0
    assert figures["played"] == figures["planned"]
    (row,) = json.loads(arena("standings", "--json"))
    assert row["agent"] == "smollm2"
    assert row["matches"] == row["planned"] == figures["planned"]
    assert row["by_buyer"].keys() == buyers | {"smollm2"}
    matches = [json.loads(line) for line in arena("matches", "--json").splitlines()]
    assert len(matches) == figures["planned"]
    assert {match["buyer"] for match in matches} == buyers | {"smollm2"}
    assert all(match["tokens"] > 0 and match["cost_usd"] is None for match in matches)
    shown = [json.loads(arena("show", match["key"], "--json")) for match in matches]
    attempts = [check_attempts(match) for match in shown]
    assert sum(len(own) for own in attempts) >= len(matches)
    report(figures, row, matches, [attempt for own in attempts for attempt in own])
    text = arena("show", matches[0]["key"])
    assert "smollm2" in text
    assert f"sent to the seller: {MODEL}" in text
    assert matches[0]["ending"].replace("_", " ").split()[0] in text.lower().replace("_", " ")
    print(text)
    found: dict[str, Any] = row
    return found


def check_attempts(match: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the model's attempts of one match, each of which must be fully on record."""
    model = {"seller"} | ({"buyer"} if match["buyer"] == "smollm2" else set())
    attempts = []
    for turn in match["turns"]:
        if turn["role"] not in model:
            continue
        *faulty, last = turn["attempts"]
        assert all(attempt["fault"] for attempt in faulty)
        assert (last["fault"] is None) == (turn["action"] in ACTIONS)
        assert last["fault"] is None or len(turn["attempts"]) == 3
        attempts += turn["attempts"]
        assert match["receipts"][turn["role"]]["model"] == MODEL
    for attempt in attempts:
        assert isinstance(attempt["text"], str)
        usage = attempt["usage"]
        assert usage["input_tokens"] > 0 < usage["output_tokens"]
        assert usage["latency_s"] > 0
        assert usage["cost_usd"] is None
    used = sum(a["usage"]["input_tokens"] + a["usage"]["output_tokens"] for a in attempts)
    assert used == match["tokens"]
    return attempts


def report(
    figures: dict[str, Any],
    row: dict[str, Any],
    matches: list[dict[str, Any]],
    attempts: list[dict[str, Any]],
) -> None:
    """Print the figures of a run; pytest shows them with -s."""
    usages = [attempt["usage"] for attempt in attempts]
    latencies = sorted(usage["latency_s"] for usage in usages)
    print(f"{figures['played']} matches in {figures['seconds']:.0f} s")
    print("endings:", dict(Counter(match["ending"] for match in matches)))
    print("attempts:", dict(Counter(attempt["fault"] or "legal" for attempt in attempts)))
    print("tokens in:", sum(usage["input_tokens"] for usage in usages), end=", ")
    print("out:", sum(usage["output_tokens"] for usage in usages))
    print(f"latency: median {latencies[len(latencies) // 2]:.1f} s, longest {latencies[-1]:.1f} s")
    print(f"score {row['score']}, interval {row['low']} to {row['high']}, df {row['df']}")


def test_a_scripted_server(arena: Arena) -> None:
    answer = {"action": "walk_away", "message": "No.", "reasoning": "Too little."}
    with scripted_api() as api:
        api.answers = [chat("no json here"), *[chat(json.dumps(answer))] * 9]
        figures = play(arena, api.address, "shed.yaml", "conceder", "--scenarios", "1")
    assert figures["planned"] == 2
    check_record(arena, figures, {"conceder"})


@pytest.mark.slow
@pytest.mark.llm
def test_a_handful_of_matches(smollm2: str, arena: Arena) -> None:
    figures = play(arena, smollm2, "shed.yaml", "conceder", "--scenarios", "1")
    assert figures["planned"] == 2
    check_record(arena, figures, {"conceder"})


@pytest.mark.slow
@pytest.mark.llm
@pytest.mark.timeout(3600)
def test_two_dozen_matches_of_a_bundled_domain(smollm2: str, arena: Arena) -> None:
    buyers = "boulware,conceder,logroller"
    figures = play(arena, smollm2, "road_freight", buyers, "--scenarios", "6")
    assert figures["planned"] == 24
    row = check_record(arena, figures, set(buyers.split(",")))
    assert row["low"] < row["score"] < row["high"]
