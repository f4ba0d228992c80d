"""A browser for the tests of pages: `arena leaderboard` on a database, and Chromium on its address."""

import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

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
MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
        # What it says that there is, is there.
        build_opener(ProxyHandler({})).open(f"{url}/_stcore/health", timeout=30).close()
        yield url
    finally:
        stop(process, how, port)


@contextmanager
def browsing(url: str, **context):
    """Open a browser at `url`; afterwards nothing was complained about, and nobody else was asked."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # a machine may be busy
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(**{"viewport": {"width": 1400, "height": 1200}} | context)
        page.set_default_timeout(30_000)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        yield page
        browser.close()
    assert not complaints
    local = re.compile(rf"(http|ws)://{re.escape(url.partition('//')[2])}/|data:|blob:")
    assert [url for url in asked if not local.match(url)] == [], "the page asks nobody else"


def settle(page) -> None:
    """Wait until the page is drawn to its end: Streamlit loses clicks and steps back before that."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
