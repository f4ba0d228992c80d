"""The rules of play: what a legal turn is, how a match can end, and who scores what.

`docs/protocol.md` says the same in prose. PROTOCOL_VERSION is part of every match key: raise it
whenever a rule changes what any match would come to.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from agents.agent import PROPOSE, UNNAMED, Action, ActionKind, Brief
from scenarios.draw import TURNS
from scenarios.scenario import Package, Role, Scenario

PROTOCOL_VERSION = 1
LEAST_TURNS, MOST_TURNS = TURNS
MESSAGE_LIMIT = 2_000
ANSWER_LIMIT = 100_000
"""Characters of a raw answer; a longer one is not parsed."""
ATTEMPTS = 3
"""A faulty answer is asked for again at most twice."""
MOST_LEGAL = 10_000
_LEGAL: dict[int, tuple[Package, Brief]] = {}
"""Offers of option indices that were found legal, by id, with the brief that they were judged by:
strategies propose the same objects again and again, in one match and in the next. What is in here is
alive, so that no other object has its id, and is a tuple of whole numbers, which does not change."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Fault(StrEnum):
    """What was wrong with an attempt: a name, and the sentence told to the agent that is asked again."""

    description: str

    def __new__(cls, value: str, description: str = "") -> "Fault":
        """Make a member that carries its sentence."""
        member = str.__new__(cls, value)
        member._value_, member.description = value, description
        return member

    EMPTY = "empty", "Your answer was empty."
    NO_OBJECT = "no_object", "Your answer contained no JSON object."
    OPEN_THINKING = "open_thinking", "Your thinking block was never closed, so no answer followed it."
    NOT_JSON = "not_json", "What began at the first brace of your answer was not valid JSON."
    NOT_FINITE = "not_finite", "Your JSON contained NaN or an infinity."
    TWO_OBJECTS = (
        "two_objects",
        "Another brace followed your JSON object; give one object and no other braces.",
    )
    DUPLICATE_KEY = "duplicate_key", "A key stood twice in your JSON object."
    UNKNOWN_KEY = "unknown_key", "Use only the keys reasoning, message, action and terms."
    WRONG_TYPE = "wrong_type", "reasoning, message and action are strings, and terms is an object."
    UNKNOWN_ACTION = "unknown_action", 'action must be "propose", "accept", "walk_away" or "talk".'
    POSITIONAL_TERMS = (
        "positional_terms",
        "terms must be an object that names each term, not a list.",
    )
    UNKNOWN_TERM = (
        "unknown_term",
        "You named a term that is not being negotiated; copy the names exactly.",
    )
    UNKNOWN_OPTION = (
        "unknown_option",
        "You named an option that the term does not have; copy the options exactly.",
    )
    OPTION_NOT_TEXT = (
        "option_not_text",
        "Each option must be a string, copied exactly from the list.",
    )
    NO_TERMS = "no_terms", "A proposal must name at least one term."
    STRAY_TERMS = "stray_terms", "Give terms only when you propose."
    NOTHING_TO_ACCEPT = "nothing_to_accept", "There is no standing offer to accept."
    OWN_OFFER = "own_offer", "The standing offer is your own; only the other side can accept it."
    MESSAGE_TOO_LONG = "message_too_long", "Your message was longer than the limit."
    LONE_SURROGATE = "lone_surrogate", "Your message held half a surrogate pair: that is not text."
    ANSWER_TOO_LONG = "answer_too_long", "Your whole answer was far too long."
    CUT_OFF = "cut_off", "Your answer was cut off before it ended; be briefer."
    CONTEXT_OVERRUN = "context_overrun", "The conversation no longer fits your context window."
    REFUSAL = "refusal", "You declined to answer; this is a negotiation exercise."


class Ending(StrEnum):
    """How a match ended. The first six are scored; the last two are void and played again."""

    AGREEMENT = "agreement"
    """A side accepted the other's standing offer."""
    WALK_AWAY = "walk_away"
    """A side walked away."""
    DEADLINE = "deadline"
    """Both sides used all their turns."""
    FORFEIT_FORMAT = "forfeit_format"
    """A side gave three faulty answers to one turn."""
    FORFEIT_TIMEOUT = "forfeit_timeout"
    """A side's own code or stream took longer than the turn timeout."""
    FORFEIT_CODE = "forfeit_code"
    """A side's own code raised an exception."""
    PROVIDER_ERROR = "provider_error"
    """A model's provider failed: void."""
    HARNESS_ERROR = "harness_error"
    """A bug of this project: void, and the run stops."""

    @property
    def void(self) -> bool:
        """Whether the match counts for neither side."""
        return self in (Ending.PROVIDER_ERROR, Ending.HARNESS_ERROR)

    @property
    def forfeit(self) -> bool:
        """Whether the side at fault scores 0."""
        return self.value.startswith("forfeit")


