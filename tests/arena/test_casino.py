"""Points of people's deals, recomputed: 30 dialogues of CaSiNo (Chawla and others 2021, CC BY 4.0).

Two campers divide three packages each of three goods; a package is worth 5, 4 or 3 points to each by its
own priorities. An additive utility must come to the points that were logged. The dialogues are no part
of this project: they are looked for beside it, or where CASINO_DEALS says.
"""

import json
import os
from itertools import product
from math import dist
from operator import sub
from pathlib import Path

import numpy as np
import pytest

from arena.measures import DTYPE, Yardstick
from scenarios.domain import Term
from scenarios.scenario import SCALE, Preferences, Scenario, Split

BESIDE = Path(__file__).parents[3] / "shared" / "data" / "casino" / "deals.json"
DEALS = Path(os.environ.get("CASINO_DEALS", BESIDE))
PACKAGES = range(4)
POINTS = {"High": 5, "Medium": 4, "Low": 3}
WALKING_AWAY = 5

pytestmark = pytest.mark.skipif(not DEALS.is_file(), reason="CASINO_DEALS names no deals of CaSiNo")


def read() -> list[tuple[Scenario, tuple[int, ...], list[int]]]:
    """Return each dialogue as a scenario (the first camper sells), its deal, and the logged points."""
    found = []
    for dialogue in json.loads(DEALS.read_text()):
        campers = dialogue["participant_info"]
        one, other = sorted(campers)
        *_, offer, answer = dialogue["chat_logs"]
        assert answer["text"] == "Accept-Deal"
        got = offer["task_data"]["issue2youget" if offer["id"] == one else "issue2theyget"]
        goods = sorted(got)
        scenario = Scenario(
            domain="campsite",
            domain_version="1",
            split=Split.EVAL,
            index=dialogue["dialogue_id"],
            feasible=True,
            terms=tuple(_term(good) for good in goods),
            seller=_side(campers[one], goods, [*PACKAGES]),
            buyer=_side(campers[other], goods, [*reversed(PACKAGES)]),
            turn_limit=12,
        )
        logged = [campers[camper]["outcomes"]["points_scored"] for camper in (one, other)]
        found.append((scenario, tuple(int(got[good]) for good in goods), logged))
    return found


def _term(good: str) -> Term:
    options = tuple(f"{count} of {good} to the first camper" for count in PACKAGES)
    return Term(name=good, options=options, default=options[0])


def _side(camper: dict, goods: list[str], packages: list[int]) -> Preferences:
    priority = {good: POINTS[level] for level, good in camper["value2issue"].items()}
    weights = tuple(priority[good] for good in goods)
    return Preferences(weights, (tuple(packages),) * len(goods), WALKING_AWAY)


def test_utilities_of_the_deals_are_the_points_that_were_logged() -> None:
    dialogues = read()
    assert len(dialogues) == 30
    for scenario, deal, logged in dialogues:
        assert [scenario.seller.points(deal), scenario.buyer.points(deal)] == logged


def test_what_each_kind_of_term_gave_adds_up_to_the_points() -> None:
    kinds_used = set()
    for scenario, deal, logged in read():
        row = np.frombuffer(Yardstick(scenario).row([], deal), DTYPE)[0]
        assert row["by_kind"].sum(axis=1).tolist() == logged
        kinds_used |= set(scenario.kinds)
    assert len(kinds_used) >= 2


def test_surplus_and_distance_are_those_of_all_64_divisions() -> None:
    for scenario, deal, logged in read():
        sides = (scenario.seller, scenario.buyer)
        points = [tuple(side.points(way) for side in sides) for way in product(PACKAGES, repeat=3)]
        best = max(sum(pair) for pair in points if min(pair) >= WALKING_AWAY) - 2 * WALKING_AWAY
        beaten = {
            pair
            for pair in points
            for other in points
            if other != pair and min(map(sub, other, pair)) >= 0
        }
        distance = min(dist(pair, logged) for pair in points if pair not in beaten)
        row = np.frombuffer(Yardstick(scenario).row([], deal), DTYPE)[0]
        assert row["surplus"] == best
        assert row["distance"] == pytest.approx(distance / SCALE)
