"""What runs :func:`arena.play.play`: a plain loop for fast agents, asyncio for waiting ones.

A plug-in is another's code, and no driver is a sandbox. In a plain loop its timeout stops a hang in
Python code or in a system call, not one in native code, nor code that catches everything for ever. On
an event loop it is apart (:mod:`arena.apart`) in tournaments, and else asked in a thread, which a hang
leaves behind.
"""

import asyncio
import inspect
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from random import Random

from agents.agent import Agent, GivenUpError, Negotiator, Reply, View
from arena.apart import Apart
from arena.play import Failure, Game, Outcome
from arena.replies import Asked, TurnOverrun, checked, failure
from scenarios.scenario import Role

MODEL_TIMEOUT_S = 1200.0
"""A turn of a match with a language model, where the user set no limit: room for further tries at its
provider, and for weights on this machine to be loaded and to answer others first."""
HUNG_S = 86_400.0
"""A served model's turn that takes so much longer than its limit, waiting for others included, hangs in
code of ours."""


class _NothingDrawn(Random):
    def random(self) -> float:
        raise RuntimeError("a deterministic strategy drew a random number")

    def getrandbits(self, k: int, /) -> int:
        return int(self.random())


NOTHING_DRAWN = _NothingDrawn(0)
"""The stream that deterministic strategies are begun with: to seed one takes as long as some turns."""


@contextmanager
def alarm(seconds: float | None) -> Generator[None]:
    """Raise TurnOverrun inside the block after `seconds`. Main thread only; None sets no limit."""
    if seconds is None:
        yield
        return

    def ring(signum: int, frame: object) -> None:
        raise TurnOverrun(seconds)

    before = signal.signal(signal.SIGALRM, ring)
    # The interval makes the alarm ring again where the code under it swallowed the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def turn_limit(agent: Asked, turn_timeout: float | None, model_timeout: float) -> float | None:
    """Return the seconds that a turn of `agent` may take where it is awaited; None: any number.

    Plug-ins are limited by `turn_timeout`, weights on this machine by `model_timeout`, scripted agents
    not. A served model's limit is its gateway's to keep, which knows what of a turn is the provider's:
    here only a hang of that code ends it.
    """
    if agent.spec.kind == "scripted":
        return None
    if agent.spec.kind == "model":
        return model_timeout + HUNG_S
    return model_timeout if agent.spec.is_language_model else turn_timeout


def run(
    game: Game,
    agents: Mapping[Role, Agent],
    rngs: Mapping[Role, Random],
    turn_timeout: float | None = None,
) -> Outcome:
    """Play `game` in a plain loop. For agents whose `reply` is an ordinary function.

    Plug-ins are stopped after `turn_timeout` seconds a turn, which needs the main thread: RuntimeError
    elsewhere. KeyboardInterrupt passes through; any other exit of a plug-in is its forfeit.
    """
    kinds = {role: agent.spec.kind for role, agent in agents.items()}
    limits = turn_timeout is not None and "plugin" in kinds.values()
    if limits and threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a turn timeout for plug-ins needs the main thread")
    minds: dict[Role, Negotiator] = {}
    trusted: dict[Role, Callable[[View], Reply]] = {}
    try:
        role, view = next(game)
        while True:
            try:
                if role in trusted:
                    reply: Reply | Failure = trusted[role](view)
                elif kinds[role] == "scripted":
                    rng = NOTHING_DRAWN if agents[role].deterministic else rngs[role]
                    mind = agents[role].begin(role, view.brief, rng)
                    trusted[role] = mind.reply  # type: ignore[assignment]
                    reply = trusted[role](view)
                else:
                    with alarm(turn_timeout if kinds[role] == "plugin" else None):
                        if role not in minds:
                            minds[role] = agents[role].begin(role, view.brief, rngs[role])
                        reply = checked(minds[role].reply(view))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                reply = failure(agents[role], error)
            role, view = game.send(reply)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def run_async(
    game: Game,
    agents: Mapping[Role, Agent | Apart],
    rngs: Mapping[Role, Random],
    turn_timeout: float | None = None,
    model_timeout: float = MODEL_TIMEOUT_S,
) -> Outcome:
    """Play `game` on the running event loop. For agents of every kind; coroutines are awaited.

    A plug-in's turn may take `turn_timeout` seconds, one of weights on this machine `model_timeout`, and
    a served model's what :class:`agents.occasion.Occasion` says. Raises GivenUpError where the run
    cannot go on.
    """
    minds: dict[Role, Negotiator] = {}
    try:
        role, view = next(game)
        while True:
            agent = agents[role]
            limit = turn_limit(agent, turn_timeout, model_timeout)
            try:
                async with asyncio.timeout(limit):
                    reply = await ask(agent, minds, view, rngs[role])
            except TimeoutError:
                assert limit is not None
                reply = failure(agent, TurnOverrun(limit))
            role, view = game.send(reply)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def ask(
    agent: Agent | Apart, minds: dict[Role, Negotiator], view: View, rng: Random
) -> Reply | Failure:
    """Return the agent's reply, or what became of it; the negotiator is begun on its first turn."""
    if isinstance(agent, Apart):
        return await agent.reply(view, rng)

    def begin_and_reply() -> object:
        role = view.brief.role
        if role not in minds:
            minds[role] = agent.begin(role, view.brief, rng)
        return minds[role].reply(view)

    try:
        if agent.spec.kind == "plugin":
            answer = await _in_thread(begin_and_reply)
        else:
            answer = begin_and_reply()
        return checked(await answer if inspect.isawaitable(answer) else answer)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, GivenUpError) and agent.spec.kind != "plugin":
            raise
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # asked for from outside: the timeout, or the end of the run
        return failure(agent, error)


async def _in_thread(work: Callable[[], object]) -> object:
    """Run an ordinary function in a daemon thread, which a hang can leave behind at exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

    def settle(result: object, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((result, error))

    def run_and_settle() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop may be closed by the time a hung call returns
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run_and_settle, daemon=True).start()
    result, error = await done
    if error is not None:
        raise error
    return result
