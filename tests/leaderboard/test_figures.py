"""The board's figure and table: every row, every opponent, gains as lengths, guards as marks, names as
plain text."""

import re
from dataclasses import replace
from html import escape
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from arena.analysis import Contrast
from leaderboard import signs
from leaderboard.board import board
from leaderboard.figures import board as board_figure
from leaderboard.figures import palette
from leaderboard.figures.svg import svg
from leaderboard.inference.badges import badges
from leaderboard.markup import address
from leaderboard.tables import board as board_table
from leaderboard.verdicts import verdicts
from tests.leaderboard.planted import plan, world
from tests.leaderboard.synthetic import choose, design, play_all


@pytest.fixture(scope="module")
def results():
    return play_all(design(scenarios=8), np.random.default_rng(1), {"a": 0.7, "c": 0.4})


@pytest.fixture(scope="module")
def trained():
    """Arms on one base: one gains everywhere, as declared; one on one buyer only; one nowhere."""
    contrast = Contrast(plus=("everywhere",), minus=("base",))
    made = plan(
        ("everywhere", "only_x", "nowhere", "base"),
        scenarios=40,
        contrasts=(contrast,),
        families={"y": "oak"},
        training_families=("oak",),
    )
    return world(made, {"everywhere": {"x": 0.1, "y": 0.1}, "only_x": {"x": 0.2}})


def drawn(results, anchors=frozenset(), held_out=False):
    """Return the figure as Vega-Lite, and the rows of all that it draws."""
    found = board(results)
    lines = [(row, row.held_out if held_out else row.open) for row in found.rows]
    figure = board_figure.board_figure(found, lines, set(anchors), verdicts(results))
    if figure is None:
        return None, []
    content = figure.to_dict()
    return content, [row for data in content["datasets"].values() for row in data]


def tabled(results, database="my file.db", held_out=False) -> str:
    found = board(results)
    lines = [(row, row.held_out if held_out else row.open) for row in found.rows]
    marks = badges(results.design, {})
    return board_table.board_table(
        board_table.BoardTable(found, lines, verdicts(results), marks, database)
    )


def row_of(html: str, agent: str) -> str:
    return next(row for row in html.split("<tr") if f">{agent}</a>" in row)


def test_the_figure_has_a_dot_an_interval_and_one_mark_an_opponent(results):
    _, rows = drawn(results)
    pooled = {row["agent"]: row for row in rows if "place" in row and "href" in row}
    for row in board(results).rows:
        low, high = row.open.pooled.interval()
        assert (pooled[row.agent]["low"], pooled[row.agent]["high"]) == (low, high)
        assert pooled[row.agent]["place"] == f"rank {row.rank}"
        assert pooled[row.agent]["href"].endswith(f"seller={row.player.version}")
    marks = {(row["agent"], row["opponent"]) for row in rows if "opponent" in row}
    assert marks == {(a, b) for a in "abc" for b in "xy"}


def test_anchors_are_grey_and_held_out_rows_claim_no_rank(results):
    content, _ = drawn(results, {"a"})
    colours = [layer["mark"].get("color") for layer in content["layer"]]
    assert {palette.ANCHOR, palette.SELLER} <= set(colours)
    _, rows = drawn(results, held_out=True)
    assert {row["place"] for row in rows if "href" in row} == {""}


@pytest.mark.parametrize("count", [1, 2, 13])
def test_rows_stand_apart_by_the_same_whatever_their_number(count):
    names = tuple(f"seller {number}" for number in range(count))
    made = play_all(design(sellers=names, scenarios=3), np.random.default_rng(3))
    found = board(made)
    lines = [(row, row.open) for row in found.rows]
    figure = board_figure.board_figure(found, lines, set(), verdicts(made))
    root = ElementTree.fromstring(svg(figure, "f", "a figure", 400))
    at = {}
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        if element.text in names:
            at[element.text] = float(element.get("transform").split(",")[1].split(")")[0])
    assert len(at) == count
    places = sorted(at.values())
    assert [b - a for a, b in pairwise(places)] == pytest.approx([36] * (count - 1))


def test_nothing_scored_draws_nothing(results):
    assert drawn(choose(results, np.arange(0))) == (None, [])


