"""The command line: contracts of --json, exit codes, messages for people's mistakes, help."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from arena.cli import app
from tests.arena.running import ROOT, arena, command, environment, invoke, rows

PLAYED = ("run-tournament", "--sellers", "boulware,random", "--buyers", "linear,hardliner")
SMALL = (*PLAYED, "--domains", "coffee_import,car_sale", "--scenarios", "2")
PIPE = 65_536
"""Bytes that Linux holds in a pipe before the writer has to wait."""


pytestmark = pytest.mark.usefixtures("own_folder")


def refused(*arguments: object) -> str:
    """Run a command that a user got wrong; return the one sentence it says about it."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    *_, said = done.stderr.splitlines()
    assert said.startswith("Error: ")
    assert "Traceback" not in done.stderr
    return said


# run-tournament


def test_json_of_run_tournament() -> None:
    keys = ["design", "planned", "already", "played", "void", "left", "seconds", "withdrawn"]
    keys += ["interrupted", "ended_early", "void_by_reason", "cost_usd", "known_cost_usd"]
    keys += ["unknown_at_most_usd", "agents", "attention"]
    first = json.loads(invoke(*SMALL, "--json"))
    assert list(first) == keys
    assert first["planned"] == first["played"] == 2 * 2 * 2 * 2
    wider = json.loads(invoke(*SMALL[:-1], "3", "--json"))
    assert (wider["planned"], wider["already"], wider["played"]) == (24, 16, 8)
    for report in (first, wider):
        parts = (report[part] for part in ("already", "played", "void", "left"))
        assert report["planned"] == sum(parts)
    again = json.loads(invoke(*SMALL, "--json"))
    assert again["design"] == first["design"]
    assert (again["already"], again["played"]) == (16, 0)


def test_exit_codes_and_streams(tmp_path: Path) -> None:
    """0: all is scored; 1: something is missing; 2: a mistake. Results on stdout, the rest on stderr."""
    done = arena(*SMALL, cwd=tmp_path)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 3
    assert "16 matches planned; 16 to play" in done.stderr
    assert "16 played already" in CliRunner().invoke(app, SMALL).stderr
    invoke("withdraw", "--match", next(iter(rows(tmp_path / "arena.db"))), "--reason", "a test")
    assert json.loads(invoke(*SMALL, "--json", code=1))["left"] == 1
    mistake = arena(*SMALL, "--domains", "nowhere", cwd=tmp_path)
    assert mistake.returncode == 2
    assert mistake.stdout == ""
    assert "nowhere" in mistake.stderr
    assert "Traceback" not in mistake.stderr


def test_three_lines_at_the_end() -> None:
    played, attention, following = invoke(*SMALL).splitlines()
    assert re.fullmatch(r"Played: 16 matches in .+ s; 16 of 16 scored\.", played)
    assert attention == "Attention: nothing."
    assert following == "Next: arena standings"


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*SMALL, "--dry-run", "--json"])
    told = {"planned": 16, "already": 0, "played": 0, "void": 0, "left": 16, "seconds": 0.0}
    assert json.loads(done.stdout).items() >= told.items()
    assert "2 sellers x 2 buyers on 2 domains (car_sale held out), 2 scenarios each" in done.stderr
    assert list(tmp_path.iterdir()) == []
    invoke(*SMALL)
    before = rows(tmp_path / "arena.db")
    assert json.loads(invoke(*SMALL, "--dry-run", "--json"))["already"] == 16
    assert rows(tmp_path / "arena.db") == before


def test_the_default_line_up_is_everyone() -> None:
    invoke("register", "mine", "--scripted", "boulware", "--set", "exponent=0.1", "--role", "seller")
    done = CliRunner().invoke(app, ["run-tournament", "--dry-run", "--json"])
    assert json.loads(done.stdout)["planned"] == 11 * 6 * 9 * 64
    assert "sellers: mine, boulware, linear" in done.stderr
    assert "6 of the pairs are an agent against itself" in done.stderr


