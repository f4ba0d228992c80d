"""The board's page on trained sellers: head, filters, verdicts, downloads, and how to read it all."""

import json
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.store import Pace, Store
from leaderboard import glossary, signs, wording
from leaderboard.board import board
from leaderboard.inference.chosen import part
from leaderboard.inference.contrasts import pair
from leaderboard.inference.guards import guards
from leaderboard.inference.splits import splits
from leaderboard.verdicts import verdicts
from leaderboard.views.head import running
from scenarios.scenario import Role
from tests.leaderboard.pages import links, shown
from tests.leaderboard.trained import play_trained

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("board") / "arena.db"
    play_trained(path, scenarios=5, domains=4, held_out=1)
    return path


@pytest.fixture(scope="module")
def results(path):
    with Store.open(str(path)) as store:
        return store.results(store.design().design)


def row_of(page: str, agent: str) -> str:
    return next(row for row in page.split("<tr") if f">{agent}</a>" in row)


def test_the_head_names_design_freeze_deviations_and_how_many_arms_were_tried(opened, path):
    with Store.open(str(path)) as store:
        stored = store.design()
        store.add_deviation(stored.design.hash, "limit", "a limit moved", "a test")
    test = opened()
    page = shown(test)
    assert f"<code>{stored.design.hash}</code>" in page
    assert wording.when(stored.created_at) in page
    assert "1 deviation</a>" in page
    assert [link["design"] for link in links(test, "designs") if "design" in link]
    assert "3 of 3 arms tried from 2B base" in page
    assert "520 of 520 matches scored, 0 void" in page
    assert "a minute" not in page, "all is played"


def test_every_trained_seller_shows_its_gain_and_its_guards(opened, results):
    page = shown(opened())
    for agent, row in board(results).by_agent.items():
        verdict = verdicts(results)[row.player.version]
        shown_row = row_of(page, agent)
        for sign in (*signs.guards(verdict), *signs.alarm(verdict)):
            assert f"{sign.name}: {sign.result}" in unescape(shown_row)
        if verdict.gain is not None:
            assert wording.signed(verdict.gain.estimate.value) in shown_row
            assert signs.gain_p(verdict) in unescape(shown_row)
    assert "training family" in page


def test_domains_and_opener_recompute_the_board_and_make_it_exploratory(opened, results):
    domains = [d.name for d in results.design.domains if not d.held_out][:2]
    test = opened(domains=",".join(domains), opener="seller")
    page = shown(test)
    expected = board(part(results, domains, Role.SELLER))
    for row in expected.rows:
        assert f"<b>{row.open.pooled.value:.3f}</b>" in row_of(page, row.agent)
    assert "exploratory" in test.info[0].value
    assert "<br>Holm p" not in page
    assert "<br>exploratory p" in page


def test_kind_and_base_family_hide_rows_and_leave_figures_alone(opened, results):
    test = opened(kind="trained", family="gemma")
    page = shown(test)
    rows = board(results).by_agent
    arms = [agent for agent in rows if not agent.endswith("base")]
    for agent in arms:
        assert f"<b>{rows[agent].open.pooled.value:.3f}</b>" in row_of(page, agent)
    assert ">2B base</a>" not in page
    assert "4 agents hidden by the filters" in page
    assert not test.info, "nothing is recomputed"


def test_a_choice_goes_to_the_address_and_another_design_or_panel_forgets_what_no_longer_fits(opened):
    test = opened(view="board")
    boxes = {box.label: box for box in test.selectbox}
    domain = test.multiselect[0].options[0]
    test.multiselect[0].select(domain).run()
    assert test.query_params["domains"] in (domain, [domain])
    boxes = {box.label: box for box in test.selectbox}
    boxes["Panel"].select("held_out").run()
    assert "domains" not in test.query_params
    assert not test.warning
    assert "Held out, reported apart" in shown(test)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ({"domains": "nowhere"}, "not here"),
        ({"domains": "car_sale"}, "not here"),
        ({"kind": "clever"}, "not here"),
        ({"family": "<b>"}, "not here"),
        ({"opener": "nobody"}, "not here"),
        ({"view": "reading", "term": "nonsense"}, "no entry"),
    ],
)
def test_a_bad_filter_is_a_sentence(opened, address, says):
    test = opened(**address)
    assert says in test.warning[0].value
    assert not test.error


def test_buyers_and_bases_are_scripted_here(opened):
    assert ">boulware</a>" in shown(opened(role="buyer", kind="scripted", family="boulware"))
    page = shown(opened(kind="scripted", family="gemma"))
    assert ">2B base</a>" in page
    assert ">2B 1e-6</a>" not in page


def test_nothing_on_the_page_writes(opened, path):
    with Store.open(str(path)) as store:
        before = store.revision()
        opened()
        opened(role="buyer", panel="held_out")
        assert store.revision() == before


