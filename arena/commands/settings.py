"""The options that say how a tournament is run, whatever its design, defined once."""

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

from arena.commands.request import RULES, option
from arena.errors import UserError
from arena.printable import plain

if TYPE_CHECKING:
    from arena.journal import Journal
    from arena.settings import Settings

MACHINE = "How it is run"

LEAST_USD, MOST_USD = 1e-6, 1e9


def amount(text: str) -> float:
    """Return the budget that `text` means in US dollars; infinity for `none`. Raises UserError."""
    if text.strip().lower() == "none":
        return math.inf
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not LEAST_USD <= found <= MOST_USD:
        raise UserError(
            f"--budget: {plain(text)!r} is no budget: give US dollars, from {LEAST_USD:f} to "
            f"{MOST_USD:,.0f}, as --budget 20 does, or --budget none to play without one"
        )
    return found


TurnTimeout = Annotated[
    float | None, option(RULES, "Seconds a turn, for plug-ins and models.", min=0.01)
]
Concurrency = Annotated[
    int | None,
    option(
        MACHINE, "Matches with a model under way at once. [default: 16, or 64 on weights here]", min=1
    ),
]
Workers = Annotated[
    int | None, option(MACHINE, "Processes or Ray tasks for scripted pairs. [default: the cores]", min=1)
]
Executor = Annotated[
    Literal["local", "ray"],
    option(MACHINE, "What plays pairs without a model: this machine, or a cluster of Ray."),
]
RayAddress = Annotated[
    str | None,
    option(MACHINE, "The Ray to join, or auto. [default: one started here]", "HOST:PORT"),
]
RetryVoids = Annotated[bool, option(MACHINE, "Try matches that were void every time three times more.")]
Drift = Annotated[
    float | None,
    option(
        MACHINE, "Replay this share of the base's cells with every block of scenarios.", min=0, max=1
    ),
]
LogFile = Annotated[
    str | None, option(MACHINE, "Append what happens to this file, as JSON lines.", "PATH")
]
Serve = Annotated[bool, option(MACHINE, "Start the servers that agents need, and stop them.")]
ServersAtOnce = Annotated[
    int | None, option(MACHINE, "So many of them at once, with --serve. [default: 1]", min=1)
]
Budget = Annotated[
    float | None,
    option(
        MACHINE,
        "US dollars that all runs of this design may spend at providers; none: no limit any more.",
        "USD",
        parser=amount,
    ),
]
AllowUnpriced = Annotated[bool, option(MACHINE, "Play outside the budget what has no known price.")]
Cache = Annotated[bool, option(MACHINE, "Answer from the database what was answered before.")]
Yes = Annotated[bool, option(MACHINE, "Play agents that cost money.")]


def settings_of(options: Mapping[str, Any]) -> "Settings":
    """Return how it is to be played, by a command's arguments; what it has no option for stays as it is
    by default. Raises UserError for options that do not go together."""
    from arena.on_ray import host_and_port
    from arena.settings import Settings

    for name, other in (("servers", "serve"), ("allow_unpriced", "budget")):
        if options[name] and not options[other]:
            raise UserError(f"--{name.replace('_', '-')} goes with --{other}")
    on_ray, ray_address = options.get("executor") == "ray", options.get("ray_address")
    if ray_address is not None:
        if not on_ray:
            raise UserError("--ray-address goes with --executor ray")
        host_and_port(ray_address)
    if on_ray and find_spec("ray") is None:
        raise UserError("--executor ray needs Ray: pip install 'bargaining-arena[ray]'")
    same = ("workers", "concurrency", "turn_timeout", "retry_voids", "allow_unpriced", "cache")
    unlimited = options["budget"] == math.inf
    return Settings(
        **{name: options[name] for name in same},
        on_ray=on_ray,
        ray_address=ray_address,
        budget=None if unlimited else options["budget"],
        unlimited=unlimited,
        drift=options.get("drift") or 0.0,
        servers=options["servers"] or 1 if options["serve"] else None,
    )


def check_log(path: str | None, db: str | None) -> None:
    """Raise UserError where the log file that was asked for is one of the database `db`, which may not
    be there yet."""
    from arena.store import is_of

    if path is not None and is_of(db, path):
        raise UserError(f"--log-file: {path} is a file of the database: name another file")


def journal_at(path: str | None) -> AbstractContextManager["Journal | None"]:
    """Open the log file that was asked for, if any, for as long as the context lasts."""
    from arena.journal import Journal

    return nullcontext() if path is None else Journal(path)
