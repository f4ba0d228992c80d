"""The rooms: which way imports run, and where heavy libraries may be imported."""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = {
    "scenarios": set(),
    "agents": {"scenarios"},
    "arena": {"scenarios", "agents"},
    "leaderboard": {"scenarios", "agents", "arena"},
    "trainers": {"scenarios", "agents", "arena"},
}
"""Each room, and the others it may import from."""
COMPOSING = ("arena/cli.py", "arena/commands/")
HOMES = {
    "sqlmodel": ("arena/store/",),
    "sqlalchemy": ("arena/store/",),
    "alembic": ("arena/store/",),
    "litellm": ("agents/language_model/",),
    "vllm": ("agents/", "trainers/"),
    "xllamacpp": ("agents/language_model/",),
    "ray": ("arena/on_ray.py",),
    "torch": ("trainers/", "agents/local"),
    "transformers": ("trainers/", "agents/local"),
    "trl": ("trainers/",),
    "streamlit": ("leaderboard/app.py", "leaderboard/views/", "leaderboard/pages/"),
}
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield (top-level package imported, whether at module level) of a file."""
    tree = ast.parse(path.read_text())
    checking = {
        id(node)
        for guard in ast.walk(tree)
        if isinstance(guard, ast.If) and "TYPE_CHECKING" in ast.unparse(guard.test)
        for node in ast.walk(guard)
    }
    for node in ast.walk(tree):
        if id(node) in checking:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node in tree.body) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield (node.module or "").split(".")[0], node in tree.body


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


@pytest.mark.parametrize("name", names(FILES))
def test_imports_run_one_way(name: str) -> None:
    room = name.split("/")[0]
    if not name.startswith(COMPOSING):
        others = {found for found, _ in imports(ROOT / name)} & ROOMS.keys() - {room}
        assert others <= ROOMS[room]


@pytest.mark.parametrize("name", names(FILES))
def test_heavy_libraries_stay_at_home(name: str) -> None:
    for found, at_top in imports(ROOT / name):
        if found in HOMES:
            assert name.startswith(HOMES[found]), f"{found} is imported outside its room"
            lazy = found in ("litellm", "vllm", "xllamacpp", "ray")
            assert not (lazy and at_top), f"{found} is imported at module level"


@pytest.mark.parametrize("room", ROOMS)
def test_the_rooms_are_ours(room: str) -> None:
    module = importlib.import_module(room)
    assert module.__file__ is not None
    assert Path(module.__file__).parent == ROOT / room
    assert module.__doc__


def test_no_module_hides_one_of_the_standard_library() -> None:
    assert not {path.stem for path in FILES} & set(sys.stdlib_module_names)
