"""Tournaments under a budget, and with a cache, on a priced model over real HTTP."""

import asyncio
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.language_model import gateway
from agents.language_model.book import Asked, Came
from arena import conversations
from arena.cli import app
from arena.commands.cost_lines import budget_line, cost_lines
from arena.entry import entry_from
from arena.lineup import request_from, resolve
from arena.money import NANO, dollars, nano
from arena.registry import Registry
from arena.spending import Spending
from arena.store import Filter, Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.agents.language_model import bargainer, faults
from tests.agents.language_model.faulty_api import FaultyApi, faulty_api, never, seeded
from tests.arena.running import arena, command, environment, rows
from tests.arena.test_spending import PLAN, SPEC, charge, ledger, opened

IN, OUT = 3, 15
"""US dollars a million tokens, and so thousands of billionths of a dollar a token."""
PASSING = ("error_500", "reset_before_headers", "reset_in_body", "malformed_json")
MOST = 40_000_000
"""Billionths of a dollar: more than any call here may cost."""
RESERVED = ", {} is reserved by calls under way in another run (or cut off when it was killed)"
DESIGN: dict[str, Any] = {
    **{"sellers": ["m"], "buyers": ["linear", "conceder"], "domains": ["coffee_import", "car_sale"]},
    "scenarios": 6,
}


