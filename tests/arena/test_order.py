"""The order of play: weights are loaded seldom, and no seller is far ahead of another at any stop."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.spec import AgentSpec, Connection, Profile
from arena.order import MATCHES_A_LOAD, MATCHES_A_LOAD_IN_TIME, in_blocks, in_order
from arena.schedule import Place
from arena.store import Registration

REMOTE = Connection(api_base="http://10.0.0.9/v1")


def served(weights: str) -> Connection:
    return Connection(weights=weights, server="llama.cpp")


def line_up(**connections: Connection | None) -> dict[str, Registration]:
    """Agents by name, which is their version, too; scripted where they have no connection."""
    return {
        name: Registration(
            name=name,
            spec=AgentSpec(kind="scripted" if to is None else "model", model=f"hosted_vllm/{name}"),
            role="both",
            profile=Profile(),
            connection=to or Connection(),
            registered_at="",
        )
        for name, to in connections.items()
    }


def planned(
    scenarios: int, sellers: Sequence[str], buyers: Sequence[str], domains: int = 1
) -> list[Place]:
    """Matches in the plan's order: those of one scenario together."""
    return [
        Place(f"domain {domain}", number, True, seller, buyer, "seller", 0)
        for number in range(scenarios)
        for domain in range(domains)
        for seller in sellers
        for buyer in buyers
    ]


def prefixes(order: Sequence[Place], sellers: Sequence[str]) -> Iterator[Counter[str]]:
    """How many matches each seller has played, at every stop."""
    played = Counter(dict.fromkeys(sellers, 0))
    for place in order:
        played[place.seller_version] += 1
        yield played


def weights(place: Place) -> tuple[int, ...]:
    return {"a": (0,), "b": (1,), "api": ()}[place.seller_version]


def test_weights_take_turns_by_blocks_of_the_same_cells() -> None:
    places = planned(3, ["a", "b", "api"], ["linear"])
    found = [(place.seller_version, place.number) for place in in_blocks(places, weights, 2)]
    assert found == [
        *(("api", 0), ("api", 1), ("a", 0), ("a", 1), ("b", 0), ("b", 1)),
        *(("api", 2), ("a", 2), ("b", 2)),
    ]


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.data())
def test_where_agents_are_merely_remote_each_scenario_is_played_across_all_sellers(
    scenarios: int, sellers: int, buyers: int, domains: int, data: st.DataObject
) -> None:
    """At whatever match a run stops, no seller is ahead of another by more than one scenario."""
    names, tables = [f"s{n}" for n in range(sellers)], [f"b{n}" for n in range(buyers)]
    far = data.draw(st.sets(st.sampled_from([*names, *tables]), min_size=1))
    agents = line_up(**{name: REMOTE if name in far else None for name in (*names, *tables)})
    places = planned(scenarios, names, tables, domains)
    order = in_order(places, agents)
    assert order == places
    for played in prefixes(order, names):
        assert max(played.values()) - min(played.values()) <= buyers


@given(st.integers(1, 120), st.integers(2, 4), st.integers(1, 3), st.booleans(), st.booleans())
def test_served_sellers_take_turns_by_blocks(
    scenarios: int, sellers: int, buyers: int, far: bool, one_more: bool
) -> None:
    """Every match once; a seller is never ahead by more than a block; a block is whole scenarios, loads
    each seller's weights once, and is small where a buyer may change over time."""
    here, tables = [f"s{n}" for n in range(sellers)], [f"b{n}" for n in range(buyers)]
    names = [*here, "api"] if one_more else here
    agents = line_up(
        **{name: served(f"{name}.gguf") for name in here},
        **({"api": REMOTE} if one_more else {}),
        **dict.fromkeys(tables, REMOTE if far else None),
    )
    places = planned(scenarios, names, tables)
    order = in_order(places, agents)
    assert sorted(order) == sorted(places)
    most = MATCHES_A_LOAD_IN_TIME if far else MATCHES_A_LOAD
    for played in prefixes(order, names):
        assert max(played.values()) - min(played.values()) <= most
    shares = [(who, [p.number for p in their]) for who, their in groupby(order, _seller)]
    blocks = -(-scenarios // (most // buyers))
    assert len([who for who, _ in shares if who in here]) == sellers * blocks
    assert len({tuple(numbers) for who, numbers in shares if who in here}) == blocks


def _seller(place: Place) -> str:
    return place.seller_version


def test_agents_that_share_a_server_are_played_together() -> None:
    agents = line_up(cool=served("x.gguf"), warm=served("x.gguf"), other=served("y.gguf"), buyer=None)
    agents = {
        name: agent
        if name == "other" or agent.connection.server is None
        else _renamed(agent, "hosted_vllm/x")
        for name, agent in agents.items()
    }
    order = in_order(planned(3, ["cool", "other", "warm"], ["buyer"]), agents)
    assert [p.seller_version for p in order] == ["cool", "warm"] * 3 + ["other"] * 3


def _renamed(agent: Registration, model: str) -> Registration:
    spec = agent.spec.model_copy(update={"model": model})
    return Registration(agent.name, spec, "both", agent.profile, agent.connection, "")


def test_pairs_of_served_agents_change_one_server_at_a_time() -> None:
    agents = line_up(**{name: served(f"{name}.gguf") for name in "abc"})
    order = in_order(planned(2, ["a", "b", "c"], ["a", "b", "c"]), agents)
    tables = [frozenset((p.seller_version, p.buyer_version)) for p in order]
    needed = [table for table, _ in groupby(tables)]
    assert needed == [{"a"}, {"a", "b"}, {"a", "c"}, {"b"}, {"b", "c"}, {"c"}]


@pytest.mark.parametrize("scenarios", [1, 300])
def test_what_needs_no_weights_stays_as_it_was_planned(scenarios: int) -> None:
    places = planned(scenarios, ["a", "b"], ["linear"])
    assert in_blocks(places, lambda _: ()) == places
