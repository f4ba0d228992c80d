"""What the statistics find in many worlds, against what was planted: coverage, error rates, power.

Every check takes the number of worlds and a seed, and gives back rows with what was asked, what was
found, and the Monte Carlo error of it (one standard error of the share).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np

from leaderboard.inference.cells import tabulate
from leaderboard.inference.contrasts import compare_all
from leaderboard.inference.holm import holm
from leaderboard.inference.ranks import rank_intervals
from leaderboard.inference.splits import splits
from leaderboard.inference.statistic import estimate, score_weights
from leaderboard.simulation.study import ARMS, TRAP, study_world
from leaderboard.simulation.worlds import WALK_AWAY, World, planned
from scenarios.scenario import Role

Tick = Callable[[], None]
ALPHA = 0.05


@dataclass(frozen=True)
class Finding:
    """One line of a check: a share of worlds, and where the project says it should lie."""

    check: str
    case: str
    share: float | None
    """None where no world had an interval."""
    worlds: int
    low: float
    high: float
    """Where the share is meant to lie; 0 and 1 where it is reported whatever it is."""

    @property
    def error(self) -> float | None:
        """One Monte Carlo standard error of the share: of (found + 1) / (worlds + 2), since all of 20
        worlds do not make it certain."""
        if self.share is None:
            return None
        share = (self.share * self.worlds + 1) / (self.worlds + 2)
        return sqrt(share * (1 - share) / self.worlds)

    @property
    def as_meant(self) -> bool | None:
        """Whether the share lies where it is meant to, give or take two Monte Carlo standard errors;
        None where there is none, or nothing is meant."""
        if self.share is None or self.error is None or (self.low, self.high) == (0, 1):
            return None
        return self.low - 2 * self.error <= self.share <= self.high + 2 * self.error


@dataclass(frozen=True)
class Noise:
    """What a match's score is made of, for the check of coverage."""

    name: str
    spread: float
    """SD of a match's score, of which a fifth of the variance is its scenario's."""
    walk_away_share: float = 0.0
    zero_share: float = 0.0
    by_scenario: bool = False

    @property
    def meant(self) -> tuple[float, float]:
        """Where coverage is meant to lie; anywhere with point masses: it is reported as it is."""
        return (0.0, 1.0) if self.walk_away_share else (0.935, 0.965)


NOISES = (
    Noise("normal noise", 0.2),
    Noise("30% at the walk-away value, 5% at 0", 0.2, 0.30, 0.05),
    Noise("few lost scenarios: 5% at the walk-away value, 2% at 0", 0.05, 0.05, 0.02, by_scenario=True),
)
CLUSTERS = (8, 16, 32, 64, 128)
STRATA = (1, 8)


def coverage(worlds: int, seed: int, tick: Tick = lambda: None) -> Iterator[Finding]:
    """Yield how often the 95% interval of a score holds the truth: at 8 to 128 scenarios in all, in one
    stratum and in eight, with a within-scenario correlation of 0.2 and 5% of matches missing; first with
    normal noise, then with point masses at the walk-away value and at 0."""
    for (kind, noise), strata, clusters in product(enumerate(NOISES), STRATA, CLUSTERS):
        world = _coverage_world(clusters, strata, noise)
        truth = _truth(world)
        held = found = 0
        rng = np.random.default_rng([seed, clusters, strata, kind])
        weight_B_D = score_weights(2, np.ones(strata, bool))
        for _ in range(worlds):
            interval = estimate(tabulate(world.draw(rng), Role.SELLER).of(0), weight_B_D).interval()
            tick()
            if interval is not None:
                found += 1
                held += interval[0] <= truth <= interval[1]
        case = f"{noise.name}; {clusters} scenarios in {strata} {'stratum' if strata == 1 else 'strata'}"
        yield Finding("coverage", case, held / found if found else None, found, *noise.meant)


