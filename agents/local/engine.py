"""Engines: they gather the waiting turns of many matches, and answer them in batches.

A tournament of a base and its checkpoints interleaves their matches, and not all of their weights fit
into memory at once. So a model that is in memory is asked as long as any match waits for it, and the
next one is loaded after that. Whoever has waited for PATIENCE_S comes first, but no sooner than that
after the last loading: else, once all have waited so long, every single batch would cost a loading.
"""

import asyncio
import os
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar

from agents.agent import ProviderError, Trouble
from agents.local.dialogue import Ids
from agents.local.request import Backend, Request
from agents.local.weights import Weights, WeightsError, check

BACKEND = "ARENA_LOCAL_BACKEND"
"""The environment variable that chooses what runs the weights: vllm or transformers."""
MODELS = "ARENA_LOCAL_MODELS"
"""The environment variable with the number of models to keep in memory."""
FEWEST = 2
"""Kept in memory where it is not set: a match between two local models needs both on every turn."""
PATIENCE_S = 60.0
CANNOT_LOAD = (ValueError, OSError, RuntimeError, KeyError, ImportError)
"""What bringing weights into memory raises where it is the weights, the memory, a library or a server
that will not do; anything else is a bug of ours."""
_QUIET = 20
"""Rounds of the event loop without a new request, after which nobody else is about to ask. From an
answer to the next question of the same match it takes about five, and some more where a match ends and
another begins; too few would let the matches fall out of step, and batches become small."""
_In = TypeVar("_In")
_Out = TypeVar("_Out")


class _Waiting(NamedTuple):
    request: Request
    answer: "asyncio.Future[tuple[Ids, Mapping[str, Any]]]"
    since: float


