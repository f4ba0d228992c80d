"""The leaderboard in a real browser: `arena leaderboard`, then board, row, matches, transcript."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from arena.store import Store
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


def test_a_step_back_in_the_first_moments_of_a_page_is_followed(page, server):
    from playwright.sync_api import expect

    settle(page)
    page.get_by_test_id("stSelectbox").filter(has_text="Panel").click()
    page.get_by_role("option", name="held-out domains").click()
    page.wait_for_url(re.compile("panel=held_out"))
    held_out = page.get_by_text("Held out, reported apart")
    expect(held_out).to_be_visible()
    settle(page)
    with page.expect_websocket() as connection:
        page.reload(wait_until="commit")
    connection.value.wait_for_event("framesent")  # the page is asked for, and not there yet
    page.evaluate("history.back()")
    page.wait_for_function("!location.search.includes('held_out')")
    expect(page.get_by_role("combobox", name="Panel")).to_have_value("open domains")
    expect(held_out).to_be_hidden()
    expect(page.locator(".ba-table").first.locator("tbody tr")).to_have_count(3)


def test_filters_stand_in_the_address_and_survive_a_refresh_and_the_table_is_downloaded(page, server):
    from playwright.sync_api import expect

    settle(page)
    page.get_by_test_id("stSelectbox").filter(has_text="First turn").click()
    page.get_by_role("option", name="the buyer").click()
    page.wait_for_url(re.compile("opener=buyer"))
    expect(page.get_by_test_id("stAlert")).to_contain_text("exploratory")
    settle(page)
    page.get_by_test_id("stMultiSelect").click()
    option = page.get_by_role("option").nth(1)  # the first one selects all
    name = option.inner_text()
    option.click()
    page.wait_for_url(re.compile(f"domains={name}"))
    expect(page.get_by_test_id("stAlert")).to_contain_text("1 domain, the buyer opening")
    settle(page)
    first = page.locator(".ba-table").first.inner_text()
    page.reload()
    expect(page.get_by_test_id("stAlert")).to_contain_text("1 domain, the buyer opening")
    settle(page)
    assert page.locator(".ba-table").first.inner_text() == first
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").first.click()
    rows = json.loads(download.value.path().read_text())
    assert len(rows) == 3
    assert all(f"{row['score']:.3f}" in first for row in rows)


def test_the_navigation_keeps_the_design_and_a_heading_leads_to_its_meaning(page, server):
    from playwright.sync_api import expect

    settle(page)
    page.locator(".ba-help").first.click()
    expect(page.locator("dl.ba-term")).to_contain_text("rank interval")
    address = page.url
    assert "term=" in address
    page.goto(server)
    design = page.locator("code").first.inner_text()
    page.goto(f"{server}/?design={design}")
    settle(page)
    page.get_by_role("link", name="How to read this").first.click()
    page.wait_for_url(re.compile(f"view=reading.*design={design}"))
    expect(page.locator("[aria-current=page]")).to_have_text("How to read this")


def test_rows_of_the_figure_keep_their_height_and_a_phone_shows_the_dots_at_first(tmp_path):
    path = tmp_path / "two.db"
    names = ("boulware", "logroller")
    play_into(path, make_design(sellers=names, scenarios=2, domains=1, held_out=0))
    with serving(path, signal.SIGINT) as url:
        for width in (1400, 390):
            with browsing(url, viewport={"width": width, "height": 844}) as page:
                labels = page.locator("svg.marks .role-axis-label text")
                middles = []
                for name in names:
                    box = labels.filter(has_text=name).bounding_box()
                    middles.append(box["y"] + box["height"] / 2)
                assert abs(middles[0] - middles[1]) == pytest.approx(36, abs=2)
                dots = page.locator("svg.marks path[fill='#0072B2'][aria-roledescription='point']")
                assert dots.count() == 2
                assert all(dot.bounding_box()["x"] < width - 20 for dot in dots.all())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_tables_scroll_inside_their_box(server, scheme):
    from playwright.sync_api import expect

    with browsing(server, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
        expect(page.locator("svg.marks")).to_be_visible()
        settle(page)
        inside = page.evaluate(
            "[...document.querySelectorAll('.ba-wide, [class*=st-key-ba-figure]')]"
            ".every(box => box.getBoundingClientRect().right <= 391)"
        )
        assert inside
        assert page.locator(".ba-wide").first.evaluate("box => box.scrollWidth > box.clientWidth")
        body = page.locator("[data-testid=stMain]")
        assert body.evaluate("box => box.scrollWidth <= box.clientWidth"), "the page itself does not"


def test_the_board_follows_a_record_that_grows_and_keeps_its_filter(path):
    """A tournament that is under way in another process: the open page shows what was played since."""
    from playwright.sync_api import expect

    grown = path.with_name("grown.db")
    plan = make_design(scenarios=5, seed=1)
    play_into(grown, plan, skip=lambda place: place.number % 2)
    with serving(grown, signal.SIGINT) as url, browsing(url) as page:
        page.goto(f"{url}/?panel=held_out")
        expect(page.get_by_text("54 of 90 matches scored")).to_be_visible()
        settle(page)
        play_into(grown, plan, skip=lambda place: not place.number % 2)
        expect(page.get_by_text("90 of 90 matches scored")).to_be_visible(timeout=60_000)
        expect(page.get_by_text("Held out, reported apart")).to_be_visible()
        assert "panel=held_out" in page.url


def test_other_pages_follow_a_record_that_grows(path):
    from playwright.sync_api import expect

    grown = path.with_name("grown too.db")
    plan = make_design(scenarios=5, seed=1)
    play_into(grown, plan, skip=lambda place: place.number % 2)
    said = {"compare": ".ba-facts", "buyers": ".ba-table", "guards": ".ba-table"}
    with serving(grown, signal.SIGINT) as url, browsing(url) as page:
        before = {}
        for view, what in said.items():
            tab = page.context.browser.new_page()
            tab.goto(f"{url}/?view={view}")
            shown = tab.locator(what).first
            expect(shown).to_be_visible(timeout=60_000)
            settle(tab)
            before[view] = shown, shown.text_content()
        play_into(grown, plan, skip=lambda place: not place.number % 2)
        for shown, text in before.values():
            assert text
            expect(shown).not_to_have_text(text, timeout=60_000)


def test_an_empty_record_shows_the_board_once_a_tournament_starts_and_says_when_it_is_gone(tmp_path):
    from playwright.sync_api import expect

    path = tmp_path / "Live.db"
    Store.open(str(path)).close()
    with serving(path, signal.SIGINT) as url, browsing(url) as page:
        expect(page.get_by_test_id("stAlert")).to_contain_text("Live.db holds no design yet")
        settle(page)
        play_into(path, make_design(scenarios=2))
        expect(page.get_by_text("36 of 36 matches scored")).to_be_visible()
        settle(page)
        path.unlink()
        expect(page.get_by_test_id("stAlert")).to_contain_text("here is no database at")
        expect(page.get_by_text("36 of 36 matches scored")).to_be_hidden()


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
