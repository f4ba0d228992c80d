"""Playing matches: at one table in this process, or in several worker processes.

A match depends on its place in the design alone, never on which process played it or when.
"""

import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, NamedTuple, Protocol

from agents.agent import Agent, Brief
from agents.build import build
from agents.occasion import OCCASION, Occasion
from agents.spec import AgentSpec, Connection
from arena.apart import ENDED, Apart, Children
from arena.children import obey_parent, signals_held_back
from arena.design import Design
from arena.drivers import MODEL_TIMEOUT_S, run, run_async
from arena.errors import UserError
from arena.measures import Yardstick
from arena.play import Game, Outcome, briefs, play
from arena.protocol import scores
from arena.record import Drawn, Played, drawn, played, utc_now
from arena.schedule import MatchKey, Place
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Role, Scenario, Split

if TYPE_CHECKING:
    from agents.language_model.gateway import Gateway

SHARE_S = 0.5
"""A worker hands over what it has played at least this often, so that it can be committed."""
CACHED_SCENARIOS = 256
PLUGIN_TIMEOUT_S = 60.0
"""A plug-in's turn, where the user set no limit."""

Batch = tuple[Place, ...]
"""Places of one scenario."""


@dataclass(frozen=True)
class Setup:
    """All that a process needs to play a design's matches. Pickles; holds no secret."""

    design: Design
    domains: Mapping[str, Domain]
    agents: Mapping[str, tuple[AgentSpec, Connection]]
    turn_timeout: float | None = None
    """Seconds a turn, as the user gave them; None: each kind of agent has its own limit."""

    @property
    def plugin_timeout(self) -> float:
        """Seconds that a turn of a plug-in may take."""
        return self.turn_timeout or PLUGIN_TIMEOUT_S

    @property
    def model_timeout(self) -> float:
        """Seconds that a turn of a language model may take."""
        return self.turn_timeout or MODEL_TIMEOUT_S


class Share(NamedTuple):
    """What came of a batch: its scenario, the matches played, and the places that are left."""

    scenario: Drawn
    rows: list[tuple[Place, Played]]
    left: Batch


class StopFlag(Protocol):
    """Anything that says whether to stop."""

    def is_set(self) -> bool:
        """Return whether to stop as soon as possible."""
        ...


Crew = Callable[[deque[Batch], int, StopFlag], Generator[list[Share]]]
"""Who plays batches elsewhere than in this process, by the contract of :func:`play_in_processes`."""


class Stop:
    """A flag for one process that a signal handler may set: unlike an Event, it has no lock."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Ask for a stop."""
        self._set = True

    def is_set(self) -> bool:
        """Return whether a stop was asked for."""
        return self._set


class Table:
    """Where matches are played: agents and scenarios, made once for a process."""

    def __init__(self, setup: Setup, gateway: "Gateway | None" = None) -> None:
        """`gateway`: how language models are reached, which all of a run share."""
        self._setup, self._gateway = setup, gateway
        self._agents: dict[str, Agent] = {}
        self._scenario = lru_cache(CACHED_SCENARIOS)(self._draw)
        self._row = lru_cache(CACHED_SCENARIOS)(
            lambda which: drawn(self._scenario(which)[0], setup.design.draw)
        )
        self.worker = str(os.getpid())
        self._plugins = {v for v, (spec, _) in setup.agents.items() if spec.kind == "plugin"}
        self._children = Children()

    def agent(self, version: str) -> Agent:
        """Return the agent with this version. Raises agents.build.UnplayableError."""
        if version not in self._agents:
            self._agents[version] = build(*self._setup.agents[version], self._gateway)
        return self._agents[version]

    def scenario(self, place: Place) -> Scenario:
        """Return the scenario at `place`."""
        return self._scenario(place.scenario)[0]

    def play_batch(self, batch: Batch, stop: StopFlag) -> Share:
        """Play places of one scenario until all are played, SHARE_S has passed, or `stop` is set; a
        match with a plug-in, which may take its time, is handed over by itself."""
        rows: list[tuple[Place, Played]] = []
        begun = time.perf_counter()
        for place in batch:
            slow = self._has_plugin(place)
            if stop.is_set() or (rows and (slow or time.perf_counter() - begun > SHARE_S)):
                break
            rows.append((place, self.play(place)))
            if slow:
                break
        return Share(self._drawn(batch[0]), rows, batch[len(rows) :])

    def play(self, place: Place) -> Played:
        """Play one match in a plain loop. Main thread only where a plug-in takes part."""
        key, game, yardstick = self._set_up(place)
        agents = {role: self.agent(version) for role, version in zip(Role, place.versions, strict=True)}
        started_at, begun = utc_now(), time.perf_counter()
        limit = self._setup.plugin_timeout if self._has_plugin(place) else None
        outcome = run(game, agents, key.rngs(), limit)
        seconds = time.perf_counter() - begun
        return played(key, outcome, yardstick, started_at, seconds, self.worker, limit)

    def forfeited(self, place: Place, role: Role) -> Share:
        """Return the match in which `role`'s own code took its process down, turns and all."""
        key, _, yardstick = self._set_up(place)
        scores_of = scores(self.scenario(place), ENDED.ending, None, role)
        outcome = Outcome(ENDED.ending, role, None, *scores_of, turns=[], detail=ENDED.detail)
        limit = self._setup.plugin_timeout
        row = played(key, outcome, yardstick, utc_now(), 0.0, self.worker, limit)
        return Share(self._drawn(place), [(place, row)], ())

    async def play_async(self, place: Place) -> Share:
        """Play one match on the running event loop, in a task of its own, with its plug-ins apart.
        Raises GivenUpError where the run cannot go on."""
        key, game, yardstick = self._set_up(place)
        limits = self._setup.plugin_timeout, self._setup.model_timeout
        OCCASION.set(Occasion(key.text, key.cell.replicate, limits[1]))
        async with AsyncExitStack() as lent:
            agents: dict[Role, Agent | Apart] = {}
            for role, version in zip(Role, place.versions, strict=True):
                if version in self._plugins:
                    child = self._children.lent(self._setup.agents[version][0])
                    agents[role] = await lent.enter_async_context(child)
                else:
                    agents[role] = self.agent(version)
            started_at, begun = utc_now(), time.perf_counter()
            outcome = await run_async(game, agents, key.rngs(), *limits)
            seconds = time.perf_counter() - begun
        limit = limits[0] if self._has_plugin(place) else limits[1]
        row = played(key, outcome, yardstick, started_at, seconds, self.worker, limit)
        return Share(self._drawn(place), [(place, row)], ())

    def close(self) -> None:
        """End the processes of plug-ins that played apart."""
        self._children.close()

    def _has_plugin(self, place: Place) -> bool:
        return not self._plugins.isdisjoint(place.versions)

    def _set_up(self, place: Place) -> tuple[MatchKey, Game, Yardstick]:
        scenario, told, yardstick = self._scenario(place.scenario)
        key = place.key(self._setup.design, scenario.key)
        return key, play(scenario, told, key.rules, key.cell.opener), yardstick

    def _draw(self, scenario: tuple[str, int, bool]) -> tuple[Scenario, dict[Role, Brief], Yardstick]:
        version, number, feasible = scenario
        domain = self._setup.domains[version]
        found = draw(domain, Split.EVAL, number, feasible)
        return found, briefs(domain, found, self._setup.design.rules), Yardstick(found)

    def _drawn(self, place: Place) -> Drawn:
        return self._row(place.scenario)


