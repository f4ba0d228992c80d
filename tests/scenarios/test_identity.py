"""Kinds by hand, digests against values computed elsewhere, and the stream's promises."""

import hashlib
from collections import Counter

import pytest

from scenarios.canonical import canonical, digest
from scenarios.domain import Kind
from scenarios.kinds import kind_of
from scenarios.stream import Stream

FALLING, RISING = (100, 40, 0), (0, 70, 100)


@pytest.mark.parametrize(
    ("seller_weight", "seller", "buyer_weight", "buyer", "kind"),
    [
        (10, FALLING, 10, FALLING, Kind.COMPATIBLE),
        (10, (100, 40, 0), 90, (100, 0, 60), Kind.COMPATIBLE),
        (10, (100, 100, 0), 10, (0, 100, 100), Kind.COMPATIBLE),
        (10, FALLING, 10, RISING, Kind.DISTRIBUTIVE),
        (15, FALLING, 10, RISING, Kind.DISTRIBUTIVE),
        (10, FALLING, 15, RISING, Kind.DISTRIBUTIVE),
        (16, FALLING, 10, RISING, Kind.MIXED),
        (10, FALLING, 19, RISING, Kind.MIXED),
        (10, FALLING, 20, RISING, Kind.INTEGRATIVE),
        (20, FALLING, 10, RISING, Kind.INTEGRATIVE),
        (10, FALLING, 10, (70, 100, 0), Kind.MIXED),
        (10, (100, 0, 0), 10, (0, 70, 100), Kind.MIXED),
    ],
)
def test_kinds(
    seller_weight: int, seller: tuple[int, ...], buyer_weight: int, buyer: tuple[int, ...], kind: Kind
) -> None:
    assert kind_of(seller_weight, seller, buyer_weight, buyer) is kind
    assert kind_of(buyer_weight, buyer, seller_weight, seller) is kind


def test_a_digest_is_sha256_of_canonical_json() -> None:
    assert canonical({"b": [1, 0.5], "a": "é"}) == '{"a":"é","b":[1,0.5]}'
    assert digest({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert digest("", 8) == hashlib.sha256(b'""').hexdigest()[:8]
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))


def test_streams_repeat_and_differ_by_content() -> None:
    def first(content: object) -> list[int]:
        return Stream(content).several(20, 0, 999)

    assert first(["a", 1]) == first(["a", 1])
    assert first(["a", 1]) != first(["a", 2])


def test_streams_are_even_and_keep_their_bounds() -> None:
    stream = Stream("even")
    counts = Counter(stream.between(3, 6) for _ in range(4_000))
    assert sorted(counts) == [3, 4, 5, 6]
    assert all(900 < count < 1_100 for count in counts.values())
    orders = Counter(tuple(stream.shuffled("abc")) for _ in range(6_000))
    assert len(orders) == 6
    assert all(880 < count < 1_120 for count in orders.values())
    assert 900 < sum(stream.coin() for _ in range(2_000)) < 1_100
    assert {stream.pick("xyz") for _ in range(100)} == set("xyz")
