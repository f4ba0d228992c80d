"""The board in a terminal: it fits, reads without colour and in ASCII, and hides nothing."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from arena.analysis import Contrast
from leaderboard.board import board
from leaderboard.inference.badges import badges
from leaderboard.terminal import Axis, render
from leaderboard.verdicts import verdicts
from scenarios.scenario import Role
from tests.leaderboard.planted import plan, world
from tests.leaderboard.synthetic import choose, design, play_all

SELLERS = (
    "boulware", "linear", "conceder", "tit_for_tat", "micro_quantile", "logroller", "hardliner",
    "random",
)  # fmt: skip
FROZEN = "2026-11-29T16:46:00.123456+00:00"


def printed(found, width=100, encoding="utf-8", said=None, marks=None, **settings) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    # Under TERM=dumb Rich would take 80 columns whatever it is told.
    screen = Console(file=out, width=width, highlight=False, _environ={}, **settings)
    render(found, FROZEN, None, screen, said or {}, marks or {})
    return raw.getvalue().decode(encoding)


@pytest.fixture(scope="module")
def results():
    plan = design(sellers=SELLERS, buyers=SELLERS[:6], domains=9, scenarios=8)
    skill = {name: 0.3 + 0.05 * place for place, name in enumerate(SELLERS)}
    return play_all(plan, np.random.default_rng(1), skill)


def test_it_fits_in_100_columns_and_shows_every_figure(results):
    found = board(results)
    text = printed(found)
    assert max(map(len, text.splitlines())) <= 100
    for row in found.rows:
        low, high = row.open.pooled.interval()
        line = next(line for line in text.splitlines() if re.match(rf"\d.*\b{row.agent} ", line))
        assert line.startswith(str(row.rank))
        assert f"{row.open.pooled.value:.3f} [{low:.3f}, {high:.3f}]" in line
        assert f"{row.deal_rate:.1%} {row.matches}/{row.planned}" in line
        for panel in (row.open, row.held_out):
            for score in panel.by_opponent.values():
                low, high = score.interval()
                assert f"{score.value:.3f} ±{(high - low) / 2:.3f}".replace("±0", "±") in text
    assert found.design.hash in text
    assert "29 Nov 2026, 16:46 UTC" in text
    assert "Held out: domain_8" in text
    assert "64 scenarios each" in text
    assert "~ fewer than 32 scenarios" in text, "held-out intervals rest on 8 scenarios"


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_any_width_works(results, width):
    assert "micro_quantile" in printed(board(results), width)


def test_plain_ascii_output_has_the_same_figures(results):
    found = board(results)
    text = printed(found, encoding="ascii")
    assert f"{found.rows[0].open.pooled.value:.3f}" in text
    assert "o" in text
    assert text.isascii()


def test_without_colour_there_are_no_escapes_and_with_it_the_words_are_the_same(results):
    plain = printed(board(results))
    assert "\x1b" not in plain
    coloured = printed(board(results), force_terminal=True, color_system="truecolor")
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_buyers_have_a_board_too(results):
    text = printed(board(results, Role.BUYER))
    assert "Standings of buyers" in text
    assert "By seller" in text


def test_incomplete_sellers_stand_below_with_what_fills_them(results):
    rows = np.arange(len(results.seller_M))
    mine = np.flatnonzero(results.seller_M == 2)
    few = np.flatnonzero(results.seller_M == 5)[:2]
    part = choose(results, np.delete(rows, [*mine[::2], *few]))
    void = part.void_S_B_D.copy()
    void[2, 0, 0] = 7
    found = board(replace(part, void_S_B_D=void))
    text = printed(found)
    below = text[text.index("Not ranked") :]
    assert re.search(r"conceder .* 216 of 432 matches missing \(7 void\)", below)
    assert "logroller: 2 of 432 matches missing; with those at 0 and at 1" in below
    assert f"arena run-tournament --design {found.design.hash}" in below
    assert "7 void" in text[: text.index("open domains")]


def test_before_the_first_match_it_says_what_is_missing(results):
    text = printed(board(choose(results, np.arange(0))))
    assert "0 of 3,456 matches scored" in text
    assert "432 of 432 matches missing" in text


def test_self_play_and_the_infeasible_panel_are_marked(results):
    chosen = results.feasible_M.copy()
    chosen[:3] = False
    text = printed(board(replace(results, feasible_M=chosen)))
    assert re.search(r"^logroller .*\*", text, re.MULTILINE)
    assert "* against itself" in text
    assert "Infeasible panel (in no score): 3 matches" in text


def test_names_cannot_write_to_the_terminal():
    plan = design(sellers=("[red]x[/red]", "\x1b[2Jevil", "日本語エージェント"), buyers=("b\r\n",))
    text = printed(board(play_all(plan, np.random.default_rng(2))))
    assert "\x1b" not in text
    assert "\\x1b[2Jevil" in text
    assert "[red]x[/red]" in text
    assert "日本語エージェント" in text


def test_all_equal_says_so_instead_of_an_interval():
    plan = design(scenarios=8)
    results = play_all(plan, np.random.default_rng(3), noise=0, scenario_noise=0)
    text = printed(board(results))
    assert "all equal" in text
    assert "[0.500, 0.500]" not in text


def test_the_bar_shows_the_score_inside_its_interval(results):
    row = board(results).rows[0].open.pooled
    bar = Axis([row], 40).bar(row)
    assert len(bar) == 40
    assert bar.index("├") < bar.index("●") < bar.index("┤")


@pytest.fixture(scope="module")
def trained():
    """Three arms on one base: one gains everywhere, one on one buyer only, one nowhere."""
    arms = ("everywhere", "only_x", "nowhere", "a_base_with_a_long_name")
    plan_of = plan(arms, scenarios=40, families={"y": "oak"}, training_families=("oak",))
    gains = {"everywhere": {"x": 0.1, "y": 0.1}, "only_x": {"x": 0.2}}
    return world(plan_of, gains)


def test_gains_guards_alarms_and_badges_stand_in_100_columns(trained):
    said = verdicts(trained)
    text = printed(board(trained), said=said, marks=badges(trained.design, {}))
    assert max(map(len, text.splitlines())) <= 100
    table = text[text.index("Gain over base") :]
    for name in ("everywhere", "only_x", "nowhere"):
        gain = said[name].gain
        low, high = gain.interval
        shown = (
            rf"^{name} +{re.escape(f'{gain.estimate.value:+.3f} [{low:+.3f}, {high:+.3f}]')} .* expl\."
        )
        assert re.search(shown, table, re.MULTILINE)
    assert re.search(r"^everywhere .*, general .*○ ○ ✓ ", table, re.MULTILINE)
    assert re.search(r"^only_x .*⚠ \+0\.\d+ +○ ○ ✗ ", table, re.MULTILINE)
    assert re.search(r"^⚠ only_x: its gain leans toward x", table, re.MULTILINE)
    assert re.search(r"^seller +x +y \[T\]", text, re.MULTILINE)
    assert "[T] y, training family: oak" in text


def test_a_declared_gain_shows_holms_p(trained):
    contrast = Contrast(plus=("everywhere",), minus=("a_base_with_a_long_name",))
    analysis = trained.design.analysis.model_copy(update={"contrasts": (contrast,)})
    declared = replace(trained, design=trained.design.model_copy(update={"analysis": analysis}))
    text = printed(board(declared), said=verdicts(declared))
    assert re.search(r"^everywhere .*< 0\.001 Holm", text, re.MULTILINE)
    assert re.search(r"^only_x .*< 0\.001 expl\.", text, re.MULTILINE)


def test_guards_in_ascii_are_still_told_apart(trained):
    text = printed(board(trained), encoding="ascii", said=verdicts(trained))
    assert text.isascii()
    assert "+ pass, x fail, ? not judged; ! pooling alarm" in text
    assert re.search(r"^only_x .*! \+0\.\d+ +\? \? x ", text, re.MULTILINE)


def test_where_nobody_has_a_base_or_spoke_there_are_no_guards_to_show(results):
    assert "guards" not in printed(board(results), said=verdicts(results))