@dataclass(frozen=True, slots=True)
class Rules:
    """What a tournament decides about every match. `turns` None: drawn per scenario and hidden."""

    turns: int | None = None
    message_limit: int = MESSAGE_LIMIT

    def limit(self, scenario: Scenario) -> int:
        """Turns each side has in this scenario."""
        return self.turns or scenario.turn_limit


def resolve(terms: Mapping[str, str] | Package | None, brief: Brief) -> Package | Fault:
    """Return a proposal's terms by name as option indices (UNNAMED where left out), or what is wrong."""
    if isinstance(terms, (list, tuple)):
        return Fault.POSITIONAL_TERMS
    if terms is None or not isinstance(terms, Mapping):
        return Fault.NO_TERMS if terms is None else Fault.WRONG_TYPE
    if not terms:
        return Fault.NO_TERMS
    table = brief.terms
    position = {term.name: index for index, term in enumerate(table)}
    offer = [UNNAMED] * len(table)
    for name, option in terms.items():
        if name not in position:
            return Fault.UNKNOWN_TERM
        if not isinstance(option, str):
            return Fault.OPTION_NOT_TEXT
        options = table[position[name]].options
        if option not in options:
            return Fault.UNKNOWN_OPTION
        offer[position[name]] = options.index(option)
    return tuple(offer)


def judge(
    action: Action, message: str, brief: Brief, standing_by: Role | None
) -> Package | Fault | None:
    """Return the turn's offer (None unless it proposes), or the first fault of an illegal turn.

    `standing_by` is who made the standing offer, None where there is none.
    """
    if message:
        if len(message) > brief.message_limit:
            return Fault.MESSAGE_TOO_LONG
        if not message.isascii() and _SURROGATE.search(message):
            return Fault.LONE_SURROGATE
    kind, terms = action
    if kind is PROPOSE:
        if type(terms) is not tuple:
            return resolve(terms, brief)
        known = _LEGAL.get(id(terms))
        if known is not None and known[0] is terms and known[1] is brief:
            return terms
        return _check_indices(terms, brief)
    if terms:
        return Fault.STRAY_TERMS
    if kind is ActionKind.ACCEPT:
        if standing_by is None:
            return Fault.NOTHING_TO_ACCEPT
        if standing_by is brief.role:
            return Fault.OWN_OFFER
    return None


def scores(
    scenario: Scenario, ending: Ending, deal: Package | None, at_fault: Role | None
) -> tuple[float, float]:
    """Return (seller's, buyer's) score of a scored ending, each in [0, 1].

    The utility of the deal; the walk-away value on walk_away or deadline; on a forfeit 0 for the side
    at fault and the walk-away value for the other. Raises ValueError for a void ending.
    """
    if ending.void:
        raise ValueError(f"{ending} is void: it has no score")
    if ending is Ending.AGREEMENT:
        assert deal is not None
        return scenario.seller.utility(deal), scenario.buyer.utility(deal)
    seller, buyer = scenario.seller.walk_away, scenario.buyer.walk_away
    if ending.forfeit:
        return (0.0, buyer) if at_fault is Role.SELLER else (seller, 0.0)
    return seller, buyer


def _check_indices(terms: Package, brief: Brief) -> Package | Fault:
    if len(terms) != len(brief.sizes):
        return Fault.POSITIONAL_TERMS
    for option, size in zip(terms, brief.sizes, strict=True):
        if type(option) is not int:
            return Fault.OPTION_NOT_TEXT
        if not UNNAMED <= option < size:
            return Fault.UNKNOWN_OPTION
    if max(terms) == UNNAMED:
        return Fault.NO_TERMS
    if len(_LEGAL) >= MOST_LEGAL:
        _LEGAL.clear()
    _LEGAL[id(terms)] = terms, brief
    return terms
