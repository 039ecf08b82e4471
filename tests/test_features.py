from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.features import WEIGHTINGS, shingles, weighted_features

token_lists = st.lists(st.sampled_from(["a", "b", "c", "d e"]), max_size=30)


def test_single_tokens_are_their_own_features():
    assert shingles(["six", "bells", "six"], 1) == ["six", "bells", "six"]


@given(token_lists, st.integers(2, 16))
def test_shingles_are_all_runs_of_their_length_in_order(tokens, length):
    made = [tuple(shingle.split("\x1f")) for shingle in shingles(tokens, length)]
    if not tokens:
        assert made == []
    elif len(tokens) < length:
        assert made == [tuple(tokens)]
    else:
        runs = zip(*(tokens[start:] for start in range(length)), strict=False)
        assert made == list(runs)


def test_where_tokens_end_makes_a_difference():
    assert shingles(["ab", "c"], 2) != shingles(["a", "bc"], 2)
    assert shingles(["a b", "c"], 2) != shingles(["a", "b c"], 2)


def test_the_callers_tokens_are_left_alone():
    tokens = ["b", "a"]
    shingles(tokens, 1).append("c")
    assert tokens == ["b", "a"]


@pytest.mark.parametrize(
    ("weighting", "weight_of"),
    [
        ("uniform", lambda _: 1.0),
        ("tf", lambda count: count),
        ("log-tf", lambda count: 1 + math.log(count)),
    ],
)
@given(tokens=token_lists, length=st.integers(1, 3))
def test_weights_follow_the_counts(weighting, weight_of, tokens, length):
    features = weighted_features(tokens, shingle_length=length, weighting=weighting)
    counts = Counter(shingles(tokens, length))
    # Logarithms are rounded to 20 bits below the point.
    expected = {feature: weight_of(count) for feature, count in counts.items()}
    assert features == pytest.approx(expected, abs=2**-21)
    assert all(type(weight) is float for weight in features.values())


def test_features_stand_in_order_of_first_occurrence():
    features = weighted_features(["b", "a", "b", "c"], shingle_length=1, weighting="tf")
    assert list(features.items()) == [("b", 2.0), ("a", 1.0), ("c", 1.0)]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_no_tokens_have_no_features(weighting):
    assert weighted_features([], shingle_length=2, weighting=weighting) == {}
