"""What a tournament says of money: before it plays, and when it ends under a budget."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from arena.budget import elsewhere_words
from arena.estimate import Estimate, estimates, total, unpriced
from arena.lineup import Lineup
from arena.money import dollars, usd
from arena.printable import plain
from arena.registry import costs_money
from arena.results import LastRun
from arena.store import Store
from arena.tournament import Tournament
from leaderboard.wording import counted, listed

FEW = 3
"""So many agents have a line each; of more, those that cost the same share one."""
LINES = 10
"""Of costs there are at most so many lines, and LINES // 3 of what they rest on."""


def cost_lines(store: Store, tournament: Tournament, lineup: Lineup) -> Iterator[str]:
    """Yield what a run will cost, on what basis, and whether its budget is likely to do; nothing where
    no provider is asked."""
    found = estimates(store, lineup, tournament.matches_on())
    near = [one for one in found if one.cost_usd is None and not costs_money(lineup.agents[one.version])]
    if near:
        yield f"  cost:    no price given for {listed([one.agent for one in near])}: tokens only"
    found = [one for one in found if one not in near]
    known = [one.cost_usd for one in found if one.cost_usd is not None]
    if len(found) <= FEW:
        for one in found:
            yield f"  cost:    {plain(one.agent)}: {_cost(one)} ({one.basis})"
    else:
        yield from _alike(found)
    if len(found) > 1 and known:
        beside = "" if len(known) == len(found) else ", beside what is not known"
        yield f"  cost:    about {dollars(sum(known))} in all{beside}"
    if (found or near) and tournament.spending.budget.ceiling is not None:
        yield f"  budget:  {_budget(tournament, lineup, found)}"
    elif (forgotten := forgotten_budget(tournament)) is not None:
        yield f"  budget:  {forgotten}"


def forgotten_budget(tournament: Tournament) -> str | None:
    """Say which budget the design was last run under, and what is to be said of it again; None where it
    was run under none, that was done, or no provider is asked any more."""
    last, settings = tournament.last_run.budget_usd, tournament.settings
    said = settings.budget is not None or settings.unlimited
    if last is None or said or not tournament.remote & tournament.matches_of().keys():
        return None
    gone, again = dollars(usd(tournament.spending.budget.gone)), LastRun(last).options.strip()
    return (
        f"the last run of this design had a budget of {dollars(last)} for all its runs, and {gone} of "
        f"it is gone: add {again} again, or a higher one, or --budget none to play on without one"
    )


def budget_line(tournament: Tournament) -> str | None:
    """Say what is gone of a budget; None where there is none."""
    budget = tournament.spending.budget
    if budget.ceiling is None:
        return None
    budget.refresh()
    unknown = f" (up to {dollars(usd(budget.unknown))} of it on calls of unknown outcome)"
    return (
        f"Budget: {dollars(usd(budget.gone))} of {dollars(usd(budget.ceiling))} is gone"
        f"{unknown if budget.unknown else ''}{elsewhere_words(budget.elsewhere.reserved)}."
    )


def _cost(one: Estimate) -> str:
    cost = "not known" if one.cost_usd is None else f"about {dollars(one.cost_usd)}"
    return f"{cost} for {counted(one.matches, 'match', 'matches')}"


def _alike(found: Sequence[Estimate]) -> Iterator[str]:
    """Yield a line for all agents that cost the same, the dearest first after those whose price is not
    known, and then one for all whose costs rest on the same."""
    dearest = sorted(found, key=lambda one: (one.cost_usd is not None, -(one.cost_usd or 0.0)))
    costs, bases = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for one in dearest:
        costs[_cost(one)].append(one.agent)
        bases[one.basis].append(one.agent)
    yield from _shared("cost:    ", [*costs.items()], LINES)
    yield from _shared("basis:   ", sorted(bases.items(), key=lambda one: -len(one[1])), LINES // 3)


def _shared(heading: str, agents: Sequence[tuple[str, list[str]]], most: int) -> Iterator[str]:
    """Yield what agents have in common, for the first `most` groups of them."""
    for what, names in agents[:most]:
        each = "each of " if len(names) > 1 else ""
        yield f"  {heading}{what}: {each}{listed(names, LINES)}"
    if left := sum(len(names) for _, names in agents[most:]):
        yield f"  {heading}{counted(left, 'more agent')}: --dry-run --json has them all"


def _budget(tournament: Tournament, lineup: Lineup, found: list[Estimate]) -> str:
    budget = tournament.spending.budget
    assert budget.ceiling is not None
    left = usd(max(0, budget.ceiling - budget.elsewhere.charged))
    gone = f", {dollars(usd(budget.gone))} of it gone" if budget.gone else ""
    gone += elsewhere_words(budget.elsewhere.reserved)
    said = f"{dollars(usd(budget.ceiling))} over all runs of this design{gone}"
    if names := unpriced(lineup.agents.values()):
        outside = listed(names)
        allowed = tournament.settings.allow_unpriced
        said += f"; {outside} {'is outside it' if allowed else 'needs --allow-unpriced or prices'}"
    cost = total(one for one in found if one.cost_usd is not None)
    if not cost:
        return said
    if cost <= left:
        return f"{said}; likely to do"
    return f"{said}; likely too little: what it does not suffice for waits for a higher one"
