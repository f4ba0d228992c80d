"""The board's filters: which domains, which opener, which sellers. The address carries them all."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from arena.store import Store, StoredDesign
from leaderboard.known import Kind, Known, known
from leaderboard.views import common, controls
from scenarios.scenario import Role

_ANY = ""
_WIDTH = 160
"""Pixels of a filter: two stand beside each other on a phone."""
_OPENERS = {_ANY: "either side"} | {role.value: f"the {role.value}" for role in Role}


@dataclass(frozen=True)
class Choice:
    """What the reader chose to see."""

    role: Role
    panel: str
    """open or held_out."""
    domains: tuple[str, ...]
    """Names; none: all of the panel's."""
    opener: Role | None
    kind: str
    """A :class:`Kind`, or nothing."""
    family: str
    """A base family, or nothing."""

    @property
    def recomputed(self) -> bool:
        """Whether scores and ranks are over a part of the design: what they say is exploratory."""
        return bool(self.domains) or self.opener is not None

    def shows(self, agent: Known) -> bool:
        """Return whether an agent's row is shown; its figures do not depend on it."""
        return self.kind in (_ANY, agent.kind) and self.family in (_ANY, agent.base_family)


def choices(store: Store) -> tuple[StoredDesign, dict[str, Known], Choice]:
    """Draw the controls. Returns the design, what is known of its agents by version, and the choice.

    Raises UserError where the address asks for what is not there.
    """
    with st.container(horizontal=True, key="filters"):
        return _choices(store)


def _choices(store: Store) -> tuple[StoredDesign, dict[str, Known], Choice]:
    with st.container(width=340):
        stored = common.chosen_design(store)
    design = stored.design
    with st.container(width=_WIDTH):
        role = Role(
            controls.choose("Board of", list(controls.ROLES), "role", controls.ROLES, ["kind", "family"])
        )
    panels = ["open", "held_out"] if any(d.held_out for d in design.domains) else ["open"]
    with st.container(width=_WIDTH):
        panel = controls.choose("Panel", panels, "panel", controls.PANELS, ["domains"])
    agents = agents_of(store, stored)
    side = design.sellers if role is Role.SELLER else design.buyers
    shown = [agents[player.version] for player in side]
    names = [d.name for d in design.domains if d.held_out == (panel == "held_out")]
    with st.container(width=340):
        domains = controls.choose_many("Domains", names, "domains", "all of this panel")
    with st.container(width=_WIDTH):
        opener = controls.choose("First turn", list(_OPENERS), "opener", _OPENERS)
    with st.container(width=_WIDTH):
        kinds = [kind.value for kind in Kind if any(agent.kind is kind for agent in shown)]
        kind = controls.choose("Kind", [_ANY, *kinds], "kind", {_ANY: "every kind"})
    with st.container(width=_WIDTH):
        family = controls.choose(
            "Base family", [_ANY, *_families(shown)], "family", {_ANY: "every family"}
        )
    first = Role(opener) if opener else None
    return stored, agents, Choice(role, panel, domains, first, kind, family)


def agents_of(store: Store, stored: StoredDesign) -> dict[str, Known]:
    """Return what is known of the design's agents, by version; read once for a revision."""
    return _known(store, store.address, stored.design.hash, store.revision())


@st.cache_resource(show_spinner=False, max_entries=16)
def _known(_store: Store, address: str, design: str, revision: int) -> dict[str, Known]:
    found = _store.design(design).design
    specs = {player.version: _store.spec(player.version) for player in found.players()}
    return known(found, {v: spec for v, spec in specs.items() if spec}, _store.registrations())


def _families(shown: Sequence[Known]) -> list[str]:
    return sorted({agent.base_family for agent in shown if agent.base_family})
