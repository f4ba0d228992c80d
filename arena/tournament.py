"""A tournament: plays what a design plans and the store does not hold yet, and commits as it goes.

It can be killed at any moment: what is committed stays, and the next run of the same design plays the
rest. One process writes; scripted pairs are played here or in worker processes, pairs with a language
model on one event loop.
"""

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from agents.agent import Trouble
from agents.build import UnplayableError
from agents.language_model.gateway import Gateway
from agents.language_model.library import loaded
from agents.language_model.serving import Servers
from arena.batches import Batches
from arena.conversations import converse, waits
from arena.deviations import Frozen, freeze
from arena.errors import UserError
from arena.interruption import interruptible
from arena.journal import Journal
from arena.ledger import Ledger
from arena.lineup import Lineup
from arena.order import in_order
from arena.play import briefs
from arena.protocol import Ending
from arena.record import Played
from arena.replays import replays, with_replays
from arena.schedule import Place, plan, planned
from arena.serving import servings
from arena.spending import Spending
from arena.store import Store
from arena.summary import Cause, Summary
from arena.tally import Aside, count, tallies
from arena.workers import (
    Setup,
    Share,
    Stop,
    Table,
    WorkerDied,
)
from scenarios.draw import DrawError, draw
from scenarios.scenario import Role, Split

TRIES = 4
"""A match is tried at most this often: once, and three times more after a void."""
MORE_TRIES = 3
"""What --retry-voids grants beyond the attempts made so far."""
PAUSE_AFTER = 5
"""An agent whose provider failed so many matches in a row plays no more in this run."""
ASKED_AT_ONCE = 16
"""Matches under way at once where a provider answers: more would run into its limits of rate."""
BATCHED_AT_ONCE = 64
"""Where weights on this machine answer: as many as their largest batch has rows."""
MATCHES_A_WORKER = 300
"""A worker process is started for every so many matches, unless the user says how many."""


@dataclass(frozen=True)
class Settings:
    """How a tournament is run; no part of the design. A turn's timeout and a cache may change what comes
    out, and receipts and rows say so; a budget, how far it comes."""

    workers: int | None = None
    """Processes for scripted pairs; None: as the cores and the number of matches suggest."""
    concurrency: int | None = None
    """Matches with a language model that are under way at once; None: as fits who plays."""
    turn_timeout: float | None = None
    retry_voids: bool = False
    drift: float = 0.0
    """Share of a base's cells that are replayed with every block (`arena.replays`); 0: none are."""
    servers: int | None = None
    """How many servers that agents need the arena may run at once; None: it starts none."""
    budget: float | None = None
    """US dollars that all runs of the design together may spend at providers; None: any number."""
    allow_unpriced: bool = False
    """Whether agents whose price is not known play outside the budget."""
    cache: bool = False
    """Whether a request that was answered before is answered from the store."""