class Engines:
    """The models in memory, and the turns that wait for them."""

    def __init__(self, load: Callable[[Weights], Backend], most: int = FEWEST) -> None:
        """`load` brings weights into memory; at most `most` are kept there."""
        self._load, self.most = load, most
        self._loaded: OrderedDict[Weights, Backend] = OrderedDict()  # least recently used first
        self._waiting: dict[Weights, deque[_Waiting]] = {}
        self._running: dict[asyncio.Task[None], Weights] = {}
        self._brought = float("-inf")
        """When weights were last brought into memory, by the event loop's clock."""
        self._serving: asyncio.Task[None] | None = None
        self._arrived = asyncio.Event()
        self._threads = ThreadPoolExecutor(256, thread_name_prefix="local-model")

    async def answer(self, weights: Weights, request: Request) -> tuple[Ids, Mapping[str, Any]]:
        """Return what the model sampled, and the receipt of what it ran on.

        Raises ProviderError where the weights cannot be loaded or run.
        """
        loop = asyncio.get_running_loop()
        if self._serving is None or self._serving.done() or self._serving.get_loop() is not loop:
            self._waiting, self._running, self._arrived = {}, {}, asyncio.Event()
            self._serving = loop.create_task(self._serve())
        waiting = _Waiting(request, loop.create_future(), loop.time())
        self._waiting.setdefault(weights, deque()).append(waiting)
        self._arrived.set()
        return await waiting.answer

    async def _serve(self) -> None:
        """Answer until nobody waits."""
        try:
            while True:
                await self._settled()
                weights = self._next()
                if weights is not None and self._free(weights):
                    self._begin(weights)
                elif self._running:
                    await self._something_happens()
                else:
                    return
        except asyncio.CancelledError:
            for weights in [*self._running.values()]:  # the run is over: do not hold up its end
                self._unload(weights)
            raise

    async def _settled(self) -> None:
        """Let every match that can go on do so, until all of them wait."""
        quiet = 0
        while quiet < _QUIET:
            self._arrived.clear()
            await asyncio.sleep(0)
            quiet = 0 if self._arrived.is_set() else quiet + 1

    async def _something_happens(self) -> None:
        arrival = asyncio.ensure_future(self._arrived.wait())
        await asyncio.wait({*self._running, arrival}, return_when=asyncio.FIRST_COMPLETED)
        arrival.cancel()

    def _next(self) -> Weights | None:
        """Return whose turn it is: those for whom most wait, of the ones that cost no other its place in
        memory; before them, ones that wait too long."""
        for queue in self._waiting.values():
            while queue and queue[0].answer.done():  # given up: a turn's timeout, the end of a run
                queue.popleft()
        asked = {weights: queue for weights, queue in self._waiting.items() if queue}
        if not asked:
            return None
        longest = min(asked, key=lambda weights: asked[weights][0].since)
        since = max(asked[longest][0].since, self._brought)
        if asyncio.get_running_loop().time() - since > PATIENCE_S:
            return longest
        room = len(self._loaded) < self.most
        cheap = [weights for weights in asked if room or weights in self._loaded]
        return max(cheap or asked, key=lambda weights: len(asked[weights]))

    def _free(self, weights: Weights) -> bool:
        """Return whether a call may begin. Loading waits until nothing runs: it may need the memory."""
        backend = self._loaded.get(weights)
        if backend is None:
            return not self._running
        return len(self._running) < backend.calls

    def _begin(self, weights: Weights) -> None:
        backend, queue = self._loaded.get(weights), self._waiting[weights]
        if backend is None:
            work = self._load_for(weights, queue)
        else:
            self._loaded.move_to_end(weights)
            work = self._call(backend, [queue.popleft() for _ in range(min(backend.rows, len(queue)))])
        task = asyncio.ensure_future(work)
        self._running[task] = weights
        running = self._running
        task.add_done_callback(lambda done: running.pop(done))

    async def _load_for(self, weights: Weights, queue: deque[_Waiting]) -> None:
        try:
            await self._in_thread(self._bring, weights)
            self._brought = asyncio.get_running_loop().time()
        except Exception as error:
            failed = error
            if isinstance(error, CANNOT_LOAD):
                words = f"{weights.folder} cannot be loaded: {_words(error)}"
                failed = ProviderError(words, Trouble.WEIGHTS)
            _fail([queue.popleft() for _ in range(len(queue))], failed)

    async def _call(self, backend: Backend, batch: Sequence[_Waiting]) -> None:
        try:
            answers = await self._in_thread(backend.answer, [waiting.request for waiting in batch])
        except Exception as error:
            _fail(batch, error)
            return
        for waiting, ids in zip(batch, answers, strict=True):
            if not waiting.answer.done():
                waiting.answer.set_result((ids, backend.receipt))

    async def _in_thread(self, work: Callable[[_In], _Out], given: _In) -> _Out:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, given)

    def _bring(self, weights: Weights) -> None:
        """Bring weights into memory, in place of those that were used least recently."""
        check(weights)
        while len(self._loaded) >= self.most:
            self._unload(next(iter(self._loaded)))
        self._loaded[weights] = self._load(weights)

    def _unload(self, weights: Weights) -> None:
        if (backend := self._loaded.pop(weights, None)) is not None:
            backend.close()


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)


def _words(error: Exception) -> str:
    """Return what an error says, and its kind where the words are not our own."""
    return str(error) if isinstance(error, WeightsError) else f"{type(error).__name__}: {error}"


@cache
def engines() -> Engines:
    """Return the engines of this process. Raises ValueError where the environment asks for a number of
    models that is none, or for something else than vLLM, which must be installed, or transformers."""
    given = os.environ.get(MODELS, str(FEWEST))
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(f"{MODELS} is the number of models to keep in memory, not {given!r}")
    _asked_backend()
    return Engines(_backend, int(given))


def _backend(weights: Weights) -> Backend:
    """Bring weights into memory with vLLM or with transformers."""
    if chosen_backend() == "vllm":
        from agents.local.with_vllm import Served

        return Served(weights, engines().most)
    from agents.local.with_transformers import Loaded

    return Loaded(weights)


def chosen_backend() -> str:
    """Return "vllm" or "transformers": what the environment asks for, else vLLM where it is installed
    and there is a GPU. Raises ValueError where the environment asks for what is not to be had."""
    if asked := _asked_backend():
        return asked
    if find_spec("vllm") is None:
        return "transformers"
    import torch

    return "vllm" if torch.cuda.is_available() else "transformers"


def _asked_backend() -> str | None:
    asked = os.environ.get(BACKEND) or None
    if asked not in ("vllm", "transformers", None):
        raise ValueError(f"{BACKEND} is vllm or transformers, not {asked!r}")
    if asked == "vllm" and find_spec("vllm") is None:
        raise ValueError(
            f"{BACKEND} asks for vLLM, which is not installed: pip install 'bargaining-arena[vllm]'"
        )
    return asked