def test_forfeits_need_attention(tmp_path: Path) -> None:
    source = (
        "class Bot:\n    def begin(self, role, brief, rng):\n        raise RuntimeError('not today')\n"
    )
    (tmp_path / "broken_bot.py").write_text(source)
    invoke("register", "broken", "--plugin", "broken_bot:Bot")
    said = invoke(
        *("run-tournament", "--sellers", "broken,boulware", "--buyers", "linear", "--scenarios", 1),
        *("--domains", "car_sale,coffee_import"),
    )
    assert "Attention: broken forfeited 2 (arena matches --ending forfeit_code)." in said


def test_agents_that_cost_money_need_yes(tmp_path: Path) -> None:
    invoke("register", "dear", "--model", "anthropic/claude-sonnet-5")
    assert "dear may cost money: add --yes" in refused("run-tournament", "--scenarios", 1)
    assert rows(tmp_path / "arena.db") == {}
    invoke("run-tournament", "--scenarios", 1, "--dry-run")


def test_an_unset_key_is_told_before_anything_is_played(tmp_path: Path) -> None:
    invoke("register", "m", "--model", "openai/x", "--api-key-env", "NO_SUCH_KEY")
    said = refused("run-tournament", "--sellers", "m", "--yes")
    assert "m needs its key in the environment variable NO_SUCH_KEY: export it" in said
    assert not rows(tmp_path / "arena.db")


def test_a_plan_needs_no_key_and_names_all_that_are_missing() -> None:
    for name, model in (("m", "gpt-4o"), ("n", "gpt-4o-mini")):
        invoke("register", name, "--model", f"openai/{model}", "--api-key-env", f"NO_SUCH_KEY_{name}")
    play = ("run-tournament", "--sellers", "m,n", "--buyers", "linear", "--domains", "bread")
    said = (
        "m needs its key in the environment variable NO_SUCH_KEY_m; "
        "n needs its key in the environment variable NO_SUCH_KEY_n: export them"
    )
    planned = CliRunner().invoke(app, [*play, "--dry-run"])
    assert planned.exit_code == 0
    assert f"  note: {said}\n" in planned.stderr
    assert "cost:    about $" in planned.stderr
    assert refused(*play, "--yes") == f"Error: {said}"


def test_a_design_file_stands_for_the_options(tmp_path: Path) -> None:
    first = json.loads(invoke(*SMALL, "--infeasible", 1, "--turns", 4, "--json"))
    (tmp_path / "d.json").write_text(invoke("design", "show", first["design"], "--json"))
    for design in ("d.json", first["design"], first["design"][:6]):
        again = json.loads(invoke("run-tournament", "--design", design, "--json"))
        assert again["design"] == first["design"]
        assert again["already"] == first["planned"]
    fresh = ("--design", "d.json", "--db", "elsewhere.db")
    assert json.loads(invoke("run-tournament", *fresh, "--json"))["played"] == first["planned"]
    (tmp_path / "d.yaml").write_text(
        "sellers: [boulware, random]\nbuyers: [linear, hardliner]\n"
        "scenarios: 2\ninfeasible: 1\nturns: 4\n"
        "domains: [coffee_import, {name: car_sale}]\n"
    )
    again = json.loads(invoke("run-tournament", "--design", "d.yaml", "--json"))
    assert (again["design"], again["played"]) == (first["design"], 0)
    open_too = (tmp_path / "d.yaml").read_text().replace("car_sale", "car_sale, held_out: false")
    (tmp_path / "open.yaml").write_text(open_too)
    other = json.loads(invoke("run-tournament", "--design", "open.yaml", "--json"))
    assert other["design"] != first["design"]
    assert other["already"] == first["planned"]
    assert "--design says all that --seed would" in refused(
        "run-tournament", "--design", "d.json", "--seed", 1
    )
    (tmp_path / "bad.yaml").write_text("sellers: [boulware]\ncolour: 3\n")
    assert "bad.yaml: colour: no such field" in refused("run-tournament", "--design", "bad.yaml")
    assert "no design" in refused("run-tournament", "--design", "ffff")


