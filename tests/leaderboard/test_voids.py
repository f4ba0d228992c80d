"""Missing matches: bounds against filling every gap by hand; what commands, pages and exports say."""

import json
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.schedule import plan
from arena.store import Store
from leaderboard.board import board
from leaderboard.export.matches import match_rows
from leaderboard.export.report import gather, page
from leaderboard.inference.voids import missing
from scenarios.scenario import Role
from tests.arena.store import matches
from tests.leaderboard.pages import links, shown
from tests.leaderboard.tournament import make_design

TROUBLES = ("rate_limit", "connection", None)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """A design of which a third is void: some matches were void first and scored then, some never came
    to be scored, in unequal numbers by buyer and domain; one fifth of it was never tried."""
    path = tmp_path_factory.mktemp("voids") / "arena.db"
    rng = np.random.default_rng(5)
    design = matches.design(scenarios=30, replicates=2, infeasible=3)
    with Store.open(str(path)) as store:
        scenarios = matches.freeze(store, design)
        scored = []
        for place in plan(design):
            utility = round(float(rng.uniform()), 4)
            row = matches.row(design, place, scenarios[place.scenario], seller_utility=utility)
            chance = rng.uniform() * (1.5 if place.buyer_version == design.buyers[0].version else 1.2)
            if chance < 0.8:
                scored.append(row)
            if 0.6 < chance < 1.0:
                for _ in range(int(rng.integers(1, 4))):
                    store.add_void(failed(row, rng))
        store.add_matches(scored)
    return path


def failed(row, rng):
    """Return a void attempt at the match, through either side's provider or a bug."""
    if rng.uniform() < 0.1:
        return row._replace(ending="harness_error", at_fault="seller", seller_utility=None, detail="oh")
    return row._replace(
        ending="provider_error",
        at_fault=str(rng.choice(["seller", "buyer"])),
        seller_utility=None,
        buyer_utility=None,
        detail="429 from here",
        trouble=TROUBLES[rng.integers(3)],
    )


@pytest.fixture(scope="module")
def stored(path: Path):
    with Store.open(str(path)) as store:
        design = store.design().design
        yield design, store.results(design), store.void_counts(design), store


@pytest.mark.parametrize("role", list(Role))
def test_bounds_are_the_score_with_every_gap_filled(stored, role: Role) -> None:
    """The board's definition, written out: the mean over opponents of the mean over open domains of the
    mean over all planned cells, those without a match at 0, or at 1."""
    design, results, counts, store = stored
    utility = {}
    for match in store.matches(matches_of(design)):
        place = (match.domain_version, match.number, match.feasible, match.seller_version)
        key = (*place, match.buyer_version, match.opener, match.replicate)
        utility[key] = match.seller_utility if role is Role.SELLER else match.buyer_utility
    own = {player.version for player in (design.sellers if role is Role.SELLER else design.buyers)}
    others = {player.version for player in (design.buyers if role is Role.SELLER else design.sellers)}
    domains = [domain.version for domain in design.domains if not domain.held_out]
    places = [place for place in plan(design) if place.feasible]

    def filled(agent: str, value: float) -> float:
        means = []
        for other, domain in product(sorted(others), domains):
            pair = (agent, other) if role is Role.SELLER else (other, agent)
            cells = [
                utility.get(tuple(place), value)
                for place in places
                if (place.seller_version, place.buyer_version) == pair and place.domain_version == domain
            ]
            means.append(sum(cells) / len(cells))
        return sum(means) / len(means)

    found = {one.row.player.version: one for one in missing(board(results, role), counts)}
    assert found.keys() == own
    for version, one in found.items():
        assert one.row.open_missing > 0
        assert one.row.bounds == pytest.approx((filled(version, 0.0), filled(version, 1.0)))
        assert one.row.bounds[0] < one.row.open.pooled.value < one.row.bounds[1]


def matches_of(design):
    from arena.store import Filter

    return Filter(design=design)


@pytest.mark.parametrize("role", list(Role))
def test_counts_are_those_of_the_attempts(stored, role: Role) -> None:
    design, results, counts, store = stored
    names = {r: design.names(r) for r in Role}
    listed = store.matches(matches_of(design), voids=True)
    scored = {match.key for match in store.matches(matches_of(design))}
    assert sum(count.attempts for count in counts) == len(listed)
    for one in missing(board(results, role), counts):
        version = one.row.player.version

        def mine(match, version=version) -> bool:
            return version == (match.seller_version if role is Role.SELLER else match.buyer_version)

        expected: Counter = Counter()
        for match in filter(mine, listed):
            fault = Role(match.at_fault)
            who = match.seller_version if fault is Role.SELLER else match.buyer_version
            expected[names[fault][who], match.ending, match.trouble] += 1
        assert expected == {(a.at_fault, a.ending, a.trouble): a.attempts for a in one.attempts}
        void = {m.key for m in filter(mine, listed) if m.feasible} - scored
        assert one.row.void == len(void) > 0
        assert one.missing == one.row.planned - one.row.matches == one.row.void + one.untried
        assert one.untried > 0