def _coverage_world(clusters: int, strata: int, noise: Noise) -> World:
    """Return a world of one seller whose scores have a within-scenario correlation of 0.2."""
    design = planned(["a"], ["x", "y"], domains=strata, scenarios=clusters // strata, replicates=2)
    return World(
        design,
        np.array([[0.55, 0.65]]),
        scenario_sd=noise.spread * sqrt(0.2),
        noise_sd_S=noise.spread * sqrt(0.8),
        missing=0.05,
        walk_away_share=noise.walk_away_share,
        zero_share=noise.zero_share,
        masses_by_scenario=noise.by_scenario,
    )


def _truth(world: World) -> float:
    """Return the expected score: the planted level, or with point masses its mixture."""
    if not world.walk_away_share and not world.zero_share:
        return float(world.level_S_B.mean())
    sd = sqrt(world.scenario_sd**2 + float(np.mean(np.asarray(world.noise_sd_S))) ** 2)
    inside = np.mean([_clipped_mean(level, sd) for level in world.level_S_B.ravel()])
    rest = 1 - world.walk_away_share - world.zero_share
    return float(world.walk_away_share * WALK_AWAY + rest * inside)


def _clipped_mean(mean: float, sd: float) -> float:
    """Return the mean of a normal variable held inside [0, 1], by quadrature."""
    z = np.linspace(-8, 8, 20_001)
    density = np.exp(-(z**2) / 2)
    return float(np.sum((mean + sd * z).clip(0, 1) * density) / np.sum(density))


def family_error(worlds: int, seed: int, tick: Tick = lambda: None) -> Iterator[Finding]:
    """Yield how often Holm rejects any true null, with half of eight arms null and all sharing a base;
    then how often all four that did gain are found."""
    arms = [f"arm {number}" for number in range(1, 9)]
    level_S = np.array([0.5, *[0.5] * 4, *[0.56] * 4])
    design = planned(["base", *arms], ["x", "y"], bases=dict.fromkeys(arms, "base"))
    world = World(design, np.tile(level_S[:, None], (1, 2)))
    weight_B_D = score_weights(2, np.ones(8, bool))
    rng = np.random.default_rng([seed, 1])
    wrong = right = 0
    for _ in range(worlds):
        table = tabulate(world.draw(rng), Role.SELLER)
        raw = [estimate(table.difference(arm, 0), weight_B_D).p for arm in range(1, 9)]
        rejected = [p <= ALPHA for p in holm(raw)]
        wrong += any(rejected[:4])
        right += all(rejected[4:])
        tick()
    case = "a true null rejected: 4 of 8 arms null, one base"
    yield Finding("holm", case, wrong / worlds, worlds, 0.0, 0.055)
    yield Finding("holm", "all four gains of +.060 found", right / worlds, worlds, 0.0, 1.0)


@dataclass(frozen=True)
class _Leaning:
    """An arm whose gains against two buyers differ, for the check of the alarm."""

    case: str
    gains: tuple[float, float]
    sd: float
    """Of a cell's paired difference: 0.21 is the middle of what the study's intervals imply, 0.37 its
    noisiest arm (.0115 standard error at 1,024 cells)."""
    meant: tuple[float, float] = (0.0, 1.0)


_LEANINGS = (
    _Leaning("harmless: gains +.050 and +.097, SD .21", (0.050, 0.097), 0.21, (0.0, 0.05)),
    _Leaning("harmless: gains +.050 and +.097, SD .37", (0.050, 0.097), 0.37),
    _Leaning("harmless but faint: gains +.0265 and +.0735, SD .21", (0.0265, 0.0735), 0.21),
    _Leaning("trap: gains -.0125 and +.1125, SD .21", (-0.0125, 0.1125), 0.21, (0.9, 1.0)),
    _Leaning("trap: gains -.0125 and +.1125, SD .37", (-0.0125, 0.1125), 0.37, (0.9, 1.0)),
)
BASE_SPLIT = 0.05


def alarm(worlds: int, seed: int, tick: Tick = lambda: None) -> Iterator[Finding]:
    """Yield how often the pooling alarm is raised on 512 scenarios: for splits that differ harmlessly by
    .047, as the study's .032 and .079 do, and at its trap, a pooled +.050 with a split of +.175 against
    +.050."""
    design = planned(["base", "arm"], ["x", "y"], bases={"arm": "base"})
    base_B = np.array([0.45 - BASE_SPLIT / 2, 0.45 + BASE_SPLIT / 2])
    for number, leaning in enumerate(_LEANINGS):
        level_S_B = np.array([base_B, base_B + leaning.gains])
        world = World(design, level_S_B, noise_sd_S=leaning.sd / sqrt(2))
        rng = np.random.default_rng([seed, 2, number])
        raised = 0
        for _ in range(worlds):
            (found,) = (split for split in splits(world.draw(rng)) if split.base is not None)
            raised += found.alarm
            tick()
        yield Finding("alarm", leaning.case, raised / worlds, worlds, *leaning.meant)


_BOARDS = (
    ("6 arms, all different", [0.50, 0.51, 0.52, 0.54, 0.56, 0.60]),
    ("6 arms, two ties of two", [0.50, 0.50, 0.53, 0.53, 0.56, 0.60]),
    ("6 arms, all the same", [0.5] * 6),
)
"""Boards whose rank intervals are checked: the arms' expected scores."""


def ranks(worlds: int, seed: int, tick: Tick = lambda: None) -> Iterator[Finding]:
    """Yield how often every rank interval of a board holds the arm's true rank; arms that tie share all
    the ranks of their tie."""
    for number, (case, level_S) in enumerate(_BOARDS):
        design = planned([f"arm {number}" for number in range(6)], ["x", "y"], scenarios=16)
        world = World(design, np.tile(np.array(level_S)[:, None], (1, 2)))
        truth = [_true_ranks(level_S, arm) for arm in range(6)]
        weight_B_D = score_weights(2, np.ones(8, bool))
        rng = np.random.default_rng([seed, 3, number])
        held = 0
        for _ in range(worlds):
            table = tabulate(world.draw(rng), Role.SELLER)
            found = rank_intervals(table, weight_B_D, list(range(6)))
            held += all(
                found[a].low <= low and high <= found[a].high for a, (low, high) in enumerate(truth)
            )
            tick()
        yield Finding("ranks", case, held / worlds, worlds, 0.95, 1.0)


def _true_ranks(level_S: list[float], arm: int) -> tuple[int, int]:
    better = sum(level > level_S[arm] for level in level_S)
    return 1 + better, better + sum(level == level_S[arm] for level in level_S)


def recovery(worlds: int, seed: int, tick: Tick = lambda: None) -> Iterator[Finding]:
    """Yield what boards of the study's size make of the study's own gains: a clear one, of four standard
    errors or more, is meant to be found by Holm in at least 80% of worlds, the one of +.001 in at most
    5%."""
    world = study_world()
    rng = np.random.default_rng([seed, 4])
    declared = [] if world.design.analysis is None else world.design.analysis.contrasts
    over_base = [contrast for contrast in declared if len(contrast.plus) == 1]
    signs = trap = 0
    found_of = dict.fromkeys((arm.name for arm in ARMS), 0)
    for _ in range(worlds):
        results = world.draw(rng)
        gains = compare_all(results, over_base, booted=False)
        for arm, gain in zip(ARMS, gains, strict=True):
            found_of[arm.name] += (gain.adjusted_p or 1.0) <= ALPHA
        signs += all((gain.estimate.value or 0.0) > 0 for gain in gains[1:])
        trap += {split.arm for split in splits(results) if split.alarm} == {TRAP}
        tick()
    yield Finding("study", "every gain but +.001 has its sign", signs / worlds, worlds, 0.95, 1.0)
    yield Finding("study", f"the alarm for {TRAP} and no other", trap / worlds, worlds, 0.0, 1.0)
    for arm in ARMS:
        z = arm.gain / arm.se
        meant = (0.8, 1.0) if z >= 4 else (0.0, 0.05) if z < 1 else (0.0, 1.0)
        case = f"{arm.name}: gain of {arm.gain:+.3f} found ({z:.1f} standard errors)"
        yield Finding("study", case, found_of[arm.name] / worlds, worlds, *meant)


def planted(
    gains: Sequence[float],
    sd: float,
    scenarios: int,
    worlds: int,
    seed: int,
    tick: Tick = lambda: None,
) -> Iterator[Finding]:
    """Yield how often each of `gains` over one base is found by Holm over all of them, and how often
    its 95% interval holds it: eight domains of `scenarios` scenarios, two buyers, and a paired
    difference of a cell with standard deviation `sd`."""
    arms = [f"arm {number}" for number in range(1, len(gains) + 1)]
    level_S = np.array([0.5, *(0.5 + gain for gain in gains)])
    design = planned(["base", *arms], ["x", "y"], scenarios=scenarios, bases=dict.fromkeys(arms, "base"))
    world = World(design, np.tile(level_S[:, None], (1, 2)), noise_sd_S=sd / sqrt(2))
    weight_B_D = score_weights(2, np.ones(8, bool))
    rng = np.random.default_rng([seed, 5])
    found_A, held_A = np.zeros(len(gains), int), np.zeros(len(gains), int)
    for _ in range(worlds):
        table = tabulate(world.draw(rng), Role.SELLER)
        contrasts = [estimate(table.difference(arm, 0), weight_B_D) for arm in range(1, len(level_S))]
        found_A += np.array(holm([contrast.p for contrast in contrasts])) <= ALPHA
        for arm, contrast in enumerate(contrasts):
            low, high = contrast.interval() or (0.0, 0.0)
            held_A[arm] += low <= gains[arm] <= high
        tick()
    for arm, gain in enumerate(gains):
        found, held = (int(count_A[arm]) / worlds for count_A in (found_A, held_A))
        yield Finding("planted", f"gain of {gain:+.3f} found", found, worlds, 0.0, 1.0)
        yield Finding("planted", f"gain of {gain:+.3f} held", held, worlds, 0.935, 0.965)


CHECKS: dict[str, Callable[..., Iterator[Finding]]] = {
    "coverage": coverage,
    "holm": family_error,
    "alarm": alarm,
    "ranks": ranks,
    "study": recovery,
}
STEPS = {
    "coverage": len(NOISES) * len(STRATA) * len(CLUSTERS),
    "holm": 1,
    "alarm": len(_LEANINGS),
    "ranks": len(_BOARDS),
    "study": 1,
}
"""Draws that a check makes for every world, for its progress bar."""
