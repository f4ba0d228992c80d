"""The leaderboard in a real browser: `arena leaderboard`, then board, row, matches, transcript."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.leaderboard.tournament import make_design, play_into

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, seconds: float = 60) -> None:
    opener = build_opener(ProxyHandler({}))
    for _ in range(int(seconds * 5)):
        try:
            opener.open(url, timeout=2).close()
        except (URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"nothing answers at {url}")


def stop(process, how: signal.Signals, port: int) -> None:
    """End `arena leaderboard`: it exits cleanly, and its server with it."""
    process.send_signal(how)
    assert process.wait(20) == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the server still answers"


@contextmanager
def serving(path: Path, how: signal.Signals):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [Path(sys.executable).parent / "arena", "leaderboard", "--no-browser"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--db", str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert url in process.stdout.readline()
        wait_for(f"{url}/_stcore/health")
        yield url
    finally:
        stop(process, how, port)


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
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # a machine may be busy
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1200})
        page.set_default_timeout(30_000)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server)
        yield page
        browser.close()
    assert not complaints
    local = re.compile(rf"(http|ws)://{re.escape(server.partition('//')[2])}/|data:|blob:")
    assert [url for url in asked if not local.match(url)] == [], "the page asks nobody else"


def settle(page) -> None:
    """Wait until the page is drawn to its end: Streamlit loses clicks and steps back before that."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


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
    page.get_by_test_id("stSelectbox").filter(has_text="Domains").click()
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
