"""`arena evaluate`: checkpoints and their base on a template's cells, with scripted stand-ins."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from agents.scripted import spec_of
from agents.spec import AgentSpec, Profile
from arena.analysis import Contrast
from arena.cli import app
from arena.commands.evaluate import base_of
from arena.commands.evaluation_lines import show
from arena.entry import entry_from
from arena.errors import UserError
from arena.registry import Registry
from arena.store import Filter, Registration, Store
from leaderboard.comparison import to_json
from leaderboard.evaluation import evaluated
from leaderboard.inference.contrasts import family, pair
from leaderboard.inference.guards import guards
from leaderboard.inference.value import value
from scenarios.catalogue import bundled
from scenarios.scenario import Role
from tests.leaderboard.saved import BASE, RUN, SAVED, known, store_run
from tests.leaderboard.trained import build_spec

TEMPLATE = """
sellers: [accept_first, stall]
buyers: [linear, tit_for_tat]
domains: [small]
scenarios: 6
infeasible: 1
analysis: {guards: {opener: 0.25}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which two checkpoints were evaluated, and the template's file beside it."""
    folder = tmp_path_factory.mktemp("evaluate")
    store_run(folder / "arena.db")
    (folder / "plan.yaml").write_text(TEMPLATE)
    evaluate(folder)
    return folder


def evaluate(
    folder: Path, *words: str, runs: tuple[str, ...] = (RUN,), design: str | None = None, expect: int = 0
) -> str:
    plan = design or str(folder / "plan.yaml")
    command = ["evaluate", *runs, "--design", plan, "--db", str(folder / "arena.db"), *words]
    done = CliRunner().invoke(app, command, env={"ARENA_DB": None})
    assert done.exit_code == expect, done.output
    return done.stdout if expect == 0 else done.stderr


def test_the_template_stays_and_every_gain_over_base_is_declared(folder: Path) -> None:
    with Store.open(str(folder / "arena.db")) as store:
        (design,) = [stored.design for stored in store.designs()]
    base = build_spec("linear", floor=0.4).version
    saved = [spec.version for spec in SAVED.values()]
    assert list(design.names(Role.SELLER).values()) == [
        *(BASE, f"{RUN}-26", f"{RUN}-52"),
        *("accept_first", "stall"),
    ]
    assert [player.name for player in design.buyers] == ["linear", "tit_for_tat"]
    held_out = {domain.name: domain.held_out for domain in design.domains}
    assert held_out == {name: name == "chairs" for name in bundled("small")}
    assert (design.scenarios, design.infeasible) == (6, 1)
    assert design.analysis is not None
    assert design.analysis.contrasts == tuple(Contrast(plus=(v,), minus=(base,)) for v in saved)
    assert design.analysis.bases == dict.fromkeys(saved, base)
    assert design.analysis.guards.opener == 0.25
    assert design.analysis.families == dict.fromkeys([base, *saved], "gemma")


def test_json_is_what_the_commands_of_the_same_names_say(folder: Path) -> None:
    found = json.loads(evaluate(folder, "--json"))
    assert (found["tournament"]["played"], found["tournament"]["left"]) == (0, 0)
    assert found["base"].startswith(f"{BASE}@")
    with Store.open(str(folder / "arena.db")) as store:
        results = store.results(store.design(found["tournament"]["design"]).design)
    judged = guards(results)

    def as_json(content: object) -> object:
        return json.loads(json.dumps(content))

    for row, gain in zip(found["checkpoints"], family(results), strict=True):
        name = row["agent"]
        assert (row["step"], row["kl"]) == (int(name[-2:]), int(name[-2:]) / 400)
        said = to_json(gain, results.design.hash)
        assert gain.label == f"{name} - {BASE}"
        for key in ("difference", "low", "high", "p", "adjusted_p", "confirmatory", "sentence"):
            assert row["gain"][key] == said[key], key
        assert row["gain"]["held_out"]["difference"] == said["held_out"]["difference"]
        parts = [value(results, name, BASE, held_out).to_json() for held_out in (False, True)]
        assert row["value"] == as_json(parts)
        assert row["guards"] == as_json([guard.to_json() for guard in judged[name]])
        against = [pair(results, name, other) for other in ("accept_first", "stall")]
        assert [one["difference"] for one in row["against"]] == [o.estimate.value for o in against]
        assert not any(one["confirmatory"] for one in row["against"])


def test_it_prints_gains_by_panel_their_sources_and_guards(folder: Path) -> None:
    text = evaluate(folder)
    with Store.open(str(folder / "arena.db")) as store:
        results = store.results(store.design().design)
    for gain in family(results):
        held_out = gain.held_out
        assert held_out is not None
        for panel in (gain, held_out):
            assert panel.interval is not None
            assert f"[{panel.interval[0]:+.3f}, {panel.interval[1]:+.3f}]" in text
        better = value(results, *gain.label.split(" - ")).better.estimate
        assert f"{better.value:+.3f}" in text
    for said in ("confirmatory", "forfeits avoided", "no worse than base", "accept_first", "0.130"):
        assert said in text


def test_it_says_what_the_checkpoints_met_in_training(folder: Path) -> None:
    command = ["evaluate", RUN, "--design", str(folder / "plan.yaml"), "--db", str(folder / "arena.db")]
    done = CliRunner().invoke(app, command, env={"ARENA_DB": None})
    assert "note: trained against linear (the same by name):" in done.stderr
    assert "note: trained on chairs (the same by name), which the design holds out:" in done.stderr


def test_a_stored_design_is_a_template_too_and_old_matches_make_it_exploratory(tmp_path: Path) -> None:
    store_run(tmp_path / "arena.db")
    (tmp_path / "plan.yaml").write_text(TEMPLATE)
    first = json.loads(evaluate(tmp_path, "--step", "26", "--json"))
    (row,) = first["checkpoints"]
    assert row["gain"]["confirmatory"] is True
    second = json.loads(
        evaluate(tmp_path, "--step", "52", "--json", design=first["tournament"]["design"])
    )
    assert second["tournament"]["design"] != first["tournament"]["design"]
    (row,) = second["checkpoints"]
    assert row["agent"] == f"{RUN}-52"
    assert "matches from before the design was frozen" in row["gain"]["why"]
    others = {one["contrast"] for one in row["against"]}
    assert f"{RUN}-52 - {RUN}-26" in others
    with Store.open(str(tmp_path / "arena.db")) as store:
        log = store.deviations(second["tournament"]["design"])
        names = store.design(second["tournament"]["design"]).design.names(Role.SELLER).values()
    assert {entry.reason for entry in log} == {f"an evaluation of {RUN}-52"}
    assert list(names) == [BASE, f"{RUN}-52", f"{RUN}-26", "accept_first", "stall"]


@pytest.mark.parametrize("status", ["done", "stopped", None, "interrupted", "failed"])
def test_a_run_that_may_go_on_is_told_before_play(tmp_path: Path, status: str | None) -> None:
    """What its last checkpoint will be judged by is then played before that is decided."""
    store_run(tmp_path / "arena.db", status)
    (tmp_path / "plan.yaml").write_text(TEMPLATE)
    plan = ("--design", str(tmp_path / "plan.yaml"), "--db", str(tmp_path / "arena.db"))
    words = CliRunner().invoke(app, ["evaluate", RUN, *plan], env={"ARENA_DB": None}).stderr
    note = f"note: {RUN} is not done ({status or 'running'}): a later design"
    assert (note in words) == (status not in ("done", "stopped"))
    assert ("is not done" in words) == (note in words)
    assert words.find(note) < words.index("linear")


def test_a_run_without_a_record_is_not_told(tmp_path: Path) -> None:
    store_run(tmp_path / "arena.db", None)
    profile = Profile(base=BASE, lineage={"run": "apart", "step": 9})
    with Store.open(str(tmp_path / "arena.db")) as store:
        spec = build_spec("linear", floor=0.2)
        store.add_registrations([Registration("apart-9", spec, "seller", profile, *known(None)[1:])])
    (tmp_path / "plan.yaml").write_text(TEMPLATE)
    plan = ("--design", str(tmp_path / "plan.yaml"), "--db", str(tmp_path / "arena.db"))
    done = CliRunner().invoke(app, ["evaluate", "apart", *plan], env={"ARENA_DB": None})
    assert done.exit_code == 0, done.output
    assert "is not done" not in done.stderr


def store_seeds(folder: Path) -> None:
    """Store runs of one base: two seeds of one arm, one twice, and another arm that ended early."""
    store_run(folder / "arena.db")
    saved = {
        ("one", "a", 0, 26): build_spec("linear", floor=0.16),
        ("one", "a", 0, 52): build_spec("linear", floor=0.18),
        ("two", "a", 1, 52): build_spec("linear", floor=0.22),
        ("again", "a", 1, 52): build_spec("linear", floor=0.23),
        ("rest", "b", 0, 9): build_spec("linear", floor=0.3),
    }
    with Store.open(str(folder / "arena.db")) as store:
        for run in ("one", "two", "again", "rest"):
            store.add_training_run(run, {})
        store.add_registrations(
            Registration(
                *(f"{run}-{step}", spec, "seller"),
                Profile(base=BASE, lineage={"run": run, "step": step, "arm": arm, "seed": seed}),
                *known(None)[1:],
            )
            for (run, arm, seed, step), spec in saved.items()
        )
    (folder / "plan.yaml").write_text(TEMPLATE)


def test_runs_of_one_base_are_judged_together_and_seeds_of_an_arm_averaged(tmp_path: Path) -> None:
    store_seeds(tmp_path)
    runs = ("one", "two", "again", "rest")
    found = json.loads(evaluate(tmp_path, "--last", "--json", runs=runs))
    assert [row["agent"] for row in found["checkpoints"]] == ["one-52", "two-52", "again-52", "rest-9"]
    assert all(row["gain"]["confirmatory"] for row in found["checkpoints"])
    one, two, *_ = found["checkpoints"]
    opened, held_out = found["seed_means"]
    for panel, mean in enumerate((opened, held_out)):
        assert (mean["agents"], mean["step"], mean["held_out"]) == (["one-52", "two-52"], 52, panel == 1)
        gains = [row["value"][panel]["gain"]["value"] for row in (one, two)]
        assert mean["gain"]["value"] == pytest.approx(np.mean(gains))
        assert mean["gain"]["low"] < mean["gain"]["value"] < mean["gain"]["high"]
        better = [row["value"][panel]["better_deals"]["value"] for row in (one, two)]
        assert mean["parts"]["better deals"]["value"] == pytest.approx(np.mean(better))
        assert sum(part["value"] for part in mean["parts"].values()) == pytest.approx(np.mean(gains))
    stall = [row["against"][1]["difference"] for row in (one, two)]
    assert opened["against"]["stall"]["value"] == pytest.approx(np.mean(stall))
    assert held_out["against"] == {}
    text = " ".join(evaluate(tmp_path, "--last", runs=runs).split())
    assert "Means of checkpoints that differ in seed alone" in text
    assert f"{opened['gain']['value']:+.3f}" in text
    assert "one-52, two-52" in text


def test_a_step_is_asked_of_every_run(tmp_path: Path) -> None:
    store_seeds(tmp_path)
    assert "two has no checkpoint of step 26; it has 52" in evaluate(
        tmp_path, "--step", "26", runs=("one", "two"), expect=2
    )
    alone = json.loads(evaluate(tmp_path, "--json", runs=("one",)))
    assert [row["agent"] for row in alone["checkpoints"]] == ["one-26", "one-52"]
    assert alone["seed_means"] == []


def test_the_base_is_known_by_its_weights_whoever_has_its_name(tmp_path: Path) -> None:
    own = {"prompt_version": "brief1", "sampling": {"temperature": 1.0}}
    base, arm, other = (AgentSpec(kind="local", model=m, revision=m * 12, **own) for m in "abc")
    lineage = {"run": RUN, "step": 26, "base_weights": base.revision}
    with Store.open(str(tmp_path / "arena.db"), create=True) as store:
        saved = Registration("arm", arm, "seller", Profile(base="b", lineage=lineage), *known(None)[1:])
        store.add_registrations(
            [Registration("b", spec, "seller", *known(None)) for spec in (base, other)] + [saved]
        )
        assert base_of([saved], store) == f"b@{base.version}"
        store.withdraw_agent("b", base.version, "a mistake")
        with pytest.raises(UserError, match="not registered with the prompt and sampling"):
            base_of([saved], store)


def test_checkpoints_of_equal_weights_are_judged_once(tmp_path: Path) -> None:
    """A step whose groups all tie changes no weight."""
    store_run(tmp_path / "arena.db")
    (tmp_path / "plan.yaml").write_text(TEMPLATE)
    twins = {"idle": build_spec("linear", floor=0.4), "still": SAVED[52]}
    with Store.open(str(tmp_path / "arena.db")) as store:
        for run, spec in twins.items():
            store.add_training_run(run, {})
            profile = Profile(base=BASE, lineage={"run": run, "step": 52})
            store.add_registrations(
                [Registration(f"{run}-52", spec, "seller", profile, *known(None)[1:])]
            )
    command = ["evaluate", RUN, "idle", "still", "--design", str(tmp_path / "plan.yaml"), "--json"]
    done = CliRunner().invoke(
        app, [*command, "--db", str(tmp_path / "arena.db")], env={"ARENA_DB": None}
    )
    assert done.exit_code == 0, done.output
    assert [row["agent"] for row in json.loads(done.stdout)["checkpoints"]] == [f"{RUN}-26", f"{RUN}-52"]
    assert f"idle-52 has the very weights of {BASE}" in done.stderr
    assert f"still-52 has the very weights of {RUN}-52" in done.stderr
    said = evaluate(tmp_path, runs=("idle",), expect=2)
    assert "Nothing was learned" in said


def test_mistakes_are_told_and_leave_no_design_behind(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    (tmp_path / "plan.yaml").write_text(TEMPLATE)
    missing = ["evaluate", "x", "--design", "y", "--db", str(path)]
    said = CliRunner().invoke(app, missing, env={"ARENA_DB": None})
    assert said.exit_code == 2
    assert said.stderr == (
        f"Error: there is no training run here, since there is no database at {path}: name the one that "
        "holds it with --db, or train (arena train)\n"
    )
    assert not path.exists()
    store_run(path)
    assert "it has 26, 52" in evaluate(tmp_path, "--step", "27", expect=2)
    assert "no design yet" in evaluate(tmp_path, design="ffff", expect=2)
    with Store.open(str(path)) as store:
        store.add_training_run("young", {})
    young = ["evaluate", "young", "--design", "y", "--db", str(path)]
    assert "no checkpoint of young is registered yet" in CliRunner().invoke(app, young).stderr
    near = ["evaluate", "studie", "--design", "y", "--db", str(path)]
    assert f"did you mean {RUN}?" in CliRunner().invoke(app, near).stderr
    with Store.open(str(path)) as store:
        assert not store.designs()
        for step, spec in SAVED.items():
            store.withdraw_agent(f"{RUN}-{step}", spec.version, "a bad batch")
    assert "every checkpoint of study is withdrawn" in evaluate(tmp_path, expect=2)


def test_it_is_run_as_a_tournament_is(tmp_path: Path) -> None:
    """With the same options for money, servers and the log."""
    store_run(tmp_path / "arena.db")
    entry = {"name": "m", "model": "openai/m", "api_base": "http://127.0.0.1:9/v1"}
    with Store.open(str(tmp_path / "arena.db")) as store:
        Registry(store).register([entry_from(entry)])
    (tmp_path / "plan.yaml").write_text(TEMPLATE.replace("tit_for_tat", "m"))
    assert "what m costs is not known" in evaluate(tmp_path, "--budget", "5", "--yes", expect=2)
    for option, other in (("--allow-unpriced", "--budget"), ("--servers=2", "--serve")):
        assert f"{option.partition('=')[0]} goes with {other}" in evaluate(tmp_path, option, expect=2)
    (tmp_path / "plan.yaml").write_text(TEMPLATE)
    log = tmp_path / "log.jsonl"
    evaluate(tmp_path, "--budget", "5", "--cache", "--retry-voids", "--log-file", str(log))
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert (events[0], events[-1]) == ("run_started", "run_ended")


def test_without_one_base_there_is_no_gain(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    store_run(path)
    stray = Registration(
        *("stray", spec_of("micro"), "seller"),
        Profile(base="other", lineage={"run": RUN, "step": 80}),
        *known(None)[1:],
    )
    with Store.open(str(path)) as store:
        store.add_registrations([stray])
    (tmp_path / "plan.yaml").write_text(TEMPLATE)
    assert "do not name one base" in evaluate(tmp_path, expect=2)


def test_what_is_missing_makes_it_exit_with_1(tmp_path: Path) -> None:
    store_run(tmp_path / "arena.db")
    (tmp_path / "plan.yaml").write_text("buyers: [linear]\ndomains: [bread]\nscenarios: 6\n")
    whole = json.loads(evaluate(tmp_path, "--step", "52", "--json"))
    with Store.open(str(tmp_path / "arena.db")) as store:
        store.withdraw_match(store.matches(Filter())[0].key, "played by mistake")
    assert "1 match is withdrawn" in evaluate(tmp_path, "--step", "52", expect=1)
    assert [one["held_out"] for one in whole["checkpoints"][0]["value"]] == [False]
    assert whole["checkpoints"][0]["against"] == []


@pytest.mark.parametrize("kept", [0, 1, 30, 300])
def test_what_was_stopped_early_is_shown_as_far_as_it_goes(
    folder: Path, kept: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(str(folder / "arena.db")) as store:
        design = store.design().design
        whole = store.results(design)
    few = whole.where(np.arange(len(whole.key_M)) < kept)
    base, *saved = [player.version for player in design.sellers][:3]
    found = evaluated(few, base, saved, {})
    assert [one.name for one in found] == [f"{RUN}-26", f"{RUN}-52"]
    said = [one.to_json(design.hash) for one in found]
    json.dumps(said, allow_nan=False)
    show(found, design, None)
    text = capsys.readouterr().out
    panels = [panel for one in found for panel in (one.gain, one.gain.held_out) if panel is not None]
    unplayed = [panel for panel in panels if not panel.cells]
    assert text.count("not played: no cell was completed by all of its agents") == len(unplayed)
    assert text.count("confirmatory") == len(panels) - len(unplayed)
    assert kept > 0 or unplayed == panels
    for one in said:
        assert (one["gain"]["adjusted_p"] is None) == (one["gain"]["cells"] == 0)