def test_a_domain_of_ones_own(tmp_path: Path) -> None:
    bundled = (ROOT / "scenarios" / "trade" / "car_sale.yaml").read_text()
    mine = re.sub("^name: .*", "name: mine", bundled, flags=re.MULTILINE)
    (tmp_path / "mine.yaml").write_text(mine.replace("held_out: true", "held_out: false"))
    invoke(*PLAYED, "--domains", "mine.yaml,car_sale", "--scenarios", 2)
    listed = [json.loads(line) for line in invoke("matches", "--json").splitlines()]
    assert {(m["domain"], m["held_out"]) for m in listed} == {("mine", False), ("car_sale", True)}
    # The database holds the domain: the design can be played on without the file.
    (tmp_path / "mine.yaml").unlink()
    design = json.loads(invoke("designs", "--json"))[0]["design"]
    assert json.loads(invoke("run-tournament", "--design", design, "--json"))["already"] == 16


# matches and show


def test_json_of_matches_is_what_is_stored(tmp_path: Path) -> None:
    invoke(*SMALL)
    listed = [json.loads(line) for line in invoke("matches", "--json").splitlines()]
    stored = rows(tmp_path / "arena.db")
    assert [list(match) for match in listed] == [
        [
            *("key", "seller", "buyer", "domain", "held_out", "scenario", "opener", "replicate"),
            *("ending", "at_fault", "deal", "seller_utility", "buyer_utility", "turns", "tokens"),
            *("cost_usd", "worker"),
        ]
    ] * len(stored)
    assert {match["key"] for match in listed} == stored.keys()
    for match in listed:
        row = stored[match["key"]]
        for field in ("opener", "replicate", "ending", "seller_utility", "buyer_utility", "turns"):
            assert match[field] == row[field]
        assert match["held_out"] == (match["domain"] == "car_sale")
        assert match["scenario"].startswith(f"{match['domain']}@")
        assert (match["deal"] is None) == (match["ending"] != "agreement")
        assert match["tokens"] is match["cost_usd"] is match["at_fault"] is None
        if match["deal"]:
            assert len(match["deal"]) == 9
            assert all(isinstance(option, str) for option in match["deal"].values())


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (("--seller", "boulware"), 8),
        (("--seller", "boulware,random", "--buyer", "hardliner"), 8),
        (("--domain", "car_sale"), 8),
        (("--ending", "walk_away"), 0),
        (("--limit", "3"), 3),
        (("--void",), 0),
    ],
    ids=str,
)
def test_filters_of_matches(filters: tuple[str, ...], count: int) -> None:
    invoke(*SMALL)
    assert len(invoke("matches", "--json", *filters).splitlines()) == count


def test_matches_are_those_of_one_design() -> None:
    old = json.loads(invoke(*SMALL, "--json"))["design"]
    invoke(*SMALL, "--turns", 3, "--sellers", "logroller")

    def sellers(*filters: str) -> set[str]:
        listed = invoke("matches", "--json", *filters).splitlines()
        return {json.loads(line)["seller"] for line in listed}

    assert sellers() == {"logroller"}
    assert sellers("--design", old) == {"boulware", "random"}
    assert sellers("--all") == {"boulware", "random", "logroller"}
    assert "no seller is called boulware here" in refused("matches", "--seller", "boulware")


