"""Whom a name means: the one reading of names that people give, wherever they give them."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from arena.design import Player
from arena.errors import UserError


def meant(text: str, names: Mapping[str, str]) -> list[str]:
    """Return the versions that `text` can mean: a version, a name, or ``name@`` and its start.

    `names` maps versions to names without a version. Names are compared in Unicode's composed form,
    in which they are registered; blanks around `text` do not count.
    """
    text = unicodedata.normalize("NFC", text.strip())
    if text in names:
        return [text]
    name, _, prefix = text.partition("@")
    return [
        version
        for version, called in names.items()
        if called == name and version.startswith(prefix.lower())
    ]


def likely(text: str, known: Iterable[str]) -> str:
    """Return ``; did you mean NAME?`` with the known name most like that of `text`; nothing where none
    is."""
    near = get_close_matches(text.partition("@")[0].strip(), list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


class Names:
    """The agents of a line-up, or of one of its sides, found as people name them."""

    def __init__(self, players: Sequence[Player], called: str) -> None:
        """Look among `players`, one of whom is `called` a seller, a buyer, an agent."""
        self.players, self._called = players, called
        self._by_version = {player.version: player for player in players}
        self._names = {player.version: player.name for player in players}

    def fitting(self, text: str) -> list[Player]:
        """Return whom `text` can mean, as :func:`meant` has it."""
        return [self._by_version[version] for version in meant(text, self._names)]

    def find(self, text: str) -> str:
        """Return the version that `text` means. Raises UserError for none here, or several."""
        found = self.fitting(text)
        if len(found) == 1:
            return found[0].version
        if found:
            them = " or ".join(player.full_name for player in found)
            raise UserError(f"{text.strip()} stands for {len(found)} versions here: write {them}")
        count = Counter(self._names.values())
        there = ", ".join(p.name if count[p.name] == 1 else p.full_name for p in self.players)
        hint = likely(text, self._names.values())
        raise UserError(f"no {self._called} is called {text.strip()} here; there are: {there}{hint}")
