"""What a tournament commits, and in which order."""

from arena.ledger import Ledger
from arena.record import drawn
from arena.schedule import plan
from arena.store import Filter, Store
from scenarios.draw import DRAW_VERSION
from tests.arena.store.matches import design, freeze, row


def test_no_match_is_kept_before_the_calls_it_was_played_with() -> None:
    """So that a kill between the two leaves no match whose costs nobody knows."""
    plan_of, kept = design(), []
    with Store.open("sqlite://") as store:
        scenarios = freeze(store, plan_of)
        with Ledger(store, beside=lambda: kept.append(store.count(Filter()))) as ledger:
            for place in list(plan(plan_of))[:2]:
                scenario = scenarios[place.scenario]
                ledger.add(drawn(scenario, DRAW_VERSION), row(plan_of, place, scenario))
                ledger.flush()
        assert kept == [0, 1, 2]
        assert store.count(Filter()) == 2
