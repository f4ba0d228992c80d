"""Properties of the parser: it never raises and never repairs. `test_fuzz.py` has what it costs."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.agent import ActionKind
from arena.answer import Answer, parse
from arena.protocol import ANSWER_LIMIT, Fault

any_text = st.text(st.characters(codec=None), max_size=60)
"""Every code point, lone surrogates included."""
# fmt: off
pieces = st.sampled_from([
    "{", "}", "[", "]", '"', ":", ",", "\\", "null", "NaN", "1e999", " ", "\n",
    "```json", "```", "\\ud83d",
    "<think>", "</think>", "<thinking>", "</thinking>", "<|channel>thought", "<channel|>",
    '"action"', '"talk"', '"propose"', '"terms"', '"message"', '{"action":"talk"}', '"rent":"$900"',
])
# fmt: on
json_like = st.lists(pieces | any_text, max_size=25).map("".join)

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | finite | st.text(max_size=40)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)
answers = st.fixed_dictionaries(
    {"action": st.sampled_from([kind.value for kind in ActionKind])},
    optional={
        "message": st.text(max_size=40) | json_like.filter(str.isascii),
        "reasoning": st.text(max_size=40),
        "terms": st.none() | st.dictionaries(st.text(max_size=9), values, max_size=4),
    },
)
harmless = st.text(st.characters(codec=None, exclude_characters="{}<"), max_size=30)
thinking = st.builds(
    lambda tags, inside: tags[0] + inside.replace(tags[1], "") + tags[1],
    st.sampled_from(
        [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<|channel>thought\n", "<channel|>")]
    ),
    json_like.filter(lambda inside: not inside.endswith(("<", "<channel"))),
)


def read(content: dict[str, Any]) -> Answer:
    """What an answer with this content has to be read as."""
    kind = ActionKind(content["action"])
    return Answer((kind, content.get("terms")), content.get("message", ""), content.get("reasoning", ""))


@given(any_text | json_like)
def test_it_never_raises(text: str) -> None:
    assert isinstance(parse(text), Answer | Fault)


@given(json_like.filter(lambda text: "think" not in text and "channel" not in text))
def test_it_never_repairs(text: str) -> None:
    answer = parse(text)
    if isinstance(answer, Answer):
        # All that stands between the outermost braces is the object, and it is read whole.
        assert answer == read(json.loads(text[text.index("{") : text.rindex("}") + 1]))


@given(answers, st.booleans(), st.sampled_from([None, 0, 2]))
def test_an_object_is_read_as_it_stands_whatever_its_strings_hold(
    content: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    assert parse(json.dumps(content, ensure_ascii=ascii_only, indent=indent)) == read(content)


@example({"action": "propose", "message": "</think>"}, ["So: "], [])
@given(answers, st.lists(harmless | thinking, max_size=3), st.lists(harmless | thinking, max_size=3))
def test_text_and_thinking_around_the_object_change_nothing(
    content: dict[str, Any], before: list[str], after: list[str]
) -> None:
    text = "".join([*before, json.dumps(content), *after])
    assert parse(text) == read(content)


@given(answers, json_like.filter(lambda text: not text.lstrip().startswith(("{", "```", "<"))))
def test_a_closing_tag_alone_ends_thinking_that_the_prompt_opened(
    content: dict[str, Any], drafted: str
) -> None:
    for tag in ("<think", "</think", "<|channel"):
        drafted = drafted.replace(tag, "")
    assert parse(f"x{drafted}</think>{json.dumps(content)}") == read(content)


@given(answers, st.data())
def test_no_beginning_of_an_object_is_an_answer(content: dict[str, Any], data: st.DataObject) -> None:
    whole = json.dumps(content)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert parse(whole[:cut]) in (Fault.EMPTY, Fault.NOT_JSON)


@given(answers, answers)
def test_two_objects_are_never_an_answer(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert parse(json.dumps(first) + "\n" + json.dumps(second)) is Fault.TWO_OBJECTS


@given(answers, st.sampled_from(["action", "message", "terms"]))
def test_a_key_that_stands_twice_is_never_an_answer(content: dict[str, Any], key: str) -> None:
    body = json.dumps(content)[1:-1]
    assert parse(f'{{{body}, "{key}": "", "{key}": ""}}') is Fault.DUPLICATE_KEY


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("key", ["terms", "message"])
def test_ten_thousand_levels_are_no_json(opening: str, key: str) -> None:
    assert parse('{"action": "talk", "' + key + '": ' + opening * 10_000) is Fault.NOT_JSON


def test_an_integer_too_long_to_convert_is_no_json() -> None:
    assert parse('{"action": "talk", "message": ' + "9" * 5_000 + "}") is Fault.NOT_JSON


def test_an_overflowing_float_is_no_option() -> None:
    answer = parse('{"action": "propose", "terms": {"rent": 1e999}}')
    assert isinstance(answer, Answer)
    assert answer.action.terms == {"rent": float("inf")}  # for the protocol to refuse: no text


def test_the_limit_is_inclusive() -> None:
    whole = '{"action": "talk"}'
    assert isinstance(parse(whole + " " * (ANSWER_LIMIT - len(whole))), Answer)
    assert parse(whole + " " * (ANSWER_LIMIT - len(whole) + 1)) is Fault.ANSWER_TOO_LONG
