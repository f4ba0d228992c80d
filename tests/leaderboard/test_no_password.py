"""A database's password stands in no command that a person is shown."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from arena.commands.options import to_name
from arena.store import Store, StoreError
from leaderboard import wording
from leaderboard.views import common
from tests.leaderboard.tournament import make_design, play_into

SECRET = "s3cret"
ADDRESS = f"postgresql+psycopg://user:{SECRET}@host/name of it?password={SECRET}&connect_timeout=3"


def test_the_option_is_redacted_quoted_and_left_out_for_the_default():
    option = wording.database_option(ADDRESS)
    assert option == " --db 'postgresql+psycopg://user:***@host/name of it?connect_timeout=3'"
    assert wording.database_option("my file.db") == " --db 'my file.db'"
    assert [wording.database_option(default) for default in (None, "arena.db")] == ["", ""]


def test_what_arena_db_names_has_not_to_be_named_again(monkeypatch):
    monkeypatch.setenv("ARENA_DB", ADDRESS)
    assert to_name(ADDRESS) is None
    assert to_name("other.db") == "other.db"
    monkeypatch.delenv("ARENA_DB")
    assert to_name(ADDRESS) == ADDRESS


def test_an_address_that_cannot_be_read_is_refused_without_its_password():
    with pytest.raises(StoreError, match="no database address") as caught:
        Store.open(f"postgresql://user:{SECRET}@host:port/name")
    assert SECRET not in str(caught.value)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A database with a design that was played in part, and one that nobody played."""
    path = tmp_path_factory.mktemp("secret") / "arena.db"
    small = {"domains": 1, "held_out": 0}
    play_into(path, make_design(scenarios=2, **small), skip=lambda place: place.number == 1)
    play_into(path, make_design(scenarios=3, seed=1, **small), skip=lambda place: True)
    return path


@pytest.mark.parametrize(
    "view", ["board", "compare", "buyers", "guards", "matches", "scenarios", "designs"]
)
@pytest.mark.parametrize("played", [True, False])
def test_no_page_shows_it(view, played, path, monkeypatch):
    monkeypatch.setattr(common, "database", lambda: ADDRESS)
    opened = Store.open(str(path)), common._file(str(path))
    monkeypatch.setattr(common, "_opened", lambda address: opened)
    with Store.open(str(path)) as store:
        wanted = next(s.design.hash for s in store.designs() if (s.design.scenarios == 2) == played)
    test = AppTest.from_file(str(files("leaderboard") / "app.py"), default_timeout=60)
    test.query_params["view"], test.query_params["design"] = view, wanted
    test.run()
    assert not test.exception
    assert not test.error
    bodies = [element.proto.body for element in test.get("html")]
    said = "\n".join([*bodies, *(e.value for kind in ("caption", "info") for e in getattr(test, kind))])
    assert SECRET not in said
    if view in ("scenarios", "designs") or not played:
        assert "--db" in said
        assert "user:***@host" in said


def test_every_page_takes_the_option_from_one_place():
    views = Path(str(files("leaderboard"))) / "views"
    found = [f.name for f in views.glob("*.py") if re.search(r"--db \{", f.read_text())]
    assert found == []