def test_two_versions_of_a_name_are_told_apart() -> None:
    for exponent in ("0.2", "0.3"):
        invoke("register", "b", "--scripted", "boulware", "--set", f"exponent={exponent}")
    old, new = (a["version"] for a in json.loads(invoke("agents", "--all", "--json"))[:2])
    invoke(*SMALL, "--sellers", f"b,b@{old[:6]}")
    listed = [json.loads(line) for line in invoke("matches", "--json").splitlines()]
    assert {match["seller"] for match in listed} == {f"b@{old}", f"b@{new}"}
    assert len(invoke("matches", "--json", "--seller", f"b@{old}").splitlines()) == 8
    assert len(invoke("matches", "--json", "--seller", "b").splitlines()) == 16


def test_show_prints_the_match_and_its_json(tmp_path: Path) -> None:
    invoke(*SMALL, "--buyers", "conceder")
    listed = [json.loads(line) for line in invoke("matches", "--json").splitlines()]
    match = next(m for m in listed if m["ending"] == "agreement" and m["turns"] > 2)
    shown = json.loads(invoke("show", match["key"][:12], "--json"))
    assert shown | {"turns": match["turns"]} == shown | match
    assert len(shown["turns"]) == match["turns"]
    *_, offered, accepted = shown["turns"]
    assert accepted["action"] == "accept"
    assert offered["terms"] == match["deal"]
    assert (offered["seller_utility"], offered["buyer_utility"]) == (
        match["seller_utility"],
        match["buyer_utility"],
    )
    text = invoke("show", match["key"])
    for number, side in enumerate(("seller", "buyer")):
        assert f"{shown['walk_away'][side]:.4f}" in text
        for point in ("nash", "kalai", "kalai_smorodinsky", "utilitarian"):
            assert f"{shown['reference_points'][point][side]:.4f}" in text
        line = next(line for line in text.splitlines() if line.startswith("score "))
        assert line.split()[1 + number] == f"{match[f'{side}_utility']:.4f}"
    assert "AGREEMENT" in text
    assert all(option in text for option in match["deal"].values())


def test_what_agents_write_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "from agents.agent import Reply, Action, walk_away\n"
        "class Bot:\n"
        "    def begin(self, role, brief, rng): self.asked = 0; return self\n"
        "    def reply(self, view):\n"
        "        if view.fault is None:\n"
        "            return Reply(Action('accept'), '\\x1b[2Jfirst [red]attempt', 'thinking \\x07')\n"
        "        return walk_away('\\x1b]0;title\\x07bye [bold]now[/bold]\\u202e', 'why')\n"
    )
    invoke("register", "loud", "--plugin", "loud:Bot")
    invoke(
        *PLAYED[:1], "--sellers", "loud", "--buyers", "linear", "--scenarios", 1, "--opener", "seller"
    )
    key = json.loads(invoke("matches", "--json").splitlines()[0])["key"]
    text = invoke("show", key)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert r"\x1b]0;title\x07bye [bold]now[/bold]\u202e" in text
    assert "nothing_to_accept" in text
    assert r"\x1b[2Jfirst [red]attempt" in text.replace("\\\\", "\\").replace(r"\u001b", r"\x1b")
    assert "WALK_AWAY" in text


def test_void_attempts_are_listed_and_shown(tmp_path: Path) -> None:
    invoke("register", "down", "--plugin", "tests.arena.bots:Unreachable", "--set", "failures=1000")
    whom = ["--sellers", "down", "--buyers", "linear", "--domains", "car_sale"]
    done = CliRunner().invoke(app, ["run-tournament", *whom, "--scenarios", "1"])
    assert done.exit_code == 1
    assert "1 match is void every time and missing" in done.stdout
    assert "arena matches --void" in done.stdout
    assert "--retry-voids" in done.stdout
    listed = [json.loads(line) for line in invoke("matches", "--void", "--json").splitlines()]
    assert [match["attempt"] for match in listed] == [1, 2, 3, 4]
    assert {(m["ending"], m["detail"]) for m in listed} == {("provider_error", "connection refused")}
    assert {(m["at_fault"], m["seller_utility"]) for m in listed} == {("seller", None)}
    assert "PROVIDER_ERROR" in invoke("show", listed[0]["key"], "--void")
    assert "--void shows the last one" in refused("show", listed[0]["key"])


