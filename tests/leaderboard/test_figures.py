"""The board's figure and table: every row, every opponent, anchors in grey, names as plain text."""

import numpy as np
import pytest

from leaderboard import figures, markup, palette
from leaderboard.board import board
from tests.leaderboard.synthetic import choose, design, play_all


@pytest.fixture(scope="module")
def results():
    return play_all(design(scenarios=8), np.random.default_rng(1), {"a": 0.7, "c": 0.4})


def drawn(found, anchors=frozenset(), held_out=False):
    lines = [(row, row.held_out if held_out else row.open) for row in found.rows]
    figure = figures.board_figure(found, lines, set(anchors))
    return None if figure is None else figure.to_dict()


def test_the_figure_has_a_dot_an_interval_and_one_mark_an_opponent(results):
    found = board(results)
    rows = [row for data in drawn(found)["datasets"].values() for row in data]
    pooled = {row["agent"]: row for row in rows if "place" in row}
    for row in found.rows:
        low, high = row.open.pooled.interval()
        assert (pooled[row.agent]["low"], pooled[row.agent]["high"]) == (low, high)
        assert pooled[row.agent]["place"] == f"rank {row.rank}"
        assert pooled[row.agent]["href"].endswith(f"seller={row.player.version}")
    marks = {(row["agent"], row["opponent"]) for row in rows if "opponent" in row}
    assert marks == {(a, b) for a in "abc" for b in "xy"}


def test_anchors_are_grey_and_held_out_rows_claim_no_rank(results):
    found = board(results)
    colours = [layer["mark"].get("color") for layer in drawn(found, {"a"})["layer"]]
    assert {palette.ANCHOR, palette.SELLER} <= set(colours)
    rows = [r for data in drawn(found, held_out=True)["datasets"].values() for r in data]
    assert {row["place"] for row in rows if "place" in row} == {""}


def test_nothing_scored_draws_nothing(results):
    assert drawn(board(choose(results, np.arange(0)))) is None


def test_the_table_shows_names_as_text_and_what_is_missing():
    plan = design(sellers=('<b onclick="x">', "two"), buyers=("'\"&",), scenarios=8)
    results = play_all(plan, np.random.default_rng(2))
    part = choose(results, np.flatnonzero((results.seller_M == 1) | (results.scenario_M % 2 == 0)))
    found = board(part)
    html = markup.board_table(found, [(row, row.open) for row in found.rows], "my file.db")
    assert "<b onclick" not in html
    assert "&lt;b onclick=&quot;x&quot;&gt;" in html
    assert "12 of 24 matches missing" in html
    assert f"--design {plan.hash} --db &#x27;my file.db&#x27;" in html
    assert html.index("two") < html.index("&lt;b onclick")


@pytest.mark.parametrize("count", [1, 7, 8, 49])
def test_marks_stay_distinct(count):
    pairs = {(palette.colour(place), palette.shape(place)) for place in range(count)}
    assert len(pairs) == count
    assert all(palette.glyph(place) for place in range(count))
    # Vega's other shapes, such as "stroke", are lines: filled and without an outline they are invisible.
    areas = {"circle", "square", "cross", "diamond"} | {
        f"triangle-{way}" for way in ("up", "down", "left", "right")
    }
    assert {palette.shape(place) for place in range(count)} <= areas