@pytest.fixture
def bill(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the provider bills, answer by answer, those included that get lost on the way."""
    billed: list[int] = []
    make = bargainer.completion

    def completion(*given: Any, **more: Any) -> Any:
        made = make(*given, **more)
        usage = made["usage"]
        billed.append(1000 * (IN * usage["prompt_tokens"] + OUT * usage["completion_tokens"]))
        return made

    for module in (bargainer, faults):
        monkeypatch.setattr(module, "completion", completion)
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    return billed


@pytest.fixture
def api() -> Iterator[FaultyApi]:
    with faulty_api(latency_s=0.01) as running:
        yield running


def registered(store: Store, address: str, **more: Any) -> None:
    entry = {"name": "m", "model": "openai/m", "api_base": address, "max_tokens": 400}
    Registry(store).register([entry_from(entry | {"price_in": IN, "price_out": OUT} | more)])


def run(database: Path, address: str, changes: dict[str, Any] | None = None, **settings: Any) -> Summary:
    with Store.open(str(database)) as store:
        registered(store, address)
        lineup = resolve(request_from(DESIGN | (changes or {})), store)
        return Tournament(store, lineup, Settings(concurrency=64, **settings)).run()


def test_one_request_at_a_time_is_answered(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    assert run(tmp_path / "x.db", api.address, {"scenarios": 2}).complete
    without = asked(api)
    assert set(without.values()) == {1, 2}  # a seller opens alike against two buyers
    assert run(tmp_path / "y.db", api.address, {"scenarios": 2}, cache=True).complete
    assert all(asked(api)[text] == count + 1 for text, count in without.items())


@pytest.mark.parametrize(
    ("seed", "faults"),
    [(0, PASSING), pytest.param(1, (*PASSING, "rate_limit"), marks=pytest.mark.slow)],
)
def test_a_budget_holds_with_faults_and_resumes(
    tmp_path: Path, api: FaultyApi, bill: list[int], seed: int, faults: tuple[str, ...]
) -> None:
    database = tmp_path / "x.db"
    api.plan = seeded(seed, 0.2, faults)
    for budget in (0.2, 0.2, 0.6):
        summary = run(database, api.address, budget=budget)
        calls, total = ledger(database)
        assert sum(bill) <= sum(map(charge, calls)) == total <= budget * NANO
        assert budget * NANO - total < MOST
        assert not summary.complete
        (aside,) = summary.set_aside.values()
        assert aside.spent
        assert "--budget" in aside.detail
    summary = run(database, api.address, budget=1000.0)
    assert summary.complete
    calls, total = ledger(database)
    assert len(calls) == len(api.requests)
    assert sum(bill) <= total
    known = sum(row["cost_nano"] for row in calls if row["came"] == "answer")
    missing = sum(bill) - known  # billed for answers that were lost on the way
    assert 0 < missing <= sum(row["most_nano"] for row in calls if row["came"] == "unknown")


def test_what_is_left_of_a_budget_finishes_matches(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    summary = run(tmp_path / "x.db", api.address, budget=0.7)
    assert 8 <= summary.played < 24  # of the 15 that it would pay for one after the other
    assert sum(bill) <= 0.7 * NANO


def test_the_ledger_equals_the_provider_s_count(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    assert run(tmp_path / "x.db", api.address, {"scenarios": 2}).complete
    assert run(tmp_path / "x.db", api.address, {"scenarios": 3}, budget=100.0).complete
    calls, total = ledger(tmp_path / "x.db")
    assert len(calls) == len(bill) == len(api.requests)
    assert total == sum(bill)
    with Store.open(str(tmp_path / "x.db")) as store:
        assert sum(cost.known_nano for cost in store.costs()) == total
        matches = store.matches(Filter())
    assert sum(match.cost_usd or 0.0 for match in matches) == pytest.approx(total / NANO)


def test_what_an_agent_spent_counts_every_call(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    """Also those of matches that were given up, and tries that failed."""
    api.plan = seeded(0, 0.2, PASSING)
    summary = run(tmp_path / "x.db", api.address, budget=0.4)
    with Store.open(str(tmp_path / "x.db")) as store:
        (cost,) = store.costs()
        scored = sum(match.cost_usd or 0.0 for match in store.matches(Filter()))
    (own,) = summary.tallies.values()
    assert (own.account.known, own.account.unknown) == (cost.known_nano, cost.most_nano)
    assert cost.most_nano > 0
    assert cost.known_nano / NANO == pytest.approx(summary.known_usd)
    assert summary.known_usd > scored + 1e-6
    assert summary.to_json()["cost_usd"] is own.to_json()["cost_usd"] is None


def asked(api: FaultyApi) -> Counter[str]:
    return Counter(json.dumps(body, sort_keys=True) for body in api.requests)


def test_a_cache_asks_nothing_twice_and_marks_what_it_answers(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    database, copy = tmp_path / "x.db", tmp_path / "y.db"
    assert run(database, api.address, cache=True).complete
    assert set(asked(api).values()) == {1}  # also where a seller opens alike against two buyers
    calls, total = ledger(database)
    assert total == sum(bill)
    hits = [row for row in calls if row["came"] == "cached"]
    assert [row["cost_nano"] for row in hits] == [0] * len(hits)
    copy.write_bytes(database.read_bytes())
    for match in rows(copy).values():  # as if they had never been finished
        forget(copy, match["key"])
    assert run(copy, api.address, cache=True).complete
    assert set(asked(api).values()) == {1}
    assert sum(bill) == total == ledger(copy)[1]
    same = ("ending", "deal", "seller_utility", "seller_tokens_in", "seller_tokens_out")
    played, again = rows(database), rows(copy)
    for key, match in played.items():
        assert [again[key][name] for name in same] == [match[name] for name in same]
        assert again[key]["seller_cost_usd"] == 0.0
        receipt = json.loads(again[key]["receipts"])["seller"]
        assert receipt["cached"] == (match["turns"] + (match["opener"] == "seller")) // 2
    shown = here("show", next(iter(again)), "--db", copy).stdout
    assert "from the cache" in shown


def forget(database: Path, key: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DELETE FROM measures WHERE key = ?", (key,))
        connection.execute("DELETE FROM matches WHERE key = ?", (key,))
        connection.execute("UPDATE state SET packed = -1")  # packs are made anew
        connection.commit()


def test_replicates_are_each_asked(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    alone = {"buyers": ["linear"], "scenarios": 2, "replicates": 3}
    assert run(tmp_path / "x.db", api.address, alone, cache=True).complete
    assert set(asked(api).values()) == {3}


def without_calls(database: Path) -> list[str]:
    """Return the matches whose cost is not that of the calls of one run, settled to the last."""
    matches, spent = rows(database), Counter[tuple[str, str]]()
    for call in rows(database, "calls").values():
        spent[call["match_key"], call["bill"]] += call["cost_nano"] or 0
    bills = rows(database, "bills")
    return [
        key
        for key, match in matches.items()
        if round(match["seller_cost_usd"] * NANO) not in [spent[key, run] for run in bills]
    ]


def test_calls_bills_and_matches_agree_after_a_signal(
    tmp_path: Path, api: FaultyApi, bill: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    database, stopped = tmp_path / "x.db", False
    monkeypatch.setattr("arena.ledger.COMMIT_S", 0.0)

    def tick(summary: Summary) -> None:
        nonlocal stopped
        assert without_calls(database) == []
        if not stopped and rows(database):
            stopped = True
            os.kill(os.getpid(), signal.SIGTERM)

    with Store.open(str(database)) as store:
        registered(store, api.address)
        lineup = resolve(request_from({**DESIGN, "scenarios": 1}), store)
        for complete in (False, True):
            summary = Tournament(store, lineup, Settings(concurrency=2, budget=9.0)).run(tick)
            assert (summary.interrupted, summary.complete) == (not complete, complete)
            calls, total = ledger(database)
            came = Counter(row["came"] for row in calls)
            assert came.keys() <= {"answer", "unknown", "nothing"}
            assert sum(map(charge, calls)) == total
            assert 0 < came["answer"] <= len(api.requests) <= came["answer"] + came["unknown"]
            known = sum(row["cost_nano"] for row in calls if row["came"] == "answer")
            assert known <= sum(bill) <= total
    assert len(rows(database)) == 4
    assert without_calls(database) == []


@pytest.mark.slow
def test_a_budget_and_a_cache_outlive_a_kill(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    database, budget = tmp_path / "x.db", 2.0
    with Store.open(str(database)) as store:
        registered(store, api.address)
    play = (
        *("run-tournament", "--sellers", "m", "--buyers", "linear,conceder"),
        *("--domains", "coffee_import,car_sale", "--scenarios", "6", "--concurrency", "64", "--yes"),
        *("--budget", budget, "--cache", "--db", database),
    )
    process = subprocess.Popen(
        command(*play), cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL
    )
    try:
        while len(rows(database, "answers")) < 30 and process.poll() is None:
            time.sleep(0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    calls, total = ledger(database)
    assert process.returncode == -signal.SIGKILL  # in the middle
    answered, before = len(rows(database, "answers")), hits(calls)
    assert answered >= 30
    assert sum(bill) <= sum(map(charge, calls)) == total <= budget * NANO
    done = arena(*play, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "of it gone" in done.stderr
    calls, total = ledger(database)
    assert sum(bill) <= sum(map(charge, calls)) == total <= budget * NANO
    twice = sum(count - 1 for count in asked(api).values())
    unsettled = sum(row["came"] is None for row in calls)
    assert twice <= unsettled
    given = sum(row["came"] == "answer" for row in calls)
    assert given == len(rows(database, "answers")) > answered
    assert hits(calls) > before


def hits(calls: list[dict[str, Any]]) -> int:
    return sum(row["came"] == "cached" for row in calls)


# Stopped by the user


def interrupting(at: int) -> Callable[..., None]:
    """Plan no fault, but a Ctrl-C at a request."""
    seen = count(1)

    def plan(body: object, before: int) -> None:
        if next(seen) == at:
            os.kill(os.getpid(), signal.SIGINT)

    return plan


def test_answers_under_way_at_a_stop_are_waited_for_paid_and_kept(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    """None is asked for after the stop, and with a cache none twice."""
    api.latency_s, api.plan = 0.5, interrupting(40)
    summary = run(tmp_path / "x.db", api.address, budget=100.0, cache=True)
    assert summary.interrupted
    assert summary.left > 0
    calls, total = ledger(tmp_path / "x.db")
    assert [row for row in calls if row["came"] not in ("answer", "cached", "nothing")] == []
    assert total == sum(bill)
    assert len(rows(tmp_path / "x.db", "answers")) == len(bill) == len(api.requests)
    api.latency_s, api.plan = 0.01, never
    assert run(tmp_path / "x.db", api.address, budget=100.0, cache=True).complete
    assert set(asked(api).values()) == {1}


@pytest.mark.parametrize("again", [False, True])
def test_what_does_not_come_is_given_up(
    again: bool, tmp_path: Path, api: FaultyApi, bill: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time that it has, or at once where the user says so; it is charged its most."""
    monkeypatch.setattr(conversations, "GRACE_S", 3600.0 if again else 0.3)
    api.plan = lambda body, before: "hang"
    seen: list[int] = []

    def tick(summary: Summary) -> None:
        if len(api.requests) == 16 and not summary.interrupted:
            os.kill(os.getpid(), signal.SIGINT)
        seen.append(summary.awaited)
        if again and summary.awaited:
            os.kill(os.getpid(), signal.SIGINT)

    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address)
        lineup = resolve(request_from(DESIGN), store)
        assert Tournament(store, lineup, Settings(concurrency=16, budget=9.0)).run(tick).interrupted
    assert max(seen) == 16
    calls, total = ledger(tmp_path / "x.db")
    assert [row["came"] for row in calls] == ["unknown"] * 16
    assert total == sum(row["most_nano"] for row in calls) > 0


