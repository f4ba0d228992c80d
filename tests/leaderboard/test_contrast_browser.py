"""Compare, Buyers, Scaling, Guards in a real browser: choices, steps back, downloads, a phone."""

import json
import re
import signal

import pytest

from arena.store import Store
from leaderboard.inference.gaps import widest
from leaderboard.inference.splits import splits
from tests.leaderboard.browser import MARKS, browsing, serving, settle
from tests.leaderboard.trained import play_trained

pytestmark = MARKS
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("contrast") / "arena.db"
    play_trained(path, domains=3, scenarios=6)
    return path


@pytest.fixture(scope="module")
def server(path):
    with serving(path, signal.SIGINT) as url:
        yield url


@pytest.fixture(scope="module")
def results(path):
    with Store.open(str(path)) as store:
        return store.results(store.design().design)


@pytest.fixture
def page(server):
    with browsing(server) as opened:
        yield opened


def choose(page, label, option):
    """Choose from a box; a list that the page's last movements have shut is opened again."""
    from playwright.sync_api import TimeoutError

    settle(page)
    wanted = page.get_by_role("option", name=option)
    for _ in range(4):
        page.get_by_test_id("stSelectbox").filter(has_text=label).first.click()
        try:
            wanted.click(timeout=5_000)
        except TimeoutError:
            continue
        return
    raise AssertionError(f"{label} offers no {option}")


def test_two_sellers_are_chosen_and_both_transcripts_read(page, server, results):
    from playwright.sync_api import expect

    versions = {player.name: player.version for player in results.design.sellers}
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".ba-claim")).to_contain_text("base")
    settle(page)
    choose(page, "Seller", "12B 3e-6")
    page.wait_for_url(re.compile(f"a={versions['12B 3e-6']}"))
    claim = page.locator(".ba-claim")
    expect(claim).to_contain_text("12B 3e-6")
    expect(claim).to_contain_text("12B base")
    expect(page.locator("th", has_text="12B 3e-6")).to_be_visible()
    expect(page.locator("svg.marks")).to_have_count(4)
    chosen = page.url
    settle(page)
    key = widest(results, versions["12B 3e-6"], versions["12B base"])[0].key_a
    expect(page.locator(f"a[href*='{key}']")).to_be_visible()
    choose(page, "Read both transcripts of", re.compile("^1: "))
    page.wait_for_url(re.compile(f"cell={key}"))
    expect(page.locator(".ba-pair .ba-end")).to_have_count(2)
    page.reload()
    expect(page.locator(".ba-pair .ba-end")).to_have_count(2)
    settle(page)
    page.go_back()
    page.wait_for_url(chosen)
    expect(page.locator(".ba-pair")).to_have_count(0)
    settle(page)
    page.get_by_role("link", name="swap").click()
    expect(claim).to_contain_text("12B base")
    assert f"a={versions['12B base']}" in page.url


def test_a_cell_of_the_grid_opens_the_pairs_matches(page, server, results):
    from playwright.sync_api import expect

    page.goto(f"{server}/?view=buyers")
    cells = page.locator("svg.marks path[aria-roledescription='rect mark']")
    expect(cells).to_have_count(26)
    settle(page)
    cells.first.click(position={"x": 4, "y": 4})  # beside its figure, which leads there as well
    page.wait_for_url(re.compile("view=matches.*seller=.*buyer="))
    expect(page.get_by_text("18 matches; 1 to 18 shown")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Does a gain live on one buyer?")).to_be_visible()


def test_the_splits_are_downloaded_as_they_stand(page, server, results):
    page.goto(f"{server}/?view=buyers")
    settle(page)
    with page.expect_download() as download:
        page.locator("[class*=st-key-download-splits-]").get_by_role("button", name="JSON").click()
    rows = json.loads(download.value.path().read_text())
    expected = {arm.arm: arm for arm in splits(results) if arm.base}
    assert {row["agent"] for row in rows} == set(expected)
    for row in rows:
        assert row["gain"]["value"] == expected[row["agent"]].gain.value
        assert row["alarm"] == expected[row["agent"]].alarm


@pytest.mark.parametrize(
    ("view", "heading"),
    [
        ("compare", "Where the gain comes from"),
        ("buyers", "What the matches were like"),
        ("scaling", "learning rate"),
        ("guards", "Guards (ours)"),
    ],
)
def test_at_phone_width_nothing_runs_off_the_side(server, view, heading):
    from playwright.sync_api import expect

    with browsing(server, **PHONE) as page:
        page.goto(f"{server}/?view={view}")
        expect(page.get_by_text(heading).first).to_be_visible()
        expect(page.locator("svg.marks").first).to_be_visible()
        settle(page)
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= 390
