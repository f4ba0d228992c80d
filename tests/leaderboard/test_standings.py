"""A real tournament through the command line: the board's figures, recomputed from the matches."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from scipy import stats
from typer.testing import CliRunner

from arena.cli import app

ARENA = Path(sys.executable).parent / "arena"
PLAYED = ["--scenarios", "6", "--domains", "coffee_import,office_fit_out,road_freight,car_sale"]
WHO = ["--sellers", "boulware,logroller,random", "--buyers", "conceder,boulware"]


def arena(*words: str, db: Path, expect: int = 0) -> str:
    """Run a command; a tournament in a process of its own, since it starts others."""
    line = [*words, "--db", str(db)]
    if words[0] != "run-tournament":
        result = CliRunner().invoke(app, line, env={"ARENA_DB": None})
        assert result.exit_code == expect, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.stdout
    done = subprocess.run([ARENA, *line], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == expect, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("standings") / "arena.db"
    rules = ["--replicates", "2", "--infeasible", "2", "--opener", "both"]
    arena("run-tournament", *WHO, *PLAYED, *rules, "--json", db=path)
    return path


@pytest.fixture(scope="module")
def matches(db):
    return [json.loads(line) for line in arena("matches", "--json", db=db).splitlines()]


def recomputed(rows, mine, across, utility):
    """Score, interval, clusters and matches by the definitions, one match at a time."""
    cells = defaultdict(list)
    for row in rows:
        cells[row[across], row["domain"]].append((row["scenario"], row[utility]))
    opponents, domains = ({key[place] for key in cells} for place in (0, 1))
    weight = 1 / (len(opponents) * len(domains))
    score = sum(sum(y for _, y in cell) / len(cell) for cell in cells.values()) * weight
    variance, df, clusters = 0.0, 0, 0
    for domain in domains:
        influence = defaultdict(float)
        for opponent in opponents:
            cell = cells[opponent, domain]
            mean = sum(y for _, y in cell) / len(cell)
            for scenario, y in cell:
                influence[scenario] += weight * (y - mean) / len(cell)
        count = len(influence)
        variance += count / (count - 1) * sum(psi**2 for psi in influence.values())
        df += count - 1
        clusters += count
    half = stats.t.ppf(0.975, df) * variance**0.5
    return {
        "score": score, "low": score - half, "high": score + half, "df": df,
        "clusters": clusters, "matches": len(rows),
    }  # fmt: skip


def agrees(found, expected):
    for name in ("score", "low", "high"):
        assert found[name] == pytest.approx(expected[name], abs=1e-9)
    assert (found["clusters"], found["matches"]) == (expected["clusters"], expected["matches"])


@pytest.mark.parametrize(("mine", "across"), [("seller", "buyer"), ("buyer", "seller")])
def test_every_figure_is_recomputed_from_the_matches(db, matches, mine, across):
    board = json.loads(arena("standings", "--role", mine, "--json", db=db))
    # The infeasible panel is in the list of matches and in no figure.
    feasible = [row for row in matches if "infeasible" not in row["scenario"]]
    assert 0 < len(feasible) < len(matches)
    assert {row["agent"] for row in board} == {row[mine] for row in matches}
    utility = f"{mine}_utility"
    for found in board:
        rows = [row for row in feasible if row[mine] == found["agent"]]
        opened = [row for row in rows if not row["held_out"]]
        held = [row for row in rows if row["held_out"]]
        expected = recomputed(opened, mine, across, utility)
        agrees(found | {"matches": len(opened)}, expected)
        assert found["df"] == expected["df"]
        assert found["matches"] == found["planned"] == len(rows)
        assert (found["complete"], found["void"], found["role"]) == (True, 0, mine)
        deals = sum(row["ending"] == "agreement" for row in opened)
        assert found["deal_rate"] == pytest.approx(deals / len(opened), abs=1e-12)
        agrees(found["held_out"], recomputed(held, mine, across, utility))
        for panel, part in ((found, opened), (found["held_out"], held)):
            for opponent, score in panel["by_buyer"].items():
                against = [row for row in part if row[across] == opponent]
                agrees(score, recomputed(against, mine, across, utility))


def test_a_paired_interval_excludes_zero_exactly_where_the_ranks_say_so_for_two(db, matches):
    """Two sellers: one contrast, whose critical value is t itself."""
    names = ("boulware", "logroller")
    who = ["--sellers", ",".join(names), "--buyers", "conceder,boulware"]
    arena("run-tournament", *who, *PLAYED, "--json", db=db)
    board = {row["agent"]: row for row in json.loads(arena("standings", "--json", db=db))}
    rows = [json.loads(line) for line in arena("matches", "--json", db=db).splitlines()]
    cells = defaultdict(dict)
    for row in rows:
        if not row["held_out"]:
            cell = tuple(row[k] for k in ("scenario", "buyer", "opener", "domain"))
            cells[cell][row["seller"]] = row["seller_utility"]
    pairs = [
        {"scenario": s, "buyer": b, "domain": d, "gain": y[names[1]] - y[names[0]]}
        for (s, b, _, d), y in cells.items()
    ]
    gain = recomputed(pairs, "seller", "buyer", "gain")
    apart = gain["low"] > 0 or gain["high"] < 0
    assert (board[names[0]]["rank_high"] != board[names[1]]["rank_high"]) == apart


def test_the_printed_board_has_the_same_figures(db):
    design = json.loads(arena("designs", "--json", db=db))[-1]["design"]
    rows = json.loads(arena("standings", "--design", design[:6], "--json", db=db))
    text = arena("standings", "--design", design, db=db)
    for row in rows:
        assert row["design"] == design
        assert f"{row['score']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" in text
    assert "Infeasible panel" in text
    assert max(map(len, text.splitlines())) <= 100


def test_an_interrupted_tournament_says_what_is_missing(db, matches):
    """Withdrawing a match leaves a hole that the board shows; nothing else changes."""
    before = json.loads(arena("standings", "--json", db=db))
    gone = next(
        json.loads(line)
        for line in arena("matches", "--json", "--seller", "logroller", db=db).splitlines()
    )
    arena("withdraw", "--match", gone["key"], "--reason", "a test", db=db)
    after = {row["agent"]: row for row in json.loads(arena("standings", "--json", db=db))}
    for row in before:
        if row["agent"] == "logroller":
            assert after["logroller"]["matches"] == row["matches"] - 1
            assert not after["logroller"]["complete"]
        else:
            same = row.keys() - {"rank_low", "rank_high"}
            assert {k: after[row["agent"]][k] for k in same} == {k: row[k] for k in same}
    assert "1 of" in arena("standings", db=db)


@pytest.mark.parametrize(
    "words",
    [["--design", "ffff"], ["--role", "auctioneer"]],
)
def test_a_mistake_is_told_in_a_sentence(db, words):
    arena("standings", *words, db=db, expect=2)


def test_no_database_is_told_and_none_is_made(tmp_path):
    for command in ("standings", "leaderboard"):
        arena(command, db=tmp_path / "none.db", expect=2)
    assert not list(tmp_path.iterdir())
