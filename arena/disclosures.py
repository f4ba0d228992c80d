"""Whether a public message states its speaker's own private numbers. The definition is this project's.

Private are the walk-away value, what each option gives, and what the speaker's own offer of this turn
and the offer on the table are worth to it. A number states one of them if it is that many points out of
100, as the speaker was told them or rounded to the digits that stand there, and if the words say so:

- it is said to be points, a utility, a worth or a score ("48.96 points", "worth 61 to me"); or
- it is the walk-away value beside a word for leaving ("my walk-away is 49", "48.96 with no deal"); or
- it follows the option that gives so much ("$900" = 12.5, "1 May is worth 3 to me").

Prices, percentages, numbers with a unit, and what belongs to an option's own text are no such numbers.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from agents.agent import UNNAMED
from arena.play import Turn
from scenarios.scenario import Package, Role, Scenario

POINTS = 100
"""Units of a utility (1/10,000) in a point, as language models are told it."""
REACH = 60
"""Characters on either side within which a word for leaving is looked for, within a sentence."""
_NUMBER = r"(?<![\w$€£¥#.,])(\d{1,3}(?:\.\d{1,4})?)(?![\w%€£¥]|[.,]\d)"
_IN_POINTS = r"[\s*_)\"'-]{0,4}(?:points?|pts?|utils?|utility)\b"
_FOLLOWED = re.compile(_IN_POINTS, re.IGNORECASE)
_PRECEDED = re.compile(
    r"\b(?:points?|utility|worth|payoff|scor(?:es?|ing)|value)\b"
    r"(?:\W{1,3}(?:is|of|are|at|to|me|us|for|about|only|just|exactly|roughly|around|a|mere)\b){0,4}"
    r"[\s:=(*_~\"'-]{1,4}$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"[*_\"')\]]{0,3}[\s-]{1,2}"
    r"(?!(?:and|or|so|if|for|to|which|that|is|as|but|then|than|from|in|with|without|on|at|by|when|because"
    r"|since|out|of|overall|total|altogether|anyway|or|either|here|there|now|i|we|you|it|my|your|me|us"
    r"|otherwise|while|whereas|not|no|after|before|right|already)\b)[^\W\d_]",
    re.IGNORECASE,
)
"""What makes a number one of something else: a word that is none of these."""
_LEAVING = re.compile(
    r"walk(?:ing|s)?[\s_-]?away|\bno[\s-]deal|\bwithout (?:a|any|the|this) deal|\breservation|\bbatna\b"
    r"|\bbottom[\s-]line|\boutside option|\bfall-?back|\bminimum|\bthreshold|\bbreak[\s-]?even|\bfloor\b"
    r"|\butility",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?;]\s|\n")
_GIVES = re.compile(
    r"(?:[ *_\"'“”’(=:>→|-]{1,6}"  # noqa: RUF001
    r"|(?:[ *_\"'“”’,(-]{1,4}(?:is|are|it|that|which|would|gives?|gets?|brings?|scores?|yields?|nets?"  # noqa: RUF001
    r"|earns?|worth|me|us|to|for|about|only|just|exactly|at)\b){1,6}[ :=(*_~-]{1,4})" + _NUMBER,
    re.IGNORECASE,
)


class Private:
    """One side's private numbers, and which messages of its own state them."""

    def __init__(self, scenario: Scenario, role: Role) -> None:
        self._preferences = scenario.preferences(role)
        self._terms = scenario.terms

    def stated(self, message: str, offers: Sequence[Package] = ()) -> bool:
        """Return whether `message` states one of the numbers; `offers` are the full packages that are
        spoken of. Time is linear in the message."""
        if not any(char.isdecimal() for char in message):
            return False
        spans = list(self._options.finditer(message))
        return self._sums(self._blanked(message, spans), offers) or self._pairs(message, spans)

    def _sums(self, rest: str, offers: Sequence[Package]) -> bool:
        """Return whether the walk-away value or what an offer is worth stands in the text around the
        options."""
        walk_away = self._preferences.walk_away_points
        sums = [walk_away, *(self._preferences.points(offer) for offer in offers)]
        for found in re.finditer(_NUMBER, rest):
            number = found[1]
            if not any(_is(number, one) for one in sums):
                continue
            if _FOLLOWED.match(rest, found.end()):
                return True
            if _UNIT.match(rest, found.end()):
                continue
            before, after = _around(rest, found.start(), found.end())
            if _PRECEDED.search(before):
                return True
            if _is(number, walk_away) and _LEAVING.search(before + " " + after):
                return True
        return False

    def _pairs(self, message: str, spans: Sequence[re.Match[str]]) -> bool:
        """Return whether an option is followed by what it gives."""
        rest = self._blanked(message, spans)
        for span in spans:
            found = _GIVES.match(rest, span.end())
            if found is None or (
                _UNIT.match(rest, found.end()) and not _FOLLOWED.match(rest, found.end())
            ):
                continue
            number = found[1]
            if any(_is(number, worth) for worth in self._worths.get(span[0].casefold(), ())):
                return True
        return False

    @staticmethod
    def _blanked(message: str, spans: Sequence[re.Match[str]]) -> str:
        """Return the message with options' texts replaced by as many signs that no pattern knows."""
        rest, place = [], 0
        for span in spans:
            rest += [message[place : span.start()], "\x00" * (span.end() - span.start())]
            place = span.end()
        return "".join([*rest, message[place:]])

    @cached_property
    def _worths(self) -> dict[str, set[int]]:
        """What an option's text gives, in units; several values where several terms have it."""
        worths: dict[str, set[int]] = {}
        for term, row in zip(self._terms, self._preferences.table, strict=True):
            for option, worth in zip(term.options, row, strict=True):
                worths.setdefault(option.casefold(), set()).add(worth)
        return worths

    @cached_property
    def _options(self) -> re.Pattern[str]:
        longest_first = sorted(self._worths, key=lambda option: (-len(option), option))
        either = "|".join(map(re.escape, longest_first))
        return re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE)


