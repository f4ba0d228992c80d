"""What a base met before: where it came out of another run, its checkpoints have met that too."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arena.design import Design
from arena.errors import UserError
from arena.opponents import MET, buyers_met, domains_met, listed, met
from arena.registry import Registry
from arena.store import Registration, Store
from arena.template import seen_in_training
from trainers.checkpoints import MARK, Checkpoint

FAMILIES = "buyer_families"


def ancestor(weights: str, known: Iterable[Registration]) -> Registration | None:
    """Return the agent with these weights, by their hash, whose lineage says whom they were trained
    against; None where nobody recorded it. One that was withdrawn has met no less."""
    alike = (agent for agent in known if agent.spec.kind == "local" and agent.spec.revision == weights)
    return next((agent for agent in alike if listed(agent, "buyers")), None)


def inherited(own: Mapping[str, Any], base: Registration) -> dict[str, Any]:
    """Return the lineage `own` with the buyers and domains of `base` after its own.

    A version that the base's lineage lacks is None.
    """
    found = dict(own)
    for noun, (names, versions) in MET.items():
        both = dict.fromkeys([*zip(own[names], own[versions], strict=True), *met(base, noun)])
        found[names], found[versions] = ([pair[side] for pair in both] for side in (0, 1))
    found[FAMILIES] = list(dict.fromkeys([*own[FAMILIES], *listed(base, FAMILIES)]))
    return found


def check_base(model: str, evaluation: Design | None, store: Store) -> list[str]:
    """Check that the base `model` met nothing that `evaluation` keeps from training; return what else of
    it is not new to the base, in words.

    Only a checkpoint of a run is looked up, by the hash beside its weights: to hash those of any other
    folder would take minutes. Raises UserError where it met a buyer that the design excludes from
    training, or a domain that it holds out.
    """
    folder = Path(model)
    if evaluation is None or not (folder / MARK).is_file():
        return []
    base = ancestor(Checkpoint(0, folder).weights, store.registrations())
    if base is None:
        return []
    registry = Registry(store)
    held_out = [domain for domain in evaluation.domains if domain.held_out]
    barred = buyers_met([base], evaluation.excluded_buyers, registry)
    for said, found in (
        ("trained against {}, which the design excludes", barred),
        ("trained on {}, which the design holds out", domains_met([base], held_out)),
    ):
        if words := ", ".join(word for _, word in found):
            raise UserError(f"the base {base.name} was {said.format(words)}: start from another base")
    notes = seen_in_training(evaluation, [base], registry)
    return [f"the base {base.name} was {note}" for note in notes]
