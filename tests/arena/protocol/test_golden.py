"""Golden playthroughs: whole matches as text, which change only on purpose.

After a change of the rules, look at the difference that the failing test shows, raise
PROTOCOL_VERSION if finished matches would have come out otherwise, and write the files anew with
``ARENA_UPDATE_GOLDEN=1 pytest tests/arena/protocol``.
"""

import difflib
import os
from pathlib import Path

import pytest

from arena.protocol import Ending, Fault
from scenarios.scenario import Role
from tests.arena.protocol.flat import SCENARIO, Replay, match, run_event_loop, run_loop
from tests.arena.protocol.playthroughs import PLAYTHROUGHS, Playthrough
from tests.arena.protocol.rendering import render

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("ARENA_UPDATE_GOLDEN") == "1"
DRIVERS = [run_loop, run_event_loop]


def rendered(game: Playthrough, driver: object) -> str:
    seller = Replay(game.seller, game.kinds[0], game.seller_begin)
    buyer = Replay(game.buyer, game.kinds[1])
    outcome = match(seller, buyer, game.opener, game.rules, driver=driver, timeout=game.turn_timeout)
    return render(SCENARIO, game.rules, game.opener, {Role.SELLER: seller, Role.BUYER: buyer}, outcome)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", PLAYTHROUGHS)
def test_playthrough_reads_as_its_golden_file(name: str, driver: object) -> None:
    path, now = GOLDEN / f"{name}.txt", rendered(PLAYTHROUGHS[name], driver)
    if UPDATE:
        path.write_text(now)
    before = path.read_text()
    changes = difflib.unified_diff(before.splitlines(), now.splitlines(), path.name, "now", lineterm="")
    assert now == before, "\n".join(["this playthrough changed:", *changes])


def test_the_golden_files_show_every_ending_and_every_fault() -> None:
    files = {path.stem: path.read_text() for path in GOLDEN.glob("*.txt")}
    assert files.keys() == PLAYTHROUGHS.keys()
    lines = {line for text in files.values() for line in text.splitlines()}
    endings = {line.removeprefix("ending: ").split(" ")[0] for line in lines if line[:7] == "ending:"}
    assert endings == {ending.value for ending in Ending}
    faults = {line.split()[1] for line in lines if line.startswith("  fault ")}
    assert faults == {fault.value for fault in Fault}
