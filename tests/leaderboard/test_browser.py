"""The leaderboard in a real browser: `arena leaderboard`, then board, row, matches, transcript."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leaderboard.browser import MARKS, browsing, serving, settle
from tests.leaderboard.tournament import make_design, play_into

pytestmark = MARKS


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "arena.db"
    play_into(path, make_design(scenarios=5))
    return path


@pytest.fixture(scope="module")
def server(path):
    """`arena leaderboard` on a small database; ended by Ctrl-C."""
    with serving(path, signal.SIGINT) as url:
        yield url


@pytest.fixture
def page(server):
    with browsing(server) as opened:
        yield opened


def test_from_the_board_to_a_transcript_and_back(page, server):
    from playwright.sync_api import expect

    expect(page.locator(".ba-table").first.locator("tbody tr")).to_have_count(3)
    expect(page.locator("svg.marks")).to_be_visible()
    settle(page)
    page.locator(".ba-table").first.locator("tbody tr", has_text="logroller").get_by_role("link").click()
    expect(page.get_by_text("30 matches; 1 to 30 shown")).to_be_visible()
    assert "view=matches" in page.url
    listed = page.url

    settle(page)
    page.get_by_test_id("stSelectbox").filter(has_text="Ending").click()
    page.get_by_role("option", name="agreement").click()
    page.wait_for_url(re.compile("ending=agreement"))
    expect(page.get_by_text("30 matches;")).to_be_hidden()
    expect(page.get_by_role("cell", name="deadline")).to_have_count(0)
    settle(page)
    page.go_back()
    page.wait_for_url(listed)
    expect(page.get_by_text("30 matches; 1 to 30 shown")).to_be_visible()

    settle(page)
    page.locator(".ba-table tbody a").first.click()
    expect(page.locator(".ba-turn").first).to_be_visible()
    expect(page.locator("svg.marks")).to_be_visible()
    expect(page.locator(".ba-end")).to_contain_text("seller 0.")
    turns, address = page.locator(".ba-turn").count(), page.url
    page.reload()
    expect(page.locator(".ba-turn")).to_have_count(turns)
    assert page.url == address
    page.go_back()
    expect(page.get_by_text("30 matches; 1 to 30 shown")).to_be_visible()
    page.go_back()
    expect(page.locator("svg.marks")).to_be_visible()


def test_the_figure_leads_to_a_sellers_matches_and_the_switch_to_held_out_domains(page, server):
    from playwright.sync_api import expect

    page.locator("svg.marks path[aria-roledescription='point']").first.wait_for()
    settle(page)
    page.get_by_test_id("stSelectbox").filter(has_text="Panel").click()
    page.get_by_role("option", name="held-out domains").click()
    page.wait_for_url(re.compile("panel=held_out"))
    expect(page.get_by_text("Held out, reported apart")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Held out, reported apart")).to_be_visible()
    page.goto(server)
    dot = page.locator("svg.marks path[fill='#0072B2'][aria-roledescription='point']").first
    dot.wait_for()
    settle(page)
    dot.click()
    page.wait_for_url(re.compile("view=matches.*seller="))


def test_a_bad_link_is_a_sentence(page, server):
    from playwright.sync_api import expect

    page.goto(f"{server}/?view=match&key=zz")
    expect(page.get_by_test_id("stAlert")).to_contain_text("No match")
    page.get_by_role("link", name="To the board").click()
    expect(page.locator(".ba-table").first.locator("tbody tr")).to_have_count(3)


def test_a_taken_port_is_told_and_sigterm_ends_the_server_too(path):
    with serving(path, signal.SIGTERM) as url:
        port = url.rpartition(":")[2]
        command = [Path(sys.executable).parent / "arena", "leaderboard", "--no-browser"]
        again = subprocess.run(
            [*command, "--port", port, "--db", str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert again.returncode == 2
        assert f"port {port} is taken" in again.stderr
