"""Matches that nobody waits for: scripted agents and plug-ins, a batch a scenario, in this process or in
several workers."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby

from arena.schedule import Place
from arena.workers import Batch, Setup, Share, StopFlag, Table, WorkerDied, play_in_processes
from scenarios.scenario import Role


class Batches:
    """What is left to play of them."""

    def __init__(self, places: Iterable[Place], setup: Setup, table: Table, stop: StopFlag) -> None:
        """Places of one scenario come together. `table` is where this process plays."""
        self._setup, self._table, self._stop = setup, table, stop
        self._left: deque[Batch] = deque(
            tuple(same) for _, same in groupby(places, key=lambda place: place.scenario)
        )
        self._plugins = {v for v, (spec, _) in setup.agents.items() if spec.kind == "plugin"}

    def again(self, place: Place) -> None:
        """Line up a match once more, at the end."""
        self._left.append((place,))

    def play(self, workers: int) -> Iterator[list[Share]]:
        """Play them; yield what is finished, and what may be lined up again.

        Plug-ins are always played in worker processes, where one that hangs or crashes holds nothing up.
        Raises WorkerDied where nobody can be said to have ended a worker.
        """
        if workers > 1 or self._plugins:
            while self._left and not self._stop.is_set():
                try:
                    yield from play_in_processes(self._setup, self._left, workers, self._stop)
                except WorkerDied as died:
                    yield from self._one_by_one(died)
            return
        while self._left and not self._stop.is_set():
            share = self._table.play_batch(self._left.popleft(), self._stop)
            if share.left:
                self._left.appendleft(share.left)
            yield [share]

    def _one_by_one(self, died: WorkerDied) -> Iterator[list[Share]]:
        """Find out which plug-in took a worker down: each match that was under way gets a process of its
        own, and one that ends its process again is the plug-in's forfeit. Raises `died` where no
        single plug-in can be to blame."""
        if not any(self._only_plugin(batch[0]) for batch in died.suspects):
            raise died
        for first, *rest in died.suspects:
            role = self._only_plugin(first)
            self._left.append((first, *rest) if role is None else tuple(rest))
            if role is None:
                continue
            try:
                yield from play_in_processes(self._setup, deque([(first,)]), 1, self._stop)
            except WorkerDied:
                yield [self._table.forfeited(first, role, "the plug-in's code ended its process")]
        self._left = deque(batch for batch in self._left if batch)

    def _only_plugin(self, place: Place) -> Role | None:
        """Return the side that a plug-in plays, where exactly one does."""
        sides = {Role.SELLER: place.seller_version, Role.BUYER: place.buyer_version}
        found = [role for role, version in sides.items() if version in self._plugins]
        return found[0] if len(found) == 1 else None
