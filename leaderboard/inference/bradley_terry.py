"""Bradley-Terry strengths from pairwise wins: a second view beside the score.

Two arms that completed the same cell are compared there once: the higher score wins, equal scores are
half a win each. An arm i beats j with probability s_i / (s_i + s_j); the strengths s are the maximum of
that likelihood (Bradley and Terry 1952, Biometrika 39; Newton steps on theta = log s), with geometric
mean 1. Only who won counts, not by how much, and every comparison weighs alike, whoever sat opposite:
which is why this is no more than a second view.

Errors are clustered by scenario and stratified by domain, as everywhere on the board. With residuals
e_k = won_k - p_k and Laplacian H of p_k (1 - p_k) over the pairs::

    psi_g = sum_{k of scenario g} e_k (unit_i(k) - unit_j(k))
    V     = H^+ (sum_d G_d / (G_d - 1) sum_{g in d} (psi_g - psibar_d) (psi_g - psibar_d)^T) H^+

and a t interval for theta on df = sum_d (G_d - 1), printed as an interval of s.

There is a finite maximum exactly where every arm can be reached from every other by a chain of wins or
ties (Ford 1957, American Mathematical Monthly 64). Where that fails, one drawn comparison is added to
each pair that was compared (ours): strengths are then finite, the geometric mean is 1 over the largest
group within which chains reach everywhere, and an arm outside it is marked and has no interval. Arms in
groups that were never compared with each other, even through others, are refused.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, stdtrit

from arena.errors import UserError
from arena.results import BoolArray, FloatArray, IntArray, Results
from leaderboard.inference.cells import NO_MATCH, CellTable, tabulate
from leaderboard.inference.statistic import LEVEL, approximate, too_few
from scenarios.scenario import Role

RATING_SCALE, RATING_CENTRE = 400, 1000
"""A rating is RATING_CENTRE + RATING_SCALE log10(strength): 400 points are odds of ten to one. Ours."""
_STEPS = 100
_CLOSE, _DONE = 1e-3, 1e-10
"""Newton steps in log strengths: below the first they surely converge, below the second they end."""
_ROUNDING = 1e-12


class Disconnected(UserError, ValueError):
    """Arms in groups that were never compared with each other."""


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of two arms on one cell, one an entry (axis K), in any order."""

    arms: int
    first_K: IntArray
    second_K: IntArray
    won_K: FloatArray
    """What the first arm won: 1, 1/2 for a tie, or 0."""
    cluster_K: IntArray
    """The scenario, from 0."""
    domain_K: IntArray
    """The scenario's domain, from 0: a stratum."""


@dataclass(frozen=True)
class Fit:
    """What :func:`fit` returns; axis A: arms."""

    theta_A: FloatArray
    """Log strengths."""
    se_A: FloatArray
    """Their standard errors; NaN where `determined_A` is false, or a domain has one scenario only."""
    determined_A: BoolArray
    """Whether the likelihood alone determines the arm's strength; false for one that only won or only
    lost against the others, whose strength rests on the drawn comparisons."""
    drawn: bool
    """Whether drawn comparisons were added."""
    df: int
    clusters: int


