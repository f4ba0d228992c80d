"""Every command that the documentation shows runs, in order, in an empty folder.

Blocks fenced as ``sh`` are run as they stand: a line that only calls `arena` in this process, and what
needs a shell in one. Providers, and servers at the addresses that are shown, are stood in for on this
machine, as are the weights of a server that the arena starts. Commands that install, start a server or
take long are named below and checked in another way: a training by its plan, what follows it on a run
with scripted stand-ins for checkpoints. Everything else in the docs is fenced as ``text`` or ``yaml``.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.language_model import llama_cpp
from arena.cli import app
from tests.gguf_files import gguf
from tests.leaderboard.saved import store_run
from tests.stand_in_providers import ADDRESSES, stand_in_providers

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(?:yaml|python) title=(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"^(make |git |arena leaderboard|python3? -m venv|pip install)")
TRAINING = re.compile(r"^arena train (?!.*--dry-run)")
ADDRESS = re.compile(r"\b(?:http://127\.0\.0\.1:\d+|https://[\w.-]+\.example\.org)")
KEY = re.compile(r"api[-_]key[-_]env:? (\w+)")
GGUF = re.compile(r"--weights (\S+\.gguf)")

SERVED = ROOT / "tests" / "agents" / "language_model" / "stand_in.py"
"""Stands in for a llama.cpp server that the arena starts."""
SHELL = re.compile(r"[|<>$`;&*]")
"""Marks of a command that only a shell understands."""


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def commands(page: Path) -> list[str]:
    """Return the page's shell commands, continuation lines joined."""
    text = "\n".join(BLOCK.findall(page.read_text())).replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder without a database; modules imported from it are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_DB", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of what stands in for all providers, and for servers that the arena starts."""
    monkeypatch.setattr(llama_cpp, "command", lambda model: [sys.executable, str(SERVED), str(model)])
    with stand_in_providers() as address:
        for variable, path in ADDRESSES.items():
            monkeypatch.setenv(variable, address + path)
        yield address


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_run(page: Path, here: Path, providers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text()
    for name, content in FILE.findall(text):
        (here / name).write_text(content)
    for variable in KEY.findall(text):
        monkeypatch.setenv(variable, "no-key")
    for name in GGUF.findall(text):
        (here / name).write_bytes(gguf())
    for shown in commands(page):
        command = ADDRESS.sub(providers, shown)
        if NOT_RUN.match(command):
            continue
        if TRAINING.match(command):
            trained(command, here / "arena.db")
        elif command.startswith("arena ") and not SHELL.search(command):
            in_this_process(command)
        else:
            in_a_shell(command)


def in_this_process(command: str, *more: str) -> str:
    """Run a command of `arena` and return what it prints."""
    called = CliRunner().invoke(app, [*shlex.split(command, comments=True)[1:], *more])
    assert called.exit_code == 0, f"{command}\n{called.output[-4000:]}\n{called.exception}"
    return called.stdout


def trained(command: str, db: Path) -> None:
    """Make the plan of a training, and store a run of its name as if it had been trained."""
    plan = json.loads(in_this_process(command, "--dry-run", "--json"))
    store_run(db, name=plan["run"])


def in_a_shell(command: str) -> None:
    """Run a command as a user's shell would, in the current folder."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_the_pilot_of_a_night_plays_none_of_its_cells_but_all_of_its_domains(here: Path) -> None:
    """As shown, with scripted agents: what a design finds played makes it exploratory."""
    shown = commands(ROOT / "docs" / "tournaments.md")
    night = [line for line in shown if line.startswith("arena run-tournament --sellers sonnet,gpt")]
    pilot, plan, _ = (line.replace("sonnet,gpt", "boulware,random") for line in night)
    domains = [re.findall(r"--domains (\S+)", line) for line in (pilot, plan)]
    assert domains[0] == domains[1] != []
    assert json.loads(in_this_process(pilot, "--json"))["played"] > 0
    assert json.loads(in_this_process(plan, "--json"))["already"] == 0


def test_make_targets_in_the_docs_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    shown = {
        target
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]
        for target in re.findall(r"\bmake ([a-z][a-z-]*)\b", "\n".join(commands(page)))
    }
    assert shown, "the README shows no make command"
    for target in shown:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target} does not exist"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for link, place in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", page.read_text()):
            if link.startswith("http"):
                continue
            target = page.parent / link if link else page
            assert target.exists(), f"{_name(page)} links to {link}"
            assert not place or place in places(target), f"{_name(page)} links to {link}#{place}"


def places(page: Path) -> set[str]:
    """Return what the headings of a page are linked by, as GitHub and PyPI make it of them."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_linked_to() -> None:
    linked = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        if not link.startswith("http")
    }
    alone = {_name(page) for page in PAGES if page.resolve() not in linked}
    assert alone == {"README.md"}


def test_the_documented_keys_of_money_checks_and_logs(here: Path, providers: str) -> None:
    played = "run-tournament --sellers paid --buyers conceder --domains lamps,bikes --scenarios 2 --yes"
    priced = f"--model hosted_vllm/m --api-base {providers}/v1 --price-in 1 --price-out 2"
    in_this_process(f"arena register paid {priced}")
    in_this_process(f"arena {played} --log-file log.jsonl --drift 0.5")
    printed = {
        "costs": json.loads(in_this_process("arena costs --json"))[0],
        "check": json.loads(in_this_process("arena check paid --json")),
        "run-tournament": json.loads(in_this_process(f"arena {played} --json")),
        "db copy": json.loads(in_this_process("arena db copy arena.db copy.db --json")),
        "db check": json.loads(in_this_process("arena db check --json")),
    }
    page = (ROOT / "docs" / "tournaments.md").read_text()
    for name, content in printed.items():
        told = page.split(f"\n`{name} --json`\n", 1)[1]
        assert list(content) == re.findall(r'"(\w+)"', told[: told.index("}")]), name
    board = (ROOT / "docs" / "board.md").read_text()
    (missing,) = json.loads(in_this_process("arena voids --json"))
    listed = board.split("`voids --json` prints", 1)[1].split("`{", 1)[1].split("}")[0]
    assert missing.keys() == set(re.findall(r"\w+", listed))
    replay = json.loads(in_this_process("arena drift --json"))["replays"][0]
    listed = board.split("`replays` lists\nthem: `{", 1)[1].split("}")[0]
    assert list(replay) == re.findall(r"\w+", listed)
    rows = re.findall(r"^\| `(run_started|match_finished)` \| (.*) \|$", page, re.MULTILINE)
    lines = [json.loads(line) for line in (here / "log.jsonl").read_text().splitlines()]
    for event, keys in rows:
        line = next(line for line in lines if line["event"] == event)
        assert line.keys() - {"at", "run", "event"} == set(re.findall(r"`(\w+)`", keys)), event
