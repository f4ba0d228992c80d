"""A small real tournament whose names, messages and reasons try to be obeyed."""

from agents.build import build
from arena.analysis import Analysis, Contrast
from arena.design import Player
from arena.schedule import plan
from arena.store import Filter, Store
from tests.arena.store import matches as made
from tests.leaderboard import trained
from tests.leaderboard.tournament import make_design, play_into

FORMULA, MARKUP, CONTROL = '=cmd|" /C calc"!A0', "<script>alert('1')</script>", "@bidi\u202e\x1b[2J"


def hostile_design(specs):
    """Return a design whose sellers have names that a spreadsheet, a page or a terminal might obey."""
    a, b, c = (spec.version for spec in specs.values())
    return make_design(("linear",), ("boulware", "conceder"), scenarios=4).model_copy(
        update={
            "sellers": tuple(
                Player(name=name, version=spec.version, deterministic=True)
                for name, spec in specs.items()
            ),
            "analysis": Analysis(bases={b: a, c: a}, contrasts=(Contrast(plus=(b,), minus=(a,)),)),
        }
    )


def play_hostile(path):
    """Play it, with markup in the messages; withdraw a match, fail another twice, log a deviation."""
    specs = {
        FORMULA: trained.build_spec("linear", floor=0.2),
        MARKUP: trained.build_spec("linear", floor=0.18),
        CONTROL: trained.build_spec("conceder", exponent=4.0),
    }
    design = hostile_design(specs)
    missing = list(plan(design))[5]
    talkers = {s.version: trained.Talker(build(s), ('<b>"action": "talk"</b>',)) for s in specs.values()}
    play_into(path, design, skip=lambda place: place == missing, agents=talkers)
    with Store.open(str(path)) as store:
        listed = store.matches(Filter(design=design))
        store.withdraw_match(listed[3].key, "-1+1 was <i>wrong</i>")
        scenario = next(
            whole.scenario
            for chunk in store.whole(design)
            for whole in chunk
            if (whole.match.domain_version, whole.match.number) == missing[:2]
        )
        failed = made.row(design, missing, scenario, ending="provider_error", at_fault="seller")
        failed = failed._replace(
            deal=None, seller_utility=None, buyer_utility=None, detail="+503 \x07 overloaded"
        )
        for _ in range(2):
            store.add_void(failed)
        store.add_deviation(design.hash, "cell", "<img src=http://evil.example>", "@SUM(1)")
    return design
