"""Compare, Buyers, Scaling, Guards and openings without a browser: what they show, and that no address
and no design breaks them."""

import numpy as np
import pytest

from arena.analysis import Contrast
from arena.store import Store
from leaderboard import comparison, wording
from leaderboard.figures import intervals as interval_figure
from leaderboard.inference.contrasts import compare, family
from leaderboard.inference.gaps import widest
from leaderboard.inference.guards import guards
from leaderboard.inference.openings import openings
from leaderboard.inference.splits import splits
from leaderboard.inference.value import value
from leaderboard.tables import buyers as buyers_table
from leaderboard.tables import compare as compare_table
from leaderboard.tables import guards as guards_table
from leaderboard.tables import scaling as scaling_table
from tests.leaderboard import planted
from tests.leaderboard.pages import links, shown, visit
from tests.leaderboard.tournament import make_design, play_into
from tests.leaderboard.trained import play_trained

PAGES = ("compare", "buyers", "scaling", "guards")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("contrasts") / "arena.db"
    play_trained(path, domains=3, scenarios=8, infeasible=1)
    return path


@pytest.fixture(scope="module")
def results(path):
    with Store.open(str(path)) as store:
        return store.results(store.design().design)


@pytest.fixture
def pair(results):
    """The versions of an arm and of its base."""
    versions = {player.name: player.version for player in results.design.sellers}
    return versions["31B 3e-6"], versions["31B base"]


def said(test) -> str:
    return shown(test).replace("&#x27;", "'")


def test_compare_says_the_sentence_and_where_the_difference_comes_from(opened, results, pair):
    a, b = pair
    found = compare(results, Contrast(plus=(a,), minus=(b,)))
    page = said(opened(view="compare", a=a, b=b))
    assert comparison.sentence(found).replace("<", "&lt;") in page
    assert comparison.held_out_sentence(found).replace("<", "&lt;") in page
    assert ">confirmatory<" in page
    assert found.advice in page
    for interval in (found.t_interval, found.bootstrap_interval, found.held_out.t_interval):
        assert wording.signed_interval(interval) in page
    parts = value(results, a, b)
    for part in parts.parts:
        assert f"{part.label}</td>" in page
        assert wording.signed(part.estimate.value) in page
    for name, one in (found.by_buyer | found.by_domain | found.leave_one_out).items():
        assert f"{name}</td>" in page
        assert wording.signed_interval(one.interval()) in page
    assert next(arm for arm in splits(results) if arm.version == a).why in page


def test_an_undeclared_pair_is_exploratory(opened, results, pair):
    other = next(player.version for player in results.design.sellers if player.version not in pair)
    page = said(opened(view="compare", a=pair[0], b=other))
    assert ">exploratory<" in page
    assert "not declared in the design" in page
    assert "Does the gain live on one buyer?" not in page, "it is no arm and its base"


def test_the_best_seller_stands_against_its_base_at_first(opened, pair):
    test = opened(view="compare")
    assert [box.value for box in test.selectbox[1:3]] == list(pair)
    assert "a" not in test.query_params
    test.selectbox[2].select(pair[0]).run()
    assert test.query_params["b"] in (pair[0], [pair[0]])
    assert "same seller stands on both sides" in test.info[0].value


def test_the_cells_that_differ_most_lead_to_matches_and_to_both_transcripts(opened, path, results, pair):
    found = widest(results, *pair)
    assert len(found) == 10
    test = opened(view="compare", a=pair[0], b=pair[1])
    keys = [link["key"] for link in links(test, "match")]
    assert keys == [key for gap in found for key in (gap.key_a, gap.key_b)]
    assert "ba-turn" not in shown(test), "transcripts are read when they are asked for"
    test.selectbox[3].select(found[1].key_a).run()
    assert test.query_params["cell"] in (found[1].key_a, [found[1].key_a])
    with Store.open(str(path)) as store:
        turns = [store.match(key).turns for key in (found[1].key_a, found[1].key_b)]
    assert shown(test).count('class="ba-turn') == sum(turns)
    again = opened(view="compare", a=pair[0], b=pair[1], cell=found[1].key_a)
    assert shown(again).count('class="ba-turn') == sum(turns), "the address alone shows the same"


def test_buyers_show_every_score_and_word_the_alarm(opened, results):
    arms = splits(results)
    test = opened(view="buyers")
    page = said(test)
    alarms = [arm for arm in arms if arm.alarm]
    assert page.count("pooling alarm</span> <b>") == len(alarms)
    for arm in arms:
        if arm.base is not None:
            assert arm.why in page
            assert wording.signed(arm.gain.value) in page
    assert "training family" in page, "conceder shares a family with what arms trained against"
    assert len(test.get("arrow_vega_lite_chart") or test.get("vega_lite_chart")) == 2


def test_the_reader_chooses_columns_and_side_of_the_measures(opened):
    page = shown(opened(view="buyers", of="buyer", columns="welfare,own forfeits"))
    headings = page[page.rindex("<thead>") : page.rindex("</thead>")]
    assert "welfare" in headings
    assert "own forfeits" in headings
    assert "surplus share" not in headings
    assert ">conceder</a>" in page[page.rindex("<thead>") :]
    assert "not here" in opened(view="buyers", columns="charm").warning[0].value


def test_scaling_lists_every_arm_with_its_gain(opened, results):
    page = shown(opened(view="scaling"))
    for arm, base in results.design.analysis.bases.items():
        found = compare(results, Contrast(plus=(arm,), minus=(base,)))
        assert wording.signed(found.estimate.value) in page
        assert f"a={arm}&amp;b={base}" in page
    assert page.count("56 steps, not 104") == 5
    assert page.count("the reference for compute") == 4


