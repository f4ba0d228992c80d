"""Matches in which no reply is awaited: of scripted agents and plug-ins, a batch a scenario, in this
process or in several workers."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from arena.schedule import Place
from arena.workers import Batch, Crew, Setup, Share, StopFlag, Table, WorkerDied, play_in_processes
from scenarios.scenario import Role


class Batches:
    """What is left to play of them."""

    def __init__(self, planned: Iterable[Batch], setup: Setup, table: Table, stop: StopFlag) -> None:
        """`planned` is asked for batches as they are come to. `table` is where this process plays."""
        self._setup, self._table, self._stop = setup, table, stop
        self._left = _Left(filter(None, map(self._kept, planned)))
        self._plugins = {v for v, (spec, _) in setup.agents.items() if spec.kind == "plugin"}
        self._aside = set[str]()
        self.dropped = 0
        """Matches that wait for another run, since an agent of theirs was set aside."""

    def again(self, place: Place) -> None:
        """Line up a match once more, at the end."""
        self._line_up((place,))

    def set_aside(self, version: str) -> None:
        """Begin no further match of an agent in this run; what workers have in hand is one each."""
        self._aside.add(version)
        self._left.change(self._kept)

    def play(self, workers: int, crew: Crew | None = None) -> Iterator[list[Share]]:
        """Play them by the `crew`, or here and in `workers` processes; yield what is finished, and what
        may be lined up again.

        Plug-ins are always played in worker processes, where one that hangs or crashes holds nothing up.
        Raises WorkerDied where nobody can be said to have ended a worker.
        """
        if crew or workers > 1 or self._plugins:
            crew = crew or partial(play_in_processes, self._setup)
            while self._left and not self._stop.is_set():
                try:
                    for shares in crew(self._left, workers, self._stop):
                        yield shares
                        self._put_back(shares)
                except WorkerDied as died:
                    yield from self._one_by_one(died, crew)
            return
        while self._left and not self._stop.is_set():
            shares = [self._table.play_batch(self._left.popleft(), self._stop)]
            yield shares
            self._put_back(shares)

    def _one_by_one(self, died: WorkerDied, crew: Crew) -> Iterator[list[Share]]:
        """Find out which plug-in took a worker down: each match that was under way gets a process of its
        own, and one that ends its process again is the plug-in's forfeit. Raises `died` where no
        single plug-in can be to blame."""
        if not any(self._only_plugin(batch[0]) for batch in died.suspects):
            raise died
        for first, *rest in died.suspects:
            role = self._only_plugin(first)
            self._line_up((first, *rest) if role is None else tuple(rest))
            if role is None:
                continue
            try:
                yield from crew(deque([(first,)]), 1, self._stop)
            except WorkerDied:
                yield [self._table.forfeited(first, role)]

    def _put_back(self, shares: Iterable[Share]) -> None:
        """Play next what is left of batches."""
        for share in shares:
            self._line_up(share.left, first=True)

    def _line_up(self, batch: Batch, first: bool = False) -> None:
        """Play a batch, but for matches of agents that were set aside, at the end or `first`."""
        kept = self._kept(batch)
        if kept and first:
            self._left.appendleft(kept)
        elif kept:
            self._left.append(kept)

    def _kept(self, batch: Batch) -> Batch:
        """Return a batch without the matches of agents that were set aside."""
        kept = tuple(p for p in batch if self._aside.isdisjoint(p.versions))
        self.dropped += len(batch) - len(kept)
        return kept

    def _only_plugin(self, place: Place) -> Role | None:
        """Return the side that a plug-in plays, where exactly one does."""
        sides = {Role.SELLER: place.seller_version, Role.BUYER: place.buyer_version}
        found = [role for role, version in sides.items() if version in self._plugins]
        return found[0] if len(found) == 1 else None


class _Left(deque[Batch]):
    """Batches in the order to play them in. Those of the plan, which may be very many, are asked for one
    at a time, once all before are handed out; what is appended comes after them."""

    def __init__(self, planned: Iterator[Batch]) -> None:
        super().__init__()
        self._planned = planned
        self._last = deque[Batch]()

    def __bool__(self) -> bool:
        """Return whether there are any; it is to be asked before one is taken."""
        if not len(self):
            self.extend(islice(self._planned, 1))
        if not len(self) and self._last:
            super().append(self._last.popleft())
        return len(self) > 0

    def append(self, batch: Batch) -> None:
        """Line up a batch behind all others."""
        self._last.append(batch)

    def change(self, changed: Callable[[Batch], Batch]) -> None:
        """Put in the place of each batch that was asked for what it is changed to, if to anything."""
        first, last = ([*filter(None, map(changed, queue))] for queue in (self, self._last))
        self.clear()
        self.extend(first)
        self._last = deque(last)
