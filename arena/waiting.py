"""The matches that wait for answers from elsewhere, and how often a match may be tried."""

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import chain

import numpy as np

from arena.conversations import waits
from arena.lineup import Lineup
from arena.order import in_order
from arena.play import briefs
from arena.replays import with_replays
from arena.results import BoolArray
from arena.schedule import Place, Plan
from scenarios.draw import draw
from scenarios.scenario import Role, Split

MOST_ATTEMPTS = 4
"""A match is tried at most this often: once, and three times more after a void."""
MORE_ATTEMPTS = 3
"""What --retry-voids grants beyond the attempts made so far."""


class Attempts:
    """How often matches were tried and were void, and which may be tried again."""

    def __init__(self, retry: bool) -> None:
        """With `retry`, what was void before is granted MORE_ATTEMPTS."""
        self._retry = retry
        self._tried: Counter[Place] = Counter()
        self._granted: dict[Place, int] = {}

    def before(self, voids: Mapping[Place, int]) -> None:
        """Take void attempts of earlier runs."""
        self._tried.update(voids)
        if self._retry:
            self._granted |= {place: tried + MORE_ATTEMPTS for place, tried in voids.items()}

    def failed(self, place: Place) -> None:
        """Take one void attempt of this run."""
        self._tried[place] += 1

    def left(self, place: Place) -> bool:
        """Return whether a match may be tried, or tried again."""
        return self._tried[place] < max(MOST_ATTEMPTS, self._granted.get(place, 0))


def awaited(lineup: Lineup, limit: float) -> set[str]:
    """Return the versions of the agents whose replies are awaited; a plug-in has `limit` seconds to
    begin the match that shows it."""
    domain = next(iter(lineup.domains.values()))
    told = briefs(domain, draw(domain, Split.EVAL, 0), lineup.design.rules)[Role.SELLER]
    return {version for version, agent in lineup.built.items() if waits(agent, told, limit)}


class Waiting:
    """The matches of some agents that wait, in the order to play them in, with replays among them."""

    def __init__(
        self,
        lineup: Lineup,
        agents: Collection[str],
        todo_M: BoolArray,
        replays: Mapping[int, Collection[Place]],
        remote: Collection[str],
    ) -> None:
        """Of what is left of the plan, marked by position, take the matches in which one of `agents`
        plays; put `replays` behind the blocks that they follow, counted over the matches of `remote`
        agents."""
        self._agents, self._aside = set(agents), set[str]()
        seated_M = Plan(lineup.design).seated_M(self._agents)
        self.planned = int(np.count_nonzero(todo_M & seated_M))
        self.replays = {place for places in replays.values() for place in places}
        self.kinds = {lineup.agents[version].spec.kind for version in agents}
        """Of the agents whose replies are awaited."""
        self.dropped = 0
        """Planned matches that wait for another run, since an agent of theirs was set aside."""
        self.queue = with_replays(_in_order(lineup, todo_M, seated_M), replays, lineup.design, remote)

    def __contains__(self, place: Place) -> bool:
        return not self._agents.isdisjoint(place.versions)

    def matches_of(self) -> Counter[str]:
        """Count what is queued, replays too, by agent version, a side at a time."""
        return Counter(version for place in self.queue for version in place.versions)

    def matches_on(self) -> Counter[tuple[str, str]]:
        """Count the same by agent version and domain version."""
        return Counter(
            (version, place.domain_version) for place in self.queue for version in place.versions
        )

    def again(self, place: Place) -> None:
        """Line up a match once more, at the end."""
        if not self._aside.isdisjoint(place.versions):
            self._drop([place])
        else:
            self.queue.append(place)

    def set_aside(self, version: str) -> None:
        """Play no further match of an agent in this run."""
        self._aside.add(version)
        self._drop([place for place in self.queue if version in place.versions])
        kept = [place for place in self.queue if version not in place.versions]
        self.queue.clear()
        self.queue.extend(kept)

    def _drop(self, places: Collection[Place]) -> None:
        self.dropped += sum(place not in self.replays for place in places)


def _in_order(lineup: Lineup, todo_M: BoolArray, seated_M: BoolArray) -> list[Place]:
    """Return what is left of the matches that wait, in the order to play them in."""
    if not (todo_M & seated_M).any():
        return []
    # Blocks are counted over the whole plan, whatever of it is played already.
    plan = Plan(lineup.design)
    whole = in_order(chain.from_iterable(plan.batches(seated_M)), lineup.agents)
    return [place for place in whole if todo_M[plan.position(place)]]
