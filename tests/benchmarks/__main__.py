"""All benchmarks, one after the other, in one table: what `make bench` runs.

    python -m tests.benchmarks [--out build/benchmarks] [NAME...]

prints each benchmark's own figures as they come, then the table, and writes it to OUT.md and, with all
that was measured, to OUT.json, after every benchmark. One that fails, or lacks its peer, is named in it;
Ctrl-C keeps what was measured.
"""

import argparse
import json
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.benchmarks.machine import machine, versions
from tests.benchmarks.report import content, markdown
from tests.benchmarks.running import Ran, run

MINUTES = {
    "ratio": 2.0,
    "cores": 2.0,
    "store": 4.0,
    "reading": 5.0,
    "memory": 5.0,
    "resampling": 1.0,
    "bradley_terry": 1.0,
    "gateway": 10.0,
    "local_play": 2.0,
    "rollouts": 4.0,
}
"""The benchmarks, in the order in which they run, and about how long each takes on two cores."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return 1 where one of them failed, 130 after Ctrl-C."""
    asked = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Run benchmarks.")
    asked.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(MINUTES)}")
    asked.add_argument(
        "--out", default="build/benchmarks", help="the files' name, without .md and .json"
    )
    given = asked.parse_args(arguments)
    names = given.names or list(MINUTES)
    if unknown := [name for name in names if name not in MINUTES]:
        asked.error(f"no benchmark is called {unknown[0]}; there are {', '.join(MINUTES)}")
    _say(f"about {sum(MINUTES[name] for name in names):g} min on two quiet cores: {', '.join(names)}")
    at = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    on = {"machine": machine(), "versions": versions()}
    ran: dict[str, Ran] = {name: Ran(trouble="not run to its end") for name in names}
    code = 0
    try:
        write(given.out, content(at, on, ran))
        for name, one in measured(names):
            ran[name] = one
            write(given.out, content(at, on, ran))
            code = max(code, int(one.failed))
    except KeyboardInterrupt:
        code = 130
    print(Path(f"{given.out}.md").read_text())
    _say(f"written to {given.out}.md and {given.out}.json")
    return code


def measured(names: Sequence[str]) -> Iterator[tuple[str, Ran]]:
    """Run the benchmarks in this order; yield what came of each, as it has come."""
    for place, name in enumerate(names):
        left = sum(MINUTES[other] for other in names[place:])
        with _waiting(f"{place + 1}/{len(names)} {name}: about {MINUTES[name]:g} min, {left:g} in all"):
            one = run(name)
        print(f"{name}, {one.seconds:.0f} s\n{one.printed}{one.trouble}\n", flush=True)
        yield name, one


def write(out: str, found: Mapping[str, Any]) -> None:
    """Write the table to OUT.md, and all that was measured to OUT.json."""
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(f"{out}.json").write_text(json.dumps(found, indent=1) + "\n")
    Path(f"{out}.md").write_text(markdown(found))


@contextmanager
def _waiting(what: str) -> Generator[None]:
    """Show on stderr what is waited for, and on a terminal for how long already."""
    console = Console(stderr=True)
    if not console.is_terminal:
        _say(what)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        shown.add_task(what, total=None)
        yield


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
