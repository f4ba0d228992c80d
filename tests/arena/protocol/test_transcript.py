"""The stored form of a match's turns: whole, exact, and readable for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import ActionKind, Usage
from arena.play import Attempt, Turn
from arena.protocol import Fault
from arena.transcript import decode, encode
from scenarios.scenario import Role

any_text = st.text(st.characters(codec=None))
counts = st.none() | st.integers(0)
seconds = st.none() | st.floats(0, allow_infinity=False)
usages = st.builds(Usage, counts, counts, seconds, seconds)
attempts = st.builds(
    Attempt, st.none() | any_text, st.none() | st.sampled_from(Fault), st.none() | usages, any_text
)
turns = st.builds(
    Turn,
    st.sampled_from(Role),
    st.none() | st.sampled_from(ActionKind),
    st.none() | st.lists(st.integers(-1, 9), min_size=1).map(tuple),
    any_text,
    any_text,
    st.lists(attempts, max_size=3).map(tuple),
)


@given(st.lists(turns, max_size=8))
def test_what_was_encoded_is_decoded_whole(played: list[Turn]) -> None:
    read = decode(encode(played))
    assert read == played
    assert [type(turn.kind) for turn in read] == [type(turn.kind) for turn in played]


VERSION_1 = bytes.fromhex(
    "017801358e310ec2301004bf82b63e22db908686963f9c2d6422cb09387611a7423c8877f0318e58"
    "74a3d1edde326bd2c486f69a94235c3e6f10c6298e70c48a8e94d794c4cf9d781033ce02b95ccbed"
    "1e862aa69782ed4875a6978a5472fc85f1b4f0439d4ab638ed2caa4f0f0b129ac3b2f8189a96668b"
    "175a457b06e724afc96c72db71f8a3cc6ce8beac703749"
)
TURNS = [
    Turn(Role.SELLER, ActionKind.PROPOSE, (2, -1, 0), "Hé", "high"),
    Turn(
        Role.BUYER,
        ActionKind.TALK,
        None,
        "Hm.",
        "",
        (
            Attempt("?", Fault.NO_OBJECT, Usage(5, 1, None, 0.25), "long"),
            Attempt('{"action": "talk", "message": "Hm."}', None, None),
        ),
    ),
    Turn(Role.SELLER, ActionKind.ACCEPT, None, "", ""),
    Turn(Role.BUYER, ActionKind.WALK_AWAY, None, "", ""),
    Turn(Role.SELLER, None, None, "", ""),
]


def test_version_1_stays_readable() -> None:
    assert decode(VERSION_1) == TURNS


@pytest.mark.parametrize("blob", [b"", b"\x02x", b"\x00"])
def test_an_unknown_version_is_refused_in_words(blob: bytes) -> None:
    with pytest.raises(ValueError, match="reads transcripts of version 1"):
        decode(blob)
