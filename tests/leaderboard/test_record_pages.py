"""The pages of the record without a browser: matches, one match, and what leads from one to another."""

import json
import sqlite3
import time

import pytest
from streamlit.testing.v1 import AppTest

from agents.agent import ActionKind, Usage
from arena.play import Attempt, Turn
from arena.protocol import Fault
from arena.store import Filter, Store
from arena.transcript import encode
from leaderboard import dialogue
from leaderboard.views.matches import PAGE
from scenarios.scenario import Role
from tests.leaderboard.pages import links, shown
from tests.leaderboard.tournament import make_design, play_into

HOSTILE = "<script>alert(1)</script> **bold** \x1b[2J"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A database with a complete design, a withdrawn match, void attempts and a match full of faults."""
    path = tmp_path_factory.mktemp("record") / "arena.db"
    play_into(path, make_design(scenarios=8, infeasible=1))
    with Store.open(str(path)) as store:
        found = store.matches(Filter(domains=["car_sale"]))
        store.withdraw_match(found[3].key, "played <b>by mistake</b>")
    with sqlite3.connect(path) as raw:
        write = "UPDATE matches SET transcript = ?, seller_faults = 3 WHERE key = ?"
        raw.execute(write, (encode(spoken("hello", HOSTILE)), found[0].key))
        raw.execute("DELETE FROM packs")  # what was changed by hand is packed anew
        raw.execute("UPDATE state SET packed = -1")
        names = [row[1] for row in raw.execute("PRAGMA table_info(voids)") if row[1] != "attempt"]
        values = dict.fromkeys(names) | {"ending": "'provider_error'", "detail": "'HTTP 503 <i>'"}
        values["trouble"] = "'server'"
        chosen = ", ".join(values[name] or name for name in names)
        for attempt in (1, 2):
            raw.execute(
                f"INSERT INTO voids ({', '.join(names)}, attempt) SELECT {chosen}, {attempt} "
                "FROM matches WHERE key = ?",
                (found[1].key,),
            )
    raw.close()
    return path


def spoken(message: str, raw: str) -> list[Turn]:
    """Return turns with private reasoning, and faulty answers of the seller."""
    bad = Attempt(raw, Fault.NOT_JSON, Usage(1, 2, None, 0.1), "SECRET of a faulty answer")
    good = Attempt(raw, None, None)
    return [
        Turn(Role.SELLER, ActionKind.TALK, None, message, "SECRET of the seller", (bad, bad, bad, good)),
        Turn(Role.BUYER, ActionKind.WALK_AWAY, None, message, "", (good,)),
    ]


@pytest.fixture
def keys(path):
    with Store.open(str(path)) as store:
        return [match.key for match in store.matches(Filter(domains=["car_sale"], withdrawn=True))]


def listed(test: AppTest) -> list[str]:
    return [query["key"] for query in links(test, "match")]


def in_store(path, wanted: Filter, voids: bool = False) -> list[str]:
    with Store.open(str(path)) as store:
        return [match.key for match in store.matches(wanted, voids=voids)]


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ({"opener": "buyer", "domain": "car_sale"}, Filter(opener="buyer", domains=["car_sale"])),
        ({"faults": "yes"}, Filter(faulty=True)),
        ({"record": "withdrawn"}, Filter(only_withdrawn=True)),
        ({"search": "car_sale/eval/3"}, Filter(text="car_sale/eval/3")),
        ({"search": "car_sale/eval-infeasible", "ending": "deadline"},
         Filter(text="car_sale/eval-infeasible", ending="deadline")),
    ],
)  # fmt: skip
def test_the_address_filters_the_list(opened_well, path, address, wanted):
    found = in_store(path, wanted)
    assert found
    assert listed(opened_well(view="matches", **address)) == found


def test_void_attempts_have_a_list_of_their_own(opened_well, path, keys):
    test = opened_well(view="matches", record="void", search="http 503")
    assert [(q["key"], q["attempt"]) for q in links(test, "match")] == [(keys[1], "1"), (keys[1], "2")]
    assert "2 void attempts" in shown(test)
    assert "HTTP 503 &lt;i&gt;" in shown(test)


def test_typing_searches_and_the_address_carries_it(opened_well, keys):
    test = opened_well(view="matches", page="2")
    test.text_input[0].set_value(keys[0][:10]).run()
    assert test.query_params["search"] in (keys[0][:10], [keys[0][:10]])
    assert "page" not in test.query_params
    assert listed(test) == [keys[0]]
    test.text_input[0].set_value("").run()
    assert "search" not in test.query_params


def test_pages_of_the_list_follow_one_another(opened_well, path):
    whole = in_store(path, Filter())
    assert len(whole) > PAGE
    test = opened_well(view="matches")
    assert listed(test) == whole[:PAGE]
    test.button(key="page Next").click().run()
    assert test.query_params["page"] in ("2", ["2"])
    assert listed(test) == whole[PAGE : 2 * PAGE]
    assert test.button(key="page Last").disabled == (len(whole) <= 2 * PAGE)


def test_an_empty_list_says_what_to_do(opened_well):
    test = opened_well(view="matches", search="no such thing")
    assert "No match fits" in test.info[0].value
    assert any(set(query) == {"view", "design"} for query in links(test, "matches"))
    assert "No void attempt" in opened_well(view="matches", record="void", search="none").info[0].value


def test_all_that_the_filters_let_through_is_downloaded(path, monkeypatch):
    from leaderboard.views import matches

    monkeypatch.setenv("ARENA_DB", str(path))
    rows = []
    monkeypatch.setattr(matches, "download", lambda label, given, name: rows.extend(given()))
    with Store.open(str(path)) as store:
        design = store.design().design
        names = {role: design.names(role) for role in Role}
        found = matches._rows(store, Filter(design=design), False, names)
        assert [row["key"] for row in found] == in_store(path, Filter(design=design))
        assert {row["seller"] for row in found} == {"boulware", "logroller", "random"}


def test_a_match_tells_its_three_channels_apart_and_keeps_every_attempt(opened_well, keys):
    page = shown(opened_well(view="match", key=keys[0]))
    assert page.count('<details class="ba-private">') == 4, "the seller's turn and its faulty answers"
    assert page.count('<details class="ba-fault">') == 3
    assert page.count('<details class="ba-raw">') == 2
    assert "⚠ 3 faulty answers" in page
    assert page.count("SECRET") == 4
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 5
    assert "\x1b" not in page


def test_withdrawn_matches_and_void_attempts_say_what_they_are(opened_well, path, keys):
    assert "played &lt;b&gt;by mistake&lt;/b&gt;" in shown(opened_well(view="match", key=keys[3]))
    scored = opened_well(view="match", key=keys[1])
    assert [q["attempt"] for q in links(scored, "match") if "attempt" in q] == ["1", "2"]
    void = opened_well(view="match", key=keys[1], attempt="1")
    assert "<b>Void attempt 1</b>" in shown(void)
    assert {q.get("attempt") for q in links(void, "match")} == {"2", None}
    missing = opened_well(view="match", key=keys[1], attempt="9")
    assert "no void attempt '9'" in missing.warning[0].value


def test_the_same_cell_by_the_next_seller_is_one_press_away(opened_well, path, keys):
    with Store.open(str(path)) as store:
        design = store.design().design
        match = store.match(keys[5])
        cell = Filter(
            design=design,
            withdrawn=True,
            buyers=[match.buyer_version],
            scenario_key=match.scenario_key,
            opener=match.opener,
            replicate=match.replicate,
        )
        order = [player.version for player in design.sellers]
        others = sorted(store.matches(cell), key=lambda m: order.index(m.seller_version))
    assert len(others) == 3
    test, place = opened_well(view="match", key=match.key), others.index(match)
    for step in (1, 2, 3):
        test.button(key="next seller").click().run()
        key = others[(place + step) % 3].key
        assert test.query_params["key"] in (key, [key])
        assert key in shown(test)
    test.button(key="previous seller").click().run()
    assert others[(place + 2) % 3].key in shown(test)


def quickest(draw):
    """Return the fewest seconds of processor time that a page took in three tries, and the last page."""
    seconds = []
    for _ in range(3):
        begun = time.process_time()
        page = draw()
        seconds.append(time.process_time() - begun)
    return min(seconds), page


def test_a_match_of_ten_megabytes_answers_like_any_other(opened_well, path, keys):
    attempts = [Attempt(f"{number}{'x' * 250_000}", Fault.NOT_JSON, None) for number in range(2)]
    turns = [
        Turn(role, ActionKind.TALK, None, f"message {number}", "", (attempts[number % 2],))
        for number, role in enumerate([Role.SELLER, Role.BUYER] * 20)
    ]
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE matches SET transcript = ? WHERE key = ?", (encode(turns), keys[6]))
    raw.close()
    opened_well(view="match", key=keys[5])  # imports and caches
    usual, _ = quickest(lambda: opened_well(view="match", key=keys[5]))
    large, page = quickest(lambda: shown(opened_well(view="match", key=keys[6])))
    assert large < 10 * usual
    assert dialogue.cut(turns)
    assert len(page) < 1.5 * dialogue.SHOWN
    assert page.count('class="ba-turn ba-') == 40
    assert "of 250,001 characters left out" in page
    assert "whole in the download" in page


def test_the_whole_match_is_in_the_download(path, keys):
    from leaderboard.replay import transcript
    from leaderboard.views.match import _whole

    with Store.open(str(path)) as store:
        design = store.design().design
        content = json.loads(_whole(store, transcript(store, design, store.match(keys[0]))))
    assert content["key"] == keys[0]
    assert [attempt["text"] for attempt in content["turns"][0]["attempts"]] == [HOSTILE] * 4
    assert content["turns"][0]["reasoning"] == "SECRET of the seller"
