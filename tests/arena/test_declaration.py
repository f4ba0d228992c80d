"""From what people write under `analysis:` to what a design freezes."""

from typing import Any

import pytest

from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.analysis import Analysis, Contrast, Guards
from arena.declaration import Declaration, analysis_of, contrast_from
from arena.design import Player
from arena.errors import UserError
from arena.naming import Names, meant
from arena.store import Registration

NAMES = ("gemma-2b - tuned", "gemma-2b", "tuned", "b (old)", "a", "base-a", "twin@111", "twin@122")


def player(text: str) -> Player:
    """Return a player called as `text` says, whose version is the rest or the name again."""
    name, _, version = text.partition("@")
    return Player(name=name, version=version or f"version of {name}", deterministic=True)


SELLERS = Names([player(name) for name in NAMES], "seller")


def v(*names: str) -> tuple[str, ...]:
    """Return the versions of sellers."""
    return tuple(player(name).version for name in names)


@pytest.mark.parametrize(
    ("text", "plus", "minus"),
    [
        ("a - base-a", v("a"), v("base-a")),
        ("  a  -  base-a ", v("a"), v("base-a")),
        ("a \u2212 base-a", v("a"), v("base-a")),
        ("a \u2013 base-a", v("a"), v("base-a")),
        ("b (old) - a", v("b (old)"), v("a")),
        ("gemma-2b - tuned - a", v("gemma-2b - tuned"), v("a")),
        ("a - gemma-2b - tuned", v("a"), v("gemma-2b - tuned")),
        ("(a - base-a) - (tuned - gemma-2b)", v("a", "gemma-2b"), v("base-a", "tuned")),
        ("(b (old) - base-a) - (a - tuned)", v("b (old)", "tuned"), v("base-a", "a")),
        ("(a - base-a) - (tuned - base-a)", v("a"), v("tuned")),
        ("(a - base-a) - (base-a - tuned)", v("a", "tuned"), v("base-a", "base-a")),
        ("twin@11 - twin@12", ("111",), ("122",)),
        ("111 - a", ("111",), v("a")),
    ],
)
def test_contrasts_are_read_by_the_names_there_are(
    text: str, plus: tuple[str, ...], minus: tuple[str, ...]
) -> None:
    assert contrast_from(text, SELLERS) == Contrast(plus=plus, minus=minus)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a - nobody", "no seller is called nobody here; there are: gemma-2b - tuned, gemma-2b"),
        ("(a - base-a) - (nobody - a)", "no seller is called nobody here"),
        ("twin - a", "twin stands for 2 versions here: write twin@111 or twin@122"),
        ("a-base-a", 'write it as "a - b" or'),
        ("a", 'write it as "a - b" or'),
        ("a - base-a - tuned", 'write it as "a - b" or'),
        ("", 'write it as "a - b" or'),
        ("a - a", "compares a seller with itself"),
        ("(a - tuned) - (a - tuned)", "compares a seller with itself"),
    ],
)
def test_what_is_no_contrast_is_told(text: str, why: str) -> None:
    with pytest.raises(UserError) as told:
        contrast_from(text, SELLERS)
    assert why in str(told.value)


def test_a_contrast_that_can_be_read_in_two_ways_is_refused() -> None:
    both = Names([player(name) for name in ("a", "b", "a - b", "b - a")], "seller")
    with pytest.raises(UserError, match="read in two ways"):
        contrast_from("a - b - a", both)


# The analysis of a line-up

PROFILES = {
    "base": Profile(family="gemma"),
    "low": Profile(family="gemma", base="base", lineage={"buyer_families": ["claude", "gemma"]}),
    "high": Profile(base="base", lineage={"buyer_families": "claude"}),
    "alone": Profile(base="elsewhere"),
    "sonnet": Profile(family="claude"),
    "terra": Profile(),
}
LINE_UP = ([player(n) for n in ("base", "low", "high", "alone")], [player("sonnet"), player("terra")])


def analysis(**declared: Any) -> tuple[Analysis, list[str]]:
    """Return what a declaration comes to for LINE_UP, and what is said about it."""
    agents = {
        player(name).version: Registration(name, spec_of("linear"), "both", known, Connection(), "")
        for name, known in PROFILES.items()
    }
    return analysis_of(Declaration(**declared), *LINE_UP, agents)


def test_the_default_is_every_arm_less_its_base() -> None:
    found, said = analysis()
    base, low, high, sonnet = v("base", "low", "high", "sonnet")
    assert found == Analysis(
        contrasts=(Contrast(plus=(low,), minus=(base,)), Contrast(plus=(high,), minus=(base,))),
        bases={low: base, high: base},
        families={base: "gemma", low: "gemma", sonnet: "claude"},
        training_families=("claude", "gemma"),
        guards=Guards(action_leak=0.05, opener=0.30),
    )
    assert said == ["no gain of alone is declared: its base elsewhere is no other seller here"]


def test_what_is_declared_stands_in_place_of_the_default() -> None:
    found, said = analysis(
        contrasts=["high - low"],
        bases={"high": "low"},
        families={"terra": "gpt"},
        training_families=["gpt", "gpt"],
        excluded=["sonnet", "terra"],
        guards={"opener": 0.5},
        alarm_margin=0.1,
        interval="bootstrap",
    )
    low, high, sonnet, terra = v("low", "high", "sonnet", "terra")
    assert found == Analysis(
        contrasts=(Contrast(plus=(high,), minus=(low,)),),
        bases={high: low},
        families={terra: "gpt"},
        training_families=("gpt",),
        excluded=(sonnet, terra),
        guards=Guards(opener=0.5),
        alarm_margin=0.1,
        interval="bootstrap",
    )
    assert said == []


def test_no_contrast_can_be_declared_too() -> None:
    assert analysis(contrasts=[])[0].contrasts == ()
    assert len(analysis(bases={"high": "low"})[0].contrasts) == 1


def test_an_analysis_as_it_is_stored_means_itself() -> None:
    found, _ = analysis(contrasts=["(high - base) - (low - alone)"], excluded=["terra"])
    assert analysis(**found.model_dump(mode="json"))[0] == found


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"contrasts": ["low - base", "base - low"]}, "analysis: a contrast stands twice"),
        ({"bases": {"nobody": "base"}}, "no seller is called nobody"),
        ({"bases": {"low": "low"}}, "its own base"),
        ({"excluded": ["base"]}, "no buyer is called base here; there are: sonnet, terra"),
        ({"families": {"nobody": "x"}}, "no agent is called nobody"),
    ],
)
def test_what_cannot_be_declared_is_told(declared: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError) as told:
        analysis(**declared)
    assert why in str(told.value)


def test_a_name_means_the_same_composed_or_not_and_a_version_names_itself() -> None:
    names = {"111aa": "Zo\u00eb", "122bb": "Zo\u00eb", "3": "b"}
    assert meant(" Zoe\u0308 ", names) == ["111aa", "122bb"]
    assert meant("Zoe\u0308@12", names) == ["122bb"]
    assert meant("111aa", names) == ["111aa"]
    assert meant("111", names) == []
