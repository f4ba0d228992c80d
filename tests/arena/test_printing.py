"""JSON that a terminal may be sent; progress on stderr, with and without a terminal."""

import json
from io import BytesIO, TextIOWrapper

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agents import loading
from arena.cli import app
from arena.commands.printing import print_json, stages

BASE = "making the base"


def told(capsys: pytest.CaptureFixture[str], *heard: tuple[str, int, int]) -> list[str]:
    with stages() as stage:
        for what, done, total in heard:
            stage(what, done, total)
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def test_without_a_terminal_a_stage_says_that_it_begins_and_each_quarter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = [(BASE, done, 1_200) for done in range(1_201)]
    assert told(capsys, *made, ("training", 30, 60), ("training", 31, 60)) == [
        f"{BASE}: 0 of 1,200",
        f"{BASE}: 300 of 1,200",
        f"{BASE}: 600 of 1,200",
        f"{BASE}: 900 of 1,200",
        f"{BASE}: 1,200 of 1,200",
        "training: 30 of 60",
    ]


def test_the_command_line_says_at_once_that_a_library_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert CliRunner().invoke(app, ["agents", "--json"]).exit_code == 0
    with loading.shown("LiteLLM"):
        assert capsys.readouterr() == ("", "loading LiteLLM, which takes some seconds ...\n")
    assert capsys.readouterr() == ("", "")


def test_a_line_is_there_before_the_stage_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    with stages() as stage:
        stage(BASE, 0, 300)
        assert capsys.readouterr().err == f"{BASE}: 0 of 300\n"


def test_on_a_terminal_a_stage_is_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    lines = told(capsys, (BASE, 0, 300), (BASE, 300, 300))
    assert any(BASE in line for line in lines)
    assert not any("of 300" in line for line in lines)


@given(st.text(st.characters(codec=None), max_size=40), st.sampled_from([None, 2]))
def test_json_is_printable_whatever_a_model_said(words: str, indent: int | None) -> None:
    """Half a surrogate pair included; read as JSON it is what was said."""
    content, out = {words: [words]}, BytesIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", TextIOWrapper(out, encoding="utf-8", write_through=True))
        print_json(content, indent)
        printed = out.getvalue().decode()
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed) == json.loads(json.dumps(content))
