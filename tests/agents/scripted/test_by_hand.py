"""Each strategy's rule on cases small enough to work by hand."""

import pytest

from agents.agent import ActionKind
from agents.build import build
from agents.scripted import spec_of
from agents.scripted.aspiration import time_dependent_target
from agents.scripted.ladder import ladder
from agents.scripted.logroller import chance_of_another_turn
from agents.scripted.micro import quantiles
from agents.scripted.tit_for_tat import next_target
from scenarios.scenario import Preferences
from tests.agents.table import accepts, answers, brief, offered, view

HALF = Preferences((100,), ((0, 100),), 5_000)

# One term with options worth 0, 10, ..., 100 percent: an offer is its utility in tenths.
TENTHS = brief((100,), (tuple(range(0, 101, 10)),), walk_away=0.3, turns=(10, 10))

# Four packages worth 1, 0.6, 0.4 and 0 to me, of which three reach the walk-away value.
FOUR = brief((60, 40), ((100, 0), (100, 0)), walk_away=0.3)
BEST, SECOND, THIRD, WORST = (0, 0), (0, 1), (1, 0), (1, 1)


@pytest.mark.parametrize(
    ("exponent", "floor", "when", "target"),
    [
        (1, 0.2, 0.0, 10_000),
        (1, 0.2, 0.5, 8_000),
        (1, 0.2, 1.0, 6_000),
        (0.5, 0.2, 0.5, 9_000),
        (2, 0.2, 0.25, 8_000),
        (2, 0.0, 0.25, 7_500),
        (1, 1.0, 0.7, 10_000),
    ],
)
def test_time_dependent_target(exponent: float, floor: float, when: float, target: float) -> None:
    assert time_dependent_target(HALF, exponent, floor, when) == pytest.approx(target)


def test_linear_proposes_the_least_package_that_reaches_its_target() -> None:
    # Targets 1, .93, .86, .79, .72, .65, .58, .51, .44, .37 with r = .3 and ten turns.
    agent = build(spec_of("linear", floor=0))
    sent = [offered(reply)[0] for reply in answers(agent, TENTHS, [None] * 10)]
    assert sent == [10, 10, 9, 8, 8, 7, 6, 6, 5, 4]


@pytest.mark.parametrize(
    ("acceptance", "margin", "least"),
    [("next", 0, 8), ("target", 0, 8), ("next", 0.1, 7), ("target", 0.05, 7), ("next", 0.9, 3)],
)
def test_acceptance_of_the_time_dependent(acceptance: str, margin: float, least: int) -> None:
    # On its fifth turn the target is 0.72 and the next offer worth 0.8.
    agent = build(spec_of("linear", floor=0, acceptance=acceptance, margin=margin))
    taken = []
    for offer in range(11):
        mind = agent.begin(TENTHS.role, TENTHS, None)  # type: ignore[arg-type]
        if accepts(mind.reply(view(TENTHS, 4, (offer,)))):  # type: ignore[arg-type]
            taken.append(offer)
    assert taken == list(range(least, 11))


def test_next_target_of_tit_for_tat() -> None:
    assert next_target(10_000, 2_000, 2_500, 3_000) == 8_000
    assert next_target(8_000, 2_500, 2_000, 3_000) == 10_000
    assert next_target(8_000, 2_000, 2_000, 3_000) == 8_000
    assert next_target(8_000, 1_000, 4_000, 3_000) == 3_000
    assert next_target(8_000, 0, 1_000, 3_000) == 3_000
    assert next_target(8_000, 1_000, 0, 3_000) == 10_000
    assert next_target(8_000, 0, 0, 3_000) == 8_000


def test_tit_for_tat_answers_a_concession_in_proportion() -> None:
    # They move from .4 to .5: 1 * .4/.5 = .8. From .5 to .5: stays. From .5 to .6: .8 * .5/.6 = .667,
    # for which .7 is the least package; .6 does not reach it. .6 to .7 would ask for .6: accept.
    agent = build(spec_of("tit_for_tat", floor=0))
    replies = answers(agent, TENTHS, [(4,), (5,), (5,), (6,), (7,)])
    assert [offered(reply)[0] for reply in replies[:4]] == [10, 8, 8, 7]
    assert accepts(replies[4])


def test_micro_gives_way_one_package_for_each_one_it_receives() -> None:
    # Sent 0 <= received 0: sends the best. Sent 1 > 0: repeats. A first package received, sent 1 <= 1:
    # second. The same again: sent 2 > 1, repeats one sent. Another: sent 2 <= 2, third.
    sent = [offered(reply) for reply in answers(build(spec_of("micro")), FOUR, [None, None, WORST])]
    assert sent == [BEST, BEST, SECOND]
    longer = brief((40, 30, 30), ((100, 0),) * 3, walk_away=0.35)
    # Worth 1, .7, .7, .6, .4; received are worth 0, 0 again, .3.
    offers = [(1, 1, 1), (1, 1, 1), (1, 1, 0)]
    replies = answers(build(spec_of("micro")), longer, list(offers))
    worth = [longer.preferences.points(offered(reply)) for reply in replies]
    assert worth[0] == 10_000
    assert worth[1] == 7_000
    assert worth[2] == 7_000
    assert offered(replies[2]) != offered(replies[1])


