"""`arena doctor`: what this machine lends the arena, and what to do about what is missing."""

import typer

from arena.commands.options import AsJson, Db


def doctor(db: Db = None, as_json: AsJson = False) -> None:
    """Look at Python, extras, GPUs, disk, clock, database, keys (whether they are set) and servers.

    Nothing is sent to a provider, and no key is shown. The exit code is 1 where something is in the way
    of what is registered; what is merely not there is told, and may not be needed.
    """
    from pathlib import Path

    from arena import health
    from arena.commands.printing import add_row, new_table, print_json, print_table
    from arena.store.database import file_of, locate
    from trainers.gpus import gpus_found

    file = file_of(locate(db))
    folder = Path(".") if file is None else file.parent
    opened, agents = health.database(db)
    written_at = file.stat().st_mtime if file is not None and file.is_file() else None
    found = [
        health.python(),
        *health.extras(),
        health.gpus([gpu.name for gpu in gpus_found()]),
        *([health.disk(folder)] if folder.is_dir() else []),
        health.clock(written_at),
        opened,
        *health.keys(agents),
        *health.servers(agents),
    ]
    if as_json:
        print_json([one.to_json() for one in found])
    else:
        table = new_table("what", "state", "found", "what to do")
        for one in found:
            add_row(table, one.what, one.state.value, one.found, one.remedy)
        print_table(table)
    if any(one.state is health.State.BAD for one in found):
        raise typer.Exit(1)
