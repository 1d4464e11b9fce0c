"""Wilson's score interval for a rate out of few trials, in whole per mille.

E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927); recommended for
small n by Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16 (2001).
The simple interval (rate ± 1.96 standard errors) says 0 ± 0 for no failure in ten, which nobody should believe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054
"""Two-sided 95 % point of the normal distribution."""
ENOUGH = 5
"""Trials below which no rate is stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate and its 95 % interval in per mille; the interval is rounded outwards."""

    permille: int
    low_permille: int
    high_permille: int


def wilson(hits: int, trials: int) -> Rate | None:
    """Rate of ``hits`` among ``trials``; None below ``ENOUGH`` trials.

    Raises:
        ValueError: hits are not among the trials.
    """
    if not 0 <= hits <= trials:
        message = f"{hits} of {trials} is not a rate"
        raise ValueError(message)
    if trials < ENOUGH:
        return None
    rate, square = hits / trials, Z_95**2 / trials
    centre = (rate + square / 2) / (1 + square)
    half = Z_95 / (1 + square) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    low = 0 if hits == 0 else max(math.floor(1000 * (centre - half)), 0)
    high = 1000 if hits == trials else min(math.ceil(1000 * (centre + half)), 1000)
    return Rate(permille=round(1000 * rate), low_permille=low, high_permille=high)
