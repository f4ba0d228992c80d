"""`arena leaderboard`: the board as a page in the browser."""

import os
import signal
import subprocess
import sys
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
    url = f"http://{ADDRESS}:{port}"
    typer.echo(f"The board is at {url} (Ctrl-C ends it)")
    command = [sys.executable, "-m", "leaderboard.warm", "run", str(files("leaderboard") / "app.py")]
    for option, value in settings(port, browser).items():
        command += [f"--{option}", value]
    environment = os.environ | ({"ARENA_DB": db} if db else {})
    raise typer.Exit(_serve(command, environment))


def _serve(command: list[str], environment: dict[str, str]) -> int:
    """Run the server until it ends, or until Ctrl-C or SIGTERM ends it. Returns the exit code."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _interrupt)
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        server.wait()
        return 0


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
    import socket

    from arena.errors import UserError

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            raise UserError(f"port {port} is taken: choose another with --port") from None