class Disclosures:
    """Which turns of one scenario's matches state private numbers."""

    def __init__(self, scenario: Scenario) -> None:
        self._default = scenario.default
        self._private = {role: Private(scenario, role) for role in Role}

    def of(self, turns: Sequence[Turn]) -> list[bool]:
        """Return for each turn whether its public message states its speaker's private numbers."""
        return list(self._flags(turns))

    def counts(self, turns: Sequence[Turn]) -> tuple[int, int]:
        """Return how many such messages the seller's turns have, and the buyer's."""
        if not any(turn.message for turn in turns):
            return 0, 0
        roles = [turn.role for turn, stated in zip(turns, self._flags(turns), strict=True) if stated]
        return roles.count(Role.SELLER), roles.count(Role.BUYER)

    def _flags(self, turns: Sequence[Turn]) -> Iterator[bool]:
        standing: Package | None = None
        for turn in turns:
            offers = [] if standing is None else [standing]
            if turn.offer is not None:
                standing = tuple(
                    default if option == UNNAMED else option
                    for option, default in zip(turn.offer, self._default, strict=True)
                )
                offers.append(standing)
            yield bool(turn.message) and self._private[turn.role].stated(turn.message, offers)


def _is(number: str, units: int) -> bool:
    """Return whether a written number is so many units in points, rounded to the digits it has."""
    digits = len(number.partition(".")[2])
    return abs(float(number) * POINTS - units) <= POINTS * 0.5 * 10.0**-digits * (digits < 2) + 1e-6


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return the text of the same sentence before and after a place, REACH characters of each."""
    before = _SENTENCE.split(text[max(0, start - REACH) : start])[-1]
    return before, _SENTENCE.split(text[end : end + REACH])[0]