def test_the_same_board_is_downloaded(opened, results, monkeypatch):
    offered = {}
    monkeypatch.setattr(
        "leaderboard.views.downloads.st.download_button",
        lambda label, data, name, *rest, **more: offered.update({name: data}),
    )
    opened(kind="trained")
    name = f"board-{results.design.hash}"
    rows = json.loads(offered[f"{name}.json"])
    assert [row["agent"] for row in rows] == [
        row.agent for row in board(results).rows if not row.agent.endswith("base")
    ]
    assert all(row["gain"]["base"].endswith("base") for row in rows)
    header, *lines = offered[f"{name}.csv"].splitlines()
    assert header.split(",")[:3] == ["agent", "version", "role"]
    assert len(lines) == len(rows)


def test_the_reading_page_explains_every_term_that_a_heading_links_to(opened):
    test = opened()
    asked = {link["term"].replace("+", " ") for link in links(test, "reading") if "term" in link}
    assert len(asked) >= 7
    for name in asked:
        term = glossary.term(name)
        assert term is not None, name
        first = next(
            element.proto.body
            for element in opened(view="reading", term=name).get("html")
            if "ba-term" in element.proto.body and "<style>" not in element.proto.body
        )
        assert term.name in first
    page = unescape(shown(opened(view="reading")))
    for section in glossary.SECTIONS:
        for term in section.terms:
            assert page.count(f"<b>{term.name}</b>") == 1, "each once"
            assert term.meaning in page


def paced(scored: int, recent: int, first: float, last: float) -> Pace:
    """Return a pace whose recent matches began these minutes before NOW."""
    times = [(NOW - timedelta(minutes=minutes)).isoformat() for minutes in (first, last)]
    return Pace(scored, recent, *times)


def test_the_rate_of_play_and_the_time_left():
    said = running(paced(600, 101, 5, 0), 1600, NOW)
    assert (
        said == "Up to 12:00 UTC, 20 matches a minute began; 1,000 left, about 50 minutes at that rate."
    )
    slow = running(paced(600, 11, 10, 0), 1600, NOW)
    assert slow == "Up to 12:00 UTC, 1 match a minute began; 1,000 left, about 17 hours at that rate."
    assert running(paced(10, 1, 1, 1), 20, NOW) == "A match began at 11:59 UTC; 10 matches left."


@pytest.mark.parametrize(
    ("found", "planned"),
    [
        (paced(600, 100, 5, 0), 600),
        (paced(600, 1000, 8, 6), 700),
        (paced(3, 1, 11, 11), 700),
        (Pace(0, 0, None, None), 10),
        (Pace(9, 0, None, NOW.isoformat()), 10),
    ],
)
def test_what_is_played_to_the_end_or_was_stopped_is_not_running(found, planned):
    assert running(found, planned, NOW) is None


def test_slow_matches_still_count_as_running():
    assert running(paced(5, 4, 9, 3), 10, NOW) is not None, "one in two minutes, the last three ago"


def test_the_command_line_says_the_same(path, results):
    run = CliRunner().invoke(app, ["standings", "--json", "--db", str(path)])
    assert run.exit_code == 0, run.output
    rows = {row["agent"]: row for row in json.loads(run.stdout)}
    names = {name: version for version, name in results.design.names(Role.SELLER).items()}
    gain = pair(results, "2B 3e-6", "2B base")
    found = rows["2B 3e-6"]["gain"]
    assert found["base"] == "2B base"
    assert (found["value"], found["p"], found["adjusted_p"]) == pytest.approx(
        (gain.estimate.value, gain.p, gain.adjusted_p)
    )
    assert (found["low"], found["high"]) == pytest.approx(gain.interval)
    assert rows["2B base"]["gain"] is None
    assert rows["2B base"]["alarm"] is None
    for split in splits(results):
        row = rows[split.arm]
        assert row["version"] == names[split.arm]
        if split.base is not None:
            assert (row["alarm"], row["general"]) == (split.alarm, split.general)
    assert [guard["name"] for guard in rows["2B 1e-5"]["guards"]] == [
        guard.name for guard in guards(results)["2B 1e-5"]
    ]
    assert rows["2B 1e-5"]["guards"][0]["result"] == "fail", "it leaks in half of its messages"
    assert rows["2B base"]["badges"] == {"boulware": [], "conceder": ["training family"]}
    assert (rows["2B base"]["missing"], rows["2B base"]["cost_usd"]) == (0, None)
    printed = CliRunner().invoke(app, ["standings", "--db", str(path)]).stdout
    assert f"{found['value']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}]" in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_a_buyers_board_has_no_gains_and_no_guards(path):
    run = CliRunner().invoke(app, ["standings", "--role", "buyer", "--json", "--db", str(path)])
    rows = json.loads(run.stdout)
    assert {row["agent"] for row in rows} == {"boulware", "conceder"}
    assert all(row["gain"] is None and row["guards"] == [] for row in rows)
    assert all(0 <= row["deals"]["low"] <= row["deals"]["value"] for row in rows)


def test_what_was_chosen_before_a_step_back_is_not_chosen_again(opened):
    """A browser may send a widget's value once more after the step back that left it behind."""
    test = opened(view="board")
    next(box for box in test.selectbox if box.label == "Panel").select("held_out")
    sent = test._tree.get_widget_states()
    test.run()
    assert "Held out, reported apart" in shown(test)
    del test.query_params["panel"]
    test._run(sent)
    assert "panel" not in test.query_params
    assert "Held out, reported apart" not in shown(test)
