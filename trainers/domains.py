"""What may be trained on: domains that nobody holds out."""

from collections.abc import Callable, Iterable, Sequence

from arena.design import Design
from arena.errors import UserError
from scenarios import catalogue
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Split


def open_domains(names: Sequence[str], evaluation: Design | None) -> list[Domain]:
    """Return the domains to train on: names, paths of .yaml files, or a suite, which stands for those of
    its domains that are open.

    Raises UserError for an unknown domain, one named twice, one that is held out, or one from which
    nothing can be drawn.
    """
    held_out = _held_out(evaluation)
    found: dict[str, Domain] = {}
    for text in names:
        named = _named(text)
        closed = [domain for domain in named if held_out(domain)]
        if closed and text not in catalogue.SUITES:
            raise UserError(
                f"{closed[0].name} is held out ({held_out(closed[0])}): it tells whether what was "
                "learned holds elsewhere, so it must not be trained on; take it out of --domains"
            )
        for domain in named:
            if domain not in closed and found.setdefault(domain.name, domain) is not domain:
                raise UserError(f"two domains are called {domain.name}: name one of them")
    if not found:
        raise UserError("no domain is left to train on: name one with --domains")
    for domain in found.values():
        try:
            draw(domain, Split.TRAIN, 0)
        except ValueError as error:
            raise UserError(str(error)) from error
    return list(found.values())


def check_open(domains: Iterable[Domain], evaluation: Design) -> None:
    """Raise UserError where `evaluation` cannot judge what was trained on these domains."""
    held_out = _held_out(evaluation)
    for domain in domains:
        if why := held_out(domain):
            raise UserError(
                f"the run trains on {domain.name}, which is held out ({why}): evaluate it by another "
                "design"
            )


def _named(text: str) -> list[Domain]:
    try:
        return catalogue.named(text)
    except ValueError as error:
        raise UserError(str(error)) from None


def _held_out(evaluation: Design | None) -> Callable[[Domain], str | None]:
    """Return a function that says why a domain is held out, in words; None: it is not.

    The design of the evaluation has the word on the domains that it plays, in whatever version.
    """
    planned = {d.name: d.held_out for d in evaluation.domains} if evaluation is not None else {}
    bundled = {name for name, domain in catalogue.every().items() if domain.held_out}

    def why(domain: Domain) -> str | None:
        if domain.name in planned:
            return "the design of --evaluate says so" if planned[domain.name] else None
        if domain.held_out:
            return "its file says so"
        return "the bundled domain of that name is" if domain.name in bundled else None

    return why
