"""The part of a design that says, before play, what will be asked of the results.

What is declared here is confirmatory on matches begun after the design was frozen; all else that a board
shows is exploratory. Defaults and limits are this project's choice: the study that inspired it reports
four guards without their definitions.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0, le=1)]
Interval = Literal["t", "bootstrap"]


class Contrast(BaseModel):
    """A difference of scores over the cells that all its sellers completed: the sum over `plus` less the
    sum over `minus`. A against B is (A) less (B); the difference of two gains, (A1 - base1) -
    (A2 - base2), is (A1, base2) less (base1, A2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plus: tuple[str, ...] = Field(min_length=1)
    """Versions of sellers."""
    minus: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.plus) != len(self.minus):
            raise ValueError("a contrast takes away as many sellers as it adds")
        if set(self.plus) & set(self.minus):
            raise ValueError("a contrast has the same seller on both sides")
        return self

    @property
    def sellers(self) -> tuple[str, ...]:
        """Everyone in it."""
        return (*self.plus, *self.minus)

    def label(self, names: Mapping[str, str]) -> str:
        """Return the contrast in words, with `names` by version: ``a - b``, or the difference of two
        gains as ``(a1 - base1) - (a2 - base2)``. A version without a name stands for itself."""
        sides = (self.plus, self.minus)
        plus, minus = ([_apart(names.get(version, version)) for version in side] for side in sides)
        if len(plus) == 1:
            return f"{plus[0]} - {minus[0]}"
        if len(plus) == 2:
            return f"({plus[0]} - {minus[0]}) - ({minus[1]} - {plus[1]})"
        return " - ".join([" + ".join(plus), *minus])

    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the contrast whatever the order of the sellers within a side."""
        return tuple(sorted(self.plus)), tuple(sorted(self.minus))


def _apart(name: str) -> str:
    """Return a name in brackets where it could be read as a difference itself."""
    return f"({name})" if " - " in name else name


class Guards(BaseModel):
    """Limits against hollow gains. Ours, and shown as ours."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    action_leak: Share = 0.05
    """The largest share of a seller's messages that may carry a fragment of the JSON action."""
    opener: Share = 0.30
    """The largest share of a seller's messages that may begin with the same two words."""
    deal_margin: Share = 0.05
    """How much lower than its base's a seller's deal rate may be."""
    below_margin: Share = 0.02
    """How much higher than its base's its rate of agreements below its walk-away value may be."""
    infeasible_margin: Share = 0.05
    """How much higher than its base's its rate of agreements in infeasible cells may be."""


class Analysis(BaseModel):
    """What is declared before play: the Holm family, the arms and their bases, guards and limits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contrasts: tuple[Contrast, ...] = ()
    """The confirmatory family; its size is Holm's m. The held-out domains have the same contrasts as a
    family of their own."""
    bases: dict[str, str] = Field(default_factory=dict)
    """The version of each arm's base, by the arm's version; both are sellers of the design."""
    families: dict[str, str] = Field(default_factory=dict)
    """The model family of players, by version, as far as it is known."""
    training_families: tuple[str, ...] = ()
    """Families of the buyers that the arms were trained against."""
    excluded: tuple[str, ...] = ()
    """Versions of the buyers that no arm may be trained against."""
    guards: Guards = Guards()
    alarm_margin: Share = 0.05
    """A difference of splits this large raises the pooling alarm even where the weakest gain is
    detectable."""
    interval: Interval = "t"
    """Which 95% interval contrasts and gains print; p is always the t statistic's."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        # The same difference the other way round is the same hypothesis: it must not count twice in m.
        if len({frozenset(contrast.key()) for contrast in self.contrasts}) < len(self.contrasts):
            raise ValueError("a contrast stands twice in the family")
        if loop := [arm for arm, base in self.bases.items() if arm == base]:
            raise ValueError(f"{loop[0]} is named as its own base")
        return self

    def gains(self) -> dict[str, Contrast]:
        """Return every arm less its base, by the arm's version, in the order of `bases`."""
        return {arm: Contrast(plus=(arm,), minus=(base,)) for arm, base in self.bases.items()}

    def identity(self) -> dict[str, Any]:
        """Return what a design's hash covers: all but `families`, which are facts about agents, known
        sooner or later, and not choices. Orders that mean nothing are gone."""
        content = self.model_dump(mode="json", exclude={"contrasts", "families"})
        keys = sorted(contrast.key() for contrast in self.contrasts)
        content["contrasts"] = [{"plus": list(plus), "minus": list(minus)} for plus, minus in keys]
        for names in ("training_families", "excluded"):
            content[names] = sorted(set(content[names]))
        return content
