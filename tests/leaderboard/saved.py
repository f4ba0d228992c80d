"""A training run with its steps and checkpoints, and scripted stand-ins that play what was saved."""

from collections.abc import Iterator
from math import exp, nan
from pathlib import Path

from agents.spec import Connection, Profile
from arena.record import utc_now
from arena.store import Registration, Store
from tests.leaderboard.trained import build_spec

RUN = "study"
BASE = "seed"
SAVED = {26: build_spec("linear", floor=0.15), 52: build_spec("conceder", exponent=4.0, floor=0.1)}
"""Sellers by the step at which they are said to have been saved; the base concedes least."""
RECIPE = {
    "model": "runs/bases/tiny",
    "size": "tiny",
    "learning_rate": 6e-4,
    "steps": 104,
    "group_size": 8,
    "groups_per_step": 8,
    "beta": 0.01,
    "loss_type": "dapo",
    "buyers": [{"name": "linear", "version": "1"}, {"name": "conceder", "version": "2"}],
    "domains": [{"name": "bread", "version": "3"}],
    "prompt_version": "brief1",
    "seed": 0,
}


def steps(last: int = 60) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield steps with the names that a run logs; a rate of which there was nothing is not a number."""
    for step in range(1, last + 1):
        gone = 1 - exp(-step / 20)
        wave = (step * 7 % 11 - 5) / 100
        yield (
            step,
            {
                "reward": 0.25 + 0.15 * gone + wave,
                "score": 0.25 + 0.15 * gone + wave,
                "reward_std": 0.2,
                "deal_rate": 0.5 + 0.3 * gone + wave,
                "kl": 0.2 * gone,
                "entropy": 0.9 - 0.5 * gone,
                "fault_rate": 0.12 * (1 - gone),
                "leak_rate": nan if step == 1 else 0.0,
                "opener_concentration": 0.2 + 0.3 * gone,
                "zero_variance_share": 0.125 * (step % 3),
                "frac_reward_zero_std": 0.125 * (step % 3),
                "turns": 5 - gone,
                "completions/mean_length": 160 - 40 * gone,
                "completions/clipped_ratio": 0.0,
                "clip_ratio/region_mean": 0.0,
                "loss": wave / 10,
                "grad_norm": 0.3 + wave,
                "learning_rate": 6e-4 * min(1, step / 5),
                "num_tokens": 20_000.0 * step,
                "rewards/score/mean": 0.25 + 0.15 * gone + wave,
                "seconds": 2.0,
                "buyer/linear": 0.5 + wave,
                "buyer/conceder": 0.5 - wave,
            },
        )


def store_run(
    path: Path, status: str | None = "done", why: str = "", *, name: str = RUN, **changed: object
) -> None:
    """Store the run with its base and checkpoints; `status` None leaves it under way."""
    with Store.open(str(path)) as store:
        store.add_training_run(name, RECIPE | changed)
        store.add_training_steps(name, list(steps()))
        entries = [Registration(BASE, build_spec("linear", floor=0.4), "seller", *known(None))]
        entries += [
            Registration(f"{name}-{step}", spec, "seller", *known(step, name))
            for step, spec in SAVED.items()
        ]
        store.add_registrations(entries)
        if status is not None:
            store.end_training_run(name, status, why)


def known(step: int | None, run: str = RUN) -> tuple[Profile, Connection, str]:
    """Return what is known of the base, or of what was saved at a step."""
    lineage = {}
    if step is not None:
        met = {"buyers": ["linear"], "domains": ["bread", "chairs"]}
        lineage = {"run": run, "step": step, "kl": step / 400} | met
    base = None if step is None else BASE
    return Profile(family="gemma", base=base, lineage=lineage), Connection(), utc_now()
