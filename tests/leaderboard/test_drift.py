"""Drift: against means written out, and by simulation of worlds whose drift is known."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.replays import replays
from arena.store import Filter, Replay, Store
from leaderboard import drift_words
from leaderboard.export.report import gather
from leaderboard.export.report import page as write
from leaderboard.inference.drift import drift
from tests.arena.store import matches
from tests.leaderboard import synthetic
from tests.leaderboard.pages import shown, visit_well

DESIGN = synthetic.design()
CELLS, AGAIN = 40, 3


def world(rng: np.random.Generator, planted: float = 0.0, cells: int = CELLS) -> list[Replay]:
    """Return replays, AGAIN of each cell, whose first play all of them share."""
    found = []
    for cell in range(cells):
        scenario, first = cell // 2, rng.normal(0.5, 0.15)
        for block in range(1, 1 + AGAIN):
            score = rng.normal(0.5, 0.15) + planted
            found.append(
                Replay(
                    key=f"{cell}-{block}",
                    first_key=f"{cell}",
                    seller_version="a",
                    buyer_version="xy"[cell % 2],
                    domain_version="1",
                    scenario_key=f"s{scenario}",
                    opener="seller",
                    block=block,
                    score=score,
                    first_score=first,
                    started_at=f"2026-11-30T0{block}:00:00.000000+00:00",
                    first_started_at="2026-11-30T00:00:00.000000+00:00",
                )
            )
    return found


def test_it_is_the_mean_difference_and_each_part_that_of_its_replays() -> None:
    played = world(np.random.default_rng(1), 0.1)
    found = drift(DESIGN, played)
    assert found is not None

    def mean(keep=lambda replay: True) -> float:
        return float(np.mean([r.score - r.first_score for r in played if keep(r)]))

    assert found.overall.value == pytest.approx(mean())
    assert (found.overall.cells, found.overall.clusters) == (CELLS * AGAIN, CELLS // 2)
    for name in "xy":
        expected = mean(lambda replay, name=name: replay.buyer_version == name)
        assert found.by_buyer[name].value == pytest.approx(expected)
    for block in (1, 2, 3):
        expected = mean(lambda replay, block=block: replay.block == block)
        assert found.by_block[block].value == pytest.approx(expected)
        assert found.begun[block] == (f"2026-11-30T0{block}:00:00.000000+00:00",) * 2
    assert found.by_seller["a"].value == pytest.approx(mean())


def test_its_interval_is_the_clustered_one() -> None:
    """Against the sandwich of a mean, written out: residuals summed by scenario."""
    played = world(np.random.default_rng(2))
    found = drift(DESIGN, played)
    assert found is not None
    y = np.array([r.score - r.first_score for r in played])
    sums: dict[str, float] = {}
    for replay, rest in zip(played, y - y.mean(), strict=True):
        sums[replay.scenario_key] = sums.get(replay.scenario_key, 0.0) + rest
    groups = len(sums)
    expected = np.sqrt(groups / (groups - 1) * sum(s**2 for s in sums.values())) / len(y)
    assert found.overall.se == pytest.approx(expected)


def test_coverage_and_power() -> None:
    """95% intervals cover the truth as often as they say, and a drift of the size that the words name
    is found in four of five worlds."""
    rng = np.random.default_rng(3)
    worlds = 600
    covered = found_it = 0
    size = np.median([drift(DESIGN, world(rng)).mde for _ in range(50)])
    for _ in range(worlds):
        low, high = drift(DESIGN, world(rng, 0.07)).overall.interval()
        covered += low <= 0.07 <= high
        low, high = drift(DESIGN, world(rng, float(size))).overall.interval()
        found_it += low > 0
    assert 0.92 <= covered / worlds <= 0.98
    assert 0.74 <= found_it / worlds <= 0.86


def test_words() -> None:
    rng = np.random.default_rng(4)
    found = drift(DESIGN, world(rng, 0.3))
    assert "what was served changed" in drift_words.verdict(found)
    assert drift_words.sentence(found).startswith("drift +0.")
    assert "over 120 replays on 20 scenarios" in drift_words.sentence(found)
    still = drift(DESIGN, world(rng))
    assert "no detectable drift" in drift_words.verdict(still)
    assert "that is little" in drift_words.verdict(still)
    few = drift(DESIGN, world(rng, cells=4))
    assert "too few" in drift_words.verdict(few)
    same = drift(DESIGN, [replay._replace(score=replay.first_score) for replay in world(rng)])
    assert "every replay" in drift_words.verdict(same)
    assert drift(DESIGN, []) is None
    assert len(drift_words.rows(found)) == 1 + 2 + 3


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """A record whose replays score 0.2 less; one of them is withdrawn, and one has no first play."""
    path = tmp_path_factory.mktemp("drift") / "arena.db"
    design = matches.design(scenarios=16)
    rng = np.random.default_rng(6)
    with Store.open(str(path)) as store:
        first = matches.fill(store, design)
        scenarios = matches.freeze(store, design)
        again = replays(design, {player.version for player in design.buyers}, 1.0)
        rows = [
            matches.row(
                design,
                place,
                scenarios[place.scenario],
                seller_utility=round(float(0.3 + rng.normal(0, 0.02)), 4),
                started_at=f"2026-11-30T1{block}:00:00.000000+00:00",
            )
            for block, places in again.items()
            for place in places
        ]
        store.add_matches(rows)
        store.withdraw_match(rows[0].key, "by mistake")
        same = ("scenario_key", "buyer_version", "seller_version")
        twin = [r for r in first if all(getattr(r, name) == getattr(rows[-1], name) for name in same)]
        store.withdraw_match(twin[0].key, "by mistake")
    return path


def test_the_store_pairs_every_replay_with_its_first_play(path: Path) -> None:
    with Store.open(str(path)) as store:
        design = store.design().design
        found = store.replays(design)
        listed = store.matches(Filter(design=design))
    assert found
    assert {replay.first_score for replay in found} == {0.5}
    assert {replay.block for replay in found} == set(range(1, 8))
    assert not {replay.key for replay in found} & {match.key for match in listed}
    pairs = {(replay.scenario_key, replay.buyer_version) for replay in found}
    # 2 scenarios of 2 domains against 2 buyers in the first block, but for the withdrawn first play
    assert len(pairs) == 7
    assert len(found) == 7 * 7 - 1


def store_replays(path: Path) -> list[Replay]:
    with Store.open(str(path)) as store:
        return store.replays(store.design().design)


def test_the_command_prints_it(path: Path) -> None:
    def arena(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, "--db", str(path)])
        assert done.exit_code == 0, done.output
        return done.stdout

    printed = json.loads(arena("drift", "--json"))
    with Store.open(str(path)) as store:
        design = store.design().design
        found = drift(design, store.replays(design))
    assert printed.items() >= found.to_json().items()
    assert printed["design"] == design.hash
    assert printed["value"] == pytest.approx(-0.2, abs=0.02)
    assert {one["key"] for one in printed["replays"]} == {r.key for r in store_replays(path)}
    key = printed["replays"][0]["key"]
    assert "Played once more after block 1, for drift" in arena("show", key)
    text = arena("drift")
    assert "against linear" in text
    assert "after block 7 (30 Nov 2026, 17:00 UTC)" in text


def test_the_page_shows_it_where_there_are_replays(opened_well, path, tmp_path, monkeypatch) -> None:
    (first, *_) = store_replays(path)
    assert "for drift: it is in no score" in shown(opened_well(view="match", key=first.key))
    page = shown(opened_well(view="guards"))
    assert ">Drift<" in page
    assert "after block 3" in page
    with Store.open(str(path)) as store:
        report = gather(store, store.design())
    assert ">Drift<" in write(report)
    bare = tmp_path / "bare.db"
    with Store.open(str(bare)) as store:
        matches.fill(store, matches.design())
    monkeypatch.setenv("ARENA_DB", str(bare))
    assert ">Drift<" not in shown(visit_well(view="guards"))
    assert "No match was replayed" in CliRunner().invoke(app, ["drift", "--db", str(bare)]).stdout
