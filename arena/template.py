"""A design as a template: its buyers, domains, scenarios and rules, for sellers it does not name."""

from collections.abc import Iterator, Sequence

from arena.analysis import Contrast
from arena.declaration import Declaration
from arena.design import Design
from arena.errors import UserError
from arena.lineup import Request
from arena.opponents import buyers_met, domains_met, listed
from arena.registry import Registry
from arena.store import Registration


def distinct(base: Registration, arms: Sequence[Registration]) -> tuple[list[Registration], list[str]]:
    """Return the arms that differ from `base` and from each other, and what to say of the rest.

    Steps that teach nothing leave the weights as they were, and weights are what makes an agent. Raises
    UserError where no arm is left.
    """
    kept = {base.spec.version: base}
    notes = []
    for arm in arms:
        twin = kept.setdefault(arm.spec.version, arm)
        if twin is not arm:
            notes.append(f"{arm.name} has the very weights of {twin.name}: it is judged as that")
    if len(kept) == 1:
        raise UserError(f"{'; '.join(notes)}. Nothing was learned, so there is no gain to judge")
    return list(kept.values())[1:], notes


def with_arms(
    request: Request, base: Registration, arms: Sequence[Registration], registry: Registry
) -> Request:
    """Return `request` with `base` and `arms` beside the sellers that it names already, and every arm
    less the base as the contrasts that it declares. All else stays as it is; only the hash of what it
    was goes. Raises UserError for a seller that nobody knows.
    """
    joining = [base, *arms]
    own = {agent.spec.version for agent in joining}
    staying = [
        who
        for who in request.sellers or ()
        if (registry.find(who).spec.version if isinstance(who, str) else who.version) not in own
    ]
    return request.model_copy(
        update={
            "sellers": [*(agent.full_name for agent in joining), *staying],
            "analysis": _declaring(request.declared or Declaration(), base, arms),
            "hash": None,
        }
    )


def _declaring(declared: Declaration, base: Registration, arms: Sequence[Registration]) -> Declaration:
    versions = [arm.spec.version for arm in arms]
    start = base.spec.version
    families = declared.families
    if families is not None:
        known = {agent.spec.version: agent.profile.family for agent in (base, *arms)}
        families = {version: family for version, family in known.items() if family} | families
    trained = declared.training_families
    if trained is not None:
        trained = [*trained, *(family for arm in arms for family in listed(arm, "buyer_families"))]
    return declared.model_copy(
        update={
            "contrasts": [Contrast(plus=(version,), minus=(start,)) for version in versions],
            "bases": (declared.bases or {}) | dict.fromkeys(versions, start),
            "families": families,
            "training_families": trained,
        }
    )


def seen_in_training(design: Design, arms: Sequence[Registration], registry: Registry) -> Iterator[str]:
    """Yield what an arm met in training, by its lineage, that should be new to it: buyers of the design,
    and domains that it holds out. A buyer that the design excludes from training is no mere note: see
    :func:`arena.opponents.broken_exclusions`."""
    allowed = [buyer for buyer in design.buyers if buyer not in design.excluded_buyers]
    if buyers := sorted({words for _, words in buyers_met(arms, allowed, registry)}):
        yield f"trained against {', '.join(buyers)}: a gain there need not carry over to other buyers"
    held_out = [domain for domain in design.domains if domain.held_out]
    if domains := sorted({words for _, words in domains_met(arms, held_out)}):
        yield f"trained on {', '.join(domains)}, which the design holds out: nothing new is tried there"
