"""10,000 hostile answers through parser and rules: nothing crashes, nothing is repaired, no prose binds,
and time and memory stay in proportion to the answer."""

import json
import re
import tracemalloc
from collections import Counter
from time import process_time
from typing import Any

import pytest

from agents.agent import UNNAMED, Action, ActionKind, Reply, View
from arena.answer import Answer, parse
from arena.play import Turn, briefs, play
from arena.protocol import ANSWER_LIMIT, ATTEMPTS, Ending, Fault
from scenarios.scenario import Role
from tests.arena.protocol.flat import FLAT, RULES, SCENARIO, text
from tests.arena.protocol.hostile_answers import CORPUS, DEEP, LARGE, generated

GENERATED = 10_000
_BLOCK = re.compile(
    r"<think>.*?</think>|<thinking>.*?</thinking>|<\|channel>thought\b.*?<channel\|>", re.DOTALL
)


def strictly(raw: str) -> Any:
    """Return the JSON of `raw`, read without any leniency: no key twice, no number that is none."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(raw, object_pairs_hook=unique, parse_constant=refuse)


def bare(outside: str) -> str:
    """Return text without its thinking blocks."""
    return _BLOCK.sub("", outside)


def object_of(raw: str) -> dict[str, Any]:
    """Return the one JSON object that an accepted answer holds, found in another way than the parser's:
    by trying every pair of braces with nothing but thinking and braceless text around it."""
    found = []
    for start in (place for place, char in enumerate(raw) if char == "{"):
        before = bare(raw[:start])
        # A closing tag alone ends a block that the prompt opened.
        headless = re.split(r"</think(?:ing)?>", before, maxsplit=1)
        if "{" in (headless[-1] if len(headless) > 1 and before.strip()[:1] != "{" else before):
            continue
        for end in (place + 1 for place, char in enumerate(raw) if char == "}" and place > start):
            if not set("{}") & set(bare(raw[end:])):
                found.append(raw[start:end])
    objects = []
    for candidate in found:
        try:
            objects.append(strictly(candidate))
        except (ValueError, RecursionError):
            continue
    assert len(objects) == 1
    (only,) = objects
    assert isinstance(only, dict)
    return only


def check_read(raw: str) -> None:
    """Whatever is read was written: each channel stands in the one object as it is returned."""
    answer = parse(raw)
    assert isinstance(answer, Answer | Fault)
    if isinstance(answer, Answer):
        whole = object_of(raw)
        assert whole.keys() <= {"reasoning", "message", "action", "terms"}
        assert answer.action == Action(ActionKind(whole["action"]), whole.get("terms"))
        assert answer.message == whole.get("message", "")
        assert answer.reasoning == whole.get("reasoning", "")


def turn_of(raw: str) -> tuple[Turn, Ending]:
    """Play a seller that always answers so, against a buyer's offer of $1,100; return its first turn and
    how the match ended."""
    game = play(SCENARIO, briefs(FLAT, SCENARIO, RULES), RULES, Role.BUYER)
    role, view = next(game)
    offer = Reply(Action(ActionKind.PROPOSE, {"rent": "$1,100"}))
    leave = Reply(Action(ActionKind.WALK_AWAY))
    try:
        role, view = game.send(offer)
        while True:
            assert isinstance(view, View)
            role, view = game.send(text(raw) if role is Role.SELLER else leave)
    except StopIteration as stop:
        return stop.value.turns[1], stop.value.ending


def check_judged(raw: str) -> str:
    """The rules bind only what the one object says; return what came of it."""
    turn, ending = turn_of(raw)
    if turn.kind is None:
        assert ending is Ending.FORFEIT_FORMAT
        assert [attempt.text for attempt in turn.attempts] == [raw] * ATTEMPTS
        assert len({attempt.fault for attempt in turn.attempts}) == 1
        return str(turn.attempts[0].fault)
    whole = object_of(raw)
    assert whole["action"] == turn.kind
    assert turn.message == whole.get("message", "")
    assert (ending is Ending.AGREEMENT) == (whole["action"] == "accept")
    named = {
        term.name: term.options[option]
        for term, option in zip(FLAT.terms, turn.offer or (), strict=False)
        if option != UNNAMED
    }
    assert named == (whole.get("terms") or {})
    return str(turn.kind)


def test_generated_answers() -> None:
    came: Counter[str] = Counter()
    for raw in generated(GENERATED):
        check_read(raw)
        came[check_judged(raw)] += 1
    # The generator reaches every action, and every fault that an answer's text can have but its length.
    own = {Fault.CUT_OFF, Fault.CONTEXT_OVERRUN, Fault.REFUSAL, Fault.OWN_OFFER}
    long = {Fault.ANSWER_TOO_LONG, Fault.MESSAGE_TOO_LONG, Fault.NOTHING_TO_ACCEPT}
    assert came.keys() >= {*map(str, ActionKind), *map(str, {*Fault} - own - long)}, came
    assert came.total() == GENERATED


@pytest.mark.parametrize("raw", CORPUS, ids=lambda raw: f"{len(raw)}: {raw[:40]!r}")
def test_answers_by_hand(raw: str) -> None:
    if len(raw) <= ANSWER_LIMIT and raw not in DEEP:  # what of those is read, is read below
        check_read(raw)
    check_judged(raw) if len(raw) < 5_000 else turn_of(raw)


@pytest.mark.parametrize("raw", LARGE, ids=lambda raw: repr(raw[:30]))
def test_1_mb_is_no_answer(raw: str) -> None:
    assert parse(raw) is Fault.ANSWER_TOO_LONG


def test_nesting_is_passed_over_in_thinking_and_a_fault_in_an_answer() -> None:
    found = [parse(raw) for raw in DEEP]
    kinds = [answer.action.kind if isinstance(answer, Answer) else answer for answer in found]
    talk, accept, propose = ActionKind.TALK, ActionKind.ACCEPT, ActionKind.PROPOSE
    assert kinds == [Fault.NOT_JSON] * 3 + [talk, accept, propose, talk, accept, talk]


LONG = {
    "braces": "{",
    "objects": '{"a":',
    "lists": '{"a":[',
    "empty lists": '{"terms":[[],[]',
    "many empty lists": "[],",
    "keys": '"a":{},',
    "finished objects": '{"action": "talk"} ',
    "open thinking": "<think>",
    "thinking": "<think></think>",
    "thinking with braces": "<think>{</think>",
    "thinking never closed by the right tag": "<think></thinking>",
    "closing tags": "</think>",
    "objects and closing tags": '{"</think>',
    "half tags": "<thin",
    "channels": "<|channel>thought ",
    "escapes": '{"\\',
    "surrogates": "\\ud83d",
    "white space": " ",
    "white space and fences": "``` ",
    "digits": "9",
    "lists of digits": "9" * 1_000 + ",",
    "minus": "-",
}
PREFIXES = ("", "{", '{"message": "', '{"terms": [', '{"terms": {', '{"terms": ', "x")


def grown(shape: str, prefix: str, length: int) -> str:
    """Return hostile text of this length."""
    return (prefix + LONG[shape] * length)[:length]


@pytest.mark.parametrize("shape", LONG)
def test_time_grows_with_the_length_and_no_faster(shape: str) -> None:
    """Ten times the text takes about ten times as long; in quadratic time it would be a hundred."""
    for prefix in PREFIXES:
        short, long = (min(times(grown(shape, prefix, n))) for n in (ANSWER_LIMIT // 10, ANSWER_LIMIT))
        assert long < 40 * max(short, 50e-6), (prefix, short, long)


def times(raw: str) -> list[float]:
    """Return the seconds of CPU that reading took, a few times."""
    found = []
    for _ in range(5):
        began = process_time()
        parse(raw)
        found.append(process_time() - began)
    return found


@pytest.mark.parametrize("shape", LONG)
def test_memory_is_a_multiple_of_the_text(shape: str) -> None:
    """The dearest that JSON has is an empty list, 80 bytes for three characters."""
    for prefix in PREFIXES:
        raw = grown(shape, prefix, ANSWER_LIMIT)
        tracemalloc.start()
        try:
            parse(raw)
            assert tracemalloc.get_traced_memory()[1] < 64 * len(raw)
        finally:
            tracemalloc.stop()
