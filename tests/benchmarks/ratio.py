"""How many matches a CPU-second plays, here and in NegMAS 0.16, in one run on the same utilities.

    python -m tests.benchmarks.ratio

plays six common strategies against each other, both ways round, on drawn scenarios of 5 terms x 5
options, 100 rounds, everything stored, then on 9 terms x 5 options, and prints a table for each. On 9
terms NegMAS is spared what it says of a scenario by default, its frontier and bargaining solutions: they
go through all 1,953,125 outcomes, which alone takes minutes. NegMAS is looked for in the interpreter
that the variable NEGMAS_PYTHON names. ARENA_BENCHMARKS names a file to write the figures to as JSON.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.build import build
from agents.scripted import spec_of
from arena.design import Design, DesignDomain, Player
from arena.lineup import Lineup
from arena.registry import scripted
from arena.store import Filter, Store
from arena.tournament import Settings, Tournament
from scenarios.domain import Briefs, Domain, Kind, Term
from scenarios.draw import draw
from scenarios.scenario import Preferences, Split
from tests.benchmarks.figures import Figure, show

ROUNDS = 100
# NegMAS's own exponents (its a is our 1/e), final aspiration and chance to accept.
STRATEGIES = {
    "boulware": {"exponent": 0.25, "floor": 0.0, "acceptance": "next"},
    "linear": {"exponent": 1.0, "floor": 0.0, "acceptance": "next"},
    "conceder": {"exponent": 4.0, "floor": 0.0, "acceptance": "next", "margin": 0.0},
    "tit_for_tat": {"floor": 0.0},
    "micro_quantile": {},
    "random": {"accept_probability": 0.15},
}


def space(number: int, aim: Mapping[Kind, int]) -> Domain:
    """Return a domain of `number` terms with five options each."""
    return Domain(
        name=f"terms_{number}_by_5",
        title=f"{number} terms of five options",
        briefs=Briefs(seller="Sell.", buyer="Buy."),
        aim=dict(aim),
        terms=tuple(
            Term(name=f"term {i}", options=tuple(f"{i} {j}" for j in "abcde"), default=f"{i} a")
            for i in range(number)
        ),
    )


@dataclass(frozen=True)
class Comparison:
    """What both sides play: every strategy against every one, itself included, both ways round."""

    domain: Domain
    scenarios: int
    """What we play of them, as many as make our start a small part of the whole, as in a tournament."""
    theirs: int
    """What NegMAS plays, the first of the same, since its matches take long. Its rate hardly depends on
    how many they are."""
    least: float
    """The ratio that is aimed at."""
    statistics: bool = True
    """Whether NegMAS, as by default, works out the statistics of scenarios. We always do."""


FIVE = Comparison(
    space(5, {Kind.COMPATIBLE: 1, Kind.DISTRIBUTIVE: 2, Kind.INTEGRATIVE: 2}), 100, 3, 100.0
)
NINE = Comparison(
    space(9, {Kind.COMPATIBLE: 2, Kind.DISTRIBUTIVE: 4, Kind.INTEGRATIVE: 3}),
    100,
    1,
    1000.0,
    statistics=False,
)


def negmas_python() -> str | None:
    """Return an interpreter that has NegMAS 0.16, or None."""
    found = os.environ.get("NEGMAS_PYTHON")
    if not found or not shutil.which(found):
        return None
    version = "import importlib.metadata as m; print(m.version('negmas'))"
    done = subprocess.run([found, "-c", version], capture_output=True, text=True, check=False)
    return found if done.stdout.startswith("0.16.") else None


def cpu() -> float:
    """Seconds of CPU of this process and its finished children."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def lineup(scenarios: int, what: Comparison = FIVE) -> Lineup:
    """Return what we play."""
    agents = [
        replace(scripted(name), spec=spec_of(name, **parameters))
        for name, parameters in STRATEGIES.items()
    ]
    built = {agent.spec.version: build(agent.spec) for agent in agents}
    players = tuple(
        Player(name=a.name, version=a.spec.version, deterministic=built[a.spec.version].deterministic)
        for a in agents
    )
    design = Design(
        sellers=players,
        buyers=players,
        domains=(DesignDomain(name=what.domain.name, version=what.domain.version, held_out=False),),
        scenarios=scenarios,
        opener="both",
        turns=ROUNDS,
    )
    known = {agent.spec.version: agent for agent in agents}
    return Lineup(design, known, built, {what.domain.version: what.domain})