class Tournament:
    """One run of a line-up's design against a store."""

    def __init__(
        self,
        store: Store,
        lineup: Lineup,
        settings: Settings | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Look up what is played already; nothing is written before :meth:`run`, which gives `tell`
        lines on the servers that it starts."""
        self._store, self._lineup = store, lineup
        self._design = lineup.design
        self.settings = settings or Settings()
        scored, withdrawn, voids = store.places(self._design)
        more = {place: tried + MORE_TRIES for place, tried in voids.items()}
        self._tries = Counter(voids)
        self._allowed = more if self.settings.retry_voids else {}
        done = scored | withdrawn
        unplayed = [place for place in plan(self._design) if place not in done]
        todo = [place for place in unplayed if self._may_try(place)]
        self.spending = Spending(store, self._design.hash, self.settings.budget, self.settings.cache)
        self.summary = Summary(
            design=self._design.hash,
            planned=planned(self._design),
            already=len(scored),
            void=len(unplayed) - len(todo),
            withdrawn=len(withdrawn),
            tallies=tallies(self._design, lineup.agents, scored, self.spending.accounts),
        )
        self._servings = servings(lineup.agents)
        at_once = self.settings.servers
        self._servers = None if at_once is None else Servers(at_once, tell)
        self._waiting_agents = self._find_waiting()
        self._waits = {place for place in todo if self._is_waiting(place)}
        self._replays: set[Place] = set()
        self._queue = self._with_replays(self._lined_up())
        quick = [place for place in todo if place not in self._waits]
        self.quick, self.waiting, self.replays = len(quick), len(self._waits), len(self._replays)
        self._journal: Journal | None = None
        self._stop = Stop()
        self._failures: Counter[str] = Counter()
        self._table = Table(self._setup(), Gateway(self.spending, self._servers))
        self._batches = Batches(quick, self._setup(), self._table, self._stop)

    @property
    def workers(self) -> int:
        """Processes that pairs without a language model are played in; 1 means this one, if all are
        scripted."""
        if self.settings.workers is not None:
            return self.settings.workers
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, min(cores or 1, self.quick // MATCHES_A_WORKER))

    @property
    def concurrency(self) -> int:
        """Matches with a language model that are under way at once."""
        if self.settings.concurrency is not None:
            return self.settings.concurrency
        return BATCHED_AT_ONCE if self._waiting_kinds == {"local"} else ASKED_AT_ONCE

    @property
    def remote(self) -> set[str]:
        """Versions of the agents that a provider serves, so that they may change over time."""
        models = {v for v, agent in self._lineup.agents.items() if agent.spec.kind == "model"}
        return models - self._servings.keys()

    @property
    def _waiting_kinds(self) -> set[str]:
        return {self._lineup.agents[version].spec.kind for version in self._waiting_agents}

    def matches_of(self) -> Counter[str]:
        """Count the matches that wait to be played, replays too, by agent version, a side at a time."""
        return Counter(v for place in self._queue for v in (place.seller_version, place.buyer_version))

    def freeze(self, reason: str | None = None) -> Frozen:
        """Freeze the design, unless it was before, and log what it changes of earlier ones, with the
        `reason`."""
        specs = [agent.spec for agent in self._lineup.agents.values()]
        return freeze(self._store, self._design, specs, self._lineup.domains.values(), reason)

    def run(
        self,
        tick: Callable[[Summary], None] = lambda summary: None,
        journal: Journal | None = None,
    ) -> Summary:
        """Freeze the design, play what is left, and return what came of it.

        `tick` is called often, in this thread. The `journal` is told of every match, of agents set aside
        and of the run itself being given up. Returns early, with what was played committed, on
        Ctrl-C or SIGTERM, when a worker process dies, and when a bug of the harness shows itself.
        Raises UserError where an agent or a domain turns out to be unplayable.
        """
        begun = time.perf_counter()
        self._journal = journal
        self.freeze()
        with interruptible(self._interrupt), Ledger(self._store, self.spending.flush) as ledger:

            def pulse() -> None:
                ledger.flush_if_due()
                self.summary.seconds = time.perf_counter() - begun
                tick(self.summary)

            try:
                self._play(ledger, pulse)
            except WorkerDied:
                self.summary.end_early(Cause.WORKER, self._why_a_worker_died())
            except (UnplayableError, DrawError) as error:
                raise UserError(str(error)) from error
        self.summary.seconds = time.perf_counter() - begun
        return self.summary

    def stop(self) -> None:
        """End the run soon, in good order, as a signal would."""
        self._stop.set()

    def _play(self, ledger: Ledger, pulse: Callable[[], None]) -> None:
        for shares in self._batches.play(self.workers):
            for share in shares:
                self._take(share, ledger)
            pulse()
        if not self._queue or self._stop.is_set():
            return
        take, hold = lambda share: self._take(share, ledger), self._hold
        matches = (self._table, self._queue, self.concurrency)
        try:
            with loaded() if "model" in self._waiting_kinds else nullcontext():
                asyncio.run(converse(*matches, self._stop, take, self._give_up, pulse, hold))
        finally:
            if self._servers is not None:
                self._servers.close()

    def _hold(self, place: Place) -> AbstractAsyncContextManager[None]:
        """Return what keeps the servers that a match needs."""
        sides = {place.seller_version, place.buyer_version} & self._servings.keys()
        needed = {self._servings[version] for version in sides}
        return nullcontext() if self._servers is None else self._servers.held(needed)

    def _give_up(self, why: str) -> None:
        """End the run where it cannot go on; what is under way is left to be played."""
        if self._journal is not None and self.summary.cause is None:
            self._journal.write("given_up", detail=why)
        self.summary.end_early(Cause.GIVEN_UP, why)
        self._stop.set()

    def _setup(self) -> Setup:
        agents = {v: (agent.spec, agent.connection) for v, agent in self._lineup.agents.items()}
        return Setup(self._design, self._lineup.domains, agents, self.settings.turn_timeout)

    def _why_a_worker_died(self) -> str:
        plugins = [agent.name for agent in self._lineup.agents.values() if agent.spec.kind == "plugin"]
        memory = "there was too little memory (--workers sets how many there are)"
        if not plugins:
            return f"a worker process was killed, most likely because {memory}"
        return f"a worker process ended: {memory}, or a plug-in ends its process ({', '.join(plugins)})"

    def _find_waiting(self) -> set[str]:
        """Return the versions of agents whose replies are awaited."""
        domain = next(iter(self._lineup.domains.values()))
        told = briefs(domain, draw(domain, Split.EVAL, 0), self._design.rules)[Role.SELLER]
        limit = self._setup().plugin_timeout
        return {v for v, agent in self._lineup.built.items() if waits(agent, told, limit)}

    def _lined_up(self) -> deque[Place]:
        """Return the matches to play that wait, in the order to play them in."""
        if not self._waits:
            return deque()
        planned = [place for place in plan(self._design) if self._is_waiting(place)]
        return deque(place for place in in_order(planned, self._lineup.agents) if place in self._waits)

    def _with_replays(self, queue: deque[Place]) -> deque[Place]:
        """Return the queue with the replays that were asked for and are not played yet."""
        if not self.settings.drift:
            return queue
        scored, voids = self._store.replay_places(self._design)
        self._tries |= voids
        if self.settings.retry_voids:
            self._allowed |= {place: tried + MORE_TRIES for place, tried in voids.items()}
        asked = replays(self._design, self.remote, self.settings.drift)
        again = {
            block: [place for place in places if place not in scored and self._may_try(place)]
            for block, places in asked.items()
        }
        self._replays = {place for places in again.values() for place in places}
        return with_replays(queue, again, self._design, self.remote)

    def _is_waiting(self, place: Place) -> bool:
        return bool({place.seller_version, place.buyer_version} & self._waiting_agents)

    def _may_try(self, place: Place) -> bool:
        return self._tries[place] < max(TRIES, self._allowed.get(place, 0))

    def _take(self, share: Share, ledger: Ledger) -> None:
        """Count and keep what was played, and line up voids to be tried again."""
        for place, row in share.rows:
            replay = place in self._replays
            count(self.summary.tallies, row, planned=not replay)
            if self._journal is not None:
                self._journal.match(share.scenario.label, row, replay=replay)
            if Ending(row.ending).void:
                ledger.add_void(share.scenario, row)
                self._take_void(place, row)
                continue
            ledger.add(share.scenario, row)
            self.summary.played += not replay
            self.summary.replayed += replay
            self._failures[row.seller_version] = self._failures[row.buyer_version] = 0

    def _take_void(self, place: Place, row: Played) -> None:
        """Count a void attempt against its match, and line the match up again where that may help."""
        self._tries[place] += 1
        if row.ending == Ending.HARNESS_ERROR:
            words = f"a bug of bargaining-arena in match {row.key}: {row.detail}"
            self.summary.end_early(Cause.BUG, words)
            self._stop.set()
            return
        at_fault = row.seller_version if row.at_fault == Role.SELLER else row.buyer_version
        self._count_failure(at_fault, row)
        sides = (self.summary.tallies.get(v) for v in (row.seller_version, row.buyer_version))
        if not self._may_try(place):
            self.summary.void += place not in self._replays
        elif place not in self._waits and place not in self._replays:
            self._batches.again(place)
        elif any(tally is not None and tally.set_aside for tally in sides):
            self.summary.dropped += place not in self._replays
        else:
            self._queue.append(place)

    def _count_failure(self, version: str, row: Played) -> None:
        """Take the agent's matches out of this run's queue: at once where trying again is useless, else
        after too many failures in a row."""
        self._failures[version] += 1
        trouble = None if row.trouble is None else Trouble(row.trouble)
        tally = self.summary.tallies[version]
        if tally.set_aside is None:
            permanent = trouble is not None and trouble.permanent
            if not permanent and self._failures[version] < PAUSE_AFTER:
                return
            tally.set_aside = Aside(row.detail, trouble)
            if self._journal is not None:
                self._journal.set_aside(tally)
        kept = [p for p in self._queue if version not in (p.seller_version, p.buyer_version)]
        gone = [p for p in self._queue if version in (p.seller_version, p.buyer_version)]
        self.summary.dropped += sum(place not in self._replays for place in gone)
        self._queue.clear()
        self._queue.extend(kept)

    def _interrupt(self) -> None:
        self.summary.interrupted = True
        self._stop.set()
