"""Whether a buyer can be beaten by a policy that does not bargain: the audit of the buyers.

Fixed policies sell to each buyer on scenarios of the dev split, so that nothing of the eval split is
used up. What the best of them earns is set against the perfect-information ceiling: on each scenario
the most that any package gives the seller while the buyer still gets its walk-away value. A buyer from
whom a fixed policy earns more than EXPLOITABLE of that teaches a learner the policy, not bargaining.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agents.agent import Agent
from agents.build import build
from agents.scripted import spec_of
from arena.drivers import run
from arena.play import briefs, play
from arena.protocol import PROTOCOL_VERSION, Ending, Rules
from arena.schedule import Cell, MatchKey
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.frontier import frontier
from scenarios.scenario import SCALE, Role, Scenario, Split

POLICIES = ("accept_first", "random", "hardliner", "stall", "fixed")
"""The fixed policies, all scripted strategies; `fixed` asks for 0.7 of the way from its walk-away value
to its best package throughout."""

EXPLOITABLE = 0.9
"""Share of the ceiling above which a buyer is marked."""


@dataclass(frozen=True)
class PolicyResult:
    """How one fixed policy did against one buyer, as means over scenarios."""

    policy: str
    score: float
    """The seller's score, in [0, 1]."""
    deal_rate: float
    share: float
    """Mean score over mean ceiling; above 1 against a buyer that takes less than its walk-away value."""
    gain_share: float
    """The same above the walk-away value: (score - r) / (ceiling - r), of means; 0 is no deal."""


@dataclass(frozen=True)
class BuyerAudit:
    """One buyer's audit. `policies` in the order of POLICIES."""

    buyer: str
    scenarios: int
    ceiling: float
    walk_away: float
    policies: tuple[PolicyResult, ...]

    @property
    def best(self) -> PolicyResult:
        """The policy that earned most."""
        return max(self.policies, key=lambda result: result.share)

    @property
    def exploitable(self) -> bool:
        """Whether some fixed policy earns more than EXPLOITABLE of the ceiling."""
        return self.best.share > EXPLOITABLE


def ceiling(scenario: Scenario) -> float:
    """Return the most that a package gives the seller while the buyer gets its walk-away value or more,
    and no less than the seller's own walk-away value, which it has without a deal. In [0, 1]."""
    points = frontier(scenario)
    rational = points.seller_F[points.buyer_F >= scenario.buyer.walk_away_points]
    return max(int(rational.max(initial=0)), scenario.seller.walk_away_points) / SCALE


def audit(
    buyers: Mapping[str, Agent],
    domains: Sequence[Domain],
    scenarios: int,
    turn_timeout: float | None = None,
    progress: Callable[[], None] = lambda: None,
) -> list[BuyerAudit]:
    """Play every fixed policy against every buyer on `scenarios` dev scenarios of each domain.

    The opener alternates over scenarios. `progress` is called after each. Buyers are agents
    whose `reply` is an ordinary function. Raises RuntimeError for a bug of this project.
    """
    sellers = {name: build(spec_of(name)) for name in POLICIES}
    scores: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    ceilings, walk_aways = [], []
    for domain in domains:
        for index in range(scenarios):
            scenario = draw(domain, Split.DEV, index)
            ceilings.append(ceiling(scenario))
            walk_aways.append(scenario.seller.walk_away)
            for policy, seller in sellers.items():
                for name, buyer in buyers.items():
                    result = _match(domain, scenario, seller, buyer, turn_timeout)
                    scores.setdefault((name, policy), []).append(result)
            progress()
    top, bottom = _mean(ceilings), _mean(walk_aways)
    return [
        BuyerAudit(
            buyer=name,
            scenarios=len(ceilings),
            ceiling=top,
            walk_away=bottom,
            policies=tuple(_result(policy, scores[name, policy], top, bottom) for policy in POLICIES),
        )
        for name in buyers
    ]


def _match(
    domain: Domain, scenario: Scenario, seller: Agent, buyer: Agent, turn_timeout: float | None
) -> tuple[float, bool]:
    """Return the seller's score and whether there was a deal."""
    rules = Rules()
    opener = Role.SELLER if scenario.index % 2 == 0 else Role.BUYER
    cell = Cell(scenario.key, buyer.spec.version, opener, 0)
    key = MatchKey(cell, seller.spec.version, rules, PROTOCOL_VERSION)
    game = play(scenario, briefs(domain, scenario, rules), rules, opener)
    outcome = run(game, {Role.SELLER: seller, Role.BUYER: buyer}, key.rngs(), turn_timeout)
    if outcome.seller_score is None:
        raise RuntimeError(f"match {key.text} ended in {outcome.ending.value}: {outcome.detail}")
    return outcome.seller_score, outcome.ending is Ending.AGREEMENT


def _result(
    policy: str, results: Sequence[tuple[float, bool]], top: float, bottom: float
) -> PolicyResult:
    score = _mean([score for score, _ in results])
    deals = _mean([float(deal) for _, deal in results])
    gain = (score - bottom) / (top - bottom) if top > bottom else 0.0
    return PolicyResult(policy, score, deals, score / top, gain)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
