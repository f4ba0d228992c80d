"""What has to be served for the agents of a line-up, and whether the servers of a run suffice."""

from collections.abc import Mapping

from agents.language_model.serving import Serving, serving_of
from arena.errors import UserError
from arena.lineup import Lineup
from arena.store import Registration


def servings(agents: Mapping[str, Registration]) -> dict[str, Serving]:
    """Return what a server of ours has to serve for `agents`, both by version."""
    found = {v: serving_of(agent.spec, agent.connection) for v, agent in agents.items()}
    return {version: serving for version, serving in found.items() if serving is not None}


def served(
    agents: Mapping[str, Registration], matches: Mapping[str, int] | None = None
) -> dict[Serving, list[str]]:
    """Return the names of the agents that each server of ours is for; with `matches`, that an agent has
    to play, by version, whoever has none is left out."""
    found: dict[Serving, list[str]] = {}
    for version, serving in servings(agents).items():
        if matches is None or matches.get(version):
            found.setdefault(serving, []).append(agents[version].name)
    return found


def check_servers(lineup: Lineup, servers: int | None) -> None:
    """Raise UserError where `servers` that run at once (None: none are started) are too few."""
    needed, design = servings(lineup.agents), lineup.design
    names = {version: lineup.agents[version].name for version in needed}
    if needed and servers is None:
        those = ", ".join(names.values())
        raise UserError(
            f"{those}: nothing serves {'its' if len(names) == 1 else 'their'} weights. Add --serve, "
            "which starts a server when one is needed, or register where one runs with --api-base"
        )
    for seller in design.sellers:
        for buyer in design.buyers:
            sides = [version for version in (seller.version, buyer.version) if version in needed]
            at_once = len({needed[version] for version in sides})
            if servers is not None and at_once > servers:
                raise UserError(
                    f"{names[seller.version]} against {names[buyer.version]} needs two servers at once: "
                    "--servers 2, where the memory suffices for both"
                )
