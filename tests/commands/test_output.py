"""What commands say about pages within k that are not copies."""

from __future__ import annotations

import pytest

from scrapy_simhash.commands._output import reasons_against_copy
from scrapy_simhash.confirmation import Confirmation

DIFFER = "they are pages of one site, and their names differ"
DOUBT = (
    "they are pages of one site whose names differ or may differ, and their similarity is below "
    "85 %"
)


@pytest.mark.parametrize(
    ("least", "similarity", "reason"),
    [
        (0.6, 0.59, "their similarity is below 60 %"),
        (0.6, 0.6, DOUBT),
        (0.6, 0.84, DOUBT),
        (0.6, 0.85, DIFFER),
        (0.6, None, DIFFER),
        (0.9, 0.89, "their similarity is below 90 %"),
        (0.9, 0.9, DIFFER),
    ],
)
def test_why_a_match_is_no_copy(least, similarity, reason):
    assert reasons_against_copy(Confirmation(least), similarity) == [reason]
