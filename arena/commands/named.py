"""The agent that a command's argument names: a scripted strategy, a registered name, a plug-in."""

from typing import TYPE_CHECKING

from arena.errors import UserError

if TYPE_CHECKING:
    from arena.store import Registration


def named_agent(text: str, db: str | None) -> "Registration":
    """Return the scripted strategy, the registered agent (``name`` or ``name@version``) or the plug-in
    (``module:object``) that `text` means; the last needs no registration. Raises UserError."""
    from agents.scripted import STRATEGIES
    from arena.entry import entry_from
    from arena.registry import Registry, scripted
    from arena.store import Store

    if text in STRATEGIES:
        return scripted(text)
    try:
        with Store.open(db, create=False) as store:
            return Registry(store).find(text)
    except UserError as error:
        if ":" in text:
            return entry_from({"name": text, "plugin": text}).registration()
        raise UserError(
            f"{text} is neither a scripted strategy nor module:object, and {error}"
        ) from None
