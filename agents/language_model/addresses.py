"""Which of an agent's addresses a request goes to: each match keeps to one, as long as it answers."""

import math
import time

from agents.occasion import Occasion
from agents.spec import Connection

SHUNNED_S = 60.0
"""An address that failed is passed over for so long, where there is another. This project's choice."""


class Addresses:
    """What is known of the addresses that a run uses."""

    def __init__(self) -> None:
        self._shunned: dict[str, float] = {}
        """Until when, on the clock of time.monotonic."""

    def choose(self, connection: Connection, occasion: Occasion, number: int) -> str | None:
        """Return where a try goes: each match has an address of its own, whose cache knows the
        conversation, and goes on to the next that did not fail where that one did."""
        addresses = _all(connection)
        if not addresses:
            return None
        first = (int(occasion.match or "0", 16) + number - 1) % len(addresses)
        in_turn = addresses[first:] + addresses[:first]
        return next((address for address in in_turn if not self._fails(address)), in_turn[0])

    def failed(self, address: str | None) -> None:
        """Pass an address over from now on: nobody was there, or nothing came."""
        if address is not None:
            self._shunned[address] = time.monotonic() + SHUNNED_S

    def answered(self, address: str | None) -> None:
        """Use an address again that brought an answer."""
        self._shunned.pop(address or "", None)

    def others(self, connection: Connection) -> bool:
        """Return whether there is an address that is not known to fail."""
        return any(not self._fails(address) for address in _all(connection))

    def _fails(self, address: str) -> bool:
        return time.monotonic() < self._shunned.get(address, -math.inf)


def _all(connection: Connection) -> tuple[str, ...]:
    return () if connection.api_base is None else (connection.api_base, *connection.api_bases)