# What the command says


def here(*arguments: object) -> Result:
    """Run `arena` in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def cli(tmp_path: Path, *more: object) -> Result:
    return here(
        *("run-tournament", "--sellers", "m", "--buyers", "linear", "--domains"),
        *("car_sale", "--scenarios", "4", "--db", tmp_path / "x.db", *more),
    )


def test_an_unknown_price_is_said_before_the_first_call(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address, price_in=None, price_out=None)
    done = cli(tmp_path, "--budget", "5", "--yes")
    assert done.exit_code == 2
    assert "what m costs is not known" in done.stderr
    assert "--price-in" in done.stderr
    assert api.requests == []
    planned = json.loads(cli(tmp_path, "--dry-run", "--json").stdout)
    assert planned["estimate"]["cost_usd"] is None
    assert cli(tmp_path, "--allow-unpriced").exit_code == 2
    done = cli(tmp_path, "--budget", "5", "--allow-unpriced", "--yes")
    assert done.exit_code == 0
    (cost,) = json.loads(here("costs", "--json", "--db", tmp_path / "x.db").stdout)
    assert (cost["unpriced"], cost["cost_usd"], cost["calls"]) == (len(bill), None, len(bill))
    table = here("costs", "--db", tmp_path / "x.db").stdout
    assert "$0" not in table


def test_an_estimate_is_assumed_and_then_known(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address)
    done = cli(tmp_path, "--dry-run", "--json", "--budget", "5")
    assert "9 turns, 300 tokens an answer" in done.stderr
    assert "likely to do" in done.stderr
    estimate = json.loads(done.stdout)["estimate"]
    prompt = json.dumps(estimate["agents"][0]["basis"]).split("prompt of ")[1].split()[0]
    taken, given = 9 * (int(prompt.replace(",", "")) + 8 * 300), 9 * 300
    assert estimate["cost_usd"] == pytest.approx(4 * (taken * IN + given * OUT) / 1e6)
    assert "too little" in cli(tmp_path, "--dry-run", "--budget", "0.001").stderr
    refused = cli(tmp_path)
    assert (refused.exit_code, bill) == (2, [])  # it has a price, though it is on this machine
    assert "m may cost money: add --yes" in refused.stderr
    assert cli(tmp_path, "--yes").exit_code == 0
    planned = json.loads(cli(tmp_path, "--dry-run", "--json", "--seed", "1").stdout)
    assert planned["estimate"]["cost_usd"] == pytest.approx(sum(bill) / NANO)
    assert "its 4 matches here" in planned["estimate"]["agents"][0]["basis"]


@pytest.mark.parametrize(("prices", "lines"), [(3, 6), (30, 13)])
def test_the_costs_of_many_agents_can_be_read(tmp_path: Path, prices: int, lines: int) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        for number in range(30):
            price = None if number == 0 else 1 + number % prices
            named = {"name": f"m{number}", "model": f"openai/m{number}"}
            registered(store, "https://far.example.org/v1", **named, price_in=price, price_out=price)
    names = ",".join(f"m{number}" for number in range(30))
    play = ("run-tournament", "--sellers", names, "--buyers", "linear", "--domains", "car_sale")
    done = here(*play, "--scenarios", "1", "--dry-run", "--json", "--db", tmp_path / "x.db")
    found = json.loads(done.stdout)["estimate"]["agents"]
    assert [one["agent"] for one in found] == names.split(",")
    told = [line for line in done.stderr.splitlines() if line.startswith(("  cost:", "  basis:"))]
    assert len(told) == lines
    assert told[0] == "  cost:    not known for 1 match: m0"
    assert told[1].startswith("  cost:    about $")
    assert (" for 1 match: each of m" in told[1]) == (prices == 3)
    known = sum(one["cost_usd"] for one in found[1:])
    assert f"  cost:    about {dollars(known)} in all, beside what is not known" in told
    assert max(map(len, told)) <= 240


def test_one_match_is_one_match(tmp_path: Path) -> None:
    play = ("run-tournament", "--sellers", "random", "--buyers", "linear", "--domains", "car_sale")
    done = here(*play, "--scenarios", "1", "--db", tmp_path / "x.db")
    assert "1 match planned; 1 to play" in done.stderr
    assert "Played: 1 match in" in done.stdout


def test_what_needs_no_money_is_played_when_a_budget_is_spent(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    free = {"price_in": 0, "price_out": 0}
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address)
        for name, more in (("far", {}), ("free", free), ("own", free)):
            registered(store, api.address, name=name, model=f"openai/{name}", **more)
    named = ("--sellers", "m,far,free,boulware", "--buyers", "linear,own", "--domains", "car_sale")
    play = ("run-tournament", *named, "--scenarios", "3", "--concurrency", "4", "--yes")
    done = here(*play, "--budget", "0.05", "--json", "--db", tmp_path / "x.db")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert (told["void"], told["ended_early"], told["interrupted"]) == (0, None, False)
    by_agent = {one["agent"]: one for one in told["agents"]}
    aside = [name for name, one in by_agent.items() if one["set_aside"]]
    assert aside == ["m", "far"]
    assert by_agent["free"]["played"] == 6
    assert told["left"] == sum(by_agent[name]["planned"] - by_agent[name]["played"] for name in aside)
    assert told["left"] > 6
    budget, waiting = told["attention"]
    assert (budget["kind"], waiting["kind"]) == ("budget", "left")
    assert budget["text"].startswith("no money is left for m, far: the budget of $0.05 is spent")
    assert ledger(tmp_path / "x.db")[1] <= 0.05 * NANO
    done = here(*play, "--budget", "9", "--db", tmp_path / "x.db")
    assert done.exit_code == 0, done.stderr
    assert "24 of 24 scored" in done.stdout


def test_a_cheaper_agent_plays_on_with_what_is_left(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address, max_tokens=4000)  # 6 cents an answer at most
        registered(store, api.address, name="cheap", model="openai/cheap", price_in=0.03, price_out=0.15)
        asked = {**DESIGN, "sellers": ["m", "cheap"], "scenarios": 2}
        run = Tournament(store, resolve(request_from(asked), store), Settings(budget=0.06)).run()
    played = {tally.name: (tally.played, tally.set_aside is None) for tally in run.tallies.values()}
    assert played == {"m": (0, False), "cheap": (8, True)}
    assert (run.dropped, run.left, run.void) == (8, 8, 0)
    assert ledger(tmp_path / "x.db")[1] <= 0.06 * NANO


def test_another_run_s_reservations_are_called_what_they_are(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    """Words and figures while another run's calls are under way, and after they have come back."""
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address)
        lineup = resolve(request_from({**DESIGN, "scenarios": 1}), store)
        store.add_design(lineup.design, [agent.spec for agent in lineup.agents.values()], [])
        (version,) = (v for v, agent in lineup.agents.items() if agent.name == "m")
        other = Spending(store, lineup.design.hash, 1.0)

        async def hold() -> list[int]:
            spent = await other.reserve(Asked(version, None, 1, 0.24))
            other.settle(spent, Came.UNKNOWN, None, None)
            return [await other.reserve(Asked(version, None, 1, 0.25)) for _ in range(3)]

        held = asyncio.run(hold())
        other.flush()
        run = Tournament(store, lineup, Settings(budget=1.0))
        assert f"{RESERVED.format('$0.75')}; likely" in " ".join(cost_lines(store, run, lineup))
        (aside,) = run.run().set_aside.values()
        assert aside.spent
        assert aside.detail.startswith("nothing of the budget of $1.00 is free: $0.24 is gone, $0.75 is")
        assert "go on when that run has ended, or raise --budget" in aside.detail
        assert budget_line(run) == f"Budget: $0.24 of $1.00 is gone{RESERVED.format('$0.75')}."
        for call in held:
            other.settle(call, Came.NOTHING, None, None)
        other.flush()
        assert Tournament(store, lineup, Settings(budget=2.0)).run().complete


