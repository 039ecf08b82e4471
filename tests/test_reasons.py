"""The words for why a page is, or is no copy of another one."""

from typing import get_args

import pytest

from scrapy_simhash.confirmation import Against, Confirmation
from scrapy_simhash.reasons import explain

FACTS = {"distance": 17, "similarity": 0.799, "max_distance": 52, "confirmation": Confirmation()}
SHOWN = '79 % similar (copies: 60 %), distance 17 (k = 52), names "Boat 7" and unknown'


@pytest.mark.parametrize(
    ("against", "because", "setting"),
    [
        ("", "a copy: ", "SIMHASH_DISTINCT_BY, or a higher SIMHASH_MIN_RESEMBLANCE,"),
        (
            "distinct_by",
            "SIMHASH_DISTINCT_BY finds different values",
            "SIMHASH_DISTINCT_BY without",
        ),
        ("identity", "they declare different article numbers", "SIMHASH_SAME_TITLE = False"),
        ("links", "their links lead to different pages", "SIMHASH_CONTENT_SELECT"),
        ("name", "their names differ", "SIMHASH_SAME_TITLE = False"),
        ("doubt", "only 79 % is similar, not 85 %", "SIMHASH_SAME_TITLE = False"),
        ("resemblance", "only 79 % is similar", "A lower SIMHASH_MIN_RESEMBLANCE"),
        ("content", "the text has changed", "No setting"),
        ("distance", "their distance is beyond k", "A higher SIMHASH_MAX_DISTANCE"),
    ],
)
def test_a_reason_has_the_rule_the_facts_and_the_setting_that_reverses_it(
    against, because, setting
):
    assert against in get_args(Against)
    found = explain(against, **FACTS, names=("Boat 7", ""))
    assert because in found
    assert SHOWN in found
    assert f". {setting}" in found
    assert found.endswith("reverses this")


def test_a_copy_whose_request_carries_something_else_passes():
    found = explain("", **FACTS, same_request=False)
    assert found.startswith("a copy: 79 % similar")
    assert "It passes, because its request carries something else. SIMHASH_IGNORE_ARG" in found


def test_what_is_unknown_is_left_out():
    unknown = FACTS | {"similarity": None}
    assert explain("name", **unknown).startswith(
        "no copy, because their names differ: distance 17 (k = 52). "
    )
