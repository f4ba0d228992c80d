"""Errors of providers lose whatever could be a secret, answers lose keys, and both stay readable."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import Usage
from agents.language_model.library import NO_KEY
from agents.language_model.redaction import HIDDEN, LENGTH, clean, to_keep, without_keys
from agents.language_model.request import Completion


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-abcdefgh12345",
        "Authorization: Bearer abcdefgh12345",
        "GET https://x.test/v1?key=abcdefgh12345&alt=json",
        '{"api_key": "abcdefgh12345"}',
        "https://user:abcdefgh12345@proxy.test/v1 refused",
        "gsk_abcdefgh12345 is revoked",
        "hf_abcdefgh12345 is revoked",
        "AIzaabcdefgh12345 is not valid",
    ],
)
def test_secrets_by_shape(text: str) -> None:
    assert "abcdefgh12345" not in clean(text)
    assert "[hidden]" in clean(text)


def test_secrets_by_variable_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANY_PASSWORD", "correct horse")
    assert clean("denied for correct horse") == "denied for [hidden]"


def test_ordinary_words_stay() -> None:
    text = "the model says: max_tokens must be at most 4096 for this key"
    assert clean(text) == text


def test_one_line_of_bounded_length() -> None:
    assert clean("litellm.APIError: a\n\n  b") == "APIError: a b"
    assert clean("see https://docs.litellm.ai/docs") == "see https://docs.litellm.ai/docs"
    assert len(clean("x " * 1000)) <= LENGTH
    traced = 'Invalid response\n\nTraceback (most recent call last):\n  File "/home/x.py", line 1'
    assert clean(traced) == "Invalid response"


KEY = "sk/Very+Secret=0123456789"


@pytest.mark.parametrize("spelled", [KEY, KEY.replace("/", "\\/"), quote(KEY, safe="")])
def test_a_key_in_an_answer_is_hidden_and_nothing_else(spelled: str) -> None:
    text = f'{{"message": "Bearer {spelled}!", "action": "talk"}} key=abcdefgh12345'
    assert without_keys(text, KEY) == text.replace(spelled, HIDDEN)


def test_ordinary_words_of_an_answer_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYBOARD_LAYOUT", "english")
    monkeypatch.setenv("OTHER_API_KEY", "0123456789abcdef")
    assert without_keys("an english key, no-key, sk-abcdefgh", NO_KEY) == (
        "an english key, no-key, sk-abcdefgh"
    )
    assert without_keys("EMPTY rooms", "EMPTY") == "EMPTY rooms"
    assert without_keys("that other is 0123456789abcdef", None) == f"that other is {HIDDEN}"


def completion(**changes: Any) -> Completion:
    return Completion("t", "r", None, Usage(5, 6, 0.1, 0.2), "m")._replace(**changes)


@given(st.text(st.characters(codec=None), max_size=30))
def test_what_is_kept_can_be_stored_and_means_the_same(words: str) -> None:
    """Whatever the code points: written as JSON and read again, the words are those that came."""
    raw = json.dumps({"message": words}, ensure_ascii=False)
    kept = to_keep(completion(text=raw, reasoning=words), None)
    assert json.loads(kept.text.encode()) == json.loads(raw)
    kept.reasoning.encode()


@pytest.mark.parametrize("count", [-1, 10**30])
def test_counts_that_cannot_be_are_not_known(count: int) -> None:
    for taken, given_out in ((count, 5), (5, count)):
        kept = to_keep(completion(usage=Usage(taken, given_out, 1.0, 0.2)), None)
        assert kept.usage == Usage(None, None, None, 0.2)
    assert to_keep(completion(), None) == completion()


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        (None, None),
        ({"a": 1}, None),
        ("x" * 10_000, "x" * (LENGTH - 1) + "…"),
        (f"m {KEY}\n", "m [hidden]"),
    ],
)
def test_the_name_of_what_served_is_a_short_line_without_keys(model: Any, kept: str | None) -> None:
    assert to_keep(completion(model=model), KEY).model == kept
