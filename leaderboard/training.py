"""Training runs made ready to be shown: their metrics and steps, and the checkpoints that are agents."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arena.store import Registration, StoredDesign
from scenarios.scenario import Role

FIRST = ("reward", "kl", "entropy", "fault_rate", "zero_variance_share", "deal_rate")
"""Metrics whose names start so are shown first; the others follow in alphabetical order."""
Steps = Sequence[tuple[int, Mapping[str, float]]]
"""A run's steps in order: the step, and its metrics by name."""


def metrics(runs: Mapping[str, Steps]) -> list[str]:
    """Return the names of all metrics of the runs, the best known first."""
    found = {name for steps in runs.values() for _, values in steps for name in values}
    return sorted(found, key=lambda name: (_place(name), name))


def rows(runs: Mapping[str, Steps]) -> list[dict[str, Any]]:
    """Return a row a step of every run, for a download."""
    return [
        {"run": name, "step": step} | dict(values)
        for name, steps in runs.items()
        for step, values in steps
    ]


def checkpoints(run: str, agents: Iterable[Registration]) -> list[tuple[int, Registration]]:
    """Return the agents that were saved in a run, with their steps, in order of steps.

    A checkpoint's profile names in its lineage the `run` and the `step`.
    """
    found = []
    for agent in agents:
        lineage = agent.profile.lineage
        step = lineage.get("step")
        if lineage.get("run") == run and isinstance(step, int):
            found.append((step, agent))
    return sorted(found, key=lambda pair: (pair[0], pair[1].name, pair[1].spec.version))


def boards(version: str, designs: Iterable[StoredDesign]) -> list[tuple[str, str]]:
    """Return (hash, name of the row) of the designs on whose boards this version sells."""
    return [
        (stored.design.hash, names[version])
        for stored in designs
        if version in (names := stored.design.names(Role.SELLER))
    ]


def _place(metric: str) -> int:
    return next((place for place, first in enumerate(FIRST) if metric.startswith(first)), len(FIRST))
