"""What a legal reply looks like from an agent's side of the table.

The arena judges for itself (:mod:`arena.protocol`); this says the same in the words of the interface,
to someone who is writing an agent.
"""

from collections.abc import Mapping
from typing import Any

from agents.agent import UNNAMED, Action, ActionKind, Brief, Reply, View
from scenarios.scenario import Package


class IllegalReply(Exception):
    """A reply that is no legal answer to its view. `check` is "reply" (shape) or "legality"."""

    def __init__(self, check: str, problem: str) -> None:
        super().__init__(problem)
        self.check, self.problem = check, problem


def check_reply(reply: Any, view: View) -> None:
    """Raise IllegalReply unless `reply` is a legal answer to `view`."""
    if not isinstance(reply, Reply):
        raise IllegalReply("reply", f"reply() returned {type(reply).__name__}, not agents.agent.Reply")
    if not isinstance(reply.message, str) or not isinstance(reply.reasoning, str):
        raise IllegalReply("reply", "message and reasoning must be strings")
    if len(reply.message) > view.brief.message_limit:
        limit = view.brief.message_limit
        raise IllegalReply(
            "legality", f"a message of {len(reply.message)} characters; {limit} are allowed"
        )
    if not reply.message.isascii() and any("\ud800" <= sign <= "\udfff" for sign in reply.message):
        raise IllegalReply("legality", "the message holds half a surrogate pair, which is not text")
    if reply.action is not None and reply.text is not None:
        raise IllegalReply("reply", "a reply has an action or a text for the arena to read, not both")
    if reply.action is None:
        if not isinstance(reply.text, str) or not reply.text.strip():
            raise IllegalReply("reply", "a reply needs an action, or a text for the arena to read")
        return
    if not isinstance(reply.action, Action) or not isinstance(reply.action.kind, ActionKind):
        raise IllegalReply("reply", "action must be an agents.agent.Action with an ActionKind")
    _check_action(reply.action, view)


def _check_action(action: Action, view: View) -> None:
    if action.kind is ActionKind.PROPOSE:
        offer = indices(action.terms, view.brief)
        if offer is None or all(option == UNNAMED for option in offer):
            raise IllegalReply("legality", "a proposal must name at least one term")
    elif action.terms:
        raise IllegalReply("legality", f"{action.kind.value} takes no terms")
    elif action.kind is ActionKind.ACCEPT and view.theirs is None:
        what = "its own offer" if view.standing is not None else "with nothing on the table"
        raise IllegalReply("legality", f"it accepted {what}; accept only where view.theirs is not None")


def indices(terms: Mapping[str, str] | Package | None, brief: Brief) -> Package | None:
    """Return a proposal's option indices, UNNAMED where left out. Raises IllegalReply."""
    if terms is None:
        return None
    if isinstance(terms, Mapping):
        known = {term.name: term.options for term in brief.terms}
        for name, option in terms.items():
            if name not in known:
                raise IllegalReply("legality", f"there is no term {name!r}; copy brief.terms[i].name")
            if option not in known[name]:
                raise IllegalReply("legality", f"term {name!r} has no option {option!r}")
        return tuple(
            term.options.index(terms[term.name]) if term.name in terms else UNNAMED
            for term in brief.terms
        )
    if type(terms) is not tuple or len(terms) != len(brief.terms):
        raise IllegalReply(
            "legality", f"terms must be a mapping, or a tuple of {len(brief.terms)} option indices"
        )
    for index, term in zip(terms, brief.terms, strict=True):
        if type(index) is not int or not UNNAMED <= index < len(term.options):
            raise IllegalReply("legality", f"{index!r} is no option index of term {term.name!r}")
    return terms
