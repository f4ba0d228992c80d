"""What batching gains in play: matches of a model on this machine, 64 at once or one at a time.

    python -m tests.benchmarks.local_play

makes and teaches a small Gemma 4, plays it through a tournament's own driver against a scripted buyer,
and prints answers a second of processor time, both ways, on one thread, and their ratio.
ARENA_BENCHMARKS names a file to write the figures to as JSON.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from tests.benchmarks.figures import Figure, show

TOGETHER = 64
ALONE = 8
"""Matches that are played one at a time; all of 64 would take minutes."""


def figures(base: Path, matches: int = TOGETHER, alone: int = ALONE) -> dict[str, Any]:
    """Return answers, seconds of processor time and answers a second, for both ways, and the ratio."""
    from agents.build import build
    from agents.local.agent import spec_of_weights
    from agents.spec import Connection

    spec = spec_of_weights(str(base), sampling={"max_tokens": 48}, prompt_version="brief1")
    player = build(spec, Connection(weights=str(base)))
    asyncio.run(_play(player, [0]))  # loading is not measured
    found: dict[str, Any] = {}
    for name, groups in (
        ("together", [range(matches)]),
        ("alone", [[number] for number in range(alone)]),
    ):
        began, answers = time.process_time(), 0
        for group in groups:
            answers += asyncio.run(_play(player, group))
        seconds = time.process_time() - began
        found[name] = {"answers": answers, "seconds": seconds, "rate": answers / seconds}
    found["ratio"] = found["together"]["rate"] / found["alone"]["rate"]
    return found


async def _play(player: Any, numbers: Any) -> int:
    """Play these scenarios at once; return how many answers the model gave."""
    outcomes = await asyncio.gather(*(_match(player, number) for number in numbers))
    attempts = [a for outcome in outcomes for turn in outcome.turns for a in turn.attempts]
    return sum(attempt.usage is not None for attempt in attempts)


async def _match(player: Any, number: int) -> Any:
    from agents.build import build
    from agents.scripted import spec_of
    from arena.drivers import run_async
    from arena.play import briefs, play
    from arena.protocol import Rules
    from scenarios.catalogue import bundled
    from scenarios.draw import draw
    from scenarios.scenario import Role, Split

    rules, domain = Rules(turns=3, message_limit=80), bundled("small")["lamps"]
    scenario = draw(domain, Split.DEV, number)
    game = play(scenario, briefs(domain, scenario, rules), rules, Role.SELLER)
    sides = {Role.SELLER: player, Role.BUYER: build(spec_of("boulware"))}
    return await run_async(game, sides, {role: Random(number) for role in Role})


def table(result: dict[str, Any]) -> str:
    """Return the figures as lines of text."""
    lines = [
        f"{name:8} {found['answers']:5} answers, {found['seconds']:6.1f} s, {found['rate']:6.1f} / s"
        for name, found in result.items()
        if name != "ratio"
    ]
    return "\n".join([*lines, f"{TOGETHER} matches at once against one: {result['ratio']:.1f} times"])


def shown(result: dict[str, Any]) -> Figure:
    """Return what playing together gains."""
    return Figure(
        f"matches of a tiny model on this machine, {TOGETHER} at once",
        result["together"]["rate"],
        "answers / CPU s",
        "the same, one at a time",
        result["alone"]["rate"],
        result["ratio"],
        conditions="one thread",
    )


def main() -> None:
    """Measure, print, and write the figures where ARENA_BENCHMARKS says."""
    import torch

    from tests.trainers.small_run import make_base

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        result = figures(make_base(Path(folder) / "base"))
    show(table(result), result, [shown(result)])


if __name__ == "__main__":
    main()