def test_a_budget_on_record_is_said_again(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    """By the command that the board suggests, and by whoever forgot it, before anything is spent."""
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address)
    assert cli(tmp_path, "--budget", "0.03", "--cache", "--drift", "0.5", "--yes").exit_code == 1
    gone = ledger(tmp_path / "x.db")[1]
    board = here("standings", "--db", tmp_path / "x.db").stdout
    words = shlex.split(board.split("To play what is missing: arena ")[1].split(" --db")[0])
    assert words[3:] == ["--budget", "0.03", "--cache", "--drift", "0.5"]
    design = words[2]
    for more in ((), ("--cache",)):
        play = ("run-tournament", "--design", design, "--db", tmp_path / "x.db", "--yes", *more)
        done = here(*play)
        assert done.exit_code == 2
        assert f"a budget of $0.03 for all its runs, and {dollars(gone / NANO)} of it is" in done.stderr
        assert "add --budget 0.03 again, or a higher one, or --budget none" in done.stderr
        assert "budget of $0.03" in here(*play, "--dry-run").stderr
    assert ledger(tmp_path / "x.db")[1] == gone
    done = here(*words, "--yes", "--db", tmp_path / "x.db")
    assert (done.exit_code, ledger(tmp_path / "x.db")[1] <= 0.03 * NANO) == (1, True)
    assert here(*play, "--budget", "none").exit_code == 0
    assert ledger(tmp_path / "x.db")[1] > 0.03 * NANO
    assert here(*play).exit_code == 0  # and from then on there is none