def test_a_long_detail_keeps_to_the_line_of_its_attempt(tmp_path: Path) -> None:
    (tmp_path / "wordy.py").write_text(
        "from agents.agent import ProviderError, Trouble\n"
        "class Bot:\n"
        "    def begin(self, role, brief, rng): return self\n"
        "    def reply(self, view): raise ProviderError('nobody is there ' * 20, Trouble.CONNECTION)\n"
    )
    invoke("register", "wordy", "--plugin", "wordy:Bot")
    whom = ("--sellers", "wordy", "--buyers", "linear", "--domains", "car_sale", "--scenarios", "1")
    CliRunner().invoke(app, ["run-tournament", *whom])
    told = [json.loads(line) for line in invoke("matches", "--void", "--json").splitlines()]
    assert [match["detail"].strip() for match in told] == [("nobody is there " * 20).strip()] * 4
    *_, rule, first, second, third, fourth = invoke("matches", "--void").strip().splitlines()
    assert set(rule.strip()) == {"─"}
    for line in (first, second, third, fourth):
        assert line.strip().startswith(told[0]["key"][:10])
        assert line.rstrip().endswith("nobody is there nobody is there nobod...")


# the registry's commands, designs, mistakes


def test_register_list_and_withdraw(tmp_path: Path) -> None:
    said = invoke("register", "Müller 価格", "--model", "openai/gpt-4o", "--temperature", 0, "--seed", 0)
    assert "Müller 価格@" in said
    found = json.loads(invoke("agents", "--json"))[0]
    assert found["name"] == "Müller 価格"
    assert found["spec"]["sampling"] == {"max_tokens": 4096, "seed": 0, "temperature": 0.0}
    assert "Müller 価格" in invoke("agents")
    assert "is registered just so already" in invoke(
        "register", "Müller 価格", "--model", "openai/gpt-4o", "--temperature", "0.0", "--seed", 0
    )
    assert "updated" in invoke(
        *("register", "Müller 価格", "--model", "openai/gpt-4o", "--temperature", 0, "--seed", 0),
        *("--api-base", "http://127.0.0.1:1/v1"),
    )
    taken = json.loads(invoke("withdraw", "Müller 価格", "--reason", " too slow\n", "--json"))
    assert taken == [
        {
            "agent": "Müller 価格",
            "version": found["version"],
            "match": None,
            "reason": "too slow",
            "designs": [],
        }
    ]
    assert all(agent["name"] != "Müller 価格" for agent in json.loads(invoke("agents", "--json")))
    (gone,) = [a for a in json.loads(invoke("agents", "--all", "--json")) if a["withdrawn_at"]]
    assert gone["withdrawn_reason"] == "too slow"
    assert "too slow" in invoke("agents", "--all")


def test_a_mistaken_tournament_creates_no_database(tmp_path: Path) -> None:
    assert "nobody" in refused("run-tournament", "--sellers", "nobody")
    assert list(tmp_path.iterdir()) == []


def test_agents_without_a_database_creates_none(tmp_path: Path) -> None:
    assert "boulware" in invoke("agents")
    assert list(tmp_path.iterdir()) == []


def test_designs_are_listed_newest_first() -> None:
    first = json.loads(invoke(*SMALL, "--json"))["design"]
    second = json.loads(invoke(*SMALL, "--seed", 1, "--json"))["design"]
    listed = json.loads(invoke("designs", "--json"))
    assert [entry["design"] for entry in listed] == [second, first]
    assert [(e["planned"], e["scored"]) for e in listed] == [(16, 16), (16, 16)]
    assert first in invoke("designs")
    content = json.loads(invoke("design", "show", first, "--json"))
    assert [player["name"] for player in content["sellers"]] == ["boulware", "random"]


