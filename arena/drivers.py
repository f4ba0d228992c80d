"""What runs :func:`arena.play.play`: a plain loop for fast agents, asyncio for waiting ones.

Both classify what went wrong at one boundary, :func:`failure`: a provider's trouble is void, an
exception or a hang of a plug-in's own code is that plug-in's forfeit, and anything else is our bug.

Plug-ins run in this process: the timeout stops a hang in Python code or in a system call, not one in
native code, nor code that catches everything for ever. It is no sandbox.
"""

import asyncio
import inspect
import json
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from agents.agent import (
    Action,
    ActionKind,
    Agent,
    GivenUpError,
    Negotiator,
    ProviderError,
    Reply,
    StillAnsweringError,
    Trouble,
    Usage,
    View,
)
from arena.play import Failure, Game, Outcome
from arena.protocol import Ending, Fault
from scenarios.canonical import canonical
from scenarios.scenario import Role

DETAIL_LIMIT = 500
"""Characters kept of an error's words."""
MODEL_TIMEOUT_S = 1200.0
"""A turn of a match with a language model, where the user set no limit: room for further tries at its
provider, and for weights on this machine to be loaded and to answer others first."""
HUNG_S = 86_400.0
"""A served model's turn that takes so much longer than its limit, waiting for others included, hangs in
code of ours."""
_MOST = 2**50
"""Above any real usage, and small enough that a database takes the sums over a match."""


class TurnOverrun(BaseException):
    """An agent's code ran past the turn timeout. Not an Exception: agent code must not catch it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s, the limit of a turn")


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


def turn_limit(agent: Agent, turn_timeout: float | None, model_timeout: float) -> float | None:
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


def failure(agent: Agent, error: BaseException) -> Failure:
    """Say whose doing `error`, raised on the agent's turn, was."""
    if isinstance(error, ProviderError):
        return Failure(Ending.PROVIDER_ERROR, str(error)[:DETAIL_LIMIT], error.trouble)
    if isinstance(error, StillAnsweringError):
        return Failure(Ending.FORFEIT_TIMEOUT, str(error)[:DETAIL_LIMIT])
    late = isinstance(error, (TurnOverrun, TimeoutError))
    if agent.spec.kind == "model" and isinstance(error, TurnOverrun):
        return Failure(Ending.HARNESS_ERROR, _detail(error))
    if agent.spec.is_language_model and late:
        return Failure(Ending.PROVIDER_ERROR, _detail(error), Trouble.SILENCE)
    if agent.spec.kind != "plugin":
        return Failure(Ending.HARNESS_ERROR, _detail(error))
    return Failure(Ending.FORFEIT_TIMEOUT if late else Ending.FORFEIT_CODE, _detail(error))


def _detail(error: BaseException) -> str:
    """The error's type and words, and the line that raised it. Works for an error whose str() fails."""
    if isinstance(error, TurnOverrun):
        return str(error)
    words = traceback.format_exception_only(error)[-1].strip()[:DETAIL_LIMIT]
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return words
    return f"{words} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def checked(reply: object) -> Reply:
    """Return `reply` if it has the shape of a Reply. Raises TypeError or ValueError if not.

    What passes can be judged and stored, and no longer changes: the channels are plain text, the action
    is of a known kind, terms are a plain dict or a sequence, usage is finite, the receipt plain JSON.
    """
    if not isinstance(reply, Reply):
        raise TypeError(f"reply() returned {type(reply).__name__}, not agents.agent.Reply")
    reply.message, reply.reasoning = _plain_text(reply.message), _plain_text(reply.reasoning)
    if reply.text is not None:
        reply.text = _plain_text(reply.text)
    if reply.fault is not None:
        Fault(reply.fault)
    if reply.usage is not None:
        reply.usage = _checked_usage(reply.usage)
    if reply.receipt is not None:
        if not isinstance(reply.receipt, Mapping):
            raise TypeError("receipt is a mapping, or None")
        reply.receipt = json.loads(canonical(dict(reply.receipt)))
    if reply.action is None:
        return reply
    if reply.text is not None:
        raise TypeError("a reply has an action or a text to be parsed, not both")
    kind, terms = reply.action
    if isinstance(terms, Mapping):
        terms = dict(terms)
        if not all(isinstance(name, str) for name in terms):
            raise TypeError("terms are named by strings")
    reply.action = Action(ActionKind(kind), terms)
    return reply


def _plain_text(channel: object) -> str:
    """The channel as a plain str: a subclass may lie about its length."""
    if not isinstance(channel, str):
        raise TypeError(f"message, reasoning and text are strings, not {type(channel).__name__}")
    return channel if type(channel) is str else str.__str__(channel)


def _checked_usage(usage: object) -> Usage:
    """The usage, if its numbers can be added up and stored."""
    if not isinstance(usage, Usage):
        raise TypeError("usage is an agents.agent.Usage, or None")
    tokens = usage.input_tokens, usage.output_tokens
    if type(usage.cached) is not bool:
        raise TypeError("usage says whether it was cached")
    if not all(count is None or (type(count) is int and abs(count) < _MOST) for count in tokens):
        raise ValueError("usage counts tokens in whole numbers")
    if not all(
        isinstance(amount, int | float | None) and abs(amount or 0) < _MOST for amount in usage[2:4]
    ):
        raise ValueError("usage gives cost and latency as finite numbers")
    return usage


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
    limits = {
        role: turn_timeout if agent.spec.kind == "plugin" else None for role, agent in agents.items()
    }
    if any(limits.values()) and threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a turn timeout for plug-ins needs the main thread")
    minds: dict[Role, Negotiator] = {}
    trusted: dict[Role, Callable[[View], Reply]] = {}
    try:
        role, view = next(game)
        while True:
            try:
                if role in trusted:
                    reply: Reply | Failure = trusted[role](view)
                else:
                    with alarm(limits[role]):
                        if role not in minds:
                            minds[role] = agents[role].begin(role, view.brief, rngs[role])
                        reply = checked(minds[role].reply(view))
                    if agents[role].spec.kind == "scripted":
                        trusted[role] = minds[role].reply  # type: ignore[assignment]
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                reply = failure(agents[role], error)
            role, view = game.send(reply)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def run_async(
    game: Game,
    agents: Mapping[Role, Agent],
    rngs: Mapping[Role, Random],
    turn_timeout: float | None = None,
    model_timeout: float = MODEL_TIMEOUT_S,
) -> Outcome:
    """Play `game` on the running event loop. For agents of every kind; coroutines are awaited.

    A plug-in's turn may take `turn_timeout` seconds, one of weights on this machine `model_timeout`, and
    a served model's what :class:`agents.occasion.Occasion` says. Ordinary functions of plug-ins run in a
    thread of their own, so that a hang stops only their match. Raises GivenUpError where the run cannot
    go on.
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


async def ask(agent: Agent, minds: dict[Role, Negotiator], view: View, rng: Random) -> Reply | Failure:
    """Return the agent's reply, or what became of it; the negotiator is begun on its first turn."""

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
    except (KeyboardInterrupt, GivenUpError):
        raise
    except BaseException as error:
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
