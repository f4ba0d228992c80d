"""`arena scenarios`: look at the domains, at single scenarios, and at a domain of your own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.audit import audit
from arena.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from scenarios.domain import Domain
    from scenarios.frontier import ReferencePoints
    from scenarios.scenario import Scenario
    from scenarios.survey import Spread, Survey

scenarios_app = typer.Typer(
    name="scenarios", help="What is bargained over: domains and scenarios.", no_args_is_help=True
)

scenarios_app.command("audit")(audit)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Draws = Annotated[int, typer.Option(min=1, help="How many eval scenarios to draw and measure.")]

_POINTS = {
    "nash": "Nash",
    "kalai": "Kalai (egalitarian)",
    "kalai_smorodinsky": "Kalai-Smorodinsky",
    "utilitarian": "utilitarian",
}


@scenarios_app.command("list")
def list_domains(
    suite: Annotated[
        str | None, typer.Option(metavar="SUITE", help="Only trade, or only small. [default: both]")
    ] = None,
    draws: Annotated[
        int, typer.Option(min=0, help="Also measure this many eval scenarios of each.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """List the bundled domains, suite by suite; with --draws, what their scenarios come out as.

    A suite's name stands for all its domains wherever --domains takes names.
    """
    from scenarios.catalogue import bundled, every

    with _user_errors():
        domains = list((every() if suite is None else bundled(suite)).values())
    if draws:
        from scenarios.survey import survey

        surveys = [survey(domain, draws) for domain in domains]
        if as_json:
            _print_json([asdict(found) for found in surveys])
        else:
            _print(_surveys_table(surveys))
    elif as_json:
        _print_json([_domain_json(domain) for domain in domains])
    else:
        _print(_domains_table(domains))


@scenarios_app.command("show")
def show(
    scenario: Annotated[
        str,
        typer.Argument(help="A scenario such as car_sale/eval/12, or a domain's name or .yaml file."),
    ],
    index: Annotated[int, typer.Option(min=0, help="With a domain: which of its eval scenarios.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show one scenario whole: terms, both sides' private tables, walk-away values, reference points."""
    from scenarios import catalogue
    from scenarios.draw import draw
    from scenarios.scenario import Split

    with _user_errors():
        if "/" in scenario and not scenario.endswith((".yaml", ".yml")):
            found = catalogue.scenario(scenario)
        else:
            found = draw(catalogue.find(scenario), Split.EVAL, index)
    if as_json:
        _print_json(_scenario_json(found))
    else:
        _print_scenario(found)


@scenarios_app.command("validate")
def validate(
    file: Annotated[str, typer.Argument(help="A domain's .yaml file.")],
    draws: Draws = 64,
    as_json: AsJson = False,
) -> None:
    """Check a domain file and report what its scenarios come out as."""
    from scenarios.catalogue import load
    from scenarios.survey import survey

    with _user_errors():
        domain = load(file)
        found = survey(domain, draws)
    if as_json:
        _print_json(asdict(found))
    else:
        _print(f"{file} is a valid domain: {domain.name} (version {domain.version}).")
        _print(_survey_table(found))
    if found.failures:
        raise UserError(
            f"{len(found.failures)} of {draws} scenarios could not be drawn (the first is number "
            f"{found.failures[0]}); give the domain more terms or options, or another aim"
        )


@contextmanager
def _user_errors() -> Iterator[None]:
    """Turn what the catalogue and the draw say about a user's mistake into a UserError."""
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from error


def _print(content: Any) -> None:
    from rich.console import Console

    # A pipe has no width; a table is better wide than cut.
    console = Console()
    console = console if console.is_terminal else Console(width=140)
    console.print(content, highlight=False, markup=False)


def _print_json(content: Any) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False, indent=2))


def _domain_json(domain: "Domain") -> dict[str, Any]:
    from math import prod

    return {
        "name": domain.name,
        "version": domain.version,
        "title": domain.title,
        "suite": domain.suite,
        "held_out": domain.held_out,
        "aim": domain.aim,
        "packages": prod(len(term.options) for term in domain.terms),
        "terms": [term.model_dump(mode="json") for term in domain.terms],
    }


def _scenario_json(scenario: "Scenario") -> dict[str, Any]:
    from scenarios.frontier import frontier, reference_points
    from scenarios.walk_away import acceptable_share

    points = frontier(scenario)
    return {
        "label": scenario.label,
        "key": scenario.key,
        **scenario.content(),
        "kinds": scenario.kinds,
        "default": {
            "package": scenario.default,
            "seller": scenario.seller.utility(scenario.default),
            "buyer": scenario.buyer.utility(scenario.default),
        },
        "acceptable_share": acceptable_share(scenario),
        "frontier": len(points),
        "reference_points": asdict(reference_points(scenario, points)),
    }