def test_micro_accepts_the_next_package_when_ready_and_the_lowest_sent_when_not() -> None:
    ready = answers(build(spec_of("micro")), FOUR, [WORST, SECOND])
    assert offered(ready[0]) == BEST
    assert accepts(ready[1])
    # After two turns with nothing received it has sent only the best; then SECOND arrives and it is
    # ready to send SECOND itself.
    assert accepts(answers(build(spec_of("micro")), FOUR, [None, None, SECOND])[2])
    # Having given way to SECOND for one package received, it is not ready when that one is repeated,
    # and takes nothing below SECOND.
    kept = answers(build(spec_of("micro")), FOUR, [THIRD, THIRD, THIRD])
    assert [accepts(reply) for reply in kept] == [False, False, False]
    assert {offered(reply) for reply in kept} == {BEST, SECOND}


def test_micro_never_goes_below_its_walk_away_value() -> None:
    told = brief((60, 40), ((100, 0), (100, 0)), walk_away=0.5)
    replies = answers(build(spec_of("micro")), told, [None, WORST, THIRD, (1, 1), WORST])
    assert {offered(reply) for reply in replies} == {BEST, SECOND}


def test_micro_refuses_large_spaces_and_says_what_to_do() -> None:
    told = brief((40, 30, 30), (tuple(range(0, 101, 10)) * 1,) * 3, 0.3)
    with pytest.raises(ValueError, match="up to 500 packages, and own has 1,331; use micro_quantile"):
        build(spec_of("micro")).begin(told.role, told, None)  # type: ignore[arg-type]


def test_quantiles_are_equally_far_apart() -> None:
    # Packages worth .3 to 1 in tenths, eight of them: places 0, 7/3, 14/3 and 7 from the top.
    mine = TENTHS.preferences
    assert quantiles(mine, 3) == ((10,), (8,), (6,), (3,))
    assert quantiles(mine, 7) == tuple((option,) for option in range(10, 2, -1))
    assert quantiles(mine, 100) == quantiles(mine, 7)


def test_micro_quantile_steps_only_for_something_new() -> None:
    agent = build(spec_of("micro_quantile", steps=7))
    replies = answers(agent, TENTHS, [(0,), (0,), (1,), (1,), (2,)])
    sent = [offered(reply)[0] for reply in replies]
    # Received 1, 1, 2, 2, 3 different packages; a step is made with 1, 2 and 3, and one at the start.
    assert min(sent) == 7
    assert len(set(sent)) == 4


def test_ladder_of_a_small_space_is_all_that_reaches_the_walk_away_value() -> None:
    rungs = ladder(FOUR.preferences)
    assert rungs.packages == (THIRD, SECOND, BEST)
    assert rungs.points == (4_000, 6_000, 10_000)
    assert rungs.at_least(4_001) == SECOND
    assert rungs.at_least(10_001) == BEST


def test_chance_of_another_turn() -> None:
    assert chance_of_another_turn(0, 6, 12) == 1
    assert chance_of_another_turn(4, 6, 12) == 1
    # With six turns used, the limit is one of seven values, of which six allow another.
    assert chance_of_another_turn(5, 6, 12) == pytest.approx(6 / 7)
    assert chance_of_another_turn(10, 6, 12) == pytest.approx(1 / 2)
    assert chance_of_another_turn(11, 6, 12) == 0
    assert chance_of_another_turn(0, 1, 1) == 0


def test_logroller_takes_anything_acceptable_on_a_last_turn_and_nothing_below() -> None:
    for offer, taken in ((2, False), (3, True)):
        mind = build(spec_of("logroller")).begin(TENTHS.role, TENTHS, None)  # type: ignore[arg-type]
        assert accepts(mind.reply(view(TENTHS, 9, (offer,)))) is taken  # type: ignore[arg-type]


def test_stall_holds_out_until_time_may_run_out() -> None:
    told = brief((100,), (tuple(range(0, 101, 10)),), walk_away=0.3, turns=(3, 5))
    replies = answers(build(spec_of("stall")), told, [(5,), (5,), (3,)])
    assert [offered(reply)[0] for reply in replies[:2]] == [10, 10]
    assert accepts(replies[2])
    replies = answers(build(spec_of("stall")), told, [(5,), (5,), (2,), (2,), (2,)])
    assert [offered(reply)[0] for reply in replies] == [10] * 5


def test_fixed_asks_for_its_share_throughout() -> None:
    # .3 + .7 * .7 = .79: it takes 8 and more, and proposes 8, 9 and 10 in turn.
    replies = answers(build(spec_of("fixed")), TENTHS, [(7,), (7,), (7,), (7,), (8,)])
    assert [offered(reply)[0] for reply in replies[:4]] == [8, 9, 10, 8]
    assert accepts(replies[4])


def test_walk_away_leaves() -> None:
    (reply,) = answers(build(spec_of("walk_away")), FOUR, [BEST])
    assert reply.action is not None
    assert reply.action.kind is ActionKind.WALK_AWAY
