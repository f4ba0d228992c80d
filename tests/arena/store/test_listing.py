"""Matches one by one: filters, search and pages come to the same as sifting the whole list by hand."""

import pytest

from arena.schedule import plan
from arena.store import Filter, Listed, Store
from tests.arena.store.matches import design, freeze, row
from tests.arena.store.raw import execute

FAILED = "ValueError: 100% of the_prices"


@pytest.fixture
def store(address: str):
    """A store with matches that differ in everything one can filter by."""
    plan_of = design(infeasible=1, replicates=2, opener="both")
    with Store.open(address) as opened:
        scenarios = freeze(opened, plan_of)
        made = []
        for number, place in enumerate(plan(plan_of)):
            changes: dict[str, object] = {"seller_faults": number % 3 == 0, "buyer_faults": number % 5}
            if number % 4 == 0:
                changes |= {"started_at": "2026-11-29T11:59:59.999999+00:00"}
            if number % 7 == 0:
                changes |= {"ending": "forfeit_code", "at_fault": "buyer", "detail": FAILED}
            made.append(row(plan_of, place, scenarios[place.scenario], **changes))
        opened.add_matches(made)
        for match in made[::11]:
            opened.withdraw_match(match.key, "by mistake")
        yield opened


def every(store: Store) -> list[Listed]:
    return store.matches(Filter(withdrawn=True))


def mentions(match: Listed, text: str) -> bool:
    text = text.lower()
    label = match.scenario.lower()
    plain = label[: label.index("@")] + label[label.index("/") :]
    return match.key.startswith(text) or any(
        text in part for part in (label, plain, match.detail.lower())
    )


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (Filter(), lambda m: m.withdrawn_at is None),
        (Filter(only_withdrawn=True), lambda m: m.withdrawn_at is not None),
        (Filter(withdrawn=True, opener="buyer"), lambda m: m.opener == "buyer"),
        (Filter(withdrawn=True, faulty=True), lambda m: m.seller_faults or m.buyer_faults),
        (Filter(withdrawn=True, replicate=1), lambda m: m.replicate == 1),
        (
            Filter(withdrawn=True, begun_before="2026-11-29T12:00:00.000000+00:00"),
            lambda m: m.started_at[11:13] == "11",
        ),
        (Filter(withdrawn=True, ending="forfeit_code"), lambda m: m.ending == "forfeit_code"),
        *(
            (Filter(withdrawn=True, text=text), lambda m, text=text: mentions(m, text))
            for text in (
                "car_sale/eval/1",
                "CAR_SALE",
                "eval-infeasible",
                "0% OF THE_",
                "car%sale",
                "coffee-import",
                "\\",
                "no such thing",
            )
        ),
    ],
)
def test_a_filter_lets_through_what_fits_and_nothing_else(store: Store, wanted: Filter, fits) -> None:
    expected = [match for match in every(store) if fits(match)]
    assert store.matches(wanted) == expected
    assert store.count(wanted) == len(expected)
    assert len(expected) < len(every(store))


def test_text_finds_a_key_by_its_start(store: Store) -> None:
    match = every(store)[5]
    assert store.matches(Filter(text=f" {match.key[:9].upper()}")) == [match]


def test_a_cell_is_played_once_by_each_seller(store: Store) -> None:
    match = every(store)[5]
    cell = Filter(
        withdrawn=True,
        buyers=[match.buyer_version],
        scenario_key=match.scenario_key,
        opener=match.opener,
        replicate=match.replicate,
    )
    found = store.matches(cell)
    assert match in found
    assert len({other.seller_version for other in found}) == len(found) <= 2


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_pages_follow_one_another_without_a_gap(store: Store, limit: int) -> None:
    whole = every(store)
    pages = range(0, len(whole), limit)
    found = [store.matches(Filter(withdrawn=True), limit=limit, offset=at) for at in pages]
    assert [match for page in found for match in page] == whole
    assert store.matches(Filter(withdrawn=True), offset=3) == whole[3:]
    assert store.matches(Filter(withdrawn=True), limit=limit, offset=len(whole)) == []


def test_void_attempts_are_counted_and_paged_as_well(store: Store) -> None:
    plan_of = design(seed=3)
    scenarios = freeze(store, plan_of)
    place = next(iter(plan(plan_of)))
    for detail in ("HTTP 503", "HTTP 429", "HTTP 503"):
        void = {"ending": "provider_error", "seller_utility": None, "buyer_utility": None, "deal": None}
        store.add_void(row(plan_of, place, scenarios[place.scenario], detail=detail, **void))
    assert store.count(Filter(text="http 503"), voids=True) == 2
    assert [m.attempt for m in store.matches(Filter(text="503"), voids=True)] == [1, 3]
    assert [m.attempt for m in store.matches(Filter(), voids=True, limit=1, offset=1)] == [2]


def test_domains_are_sorted_alike_on_every_database(store: Store, address: str) -> None:
    """By their bytes, a digit before an underscore: in most languages it is the other way round."""
    rename = "UPDATE domains SET name = '{}' WHERE name = '{}'"
    execute(address, rename.format("a_b", "car_sale"), rename.format("a1", "coffee_import"))
    names = [match.domain for match in every(store)]
    assert set(names) == {"a1", "a_b"}
    assert names == sorted(names)
