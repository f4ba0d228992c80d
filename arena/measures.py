"""What is measured on a single transcript, once, where it was played; boards and trainers read it.

A match's measures are one fixed row of :data:`DTYPE`, stored as its bytes, so that a hundred thousand of
them are read at once. Raise VERSION with any change of what a field holds: an older database is then
measured again from its transcripts.
"""

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice

import numpy as np

from agents.agent import UNNAMED
from arena.disclosures import Disclosures
from arena.play import Outcome, Turn
from arena.protocol import Fault
from scenarios.domain import Kind
from scenarios.frontier import Points, frontier
from scenarios.scenario import SCALE, Package, Role, Scenario

VERSION = 2
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
        ("disclosures", "<u2", 2),
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
- `disclosures`: messages that state their speaker's own private numbers (:mod:`arena.disclosures`).
"""
_ROW = struct.Struct(f"<3hf{2 * len(KINDS)}hB2b4h8H{2 * len(FAULTS)}H2H")
"""DTYPE's layout; a test holds that the two agree."""
_NO_KINDS = (0,) * (2 * len(KINDS))
_NO_FAULTS = (0,) * len(FAULTS)
NAN = float("nan")
_LEAK = re.compile(
    r"""["'“”](?:reasoning|message|action|terms)\\?["'“”]\s*:"""
    r"""|["'“”]propose\\?["'“”]"""
    r"""|\bwalk_away\b"""
    r"""|\baction\b\s*[:=]\s*\\?["'“”]?(?:propose|accept|talk)\b""",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001


def leaks(message: str) -> bool:
    """Return whether a public message carries a fragment of the JSON action: a quoted key of the
    answer's object with its colon, ``walk_away``, a quoted ``propose``, or ``action: propose`` (accept,
    talk) with or without quotes. The definition is this project's; the study that reports such leaks
    does not give its own."""
    return _LEAK.search(message) is not None


def first_words(message: str) -> str:
    """Return the first two words of a message, in lower case and without punctuation."""
    return " ".join(found[0] for found in islice(_WORD.finditer(message.lower()), 2))


class Yardstick:
    """What one scenario's matches are measured by. Make it once a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._sides = (scenario.seller, scenario.buyer)
        self._default = scenario.default
        self._kind_T = [KINDS.index(kind) for kind in scenario.kinds]
        points = frontier(scenario)
        self._front = (points.seller_F, points.buyer_F)
        self._disclosures = Disclosures(scenario)
        walk_away = [side.walk_away_points for side in self._sides]
        self.surplus = _surplus(self._front, walk_away)
        """The largest sum of gains over the walk-away values, over individually rational packages."""
        self._head = (*walk_away, self.surplus)

    def measure(self, outcome: Outcome) -> tuple[bytes, str | None]:
        """Return the bytes of the match's row of DTYPE, and its words as JSON (see :func:`words`)."""
        return self.row(outcome.turns, outcome.deal), words(outcome.turns)

    def row(self, turns: Sequence[Turn], deal: Package | None) -> bytes:
        """Return the measures of a match with these turns and this deal: one row of DTYPE."""
        first = bool(turns) and turns[0].role is Role.BUYER  # turns alternate
        owns = turns[first::2], turns[1 - first :: 2]
        said, asked = _with_messages(turns), [turn for turn in turns if turn.attempts]
        # By struct: filling a row field by field through NumPy takes ten times as long.
        return _ROW.pack(
            *self._head,
            NAN if deal is None else self._distance(deal),
            *(self._by_kind(deal) if deal is not None else _NO_KINDS),
            len(self._kind_T),
            *_by_measure(map(self._opening, (0, 1), owns)),
            *map(len, owns),
            *_of_sides(said),
            *_of_sides([turn for turn in said if leaks(turn.message)]),
            *_of_sides([turn for turn in asked if any(one.fault is not None for one in turn.attempts)]),
            *_faults(asked, Role.SELLER),
            *_faults(asked, Role.BUYER),
            *(self._disclosures.counts(turns) if said else (0, 0)),
        )

    def _distance(self, deal: Package) -> float:
        seller_F, buyer_F = (
            points_F - side.points(deal) for points_F, side in zip(self._front, self._sides, strict=True)
        )
        return math.sqrt(int((seller_F * seller_F + buyer_F * buyer_F).min())) / SCALE

    def _by_kind(self, deal: Package) -> list[int]:
        got = [0] * (2 * len(KINDS))
        for place, side in enumerate(self._sides):
            for kind, row, option in zip(self._kind_T, side.table, deal, strict=True):
                got[place * len(KINDS) + kind] += row[option]
        return got

    def _opening(self, place: int, own: Sequence[Turn]) -> tuple[int, int, int]:
        """Return one side's opening_terms, opening and opening_named."""
        if not own:
            return NONE, NONE, NONE
        offer = own[0].offer
        if offer is None:
            return 0, NONE, NONE
        terms = worth = worth_named = 0
        for row, option, default in zip(self._sides[place].table, offer, self._default, strict=True):
            if option == UNNAMED:
                worth += row[default]
            else:
                terms += 1
                worth += row[option]
                worth_named += row[option]
        return terms, worth, worth_named


def _surplus(front: tuple[Points, Points], walk_away: Sequence[int]) -> int:
    seller_F, buyer_F = (points_F - least for points_F, least in zip(front, walk_away, strict=True))
    rational_F = (seller_F >= 0) & (buyer_F >= 0)
    return int((seller_F + buyer_F)[rational_F].max(initial=NONE))


def _by_measure(sides: Iterable[tuple[int, ...]]) -> Iterable[int]:
    """Return the numbers of both sides measure by measure, the seller's before the buyer's."""
    return chain.from_iterable(zip(*sides, strict=True))


def _with_messages(turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.message]


def _of_sides(turns: Sequence[Turn]) -> tuple[int, int]:
    """Return how many of the turns are the seller's, and the buyer's."""
    sellers = sum([turn.role is Role.SELLER for turn in turns])
    return sellers, len(turns) - sellers


def _faults(asked: Sequence[Turn], role: Role) -> Sequence[int]:
    """Return `role`'s faulty attempts by kind (axis: FAULTS)."""
    found = [one.fault for turn in asked if turn.role is role for one in turn.attempts if one.fault]
    if not found:
        return _NO_FAULTS
    count = Counter(found)
    return [count[fault] for fault in FAULTS]


def words(turns: Sequence[Turn]) -> str | None:
    """Return the first two words of every message as JSON, ``[[seller's, ...], [buyer's, ...]]`` in
    order of the turns; None where nobody wrote a message."""
    said = _with_messages(turns)
    if not said:
        return None
    found = [[first_words(turn.message) for turn in said if turn.role is role] for role in Role]
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