def test_a_budget_of_which_nothing_could_be_spent_is_on_record(
    tmp_path: Path, api: FaultyApi, bill: list[int]
) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address)
    assert cli(tmp_path, "--budget", "0.000001", "--yes").exit_code == 1
    done = cli(tmp_path, "--yes")
    assert (done.exit_code, bill) == (2, [])
    assert "add --budget 0.000001 again" in done.stderr


def test_what_another_run_gave_back_meanwhile_is_used(tmp_path: Path) -> None:
    asked = Asked(SPEC.version, None, 1, 0.9)
    with opened(str(tmp_path / "x.db")) as store:
        other = Spending(store, PLAN.hash, 1.0)
        held = asyncio.run(other.reserve(asked))
        run = Spending(store, PLAN.hash, 1.0)
        assert run.budget.elsewhere == (nano(0.9), nano(0.9))
        other.settle(held, Came.NOTHING, None, None)
        other.flush()
        asyncio.run(run.reserve(asked))
        assert run.budget.elsewhere == (0, 0)


def test_a_spent_budget_leaves_what_needs_it(tmp_path: Path, api: FaultyApi, bill: list[int]) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        registered(store, api.address)
    done = cli(tmp_path, "--budget", "0.03", "--yes")
    assert done.exit_code == 1
    assert "raise --budget" in done.stdout
    assert "Next: the same command with a higher --budget: it goes on where it stopped" in done.stdout
    assert "left to play" in done.stdout
    assert "Budget: $0.0" in done.stderr
    assert sum(bill) <= 0.03 * NANO
