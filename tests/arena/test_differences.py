"""What one design changes of another, in words."""

from typing import Any

import pytest

from arena.analysis import Analysis, Contrast, Guards
from arena.design import Design
from arena.deviations import tried
from arena.differences import differences
from tests.leaderboard.synthetic import design

GAIN = Contrast(plus=("a",), minus=("b",))


def made(sellers: tuple[str, ...] = ("a", "b", "c"), **settings: Any) -> Design:
    """Return a design in which b is the base of a, and c of nobody."""
    declared = {"contrasts": (GAIN,), "bases": {"a": "b"}, "excluded": ("x",)}
    analysis = Analysis(**declared | settings.pop("analysis", {}))
    return design(sellers, analysis=analysis, **settings)


def held_out(*names: str) -> Design:
    """Return the design with these domains held out, and no others."""
    plain = made()
    domains = [d.model_copy(update={"held_out": d.name in names}) for d in plain.domains]
    return plain.model_copy(update={"domains": tuple(domains)})


DECLARES = {"analysis": {"contrasts": (GAIN, Contrast(plus=("c",), minus=("b",)))}}


@pytest.mark.parametrize(
    ("new", "kind", "what"),
    [
        (made(("a", "b", "c", "late")), "arm", "seller late added later"),
        (made(("a", "b")), "arm", "seller c dropped"),
        (made(("a", "b", "c@2")), "arm", "seller c@c@2 added later; seller c@c dropped"),
        (made(buyers=("x", "z")), "buyer", "buyer z added later; buyer y dropped"),
        (made(domains=4, held_out=2), "domain", "domain domain_3 added"),
        (held_out("domain_1"), "held_out", "domain_1 is held out now; domain_2 is no longer held out"),
        (made(scenarios=1_200), "n", "scenarios a domain from 64 to 1,200"),
        (
            made(replicates=2, seed=7),
            "n",
            "replicates from 1 to 2; seed, and so all scenarios, from 0 to 7",
        ),
        (made(turns=5), "rules", "turns a side from hidden limits to 5"),
        (made(opener="both"), "rules", "opener from alternate to both"),
        (made(**DECLARES), "contrast", "contrast c - b added; Holm's m from 1 to 2"),
        (made(analysis={"contrasts": ()}), "contrast", "contrast a - b dropped; Holm's m from 1 to 0"),
        (
            made(analysis={"guards": Guards(action_leak=0.2)}),
            "guard",
            "limit of action_leak from 0.05 to 0.2",
        ),
        (made(analysis={"bases": {"a": "c"}}), "analysis", "base of a from b to c"),
        (made(analysis={"bases": {}}), "analysis", "base of a from b to none"),
        (made(analysis={"bases": {"a": "b", "c": "b"}}), "analysis", "base of c from none to b"),
        (
            made(analysis={"excluded": ("x", "y"), "training_families": ("claude",)}),
            "analysis",
            "buyers excluded from training from x to x, y; training families from none to claude",
        ),
        (
            made(analysis={"alarm_margin": 0.1, "interval": "bootstrap"}),
            "analysis",
            "the pooling alarm's margin from 0.05 to 0.1; interval from t to bootstrap",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_difference_is_put_in_words(new: Design, kind: str, what: str) -> None:
    assert [(found.kind.value, found.what) for found in differences(made(), new)] == [(kind, what)]


def test_an_arm_is_called_so() -> None:
    later = made(analysis={"bases": {"a": "b", "c": "b"}, **DECLARES["analysis"]})
    found = dict(differences(made(("a", "b")), later))
    assert found["arm"] == "arm c added later"  # type: ignore[index]
    assert found["contrast"] == "contrast c - b added; Holm's m from 1 to 2"  # type: ignore[index]


def test_the_same_plan_in_another_order_differs_in_nothing() -> None:
    turned = made(("c", "b", "a"), buyers=("y", "x"))
    assert turned.hash == made().hash
    assert differences(made(), turned) == []


def test_a_design_of_an_earlier_release_declared_nothing() -> None:
    words = [what for _, what in differences(made(), design(("a", "b", "c")))]
    assert words[0] == "contrast a - b dropped; Holm's m from 1 to 0"


def test_every_field_of_a_design_is_compared() -> None:
    """A field that is added to designs has to be added to the comparison as well."""
    assert set(Design.model_fields) == {
        *("sellers", "buyers", "domains", "scenarios", "infeasible", "replicates", "opener", "turns"),
        *("message_limit", "seed", "protocol", "draw", "analysis"),
    }
    assert set(Analysis.model_fields) == {
        *("contrasts", "bases", "families", "training_families", "excluded", "guards"),
        *("alarm_margin", "interval"),
    }


def test_best_of_n_counts_arms_over_all_designs() -> None:
    other = made(("a", "b", "d"), analysis={"bases": {"d": "b", "a": "b"}})
    designs = [made(), other, made(scenarios=8), design(("e", "b"))]
    assert tried(designs, "b") == 2
    assert tried(designs, "c") == 0
    assert tried([], "b") == 0
