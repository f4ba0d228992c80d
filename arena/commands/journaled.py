"""The log file of `arena run-tournament`: how a run starts and ends in it."""

from collections.abc import Generator
from contextlib import contextmanager

import typer

from arena.commands.closing_lines import summary_json
from arena.errors import UserError
from arena.journal import Journal
from arena.lineup import Lineup
from arena.store import redacted
from arena.tournament import Tournament
from scenarios.scenario import Role


@contextmanager
def journaled(
    journal: Journal | None, tournament: Tournament, lineup: Lineup, database: str
) -> Generator[None]:
    """Write in the `journal`, where there is one, that a run starts, and how it ends."""
    if journal is None:
        yield
        return
    _start(journal, tournament, lineup, database)
    try:
        yield
    except UserError as error:
        journal.write("run_ended", error=str(error))
        raise
    except BaseException as error:
        journal.write("run_ended", error=type(error).__name__)
        raise
    journal.write("run_ended", **summary_json(tournament.summary, lineup, None))
    if journal.failure is not None:
        typer.echo(f"note: the log file is not complete: {journal.failure}", err=True)


def _start(journal: Journal, tournament: Tournament, lineup: Lineup, database: str) -> None:
    summary = tournament.summary
    journal.start(
        {version: agent.name for version, agent in lineup.agents.items()},
        design=summary.design,
        database=redacted(database),
        sellers=list(lineup.design.names(Role.SELLER).values()),
        buyers=list(lineup.design.names(Role.BUYER).values()),
        planned=summary.planned,
        already=summary.already,
        void=summary.void,
        to_play=tournament.quick + tournament.waiting,
        replays=tournament.replays,
    )
