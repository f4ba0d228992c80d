"""The arithmetic and the commands of docs/scale.md: its numbers are those of today's prompts, prices and
store, and what cannot be run here has at least the form that it has to have."""

import os
import re
import shlex
import subprocess
from dataclasses import replace

import pytest
import typer
import yaml

from arena.cli import app
from tests import scale

PAGE = scale.PAGE.read_text()
TITLED = dict(re.findall(r"^```\w+ title=(\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.slow
def test_the_tables_are_what_they_come_to_today() -> None:
    page = scale.in_page(PAGE, scale.tables())
    if os.environ.get("ARENA_UPDATE_GOLDEN") == "1":
        scale.PAGE.write_text(page)
    assert page == PAGE, "python -m tests.scale writes them anew"


def test_gpu_hours_of_a_match_that_can_be_worked_out_by_hand() -> None:
    one = scale.Lengths(calls=1, tokens_in=989e12 / 9e9, cached=0, tokens_out=0, stored=0)
    # A million times one second of an H100 at 40%, for 4.5 billion parameters.
    assert scale.gpu_hours("4.5b", one) == pytest.approx(1e6 / 0.4 / 3600)
    assert scale.gpus_kept_busy("4.5b", one) == pytest.approx(177 / 0.4)
    answers = scale.Lengths(calls=1, tokens_in=0, cached=0, tokens_out=64 * 3.35e12 / 9e9, stored=0)
    assert scale.gpu_hours("4.5b", answers) == pytest.approx(1e6 / 0.4 / 3600)
    assert scale.days(replace(answers, tokens_out=86.4), 2) == pytest.approx(12.5)


def arena_commands() -> list[str]:
    """Return the page's calls of `arena`, without what a shell makes of the rest of the line."""
    text = PAGE.replace("\\\n", " ")
    return re.findall(r"^\s*(?:kubectl .* -- |exec )?(arena .*?)(?: &)?(?: +#.*)?$", text, re.MULTILINE)


@pytest.mark.parametrize("shown", sorted(set(arena_commands())))
def test_the_command_line_takes_the_options_that_are_shown(shown: str) -> None:
    line = shown.replace('"${bases[@]}"', "--api-base http://node:8000/v1")
    found, context = typer.main.get_command(app), None
    arguments = shlex.split(line)[1:]
    while isinstance(found, typer.core.TyperGroup):
        name, *arguments = arguments
        found = found.get_command(context, name)
        assert found is not None, f"arena has no command {name}"
    found.make_context("arena", arguments)  # raises a UsageError for what it does not know


def test_manifests_and_scripts_have_their_form() -> None:
    kinds = [
        part["kind"] for name in ("arena.yaml", "ray.yaml") for part in yaml.safe_load_all(TITLED[name])
    ]
    assert kinds == ["Service", "StatefulSet", "Job", "RayCluster"]
    for name in ("arena.sbatch", "ray.sbatch"):
        subprocess.run(["bash", "-n"], input=TITLED[name], text=True, check=True)
    job = list(yaml.safe_load_all(TITLED["arena.yaml"]))[2]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    subprocess.run(["bash", "-n"], input=container["args"][0], text=True, check=True)
