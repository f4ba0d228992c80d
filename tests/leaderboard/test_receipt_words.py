"""What was effectively sent, as it is read in a terminal and on a page."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.receipt_words import receipt_words

SENT = {
    "model": "hosted_vllm/m",
    "sampling": {"max_tokens": 4096, "temperature": 0},
    "prompt": "v1-abc",
    "litellm": "1.110.2",
    "schema": "0123456789ab",
    "served_model": "m",
}


@pytest.mark.parametrize(
    ("receipt", "words"),
    [
        (
            SENT,
            "hosted_vllm/m, answered by m; max_tokens 4096, temperature 0; JSON schema 0123456789ab; "
            "prompt v1-abc; litellm 1.110.2",
        ),
        (SENT | {"schema": None}, "; no schema; prompt"),
        (
            SENT | {"schema": None, "schema_refused": True, "format": "json_object"},
            "the JSON schema was refused, plain JSON sent instead; prompt v1-abc; litellm",
        ),
        (
            SENT | {"schema": None, "schema_refused": True, "format": "text"},
            "refused, no format sent instead",
        ),
        (SENT | {"cached": 3}, "; cached 3"),
        (
            {"model": "m", "weights": "0af", "sampling": {}, "dtype": "bfloat16"},
            "m; no settings; weights",
        ),
        ({"anything": [1, {"a": None}], "sampling": 3}, 'anything [1, {"a": null}]; sampling 3'),
        ({}, ""),
    ],
)
def test_a_receipt_in_words(receipt: dict[str, Any], words: str) -> None:
    assert words in receipt_words(receipt)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*SENT, "schema_refused", "format", "x"]), JSON))
def test_a_receipt_may_hold_anything(receipt: dict[str, Any]) -> None:
    """A plug-in's receipt is whatever it says: it is shown, and nothing is changed."""
    before = dict(receipt)
    assert isinstance(receipt_words(receipt), str)
    assert receipt == before
