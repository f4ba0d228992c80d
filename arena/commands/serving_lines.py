"""What is said of the servers that a tournament starts: before it plays, and while they come and go."""

from collections.abc import Callable, Iterator
from typing import Any

import typer

from agents.language_model.kept_up import News
from agents.language_model.serving import Serving
from arena.journal import Journal
from arena.lineup import Lineup
from arena.printable import plain
from arena.serving import served
from arena.tournament import Tournament


def serving_lines(tournament: Tournament, lineup: Lineup) -> Iterator[str]:
    """Yield who will be served, by what, and how many servers run at once; nothing where nobody is."""
    found = served(lineup.agents, tournament.matches_of())
    if not found:
        return
    most = tournament.settings.servers
    at_once = "one at a time" if most == 1 else f"{most} at once"
    how = "by nobody without --serve" if most is None else f"{at_once} (--servers)"
    each = "; ".join(
        f"{', '.join(map(plain, names))} by {serving.server}" for serving, names in found.items()
    )
    yield f"  served:  {each}; {how}"


def serving_json(tournament: Tournament, lineup: Lineup) -> dict[str, Any]:
    """Return the same for `run-tournament --dry-run --json`."""
    found = served(lineup.agents, tournament.matches_of())
    servers = [
        {"server": serving.server, "model": serving.name, "weights": serving.weights, "agents": names}
        for serving, names in found.items()
    ]
    return {"at_once": tournament.settings.servers, "servers": servers}


def serving_news(lineup: Lineup, journal: Journal | None) -> Callable[[Serving, News], None]:
    """Return what tells on stderr, and in the `journal`, what becomes of a server."""
    names = served(lineup.agents)

    def tell(serving: Serving, news: News) -> None:
        typer.echo(plain(news.line), err=True)
        if journal is not None:
            journal.write(
                f"server_{news.state}",
                server=serving.server,
                model=serving.name,
                agents=names[serving],
                seconds=None if news.seconds is None else round(news.seconds, 3),
                detail=news.detail,
            )

    return tell
