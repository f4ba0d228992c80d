"""Holm's correction against R's multtest, against statsmodels, and its properties."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from leaderboard.inference.holm import holm

P = st.floats(0, 1)


def test_the_values_of_r_multtest():
    raw = [0.001, 0.002, 0.003, 0.004, 0.005, 0.05, 0.06, 0.07, 0.08, 0.09]
    expected = [0.01, 0.018, 0.024, 0.028, 0.03, 0.25, 0.25, 0.25, 0.25, 0.25]
    assert holm(raw) == pytest.approx(expected, abs=1e-12)


# statsmodels collects garbage in every call, which takes longer the more the other tests have left.
@settings(max_examples=25)
@given(raw=st.lists(P, min_size=1, max_size=12))
def test_it_is_what_statsmodels_computes(raw):
    assert holm(raw) == pytest.approx(multipletests(raw, method="holm")[1], abs=1e-12)


@given(raw=st.lists(st.one_of(P, st.none()), max_size=8), more=st.integers(0, 5))
def test_tests_that_are_missing_count_as_one(raw, more):
    padded = [1.0 if value is None else value for value in raw] + [1.0] * more
    assert holm(raw, m=len(raw) + more) == holm(padded)[: len(raw)]


@given(raw=st.lists(P, min_size=2, max_size=8), data=st.data())
def test_order_does_not_matter_and_no_p_falls(raw, data):
    order = data.draw(st.permutations(range(len(raw))))
    adjusted = holm(raw)
    assert holm([raw[place] for place in order]) == [adjusted[place] for place in order]
    assert all(value <= after <= 1 for value, after in zip(raw, adjusted, strict=True))
    ranked = sorted(range(len(raw)), key=raw.__getitem__)
    assert [adjusted[place] for place in ranked] == sorted(adjusted)


def test_a_family_of_one_and_of_none():
    assert holm([0.03]) == [0.03]
    assert holm([0.03], m=2) == [0.06]
    assert holm([]) == []


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_is_refused(wrong):
    with pytest.raises(ValueError, match="outside"):
        holm([0.1, wrong])


def test_more_tests_than_the_family_has_are_refused():
    with pytest.raises(ValueError, match="family of 1"):
        holm([0.1, 0.2], m=1)
