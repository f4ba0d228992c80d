"""`arena leaderboard`: the board as a page in the browser."""

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Annotated

import typer

from arena.commands.options import Db, open_store

ADDRESS = "127.0.0.1"
"""Only this machine can open the page."""


def leaderboard(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port on this machine.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    db: Db = None,
) -> None:
    """Open the board as a page, with every match behind it. Ctrl-C ends it."""
    from importlib.resources import files

    open_store(db).close()
    _need_free(port)
    command = [sys.executable, "-m", "leaderboard.warm", "run", str(files("leaderboard") / "app.py")]
    for option, value in settings(port, browser).items():
        command += [f"--{option}", value]
    environment = os.environ | ({"ARENA_DB": db} if db else {})
    raise typer.Exit(_serve(command, environment, port))


def _serve(command: list[str], environment: dict[str, str], port: int) -> int:
    """Run the server until it ends, or until Ctrl-C or SIGTERM ends it; say where it is once it can be
    reached. Returns the exit code."""
    from arena.commands.printing import awaited

    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _interrupt)
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        with awaited("starting the board"):
            while server.poll() is None and not _answers(port):
                time.sleep(0.1)
        if server.poll() is None:
            typer.echo(f"The board is at http://{ADDRESS}:{port} (Ctrl-C ends it)")
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        server.wait()
        return 0


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((ADDRESS, port)) == 0


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def settings(port: int, browser: bool) -> dict[str, str]:
    """Return Streamlit's settings: this machine only, and nothing is reported to anyone."""
    return {
        "server.address": ADDRESS,
        "server.port": str(port),
        "server.headless": "false" if browser else "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        # A colour of both themes: one for all of them would make every page light.
        "theme.light.primaryColor": "#0072B2",
        "theme.dark.primaryColor": "#56B4E9",
    }


def _need_free(port: int) -> None:
    from arena.errors import UserError

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            raise UserError(f"port {port} is taken: choose another with --port") from None
