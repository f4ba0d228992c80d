"""The bundled domains keep their promises; a mistake in a file is named with file, field and cure."""

import re
from pathlib import Path

import pytest
import yaml

from scenarios import catalogue
from scenarios.catalogue import bundled, find, load
from scenarios.scenario import Split

TRADE = Path(catalogue.__file__).parent / "trade"
EXAMPLE = """
name: bicycle_sale
title: Sale of a bicycle
briefs: {seller: You sell a bicycle., buyer: You want a bicycle.}
aim: {compatible: 1, distributive: 1}
terms:
  - {name: price, ordered: true, seller_prefers: last, options: [$90, $120, $150], default: $120}
  - {name: pick-up, options: [today, on Sunday], default: today}
"""


def test_nine_trade_domains_of_nine_terms_with_car_sale_held_out() -> None:
    assert len(bundled()) == 9
    assert [name for name, domain in bundled().items() if domain.held_out] == ["car_sale"]
    for name, domain in bundled().items():
        assert domain.suite == "trade"
        assert len(domain.terms) == 9
        assert {len(term.options) for term in domain.terms} <= {4, 5, 6}
        assert load(TRADE / f"{name}.yaml") == domain, "a file is named after its domain"
    assert len({domain.briefs.seller for domain in bundled().values()}) == 9
    assert len({domain.version for domain in bundled().values()}) == 9


def test_briefs_name_no_option_and_no_direction() -> None:
    """A brief that said what its reader wants could contradict the tables of a draw."""
    direction = re.compile(
        r"\b(prefer\w*|rather|cheap\w*|as (high|low|early|late|long|short|much|little) as|"
        r"most important|above all|no more than|at least|budget)\b",
        re.IGNORECASE,
    )
    for domain in bundled().values():
        for brief in (domain.briefs.seller, domain.briefs.buyer):
            assert not direction.search(brief), domain.name
            options = [option for term in domain.terms for option in term.options if len(option) > 6]
            assert not [option for option in options if option.lower() in brief.lower()]


def test_files_tell_how_to_copy_them() -> None:
    for name in bundled():
        head = (TRADE / f"{name}.yaml").read_text().split("\nname:")[0]
        assert "copy this file" in head
        assert "arena scenarios validate" in head


def test_find_takes_a_name_or_a_file(tmp_path: Path) -> None:
    own = tmp_path / "bicycle_sale.yaml"
    own.write_text(EXAMPLE)
    assert find("car_sale") is bundled()["car_sale"]
    assert find(str(own)).name == "bicycle_sale"
    assert find(str(own)).suite == "own"
    with pytest.raises(
        ValueError, match=r"no domain is called 'car'; the bundled ones are apartment_lease"
    ):
        find("car")
    with pytest.raises(ValueError, match=r"missing\.yaml: cannot be read \(No such file"):
        find("missing.yaml")


def test_a_label_names_a_scenario(tmp_path: Path) -> None:
    scenario = catalogue.scenario("car_sale/train/3")
    assert (scenario.domain, scenario.split, scenario.index) == ("car_sale", Split.TRAIN, 3)
    assert catalogue.scenario(scenario.label) == scenario
    infeasible = catalogue.scenario("car_sale/eval-infeasible/0")
    assert not infeasible.feasible
    assert catalogue.scenario(infeasible.label) == infeasible
    with pytest.raises(ValueError, match="of another version of 'car_sale'"):
        catalogue.scenario("car_sale@000000/eval/3")
    for label in ("car_sale", "car_sale/eval", "car_sale/test/3", "car_sale/eval/-1", "/eval/3"):
        with pytest.raises(ValueError, match="write DOMAIN/SPLIT/INDEX"):
            catalogue.scenario(label)


MISTAKES = {
    "a key twice": ("aim: {", "name: again\naim: {", r"line 5 .* the key 'name' is given twice"),
    "not YAML": ("aim: {", "aim: [", r"line 5 is not valid YAML: .*\]"),
    "no field": ("title: Sale of a bicycle\n", "", "title is missing"),
    "misspelt field": (
        "title:",
        "titel:",
        "titel is not a known field; take it out or mend its spelling",
    ),
    "misspelt in a term": ("default: today", "defualt: today", "term 'pick-up', default is missing"),
    "unknown kind": (
        "{compatible: 1",
        "{friendly: 1",
        "aim, friendly: there is no such kind; use 'compatible', ",
    ),
    "yes for a text": (
        "[today, on Sunday]",
        "[yes, on Sunday]",
        "term 'pick-up', option 1: YAML reads True as a yes-or-no value, not as text, unless you put",
    ),
    "date for a text": (
        "[today, on Sunday]",
        "[today, 2026-05-01]",
        "option 2: YAML reads .* as a date",
    ),
    "number for a text": ("[$90, $120, $150]", "[90, 120, 150]", "option 1: YAML reads 90 as a number"),
    "nothing for a text": ("[today, on Sunday]", "[today, ~]", "option 2: YAML reads None as nothing"),
    "bare number in quotes": (
        "[$90, $120",
        "['90', $120",
        "option '90' is a bare number; word it with its unit",
    ),
    "default is no option": ("default: today", "default: now", "the default 'now' is not an option"),
    "an option twice": ("[today, on Sunday]", "[today, today]", "names an option twice"),
    "direction without order": ("ordered: true, ", "", "seller_prefers needs ordered: true"),
    "aim of other size": ("{compatible: 1", "{compatible: 2", "aim adds up to 3, but there are 2 terms"),
    "too few opposed": (
        "{compatible: 1, distributive: 1}",
        "{compatible: 2}",
        "more terms have seller_prefers than aim has opposed ones",
    ),
    "a bad name": (
        "name: bicycle_sale",
        "name: Bicycle sale",
        "name: 'Bicycle sale' is not lower-case letters",
    ),
    "an empty brief": ("{seller: You sell a bicycle.", "{seller: ''", "briefs, seller is empty"),
    "one option": ("[today, on Sunday]", "[today]", "term 'pick-up', options: give 2 or more"),
    "a list": (EXAMPLE.strip(), "- a\n- b\n", "a domain is a mapping that starts with `name:`"),
    "empty": (EXAMPLE.strip(), "", "a domain is a mapping that starts with `name:`"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake: str, tmp_path: Path) -> None:
    right, wrong, message = MISTAKES[mistake]
    assert right in EXAMPLE
    path = tmp_path / "own.yaml"
    path.write_text(EXAMPLE.replace(right, wrong, 1))
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "Tuple" not in str(caught.value), "what only follows from a mistake is not reported too"
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(EXAMPLE.replace("$", "£").encode("latin-1"))
    with pytest.raises(ValueError, match="is not UTF-8 text; save it as UTF-8"):
        load(path)


def test_the_example_is_right() -> None:
    """Each mistake above is one step away from a file that loads."""
    assert yaml.safe_load(EXAMPLE)["name"] == "bicycle_sale"
