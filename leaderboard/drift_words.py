"""What is said of drift, the same in the terminal, at the end of a run and on the page."""

from arena.printable import plain
from leaderboard.inference.drift import Drift
from leaderboard.inference.statistic import Estimate
from leaderboard.wording import counted, difference, effect, signed, when

FEW = 0.05
"""A minimal detectable effect above this is too little power to rule drift out. Ours."""
READING = (
    "What the base scored in a replay less what it scored when the cell was first played; replays weigh "
    "alike, 95% t intervals by scenario as cluster. Parts are not corrected for how many they are."
)


def sentence(found: Drift) -> str:
    """Say how much drift there is, as ``drift +0.010 [-0.020, +0.040] over 56 replays``."""
    overall = found.overall
    problem = f" ({overall.problem})" if overall.problem else ""
    over = f"over {counted(overall.cells, 'replay')} on {counted(overall.clusters, 'scenario')}"
    return f"drift {difference(overall)}{problem} {over}"


def verdict(found: Drift) -> str:
    """Say what that means, and what it could not have shown."""
    mde = found.mde
    if mde is None:
        if found.overall.problem and found.overall.problem.startswith("all equal"):
            return f"every replay differs from its first play by {signed(found.overall.value)}"
        return (
            "too few scenarios replayed to tell drift from chance: a larger --drift replays more of the "
            "first block, and more --scenarios make that larger"
        )
    if found.changed:
        return (
            "what was served changed while the tournament went on: sellers that played at other times, "
            "or in an earlier design, did not meet the same"
        )
    power = f"a drift of {effect(mde)} is seen about three times in four, a smaller one less often"
    few = "; that is little: a larger --drift replays more" if mde > FEW else ""
    return f"no detectable drift; {power}{few}"


def capital(text: str) -> str:
    """Return a sentence's words with their first letter large."""
    return text[0].upper() + text[1:]


def block(found: Drift, number: int) -> str:
    """Say when the replays after a block began."""
    first, last = (when(time) for time in found.begun[number])
    return first if first == last else f"{first} to {last}"


def parts(found: Drift) -> list[tuple[str, Estimate]]:
    """Return every figure with what it is over."""
    every = [("all replays", found.overall)]
    if len(found.by_seller) > 1:
        every += [(f"of {plain(name)}", one) for name, one in found.by_seller.items()]
    every += [(f"against {plain(name)}", one) for name, one in found.by_buyer.items()]
    return every + [(f"after block {n} ({block(found, n)})", one) for n, one in found.by_block.items()]


def flat(found: Drift) -> list[dict[str, object]]:
    """Return a row a figure for a download."""
    return [{"replays": what} | one.to_json() for what, one in parts(found)]


def rows(found: Drift) -> list[tuple[str, str, str, str]]:
    """Return a row a figure: what it is over, the drift, its interval or why it has none, and n."""
    return [
        (
            what,
            signed(one.value),
            one.problem or difference(one).partition(" ")[2],
            f"{one.cells:,}/{one.clusters:,}",
        )
        for what, one in parts(found)
    ]