def ours(folder: Path, scenarios: int, what: Comparison = FIVE) -> dict[str, Any]:
    """Play our half as `arena run-tournament --workers 1` does, everything stored."""
    began = cpu()
    with Store.open(str(folder / "ours.db")) as store:
        summary = Tournament(store, lineup(scenarios, what), Settings(workers=1)).run()
        seconds = cpu() - began
        finished = store.matches(Filter())
    return {
        "what": "Bargaining Arena",
        "matches": summary.played,
        "cpu_seconds": seconds,
        "agreements": sum(row.ending == "agreement" for row in finished),
        "turns": sum(row.turns for row in finished),
    }


def theirs(python: str, folder: Path, what: Comparison = FIVE) -> dict[str, Any]:
    """Have NegMAS play the same utilities, without drawing figures; return what came of it."""
    contents = []
    for index in range(what.theirs):
        scenario = draw(what.domain, Split.EVAL, index)
        options = [list(term.options) for term in scenario.terms]
        sides = [_side(scenario.seller), _side(scenario.buyer)]
        contents.append({"name": f"s{index}", "options": options, "sides": sides})
    (folder / "scenarios.json").write_text(json.dumps(contents))
    # Some machines set these for their own BLAS; they slow other builds of it.
    dropped = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    side = Path(__file__).with_name("negmas_side.py")
    statistics = "statistics" if what.statistics else "no-statistics"
    arguments = [folder / "scenarios.json", folder / "theirs", statistics]
    done = subprocess.run(
        [python, side, *arguments],
        env=environment | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"NegMAS failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _side(preferences: Preferences) -> dict[str, Any]:
    return {
        "weights": [weight / 100 for weight in preferences.weights],
        "values": [[value / 100 for value in row] for row in preferences.values],
        "walk_away": preferences.walk_away,
    }


def compare(python: str, what: Comparison = FIVE) -> dict[str, Any]:
    """Run both halves; return their figures and the ratio of matches per CPU-second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        halves = [ours(folder, what.scenarios, what), theirs(python, folder, what)]
    for half in halves:
        half["matches_per_cpu_second"] = half["matches"] / half["cpu_seconds"]
        half["turns_per_cpu_second"] = half["turns"] / half["cpu_seconds"]
    mine, other = halves
    return {
        "domain": what.domain.title,
        "halves": halves,
        "ratio": mine["matches_per_cpu_second"] / other["matches_per_cpu_second"],
        "ratio_of_turns": mine["turns_per_cpu_second"] / other["turns_per_cpu_second"],
    }


def table(result: Mapping[str, Any]) -> str:
    """Return the figures as lines."""
    columns = ("matches", "agreements", "turns", "cpu_seconds", "matches_per_cpu_second")
    lines = [
        result["domain"],
        f"{'':20}" + "".join(f"{column.replace('_', ' '):>26}" for column in columns),
    ]
    for half in result["halves"]:
        lines.append(f"{half['what']:20}" + "".join(f"{half[column]:>26,.1f}" for column in columns))
    lines.append(f"{result['ratio']:.1f} times the matches a CPU-second")
    lines.append(f"{result['ratio_of_turns']:.1f} times the turns a CPU-second")
    return "\n".join(lines)


def shown(result: Mapping[str, Any], what: Comparison = FIVE) -> Figure:
    """Return our matches a CPU-second against NegMAS's."""
    mine, other = result["halves"]
    spared = "" if what.statistics else "; NegMAS without its statistics of scenarios"
    return Figure(
        f"a tournament of six strategies, {len(what.domain.terms)} terms x 5 options",
        mine["matches_per_cpu_second"],
        "matches / CPU s",
        f"{other['what']} cartesian_tournament",
        other["matches_per_cpu_second"],
        result["ratio"],
        least=what.least,
        conditions=f"{ROUNDS} rounds, {mine['matches']:,} matches against {other['matches']:,}, "
        f"one process each, everything stored{spared}",
    )


def main() -> int:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    python = negmas_python()
    if python is None:
        print("set NEGMAS_PYTHON to a Python that has negmas 0.16", file=sys.stderr)
        return 2
    both = [(what, compare(python, what)) for what in (FIVE, NINE)]
    tables = "\n\n".join(table(result) for _, result in both)
    found = {what.domain.name: result for what, result in both}
    show(tables, found, [shown(result, what) for what, result in both])
    return 0


if __name__ == "__main__":
    sys.exit(main())
