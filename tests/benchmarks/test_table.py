"""The table of all benchmarks: nothing that was measured is lost, and what was not is named."""

import json
import re
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as bench
from tests.benchmarks import running
from tests.benchmarks.figures import Figure
from tests.benchmarks.report import aim, cells

FOLDER = Path(__file__).parent
SHOWS = """
from tests.benchmarks.figures import Figure, show
apples = Figure("apples", 300.0, "/ s", "Pears 2", theirs=3.0, ratio=100.0, least=50)
show("a table of its own", {"more": [1]}, [apples])
"""
STAND_INS = {
    "broken": "raise RuntimeError('it broke')",
    "lacking": "import sys\nprint('set PEARS to a Python that has pears', file=sys.stderr)\nsys.exit(2)",
    "silent": "from tests.benchmarks.figures import show\nshow('no figures', {})",
    "whole": SHOWS,
}


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks that take no time."""
    package = tmp_path / "stand_in_benchmarks"
    package.mkdir()
    for name, source in {"__init__": "", **STAND_INS}.items():
        (package / f"{name}.py").write_text(source)
    monkeypatch.setattr(running, "PACKAGE", package.name)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(bench, "MINUTES", dict.fromkeys(STAND_INS, 0.1))


@pytest.mark.usefixtures("stand_ins")
def test_what_fails_is_named_and_loses_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "there" / "table"
    assert bench.main(["--out", str(out)]) == 1
    printed, told = capfd.readouterr()
    written = out.with_suffix(".md").read_text()
    assert written in printed
    assert "a table of its own" in printed
    assert "| whole | apples | 300 / s | Pears 2 | 3 / s | 100 | >= 50: reached |  |" in written
    found = json.loads(out.with_suffix(".json").read_text())
    assert found["not_measured"] == {
        "broken": "failed with exit code 1: RuntimeError: it broke",
        "lacking": "set PEARS to a Python that has pears",
        "silent": "showed no figures for this table",
    }
    assert found["results"]["whole"] == {"more": [1]}
    assert {"numpy", "Python"} <= found["versions"].keys()
    assert "processor" in found["machine"]
    assert "Traceback" in told  # of the one that broke
    for name, why in found["not_measured"].items():
        assert f"- {name}: {why}" in written


@pytest.mark.usefixtures("stand_ins")
def test_some_by_name_and_an_unknown_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(["lacking", "--out", str(tmp_path / "table")]) == 0
    assert "1 benchmarks" not in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        bench.main(["pears"])
    assert "no benchmark is called pears; there are broken" in capsys.readouterr().err


@pytest.mark.usefixtures("stand_ins")
def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(name: str) -> running.Ran:
        if name == "silent":
            raise KeyboardInterrupt
        return running.run(name)

    monkeypatch.setattr(bench, "run", stopped)
    assert bench.main(["whole", "silent", "broken", "--out", str(tmp_path / "table")]) == 130
    found = json.loads((tmp_path / "table.json").read_text())
    assert [figure["benchmark"] for figure in found["figures"]] == [*found["load"]] == ["whole"]
    assert found["not_measured"] == {
        "silent": "not run to its end",
        "broken": "not run to its end",
    }


def test_every_benchmark_is_in_the_table() -> None:
    shows = re.compile(r"^from tests.benchmarks.figures import .*\bshow\b", re.MULTILINE)
    paths = set(FOLDER.glob("*.py")) - set(FOLDER.glob("test_*.py"))
    shown = {path.stem for path in paths if shows.search(path.read_text())}
    assert shown == set(bench.MINUTES), "MINUTES in tests/benchmarks/__main__.py lists them"


def test_an_aim_is_of_the_ratio_where_there_is_a_peer() -> None:
    assert aim(Figure("a", 3.0, "s", most=2)) == "<= 2: missed"
    assert aim(Figure("a", 3.0, "s", "B 1", 9.0, ratio=3.0, least=2)) == ">= 2: reached"
    assert aim(Figure("a", 3.0, "s", "B 1", least=2)) == ">= 2"  # its peer is missing
    assert aim(Figure("a", 3.0, "s", "B 1", 9.0, 3.0, most=2, absolute=True)) == "<= 2: missed"
    assert aim(Figure("a", 3.0, "s")) == ""
    assert cells(Figure("a|b", 1234.5, "s"))[1] == "1,234 s"