def test_the_database_by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_DB", f"sqlite:///{tmp_path}/env.db")
    invoke(*SMALL)
    assert len(rows(tmp_path / "env.db")) == 16
    assert not (tmp_path / "arena.db").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("run-tournament --sellers boulwar", "did you mean boulware"),
        ("run-tournament --sellers boulware,boulware", "stands twice"),
        ("run-tournament --domains car_sale,car_sale", "stands twice"),
        ("run-tournament --domains gone.yaml", "gone.yaml"),
        ("run-tournament --opener nobody", "opener"),
        ("run-tournament --design gone.json", "gone.json"),
        ("run-tournament --scenarios 2000000 --dry-run", "scenarios"),
        ("run-tournament --db no/where.db", "lies in one that does not exist"),
        ("run-tournament --db .", "it is a folder"),
        ("run-tournament --sellers=", "name at least one seller"),
        ("run-tournament --buyers=,", "name at least one buyer"),
        ("run-tournament --turns 99999999999999999999", "turns"),
        ("run-tournament --seed 99999999999999999999", "seed"),
        ("run-tournament --replicates 99999999999999999999", "replicates"),
        (f"run-tournament --design {'x' * 5000}", "no design"),
        (f"matches --db {'x' * 5000}", "there is no database"),
        ("matches", "there is no database at arena.db"),
        ("show 123", "there is no database at arena.db"),
        ("designs --db gone.db", "gone.db"),
        ("standings", "there is no database at arena.db"),
        ("withdraw --reason x", "name an agent"),
        ("register", "give the agent a name"),
        ("register a --scripted linear --set x", "KEY=VALUE"),
        ("register a --file x.yaml --model y/z", "--file stands alone"),
        ("register --file x.yaml", "x.yaml"),
        ("register a@b --scripted linear", "separates a version"),
    ],
)
def test_mistakes_get_one_sentence(arguments: str, why: str) -> None:
    assert why in refused(*arguments.split())


def test_matches_of_what_nobody_planned_are_refused() -> None:
    invoke(*SMALL)
    near = "there are: car_sale, coffee_import; did you mean coffee_import?"
    assert near in refused("matches", "--domain", "cofee_import")
    assert "there are: boulware, random; did you mean boulware?" in refused(
        "matches", "--seller", "bulware"
    )


def test_the_largest_seed_plays_and_can_be_stored() -> None:
    done = json.loads(invoke(*SMALL, "--seed", 1_000_000_000, "--json"))
    assert (done["planned"], done["played"]) == (16, 16)


def encoded(encoding: str, *arguments: str) -> str:
    """Run a command in this process whose streams have that encoding; return what it printed."""
    done = CliRunner(charset=encoding).invoke(app, arguments)
    assert done.exit_code == 0, f"{done.output}\n{done.exception}"
    return done.stdout


