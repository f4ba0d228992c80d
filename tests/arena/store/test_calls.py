"""Reservations of a budget: of those that are made at one moment no more are let through than fit."""

from multiprocessing import get_context
from multiprocessing.synchronize import Barrier

import pytest

from agents.scripted import spec_of
from arena.store import Bill, Call, Store
from tests.arena.running import rows
from tests.arena.store.matches import design

PLAN, AGENT, ROUNDS = design(), spec_of("linear"), 200
MOST = 1_000


def reserve(address: str, bill: str, start: Barrier) -> None:
    """Ask in each round for one call more, as the other does, where only one fits."""
    with Store.open(address) as store:
        own = 0
        for number in range(1, ROUNDS + 1):
            call = Call(bill, number, AGENT.version, None, 1, "2026", most_nano=MOST)
            start.wait()
            charged = Bill(bill, PLAN.hash, "2026", own * MOST)
            fits, _ = store.enter(charged, [], [call], ceiling_nano=number * MOST)
            own += fits


@pytest.mark.slow
@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_two_runs_that_reserve_at_once_never_pass_the_ceiling(address: str) -> None:
    with Store.open(address) as store:
        store.add_design(PLAN, [AGENT], [])
    context = get_context("spawn")
    start = context.Barrier(2)
    runs = [context.Process(target=reserve, args=(address, bill, start)) for bill in ("a", "b")]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0]
    calls, bills = rows(address, "calls").values(), rows(address, "bills").values()
    assert sum(bill["charged_nano"] for bill in bills) == ROUNDS * MOST
    assert sorted(call["number"] for call in calls) == [*range(1, ROUNDS + 1)]
    assert {call["bill"] for call in calls} <= {"a", "b"}
