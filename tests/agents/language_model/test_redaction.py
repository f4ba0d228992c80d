"""Errors of providers lose whatever could be a secret, and stay readable."""

import pytest

from agents.language_model.redaction import LENGTH, clean


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
