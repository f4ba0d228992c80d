"""Every command that the documentation shows runs, in order, in an empty folder.

Blocks fenced as ``sh`` are run as they stand; commands that install, start a server or take long are
named below and checked in another way. Everything else in the docs is fenced as ``text`` or ``yaml``.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(?:yaml|python) title=(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"^(make |git |arena leaderboard|python3? -m venv|pip install)")


def commands(page: Path) -> list[str]:
    """Return the page's shell commands, continuation lines joined."""
    text = "\n".join(BLOCK.findall(page.read_text())).replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    for name, content in FILE.findall(page.read_text()):
        (tmp_path / name).write_text(content)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("ARENA_DB", None)
    for command in commands(page):
        if NOT_RUN.match(command):
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


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
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name} links to {link}"