class WorkerDied(Exception):
    """A worker process ended: killed from outside, out of memory, or by a plug-in's code."""

    def __init__(self, suspects: Sequence[Batch], why: str | None = None) -> None:
        super().__init__("a worker process ended")
        self.why = why
        """In words for the user, where it is known."""
        self.suspects = suspects
        """The batches that were under way; what came of them is lost. A match with a plug-in that was
        being played stands first in its batch."""


def play_in_processes(
    setup: Setup, batches: deque[Batch], workers: int, stop: StopFlag
) -> Generator[list[Share]]:
    """Play `batches` in `workers` processes; yield what is finished, at the latest every SHARE_S.

    Whoever iterates may add to `batches`, and puts back what is left of one. After `stop` is set, what
    the workers have finished is still yielded. Raises WorkerDied, UserError where no process can be
    started, and whatever a worker raised outside a match.
    """
    context = get_context("spawn")
    others = set(multiprocessing.active_children())
    with _starting():
        halt = context.Event()
        pool = ProcessPoolExecutor(workers, context, _start, (setup, halt))
    handed: dict[Future[Share], Batch] = {}
    pending: set[Future[Share]] = set()
    try:
        while pending or (batches and not stop.is_set()):
            with _starting(), signals_held_back():  # a submission may start a process
                while batches and len(pending) < 2 * workers and not stop.is_set():
                    batch = batches.popleft()
                    future = pool.submit(_play, batch)
                    handed[future] = batch
                    pending.add(future)
            if stop.is_set():
                halt.set()
            finished, pending = wait(pending, SHARE_S, FIRST_COMPLETED)
            shares = [future.result() for future in finished]
            for future in finished:
                del handed[future]
            yield shares
            if stop.is_set() and not finished:
                break  # what runs on after half a second is a plug-in that may hang
    except BrokenProcessPool as error:
        raise WorkerDied([*handed.values()]) from error
    finally:
        halt.set()
        _end(pool, pending, others)


@contextmanager
def _starting() -> Generator[None]:
    """Say what to do where the system has no more to give for a process."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"no worker process can be started ({error.strerror}): lower --workers, or raise a user's "
            "limits of open files (ulimit -n) and processes (ulimit -u)"
        ) from error


def _end(pool: ProcessPoolExecutor, pending: set[Future[Share]], others: set[BaseProcess]) -> None:
    """End the workers, those that are still busy or still starting after a moment included."""
    # In a thread, since it may hang where a worker was killed; and to its end, as a rule, since Python
    # trips over a pool that shuts down while the interpreter does.
    shutdown = threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    shutdown.start()
    wait(pending, SHARE_S)
    for child in set(multiprocessing.active_children()) - others:
        child.kill()
    shutdown.join(SHARE_S)


_table: Table | None = None
_halt: StopFlag | None = None


def _start(setup: Setup, halt: StopFlag) -> None:
    """Make this process a worker."""
    global _table, _halt
    obey_parent()
    _table, _halt = Table(setup), halt


def _play(batch: Batch) -> Share:
    assert _table is not None
    assert _halt is not None
    try:
        return _table.play_batch(batch, _halt)
    except KeyboardInterrupt:
        os._exit(1)  # Ctrl-C is ignored here, so a plug-in raised it: as if it had ended the process
