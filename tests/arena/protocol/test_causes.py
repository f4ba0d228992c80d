"""What goes wrong, and what comes of it: cause -> fault, asked again, ending, who scores what.

In each row of the tables the seller does the same thing on every ask of its turn. The buyer talks for
ever; it walks away to 0.30, the seller to 0.35.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import pytest

from agents.agent import Action, ActionKind, Event, Reply, View, accept
from arena import drivers
from arena.protocol import ATTEMPTS, Ending, Fault
from scenarios.scenario import Role
from tests.arena.protocol.causes import (
    FAULTY,
    FINE,
    OFFER,
    STOPS,
    TIMEOUT,
    WAITED_FOR,
    hang_asleep,
    limit,
)
from tests.arena.protocol.flat import Replay, Step, match, run_event_loop, run_loop, said

BOTH_DRIVERS = pytest.mark.parametrize("driver", [run_loop, run_event_loop])


def talk_for_ever() -> Replay:
    return Replay([lambda view: Reply(Action(ActionKind.TALK))] * 20)


@BOTH_DRIVERS
@pytest.mark.parametrize("cause", FAULTY)
def test_a_faulty_answer_is_asked_for_twice_more_then_forfeits(cause: str, driver: Any) -> None:
    step, fault = FAULTY[cause]
    seller = Replay([step] * ATTEMPTS)
    outcome = match(seller, talk_for_ever(), driver=driver)
    assert [attempt.fault for attempt in outcome.turns[-1].attempts] == [fault] * 3
    assert [view.fault for view in seller.views] == [None, fault.description, fault.description]
    assert (outcome.ending, outcome.at_fault) == (Ending.FORFEIT_FORMAT, Role.SELLER)
    assert (outcome.seller_score, outcome.buyer_score) == (0.0, 0.30)


@pytest.mark.parametrize("cause", FAULTY)
def test_a_legal_answer_after_two_faults_counts_as_if_nothing_had_been(cause: str) -> None:
    step, fault = FAULTY[cause]
    seller, buyer = Replay([step, step, said("propose", OFFER)]), Replay([accept()])
    outcome = match(seller, buyer)
    assert [attempt.fault for attempt in outcome.turns[0].attempts] == [fault, fault, None]
    assert (outcome.ending, outcome.at_fault) == (Ending.AGREEMENT, None)
    assert (outcome.seller_score, outcome.buyer_score) == (0.70, 0.12)
    assert buyer.views[0].history == (Event(Role.SELLER, ActionKind.PROPOSE, (2, -1, -1), ""),)


@BOTH_DRIVERS
def test_accepting_ones_own_offer_is_a_fault(driver: Any) -> None:
    outcome = match(Replay([said("propose", OFFER)] + [accept()] * 3), talk_for_ever(), driver=driver)
    assert [attempt.fault for attempt in outcome.turns[-1].attempts] == [Fault.OWN_OFFER] * 3
    assert (outcome.ending, outcome.at_fault) == (Ending.FORFEIT_FORMAT, Role.SELLER)
    assert (outcome.seller_score, outcome.buyer_score) == (0.0, 0.30)


@BOTH_DRIVERS
@pytest.mark.parametrize("cause", STOPS)
def test_what_is_not_an_answer_stops_the_match_at_once(cause: str, driver: Any) -> None:
    step, kind, ending, seller_score, buyer_score = STOPS[cause]
    seller = Replay([step], kind)
    WAITED_FOR.clear()
    outcome = match(seller, talk_for_ever(), driver=driver, timeout=limit(cause))
    assert WAITED_FOR == []
    assert (outcome.ending, outcome.at_fault) == (ending, Role.SELLER)
    assert (outcome.seller_score, outcome.buyer_score) == (seller_score, buyer_score)
    assert len(seller.views) == 1, "it was asked again"
    assert outcome.detail


@BOTH_DRIVERS
@pytest.mark.parametrize("cause", STOPS)
def test_the_same_on_a_later_turn(cause: str, driver: Any) -> None:
    step, kind, ending, *_ = STOPS[cause]
    outcome = match(Replay([accept(), step], kind), talk_for_ever(), driver=driver, timeout=limit(cause))
    assert (outcome.ending, outcome.at_fault, len(outcome.turns)) == (ending, Role.SELLER, 1)
    assert [attempt.fault for attempt in outcome.turns[0].attempts] == [Fault.NOTHING_TO_ACCEPT]


@pytest.mark.parametrize("cause", [name for name in STOPS if "hang" not in name])
def test_no_turn_timeout_changes_nothing_but_hangs(cause: str) -> None:
    step, kind, ending, *_ = STOPS[cause]
    talk = Reply(Action(ActionKind.TALK))
    outcome = match(Replay([talk, step], kind), talk_for_ever())
    assert (outcome.ending, outcome.at_fault, len(outcome.turns)) == (ending, Role.SELLER, 3)


BEGINNINGS: dict[str, tuple[Step, str, Ending]] = {
    "exception in begin()": (ValueError("bad parameter"), "plugin", Ending.FORFEIT_CODE),
    "hang in begin()": (hang_asleep, "plugin", Ending.FORFEIT_TIMEOUT),
    "our begin() breaks": (ValueError("bad parameter"), "scripted", Ending.HARNESS_ERROR),
}


@BOTH_DRIVERS
@pytest.mark.parametrize("cause", BEGINNINGS)
def test_begin_is_judged_as_the_first_turn(cause: str, driver: Any) -> None:
    step, kind, ending = BEGINNINGS[cause]
    seller = Replay([accept()], kind, begin=step)
    outcome = match(seller, talk_for_ever(), driver=driver, timeout=limit(cause))
    assert (outcome.ending, outcome.at_fault) == (ending, Role.SELLER)
    assert not seller.views


@BOTH_DRIVERS
@pytest.mark.parametrize("cause", FINE)
def test_what_is_legal_counts_as_it_stands(cause: str, driver: Any) -> None:
    step, kind, offer = FINE[cause]
    outcome = match(Replay([step] + [accept()] * 3), talk_for_ever(), driver=driver)
    assert (outcome.turns[0].kind, outcome.turns[0].offer) == (kind, offer)
    assert all(attempt.fault is None for attempt in outcome.turns[0].attempts)


def test_a_coroutine_is_awaited_and_its_hang_is_its_forfeit() -> None:
    async def hang() -> Reply:
        await asyncio.sleep(5)
        return accept()

    async def talk() -> Reply:
        return said("talk")

    seller = Replay([lambda view: talk(), lambda view: hang()])
    outcome = match(seller, talk_for_ever(), driver=run_event_loop, timeout=TIMEOUT)
    assert (outcome.ending, len(outcome.turns)) == (Ending.FORFEIT_TIMEOUT, 3)


@pytest.mark.parametrize(
    ("kind", "ending"), [("local", Ending.PROVIDER_ERROR), ("model", Ending.HARNESS_ERROR)]
)
def test_weights_here_that_are_silent_are_void_and_a_gateway_that_hangs_is_our_bug(
    monkeypatch: pytest.MonkeyPatch, kind: str, ending: Ending
) -> None:
    async def hang() -> Reply:
        await asyncio.sleep(5)
        return accept()

    monkeypatch.setattr(drivers, "HUNG_S", 0.1)
    outcome = match(
        Replay([lambda view: hang()], kind), talk_for_ever(), driver=run_event_loop, timeout=TIMEOUT
    )
    assert outcome.ending is ending


def test_a_hang_that_catches_everything_is_rung_again() -> None:
    def stubborn(view: View) -> Reply:
        for _ in range(2):
            try:
                sleep(5)
            except BaseException:  # what a careless plug-in does
                continue
        sleep(5)
        return accept()

    assert match(Replay([stubborn]), talk_for_ever(), timeout=TIMEOUT).ending is Ending.FORFEIT_TIMEOUT


def test_an_interrupt_is_the_users_and_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        match(Replay([KeyboardInterrupt()]), talk_for_ever())


def test_a_timeout_outside_the_main_thread_is_refused_rather_than_blamed_on_the_plug_in() -> None:
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(match, Replay([accept()]), talk_for_ever(), timeout=TIMEOUT)
        with pytest.raises(RuntimeError, match="main thread"):
            playing.result()


def test_the_detail_names_the_line_that_broke() -> None:
    outcome = match(Replay([lambda view: None]), talk_for_ever())
    assert outcome.detail.startswith("TypeError: reply() returned NoneType")

    def broken(view: View) -> Reply:
        raise LookupError("no such rent")

    outcome = match(Replay([broken]), talk_for_ever())
    assert outcome.detail.startswith("LookupError: no such rent (test_causes.py, line ")


def test_the_causes_cover_every_fault_and_every_bad_ending() -> None:
    named = {fault for _, fault in FAULTY.values()} | {Fault.OWN_OFFER}
    assert named == set(Fault)
    stopped = {row[2] for row in STOPS.values()} | {Ending.FORFEIT_FORMAT}
    assert stopped == {ending for ending in Ending if ending.forfeit or ending.void}
