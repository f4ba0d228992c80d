"""What `arena standings` shows beside the board: secondary measures, and Bradley-Terry strengths."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.results import Results
    from scenarios.scenario import Role


def measures(results: "Results", role: "Role", frozen: str, as_json: bool) -> None:
    """Print the secondary measures of the agents of `role`."""
    from arena.commands.measures import print_measures
    from arena.commands.printing import print_json
    from leaderboard.inference.secondary import secondary

    found, design = secondary(results, role), results.design.hash
    if as_json:
        print_json([one.to_json() | {"role": role.value, "design": design} for one in found])
    else:
        print_measures(found, role, frozen, design)


def strengths(results: "Results", role: "Role", frozen: str, as_json: bool) -> None:
    """Print Bradley-Terry strengths of the agents of `role`, held-out domains apart."""
    from arena.commands.printing import print_json
    from arena.commands.strengths import print_strengths
    from leaderboard.inference.bradley_terry import bradley_terry

    shared = {"role": role.value, "design": results.design.hash}
    panels = {
        held_out: bradley_terry(results, role, held_out)
        for held_out in (False, True)
        if any(domain.held_out is held_out for domain in results.design.domains)
    }
    if as_json:
        print_json(
            [
                one.to_json() | shared | {"held_out": held_out}
                for held_out, found in panels.items()
                for one in found
            ]
        )
    else:
        print_strengths(panels, role, frozen, results.design.hash)
