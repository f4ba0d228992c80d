"""The exported page: it stands alone, says what the record says, and shows hostile texts as texts."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.store import Store
from leaderboard import comparison, wording
from leaderboard.export import report
from leaderboard.inference.contrasts import asked, family
from scenarios.scenario import Role
from tests.leaderboard.browser import CHROMIUM, FLAGS, MARKS
from tests.leaderboard.hostile import CONTROL, FORMULA, MARKUP, play_hostile
from tests.leaderboard.tournament import make_design, play_into
from tests.leaderboard.trained import play_trained

VOID_ELEMENTS = {"meta", "br", "img", "link", "input", "hr"}
REFERENCES = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"}


class Parsed(HTMLParser):
    """What a page consists of. Raises AssertionError where elements are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.references, self.ids, self.handlers = set(), [], [], []
        self.texts, self.styles, self._open = [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        for name, value in attrs:
            if name in REFERENCES:
                self.references.append(value)
            if name == "id":
                self.ids.append(value)
            if name.startswith("on"):
                self.handlers.append((tag, name))
            if name == "style":
                self.styles.append(value)
        if tag not in VOID_ELEMENTS:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID_ELEMENTS:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        (self.styles if self._open[-1:] == ["style"] else self.texts).append(data)


def write(db, out, *words):
    line = ["export", "--format", "html", "--out", str(out), "--db", str(db), *words]
    done = CliRunner().invoke(app, line, env={"ARENA_DB": None})
    assert done.exit_code == 0, f"{done.output}\n{done.exception}"
    return out.read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def trained(folder):
    """A tournament with bases, arms, alarms and guards: its database and its page."""
    play_trained(folder / "trained.db", scenarios=6, infeasible=1)
    return folder / "trained.db", write(folder / "trained.db", folder / "trained.html")


@pytest.fixture(scope="module")
def hostile(folder):
    play_hostile(folder / "hostile.db")
    return folder / "hostile.db", write(folder / "hostile.db", folder / "hostile.html")


def test_the_page_refers_to_nothing_and_runs_nothing(trained, hostile):
    for _, text in (trained, hostile):
        page = Parsed(text)
        assert page.elements.isdisjoint({"script", "iframe", "object", "embed", "link", "img", "form"})
        assert page.handlers == []
        assert page.references
        assert all(reference.startswith("#") for reference in page.references)
        assert {reference[1:] for reference in page.references} <= set(page.ids)
        assert len(set(page.ids)) == len(page.ids)
        assert not [style for style in page.styles if "url(" in style or "@import" in style]
        assert "default-src 'none'" in text


def test_it_says_what_the_record_says(trained):
    db, text = trained
    shown = " ".join("".join(Parsed(text).texts).split())
    with Store.open(str(db), create=False) as store:
        stored = store.design()
        results = store.results(stored.design)
        found = report.gather(store, stored)
    declared = family(results)
    assert len(declared) == 9
    for one in declared:
        assert f"{comparison.sentence(one)}. confirmatory" in shown
        assert f"{comparison.held_out_sentence(one)}. confirmatory" in shown
    assert (
        f"Declared contrasts detectable after Holm: {sum(c.detectable for c in declared)} of 9" in shown
    )
    for row in found.board.rows:
        verdict = found.verdicts[row.player.version]
        assert f"{wording.score(row.open.pooled)} {wording.interval(row.open.pooled)}".replace(
            " ", ""
        ) in shown.replace(" ", "")
        if verdict.split.base:
            assert verdict.split.why in shown
        for guard in verdict.guards:
            assert f"limit {guard.limit:.2f} (ours)" in shown
    assert f"revision {results.revision}" in shown
    assert stored.design.hash in shown
    assert f"frozen {wording.when(stored.created_at)}" in shown
    assert "3 of 3 arms tried from 2B base" in shown
    assert "of a family that arms were trained against" in shown
    assert "Nothing is logged." in shown
    assert text.count("<svg") == 3


def test_the_same_record_gives_the_same_page(trained, folder):
    db, text = trained
    assert write(db, folder / "again.html") == text


def test_declared_contrasts_over_reused_matches_are_called_exploratory(trained):
    db, _ = trained
    with Store.open(str(db), create=False) as store:
        found = report.gather(store, store.design())
    stale = replace(found.results, fresh_M=np.zeros_like(found.results.fresh_M))
    again = replace(found, results=stale, contrasts=asked(stale))
    shown = " ".join("".join(Parsed(report.page(again)).texts).split())
    assert "9 of the 9 rest on reused matches: exploratory." in shown
    assert "(exploratory: reuses" in shown
    assert ". confirmatory" not in shown


def test_declared_contrasts_that_nobody_played_are_called_so(trained):
    db, _ = trained
    with Store.open(str(db), create=False) as store:
        found = report.gather(store, store.design())
    empty = found.results.where(np.zeros(len(found.results.seller_M), bool))
    again = replace(found, results=empty, contrasts=asked(empty))
    shown = " ".join("".join(Parsed(report.page(again)).texts).split())
    assert "detectable after Holm: 0 of 9. 9 of the 9 not played." in shown
    assert "no cell was completed by all of its agents. not played" in shown
    assert ". confirmatory" not in shown
    assert "rest on reused matches" not in shown


def test_hostile_texts_stay_texts(hostile):
    _, text = hostile
    shown = "".join(Parsed(text).texts)
    for name in (FORMULA, MARKUP, wording.visible(CONTROL), "<img src=http://evil.example>", "@SUM(1)"):
        assert name in shown
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert MARKUP not in text
    assert "(action leak, opener)" in shown


def test_buyers_have_a_page_without_contrasts(hostile, folder):
    db, _ = hostile
    text = write(db, folder / "buyers.html", "--role", "buyer")
    page = Parsed(text)
    assert {"board", "held-out", "deviations", "design", "methods", "made"} <= set(page.ids)
    assert not {"contrasts", "guards"} & set(page.ids)
    assert "The board of buyers" in "".join(page.texts)
    assert "--role buyer" in "".join(page.texts)


@pytest.mark.parametrize("played", [0, 1, 3], ids=["empty", "one scenario", "half"])
def test_empty_and_half_played_designs_have_a_page(tmp_path, played):
    path = tmp_path / "arena.db"
    design = make_design(("boulware", "logroller"), scenarios=6)
    gone = design.sellers[1].version
    play_into(
        path,
        design,
        skip=lambda place: place.number >= played or (place.seller_version == gone and place.number > 1),
    )
    page = Parsed(write(path, tmp_path / "x.html"))
    shown = "".join(page.texts)
    assert f"arena run-tournament --design {design.hash}" in shown
    assert "No contrast was declared before play" in shown
    assert ("No agent has a score yet" in shown) == (played == 0)
    assert ("no match was played yet" in shown) == (played == 0)
    assert str(tmp_path) not in shown


def test_a_role_without_held_out_domains_has_no_such_section(tmp_path):
    path = tmp_path / "arena.db"
    play_into(path, make_design(("boulware",), ("linear",), domains=1, held_out=0, scenarios=2))
    with Store.open(str(path)) as store:
        text = report.page(report.gather(store, store.design(), Role.SELLER))
    assert "held-out" not in Parsed(text).ids


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def in_browser(function):
    for mark in MARKS:
        function = mark(function)
    return function


@in_browser
@pytest.mark.parametrize("which", ["trained", "hostile"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_it_opens_from_a_file_with_no_complaint(folder, browser, which, width, scheme, request):
    request.getfixturevalue(which)
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(30_000)
    complaints, asked = [], []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda sent: asked.append(sent.url))
    page.goto((folder / f"{which}.html").as_uri())
    assert asked == [(folder / f"{which}.html").as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert contrast(paper, ink) > 4.5
    box = page.locator("svg").first.bounding_box()
    assert box["width"] > 300
    page.get_by_role("link", name="Contrasts").click()
    assert page.evaluate("location.hash") == "#contrasts"
    assert complaints == []
    page.close()


def contrast(one, other):
    """Return the contrast ratio of two CSS colours (WCAG 2.2, 1.4.3)."""

    def luminance(colour):
        channels = [int(part) / 255 for part in colour.strip("rgb()").split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
