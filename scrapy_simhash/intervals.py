"""Confidence intervals of shares, such as the recall of a sample of pairs."""

from __future__ import annotations

from math import sqrt

Z95 = 1.959963984540054
"""The z of a two-sided interval of 95 %."""
Z95_ONE_SIDED = 1.645
"""The z of a lower bound of 95 %."""


def wilson(successes: float, trials: float, z: float) -> tuple[float, float]:
    """Return the confidence interval of a share (Wilson 1927); (0, 1) without trials.

    :param z: quantile of the normal distribution.
    """
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    spread = z * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    middle = share + z**2 / (2 * trials)
    scale = 1 + z**2 / trials
    low, high = (middle - spread) / scale, (middle + spread) / scale
    # Rounding must not move the limits 0 and 1.
    return (0.0 if successes == 0 else low, 1.0 if successes >= trials else high)
