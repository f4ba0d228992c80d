"""A match's turns as one compact, versioned blob, and back.

Version 1: one byte 0x01, then zlib over a JSON array with an array a turn:
``[is it the seller's?, kind, offer, message, reasoning, attempts]`` with trailing empty fields left out,
an attempt being ``[text, fault, usage, reasoning]``. Encoding happens where the match was played,
decoding wherever a transcript is shown.
"""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec

from agents.agent import ActionKind, Usage
from arena.play import Attempt, Turn
from arena.protocol import Fault
from scenarios.scenario import Role

VERSION = 1
_KINDS = (
    None,
    ActionKind.PROPOSE,
    ActionKind.ACCEPT,
    ActionKind.WALK_AWAY,
    ActionKind.TALK,
)
"""By position in the stored format: append only."""
_SIDES = {Role.BUYER: 0, Role.SELLER: 1}
_CODES = {kind: code for code, kind in enumerate(_KINDS)}


def encode(turns: Sequence[Turn]) -> bytes:
    """Return the blob of `turns`."""
    rows = [
        _row(turn)
        if turn.message or turn.reasoning or turn.attempts
        # Nearly all turns of scripted matches are silent: no call is spent on them.
        else (_SIDES[turn.role], _CODES[turn.kind], turn.offer)
        for turn in turns
    ]
    try:
        text = msgspec.json.encode(rows)
    except UnicodeEncodeError:
        # Lone surrogates may come from a model; surrogatepass keeps them, so nothing is lost.
        written = json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
        text = written.encode("utf-8", "surrogatepass")
    return bytes([VERSION]) + zlib.compress(text, 1)


def decode(blob: bytes) -> list[Turn]:
    """Return the turns of a blob. Raises ValueError for a version this release does not know."""
    if blob[:1] != bytes([VERSION]):
        raise ValueError(f"this release reads transcripts of version {VERSION}, not 0x{blob[:1].hex()}")
    text = zlib.decompress(blob[1:]).decode("utf-8", "surrogatepass")
    return [_turn(row) for row in json.loads(text)]


def _row(turn: Turn) -> tuple[Any, ...]:
    head = _SIDES[turn.role], _CODES[turn.kind], turn.offer
    said = turn.message, turn.reasoning
    return (*head, *said, turn.attempts) if turn.attempts else (*head, *said)


def _turn(row: list[Any]) -> Turn:
    seller, code, offer = row[:3]
    message, reasoning = row[3:5] or ("", "")
    attempts = row[5] if len(row) > 5 else ()
    return Turn(
        Role.SELLER if seller else Role.BUYER,
        _KINDS[code],
        None if offer is None else tuple(offer),
        message,
        reasoning,
        tuple(_attempt(*attempt) for attempt in attempts),
    )


def _attempt(text: str | None, fault: str | None, usage: list[Any] | None, reasoning: str) -> Attempt:
    return Attempt(
        text,
        None if fault is None else Fault(fault),
        None if usage is None else Usage(*usage),
        reasoning,
    )
