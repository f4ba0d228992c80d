"""Training runs made ready to be shown: their metrics and steps, and the checkpoints that are agents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from arena.run_lock import RUNS, under_way
from arena.store import Registration, RunStatus, StoredDesign, TrainingRun
from leaderboard.known import lineage_kl
from leaderboard.metrics import BUYER, FIRST, ordered
from scenarios.scenario import Role

WINDOW = 5
"""Steps whose mean stands for a run's start, or for where it is now: one step alone is noisy."""
GONE = "its process is gone"
RECIPE = (
    ("model", "model"),
    ("learning_rate", "learning rate"),
    ("beta", "beta"),
    ("loss_type", "loss"),
    ("seed", "seed"),
    ("prompt_version", "prompt"),
)
"""What of a recipe says in short how runs differ, and the word for it."""
Steps = Sequence[tuple[int, Mapping[str, float]]]
"""A run's steps in order: the step, and its metrics by name."""


Points = Sequence[tuple[int, float]]
"""A metric's values by step, in order."""


class Shown(NamedTuple):
    """The metrics of runs by where they are shown."""

    first: list[str]
    """Those that a run is judged by."""
    buyers: list[str]
    """The share of dialogues with each buyer."""
    rest: list[str]


def metrics(runs: Mapping[str, Steps]) -> Shown:
    """Return the names of all metrics of the runs. Where none is a known one, all are shown first."""
    found = ordered(name for steps in runs.values() for _, values in steps for name in values)
    buyers = [name for name in found if name.startswith(BUYER)]
    known = {metric.name for metric in FIRST}
    first = [name for name in found if name in known]
    rest = [name for name in found if name not in known and name not in buyers]
    return Shown(first, buyers, rest) if first else Shown(rest, buyers, [])


def points(steps: Steps, metric: str) -> Points:
    """Return the finite values of a metric; a gap is where it was not reported, or no number."""
    return [(step, values[metric]) for step, values in steps if isfinite(values.get(metric, nan))]


def ends(found: Points) -> tuple[float, float] | None:
    """Return the means over the first and over the last steps: WINDOW of them, or half of all where
    there are fewer, at least one; None where there is no value."""
    if not found:
        return None
    values = [value for _, value in found]
    size = max(1, min(WINDOW, len(values) // 2))
    return fmean(values[:size]), fmean(values[-size:])


def rows(runs: Mapping[str, Steps]) -> list[dict[str, Any]]:
    """Return a row a step of every run, for a download."""
    return [
        {"run": name, "step": step} | dict(values)
        for name, steps in runs.items()
        for step, values in steps
    ]


def in_short(recipe: Mapping[str, Any]) -> Iterator[str]:
    """Yield a recipe in short, as far as it has what a recipe of this project has: how it is learned,
    against whom, and on what."""
    size = f" ({recipe['size']})" if recipe.get("size") not in (None, recipe.get("model")) else ""
    facts = [
        f"{word} {recipe[key]}{size if key == 'model' else ''}" for key, word in RECIPE if key in recipe
    ]
    if {"group_size", "groups_per_step"} <= recipe.keys():
        facts.append(f"{recipe['groups_per_step']} groups of {recipe['group_size']} a step")
    if recipe.get("shuffled_rewards"):
        facts.append("rewards shuffled (a negative control)")
    if facts:
        yield ", ".join(facts)
    for key, word in (("buyers", "against"), ("domains", "on")):
        if names := [one["name"] for one in recipe.get(key, ()) if isinstance(one, dict)]:
            yield f"{word} {', '.join(names)}"


def standing(run: TrainingRun, agents: Iterable[Registration], database: str) -> TrainingRun:
    """Return a run as it stands: interrupted where the record has it running, but its process was killed
    before it could say so.

    That can be seen on the machine of that process, where the run's folder is found: in the usual place,
    or by its checkpoints among `agents`. `database` is the address of the record.
    """
    if run.status is not RunStatus.RUNNING:
        return run
    weights = [agent.connection.weights for _, agent in checkpoints(run.name, agents)]
    folders = {Path(RUNS) / run.name, *(Path(folder).parent for folder in weights if folder)}
    found = {under_way(folder, database) for folder in folders}
    if True in found or False not in found:
        return run
    return run._replace(status=RunStatus.INTERRUPTED, why=GONE)


def ended_early(status: str, step: int, why: str | None) -> str | None:
    """Return at which step a run ended as `status` says, and why; None where nobody said why."""
    return f"{status} at step {step:,}: {why}" if why else None


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


def checkpoint_row(step: int, agent: Registration) -> dict[str, Any]:
    """Return what is known of a checkpoint that was saved at `step`, for JSON and for a download."""
    profile = agent.profile
    return {
        "step": step,
        "agent": agent.name,
        "version": agent.spec.version,
        "base": profile.base,
        "params": profile.params,
        "kl": lineage_kl(profile.lineage),
        "lineage": profile.lineage,
        "weights": agent.connection.weights,
        "withdrawn_reason": agent.withdrawn_reason,
    }


def boards(version: str, designs: Iterable[StoredDesign]) -> list[tuple[str, str]]:
    """Return (hash, name of the row) of the designs on whose boards this version sells."""
    return [
        (stored.design.hash, names[version])
        for stored in designs
        if version in (names := stored.design.names(Role.SELLER))
    ]