def test_a_gain_is_the_length_from_the_bases_score_to_the_sellers(trained):
    _, rows = drawn(trained)
    scores = {row.agent: row.open.pooled.value for row in board(trained).rows}
    lengths = {row["agent"]: (row["score"], row["to"]) for row in rows if "base" in row}
    assert lengths == {arm: (scores["base"], scores[arm]) for arm in scores if arm != "base"}


def test_guards_stand_in_columns_and_an_alarm_where_the_split_moved(trained):
    _, rows = drawn(trained)
    marks = {(row["agent"], row["place"]): row for row in rows if "mark" in row}
    names = signs.guards(next(iter(verdicts(trained).values())))
    for agent in ("everywhere", "only_x", "nowhere", "base"):
        assert [marks[agent, place]["guard"] for place in range(4)] == [sign.name for sign in names]
    alarms = {agent for agent, place in marks if place == 4}
    assert alarms == {"only_x"}
    assert marks["only_x", 2]["result"] == "fail"
    assert marks["only_x", 4]["mark"] == signs.ALARM
    assert "x" in marks["only_x", 4]["found"]
    assert marks["everywhere", 2]["result"] == "pass"
    headings = [row["short"] for row in rows if set(row) == {"place", "guard", "short"}]
    assert sorted(headings) == sorted(["leak", "opener", "pooling", "base", "alarm"])


def test_scores_over_a_held_out_panel_carry_no_guards(trained):
    _, rows = drawn(trained, held_out=True)
    assert not any("mark" in row for row in rows)
    assert "split moved" not in tabled(trained, held_out=True)


def test_the_table_shows_names_as_text_and_what_is_missing():
    made = design(sellers=('<b onclick="x">', "two"), buyers=("'\"&",), scenarios=8)
    results = play_all(made, np.random.default_rng(2))
    part = choose(results, np.flatnonzero((results.seller_M == 1) | (results.scenario_M % 2 == 0)))
    html = tabled(part)
    assert "<b onclick" not in html
    assert "&lt;b onclick=&quot;x&quot;&gt;" in html
    assert "12 of 24 matches missing" in html
    assert f"--design {made.hash} --db &#x27;my file.db&#x27;" in html
    assert html.index("two") < html.index("&lt;b onclick")


def test_a_row_says_gain_holm_split_guards_and_n_on_hover(trained):
    html = tabled(trained)
    gain = verdicts(trained)["everywhere"].gain
    declared = row_of(html, "everywhere")
    to_compare = address("compare", design=trained.design.hash, a="everywhere", b="base")
    shown = f'<a href="{escape(to_compare)}" target="_self">{gain.estimate.value:+.3f}</a>'
    assert f"<b>{shown}</b>" in declared, "detectable after Holm"
    low, high = gain.interval
    assert f"[{low:+.3f}, {high:+.3f}]" in declared
    assert "Holm p &lt; 0.001" in declared
    assert f"n = {gain.cells:,} cells on 80 scenarios" in declared
    assert "general gain" in declared
    undeclared = row_of(html, "only_x")
    assert "exploratory p &lt; 0.001" in undeclared
    assert "exploratory: not declared in the design" in undeclared
    assert f"{signs.ALARM} moved" in undeclared
    assert re.search(r'title="pooling alarm: fail\. [^"]*limit 0\.05 \(ours\)', undeclared)
    assert f"{signs.ALARM} moved" not in declared
    assert ">no</span>" in row_of(html, "nowhere")
    head = html[: html.index("</thead>")]
    assert re.search(r"</span> y<br><span[^>]*>training family</span>", head)
    assert "</span> x</th>" in head


def test_costs_and_faults_stand_where_they_are_known(trained):
    cost_M_R = trained.cost_M_R.copy()
    cost_M_R[trained.seller_M == 0, 0] = 0.0123
    measures_M = trained.measures_M.copy()
    measures_M["faulty_turns"][trained.seller_M == 1, 0] = 1
    html = tabled(replace(trained, cost_M_R=cost_M_R, measures_M=measures_M))
    assert ">$0.012</td>" in row_of(html, "everywhere")
    assert 'title="not known"' in row_of(html, "only_x")
    assert ">25.0%</td>" in row_of(html, "only_x"), "one of four turns"
    assert "cost a match" not in tabled(trained)


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
