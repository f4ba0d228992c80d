"""Scripted strategies: fast, transparent players that everyone can be measured against.

STRATEGIES lists them by name, :func:`spec_of` gives one an identity, and :func:`build_scripted` makes
it play. `docs/agents/scripted.md` says what each does and where it comes from.
"""

from agents.scripted.strategies import (
    PANEL_BUYERS,
    PANEL_SELLERS,
    STRATEGIES,
    Entry,
    build_scripted,
    spec_of,
)

__all__ = ["PANEL_BUYERS", "PANEL_SELLERS", "STRATEGIES", "Entry", "build_scripted", "spec_of"]