def test_output_that_is_not_unicode(tmp_path: Path) -> None:
    """What cannot be printed is escaped: JSON stays the same JSON, and nothing fails."""
    invoke("register", "Zoë 🤖", "--scripted", "boulware", "--set", "floor=0.2")
    invoke("run-tournament", "--sellers", "Zoë 🤖", *SMALL[3:])
    for arguments in (("matches", "--json"), ("standings", "--json"), ("agents", "--json")):
        unicode = encoded("utf-8", *arguments)
        assert "Zoë 🤖" in str(_read(unicode))
        for encoding in ("ascii", "latin-1"):
            escaped = encoded(encoding, *arguments)
            assert escaped.isascii()
            assert _read(escaped) == _read(unicode)
    for arguments in (("matches",), ("standings",), ("scenarios", "show", "car_sale")):
        encoded("ascii", *arguments)
    process = arena("matches", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert process.returncode == 0, process.stderr
    assert r"Zo\xeb" in process.stdout


def _read(printed: str) -> list[Any]:
    """Return the JSON of one document, or of one a line."""
    return (
        json.loads(printed) if printed[0] == "[" else [json.loads(line) for line in printed.splitlines()]
    )


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    invoke(*SMALL[:-1], 40)
    assert len(invoke("matches", "--json")) > 2 * PIPE, "all of it would fit into the pipe"
    line = " ".join([*command("matches", "--json"), "| head -n 1"])
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.stdout.startswith('{"key": "')
    assert done.stderr == ""


# help


def _walk(node: Any, path: str = "arena"):
    yield path, node
    for name, child in getattr(node, "commands", {}).items():
        yield from _walk(child, f"{path} {name}")


COMMANDS = dict(_walk(typer.main.get_command(app)))


def test_there_are_all_commands() -> None:
    assert {name.split(" ", 1)[1] for name in COMMANDS if " " in name} >= {
        *("register", "agents", "withdraw", "run-tournament", "designs", "matches", "show", "check"),
        *("design freeze", "design show", "design deviate"),
        *("standings", "leaderboard", "scenarios list", "scenarios show", "scenarios validate"),
        *("scenarios audit", "prompt show"),
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name: str) -> None:
    node = COMMANDS[name]
    assert node.help
    for parameter in node.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"
    assert "Usage" in invoke(*name.split()[1:], "--help")


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    heavy = ("torch", "litellm", "streamlit", "pandas", "sqlalchemy", "numpy", "scipy", "pydantic")
    script = (
        "import sys\n"
        "sys.argv = ['arena', '--help']\n"
        "from arena.cli import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
    )
    seconds, done = timed(script)
    assert "run-tournament" in done.stdout
    assert done.stderr.strip() == "[]"
    least, _ = timed("import typer\napp = typer.Typer()\napp.command()(lambda: None)\napp(['--help'])")
    assert seconds < 3 * least


def timed(script: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run a script in a process of its own; return its seconds of processor time, and what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        cwd=os.getcwd(),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("withdraw", "--match", "e", "--reason", "r"), "at least 6 digits"),
        (("power", "--cells", "10", "--sd", "inf"), "less than or equal to 1"),
        (("power", "--cells", "10", "--sd", "0.2", "--effect", "3"), "less than or equal to 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], said: str) -> None:
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_version() -> None:
    assert re.fullmatch(r"arena \d+\.\d+\.\d+\n", invoke("--version"))


def _documented(name: str) -> list[str]:
    """Return the keys that docs/tournaments.md lists first under a command's name."""
    page = (ROOT / "docs" / "tournaments.md").read_text()
    _, after = page.split(f"\n`{name}`", 1)
    return re.findall(r'"(\w+)"', after[: after.index("}")])


def test_the_documented_json_keys_are_those_printed() -> None:
    printed = {"run-tournament --json": json.loads(invoke(*SMALL, "--json"))}
    first = json.loads(invoke("matches", "--json").splitlines()[0])
    printed["matches --json"] = first
    printed["design show --json"] = json.loads(invoke("design", "show", "--json"))
    printed["designs --json"] = json.loads(invoke("designs", "--json"))[0]
    printed["agents --json"] = json.loads(invoke("agents", "--json"))[0]
    for name, content in printed.items():
        assert list(content) == _documented(name), name
    board = (ROOT / "docs" / "board.md").read_text().split("\n## `arena standings --json`", 1)[1]
    fields = [line.split("|")[1] for line in board[: board.index("\n## ")].splitlines() if "| `" in line]
    documented = re.findall(r"`(\w+)`", " ".join(fields))
    assert list(json.loads(invoke("standings", "--json"))[0]) == documented
    shown = json.loads(invoke("show", first["key"], "--json"))
    assert list(shown["turns"][0]) == _documented("show KEY --json")
    page = (ROOT / "docs" / "tournaments.md").read_text()
    for key in shown.keys() - first.keys():
        assert f"`{key}`" in page
