"""The agent that a command's argument names: a scripted strategy, a registered name, a plug-in."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.store import Registration


def named_agent(text: str, db: str | None) -> "Registration":
    """Return the scripted strategy, the registered agent (``name`` or ``name@version``) or the plug-in
    (``module:object``) that `text` means; the last needs no registration. Raises UserError."""
    from agents.scripted import STRATEGIES
    from arena.commands.options import open_if_there
    from arena.entry import RegistryError, entry_from
    from arena.registry import Registry, scripted

    if text in STRATEGIES:
        return scripted(text)
    with open_if_there(db) as store:
        try:
            return Registry(store).find(text)
        except RegistryError:
            if ":" not in text:
                raise
    return entry_from({"name": text.replace("@", " "), "plugin": text}).registration()
