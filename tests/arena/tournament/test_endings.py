"""How a tournament can end: what its exit code and its last lines say, and what was counted by agent."""

import gc
import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents.agent import Trouble
from agents.scripted import strategies
from arena.cli import app
from arena.commands.closing_lines import closing_lines, notices
from arena.entry import entry_from
from arena.lineup import request_from, resolve
from arena.protocol import Ending
from arena.registry import Registry
from arena.store import Filter, Store
from arena.summary import Cause, Summary
from arena.tally import Aside, Tally
from arena.tournament import ASIDE_AFTER, Settings, Tournament
from arena.transcript import decode
from scenarios.scenario import Role
from tests.agents.language_model.conftest import _warm, faulty
from tests.agents.language_model.faulty_api import always, faulty_api, seeded
from tests.arena.running import rows

__all__ = ["_warm", "faulty"]

ASKED = ("run-tournament", "--sellers", "m,boulware", "--buyers", "linear", "--yes")
SMALL = (*ASKED, "--domains", "coffee_import", "--scenarios", "8", "--concurrency", "2")


pytestmark = pytest.mark.usefixtures("own_folder")


def invoke(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code in (0, 1), f"{done.output}\n{done.exception}"
    return done.exit_code, done.stdout


def registered(address: str, *more: str) -> None:
    prices = ("--price-in", "2", "--price-out", "10")
    invoke("register", "m", "--model", "hosted_vllm/m", "--api-base", address, *prices, *more)


def ended(*more: str) -> tuple[int, list[str], dict[str, Any]]:
    """Play, and return the exit code, the kinds of what needs attention, and all of the summary."""
    code, said = invoke(*SMALL, "--json", *more)
    told = json.loads(said)
    return code, [notice["kind"] for notice in told["attention"]], told


def test_all_that_was_planned_is_played(faulty) -> None:
    registered(faulty.address)
    code, kinds, told = ended()
    assert (code, kinds, told["left"], told["ended_early"]) == (0, [], 0, None)


def test_a_wrong_key_stops_its_agent_alone(faulty) -> None:
    registered(faulty.address)
    faulty.plan = always("wrong_key")
    code, said = invoke(*SMALL)
    assert code == 1
    played, attention, *_, following = said.splitlines()
    assert "8 of 16 scored" in played
    assert attention.startswith("Attention: m was stopped (authentication): ")
    assert "check the key" in attention
    assert following.startswith("Next: mend what stopped an agent, then run the same command again")
    faulty.plan = always("unknown_model")
    code, kinds, told = ended()
    assert (code, kinds) == (1, ["stopped", "void_attempts", "left"])
    assert told["agents"][0]["set_aside"]["trouble"] == "unknown_model"


def test_an_outage_sets_its_agent_aside(faulty) -> None:
    registered(faulty.address)
    faulty.plan = always("error_500")
    code, kinds, told = ended()
    assert (code, kinds) == (1, ["set_aside", "void_attempts", "left"])
    assert told["void_by_reason"] == {"server": told["agents"][0]["voids"]["server"]}
    assert told["void_by_reason"]["server"] >= ASIDE_AFTER
    tried = {row["key"] for row in rows(Path("arena.db"), "voids").values()}
    assert (
        told["attention"][-1]["text"] == f"8 matches are left to play, {len(tried)} of them void so far"
    )
    seen = {one["agent"]: one["void"] for one in json.loads(invoke("voids", "--json")[1])}
    assert seen == {"m": len(tried), "boulware": 0}
    faulty.plan = lambda body, before: None
    assert ended()[1] == []


def test_who_is_set_aside_is_not_asked_again_for_the_other_side_s_sake(faulty, tmp_path: Path) -> None:
    """The buyer's provider fails once in each match that it opens, but only after the seller is set
    aside; these matches wait with the others."""
    registered(faulty.address)
    faulty.plan = always("wrong_key")
    with faulty_api() as other, Store.open(str(tmp_path / "arena.db")) as store:
        entry = {"name": "late", "model": "hosted_vllm/late", "api_base": other.address}
        Registry(store).register([entry_from(entry)])
        asked = {"sellers": ["m"], "buyers": ["late"], "domains": ["coffee_import"], "scenarios": 4}
        run = Tournament(store, resolve(request_from(asked), store), Settings())
        gone = threading.Event()

        def late(body: dict[str, Any], before: int) -> str | None:
            gone.wait(30)
            return "rejected" if before == 0 else None

        other.plan = late
        summary = run.run(lambda summary: gone.set() if summary.set_aside else None)
    assert len(faulty.requests) == len(other.requests) == 2  # each opens two of the four
    assert summary.void_by_reason == {"authentication": 2, "rejected": 2}
    assert (summary.dropped, summary.waiting, summary.void) == (4, 4, 0)


def test_a_rejected_request_is_void_every_time(faulty) -> None:
    """One match in eight, on its first turn; the rest is played."""
    registered(faulty.address)
    chosen: list[str] = []

    def plan(body: dict[str, Any], before: int) -> str | None:
        text = str(body["messages"][:2])
        if not chosen:
            chosen.append(text)
        return "rejected" if text == chosen[0] else None

    faulty.plan = plan
    code, kinds, told = ended()
    assert (code, kinds) == (1, ["void_attempts", "void"])
    assert (told["void"], told["void_by_reason"], told["left"]) == (1, {"rejected": 4}, 0)


def test_a_budget_that_is_spent(faulty) -> None:
    registered(faulty.address)
    code, kinds, told = ended("--budget", "0.1")
    assert (code, kinds, told["ended_early"]) == (1, ["budget", "left"], None)
    assert 0 < told["known_cost_usd"] + told["unknown_at_most_usd"] <= 0.1
    code, kinds, told = ended("--budget", "10")
    assert (code, kinds) == (0, [])


def test_an_interruption(faulty, caplog: pytest.LogCaptureFixture) -> None:
    registered(faulty.address)
    asked = Counter[str]()

    def plan(body: dict[str, Any], before: int) -> str | None:
        asked["m"] += 1
        if asked["m"] == 10:
            os.kill(os.getpid(), signal.SIGINT)
        return None

    faulty.plan = plan
    code, kinds, told = ended("--concurrency", "1")  # so that a match is over by then
    assert (code, kinds, told["interrupted"]) == (1, ["interrupted", "left"], True)
    gc.collect()
    assert not caplog.text, "asyncio logs what nobody reads, and without a logger prints it"
    code, kinds, told = ended()
    assert (code, kinds, told["left"]) == (0, [], 0)
    (own,) = told["agents"]
    assert own["already"] + own["played"] == own["planned"] == 8
    assert own["already"] > 0


def test_a_bug_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    class Buggy:
        def begin(self, brief: object, rng: object) -> object:
            raise KeyError("price")

    changed = strategies.Entry(lambda **values: Buggy(), "broken")
    monkeypatch.setitem(strategies.STRATEGIES, "walk_away", changed)
    code, said = invoke(
        *("run-tournament", "--sellers", "boulware,walk_away", "--buyers", "linear", "--scenarios", "2"),
        "--json",
    )
    told = json.loads(said)
    assert code == 1
    assert [notice["kind"] for notice in told["attention"]] == ["bug", "left"]
    assert "KeyError" in told["attention"][0]["text"]
    assert told["ended_early"] == "bug"


def test_a_bug_met_after_all_was_played_is_not_well() -> None:
    """In a replay, which is in no count of matches."""
    run = Summary("d", planned=4, already=4)
    assert run.well
    run.end_early(Cause.GIVEN_UP, "the budget is spent")
    assert run.well
    run.end_early(Cause.BUG, "a bug")
    assert run.complete
    assert not run.well
    assert (run.cause, run.trouble) == (Cause.BUG, "a bug")


def test_the_most_important_comes_first() -> None:
    with Store.open("sqlite://") as store:
        lineup = resolve(request_from({"sellers": ["boulware"], "buyers": ["linear"]}), store)
    lineup.broken.append("x was trained against linear")
    bad = Tally("bad\x1b[2J", "1", free=False, planned=50, already=0)
    bad.set_aside = Aside("check the key", Trouble.AUTHENTICATION)
    bad.voids.update({"authentication": 1, "rate_limit": 3})
    bad.forfeits["forfeit_format"] = 2
    bad.answers, bad.faults, bad.schema_refused = 100, 10, "json_object"
    run = Summary("d", 100, 10, played=40, void=5, withdrawn=2, tallies={"1": bad}, interrupted=True)
    run.end_early(Cause.BUG, "a bug")
    found = notices(run, lineup, None)
    assert [notice.kind for notice in found] == [
        *("bug", "stopped", "void_attempts", "interrupted", "void", "left", "withdrawn"),
        *("trained_against", "forfeits", "faults", "schema_refused"),
    ]
    lines = closing_lines(run, lineup, None)
    assert lines[0].startswith("Played: 40 matches")
    assert lines[1] == "Attention: a bug"
    assert lines[-1].startswith("Next: ")
    assert len(lines) == 2 + len(found)
    assert "bad\\x1b[2J: 4 void attempts (rate limit 3, authentication 1)" in lines[3]
    assert not any("\x1b" in line for line in lines)


def test_silence_says_what_a_slow_model_needs() -> None:
    with Store.open("sqlite://") as store:
        lineup = resolve(request_from({"sellers": ["boulware"], "buyers": ["linear"]}), store)
    for trouble, advised in (("silence", True), ("rate_limit", False)):
        slow = Tally("smol", "1", free=True, planned=9, already=0)
        slow.voids.update({trouble: 2})
        (found,) = notices(Summary("d", 9, 9, tallies={"1": slow}), lineup, None)
        assert ("register it with a higher --timeout" in found.text) == advised


def test_few_answers_say_little_of_a_share_of_faults() -> None:
    with Store.open("sqlite://") as store:
        lineup = resolve(request_from({"sellers": ["boulware"], "buyers": ["linear"]}), store)
    few = Tally("few", "1", free=True, planned=9, already=0, answers=19, faults=19)
    most = Tally("most", "2", free=True, planned=9, already=0, answers=100, faults=9)
    assert not notices(Summary("d", 9, 9, tallies={"1": few, "2": most}), lineup, None)


def test_what_is_counted_of_an_agent_is_what_the_database_holds(faulty, tmp_path: Path) -> None:
    """Answers, faults, forfeits, voids and tokens, in void attempts too, against the transcripts; the
    agent sits on both sides, and once against itself."""
    registered(faulty.address, "--seed", "1")
    own = ["not_json", "unknown_term", "cut_off"]
    faulty.plan = seeded(7, 0.4, [*own, *own, "rejected"])
    with Store.open(str(tmp_path / "arena.db")) as store:
        asked = {"sellers": ["m", "boulware"], "buyers": ["m", "linear"], "scenarios": 4}
        lineup = resolve(request_from(asked | {"domains": ["coffee_import", "bread"]}), store)
        run = Tournament(store, lineup, Settings(concurrency=4)).run()
        matches = store.matches(Filter())
    (found,) = run.tallies.values()
    stored = rows(tmp_path / "arena.db")
    voids = rows(tmp_path / "arena.db", "voids")
    counts, forfeits, reasons = Counter[str](), Counter[str](), Counter[str]()
    spent = 0.0
    for row in (*stored.values(), *voids.values()):
        sides = {Role.SELLER: row["seller_version"], Role.BUYER: row["buyer_version"]}
        for role, version in sides.items():
            if version != found.version:
                continue
            for turn in decode(row["transcript"]):
                if turn.role is role:
                    counts["answers"] += len(turn.attempts)
                    counts["faults"] += sum(attempt.fault is not None for attempt in turn.attempts)
                    usages = [attempt.usage for attempt in turn.attempts if attempt.usage]
                    counts["tokens"] += sum(sum(filter(None, usage[:2])) for usage in usages)
                    spent += sum(usage.cost_usd for usage in usages)
            if row["at_fault"] == role:
                void = Ending(row["ending"]).void
                (reasons if void else forfeits)[row["trouble"] if void else row["ending"]] += 1
    assert found.planned == 4 * 2 * 3
    assert found.played == sum(found.version in (m.seller_version, m.buyer_version) for m in matches)
    assert (found.answers, found.faults) == (counts["answers"], counts["faults"])
    assert found.tokens_in + found.tokens_out == counts["tokens"]
    assert found.forfeits == forfeits
    assert found.voids == reasons == run.void_by_reason
    assert {row["at_fault"] for row in stored.values() if row["at_fault"]} == {"seller", "buyer"}
    assert len(voids) > 0 < forfeits.total()
    assert 0 < found.cost_usd == run.known_usd == pytest.approx(spent)  # no call failed at a cost
