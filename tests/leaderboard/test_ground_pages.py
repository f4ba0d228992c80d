"""Scenarios, training runs and designs without a browser: what they show, also when empty."""

import json
import math

import pytest

from agents.spec import Connection, Profile
from arena.record import utc_now
from arena.store import Filter, Registration, Store
from leaderboard import grounds, training
from leaderboard.figures import grounds as ground_figure
from leaderboard.figures import runs as curves
from leaderboard.figures.match import utility_plane
from scenarios.catalogue import bundled
from scenarios.domain import Kind
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from scenarios.survey import summed
from tests.leaderboard.pages import links, shown, visit_well
from tests.leaderboard.tournament import make_design, play_into
from tests.leaderboard.trained import play_trained, seller_specs

STEPS = [(step, {"reward": step / 10, "kl": 0.1, "zoo": 1.0}) for step in range(1, 6)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A database with a declared design, a training run with a checkpoint, an audit and a log."""
    path = tmp_path_factory.mktemp("ground") / "arena.db"
    design = play_trained(path, domains=2, scenarios=2, infeasible=1)
    with Store.open(str(path)) as store:
        store.add_training_run("run <1>", {"learning_rate": 1e-6})
        store.add_training_steps("run <1>", STEPS)
        lineage = {"run": "run <1>", "step": 4}
        saved = seller_specs()["2B 1e-6"]
        profile = Profile(base="2B base", lineage=lineage)
        store.add_registrations(
            [Registration("2B 1e-6", saved, "seller", profile, Connection(), utc_now())]
        )
        store.add_audit(design.buyers[0].version, audit("boulware"))
        store.add_deviation(design.hash, "guard", "opener 0.3 <instead> of 0.2", "a reviewer asked")
    return path


def audit(buyer: str) -> dict[str, object]:
    shares = {"accept_first": 0.5, "fixed": 0.953}
    policies = [{"policy": name, "share": share} for name, share in shares.items()]
    beside = {"ceiling": 0.8, "scenarios": 64, "best": "fixed", "exploitable": True}
    return {"buyer": buyer, "policies": policies} | beside


def test_a_domain_is_shown_with_its_terms_and_one_scenario_whole(opened_well):
    domain, scenario = bundled()["car_sale"], draw(bundled()["car_sale"], Split.EVAL, 1)
    page = shown(opened_well(view="scenarios", domain="car_sale", scenario="1"))
    assert "held out" in page
    for term in domain.terms:
        assert f'<td class="name">{term.name}</td>' in page
        assert f"<b>{term.default.replace('&', '&amp;')}</b> (default)" in page
    assert scenario.label in page
    assert f"{scenario.seller.walk_away:.3f}" in page
    for row in grounds.points_rows(scenario):
        assert f"{row['seller']:.3f}" in page


def test_a_scenario_without_a_zone_of_agreement_has_no_reference_points(opened_well):
    page = shown(opened_well(view="scenarios", domain="car_sale", scenario="infeasible-0"))
    assert "no package is worth it for both" in page
    assert page.count("there is no zone of agreement") >= 4


def test_buyers_that_were_audited_and_the_command_for_the_others(opened_well, path):
    test = opened_well(view="scenarios")
    assert "95.3%" in shown(test)
    assert "⚠ exploitable" in shown(test)
    command = test.info[0].value
    assert f"`arena scenarios audit --buyers conceder --db {path}`" in command


def test_its_matches_are_those_of_the_scenario(opened_well, path):
    link = next(
        q for q in links(opened_well(view="scenarios", domain="car_sale"), "matches") if "search" in q
    )
    label = draw(bundled()["car_sale"], Split.EVAL, 0).label
    found = links(opened_well(view="matches", design=link["design"], search=label), "match")
    with Store.open(str(path)) as store:
        assert {q["key"] for q in found} == {m.key for m in store.matches(Filter(text=label))}


def test_a_design_of_another_draw_is_told_and_not_drawn(opened_well, monkeypatch):
    monkeypatch.setattr("leaderboard.views.scenarios.DRAW_VERSION", 999)
    test = opened_well(view="scenarios", domain="car_sale")
    assert "drawn by another release" in test.info[0].value


def test_terms_and_tables_add_up():
    domain = bundled()["car_sale"]
    drawn = [draw(domain, Split.EVAL, index) for index in range(6)]
    for row in grounds.terms_rows(domain, drawn):
        assert sum(row[kind.value] for kind in Kind) == len(drawn)
    best: dict[tuple[str, str], float] = {}
    for row in grounds.utilities_rows(drawn[0]):
        for side in ("seller", "buyer"):
            best[row["term"], side] = max(best.get((row["term"], side), 0.0), row[side])
    for side in ("seller", "buyer"):
        assert sum(v for (_, who), v in best.items() if who == side) == pytest.approx(1)
    least = {row["figure"]: row for row in grounds.spreads(summed(domain, drawn))}
    values = [scenario.buyer.walk_away for scenario in drawn]
    found = least["buyer's walk-away value"]
    assert (found["least"], found["most"]) == (min(values), max(values))
    assert found["mean"] == pytest.approx(sum(values) / len(values))


def test_the_figures_of_the_ground_hold_every_scenario_and_point():
    domain = bundled()["car_sale"]
    drawn = [draw(domain, Split.EVAL, index) for index in range(6)]
    (rows,) = ground_figure.kinds_figure(domain, drawn).to_dict()["datasets"].values()
    assert sum(row["scenarios"] for row in rows) == len(drawn) * len(domain.terms)
    (rows,) = ground_figure.walk_away_figure(drawn, Role.SELLER).to_dict()["datasets"].values()
    assert [row["value"] for row in rows] == [scenario.seller.walk_away for scenario in drawn]
    plane = utility_plane(grounds.landscape(drawn[0])).to_dict()
    names = {row["name"] for data in plane["datasets"].values() for row in data if "name" in row}
    assert names == {"Nash", "Kalai", "Kalai-Smorodinsky", "utilitarian", "default"}


def test_a_run_is_shown_with_its_curves_and_checkpoints(opened_well, path):
    test = opened_well(view="runs")
    page = shown(test)
    assert "run &lt;1&gt;" in page
    assert "step 5" in page
    assert len(test.get("vega_lite_chart")) == 2
    assert {"view": "runs", "more": "yes"} in links(test, "runs")
    assert len(opened_well(view="runs", more="yes").get("vega_lite_chart")) == 3
    with Store.open(str(path)) as store:
        design = store.design().design.hash
    assert {"view": "board", "design": design} in links(test, "board")
    assert "2B 1e-6@" in page


def test_curves_show_the_known_metrics_first_and_only_numbers():
    steps = [
        (1, {"zoo": 1.0, "kl": math.nan, "loss": 1.0, "buyer/b": 1.0}),
        (2, {"kl": 2.0, "reward": 1.0}),
    ]
    runs = {"a": steps, "b": STEPS}
    assert training.metrics(runs) == (["reward", "kl"], ["buyer/b"], ["loss", "zoo"])
    assert training.metrics({"a": [(1, {"zoo": 1.0})]}) == (["zoo"], [], [])
    figure = curves.curve("kl", runs, {2: "saved"}).to_dict()
    rows = [row for data in figure["datasets"].values() for row in data]
    assert {"run": "a", "step": 2, "value": 2.0} in rows
    assert not [row for row in rows if row.get("run") == "a" and row["step"] == 1]
    assert {"step": 2, "checkpoint": "saved"} in rows


def test_a_long_curve_is_thinned_and_keeps_its_ends():
    steps = [(step, {"reward": float(step)}) for step in range(10 * curves.POINTS + 3)]
    figure = curves.curve("reward", {"a": steps}).to_dict()
    (rows,) = figure["datasets"].values()
    found = [row["step"] for row in rows]
    assert curves.POINTS / 2 < len(found) <= curves.POINTS + 1
    assert (found[0], found[-1]) == (0, steps[-1][0])


def test_a_design_is_shown_as_it_was_frozen(opened_well, path):
    with Store.open(str(path)) as store:
        design = store.design().design
    page = shown(opened_well(view="designs"))
    assert design.hash in page
    assert "m = 9" in page
    assert page.count("a gain over base") == 9
    assert "3 of 3 arms tried from 2B base" in page
    assert "of a family that arms were trained against" in page
    assert "⚠ exploitable" in page
    assert "held out, reported apart" in page
    for name, limit in design.analysis.guards:
        assert name in page
        assert f"{limit:.3f}" in page
    assert "opener 0.3 &lt;instead&gt; of 0.2" in page
    assert "a reviewer asked" in page
    assert {"view": "board", "design": design.hash} in links(opened_well(view="designs"), "board")


def test_empty_pages_say_what_to_do_next(tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    play_into(path, make_design(scenarios=1), skip=lambda place: True)
    assert "arena register" in visit_well(view="runs").info[0].value
    page = shown(visit_well(view="designs"))
    assert "No contrast was declared" in page
    assert "No deviation is logged" in page
    assert "arena scenarios audit" in visit_well(view="scenarios").info[0].value


@pytest.mark.parametrize("view", ["scenarios", "designs", "runs", "matches", "match"])
def test_without_a_database_every_page_says_how_to_get_one(tmp_path, monkeypatch, view):
    monkeypatch.setenv("ARENA_DB", str(tmp_path / "none.db"))
    assert "arena run\\-tournament" in visit_well(view=view, key="00").warning[0].value


@pytest.mark.parametrize(
    "address",
    [
        {"view": "scenarios", "domain": "nowhere"},
        {"view": "scenarios", "scenario": "12345"},
        {"view": "runs", "run": "<b>"},
        {"view": "designs", "design": "ffff"},
    ],
    ids=json.dumps,
)
def test_a_bad_link_is_a_sentence(opened_well, address):
    assert opened_well(**address).warning[0].value
