import math
import random
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.fingerprint import simhash
from tests import oracles

texts = st.text(st.characters(), max_size=6)  # lone surrogates are among them
binary_weights = st.integers(1, 4096).map(lambda sixteenths: sixteenths / 16)
any_weights = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def weighted(weights):
    return st.dictionaries(texts, weights, min_size=1, max_size=12)


def value_of(features, bits, tie="zero"):
    return simhash(features.items(), bits, tie=tie).value


class TestDefinition:
    @given(
        weighted(binary_weights), st.sampled_from([8, 64, 256]), st.sampled_from(["zero", "one"])
    )
    @example({"a": 1.0, "b": 1.0}, 64, "zero")
    @example({"a": 1.0, "b": 1.0}, 64, "one")
    @example({"a": 0.5, "b": 1.5, "c": 2.0}, 256, "one")
    @example({"a": 2.0**44 + 1, "b": 2.0**44}, 64, "zero")
    @example({"\ud800": 1.0, "?\udfff": 2.0}, 64, "zero")
    def test_a_bit_is_the_sign_of_its_weighted_sum(self, features, bits, tie):
        assert value_of(features, bits, tie=tie) == oracles.simhash(features, bits, tie=tie)

    @given(weighted(any_weights), st.sampled_from(["zero", "one"]))
    def test_weights_of_any_size_differ_only_by_rounding(self, features, tie):
        heaviest = math.frexp(max(features.values()))[1]
        rounding = len(features) * Fraction(2) ** (heaviest - 52 + len(features).bit_length())
        found = value_of(features, 64, tie=tie)
        for bit, total in enumerate(oracles.sums_of(features, 64)):
            if abs(total) > rounding:
                assert found >> (63 - bit) & 1 == (total > 0)


class TestInvariance:
    def test_the_order_does_not_count_for_sums_near_zero(self):
        # Float sums depend on it: 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1.
        chance = random.Random(8)
        tenths = [chance.randint(1, 9) for _ in range(40)]
        assert sum(tenths) % 2 == 0, "else no sum is zero"
        pairs = [(f"feature {number}", weight / 10) for number, weight in enumerate(tenths)]
        found = {value_of(dict(chance.sample(pairs, len(pairs))), 512) for _ in range(50)}
        assert len(found) == 1


class TestCertainty:
    @given(weighted(binary_weights), st.sampled_from([8, 64, 256]))
    @example({"a": 1.0, "b": 1.0}, 64)
    @example({"a": 1.0, "b": 1000.0}, 64)
    def test_certainty_is_the_distance_of_the_sum_from_zero(self, features, bits):
        norm = math.sqrt(sum(weight * weight for weight in features.values()))
        found = simhash(features.items(), bits).certainty
        assert len(found) == bits
        for certainty, total in zip(found, oracles.sums_of(features, bits), strict=True):
            assert certainty == pytest.approx(min(64 * abs(float(total)) / norm, 255), abs=0.501)


class TestRefused:
    @pytest.mark.parametrize(
        "weight",
        [-1.0, -5e-324, math.nan, math.inf, -math.inf, 10**400],
        ids=["negative", "least negative", "nan", "inf", "-inf", "beyond a float"],
    )
    def test_negative_or_infinite_weights_raise_scheme_error(self, weight):
        with pytest.raises(SchemeError, match="weight"):
            simhash([("a", 1.0), ("b", weight), ("c", 2.0)], 64)

    @pytest.mark.parametrize("features", [{}, {"a": 0}, {"a": 0.0, "b": -0.0}])
    def test_no_positive_weight_raises_empty_text(self, features):
        with pytest.raises(EmptyText):
            simhash(features.items(), 64)
