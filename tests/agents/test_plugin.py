"""Plug-ins: the example of the documentation, every way to name one, and every way to get it wrong."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import agents
import agents.plugin
from agents.build import UnplayableError, build
from agents.conformance import check_agent
from agents.plugin import GROUP, PluginError, plugin_spec
from agents.scripted import spec_of
from arena.protocol import Ending
from tests.agents.table import drawn, match

ROOT = Path(__file__).parents[2]
EXAMPLE = re.search(
    r"```python title=my_bot.py\n(.*?)```", (ROOT / "docs/agents/own-code.md").read_text(), re.DOTALL
)


def test_agents_is_ours_and_not_another_distributions() -> None:
    assert Path(agents.__file__).parent == ROOT / "agents"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder, with the modules imported from it forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def example(here: Path) -> Path:
    assert EXAMPLE is not None
    (here / "my_bot.py").write_text(EXAMPLE[1])
    return here


@pytest.mark.usefixtures("example")
def test_the_documented_example_conforms_and_plays() -> None:
    spec = plugin_spec("my_bot:Bot", {"step": 0.1})
    assert spec.target == "my_bot:Bot"
    assert spec.distribution is None
    agent = build(spec)
    assert agent.deterministic
    assert check_agent(agent) == []
    for index in range(4):
        outcome = match(drawn(index, index), agent, build(spec_of("conceder")))
        assert outcome.ending in (Ending.AGREEMENT, Ending.DEADLINE)


@pytest.mark.usefixtures("example")
def test_parameters_and_source_are_the_version() -> None:
    specs = [plugin_spec("my_bot:Bot", parameters) for parameters in ({}, {"step": 0.1}, {"step": 0.2})]
    assert len({spec.version for spec in specs}) == 3
    assert plugin_spec("my_bot:Bot").version == specs[0].version


def test_a_changed_source_is_another_version_and_the_old_one_cannot_be_played(example: Path) -> None:
    before = plugin_spec("my_bot:Bot")
    (example / "my_bot.py").write_text((example / "my_bot.py").read_text() + "\n# changed\n")
    assert plugin_spec("my_bot:Bot").version != before.version
    with pytest.raises(UnplayableError, match="the source of my_bot:Bot has changed"):
        build(before)


def test_a_package_is_hashed_with_all_its_source(here: Path) -> None:
    (here / "pack" / "inner").mkdir(parents=True)
    (here / "pack" / "__init__.py").write_text("")
    (here / "pack" / "bot.py").write_text("from agents.scripted.anchors import Hardliner as Bot\n")
    first = plugin_spec("pack.bot:Bot")
    (here / "pack" / "inner" / "model.py").write_text("WEIGHT = 1\n")
    second = plugin_spec("pack.bot:Bot")
    (here / "pack" / "inner" / "model.py").rename(here / "pack" / "inner" / "models.py")
    third = plugin_spec("pack.bot:Bot")
    assert len({spec.source_hash for spec in (first, second, third)}) == 3


FORMS = """
class Mind:
    def reply(self, view):
        return None

class Bot:
    def begin(self, role, brief, rng):
        return Mind()

class Outer:
    Inner = Bot

def factory(pace=1):
    return Bot()

ready = Bot()
number = 7
made_of_nothing = lambda: None

def fails():
    raise RuntimeError("no weights")

def leaves():
    raise SystemExit(3)
"""


@pytest.mark.parametrize("name", ["Bot", "factory", "ready", "Outer.Inner"])
def test_a_class_a_factory_and_an_agent_will_do(here: Path, name: str) -> None:
    (here / "forms.py").write_text(FORMS)
    agent = build(plugin_spec(f"forms:{name}"))
    assert agent.spec.kind == "plugin"
    assert agent.deterministic is False


@pytest.mark.parametrize(
    ("target", "parameters", "words"),
    [
        ("forms", {}, "'forms' is neither module:object nor an installed agent"),
        ("forms:", {}, "a plug-in is named as module:object, such as my_bot:Agent, not 'forms:'"),
        ("form:Bot", {}, "there is no module 'form' for form:Bot; install it, or go to the folder"),
        ("forms.deep:Bot", {}, "there is no module 'forms.deep' for forms.deep:Bot"),
        ("forms:Boot", {}, "module forms .*has no 'Boot'"),
        ("forms:number", {}, "forms:number is not an agent: it has no begin"),
        ("forms:made_of_nothing", {}, "forms:made_of_nothing is not an agent: it has no begin"),
        ("forms:fails", {}, "could not be made with parameters {}: RuntimeError: no weights"),
        ("forms:leaves", {}, "could not be made with parameters {}: SystemExit: 3"),
        ("forms:Bot", {"pace": 2}, 'could not be made with parameters {"pace":2}: TypeError'),
        ("forms:ready", {"pace": 2}, "is an agent already made, so it takes no parameters"),
        ("forms:factory", {"pace": float("nan")}, "must be plain JSON values"),
        ("forms:factory", {"pace": object()}, "must be plain JSON values"),
        ("broken:Bot", {}, "importing broken failed: ZeroDivisionError: division by zero"),
        ("quits:Bot", {}, "importing quits failed: SystemExit: 1"),
        ("needs:Bot", {}, "importing needs failed: No module named 'not_installed'"),
        ("wrong:Bot", {}, "importing wrong failed: SyntaxError"),
        ("sys:path", {}, "sys:path is not an agent"),
    ],
)
def test_mistakes_are_explained(
    here: Path, target: str, parameters: dict[str, object], words: str
) -> None:
    (here / "forms.py").write_text(FORMS)
    (here / "broken.py").write_text("1 / 0\n")
    (here / "quits.py").write_text("raise SystemExit(1)\n")
    (here / "needs.py").write_text("import not_installed\n")
    (here / "wrong.py").write_text("class Bot\n")
    with pytest.raises(PluginError, match=words):
        plugin_spec(target, parameters)


def test_a_plug_in_that_is_gone_is_unplayable(example: Path) -> None:
    spec = plugin_spec("my_bot:Bot")
    (example / "my_bot.py").unlink()
    del sys.modules["my_bot"]
    with pytest.raises(UnplayableError, match="there is no module 'my_bot'"):
        build(spec)


@pytest.mark.usefixtures("example")
def test_an_entry_point_names_a_plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def installed(group: str) -> list[EntryPoint]:
        return [EntryPoint("patient", "my_bot:Bot", GROUP)] if group == GROUP else []

    monkeypatch.setattr(agents.plugin, "entry_points", installed)
    assert plugin_spec("patient") == plugin_spec("my_bot:Bot")
    with pytest.raises(PluginError, match=r"'impatient' .*\(installed: patient\)"):
        plugin_spec("impatient")


def test_an_installed_module_carries_its_distribution() -> None:
    spec = plugin_spec("agents.scripted.anchors:Hardliner")
    assert spec.distribution is not None
    assert spec.distribution.startswith("bargaining-arena==")


def test_a_file_named_like_a_library_does_not_hide_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    (here / "colorsys.py").write_text("raise RuntimeError('imported the wrong one')\n")
    (here / "uses_it.py").write_text("import colorsys\n" + FORMS)
    assert plugin_spec("uses_it:Bot").source_hash is not None
