"""A frequency model of the other side's preferences, learnt from its offers (HardHeaded, ANAC 2011)."""

from collections.abc import Sequence
from itertools import pairwise

from agents.agent import Brief
from scenarios.scenario import Package

LEARNING = 0.2
"""The weight that all terms together may gain from one pair of offers."""


class FrequencyModel:
    """What the other side's offers so far suggest about its additive utility.

    All terms begin with weight 1/n and all options with a count of 1. A term that stays the same
    between two consecutive offers gains LEARNING/n, and the weights are renormalised; an option's count
    grows by 1 each time it is offered. An option's value is its count over its term's largest.
    """

    def __init__(self, brief: Brief) -> None:
        self.weights = [1 / len(brief.terms)] * len(brief.terms)
        self.counts = [[1] * len(term.options) for term in brief.terms]
        self._last: Package | None = None

    def learn(self, offer: Package) -> None:
        """Take in the other side's next offer, defaults filled in."""
        for row, option in zip(self.counts, offer, strict=True):
            row[option] += 1
        if self._last is not None:
            gain = LEARNING / len(offer)
            raised = [
                weight + gain * (option == before)
                for weight, option, before in zip(self.weights, offer, self._last, strict=True)
            ]
            total = sum(raised)
            self.weights = [weight / total for weight in raised]
        self._last = offer

    def table(self) -> list[list[float]]:
        """Return what each option of each term is thought to add to the other side's utility."""
        return [
            [weight * count / most for count in row]
            for weight, row in zip(self.weights, self.counts, strict=True)
            for most in (max(row),)
        ]


def best_for_other(
    mine: Sequence[Sequence[int]], theirs: Sequence[Sequence[float]], least: int
) -> Package:
    """Return a package of at least `least` own points that is worth much to the other side.

    `mine` and `theirs` are what each option of each term adds to a side's utility. Starting from my
    best package (of equally good options the one they like best), the steps that give most per point
    are taken first along each term's own Pareto frontier, as in the greedy rule for the knapsack
    problem with multiple choice; a step that no longer fits is left out, and smaller ones still tried.
    Unless my best package falls short of `least`, so does none that this returns.
    """
    chosen, steps = [], []
    for term, (own, other) in enumerate(zip(mine, theirs, strict=True)):
        hull = _hull(own, other)
        chosen.append(hull[0])
        for before, after in pairwise(hull):
            loss = own[before] - own[after]
            steps.append(((other[after] - other[before]) / loss, term, after))
    # A hull's ratios fall along it, so a stable sort keeps every term's steps in their order.
    steps.sort(key=lambda step: -step[0])
    spare = sum(row[option] for row, option in zip(mine, chosen, strict=True)) - least
    for _, term, option in steps:
        loss = mine[term][chosen[term]] - mine[term][option]
        if loss <= spare:
            spare -= loss
            chosen[term] = option
    return tuple(chosen)


def _hull(own: Sequence[int], other: Sequence[float]) -> list[int]:
    """Return one term's options on the upper concave hull, from my best to theirs."""
    hull: list[int] = []
    for option in sorted(range(len(own)), key=lambda o: (-own[o], -other[o])):
        if hull and other[option] <= other[hull[-1]]:
            continue
        while len(hull) > 1 and _below(own, other, hull[-2], hull[-1], option):
            hull.pop()
        hull.append(option)
    return hull


def _below(own: Sequence[int], other: Sequence[float], a: int, b: int, c: int) -> bool:
    """Whether b lies on or below the line from a to c."""
    return (other[b] - other[a]) * (own[a] - own[c]) <= (other[c] - other[a]) * (own[a] - own[b])
