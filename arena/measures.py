"""What is measured on a single transcript, once, where it was played; boards and trainers read it.

A match's measures are one fixed row of :data:`DTYPE`, stored as its bytes, so that a hundred thousand of
them are read at once. Raise VERSION with any change of what a field holds: an older database is then
measured again from its transcripts.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from agents.agent import UNNAMED
from arena.play import Outcome, Turn
from arena.protocol import Fault
from scenarios.domain import Kind
from scenarios.frontier import frontier
from scenarios.scenario import SCALE, Package, Role, Scenario

VERSION = 1
NONE = -1
"""In a whole number: there is nothing to measure."""
KINDS = tuple(Kind)
FAULTS = tuple(Fault)
DTYPE = np.dtype(
    [
        ("walk_away", "<i2", 2),
        ("surplus", "<i2"),
        ("distance", "<f4"),
        ("by_kind", "<i2", (2, len(KINDS))),
        ("terms", "<u1"),
        ("opening_terms", "<i1", 2),
        ("opening", "<i2", 2),
        ("opening_named", "<i2", 2),
        ("turns", "<u2", 2),
        ("messages", "<u2", 2),
        ("leaks", "<u2", 2),
        ("faulty_turns", "<u2", 2),
        ("faults", "<u2", (2, len(FAULTS))),
    ]
)
"""One match. An axis of 2 is (seller, buyer); utilities are whole multiples of 1/SCALE.

- `walk_away`: the walk-away values; `surplus`: the largest sum of both sides' gains over them in a
  package that is individually rational for both, NONE where there is none; `terms`: the domain's terms.
- `distance`: Euclidean distance of the deal to the Pareto frontier, in utility; NaN without a deal.
- `by_kind`: what each side got of the deal from the terms of each kind (axis: KINDS); 0 without a deal,
  else its sum is the side's utility.
- `opening_terms`: how many terms the proposal of a side's first turn names, 0 where that turn is no
  proposal, NONE where the side had no turn; `opening`: what that proposal would score its own side if it
  were accepted as it stands; `opening_named`: the same over the named terms only. NONE without one.
- `turns`, those with a `messages`, messages that `leaks` (:func:`leaks`), `faulty_turns` (turns with a
  faulty attempt), and faulty attempts by kind, `faults` (axis: FAULTS).
"""
_LEAK = re.compile(
    r"""["'](?:reasoning|message|action|terms)["']\s*:"""
    r"""|["'](?:propose|walk_away)["']"""
    r"""|\baction\b\s*[:=]\s*["']?(?:propose|accept|walk_away|talk)\b""",
    re.IGNORECASE,
)


def leaks(message: str) -> bool:
    """Return whether a public message carries a fragment of the JSON action: a quoted key of the
    answer's object with its colon, a quoted name of an action, or ``action: propose``. The definition is
    this project's; the study that reports such leaks does not give its own."""
    return _LEAK.search(message) is not None


def first_words(message: str) -> str:
    """Return the first two words of a message, in lower case and without punctuation."""
    return " ".join(re.findall(r"[^\W_]+(?:['’][^\W_]+)*", message.lower())[:2])  # noqa: RUF001


class Yardstick:
    """What one scenario's matches are measured by. Make it once a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._sides = (scenario.seller, scenario.buyer)
        kinds = [KINDS.index(kind) for kind in scenario.kinds]
        self._kind_T = kinds

    @cached_property
    def _front(self) -> tuple[np.ndarray, np.ndarray]:
        points = frontier(self._scenario)
        return points.seller_F, points.buyer_F

    @cached_property
    def surplus(self) -> int:
        """The largest sum of gains over the walk-away values, over individually rational packages."""
        gains = [
            points_F - side.walk_away_points
            for points_F, side in zip(self._front, self._sides, strict=True)
        ]
        rational_F = (gains[0] >= 0) & (gains[1] >= 0)
        return int((gains[0] + gains[1])[rational_F].max(initial=NONE))

    def measure(self, outcome: Outcome) -> tuple[bytes, str | None]:
        """Return the bytes of the match's row of DTYPE, and its words as JSON (see :func:`words`)."""
        return self.row(outcome.turns, outcome.deal).tobytes(), words(outcome.turns)

    def row(self, turns: Sequence[Turn], deal: Package | None) -> np.ndarray:
        """Return the measures of a match with these turns and this deal, of shape ()."""
        row = np.zeros((), DTYPE)
        row["walk_away"] = [side.walk_away_points for side in self._sides]
        row["surplus"] = self.surplus
        row["terms"] = len(self._scenario.terms)
        row["distance"] = np.nan
        row["opening_terms"] = row["opening"] = row["opening_named"] = NONE
        if deal is not None:
            row["distance"] = self._distance(deal)
            row["by_kind"] = [self._by_kind(deal, side.table) for side in self._sides]
        for place, role in enumerate(Role):
            own = [turn for turn in turns if turn.role is role]
            if own:
                self._opening(row, place, own[0])
                _talk(row, place, own)
        return row

    def _distance(self, deal: Package) -> float:
        seller, buyer = (side.points(deal) for side in self._sides)
        return float(np.hypot(self._front[0] - seller, self._front[1] - buyer).min()) / SCALE

    def _by_kind(self, deal: Package, table: Sequence[Sequence[int]]) -> list[int]:
        got = [0] * len(KINDS)
        for kind, row, option in zip(self._kind_T, table, deal, strict=True):
            got[kind] += row[option]
        return got

    def _opening(self, row: np.ndarray, place: int, first: Turn) -> None:
        offer, side = first.offer, self._sides[place]
        row["opening_terms"][place] = 0
        if offer is None:
            return
        named = [option != UNNAMED for option in offer]
        filled = [o if n else d for o, n, d in zip(offer, named, self._scenario.default, strict=True)]
        worth = [options[option] for options, option in zip(side.table, filled, strict=True)]
        row["opening_terms"][place] = sum(named)
        row["opening"][place] = sum(worth)
        row["opening_named"][place] = sum(w for w, n in zip(worth, named, strict=True) if n)


def _talk(row: np.ndarray, place: int, own: Sequence[Turn]) -> None:
    row["turns"][place] = len(own)
    messages = [turn.message for turn in own if turn.message]
    row["messages"][place] = len(messages)
    row["leaks"][place] = sum(map(leaks, messages))
    faults = [[a.fault for a in turn.attempts if a.fault is not None] for turn in own]
    row["faulty_turns"][place] = sum(map(bool, faults))
    for fault, count in Counter(fault for turn in faults for fault in turn).items():
        row["faults"][place][FAULTS.index(fault)] = count


def words(turns: Sequence[Turn]) -> str | None:
    """Return the first two words of every message as JSON, ``[[seller's, ...], [buyer's, ...]]`` in
    order of the turns; None where nobody wrote a message."""
    found = [
        [first_words(turn.message) for turn in turns if turn.role is role and turn.message]
        for role in Role
    ]
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) if any(found) else None
