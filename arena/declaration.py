"""What a user declares before play, by names, and the analysis that it means for a line-up."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.analysis import Analysis, Contrast, Guards, Interval, Share
from arena.design import Player
from arena.errors import UserError, mistakes
from arena.naming import Names
from arena.opponents import listed
from arena.store import Registration

_SIGN = "[-\u2212\u2013]"
"""A hyphen, a minus sign or an en dash: people paste all three."""
_MINUS = re.compile(f" {_SIGN} ")
_BETWEEN_GAINS = re.compile(rf"\) {_SIGN} \(")
FORM = '"a - b" or "(a1 - base1) - (a2 - base2)", with a space on either side of each minus'


class Declaration(BaseModel):
    """The `analysis:` of a design file: as people write it, with names, or as a stored design has it,
    with versions. None: the default that :func:`analysis_of` states."""

    model_config = ConfigDict(extra="forbid")

    contrasts: list[str | Contrast] | None = None
    bases: dict[str, str] | None = None
    families: dict[str, str] | None = None
    training_families: list[str] | None = None
    excluded: list[str] = Field(default_factory=list)
    guards: Guards = Guards()
    alarm_margin: Share = Analysis.model_fields["alarm_margin"].default
    interval: Interval = "t"


def contrast_from(text: str, sellers: Names) -> Contrast:
    """Return the contrast that `text` states, in the form ``a - b`` or ``(a1 - base1) - (a2 - base2)``.

    Names may hold hyphens, spaces and brackets: what counts is that every operand names a seller. A
    seller that the two gains share, such as a common base, cancels out. Raises UserError.
    """
    text = text.strip()
    readings = {contrast.key(): contrast for contrast in _readings(text, sellers)}
    if len(readings) > 1:
        raise UserError(
            f"the contrast {text!r} can be read in two ways: name its sellers by name@version"
        )
    if not readings:
        raise UserError(_why_not(text, sellers))
    return next(iter(readings.values()))


def _readings(text: str, sellers: Names) -> Iterator[Contrast]:
    for plus, minus in _differences(text, sellers):
        yield _cancelled(text, [plus], [minus])
    if text.startswith("(") and text.endswith(")"):
        for between in _BETWEEN_GAINS.finditer(text):
            second = list(_differences(text[between.end() : -1], sellers))
            for arm, base in _differences(text[1 : between.start()], sellers):
                for other, other_base in second:
                    yield _cancelled(text, [arm, other_base], [base, other])


def _differences(text: str, sellers: Names) -> Iterator[tuple[str, str]]:
    for minus in _MINUS.finditer(text):
        sides = sellers.fitting(text[: minus.start()]), sellers.fitting(text[minus.end() :])
        if len(sides[0]) == len(sides[1]) == 1:
            yield sides[0][0].version, sides[1][0].version


def _cancelled(text: str, plus: list[str], minus: list[str]) -> Contrast:
    left, right = Counter(plus) - Counter(minus), Counter(minus) - Counter(plus)
    if not left:
        raise UserError(f"the contrast {text!r} compares a seller with itself")
    return Contrast(
        plus=tuple(v for v in dict.fromkeys(plus) for _ in range(left[v])),
        minus=tuple(v for v in dict.fromkeys(minus) for _ in range(right[v])),
    )


def _why_not(text: str, sellers: Names) -> str:
    parts = [part.strip().strip("()").strip() for part in _MINUS.split(text)]
    if len(parts) in (2, 4):
        for part in parts:
            try:
                sellers.find(part)
            except UserError as error:
                return f"the contrast {text!r}: {error}"
    return f"the contrast {text!r} cannot be read: write it as {FORM}"


def analysis_of(
    declared: Declaration,
    sellers: Sequence[Player],
    buyers: Sequence[Player],
    agents: Mapping[str, Registration],
) -> tuple[Analysis, list[str]]:
    """Return the analysis that `declared` means for this line-up, and what should be said about it.

    What it leaves open is taken from the registry (`agents`, by version): an arm's base is the seller
    that its profile names as its base; the contrasts are every arm less its base; families are those of
    the profiles; and the training families are what the arms' lineage lists under ``buyer_families``.
    Raises UserError where a name means nobody here.
    """
    arms, table = Names(sellers, "seller"), Names(buyers, "buyer")
    notes: list[str] = []
    if declared.bases is None:
        bases = dict(_known_bases(arms, agents, notes))
    else:
        bases = {arms.find(arm): arms.find(base) for arm, base in declared.bases.items()}
    excluded = tuple(dict.fromkeys(table.find(buyer) for buyer in declared.excluded))
    families = declared.training_families
    if families is None:
        families = [name for arm in bases for name in listed(agents[arm], "buyer_families")]
    try:
        analysis = Analysis(
            contrasts=tuple(_contrasts(declared.contrasts, bases, arms)),
            bases=bases,
            families=_families(declared.families, [arms, table], agents),
            training_families=tuple(dict.fromkeys(families)),
            excluded=excluded,
            guards=declared.guards,
            alarm_margin=declared.alarm_margin,
            interval=declared.interval,
        )
    except ValidationError as error:
        raise UserError(f"analysis: {mistakes(error)}") from None
    return analysis, notes


def _known_bases(
    sellers: Names, agents: Mapping[str, Registration], notes: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield every seller whose profile names another seller as its base, with that base."""
    for player in sellers.players:
        base = agents[player.version].profile.base
        found = [] if base is None else sellers.fitting(base)
        if len(found) == 1 and found[0].version != player.version:
            yield player.version, found[0].version
        elif base is not None:
            why = "stands in several versions here" if len(found) > 1 else "is no other seller here"
            notes.append(f"no gain of {player.name} is declared: its base {base} {why}")


def _contrasts(
    declared: Sequence[str | Contrast] | None, bases: Mapping[str, str], sellers: Names
) -> Iterator[Contrast]:
    if declared is None:
        yield from Analysis(bases=dict(bases)).gains().values()
        return
    for contrast in declared:
        if isinstance(contrast, str):
            yield contrast_from(contrast, sellers)
        else:
            plus, minus = (tuple(map(sellers.find, side)) for side in (contrast.plus, contrast.minus))
            yield Contrast(plus=plus, minus=minus)


def _families(
    declared: Mapping[str, str] | None, sides: Sequence[Names], agents: Mapping[str, Registration]
) -> dict[str, str]:
    """Return the families of the players, by version: as declared, or as their profiles say."""
    players = [player for side in sides for player in side.players]
    if declared is not None:
        everyone = Names(list({p.version: p for p in players}.values()), "agent")
        return {everyone.find(name): family for name, family in declared.items()}
    known = {player.version: agents[player.version].profile.family for player in players}
    return {version: family for version, family in known.items() if family is not None}
