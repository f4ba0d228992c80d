"""What a language model is told: a versioned prompt, rendered from the files under `prompts/`.

A conversation only ever grows: the system prompt (role, brief, own payoff table, rules, answer format),
then a user turn for what the other side did, the model's own raw answer, and so on, so that providers'
prefix caches hit. What the other side wrote enters in one place only, as a JSON string that can
neither end its own line nor spell a chat template's control tokens (:func:`quoted`).
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from string import Template

from agents.agent import UNNAMED, ActionKind, Brief, Event, View
from scenarios.canonical import digest
from scenarios.domain import Term
from scenarios.scenario import Package, Preferences

PROMPT_VERSION = "v1"
"""The newest full prompt. Published versions never change: a new wording is a new folder."""
BRIEF_PROMPT = "brief1"
"""The newest brief prompt: the same rules and answers in few words, each term's options best first. For
small models and short contexts."""
ATTEMPTS = 3
"""As in the rules of play: a faulty answer is asked for again at most twice."""
NO_ANSWER = "(no answer)"
"""Stands for an empty answer in the history: providers refuse messages without text."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_NAME = re.compile(r"([a-z]+)(\d+)")
Message = dict[str, str]
"""``{"role": "system" | "user" | "assistant", "content": text}``."""


@cache
def versions() -> tuple[str, ...]:
    """Return the prompt versions that this release can play, each wording's oldest first."""
    folder = resources.files("agents.language_model") / "prompts"
    found = (_NAME.fullmatch(entry.name) for entry in folder.iterdir() if entry.is_dir())
    return tuple(
        name[0] for name in sorted(filter(None, found), key=lambda name: (name[1], int(name[2])))
    )


@cache
def templates(version: str) -> Mapping[str, Template]:
    """Return a prompt version's templates by name. Raises ValueError for an unknown version."""
    if version not in versions():
        known = ", ".join(versions())
        raise ValueError(f"prompt version {version!r} is not in this release, which has {known}")
    folder = resources.files("agents.language_model") / "prompts" / version
    return {
        entry.name.removesuffix(".txt"): Template(entry.read_text(encoding="utf-8").rstrip("\n"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".txt")
    }


@cache
def prompt_hash(version: str) -> str:
    """Return twelve hexadecimal digits that name the wording of a prompt version."""
    return digest({name: template.template for name, template in templates(version).items()}, 12)


class Conversation:
    """The messages of one side of one match, oldest first; they are only ever appended to."""

    def __init__(self, brief: Brief, version: str = PROMPT_VERSION) -> None:
        self._templates = templates(version)
        self._attempt = 1
        self.messages: list[Message] = [{"role": "system", "content": system_prompt(brief, version)}]

    def ask(self, view: View) -> list[Message]:
        """Append the view's turn, or what was wrong with the last attempt at it; return all."""
        if view.fault is None:
            self._attempt = 1
            content = _turn(view, self._templates)
        else:
            self._attempt += 1
            content = self._templates["fault"].substitute(fault=view.fault, left=self._left())
        self.messages.append({"role": "user", "content": content})
        return self.messages

    def answered(self, text: str) -> None:
        """Append the model's own answer, verbatim, faulty or not."""
        self.messages.append({"role": "assistant", "content": text if text.strip() else NO_ANSWER})

    def _left(self) -> str:
        if self._attempt < ATTEMPTS:
            return "You have two attempts left."
        return "This is your last attempt: if it is faulty too, you forfeit."


def first_messages(brief: Brief, version: str | None = None) -> list[Message]:
    """Return all that a model is sent on its first turn, where it opens the match."""
    conversation = Conversation(brief, version or PROMPT_VERSION)
    return conversation.ask(View(brief, 0, (), None, None))


def system_prompt(brief: Brief, version: str = PROMPT_VERSION) -> str:
    """Return the system prompt of one side of one match."""
    return templates(version)["system"].substitute(
        role=brief.role.value,
        other=brief.role.other.value,
        title=brief.title,
        prose=brief.prose.strip(),
        table=payoff_table(brief.terms, brief.preferences),
        ranked=ranked_table(brief.terms, brief.preferences),
        walk_away=points(brief.preferences.walk_away_points),
        none=_rounded(brief.preferences.walk_away_points),
        limit=_limit(brief),
        message_limit=brief.message_limit,
    )


def payoff_table(terms: Iterable[Term], preferences: Preferences) -> str:
    """Return one line a term: name, default, and each option with its points."""
    return "\n".join(
        f"- {_text(term.name)} [{_text(term.default)}]: "
        + ", ".join(
            f"{_text(option)} = {points(worth)}" for option, worth in zip(term.options, row, strict=True)
        )
        for term, row in zip(terms, preferences.table, strict=True)
    )


def ranked_table(terms: Iterable[Term], preferences: Preferences) -> str:
    """Return all terms on one line, in the order of their names, with the keys of an answer: a term's
    options with their rounded points, this side's best first, ties in the order of display; the default
    is marked with a star."""
    lines = []
    for term, row in sorted(zip(terms, preferences.table, strict=True), key=lambda pair: pair[0].name):
        ranked = sorted(zip(term.options, row, strict=True), key=lambda pair: pair[1], reverse=True)
        options = (f"{_text(o)}{'*' * (o == term.default)} {_rounded(worth)}" for o, worth in ranked)
        lines.append(f"{_text(term.name)}:{' '.join(options)}")
    return f"{{{','.join(lines)}}}"


def points(units: int) -> str:
    """Return a utility in units of 1/10,000 as points out of 100: exact, no idle zeros."""
    whole, hundredths = divmod(units, 100)
    return f"{whole}.{hundredths:02d}".rstrip("0").rstrip(".")


def _rounded(units: int) -> str:
    return str(round(units / 100))


def quoted(text: str) -> str:
    """Return the other side's words as a JSON string that stays data wherever it is put.

    Line breaks, control, bidirectional and surrogate characters are escaped, and so are `<` and `[`,
    with which chat templates begin their control tokens. Reading it as JSON gives `text` back.
    """
    return "".join(
        char if char.isprintable() and char not in "<[" else _escaped(char)
        for char in _ENCODER.encode(text)
    )


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1]


