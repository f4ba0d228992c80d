"""Servers that the arena runs for its language models: started when a match needs them, and stopped.

A match holds all the servers that it needs from before its first turn until its end. Of those that no
match holds, the least recently used one is stopped where another needs its place.
"""

import asyncio
import os
import re
import shlex
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from agents.agent import ProviderError
from agents.language_model import llama_cpp
from agents.language_model.kept_up import KeptUp, News
from agents.local.gguf import check_gguf
from agents.local.server import SHARE, vllm
from agents.local.weights import Weights, check_file, file_hash, found_weights, is_id, weights_hash
from agents.local.weights import check as check_folder
from agents.spec import AgentSpec, Connection

PROVIDER = "hosted_vllm/"
"""How the LiteLLM name of a model that is served here begins; the server calls it by the rest."""
SLOTS = 4
"""Requests that a llama.cpp server answers at the same time, where its arguments do not say."""


class Serving(NamedTuple):
    """What a server is started with. Agents for which it is the same share one."""

    server: str
    """llama.cpp or vllm."""
    weights: str
    revision: str
    name: str
    """What it calls the model."""
    arguments: tuple[str, ...]

    @property
    def words(self) -> str:
        """What messages call it."""
        return f"the {self.server} server of {self.name}"

    @property
    def at_once(self) -> int | None:
        """Requests that it answers at the same time; more would wait inside it. None: vLLM, which
        batches hundreds, was not told how many."""
        option, unless = ("--max-num-seqs", None) if self.server == "vllm" else ("--slots", SLOTS)
        told = re.findall(rf"{option}[ =](\d+)", " ".join(self.arguments).replace("_", "-"))
        return int(told[-1]) if told else unless


def serving_of(spec: AgentSpec, connection: Connection) -> Serving | None:
    """Return what has to be served for an agent; None where it needs no server of ours.

    An agent that has an address is reached there, also where it says how it could be served.
    """
    if connection.server is None or connection.weights is None or connection.api_base is not None:
        return None
    name = (spec.model or "").removeprefix(PROVIDER)
    arguments = tuple(word for given in connection.server_args for word in shlex.split(given))
    return Serving(connection.server, connection.weights, spec.revision or "", name, arguments)


def identity(server: str, weights: str, model: str | None) -> tuple[str, str]:
    """Return the LiteLLM name and the revision of weights that are to be served. The revision is the
    SHA-256 of a GGUF file, the hash of a folder's weights.

    `model` is that name, or None: after the weights. Raises ValueError where there are no such weights,
    a GGUF file is none or is cut off, or the name is one of another provider.
    """
    if model is not None and (not model.startswith(PROVIDER) or model == PROVIDER):
        raise ValueError(f"a model that the arena serves is named {PROVIDER}NAME, not {model!r}")
    if server == "llama.cpp":
        file = Path(weights).expanduser()
        if file.is_dir():
            raise ValueError(f"llama.cpp serves a GGUF file, and {file} is a folder: --server vllm")
        if file.is_file():  # else its hash says that it is not there
            check_gguf(file)
        return model or PROVIDER + file.stem, file_hash(file.resolve())
    folder = found_weights(weights)
    return model or PROVIDER + (weights if is_id(weights) else folder.name), weights_hash(folder)


def check(serving: Serving) -> None:
    """Raise ValueError, with what to do, where this machine cannot serve it: the server is not
    installed, or the weights are not there, or are others than were registered."""
    needs, extra = ("xllamacpp", "local") if serving.server == "llama.cpp" else ("vllm", "vllm")
    if find_spec(needs) is None:
        raise ValueError(f"{serving.words} needs pip install 'bargaining-arena[{extra}]'")
    _checked(serving)


def _checked(serving: Serving) -> Path:
    """Return the file or folder to be served. Raises agents.local.weights.WeightsError where it is not
    there, or holds other weights than were registered."""
    if serving.server == "llama.cpp":
        check_file(Path(serving.weights), serving.revision)
        return Path(serving.weights)
    folder = found_weights(serving.weights)
    check_folder(Weights(folder, serving.revision))
    return folder


class Servers:
    """The servers of one run. They belong to the event loop that they are first used on."""

    def __init__(
        self, most: int = 1, tell: Callable[[Serving, News], None] = lambda serving, news: None
    ) -> None:
        """Run at most `most` at once; `tell` is given what becomes of each."""
        self.most = most
        self._tell = tell
        self._known: dict[Serving, KeptUp] = {}
        self._placed: OrderedDict[Serving, None] = OrderedDict()
        """Those that have a place, the least recently used one first."""
        self._holders: Counter[Serving] = Counter()
        self._turn = asyncio.Lock()
        """Held by the first of the matches that wait for a place, so that none is overtaken for ever."""
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def held(self, needed: Collection[Serving]) -> AsyncGenerator[None]:
        """Keep the servers that a match needs while it is played, at most `most`. They are up when the
        match begins; one that does not come up fails its calls."""
        if not needed:
            yield
            return
        async with self._turn:
            await self._make_room(needed)
            self._holders.update(needed)
        try:
            for serving in needed:
                with suppress(ProviderError):
                    await self.address(serving)
            yield
        finally:
            self._holders.subtract(needed)
            self._freed.set()

    async def address(self, serving: Serving) -> str:
        """Return the address of a server, once it is up. Raises ProviderError where it does not come
        up, or ended too often."""
        if serving not in self._known:
            tell = partial(self._tell, serving)
            self._known[serving] = KeptUp(serving.words, lambda: self._command(serving), tell)
        return await self._known[serving].address()

    async def hung(self, serving: Serving, address: str) -> bool:
        """Return whether a server that was silent at this address is gone, or runs but hangs; it is
        ended then, and started again when its address is asked for."""
        return await self._known[serving].hung(address)

    def close(self) -> None:
        """Stop all of them."""
        for kept in self._known.values():
            kept.close()

    async def _make_room(self, needed: Collection[Serving]) -> None:
        """Give each of `needed` a place, as soon as enough of the others are held by no match."""
        while len(self._placed.keys() | needed) > self.most:
            idle = [s for s in self._placed if not self._holders[s] and s not in needed]
            if idle:
                await self._known[idle[0]].stop()
                del self._placed[idle[0]]
                continue
            self._freed.clear()
            await self._freed.wait()
        for serving in needed:
            self._placed[serving] = None
            self._placed.move_to_end(serving)

    def _command(self, serving: Serving) -> list[str]:
        path = _checked(serving)
        if serving.server == "vllm":
            return [*vllm(path, serving.name, SHARE / self.most), *serving.arguments]
        options = ["--slots", str(SLOTS), "--threads", str(_cores())]
        return [*llama_cpp.command(path), *options, *serving.arguments]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