def test_guards_stand_with_figures_and_limits_and_openings_are_post_hoc(opened, results):
    page = said(opened(view="guards"))
    judged = guards(results)
    for result in ("pass", "fail", "not judged"):
        expected = sum(guard.result == result for found in judged.values() for guard in found)
        assert page.count(f"</span> {result}<br>") == expected
    assert "limit 5.0% (ours)" in page
    assert "0.212" in page, "KL as registered"
    assert ">post hoc<" in page
    for one in openings(results):
        assert wording.percent(one.named.value) in page


def test_a_small_kl_beside_the_guards_keeps_its_figures(results):
    versions = {player.name: player.version for player in results.design.sellers}
    table = guards_table.guards_table(guards(results), versions, {"31B base": 4e-4}, results.design)
    assert table.count(">4.0e-04</td>") == 1
    assert table.count(">–</td></tr>") == len(versions) - 1  # noqa: RUF001


@pytest.mark.parametrize("view", PAGES)
def test_bad_addresses_say_what_is_wrong(opened, view):
    test = opened(view=view, design="0000")
    assert "no design" in test.warning[0].value
    assert not test.error


@pytest.mark.parametrize("wrong", [{"a": "nobody"}, {"b": "%"}, {"cell": "ffff"}])
def test_compare_with_a_stranger_or_an_unknown_cell_says_so(opened, wrong):
    test = opened(view="compare", **wrong)
    assert "not here" in test.warning[0].value
    assert not test.error


@pytest.mark.parametrize("view", PAGES)
def test_nothing_played_says_what_to_type(view, tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    play_trained(path, domains=2, scenarios=2, registered=False, skip=lambda place: True)
    test = visit(view=view)
    assert not test.error
    assert "arena run-tournament --design" in "".join(info.value for info in test.info)


@pytest.mark.parametrize("view", PAGES)
def test_sellers_without_bases_and_a_design_that_declares_nothing(view, tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    play_into(path, make_design(sellers=("linear", "random"), buyers=("linear",), scenarios=2))
    test = visit(view=view)
    page = said(test) + "".join(code.value for code in test.code)
    assert not test.error
    if view == "scaling":
        assert "learning_rate" in page
        assert "arena register --file" in page
    if view == "buyers":
        assert "one buyer only" in page
    if view == "guards":
        assert "no base is declared for it" in page


def test_one_seller_cannot_be_compared(tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    play_into(path, make_design(sellers=("linear",), scenarios=2))
    assert "one seller" in visit(view="compare").info[0].value


def test_arms_without_metadata_are_listed_and_told_how_to_get_a_place(tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    play_trained(path, domains=2, scenarios=2, registered=False)
    test = visit(view="scaling")
    assert "No arm is registered" in test.info[0].value
    assert shown(test).count("not in the figure: no params, no lineage: learning_rate") == 9


def test_an_axis_holds_zero_and_every_interval(results, pair):
    found = compare(results, Contrast(plus=(pair[0],), minus=(pair[1],)))
    ends = [end for one in found.by_domain.values() for end in one.interval()]
    low, high = interval_figure.span(list(found.by_domain.values()))
    assert low < min(0.0, *ends)
    assert high > max(0.0, *ends)
    figure = interval_figure.interval_figure(found.by_domain, (low, high), "difference").to_dict()
    rows = [row for data in figure["datasets"].values() for row in data if "label" in row]
    assert [row["label"] for row in rows] == list(found.by_domain)
    for row, one in zip(rows, found.by_domain.values(), strict=True):
        assert row["detectable"] == (one.p < 0.05)


def test_what_nobody_played_is_no_hint_to_be_tested(results, pair):
    empty = results.where(np.zeros(len(results.key_M), bool))
    found = compare(empty, Contrast(plus=pair[:1], minus=pair[1:]))
    claimed = compare_table.claim(found, 9)
    assert '<span class="ba-badge">not played</span> no cell was completed by all of' in claimed
    assert "hint" not in claimed
    assert "not in the family" not in compare_table.facts(found, "t"), "it is declared"
    assert "1.000" not in compare_table.facts(found, "t")


@pytest.mark.parametrize("kept", [1, 40])
@pytest.mark.parametrize("view", PAGES)
def test_a_record_of_few_matches_breaks_no_page(view, kept, tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    monkeypatch.setenv("ARENA_DB", str(path))
    count = iter(range(10**6))
    play_trained(path, domains=2, scenarios=2, skip=lambda place: next(count) >= kept)
    test = visit(view=view)
    assert not test.error
    assert not test.warning
    assert links(test, "board"), "the page is drawn"


def test_with_three_buyers_a_split_is_against_each_and_the_rest():
    plan = planted.plan(buyers=("x", "y", "z<b>"))
    (arm, _) = splits(planted.world(plan, {"arm": {"x": 0.2}}))
    table = buyers_table.splits_table([arm], plan.hash)
    assert arm.alarm
    assert table.count(" - the others</span>") == 3 * 3
    assert "z&lt;b&gt;" in table
    assert "z<b>" not in table
    assert "pooling alarm</span>" in table
    said = buyers_table.verdicts([arm])
    assert arm.why.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;") in said


def test_a_difference_of_gains_is_told_beside_the_sizes():
    contrasts = [Contrast(plus=("a1", "b2"), minus=("b1", "a2"))]
    plan = planted.plan(
        ("a1", "a2", "b1", "b2"), bases={"a1": "b1", "a2": "b2"}, contrasts=tuple(contrasts)
    )
    found = family(planted.world(plan, {"a1": {"x": 0.2, "y": 0.2}}))
    assert "a1 gains" in scaling_table.differences_list(found)
    assert "more over b1 than a2 over b2" in scaling_table.differences_list(found)
