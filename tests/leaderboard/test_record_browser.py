"""The pages of the record in a real browser: search, arrow keys, downloads, phone width."""

import json
import re
import signal

import pytest

from arena.store import Filter, Store
from tests.leaderboard.browser import MARKS, browsing, serving, settle
from tests.leaderboard.trained import play_trained

pytestmark = MARKS
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A tournament of arms, with a training run."""
    path = tmp_path_factory.mktemp("record") / "arena.db"
    play_trained(path, domains=2, scenarios=4)
    with Store.open(str(path)) as store:
        store.add_training_run("first", {"learning_rate": 1e-6})
        store.add_training_steps("first", [(n, {"reward": n / 9, "kl": n / 99}) for n in range(1, 9)])
    return path


@pytest.fixture(scope="module")
def server(path):
    with serving(path, signal.SIGINT) as url:
        yield url


@pytest.fixture
def page(server):
    with browsing(server) as opened:
        yield opened


def test_search_pages_and_the_download_of_what_was_found(page, server, path):
    from playwright.sync_api import expect

    page.get_by_role("link", name="Matches").click()
    expect(page.get_by_text("208 matches; 1 to 100 shown")).to_be_visible()
    expect(page.get_by_role("button", name="Next")).to_be_enabled()
    settle(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("page=2"))
    expect(page.get_by_text("101 to 200 shown")).to_be_visible()
    page.reload()
    expect(page.get_by_text("101 to 200 shown")).to_be_visible()
    settle(page)
    box = page.get_by_placeholder("a key, a scenario, an ending's detail")
    box.fill("car_sale/eval/2")
    box.press("Enter")
    page.wait_for_url(re.compile("search=car_sale"))
    expect(page.get_by_text("26 matches; 1 to 26 shown")).to_be_visible()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    rows = json.loads(download.value.path().read_text("utf-8"))
    with Store.open(str(path)) as store:
        found = store.matches(Filter(text="car_sale/eval/2"))
    assert [row["key"] for row in rows] == [match.key for match in found]


def test_the_next_seller_is_an_arrow_key_away_and_the_address_carries_it(page, server, path):
    from playwright.sync_api import expect

    with Store.open(str(path)) as store:
        first = store.matches(Filter(domains=["car_sale"]))[0]
    page.goto(f"{server}/?view=match&key={first.key}")
    expect(page.get_by_text(f"key {first.key}")).to_be_visible()
    expect(page.locator("svg.marks")).to_be_visible()
    expect(page.get_by_role("button", name="next:")).to_be_enabled()
    settle(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: first.key not in url)
    expect(page.get_by_text(f"key {first.key}")).to_be_hidden()
    key = re.search("key=([0-9a-f]{32})", page.url)[1]
    page.reload()
    expect(page.get_by_text(f"key {key}")).to_be_visible()
    with Store.open(str(path)) as store:
        other = store.match(key)
    assert (other.scenario_key, other.buyer_version) == (first.scenario_key, first.buyer_version)
    settle(page)
    page.go_back()
    expect(page.get_by_text(f"key {first.key}")).to_be_visible()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="The whole match as JSON").click()
    assert json.loads(download.value.path().read_text("utf-8"))["key"] == first.key


def test_from_a_scenario_to_its_matches_and_from_a_run_to_a_design(page, server):
    from playwright.sync_api import expect

    page.get_by_role("link", name="Scenarios").click()
    expect(page.locator("svg.marks")).to_have_count(4)
    settle(page)
    page.get_by_test_id("stSelectbox").filter(has_text="Scenario").last.click()
    page.get_by_role("option", name="2", exact=True).click()
    page.wait_for_url(re.compile("scenario=2"))
    settle(page)
    page.get_by_role("link", name="its matches").click()
    expect(page.get_by_text("26 matches; 1 to 26 shown")).to_be_visible()
    page.get_by_role("link", name="Training runs").click()
    expect(page.locator("svg.marks")).to_have_count(2)
    page.get_by_role("link", name="Designs").click()
    expect(page.get_by_text("Guards and limits (ours)")).to_be_visible()
    page.get_by_role("link", name="its board").click()
    expect(page.locator(".ba-table").first).to_be_visible()


def test_no_page_is_wider_than_a_phone(server, path):
    with Store.open(str(path)) as store:
        key = store.matches(Filter())[0].key
    with browsing(server, **PHONE) as page:
        for view in ("matches", f"match&key={key}", "scenarios", "runs", "designs"):
            page.goto(f"{server}/?view={view}")
            page.locator("[data-testid=stMain] .ba-table, svg.marks").first.wait_for()
            settle(page)
            box = "document.querySelector('[data-testid=stMain]')"
            assert page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth"), view