def _table(*columns: str, title: str | None = None) -> "Table":
    """Return an empty table; a column's name may start with ``>`` to align it right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for column in columns:
        right = column[0] == ">"
        table.add_column(
            column.lstrip(">"), justify="right" if right else "left", no_wrap=column == "domain"
        )
    return table


def _domains_table(domains: "list[Domain]") -> "Table":
    table = _table("domain", "what", "suite", "held out", ">terms", ">packages", "version")
    for domain in domains:
        content = _domain_json(domain)
        table.add_row(
            domain.name,
            domain.title,
            domain.suite,
            "held out" if domain.held_out else "",
            str(len(domain.terms)),
            f"{content['packages']:,}",
            domain.version,
        )
    return table


def _print_scenario(scenario: "Scenario") -> None:
    from scenarios.frontier import frontier, reference_points
    from scenarios.walk_away import acceptable_share

    points = frontier(scenario)
    _print(f"{scenario.label}  (key {scenario.key})")
    _print(_terms_table(scenario))
    _print(f"Turns a side has: {scenario.turn_limit} (hidden from both)")
    _print(f"Packages acceptable to both: {acceptable_share(scenario):.1%}")
    _print(f"Pareto frontier: {len(points)} points")
    _print(_points_table(scenario, reference_points(scenario, points)))


def _terms_table(scenario: "Scenario") -> "Table":
    """Return the table of terms: what each option adds to each side's utility."""
    from scenarios.scenario import SCALE

    table = _table("term", "kind", "option", ">seller", ">buyer", title="Added to the utility")
    sides = zip(scenario.seller.table, scenario.buyer.table, strict=True)
    for term, kind, rows in zip(scenario.terms, scenario.kinds, sides, strict=True):
        for option, seller, buyer in zip(term.options, *rows, strict=True):
            first = option == term.options[0]
            table.add_row(
                term.name if first else "",
                kind if first else "",
                f"{option} (default)" if option == term.default else option,
                f"{seller / SCALE:.4f}",
                f"{buyer / SCALE:.4f}",
                end_section=option == term.options[-1],
            )
    return table


def _points_table(scenario: "Scenario", points: "ReferencePoints") -> "Table":
    table = _table("point", ">seller", ">buyer", "deal", title="Reference points")
    seller, buyer = scenario.seller, scenario.buyer
    table.add_row("walk-away values", f"{seller.walk_away:.4f}", f"{buyer.walk_away:.4f}", "no deal")
    default = scenario.default
    table.add_row(
        "default package", f"{seller.utility(default):.4f}", f"{buyer.utility(default):.4f}", ""
    )
    for point in dict.fromkeys(getattr(points, field) for field in _POINTS):
        names = "\n".join(name for field, name in _POINTS.items() if getattr(points, field) == point)
        if point is None:
            table.add_row(names, "-", "-", "there is no zone of agreement")
            continue
        pairs = zip(scenario.terms, point.package, strict=True)
        deal = ", ".join(term.options[option] for term, option in pairs)
        table.add_row(names, f"{point.seller:.4f}", f"{point.buyer:.4f}", deal)
    return table


def _survey_table(found: "Survey") -> "Table":
    table = _table("over the draws", ">least", ">mean", ">most", title=f"{found.draws} eval scenarios")

    def row(name: str, spread: "Spread", form: str = ".3f") -> None:
        table.add_row(name, *(format(value, form) for value in (spread.low, spread.mean, spread.high)))

    for kind, spread in found.kinds.items():
        row(f"{kind} terms (of {found.terms})", spread, "g")
    row(f"acceptable to both (of {found.packages:,} packages)", found.acceptable, ".1%")
    row("seller's walk-away value", found.seller_walk_away)
    row("buyer's walk-away value", found.buyer_walk_away)
    row("default package, seller's utility", found.seller_default)
    row("default package, buyer's utility", found.buyer_default)
    row("opposition", found.opposition)
    row("points on the Pareto frontier", found.frontier, ".0f")
    return table


def _surveys_table(surveys: "list[Survey]") -> "Table":
    """Return one row a domain: terms of each kind, then means over the draws (of seller / buyer)."""
    kinds = list(surveys[0].kinds)
    table = _table(
        "domain",
        *(f">{kind}" for kind in kinds),
        ">acceptable",
        ">walk-away",
        ">default",
        ">opposition",
        ">frontier",
    )
    for found in surveys:
        share = found.acceptable
        table.add_row(
            found.domain,
            *(f"{found.kinds[kind].mean:g}" for kind in kinds),
            f"{share.low:.0%} to {share.high:.0%}",
            f"{found.seller_walk_away.mean:.2f} / {found.buyer_walk_away.mean:.2f}",
            f"{found.seller_default.mean:.2f} / {found.buyer_default.mean:.2f}",
            f"{found.opposition.mean:.2f}",
            f"{found.frontier.mean:.0f}",
        )
    return table
