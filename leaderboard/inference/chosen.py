"""A part of a design's results: chosen domains, or the matches that one side opened.

Every statistic takes what comes back as if it were a design of its own. It was not declared before play,
so whatever is said about a part is exploratory.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from arena.results import BoolArray, Results
from arena.schedule import indices, openers
from scenarios.scenario import Role


def part(results: Results, domains: Collection[str] = (), opener: Role | None = None) -> Results:
    """Return the results on `domains` (names; none: all of them) whose first turn was `opener`'s (None:
    either's).

    `design` then lists those domains only, and `planned_S_B_D` is what was planned of the part. Voids
    are not known by opener: with one, `void_S_B_D` is 0.
    """
    if not domains and opener is None:
        return results
    keep_D = np.array([not domains or domain.name in domains for domain in results.design.domains])
    row_M = keep_D[results.domain_M]
    if opener is not None:
        row_M &= results.seller_opens_M == (opener is Role.SELLER)
    position_D = np.cumsum(keep_D) - 1
    kept = results.where(row_M)
    return replace(
        kept,
        domain_M=position_D[kept.domain_M],
        design=results.design.model_copy(update={"domains": _kept(results, keep_D)}),
        planned_S_B_D=_opened(results, opener)[:, :, keep_D],
        void_S_B_D=results.void_S_B_D[:, :, keep_D] * (opener is None),
    )


def _kept(results: Results, keep_D: BoolArray) -> tuple[Any, ...]:
    return tuple(domain for domain, keep in zip(results.design.domains, keep_D, strict=True) if keep)


def _opened(results: Results, opener: Role | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the planned matches that `opener` opens; a domain's scenarios share one list of openers."""
    if opener is None:
        return results.planned_S_B_D
    sides = [role for index in indices(results.design) for role in openers(results.design, index)]
    return results.planned_S_B_D * sides.count(opener) // len(sides)
