"""What departs from a frozen design: the entries of its log that are made without anyone's asking.

A design never changes, so whoever wants another arm or a wider limit freezes another design. What that
one changes of an earlier one, over the same declared sellers, goes to its log, with a reason; so does a
withdrawal that takes a planned match away, and a seller that was trained against a buyer which the
design excludes from training. The log is append-only. It blocks nothing and hides nothing.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from agents.spec import AgentSpec
from arena.design import Design
from arena.differences import Departure, Kind, differences
from arena.opponents import broken_exclusions
from arena.registry import Registry
from arena.schedule import Plan
from arena.store import Filter, Listed, Store
from scenarios.domain import Domain
from scenarios.scenario import Role

NO_REASON = "no reason was given"


class Frozen(NamedTuple):
    """What freezing a design did."""

    new: bool
    """Whether it was not frozen before."""
    at: str
    """When it was frozen first (ISO 8601, UTC)."""
    logged: tuple[Departure, ...]
    """What went to its log just now."""
    reason: str


def freeze(
    store: Store,
    design: Design,
    specs: Iterable[AgentSpec],
    domains: Iterable[Domain],
    reason: str | None = None,
) -> Frozen:
    """Freeze `design` and log what it changes of earlier designs; the same design again logs nothing."""
    due = pending(store, design)
    new = store.add_design(design, specs, domains)
    why = (reason or "").strip() or NO_REASON
    for departure in due:
        store.add_deviation(design.hash, departure.kind.value, departure.what, why)
    return Frozen(new, store.design(design.hash).created_at, tuple(due), why)


def pending(store: Store, design: Design) -> list[Departure]:
    """Return what freezing `design` now would log: one entry for each kind of difference from each
    earlier design that is about the same sellers (:func:`_related`), and one for each exclusion from
    training that a seller broke."""
    stored = store.designs()
    frozen_at = next((s.created_at for s in stored if s.design.hash == design.hash), None)
    logged = [] if frozen_at is None else store.deviations(design.hash)
    due = []
    for old in sorted(stored, key=lambda s: (s.created_at, s.design.hash)):
        earlier = old.design.hash != design.hash and (frozen_at is None or old.created_at < frozen_at)
        if not earlier or not _related(old.design, design):
            continue
        against = f"against design {old.design.hash}: "
        known = {entry.kind for entry in logged if entry.what.startswith(against)}
        for kind, what in differences(old.design, design):
            if kind.value not in known:
                due.append(Departure(kind, against + what))
    told = {entry.what for entry in logged}
    broken = [what for what in broken_exclusions(design, Registry(store)) if what not in told]
    return due + [Departure(Kind.ANALYSIS, what) for what in broken]


def tried(designs: Iterable[Design], base_version: str) -> int:
    """Return how many different arms were declared with this base over `designs`: the N of "best of N
    tried", whichever of them a board shows."""
    return len(
        {
            arm
            for design in designs
            if design.analysis is not None
            for arm, base in design.analysis.bases.items()
            if base == base_version
        }
    )


def log_withdrawn_match(store: Store, match: Listed, reason: str) -> list[str]:
    """Log a match that was just withdrawn with every design that plans it; return their hashes."""
    own = Filter(
        sellers=[match.seller_version],
        buyers=[match.buyer_version],
        scenario_key=match.scenario_key,
        opener=match.opener,
        replicate=match.replicate,
        only_withdrawn=True,
    )
    logged = []
    for stored in store.designs():
        design = stored.design
        if store.count(replace(own, design=design)):
            seller = design.names(Role.SELLER)[match.seller_version]
            buyer = design.names(Role.BUYER)[match.buyer_version]
            what = f"match {match.key} withdrawn: {seller} against {buyer} on {match.scenario}"
            store.add_deviation(design.hash, Kind.CELL.value, what, reason)
            logged.append(design.hash)
    return logged


def log_withdrawn_agent(store: Store, version: str, reason: str) -> list[str]:
    """Log an agent that was just withdrawn with every design in which it has matches left to play;
    return their hashes. What it played stays on the boards."""
    logged = []
    for stored in store.designs():
        design = stored.design
        sides = {Kind.ARM: design.names(Role.SELLER), Kind.BUYER: design.names(Role.BUYER)}
        kind = next((side for side, names in sides.items() if version in names), None)
        if kind is None:
            continue
        now, its_M = store.standing(design), Plan(design).seated_M({version})
        left = int(np.count_nonzero(its_M & ~(now.scored_M | now.withdrawn_M)))
        if left:
            its = np.count_nonzero(its_M)
            what = f"{sides[kind][version]} withdrawn with {left:,} of its {its:,} matches unplayed"
            store.add_deviation(design.hash, kind.value, what, reason)
            logged.append(design.hash)
    return logged


def _related(old: Design, new: Design) -> bool:
    """Return whether `old` declared a contrast all of whose sellers stand in `new`, or both declared one
    with the same seller: another arm over the same base is a second try."""
    sellers = {player.version for player in new.sellers}
    first, second = (
        [set(c.sellers) for c in d.analysis.contrasts] if d.analysis else [] for d in (old, new)
    )
    return any(found <= sellers for found in first) or bool(set().union(*first) & set().union(*second))
