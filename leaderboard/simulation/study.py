"""A world with the gains that the study reports, so that one can see what a board of its size finds.

Source of the gains and splits: "Do Small Language Models Learn to Negotiate?", arXiv 2610.06204. The
noise is set so that a gain's standard error at 1,024 cells is what its reported interval implies. Ours,
since they are not reported: the bases' levels at 2.3B and 4.5B (the latter follows from 0.515 + 0.003 -
0.089), a split of +0.050 for every arm but the one at 1e-5, and the scenarios' spread.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from arena.analysis import Contrast
from leaderboard.simulation.worlds import World, planned, version

BUYERS = ("Claude Sonnet 5", "GPT-5.6-Terra")
SPLIT = 0.05
"""Score against Terra minus score against Sonnet, where it is not reported."""


@dataclass(frozen=True)
class Arm:
    """A trained seller: its planted gain over base and the standard error that the study implies."""

    size: str
    rate: str
    gain: float
    se: float
    split: float = SPLIT

    @property
    def name(self) -> str:
        """Size and learning rate."""
        return f"{self.size} at {self.rate}"


BASES = {"2.3B": 0.45, "4.5B": 0.429, "12B": 0.525, "31B": 0.542}
ARMS = (
    Arm("2.3B", "1e-6", 0.001, 0.0102),
    Arm("4.5B", "1e-6", 0.023, 0.0061),
    Arm("12B", "1e-6", 0.063, 0.0059),
    Arm("31B", "1e-6", 0.078, 0.0071),
    Arm("2.3B", "3e-6", 0.037, 0.0102),
    Arm("4.5B", "3e-6", 0.089, 0.0069),
    Arm("12B", "3e-6", 0.076, 0.0087),
    Arm("31B", "3e-6", 0.080, 0.0089),
    Arm("2.3B", "1e-5", 0.050, 0.0115, split=0.175),
)
TRAP = "2.3B at 1e-5"
"""The arm whose pooled gain exists against one buyer only."""
_CELLS = 1_024


def study_world() -> World:
    """Return the world: 13 sellers, two buyers, eight open domains and one held out, 1,152 cells a
    seller; the nine gains over base are declared, and three differences of gains between sizes."""
    sellers = [*BASES, *(arm.name for arm in ARMS)]
    design = planned(
        sellers,
        BUYERS,
        domains=9,
        held_out=1,
        bases={arm.name: arm.size for arm in ARMS},
        contrasts=[*_gains(), *_differences()],
    )
    level_S = [*BASES.values(), *(BASES[arm.size] + arm.gain for arm in ARMS)]
    split_S = [*(SPLIT for _ in BASES), *(arm.split for arm in ARMS)]
    level_S_B = np.array(level_S)[:, None] + np.outer(split_S, [-0.5, 0.5])
    # A difference of two sellers has the variance of both; a base takes its arms' mean.
    variance = {
        size: float(np.mean([_variance(arm) for arm in ARMS if arm.size == size])) for size in BASES
    }
    noise_sd_S = [sqrt(variance[size] / 2) for size in BASES]
    noise_sd_S += [sqrt(max(_variance(arm) - variance[arm.size] / 2, 1e-4)) for arm in ARMS]
    return World(design, level_S_B, scenario_sd=0.15, noise_sd_S=np.array(noise_sd_S))


def _variance(arm: Arm) -> float:
    return arm.se**2 * _CELLS


def _gains() -> list[Contrast]:
    return [Contrast(plus=(version(arm.name),), minus=(version(arm.size),)) for arm in ARMS]


def _differences() -> list[Contrast]:
    """Return the gain of each size less that of the next smaller one, at the shared rate."""
    sizes = list(BASES)
    return [
        Contrast(
            plus=(version(f"{larger} at 1e-6"), version(smaller)),
            minus=(version(larger), version(f"{smaller} at 1e-6")),
        )
        for smaller, larger in pairwise(sizes)
    ]
