"""Guards against hollow gains: four checks a seller has to pass beside its score. Ours, with our limits.

1. *Action leak*: the share of its messages that carry a fragment of the JSON action
   (:func:`arena.measures.leaks`); its shares of faulty turns, and of messages that state its own private
   numbers (:mod:`arena.disclosures`), stand beside.
2. *Opener*: the largest share of its messages that begin with the same two words.
3. *Pooling alarm*: :mod:`leaderboard.inference.splits`.
4. *No worse than base*, beyond a margin, on the cells that both completed: deals, agreements below the
   walk-away value, and agreements in infeasible cells where the design plays any.

In all of them more is worse, and the limit is the most that is allowed. A guard fails where the whole
95% interval lies above its limit, passes where it lies wholly at or below, and is not judged between: so
too few matches cannot pass. What has no base, or wrote no message, is not judged either: a pass is
evidence, and a silent seller gives none. Limits are the design's, or the defaults of
:class:`arena.analysis.Guards`. All over open domains.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from arena.analysis import Analysis
from arena.results import BoolArray, FloatArray, Results
from leaderboard.inference import conduct
from leaderboard.inference.cells import CellTable, tabulate
from leaderboard.inference.rates import Rate, beta_interval, rate
from leaderboard.inference.splits import ArmSplit, splits
from leaderboard.inference.statistic import FEWEST_CLUSTERS, Cells, Estimate, estimate, score_weights
from scenarios.scenario import SCALE, Role

LEAK, OPENER, ALARM, BASE = "action leak", "opener", "pooling alarm", "no worse than base"
DEALS, BELOW, INFEASIBLE = "fewer deals", "deals below walk-away", "infeasible deals"
NO_BASE = "no base is declared for it"
_SELLER = 0
"""Its place on an axis of roles."""
_DECODER = msgspec.json.Decoder(list[list[str]])


class GuardResult(StrEnum):
    """What became of a guard."""

    PASS = "pass"
    FAIL = "fail"
    NOT_JUDGED = "not judged"
    """The interval holds the limit, or there is none."""


@dataclass(frozen=True)
class Guard:
    """One guard of one seller. More is worse; the limit is the most that is allowed."""

    name: str
    result: GuardResult
    value: float | None
    low: float | None
    high: float | None
    limit: float
    n: int
    """Messages, or cells."""
    clusters: int
    note: str
    """What else there is to say, above all why it was not judged."""
    beside: Rate | None = None
    """The share of faulty turns, beside the action leak; it decides nothing."""
    disclosures: Rate | None = None
    """The share of messages that state private numbers, beside the action leak; it decides nothing."""
    parts: tuple["Guard", ...] = ()
    """What *no worse than base* consists of. Its own figures are those of the part that decided."""

    def to_json(self) -> dict[str, Any]:
        """Return the guard as `arena guards --json` prints it."""
        return asdict(self)


def guards(results: Results, found: Sequence[ArmSplit] | None = None) -> dict[str, tuple[Guard, ...]]:
    """Return the four guards of every seller, by its name on the board, in the order above.

    `found` are the splits of the same results, where they are known already.
    """
    frame = _Frame.of(results)
    arms = splits(results) if found is None else found
    place = {player.version: arm for arm, player in enumerate(results.design.sellers)}
    judged: dict[str, tuple[Guard, ...]] = {}
    for arm, row in enumerate(arms):
        base_version = frame.analysis.bases.get(row.version)
        base = None if base_version is None else place[base_version]
        judged[row.arm] = (
            _leak(frame, arm),
            _opener(frame, arm),
            _pooling(row, frame.analysis.alarm_margin),
            _no_worse(frame, arm, base),
        )
    return judged


@dataclass(frozen=True)
class _Frame:
    """What all guards read."""

    results: Results
    analysis: Analysis
    table: CellTable
    infeasible: CellTable
    open_D: BoolArray
    weight_B_D: FloatArray
    below_M: BoolArray
    """Whether a match is an agreement in which the seller got less than its walk-away value."""

    @classmethod
    def of(cls, results: Results) -> "_Frame":
        design = results.design
        open_D = results.open_D
        # Stored utilities are whole multiples of 1 / SCALE: compared as such, equal is not below.
        points_M = np.rint(results.seller_utility_M * SCALE)
        return cls(
            results,
            design.analysis or Analysis(),
            tabulate(results, Role.SELLER),
            tabulate(results, Role.SELLER, feasible=False),
            open_D,
            score_weights(len(design.buyers), open_D),
            results.deal_M & (points_M < results.measures_M["walk_away"][:, _SELLER]),
        )

    def share(self, arm: int, hits_M: np.ndarray, chances_M: np.ndarray) -> Rate:
        """Return hits over chances, both counted match by match."""
        return rate(self.table.of(arm, hits_M), self.table.of(arm, chances_M).y_M, self.open_D)


def judge(low: float | None, high: float | None, limit: float) -> GuardResult:
    """Return what an interval says of a limit that nothing should exceed."""
    if low is None or high is None:
        return GuardResult.NOT_JUDGED
    if low > limit:
        return GuardResult.FAIL
    return GuardResult.PASS if high <= limit else GuardResult.NOT_JUDGED


def _leak(frame: _Frame, arm: int) -> Guard:
    measures_M = frame.results.measures_M
    leaks_M, messages_M = (measures_M[field][:, _SELLER] for field in ("leaks", "messages"))
    found = frame.share(arm, leaks_M, messages_M)
    note = "share of its messages that carry a fragment of the JSON action"
    guard = _share_guard(LEAK, found, frame.analysis.guards.action_leak, note)
    where = (frame.results, frame.table, arm, Role.SELLER, frame.open_D)
    beside, disclosures = conduct.faulty_turns(*where), conduct.disclosures(*where)
    return replace(guard, beside=beside, disclosures=disclosures)


def _opener(frame: _Frame, arm: int) -> Guard:
    match_C = frame.table.match_A_C[arm]
    match_C = match_C[(match_C >= 0) & frame.open_D[frame.table.domain_C]]
    messages_M = frame.results.measures_M["messages"][:, _SELLER]
    spoke_C = match_C[messages_M[match_C] > 0]
    said = [_words(frame.results.words_M[match]) for match in spoke_C.tolist()]
    counts = Counter(phrase for words in said for phrase in words if phrase)
    # Of equally common ones the first in the alphabet: the choice must not depend on the order of rows.
    common = min(counts, key=lambda phrase: (-counts[phrase], phrase), default="")
    hits_M, chances_M = np.zeros((2, len(messages_M)))
    hits_M[spoke_C] = [words.count(common) if common else 0 for words in said]
    chances_M[spoke_C] = [len(words) for words in said]
    note = (
        f'share of its messages that begin with "{common}", its most common; picked from these very '
        "messages, so with few of them it lies too high"
    )
    found = frame.share(arm, hits_M, chances_M)
    return _share_guard(OPENER, found, frame.analysis.guards.opener, note)


def _words(text: str | None) -> list[str]:
    return [] if text is None else _DECODER.decode(text)[_SELLER]


def _share_guard(name: str, found: Rate, limit: float, note: str) -> Guard:
    if found.n == 0:
        note = "it wrote no message, so there is nothing to judge"
    elif found.problem is not None:
        note = f"{note}; no interval: {found.problem}"
    result = judge(found.low, found.high, limit)
    return Guard(name, result, found.value, found.low, found.high, limit, found.n, found.clusters, note)


def _pooling(row: ArmSplit, margin: float) -> Guard:
    """Judge the alarm. Not raising it is no pass: that takes a gain that is general, or moves of the
    split that are shown to be within the margin."""
    if not row.moved:
        return Guard(ALARM, GuardResult.NOT_JUDGED, None, None, None, margin, 0, 0, row.why)
    most = max(row.moved.values(), key=lambda moved: abs(moved.value or 0.0))
    sign = -1 if (most.value or 0.0) < 0 else 1
    ends = most.interval()
    low, high = (None, None) if ends is None else sorted(sign * end for end in ends)
    within = all(
        (span := moved.interval()) is not None and -margin <= span[0] and span[1] <= margin
        for moved in row.moved.values()
    )
    result, note = GuardResult.NOT_JUDGED, row.why
    if row.alarm:
        result = GuardResult.FAIL
    elif row.general:
        result, note = GuardResult.PASS, f"the gain is detectable against every buyer; {row.why}"
    elif within:
        result, note = GuardResult.PASS, f"its split moved by less than the margin; {row.why}"
    value = None if most.value is None else sign * most.value
    return Guard(ALARM, result, value, low, high, margin, most.cells, most.clusters, note)


def _no_worse(frame: _Frame, arm: int, base: int | None) -> Guard:
    limits = frame.analysis.guards
    if base is None:
        limit = limits.deal_margin
        return Guard(BASE, GuardResult.NOT_JUDGED, None, None, None, limit, 0, 0, NO_BASE)
    table, deal_M = frame.table, frame.results.deal_M
    weight_B_D = frame.weight_B_D
    parts = [
        _excess(DEALS, table.difference(base, arm, deal_M), weight_B_D, limits.deal_margin),
        _excess(BELOW, table.difference(arm, base, frame.below_M), weight_B_D, limits.below_margin),
    ]
    note = "no infeasible panel is played"
    if frame.results.design.infeasible:
        more = frame.infeasible.difference(arm, base, deal_M)
        parts.append(_excess(INFEASIBLE, more, weight_B_D, limits.infeasible_margin))
        note = ""
    results = [part.result for part in parts]
    order = (GuardResult.FAIL, GuardResult.NOT_JUDGED, GuardResult.PASS)
    result = next(one for one in order if one in results)
    decided = max(
        (part for part in parts if part.result is result),
        key=lambda part: float("-inf") if part.high is None else part.high - part.limit,
    )
    words = "; ".join(filter(None, [*(f"{part.name}: {part.result.value}" for part in parts), note]))
    return replace(decided, name=BASE, result=result, note=words, parts=tuple(parts))


def _excess(name: str, cells: Cells, weight_B_D: FloatArray, limit: float) -> Guard:
    """Judge a paired difference from base, in shares of cells; above 0 is worse than base."""
    found = estimate(cells, weight_B_D)
    counted_M = weight_B_D[cells.buyer_M, cells.domain_M] != 0
    low, high = _interval(found, cells.y_M[counted_M]) or (None, None)
    note = (
        "share of the cells both completed, less base's"
        if name != DEALS
        else "base's share less its own"
    )
    if found.problem is not None:
        note = f"{note}; {found.problem}"
        if low is not None:
            note += f"; the interval is that of a change never seen on {found.clusters} scenarios"
    result = judge(low, high, limit)
    return Guard(name, result, found.value, low, high, limit, found.cells, found.clusters, note)


def _interval(found: Estimate, y_M: FloatArray) -> tuple[float, float] | None:
    """Return the interval of a mean difference of yes and no; where every cell is alike, what a share of
    cells never seen among so many scenarios (Beta, as for any rate) could still change."""
    if found.problem is None or found.value is None or found.se is None:
        return found.interval()
    if found.clusters < FEWEST_CLUSTERS:
        return None
    unseen = beta_interval(0.0, found.clusters)[1]
    reach = unseen * (1 + float(np.abs(y_M).max(initial=0)))
    return max(-1.0, found.value - reach), min(1.0, found.value + reach)
