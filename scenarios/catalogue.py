"""Where domains come from: the bundled suites, and YAML files that users write."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Scenario, Split
from scenarios.yaml_file import read_yaml

SUITES = ("trade", "small")
"""The bundled suites, each a folder: `trade`, which tournaments play by default, and `small`, whose few
short terms suit models of a few hundred thousand parameters."""
_SUFFIXES = (".yaml", ".yml")
_LABEL = re.compile(
    r"(?P<domain>.+?)(@(?P<version>[0-9a-f]{6,}))?"
    r"/(?P<split>train|dev|eval)(?P<infeasible>-infeasible)?/(?P<index>\d+)"
)


def bundled(suite: str = SUITES[0]) -> dict[str, Domain]:
    """Return the domains of a suite that comes with the package, by name, in alphabetical order.

    Raises ValueError for an unknown suite.
    """
    if suite not in SUITES:
        raise ValueError(f"no suite is called {suite!r}; there are {', '.join(SUITES)}")
    return _loaded(suite)


@cache
def _loaded(suite: str) -> dict[str, Domain]:
    domains = (load(path) for path in sorted((Path(__file__).parent / suite).glob("*.yaml")))
    return {domain.name: domain for domain in domains}


@cache
def every() -> dict[str, Domain]:
    """Return the domains of all bundled suites, by name."""
    return {name: domain for suite in SUITES for name, domain in bundled(suite).items()}


def find(name_or_path: str) -> Domain:
    """Return a bundled domain by its name, or the domain in a YAML file.

    Raises ValueError where there is neither, with the names there are.
    """
    if name_or_path in every():
        return every()[name_or_path]
    if name_or_path.endswith(_SUFFIXES):
        return load(name_or_path)
    raise ValueError(
        f"no domain is called {name_or_path!r}; the bundled ones are {', '.join(every())}. "
        "For a domain of your own, give the path of its .yaml file"
    )


def named(text: str) -> list[Domain]:
    """Return the domains that a name stands for: those of a bundled suite, or the one that :func:`find`
    finds. Raises ValueError as that does."""
    return list(bundled(text).values()) if text in SUITES else [find(text)]


def scenario(label: str) -> Scenario:
    """Return the scenario that a label names, such as ``car_sale/eval/12``.

    The domain is a bundled name or the path of a .yaml file; ``car_sale@3f2a91/eval/12`` also insists
    on a version, ``car_sale/eval-infeasible/12`` names one without a zone of agreement. Raises
    ValueError where there is no such scenario.
    """
    match = _LABEL.fullmatch(label)
    if match is None:
        raise ValueError(
            f"{label!r} is no scenario; write DOMAIN/SPLIT/INDEX, such as car_sale/eval/12. SPLIT is "
            f"one of {', '.join(Split)}; with -infeasible after it there is no zone of agreement"
        )
    domain = find(match["domain"])
    if not domain.version.startswith(match["version"] or ""):
        raise ValueError(
            f"{label!r} is of another version of {domain.name!r}, which is now {domain.version[:6]}; "
            "its matches keep their scenario, but it can no longer be drawn"
        )
    return draw(domain, Split(match["split"]), int(match["index"]), match["infeasible"] is None)


def load(path: str | Path) -> Domain:
    """Return the domain in a YAML file. Raises ValueError that names file, field and cure."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise ValueError(
            f"{path}: a domain is a mapping that starts with `name:`; see docs/scenarios.md"
        )
    try:
        return Domain.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"{path}: " + "; ".join(_mistakes(error, content))) from None


def _mistakes(error: ValidationError, content: dict[str, Any]) -> list[str]:
    """Return the validation errors, without those that only follow from one further inside."""
    places = [error_at["loc"] for error_at in error.errors()]
    return [
        _mistake(dict(detail), content)
        for detail in error.errors()
        if not any(place != detail["loc"] == place[: len(detail["loc"])] for place in places)
    ]


def _mistake(detail: dict[str, Any], content: dict[str, Any]) -> str:
    """Return one validation error in the words of the file."""
    field = _field(detail["loc"], content)
    given = detail["input"]
    match detail["type"]:
        case "missing":
            return f"{field} is missing"
        case "extra_forbidden":
            return f"{field} is not a known field; take it out or mend its spelling"
        case "string_type":
            return (
                f"{field}: YAML reads {given} as {_yaml_kind(given)}, not as text, unless you put what "
                "you wrote in quotes"
            )
        case "value_error":
            return str(detail["ctx"]["error"])
        case "string_too_short":
            return f"{field} is empty"
        case "string_pattern_mismatch":
            return f"{field}: {given!r} is not lower-case letters, digits and _, with a letter first"
        case "enum":
            return f"{field}: there is no such kind; use {detail['ctx']['expected']}"
        case "too_short" | "too_long":
            limit = detail["ctx"].get("min_length") or f"no more than {detail['ctx']['max_length']}"
            return f"{field}: give {limit}{' or more' if detail['type'] == 'too_short' else ''}"
        case _:
            return f"{field}: {detail['msg']}"


def _yaml_kind(given: object) -> str:
    """Return what YAML took a value for; yes, no, on and off are a favourite."""
    if isinstance(given, bool):
        return "a yes-or-no value"
    if isinstance(given, int | float):
        return "a number"
    return {"date": "a date", "NoneType": "nothing", "list": "a list", "dict": "a mapping"}.get(
        type(given).__name__, f"a {type(given).__name__}"
    )


def _field(location: tuple[int | str, ...], content: dict[str, Any]) -> str:
    """Return a place in the file, such as ``term 'price', option 2``."""
    parts: list[str] = []
    for step, key in enumerate(location):
        if isinstance(key, str):
            parts.append(key)
        elif location[step - 1] == "terms":
            parts[-1:] = [f"term {_term_name(content['terms'][key], key)}"]
        else:
            parts[-1:] = [f"{parts[-1].removesuffix('s')} {key + 1}"]
    return ", ".join(part for part in parts if part != "[key]")


def _term_name(term: object, position: int) -> str:
    name = term.get("name") if isinstance(term, dict) else None
    return repr(name) if isinstance(name, str) else f"number {position + 1}"
