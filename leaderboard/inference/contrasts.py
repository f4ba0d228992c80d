"""Paired contrasts: does one agent score more than another on the cells that all of them completed?

Every figure comes from :mod:`leaderboard.inference.statistic` on differences, cell by cell. A contrast
is confirmatory where the design declared it before play and every match behind it began after the design
was frozen; everything else is exploratory, and says why. One without a cell is neither. The family that
Holm corrects over is the declared one, whatever was asked for; the held-out domains have the same
contrasts as a family of their own.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from arena.analysis import Analysis, Contrast
from arena.errors import UserError
from arena.naming import Names
from arena.results import BoolArray, FloatArray, Results
from leaderboard.inference import power
from leaderboard.inference.bootstrap import bootstrap_intervals
from leaderboard.inference.compared import UNDECLARED, UNPLAYED, Comparison, ContrastPanel
from leaderboard.inference.contrasted import Contrasted
from leaderboard.inference.holm import holm
from leaderboard.inference.statistic import (
    Cells,
    Estimate,
    buyer_weights,
    estimate,
)
from scenarios.scenario import Role


def compare(results: Results, contrast: Contrast, role: Role = Role.SELLER) -> Comparison:
    """Return one contrast of agents that play `role`, with Holm over the family where it is declared.

    Raises UserError where the contrast names an agent that the design does not have on that side.
    """
    return compare_all(results, [contrast], role)[0]


def family(results: Results) -> list[Comparison]:
    """Return the contrasts that the design declares, in its order; none where it declares none."""
    declared = results.design.analysis
    return [] if declared is None else compare_all(results, declared.contrasts)


def asked(results: Results) -> list[Comparison]:
    """Return the contrasts that the design declares, in its order, then the gains over base that it does
    not declare, which are exploratory."""
    analysis = results.design.analysis or Analysis()
    declared = {frozenset(contrast.key()) for contrast in analysis.contrasts}
    more = [gain for gain in analysis.gains().values() if frozenset(gain.key()) not in declared]
    return compare_all(results, [*analysis.contrasts, *more])


def compare_all(
    results: Results, contrasts: Sequence[Contrast], role: Role = Role.SELLER, booted: bool = True
) -> list[Comparison]:
    """Return :func:`compare` of each of `contrasts`, on bootstrap draws that all share; without `booted`
    the bootstrap, which takes longest, is left out where the design does not print it."""
    ground = Contrasted.of(results, role)
    cells = [ground.cells(contrast) for contrast in contrasts]
    booted = booted or ground.analysis.interval == "bootstrap"
    pooled = _panels(ground, contrasts, cells, results.open_D, booted)
    apart: Sequence[ContrastPanel | None] = [None] * len(contrasts)
    if results.held_D.any():
        apart = _panels(ground, contrasts, cells, results.held_D, booted)
    return [_comparison(ground, *found) for found in zip(contrasts, cells, pooled, apart, strict=True)]


def pair(results: Results, name_a: str, name_b: str, role: Role = Role.SELLER) -> Comparison:
    """Return a against b, by their names on the board (or ``name@`` and how the version begins).

    Raises UserError for a name that the design does not have, and for one agent against itself.
    """
    names = _names(results, role)
    a, b = names.find(name_a), names.find(name_b)
    if a == b:
        raise UserError(f"{name_a} against itself is no contrast: name two different {role.value}s")
    return compare(results, Contrast(plus=(a,), minus=(b,)), role)


def gains(
    results: Results, first: tuple[str, str], second: tuple[str, str], role: Role = Role.SELLER
) -> Comparison:
    """Return the difference of two gains, each (agent, base), by names as in :func:`pair`.

    Over one base it is the contrast of the agents alone. Raises UserError where nothing is left of it.
    """
    names = _names(results, role)
    (a, base_a), (b, base_b) = (map(names.find, gain) for gain in (first, second))
    plus, minus = Counter((a, base_b)), Counter((base_a, b))
    kept, taken = (tuple((one - other).elements()) for one, other in ((plus, minus), (minus, plus)))
    if not kept:
        raise UserError(f"the gains of {first[0]} and {second[0]} are one and the same difference")
    return compare(results, Contrast(plus=kept, minus=taken), role)


def _names(results: Results, role: Role) -> Names:
    design = results.design
    return Names(design.sellers if role is Role.SELLER else design.buyers, role.value)


def _panels(
    ground: Contrasted,
    contrasts: Sequence[Contrast],
    cells: Sequence[Cells],
    in_score_D: BoolArray,
    booted: bool,
) -> list[ContrastPanel]:
    weight_B_D = ground.weights(in_score_D)
    bootstrap = bootstrap_intervals(cells, weight_B_D) if booted else [None] * len(cells)
    adjusted = _adjusted(ground, contrasts, weight_B_D)
    found = []
    for contrast, own, drawn, holm_p in zip(contrasts, cells, bootstrap, adjusted, strict=True):
        whole = estimate(own, weight_B_D)
        t_interval = whole.interval()
        why = UNDECLARED if holm_p is None else _reused(ground.stale(contrast, in_score_D))
        why = why if whole.cells else UNPLAYED
        found.append(
            ContrastPanel(
                estimate=whole,
                t_interval=t_interval,
                bootstrap_interval=drawn,
                interval=drawn if ground.analysis.interval == "bootstrap" else t_interval,
                cells=whole.cells,
                dropped=ground.planned(contrast, in_score_D) - whole.cells,
                p=whole.p,
                declared=holm_p is not None,
                adjusted_p=holm_p if whole.cells else None,
                confirmatory=not why,
                why=why,
                mde=_mde(whole),
            )
        )
    return found


def _adjusted(
    ground: Contrasted, contrasts: Sequence[Contrast], weight_B_D: FloatArray
) -> list[float | None]:
    """Return Holm's p of each contrast that the design declares (either way round), None for others."""
    declared = ground.family
    places = {frozenset(contrast.key()): place for place, contrast in enumerate(declared)}
    wanted = [places.get(frozenset(contrast.key())) for contrast in contrasts]
    if all(place is None for place in wanted):
        return [None] * len(contrasts)
    corrected = holm([estimate(ground.cells(one), weight_B_D).p for one in declared])
    return [None if place is None else corrected[place] for place in wanted]


