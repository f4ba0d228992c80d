"""What a plug-in's child process says to the arena: plain values, read without running code of its own.

Packed here and read here, so that a reply comes out as it would be judged in the plug-in's own process.
"""

import pickle
from collections.abc import Mapping
from io import BytesIO
from typing import Any, NoReturn

from agents.agent import Action, Reply, Trouble, Usage
from agents.build import UnplayableError
from arena.play import Failure
from arena.protocol import Ending
from arena.replies import DETAIL_LIMIT, checked

READY = pickle.dumps(("ready",))
_ITS_OWN = {Ending.FORFEIT_CODE, Ending.FORFEIT_TIMEOUT, Ending.PROVIDER_ERROR}
"""How a match may end by what a child says of itself."""


def unplayable(words: str) -> bytes:
    """Pack why the plug-in cannot be loaded."""
    return pickle.dumps(("unplayable", words))


def failed(failure: Failure) -> bytes:
    """Pack what a turn failed of."""
    trouble = None if failure.trouble is None else str(failure.trouble)
    return pickle.dumps(("failed", str(failure.ending), failure.detail, trouble))


def told(reply: Reply) -> bytes:
    """Pack a checked reply."""
    action = None if reply.action is None else (str(reply.action.kind), _plain(reply.action.terms))
    usage = None if reply.usage is None else tuple(map(_number, reply.usage))
    fault = None if reply.fault is None else str.__str__(reply.fault)
    channels = {"message": reply.message, "reasoning": reply.reasoning, "text": reply.text}
    return pickle.dumps(
        ("replied", action, usage, channels | {"fault": fault, "receipt": reply.receipt})
    )


def loaded(said: bytes) -> None:
    """Read whether the plug-in could be loaded. Raises UnplayableError where not, and anything where it
    is neither."""
    match _Plain(BytesIO(said)).load():
        case ("ready",):
            return
        case ("unplayable", str(words)):
            raise UnplayableError(words)
    raise ValueError("it did not begin")


def read(said: bytes) -> Reply | Failure:
    """Read what came of a turn. Raises anything where it is neither a reply nor a failure."""
    match _Plain(BytesIO(said)).load():
        case ("failed", ending, str(detail), trouble) if ending in _ITS_OWN:
            known = None if trouble is None else Trouble(trouble)
            return Failure(Ending(ending), detail[:DETAIL_LIMIT], known)
        case ("replied", action, usage, dict(channels)):
            reply = Reply(**channels)
            if action is not None:
                kind, terms = action
                reply.action = Action(kind, _given(terms))
            reply.usage = None if usage is None else Usage(*usage)
            return checked(reply)
    raise ValueError("neither a reply nor a failure")


class _Plain(pickle.Unpickler):
    """Reads numbers, strings and containers of them, and no object, which could run code here."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name}")


def _number(value: Any) -> Any:
    return value if value is None or type(value) in (int, bool) else float(value)


def _plain(terms: Any) -> Any:
    if isinstance(terms, Mapping):
        return {str.__str__(name): _value(option) for name, option in terms.items()}
    if isinstance(terms, (list, tuple)):
        return (tuple if type(terms) is tuple else list)(map(_value, terms))
    return _value(terms)


def _value(value: Any) -> Any:
    """The value, or, as bytes, the name of its type where it is nothing that an offer can hold."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    return str.__str__(value) if isinstance(value, str) else type(value).__name__.encode()


def _given(terms: Any) -> Any:
    """The terms again, with something of no use for each value that an offer cannot hold."""
    if isinstance(terms, Mapping):
        return {name: _given(option) for name, option in terms.items()}
    if isinstance(terms, (list, tuple)):
        return type(terms)(map(_given, terms))
    return type(terms.decode(), (), {})() if isinstance(terms, bytes) else terms
