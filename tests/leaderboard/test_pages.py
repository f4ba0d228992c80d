"""The pages without a browser: what they show, and that no address and no database breaks them."""

import pytest

from arena.store import Filter, Store
from leaderboard import markup
from leaderboard.board import board
from leaderboard.views import following
from tests.leaderboard.pages import links, shown, visit
from tests.leaderboard.tournament import make_design, play_into


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A database with one complete design, and one where a seller has played half."""
    path = tmp_path_factory.mktemp("pages") / "arena.db"
    play_into(path, make_design(scenarios=4, infeasible=1))
    other = make_design(scenarios=6, seed=3)
    gone = other.sellers[0].version
    play_into(path, other, skip=lambda p: p.seller_version == gone and p.number % 2)
    return path


def test_the_board_shows_every_row_of_the_newest_design(opened, path):
    with Store.open(str(path)) as store:
        found = board(store.results(store.design().design))
    page = shown(opened())
    for row in found.rows:
        assert f">{row.agent}</a></td>" in page
        assert f"{row.open.pooled.value:.3f}" in page
    assert f"<code>{found.design.hash}</code>" in page
    assert f"arena run-tournament --design {found.design.hash} --db" in page, "boulware lacks matches"


def test_held_out_domains_and_buyers_have_boards_of_their_own(opened):
    assert "Held out, reported apart: car\\_sale" in shown(opened(panel="held_out"))
    buyers = shown(opened(role="buyer"))
    assert "score against this seller" in buyers
    assert ">linear</a></td>" in buyers


def test_another_design_is_chosen_and_the_address_says_so(opened, path):
    with Store.open(str(path)) as store:
        newest, oldest = (stored.design.hash for stored in store.designs())
    test = opened()
    test.selectbox[0].select(oldest).run()
    assert test.query_params["design"] in (oldest, [oldest])
    assert f"<code>{oldest}</code>" in shown(test)
    test.selectbox[0].select(newest).run()
    assert "design" not in test.query_params
    assert "Infeasible panel" in shown(opened(design=oldest))


def test_from_a_row_to_its_matches_to_a_transcript(opened, path):
    row = next(link for link in links(opened(), "matches") if "seller" in link)
    matches = opened(**row)
    behind = links(matches, "match")
    with Store.open(str(path)) as store:
        expected = store.matches(Filter(design=store.design().design, sellers=[row["seller"]]))
    assert {link["key"] for link in behind} == {match.key for match in expected}
    first = expected[0]
    page = shown(opened(**behind[[link["key"] for link in behind].index(first.key)]))
    assert first.scenario in page
    assert page.count('class="ba-turn') == first.turns
    assert f"seller {first.seller_utility:.3f}" in page
    assert "seller&#x27;s best" in page
    match = opened(view="match", key=first.key)
    onward = next(button for button in match.button if button.label.startswith("next"))
    onward.click().run()
    assert match.query_params["key"] != [first.key], "the same cell by another seller"


def test_names_wrap_in_the_list_of_matches(opened):
    page = shown(opened(view="matches"))
    assert page.count('<td class="wrap"') == 4 * len(links(opened(view="matches"), "match"))
    assert "td.wrap { overflow-wrap: anywhere;" in markup.STYLE


def test_another_pair_forgets_the_cell_that_was_read(opened):
    test = opened(view="compare")
    box = next(box for box in test.selectbox if box.label.startswith("Read both"))
    box.select_index(1).run()
    assert "cell" in test.query_params
    seller = next(box for box in test.selectbox if box.label == "Seller")
    seller.select_index(1).run()
    assert "cell" not in test.query_params
    assert not test.warning


def test_filters_narrow_the_list(opened, path):
    with Store.open(str(path)) as store:
        design = store.design().design
        wanted = store.matches(Filter(design=design, domains=["car_sale"], ending="agreement"))
        assert 0 < len(wanted) < len(store.matches(Filter(design=design)))
    test = opened(view="matches", domain="car_sale", ending="agreement")
    assert {link["key"] for link in links(test, "match")} == {match.key for match in wanted}


def test_every_match_of_a_design_has_a_page(opened, path):
    with Store.open(str(path)) as store:
        found = store.matches(Filter(design=store.design().design))
    for match in found[::9]:
        assert match.key in shown(opened(view="match", key=match.key))


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ({"view": "nowhere"}, "no page"),
        ({"view": "match"}, "names no match"),
        ({"view": "match", "key": "ffff"}, "o match in"),
        ({"view": "match", "key": "%"}, "o match in"),
        ({"design": "0000"}, "no design"),
        ({"view": "matches", "design": "0000"}, "no design"),
        ({"view": "matches", "seller": "nobody"}, "not here"),
        ({"view": "matches", "page": "99"}, "not here"),
        ({"role": "auctioneer"}, "not here"),
        ({"view": "buyers", "of": "zzz"}, "of 'zzz'"),
        ({"view": "buyers", "columns": "nope"}, "columns 'nope'"),
        ({"view": "compare", "cell": "garbage"}, "cell 'garbage'"),
        ({"panel": "<script>alert(1)</script>"}, "not here"),
    ],
)
def test_a_bad_link_says_what_is_wrong_and_leads_back(opened, address, says):
    test = opened(**address)
    assert says in test.warning[0].value
    assert links(test, "board")
    assert not test.error


def test_without_a_database_it_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("ARENA_DB", str(tmp_path / "none.db"))
    test = visit()
    assert "arena run\\-tournament" in test.warning[0].value
    assert not (tmp_path / "none.db").exists(), "looking must not create it"


def test_a_file_that_is_no_database_is_named(tmp_path, monkeypatch):
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be read as one" * 99)
    monkeypatch.setenv("ARENA_DB", str(tmp_path / "notes.txt"))
    assert "not a database" in visit().warning[0].value


def test_an_empty_database_and_an_unplayed_design(tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    Store.open(str(path)).close()
    first = visit()
    assert "no design yet" in first.warning[0].value
    assert first.warning[0].value.startswith(markup.plain(str(path))), "a name stays as it is"
    assert not links(first, "board")[1:], "no link to where the reader is, but for the title's"
    play_into(path, make_design(scenarios=2), skip=lambda place: True)
    test = visit()
    assert "Nothing is played yet" in test.info[0].value
    assert "No scored match" in visit(view="matches").info[0].value
    assert "To play what is missing" in visit(view="compare").info[0].value
    assert "cell 'x'" in visit(view="compare", cell="x").warning[0].value
    assert "of 'x'" in visit(view="buyers", of="x").warning[0].value


def test_a_record_that_was_replaced_or_deleted_is_no_longer_shown(tmp_path, monkeypatch):
    path, other = tmp_path / "Live.db", tmp_path / "other.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    plan = make_design(scenarios=2, seed=1)
    play_into(path, plan)
    assert "of 36 matches scored" in shown(visit())
    play_into(other, plan, skip=lambda place: place.number % 2)
    other.replace(path)
    assert "18 of 36 matches scored" in shown(visit())
    path.unlink()
    test = visit()
    assert "there is no database" in test.warning[0].value.lower()
    assert "matches scored" not in shown(test)


def test_an_empty_record_and_a_missing_one_are_followed(tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    assert following.state() is None
    Store.open(str(path)).close()
    empty = following.state()
    assert empty is not None
    assert following.state() == empty
    play_into(path, make_design(scenarios=1), skip=lambda place: True)
    assert following.state() != empty


def test_a_bug_of_ours_shows_a_sentence_and_no_traceback(opened, monkeypatch):
    monkeypatch.setattr("leaderboard.views.common.open_store", lambda: 1 / 0)
    test = opened()
    assert "This page failed" in test.error[0].value
    assert "ZeroDivisionError" not in shown(test)