def _comparison(
    ground: Contrasted,
    contrast: Contrast,
    cells: Cells,
    pooled: ContrastPanel,
    held_out: ContrastPanel | None,
) -> Comparison:
    design, open_D = ground.results.design, ground.results.open_D
    against = ground.seen.other.names
    names = design.names(ground.role)
    single = {
        domain.name: np.arange(len(open_D)) == place
        for place, domain in enumerate(design.domains)
        if open_D[place]
    }
    return Comparison(
        **vars(pooled),
        contrast=contrast,
        role=ground.role,
        names={version: names[version] for version in contrast.sellers},
        label=contrast.label(names),
        by_buyer={
            name: estimate(cells, buyer_weights(place, len(against), open_D))
            for place, name in enumerate(against)
        },
        by_domain={name: estimate(cells, ground.weights(only_D)) for name, only_D in single.items()},
        leave_one_out={
            name: estimate(cells, ground.weights(open_D & ~only_D))
            for name, only_D in single.items()
            if len(single) > 1
        },
        held_out=held_out,
        components=power.components(cells, ground.weights(open_D)),
        scenarios=design.scenarios,
        replicates=ground.replicates(contrast),
        tests=len(ground.family) if pooled.declared else 1,
    )


def _reused(stale: int) -> str:
    """Say that a contrast rests on so many matches from before its declaration, if on any."""
    if not stale:
        return ""
    matches = "1 match" if stale == 1 else f"{stale:,} matches"
    return f"reuses {matches} from before the design was frozen"


def _mde(whole: Estimate) -> float | None:
    if whole.problem is not None or whole.se is None:
        return None
    return power.detectable(whole.se, whole.df)