def _text(text: str) -> str:
    return _ENCODER.encode(text)


def _limit(brief: Brief) -> str:
    least, most = brief.least_turns, brief.most_turns
    if least == most:
        return "Each side has one turn only." if most == 1 else f"Each side has exactly {most} turns."
    return f"This can end any time after {least} turns each, at the latest after {most}."


def _turn(view: View, known: Mapping[str, Template]) -> str:
    brief = view.brief
    announced = brief.least_turns == brief.most_turns
    place = {"number": view.turn + 1, "of": f" of {brief.most_turns}" if announced else ""}
    if not view.history:
        return known["opening"].substitute(place)
    last = view.history[-1]
    return known["turn"].substitute(
        place,
        other=brief.role.other.value,
        message=quoted(last.message) if last.message else "(none)",
        action=_action(last, brief),
        standing=_standing(view),
        edge=_edge(view),
    )


def _action(event: Event, brief: Brief) -> str:
    """Return the other side's binding action in words."""
    if event.kind is not ActionKind.PROPOSE or event.offer is None:
        return event.kind.value
    left_out = UNNAMED in event.offer
    rest = "; the terms left out stand at their default" if left_out else ""
    return f"propose {_package(event.offer, brief.terms)}{rest}"


def _standing(view: View) -> str:
    """Return whose offer is on the table and what it is worth to this side."""
    if view.standing is None:
        return "nothing yet; there is no offer to accept."
    brief = view.brief
    worth = points(brief.preferences.points(view.standing))
    if view.theirs is None:
        offer = _package(view.standing, brief.terms)
        return f"your own offer {offer}, worth {worth} points to you; the other side may accept it."
    # Their proposal was spelled out on the line above, unless this turn only talked or left terms out.
    last = view.history[-1]
    spelled = last.offer is not None and UNNAMED not in last.offer
    offer = "that offer" if spelled else f"their offer {_package(view.standing, brief.terms)}"
    none = points(brief.preferences.walk_away_points)
    return f"{offer}, worth {worth} points to you (no deal: {none})."


def _edge(view: View) -> str:
    """Return in rounded points what the other side's offer is worth beyond no deal."""
    if view.theirs is None:
        return "nothing to accept"
    prefer = view.brief.preferences
    return f"{round((prefer.points(view.theirs) - prefer.walk_away_points) / 100):+d} over no deal"


def _package(offer: Package, terms: Iterable[Term]) -> str:
    named = {
        term.name: term.options[option]
        for term, option in zip(terms, offer, strict=True)
        if option != UNNAMED
    }
    return _ENCODER.encode(named)
