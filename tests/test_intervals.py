"""Confidence intervals of shares."""

from __future__ import annotations

import pytest

from scrapy_simhash.intervals import Z95, Z95_ONE_SIDED, wilson


def test_wilsons_interval():
    assert wilson(0, 0, Z95) == (0, 1)
    assert wilson(10, 10, Z95)[1] == 1
    assert wilson(10, 10, Z95)[0] == pytest.approx(0.7225, abs=1e-4)
    assert wilson(0, 10, Z95) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(10, 10, Z95_ONE_SIDED)[0] == pytest.approx(10 / (10 + 1.645**2))
