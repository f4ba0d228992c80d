"""Pages without a browser: opening one at an address, and reading what it says."""

import re
from html import unescape
from importlib.resources import files

from streamlit.testing.v1 import AppTest

APP = str(files("leaderboard") / "app.py")
SAYING = ("markdown", "caption", "info", "warning", "error", "subheader")


def visit(**parameters: str) -> AppTest:
    """Open the page of ARENA_DB's database at an address; no page may ever show a traceback."""
    test = AppTest.from_file(APP, default_timeout=60)
    for name, value in parameters.items():
        test.query_params[name] = value
    test.run()
    assert not test.exception
    return test


def visit_well(**parameters: str) -> AppTest:
    """Open a page at an address where nothing is wrong."""
    test = visit(**parameters)
    assert not test.error
    return test


def shown(test: AppTest) -> str:
    """Return all that a page says."""
    parts = [element.proto.body for element in test.get("html")]
    parts += [element.value for kind in SAYING for element in getattr(test, kind)]
    return "\n".join(part for part in parts if "<style>" not in part)


def links(test: AppTest, view: str) -> list[dict[str, str]]:
    """Return the parameters of a page's links to one view."""
    found = re.findall(r'href="\?([^"]*)"', shown(test))
    queries = [dict(p.split("=", 1) for p in unescape(query).split("&")) for query in found]
    return [query for query in queries if query["view"] == view]
