"""A suite's name stands for all of its domains wherever domains are named."""

import pytest

from arena.errors import UserError
from arena.lineup import request_from, resolve
from arena.store import Store
from scenarios.catalogue import bundled


def held_out(domains: object) -> dict[str, bool]:
    """Return which domains a request for `domains` comes to, and whether each is held out."""
    fields = {"sellers": ["linear"], "buyers": ["conceder"], "scenarios": 1}
    if domains is not None:
        fields["domains"] = domains
    with Store.open("sqlite://") as store:
        design = resolve(request_from(fields), store).design
    return {domain.name: domain.held_out for domain in design.domains}


def as_bundled(suite: str) -> dict[str, bool]:
    return {name: domain.held_out for name, domain in bundled(suite).items()}


def test_a_suite_by_name_by_mapping_and_by_default() -> None:
    assert held_out(["small"]) == as_bundled("small")
    assert held_out(["trade"]) == as_bundled("trade") == held_out(None)
    assert held_out(["small", "car_sale"]) == as_bundled("small") | {"car_sale": True}
    assert held_out([{"name": "small", "held_out": True}]) == dict.fromkeys(bundled("small"), True)
    assert held_out(["bread", {"name": "chairs", "held_out": False}]) == {
        "bread": False,
        "chairs": False,
    }


@pytest.mark.parametrize(
    ("domains", "says"),
    [
        (["small", "bread"], "stands twice"),
        (["smal"], "no domain is called 'smal'"),
        ([], "at least one"),
    ],
)
def test_mistakes(domains: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        held_out(domains)