def arena(path: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--db", str(path)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command(path: Path, stored) -> None:
    design, results, counts, _ = stored
    found = missing(board(results), counts)
    printed = json.loads(arena(path, "voids", "--json"))
    assert [one["agent"] for one in printed] == [one.row.agent for one in found]
    for one, other in zip(printed, found, strict=True):
        assert one["bounds"] == {"low": other.row.bounds[0], "high": other.row.bounds[1]}
        assert one["missing"] == one["planned"] - one["scored"]
        assert one["design"] == design.hash
        assert not one["ranked"]
    text = arena(path, "voids")
    for words in ("rate limit", "connection", "kind not kept", "the arena (bugs", "Not ranked"):
        assert words in text
    assert f"{found[0].row.bounds[0]:.3f}" in text
    assert {one["role"] for one in json.loads(arena(path, "voids", "--role", "buyer", "--json"))} == {
        "buyer"
    }


def test_nothing_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(str(path)) as store:
        matches.fill(store, matches.design())
    assert arena(path, "voids") == "Nothing is missing, and no attempt was void.\n"
    (one, *_) = json.loads(arena(path, "voids", "--json"))
    assert (one["missing"], one["attempts"]) == (0, [])
    assert one["bounds"]["low"] == pytest.approx(one["score"])
    assert one["bounds"]["high"] == pytest.approx(one["score"])


def test_matches_and_show_name_the_trouble(path: Path, stored) -> None:
    *_, store = stored
    lines = [json.loads(line) for line in arena(path, "matches", "--void", "--json").splitlines()]
    assert {line["trouble"] for line in lines} == {*TROUBLES}
    assert all("trouble" not in json.loads(line) for line in scored_lines(path))
    key = next(line["key"] for line in lines if line["trouble"] == "rate_limit")
    last = store.match(key, voids=True)
    assert json.loads(arena(path, "show", key, "--void", "--json"))["trouble"] == last.trouble
    text = arena(path, "matches", "--void", "--limit", "500")
    assert "rate" in text
    limited = [m for m in store.matches(matches_of(stored[0]), voids=True) if m.trouble == "rate_limit"]
    final = next(m for m in limited if store.match(m.key, voids=True).attempt == m.attempt)
    assert "at fault (rate limit): 429 from here" in arena(path, "show", final.key, "--void")


def scored_lines(path: Path) -> list[str]:
    return arena(path, "matches", "--json").splitlines()


def test_the_export_has_it(stored) -> None:
    *_, store = stored
    rows = list(match_rows(store, store.design()))
    assert {row["trouble"] for row in rows if row["status"] == "void"} == {*TROUBLES}
    assert {row["trouble"] for row in rows if row["status"] == "scored"} == {None}


def test_the_page_of_the_board_shows_it_until_a_filter_narrows_it(opened_well, stored) -> None:
    design, results, counts, _ = stored
    (first, *_) = missing(board(results), counts)
    seen = shown(opened_well(view="board"))
    assert "Missing and void" in seen
    assert f"{first.row.bounds[0]:.3f}" in seen
    assert "rate limit" in seen
    where = {
        query["seller"] for query in links(opened_well(view="board"), "matches") if "record" in query
    }
    assert where == {player.version for player in design.sellers}
    assert "Missing and void" not in shown(opened_well(view="board", opener="seller"))


def test_the_report_has_it(stored) -> None:
    *_, store = stored
    report = page(gather(store, store.design()))
    assert ">Missing and void<" in report
    assert "rate limit" in report


def test_lists_and_matches_of_the_pages_name_it(opened_well, stored) -> None:
    *_, store = stored
    assert "rate limit" in shown(opened_well(view="matches", record="void"))
    limited = next(
        m for m in store.matches(matches_of(stored[0]), voids=True) if m.trouble == "rate_limit"
    )
    seen = opened_well(view="match", key=limited.key, attempt=str(limited.attempt))
    assert "(rate limit)" in shown(seen)


def test_a_complete_board_has_no_such_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.leaderboard.pages import visit_well
    from tests.leaderboard.tournament import play_into

    path = tmp_path / "arena.db"
    play_into(path, make_design(domains=2, scenarios=2))
    monkeypatch.setenv("ARENA_DB", str(path))
    assert "Missing and void" not in shown(visit_well(view="board"))
