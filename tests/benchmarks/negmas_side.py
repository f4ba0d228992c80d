"""NegMAS's half of the comparison; runs in an interpreter that has NegMAS, and imports nothing of ours.

    PYTHON negmas_side.py SCENARIOS.json FOLDER statistics|no-statistics

Reads scenarios as plain utilities, plays NegMAS's own `cartesian_tournament` over them with its
defaults for storage, serially, and prints what came of it as one JSON object.
"""

import json
import resource
import sys
from pathlib import Path

import negmas
from negmas.inout import Scenario
from negmas.outcomes import make_issue, make_os
from negmas.preferences import LinearAdditiveUtilityFunction
from negmas.tournaments.neg import cartesian_tournament

COMPETITORS = [
    "BoulwareTBNegotiator",
    "LinearTBNegotiator",
    "ConcederTBNegotiator",
    "NaiveTitForTatNegotiator",
    "MiCRONegotiator",
    "RandomNegotiator",
]


def scenario(content):
    """Return NegMAS's form of `{"name", "options": [[...], ...], "sides": [{"weights", ...}, ...]}`."""
    issues = [make_issue(options, f"term{i}") for i, options in enumerate(content["options"])]
    space = make_os(issues, name=content["name"])
    sides = tuple(
        LinearAdditiveUtilityFunction(
            values=[
                dict(zip(options, row, strict=True))
                for options, row in zip(content["options"], side["values"], strict=True)
            ],
            weights=side["weights"],
            outcome_space=space,
            reserved_value=side["walk_away"],
        )
        for side in content["sides"]
    )
    return Scenario(outcome_space=space, ufuns=sides)


def cpu():
    """Seconds of CPU of this process and its finished children."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def main():
    scenarios = [scenario(content) for content in json.loads(Path(sys.argv[1]).read_text())]
    began = cpu()
    results = cartesian_tournament(
        competitors=[f"negmas.sao.{name}" for name in COMPETITORS],
        scenarios=scenarios,
        n_steps=100,
        njobs=-1,
        verbosity=0,
        path=Path(sys.argv[2]),
        save_scenario_figs=False,
        save_stats=sys.argv[3] == "statistics",
    )
    seconds = cpu() - began
    details = results.details
    print(
        json.dumps(
            {
                "what": f"NegMAS {negmas.__version__}",
                "matches": len(details),
                "cpu_seconds": seconds,
                "agreements": int(details["agreement"].notna().sum()),
                "turns": 2 * int(details["step"].sum()),
            }
        )
    )


main()
