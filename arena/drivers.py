"""What runs :func:`arena.play.play`: a plain loop for fast agents, asyncio for waiting ones.

Both classify what went wrong at one boundary, :func:`failure`: a provider's trouble is void, an
exception or a hang of an agent's own code is that agent's forfeit, and anything else is our bug.
"""

import asyncio
import inspect
import signal
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from random import Random

from agents.agent import Action, ActionKind, Agent, Negotiator, ProviderError, Reply, View
from arena.play import Failure, Game, Outcome
from arena.protocol import Ending, Fault
from scenarios.scenario import Role


class Overrun(BaseException):
    """An agent's code ran past the turn timeout. Not an Exception: agent code must not catch it."""


@contextmanager
def alarm(seconds: float | None) -> Generator[None]:
    """Raise Overrun inside the block after `seconds`. Main thread only; None sets no limit."""
    if seconds is None:
        yield
        return

    def ring(signum: int, frame: object) -> None:
        raise Overrun(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    # The interval makes the alarm ring again where the code under it swallowed the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def failure(agent: Agent, error: BaseException) -> Failure:
    """Say whose doing `error`, raised by the agent's turn, was."""
    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, ProviderError):
        return Failure(Ending.PROVIDER_ERROR, str(error))
    if agent.spec.kind == "model" and isinstance(error, TimeoutError):
        return Failure(Ending.PROVIDER_ERROR, "no answer within the turn timeout")
    if agent.spec.kind != "plugin":
        return Failure(Ending.HARNESS_ERROR, detail)
    if isinstance(error, (Overrun, TimeoutError)):
        return Failure(Ending.FORFEIT_TIMEOUT, detail)
    return Failure(Ending.FORFEIT_CODE, detail)


def checked(reply: object) -> Reply:
    """Return `reply` if it has the shape of a Reply. Raises TypeError or ValueError if not."""
    if not isinstance(reply, Reply):
        raise TypeError(f"reply() returned {type(reply).__name__}, not agents.agent.Reply")
    if not isinstance(reply.message, str) or not isinstance(reply.reasoning, str):
        raise TypeError("message and reasoning must be strings")
    if reply.fault is not None:
        Fault(reply.fault)
    if reply.action is None:
        if not isinstance(reply.text, str | None):
            raise TypeError("text must be a string")
        return reply
    kind, terms = reply.action
    if isinstance(terms, Mapping):
        terms = dict(terms)
    reply.action = Action(ActionKind(kind), terms)
    return reply


def run(
    game: Game,
    agents: Mapping[Role, Agent],
    rngs: Mapping[Role, Random],
    turn_timeout: float | None = None,
) -> Outcome:
    """Play `game` in a plain loop. For agents whose `reply` is an ordinary function.

    Plug-ins are stopped after `turn_timeout` seconds a turn, which needs the main thread.
    """
    minds: dict[Role, Negotiator] = {}
    limits = {
        role: turn_timeout if agent.spec.kind == "plugin" else None for role, agent in agents.items()
    }
    try:
        role, view = next(game)
        while True:
            try:
                limit = limits[role]
                if limit is None and role in minds:
                    reply: Reply | Failure = minds[role].reply(view)  # type: ignore[assignment]
                else:
                    with alarm(limit):
                        if role not in minds:
                            minds[role] = agents[role].begin(role, view.brief, rngs[role])
                        reply = checked(minds[role].reply(view))
            except (Exception, Overrun) as error:
                signal.setitimer(signal.ITIMER_REAL, 0)
                reply = failure(agents[role], error)
            role, view = game.send(reply)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def run_async(
    game: Game,
    agents: Mapping[Role, Agent],
    rngs: Mapping[Role, Random],
    turn_timeout: float | None = None,
) -> Outcome:
    """Play `game` on the running event loop, awaiting agents whose `reply` is a coroutine function.

    Ordinary functions of plug-ins run in a thread of their own, so that a hang stops only their match.
    """
    minds: dict[Role, Negotiator] = {}
    try:
        role, view = next(game)
        while True:
            try:
                if role not in minds:
                    minds[role] = agents[role].begin(role, view.brief, rngs[role])
                reply: Reply | Failure = checked(
                    await _answer(agents[role], minds[role], view, turn_timeout)
                )
            except Exception as error:
                reply = failure(agents[role], error)
            role, view = game.send(reply)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def _answer(agent: Agent, mind: Negotiator, view: View, turn_timeout: float | None) -> object:
    if inspect.iscoroutinefunction(mind.reply):
        return await asyncio.wait_for(mind.reply(view), turn_timeout)
    if agent.spec.kind != "plugin":
        return mind.reply(view)
    return await asyncio.wait_for(_in_thread(mind, view), turn_timeout)


async def _in_thread(mind: Negotiator, view: View) -> object:
    """Run an ordinary function in a daemon thread, which a hang can leave behind at exit."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()

    def settle(result: object, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    def work() -> None:
        try:
            result, error = mind.reply(view), None
        except Exception as raised:
            result, error = None, raised
        with suppress(RuntimeError):  # the loop may be closed by the time a hung call returns
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True).start()
    return await answer
