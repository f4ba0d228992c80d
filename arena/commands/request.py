"""The options that make a design, defined once, and the line-up that they mean."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from arena.commands.options import split_names
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.lineup import Lineup, Request
    from arena.store import Store

WHO = "Who and what"
RULES = "How it is played"
DECLARED = "What is declared before play"


def option(panel: str, help: str, metavar: str | None = None, **limits: Any) -> Any:
    """Return an option of a panel of the command's help."""
    return typer.Option(help=help, metavar=metavar, rich_help_panel=panel, **limits)


Sellers = Annotated[
    str | None, option(WHO, "Names, by commas. [default: registered agents and the panel]", "A,B")
]
Buyers = Annotated[
    str | None, option(WHO, "Names, by commas. [default: registered agents and the panel]", "C,D")
]
Domains = Annotated[
    str | None, option(WHO, "Names, .yaml files, suites. [default: trade, all nine]", "X,Y")
]
Scenarios = Annotated[int | None, option(WHO, "Scenarios a domain. [default: 64]", min=1)]
Infeasible = Annotated[
    int | None, option(WHO, "As many a domain again where no deal is good for both.", min=0)
]
Seed = Annotated[int | None, option(WHO, "Another seed plays other scenarios.", min=0)]
Replicates = Annotated[
    int | None, option(RULES, "Matches a cell, where a side plays by chance. [default: 1]", min=1)
]
Opener = Annotated[str | None, option(RULES, "alternate, seller, buyer or both. [default: alternate]")]
Turns = Annotated[
    int | None, option(RULES, "Turns a side, announced. [default: hidden, 6 to 12]", min=1)
]
Contrasts = Annotated[
    str | None,
    option(
        DECLARED,
        "What will be compared, by commas. [default: every arm less its base]",
        '"A - B,(A1 - BASE1) - (A2 - BASE2)"',
    ),
]
Interval = Annotated[
    Literal["t", "bootstrap"] | None,
    option(DECLARED, "The 95% interval of contrasts and gains. [default: t]"),
]
Reason = Annotated[
    str | None, option(DECLARED, "Why it departs from an earlier design; it goes to the log.")
]


def asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return, of a command's arguments, the options above that were given, lists taken apart."""
    lists = ("sellers", "buyers", "domains", "contrasts")
    single = ("scenarios", "replicates", "opener", "turns", "infeasible", "seed", "interval")
    given = {name: options[name] for name in (*lists, *single) if options[name] is not None}
    return {name: split_names(value) if name in lists else value for name, value in given.items()}


def lineup_of(
    store: "Store", design: str | None, given: dict[str, Any], called: str = "--design"
) -> "Lineup":
    """Resolve the options, or the design (a file, or the hash of a stored one) that stands for them, and
    that the user knows as `called`."""
    from arena.lineup import request_from, resolve
    from scenarios import catalogue

    if design is None:
        declared = {name: given[name] for name in ("contrasts", "interval") if name in given}
        fields = {name: value for name, value in given.items() if name not in declared}
        return resolve(request_from(fields | ({"analysis": declared} if declared else {})), store)
    files = given.get("domains", [])
    if others := [name for name in given if name != "domains"]:
        raise UserError(f"{called} says all that --{others[0]} would: leave one of them out")
    request = request_of(store, design)
    try:
        extra = [catalogue.load(path) for path in files]
    except ValueError as error:
        raise UserError(str(error)) from error
    return resolve(request, store, extra)


def request_of(store: "Store", design: str) -> "Request":
    """Return what a design asks for: one in a file, or a stored one by its hash. Raises UserError."""
    from arena.lineup import read_request, request_from

    if design.endswith((".json", ".yaml", ".yml")) or os.path.exists(design):
        return read_request(design)
    return request_from(store.design(design).design.model_dump(mode="json"))
