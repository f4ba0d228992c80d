"""US dollars that are added up by the million: whole billionths, so that no sum drifts."""

from math import ceil, floor

NANO = 10**9
"""Billionths of a dollar in a dollar."""


def nano(usd: float) -> int:
    """Return an amount in billionths of a dollar, rounded up: no sum then says less than was spent.

    What a float has beyond a thousandth of that is noise and not rounded up.
    """
    return ceil(round(usd * NANO, 3))


def nano_within(usd: float) -> int:
    """Return a ceiling in billionths of a dollar, rounded down."""
    return floor(round(usd * NANO, 3))


def usd(nano: int) -> float:
    """Return an amount in dollars, to be shown."""
    return nano / NANO


def dollars(amount: float) -> str:
    """Return US dollars with two significant digits, or with cents from 1 dollar on."""
    rounded = float(f"{amount:.2g}")
    if rounded >= 1 or amount == 0:
        return f"${amount:,.2f}"
    shown = f"{rounded:.10f}".rstrip("0")
    return f"${shown.ljust(len('0.00'), '0')}"
