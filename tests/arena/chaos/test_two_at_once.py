"""Two tournaments on one database at once."""

from pathlib import Path

import pytest

from tests.arena.chaos.disturbed import Record, ended, goes_on, record, start
from tests.arena.running import arena, in_a_group

pytestmark = pytest.mark.slow


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that there is not, or an empty one on a server."""
    if request.param == "sqlite":
        return str(tmp_path / "arena.db")
    return str(request.getfixturevalue("on_server"))


def test_of_the_same_design(tmp_path: Path, database: str, undisturbed: Record) -> None:
    """Both come to their end; a match that both play is kept once."""
    both = [start(tmp_path, database) for _ in range(2)]
    for process in both:
        said, _ = ended(process, 0)
        assert "Attention: nothing" in said
    goes_on(tmp_path, database, undisturbed)


def test_of_designs_that_share_matches(tmp_path: Path, database: str, undisturbed: Record) -> None:
    fewer = ("--sellers", "boulware,hardliner", "--buyers", "linear", "--scenarios", "96")
    other = ("run-tournament", *fewer, "--domains", "car_sale,coffee_import", "--db")
    process, beside = start(tmp_path, database), in_a_group(*other, database, cwd=tmp_path)
    ended(process, 0)
    ended(beside, 0)
    alone = tmp_path / "alone.db"
    assert arena(*other, alone, cwd=tmp_path).returncode == 0
    ours, theirs = record(database), record(alone)
    shared = undisturbed.matches.keys() & theirs.matches.keys()
    assert len(shared) == 64 * 2
    assert ours.matches == undisturbed.matches | theirs.matches
    assert ours.measures == undisturbed.measures | theirs.measures
