"""A tournament: plays what a design plans and the store does not hold yet, and commits as it goes.

It can be killed at any moment: what is committed stays, and the next run of the same design plays the
rest. One process writes; scripted pairs are played here or in worker processes, pairs with a language
model on one event loop.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext

import numpy as np

from agents.agent import BudgetSpentError, GivenUpError, Trouble
from agents.build import UnplayableError
from agents.language_model.gateway import Gateway
from agents.language_model.kept_up import News
from agents.language_model.library import loaded
from agents.language_model.serving import Servers, Serving
from arena.batches import Batches
from arena.conversations import converse
from arena.deviations import Frozen, freeze
from arena.errors import UserError
from arena.interruption import interruptible
from arena.journal import Journal
from arena.ledger import Ledger
from arena.lineup import Lineup
from arena.on_ray import crew_on_ray
from arena.patience import Patience
from arena.protocol import Ending
from arena.record import Played
from arena.replays import replays
from arena.schedule import Place, Plan
from arena.serving import servings
from arena.settings import Settings
from arena.spending import Spending
from arena.store import Store, StoreError
from arena.summary import Cause, Summary
from arena.tally import Aside, count, tallies
from arena.waiting import Attempts, Waiting, awaited
from arena.workers import Crew, Setup, Share, Stop, Table, WorkerDied
from scenarios.draw import DrawError
from scenarios.scenario import Role

ASIDE_AFTER = 5
"""An agent whose provider failed so many matches in a row plays no more in this run."""
ASKED_AT_ONCE = 16
"""Matches under way at once where a provider answers: more would run into its limits of rate."""
BATCHED_AT_ONCE = 64
"""Where weights on this machine answer: as many as their largest batch has rows."""
MATCHES_A_WORKER = 300
"""A worker process is started for every so many matches, unless the user says how many."""


class Tournament:
    """One run of a line-up's design against a store."""

    def __init__(
        self,
        store: Store,
        lineup: Lineup,
        settings: Settings | None = None,
        tell: Callable[[Serving, News], None] = lambda serving, news: None,
    ) -> None:
        """Look up what is played already; nothing is written before :meth:`run`, which gives `tell`
        what becomes of the servers that it starts."""
        self._store, self._lineup = store, lineup
        self._design = lineup.design
        self.settings = settings or Settings()
        plan, now = Plan(self._design), store.standing(self._design)
        self.last_run = store.last_run(self._design.hash)
        self._attempts = Attempts(self.settings.retry_voids)
        self._attempts.before(now.voids)
        given_up = [place for place in now.voids if not self._attempts.left(place)]
        todo_M = ~(now.scored_M | now.withdrawn_M)
        todo_M[[plan.position(place) for place in given_up]] = False
        asked = (self.settings.budget, self.settings.cache, self.settings.drift)
        self._void_so_far = now.voids.keys() - given_up
        self._patience = Patience(self._away)
        self.spending = Spending(store, self._design.hash, *asked, self._patience)
        self.summary = Summary(
            design=self._design.hash,
            planned=len(plan),
            already=int(np.count_nonzero(now.scored_M)),
            void=len(given_up),
            withdrawn=int(np.count_nonzero(now.withdrawn_M)),
            tallies=tallies(
                self._design, lineup.agents, plan.matches_of(now.scored_M), self.spending.accounts
            ),
        )
        self._servings = servings(lineup.agents)
        at_once = self.settings.servers
        self._servers = None if at_once is None else Servers(at_once, tell)
        agents = awaited(lineup, self._setup().plugin_timeout)
        self._waiting = Waiting(lineup, agents, todo_M, self._replays_left(), self.remote)
        quick_M = todo_M & ~plan.seated_M(agents)
        self.quick, self.waiting = int(np.count_nonzero(quick_M)), self._waiting.planned
        self.replays = len(self._waiting.replays)
        self._journal: Journal | None = None
        self._tick: Callable[[Summary], None] = lambda summary: None
        self._stop = Stop()
        self._failures: Counter[str] = Counter()
        self._gateway = Gateway(self.spending, self._servers)
        self._patient = True
        """Whether answers under way are waited for when the run is interrupted."""
        self._table = Table(self._setup(), self._gateway)
        self._batches = Batches(plan.batches(quick_M), self._setup(), self._table, self._stop)

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
        return BATCHED_AT_ONCE if self._waiting.kinds == {"local"} else ASKED_AT_ONCE

    @property
    def remote(self) -> set[str]:
        """Versions of the agents that a provider serves, so that they may change over time."""
        models = {v for v, agent in self._lineup.agents.items() if agent.spec.kind == "model"}
        return models - self._servings.keys()

    def matches_of(self) -> Counter[str]:
        """Count the matches that wait to be played, replays too, by agent version, a side at a time."""
        return self._waiting.matches_of()

    def matches_on(self) -> Counter[tuple[str, str]]:
        """Count the same by agent version and domain version."""
        return self._waiting.matches_on()

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
        Ctrl-C or SIGTERM, when a worker process dies, and when a bug of the harness shows itself; with
        what could be committed, where the database cannot be written to any more. Raises UserError
        where an agent or a domain turns out to be unplayable.
        """
        begun = time.perf_counter()
        self._journal, self._tick = journal, tick
        self.freeze()
        ledger = Ledger(self._store, self.spending.flush, self._patience)

        def pulse() -> None:
            ledger.flush_if_due()
            self._note(begun)
            tick(self.summary)

        try:
            with interruptible(self._interrupt), ledger:
                try:
                    self._play(ledger, pulse)
                except WorkerDied as died:
                    self.summary.end_early(Cause.WORKER, died.why or self._why_a_worker_died())
                except (UnplayableError, DrawError) as error:
                    raise UserError(str(error)) from error
        except StoreError as error:
            self.summary.lose(ledger.unwritten)
            lost = len(ledger.unwritten)
            self._end(f"{error} (finished, but not written: {lost:,})" if lost else str(error))
        self._note(begun)
        return self.summary

    def stop(self) -> None:
        """End the run soon, in good order, as a signal would."""
        self._stop.set()

    def _note(self, begun: float) -> None:
        """Bring up to date what the summary says of the run as a whole."""
        self.summary.seconds = time.perf_counter() - begun
        self.summary.void_so_far = len(self._void_so_far)
        self.summary.dropped = self._waiting.dropped
        self.summary.dropped_quick = self._batches.dropped

    def _play(self, ledger: Ledger, pulse: Callable[[], None]) -> None:
        with self._crew() as (workers, crew):
            for shares in self._batches.play(workers, crew):
                for share in shares:
                    self._take(share, ledger)
                pulse()
        if not self._waiting.queue or self._stop.is_set():
            return
        take, hold = lambda share: self._take(share, ledger), self._hold
        matches = (self._table, self._waiting.queue, self.concurrency)
        try:
            with loaded() if "model" in self._waiting.kinds else nullcontext():
                asyncio.run(
                    converse(*matches, self._stop, take, self._give_up, pulse, hold, self._awaited)
                )
        finally:
            self._table.close()
            if self._servers is not None:
                self._servers.close()

    def _crew(self) -> AbstractContextManager[tuple[int, Crew | None]]:
        """Return what keeps those who play matches in which nothing is awaited: how many, and who."""
        settings = self.settings
        if settings.on_ray and self.quick:
            return crew_on_ray(self._setup(), settings.ray_address, settings.workers)
        return nullcontext((self.workers, None))

    def _hold(self, place: Place) -> AbstractAsyncContextManager[None]:
        """Return what keeps the servers that a match needs."""
        needed = {self._servings[v] for v in place.versions if v in self._servings}
        return nullcontext() if self._servers is None else self._servers.held(needed)

    def _give_up(self, place: Place, error: GivenUpError) -> None:
        """Leave a match to be played, and with it all of an agent's that a budget does not suffice for;
        end the run where nothing can go on."""
        if isinstance(error, BudgetSpentError):
            self._set_aside(error.agent, Aside(str(error), spent=True))
            self._waiting.again(place)  # for another run
            return
        self._end(str(error))

    def _end(self, why: str) -> None:
        """End a run that cannot go on, in good order."""
        if self._journal is not None and self.summary.cause is None:
            self._journal.write("given_up", detail=why)
        self.summary.end_early(Cause.GIVEN_UP, why)
        self._stop.set()

    def _away(self, why: str | None) -> None:
        """Tell that the database cannot be used for a while, and when it can again."""
        news = (why is None) is not (self.summary.away is None)
        self.summary.away = why
        if news and self._journal is not None:
            self._journal.write("database_back" if why is None else "database_away", detail=why)
        self._tick(self.summary)

    def _setup(self) -> Setup:
        agents = {v: (agent.spec, agent.connection) for v, agent in self._lineup.agents.items()}
        return Setup(self._design, self._lineup.domains, agents, self.settings.turn_timeout)

    def _why_a_worker_died(self) -> str:
        plugins = [agent.name for agent in self._lineup.agents.values() if agent.spec.kind == "plugin"]
        memory = "there was too little memory (--workers sets how many there are)"
        if not plugins:
            return f"a worker process was killed, most likely because {memory}"
        return f"a worker process ended: {memory}, or a plug-in ends its process ({', '.join(plugins)})"

    def _replays_left(self) -> dict[int, list[Place]]:
        """Return the replays that were asked for and are not played yet, by the block they follow."""
        if not self.settings.drift:
            return {}
        scored, voids = self._store.replay_places(self._design)
        self._attempts.before(voids)
        asked = replays(self._design, self.remote, self.settings.drift)
        return {
            block: [place for place in places if place not in scored and self._attempts.left(place)]
            for block, places in asked.items()
        }

    def _take(self, share: Share, ledger: Ledger) -> None:
        """Count and keep what was played, and line up voids to be tried again."""
        for place, row in share.rows:
            self.spending.ended(row.key)
            replay = place in self._waiting.replays
            count(self.summary.tallies, row, planned=not replay)
            if self._journal is not None:
                self._journal.match(share.scenario.label, row, replay=replay)
            if Ending(row.ending).void:
                ledger.add_void(share.scenario, row)
                self._take_void(place, row)
                continue
            ledger.add(share.scenario, row)
            self._void_so_far.discard(place)
            self.summary.played += not replay
            self.summary.replayed += replay
            self._failures[row.seller_version] = self._failures[row.buyer_version] = 0

    def _take_void(self, place: Place, row: Played) -> None:
        """Count a void attempt against its match, and line the match up again where that may help."""
        self._attempts.failed(place)
        if row.ending == Ending.HARNESS_ERROR:
            words = f"a bug of bargaining-arena in match {row.key}: {row.detail}"
            self.summary.end_early(Cause.BUG, words)
            self._stop.set()
            return
        at_fault = row.seller_version if row.at_fault == Role.SELLER else row.buyer_version
        self._count_failure(at_fault, row)
        if place not in self._waiting.replays:
            self._void_so_far.add(place)
        if not self._attempts.left(place):
            self.summary.void += place not in self._waiting.replays
            self._void_so_far.discard(place)
        elif place in self._waiting:
            self._waiting.again(place)
        else:
            self._batches.again(place)

    def _count_failure(self, version: str, row: Played) -> None:
        """Set the agent aside for the rest of this run: at once where trying again is useless, else
        after too many failures in a row."""
        self._failures[version] += 1
        trouble = None if row.trouble is None else Trouble(row.trouble)
        if (trouble and trouble.permanent) or self._failures[version] >= ASIDE_AFTER:
            self._set_aside(version, Aside(row.detail, trouble))

    def _set_aside(self, version: str, why: Aside) -> None:
        """Play no further match of an agent in this run."""
        tally = self.summary.tallies[version]
        if tally.set_aside is None:
            tally.set_aside = why
            self._waiting.set_aside(version)
            self._batches.set_aside(version)
            if self._journal is not None:
                self._journal.set_aside(tally)

    def _interrupt(self) -> bool:
        """Stop, once the answers under way are there; asked again, without them. Return whether that
        changes anything."""
        first, waited = not self.summary.interrupted, self._patient and self.summary.awaited > 0
        self._patient = first
        self.summary.interrupted = True
        self._gateway.close()
        self._stop.set()
        return first or waited

    def _awaited(self) -> int:
        """Return how many answers are waited for, though the run is to stop."""
        patient = self.summary.interrupted and self._patient
        self.summary.awaited = self._gateway.under_way if patient else 0
        return self.summary.awaited