@dataclass(frozen=True)
class Strength:
    """One arm's place in the second view. `strength`, `low`, `high` and `rating` may be None, and
    `problem` says why."""

    agent: str
    version: str
    strength: float | None
    """Above 0; the geometric mean is 1."""
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    clusters: int
    determined: bool
    problem: str | None

    @property
    def rating(self) -> float | None:
        """The strength on a scale like Elo's, 1000 on average; 400 points are odds of ten to one."""
        if self.strength is None:
            return None
        return RATING_CENTRE + RATING_SCALE * float(np.log10(self.strength))

    @property
    def approximate(self) -> bool:
        """Whether the interval rests on too few scenarios to cover quite what it says."""
        return approximate(self.problem, self.clusters)

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena standings --bradley-terry --json` prints it."""
        return vars(self) | {"rating": self.rating}


def bradley_terry(results: Results, role: Role = Role.SELLER, held_out: bool = False) -> list[Strength]:
    """Return the strengths of the agents of `role`, the strongest first, over open or held-out domains.

    Agents without any match there stand last, without a strength. Raises Disconnected (a UserError and a
    ValueError) naming the groups where agents were not compared, even through others.
    """
    side = results.side(role)
    in_score_D = results.held_D if held_out else results.open_D
    table = tabulate(results, role)
    done_A = np.any((table.match_A_C != NO_MATCH) & in_score_D[table.domain_C], axis=1)
    arms = [int(arm) for arm in np.flatnonzero(done_A)]
    found = [
        Strength(name, player.version, None, None, None, 0, 0, 0, 0, False, "no match yet")
        for name, player, done in zip(side.names, side.players, done_A, strict=True)
        if not done
    ]
    if arms:
        compared = comparisons(table, arms, in_score_D)
        _check_connected(win_matrix(compared), [side.names[arm] for arm in arms])
        fitted, counts_O_A = fit(compared), _counts(compared)
        found += [
            _strength(side.names[arm], side.players[arm].version, place, fitted, counts_O_A[:, place])
            for place, arm in enumerate(arms)
        ]
    return sorted(found, key=lambda one: (one.strength is None, -(one.strength or 0), one.agent))


def comparisons(table: CellTable, arms: list[int], in_score_D: BoolArray) -> Comparisons:
    """Return all comparisons between `arms`, numbered as in the list, over the marked domains."""
    counted_C = in_score_D[table.domain_C]
    match_A_C = table.standing_A_C[arms]
    played_A_C = (table.match_A_C[arms] != NO_MATCH) & counted_C
    done_A_C = (match_A_C != NO_MATCH) & counted_C
    score_A_C = np.stack([table.read(match_C) for match_C in match_A_C])
    pieces: list[tuple[IntArray, IntArray, FloatArray, IntArray]] = []
    for arm in range(len(arms) - 1):
        # A cell counts where one of the two was played for this very replicate.
        shared_O_C = done_A_C[arm] & done_A_C[arm + 1 :]
        shared_O_C &= played_A_C[arm] | played_A_C[arm + 1 :]
        other_K, cell_K = np.nonzero(shared_O_C)
        lead_K = score_A_C[arm, cell_K] - score_A_C[arm + 1 + other_K, cell_K]
        pieces.append((np.full(len(cell_K), arm), arm + 1 + other_K, (np.sign(lead_K) + 1) / 2, cell_K))
    if not pieces:
        none = np.zeros(0, dtype=np.int64)
        pieces = [(none, none, np.zeros(0), none)]
    first_K, second_K, won_K, cell_K = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return Comparisons(
        len(arms), first_K, second_K, won_K, table.cluster_C[cell_K], table.domain_C[cell_K]
    )


def win_matrix(compared: Comparisons) -> FloatArray:
    """Return wins_A_A: what the row won against the column, ties as halves."""
    arms, first_K, second_K = compared.arms, compared.first_K, compared.second_K
    won = np.bincount(first_K * arms + second_K, compared.won_K, minlength=arms * arms)
    lost = np.bincount(second_K * arms + first_K, 1 - compared.won_K, minlength=arms * arms)
    wins_A_A: FloatArray = np.add(won, lost, dtype=np.float64).reshape(arms, arms)
    return wins_A_A


def fit(compared: Comparisons) -> Fit:
    """Return the maximum-likelihood log strengths with clustered errors.

    Raises Disconnected where arms stand in groups without a comparison between them (numbered there).
    """
    wins_A_A = win_matrix(compared)
    _check_connected(wins_A_A, [f"arm {arm}" for arm in range(compared.arms)])
    determined_A = _determined(wins_A_A)
    drawn = not determined_A.all()
    if drawn:
        wins_A_A = wins_A_A + 0.5 * (wins_A_A + wins_A_A.T > 0)
    centre_A = determined_A if determined_A.any() else np.ones(compared.arms, bool)
    theta_A = log_strengths(wins_A_A)
    theta_A = theta_A - theta_A[centre_A].mean()
    domain_G = np.full(1 + int(compared.cluster_K.max(initial=-1)), -1)
    domain_G[compared.cluster_K] = compared.domain_K
    clusters_D = np.bincount(domain_G[domain_G >= 0])
    variance_A = _variances(compared, theta_A, wins_A_A, centre_A, domain_G)
    enough = np.all(clusters_D != 1)
    return Fit(
        theta_A=theta_A,
        se_A=np.where(determined_A & enough, np.sqrt(variance_A), np.nan),
        determined_A=determined_A,
        drawn=drawn,
        df=int((clusters_D - 1).clip(0).sum()),
        clusters=int(clusters_D.sum()),
    )


def log_strengths(wins_A_A: FloatArray) -> FloatArray:
    """Return theta_A, of mean 0, where the likelihood of a matrix of wins is largest.

    Newton's method with halved steps; the likelihood is concave. `wins_A_A` must have a finite maximum:
    every arm reachable from every other by a chain of wins. Raises ArithmeticError where it has none.
    """
    wins_A_A = wins_A_A * (1 - np.eye(len(wins_A_A)))
    played_A_A, won_A = wins_A_A + wins_A_A.T, wins_A_A.sum(axis=1)
    theta_A = np.zeros(len(wins_A_A))
    if not played_A_A.any():
        return theta_A
    level = _log_likelihood(wins_A_A, theta_A)
    for _ in range(_STEPS):
        p_A_A = expit(theta_A[:, None] - theta_A)
        slope_A = won_A - (played_A_A * p_A_A).sum(axis=1)
        step_A = _inverse(_laplacian(played_A_A * p_A_A * (1 - p_A_A))) @ slope_A
        # A small step is taken as it is: what it gains may be less than the rounding of the likelihood.
        while np.abs(step_A).max() > _CLOSE and _log_likelihood(wins_A_A, theta_A + step_A) < level:
            step_A = step_A / 2
        theta_A = theta_A + step_A
        level = _log_likelihood(wins_A_A, theta_A)
        if np.abs(step_A).max() < _DONE:
            centred_A: FloatArray = theta_A - theta_A.mean()
            return centred_A
    raise ArithmeticError("these wins have no finite strengths of largest likelihood")


def _log_likelihood(wins_A_A: FloatArray, theta_A: FloatArray) -> float:
    return -float((wins_A_A * np.logaddexp(0, theta_A - theta_A[:, None])).sum())


def _laplacian(weight_A_A: FloatArray) -> FloatArray:
    laplacian_A_A: FloatArray = np.diag(weight_A_A.sum(axis=1)) - weight_A_A
    return laplacian_A_A


def _inverse(laplacian_A_A: FloatArray) -> FloatArray:
    """Return the pseudo-inverse of a connected graph's Laplacian, whose null space is the constants."""
    even, scale = 1 / len(laplacian_A_A), float(np.trace(laplacian_A_A)) or 1.0
    shifted_A_A: FloatArray = laplacian_A_A + scale * even
    return np.asarray(np.linalg.inv(shifted_A_A) - even / scale, dtype=np.float64)


def _determined(wins_A_A: FloatArray) -> BoolArray:
    """Mark the arms of the largest group in which chains of wins lead from each to each.

    All of them where the likelihood has a finite maximum. None where no group of two arms or more is
    larger than every other.
    """
    _, group_A = connected_components(wins_A_A > 0, directed=True, connection="strong")
    size_S = np.bincount(group_A)
    largest = int(size_S.max())
    if len(size_S) > 1 and (largest == 1 or (size_S == largest).sum() > 1):
        return np.zeros(len(group_A), bool)
    determined_A: BoolArray = size_S[group_A] == largest
    return determined_A


def _check_connected(wins_A_A: FloatArray, names: list[str]) -> None:
    count, group_A = connected_components(wins_A_A + wins_A_A.T > 0, directed=False)
    if count > 1:
        groups = [
            ", ".join(name for name, own in zip(names, group_A, strict=True) if own == group)
            for group in range(count)
        ]
        raise Disconnected(
            f"no Bradley-Terry strengths: these were never compared on a cell, even through others: "
            f"{'; '.join(groups)}. Play what is missing, or compare scores"
        )


def _variances(
    compared: Comparisons,
    theta_A: FloatArray,
    wins_A_A: FloatArray,
    centre_A: BoolArray,
    domain_G: IntArray,
) -> FloatArray:
    """Return the sandwich variance of theta_A less its mean over the marked arms; `domain_G` is each
    scenario's domain, -1 where it has no comparison."""
    arms, clusters = compared.arms, len(domain_G)
    p_A_A = expit(theta_A[:, None] - theta_A)
    rest_K = compared.won_K - p_A_A[compared.first_K, compared.second_K]
    psi_G_A = np.bincount(compared.cluster_K * arms + compared.first_K, rest_K, clusters * arms)
    psi_G_A -= np.bincount(compared.cluster_K * arms + compared.second_K, rest_K, clusters * arms)
    psi_G_A = psi_G_A.reshape(clusters, arms)
    middle_A_A = np.zeros((arms, arms))
    for domain in np.unique(domain_G[domain_G >= 0]):
        own_G_A = psi_G_A[domain_G == domain]
        own_G_A = own_G_A - own_G_A.mean(axis=0)
        middle_A_A += own_G_A.T @ own_G_A * len(own_G_A) / max(len(own_G_A) - 1, 1)
    played_A_A = wins_A_A + wins_A_A.T
    bread_A_A = _inverse(_laplacian(played_A_A * p_A_A * (1 - p_A_A)))
    bread_A_A = bread_A_A - bread_A_A[centre_A].mean(axis=0)
    variance_A: FloatArray = np.einsum("ij,jk,ik->i", bread_A_A, middle_A_A, bread_A_A)
    return variance_A.clip(0)


def _counts(compared: Comparisons) -> IntArray:
    """Count each arm's wins, ties and losses (axis O) over its comparisons."""
    lost_K, sides = (2 * (1 - compared.won_K)).astype(np.int64), 3 * compared.arms
    flat = np.bincount(lost_K * compared.arms + compared.first_K, minlength=sides)
    flat = flat + np.bincount((2 - lost_K) * compared.arms + compared.second_K, minlength=sides)
    counts_O_A: IntArray = flat.reshape(3, compared.arms)
    return counts_O_A


def _strength(name: str, version: str, arm: int, fitted: Fit, counts_O: IntArray) -> Strength:
    theta, se = float(fitted.theta_A[arm]), float(fitted.se_A[arm])
    problem = _problem(fitted, arm, se)
    half = 0.0 if problem else float(stdtrit(fitted.df, (1 + LEVEL) / 2)) * se
    wins, ties, losses = (int(count) for count in counts_O)
    return Strength(
        agent=name,
        version=version,
        strength=float(np.exp(theta)),
        low=None if problem else float(np.exp(theta - half)),
        high=None if problem else float(np.exp(theta + half)),
        wins=wins,
        ties=ties,
        losses=losses,
        clusters=fitted.clusters,
        determined=bool(fitted.determined_A[arm]),
        problem=problem,
    )


def _problem(fitted: Fit, arm: int, se: float) -> str | None:
    """Say why an arm's strength has no interval, or None where it has one."""
    if len(fitted.theta_A) == 1:
        return "nobody to be compared with"
    if not fitted.determined_A[arm]:
        return "wins do not settle it: a drawn comparison a pair was added (ours)"
    if few := too_few(fitted.clusters):
        return few
    if np.isnan(se):
        return "a domain has one scenario only"
    return "all equal" if se < _ROUNDING else None
