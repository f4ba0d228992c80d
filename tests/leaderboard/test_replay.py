"""A match made ready to be read, and that no text in it is ever executed."""

from html.parser import HTMLParser

import pytest

from agents.agent import UNNAMED, ActionKind, Usage
from arena.play import Attempt, Turn
from arena.protocol import Fault
from arena.store import Filter, Store
from leaderboard import dialogue, markup
from leaderboard.figures import match as figures
from leaderboard.replay import chip, filled, replay, transcript, turns_content
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.frontier import frontier
from scenarios.scenario import Role, Split
from tests.leaderboard.tournament import make_design, play_into

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</div></details><h1>mine</h1>",
    "[click](javascript:alert(1)) **bold** $x^2$ `code`",
    "\x1b[2J\x07\x00\ud800 \u202egnp.exe",
    "&lt;b&gt; &amp;",
]


@pytest.fixture(scope="module")
def scenario():
    return draw(bundled()["car_sale"], Split.EVAL, 0)


def turns_of(scenario, text="hello"):
    first = tuple(len(term.options) - 1 for term in scenario.terms)
    second = (0, *(UNNAMED for _ in scenario.terms[1:]))
    bad = Attempt(text, Fault.NOT_JSON, Usage(1, 2, None, 0.1))
    return [
        Turn(Role.SELLER, ActionKind.PROPOSE, first, text, text),
        Turn(Role.BUYER, ActionKind.PROPOSE, second, text, "", (bad, Attempt(text, None, None))),
        Turn(Role.SELLER, ActionKind.TALK, None, text, ""),
        Turn(Role.BUYER, ActionKind.ACCEPT, None, "", ""),
        Turn(Role.SELLER, None, None, "", "", (bad, bad, bad)),
    ]


class Reader(HTMLParser):
    """Collects the tags and the text that a browser would see."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.words, self.depth = set(), set(), [], 0
        self.styles: dict[str, list[str]] = {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.depth += tag not in ("br",)
        given = dict(attrs)
        if "style" in given:
            self.styles.setdefault(str(given["class"]).split()[0], []).append(str(given["style"]))

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_model_says_is_shown_and_not_executed(scenario, text):
    html = dialogue.dialogue(turns_of(scenario, text), scenario, dict.fromkeys(Role, text))
    read = Reader(html)
    assert read.tags <= {"div", "span", "details", "summary", "pre", "b"}
    assert read.attributes <= {"class"}
    assert read.depth == 0, "every tag is closed by us"
    said = "".join(read.words)
    assert said.count(markup.wording.visible(text)) >= 5
    assert not set("\x1b\x07\x00\ud800\u202e") & set(html)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_it_as_it_stands(text):
    escaped = markup.plain(text)
    for special in "*_`[]<>$":
        assert escaped.count(special) == escaped.count("\\" + special)


def test_a_link_carries_its_parameters_whole():
    html = markup.link("a<b", "match", key='x&view=board"', design=None)
    assert html == ('<a href="?view=match&amp;key=x%26view%3Dboard%22" target="_self">a&lt;b</a>')


def test_offers_have_their_defaults_filled_in_and_their_worth(scenario):
    turns = turns_of(scenario)
    found = replay(scenario, turns, None)
    assert [(offer.turn, offer.role) for offer in found.offers] == [(1, Role.SELLER), (2, Role.BUYER)]
    package = (0, *scenario.default[1:])
    assert filled(turns[1].offer, scenario) == package
    assert found.offers[1].seller == scenario.seller.utility(package)
    assert found.offers[1].buyer == scenario.buyer.utility(package)
    assert "deal" not in found.named_points


def test_terms_add_up_to_what_the_deal_is_worth(scenario):
    package = frontier(scenario).package(3)
    found = replay(scenario, [], package)
    assert sum(line.seller_got for line in found.terms) == pytest.approx(
        scenario.seller.utility(package)
    )
    assert sum(line.buyer_most for line in found.terms) == pytest.approx(1.0)
    assert found.named_points["deal"] in found.frontier
    for name in ("Nash", "Kalai-Smorodinsky"):
        assert found.named_points[name] in found.frontier
        seller, buyer = found.named_points[name]
        assert seller >= found.walk_away[0]
        assert buyer >= found.walk_away[1]
    for line, term in zip(found.terms, scenario.terms, strict=True):
        assert {line.agreed, line.seller_wants, line.buyer_wants} <= set(term.options)


def test_without_a_zone_of_agreement_there_are_no_reference_points():
    scenario = draw(bundled()["car_sale"], Split.EVAL, 0, feasible=False)
    found = replay(scenario, turns_of(scenario), None)
    assert found.named_points == {}
    assert figures.utility_plane(found).to_dict()["layer"]


def test_every_kind_of_turn_has_its_words(scenario):
    words = [chip(turn, scenario) for turn in turns_of(scenario)]
    assert words[0].startswith("proposes (seller ")
    assert words[2:] == ["talks", "accepts", "no valid action"]


def test_the_utility_plane_holds_every_offer(scenario):
    figure = figures.utility_plane(replay(scenario, turns_of(scenario), scenario.default)).to_dict()
    rows = [row for data in figure["datasets"].values() for row in data]
    assert sum("offer" in row for row in rows) == 2
    assert {row["name"] for row in rows if "name" in row} == {"Nash", "Kalai-Smorodinsky", "deal"}


def test_two_transcripts_stand_side_by_side_turn_by_turn(tmp_path):
    path = tmp_path / "arena.db"
    play_into(path, make_design(scenarios=1, domains=2))
    with Store.open(str(path)) as store:
        design = store.design().design
        first, second = store.matches(Filter(design=design))[:2]
        pair = [transcript(store, design, match) for match in (first, second)]
    read = Reader(dialogue.side_by_side(*pair))
    assert read.depth == 0
    said = "".join(read.words)
    for match, column in zip((first, second), ("ba-first", "ba-second"), strict=True):
        assert said.count(match.key) == 1
        # A block a turn, one above them and one below.
        places = read.styles[column]
        assert places == [f"grid-row:{row + 1}" for row in range(match.turns + 2)]


def test_a_short_transcript_is_shown_whole_and_a_long_one_cut(scenario):
    names = dict.fromkeys(Role, "someone")
    short, long = "x" * 50_000, "y" * (dialogue.SHOWN + 1)
    assert not dialogue.cut(turns_of(scenario, short))
    assert dialogue.dialogue(turns_of(scenario, short), scenario, names).count(short) == 9
    assert dialogue.cut(turns_of(scenario, long))
    html = dialogue.dialogue(turns_of(scenario, long), scenario, names)
    assert f"of {len(long):,} characters left out" in html
    assert len(html) < 1.2 * dialogue.SHOWN


def test_a_turn_that_states_private_numbers_is_marked(scenario):
    stated = f"With no deal I get {100 * scenario.seller.walk_away:g} points."
    turns = [
        Turn(Role.SELLER, ActionKind.TALK, None, stated, ""),
        Turn(Role.BUYER, ActionKind.TALK, None, stated, ""),
        Turn(Role.SELLER, ActionKind.TALK, None, "I would rather not say.", stated),
    ]
    assert scenario.buyer.walk_away != scenario.seller.walk_away
    first, *others = dialogue.dialogue(turns, scenario, dict.fromkeys(Role, "x")).split('"ba-turn')[1:]
    assert "⚠ states its own private numbers" in first
    assert not any("private numbers" in other for other in others)
    content = turns_content(turns, scenario)
    assert [turn["discloses"] for turn in content] == [True, False, False]
