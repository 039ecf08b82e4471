from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.fingerprint import hamming_distance, simhash, to_hex
from scrapy_simhash.scheme import Scheme
from tests.samples import CHINESE, ENGLISH, FEATURES, TOKENS

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTHS = range(8, 513, 8)

# The narrower are the heads of the wider, so that one list serves both presets.
GOLDEN_WIDE = {
    "English": "c16a3a14f49c9281d33a052d9cb1bc39cf538f8bf377f024a87a70015f02cca9",
    "Chinese": "7c59b285532e3d173b263d19abd108008f59049ec3a330099e186d2d2889d9ad",
    "tokens": "e48a1a04d8ae594c133b343dcc85ac235053de2ba3c685881c8a6a814f2c8c24",
    "features": "958ab22558b87d049790f48ed8cda638c74556edebc241cba6886aa3656d0c0e",
}
GOLDEN_CLASSIC = {
    "English": "c16a3a14f49c9281",
    "Chinese": "7c59b285532e3d17",
    "tokens": "e48a1a04d8ae594c",
    "features": "958ab22558b87d04",
}


def golden(preset: str) -> dict[str, str]:
    scheme = Scheme.preset(preset)
    made = {
        "English": scheme.fingerprint(ENGLISH),
        "Chinese": scheme.fingerprint(CHINESE),
        "tokens": scheme.fingerprint_tokens(TOKENS),
        "features": scheme.fingerprint_features(FEATURES),
    }
    return {name: to_hex(fingerprint, scheme.bits) for name, fingerprint in made.items()}


def oracle_sums(features: Mapping[str, float], bits: int) -> list[Fraction]:
    """Manku et al., section 2.1, to the letter: a vector of f sums, from the first bit on."""
    sums = [Fraction(0)] * bits
    for feature, weight in features.items():
        data = feature.encode("utf-8", "surrogatepass")
        hashed = 0
        for seed in range(4):
            hashed = hashed << 128 | xxhash.xxh3_128_intdigest(data, seed)
        for bit in range(bits):
            sums[bit] += Fraction(weight) if hashed >> (511 - bit) & 1 else -Fraction(weight)
    return sums


def oracle(features: Mapping[str, float], bits: int, tie: str = "zero") -> int:
    fingerprint = 0
    for total in oracle_sums(features, bits):
        fingerprint = fingerprint << 1 | int(total > 0 or (total == 0 and tie == "one"))
    return fingerprint


texts = st.text(st.characters(), max_size=6)  # lone surrogates are among them
binary_weights = st.integers(1, 4096).map(lambda sixteenths: sixteenths / 16)
any_weights = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def weighted(weights: st.SearchStrategy[float]) -> st.SearchStrategy[dict[str, float]]:
    return st.dictionaries(texts, weights, min_size=1, max_size=12)


class TestGolden:
    @pytest.mark.parametrize(
        ("preset", "expected"), [("classic", GOLDEN_CLASSIC), ("wide", GOLDEN_WIDE)]
    )
    def test_fingerprints_are_what_they_have_always_been(self, preset, expected):
        assert golden(preset) == expected

    @pytest.mark.parametrize("bits", [64, 256])
    def test_the_golden_features_follow_from_the_definition(self, bits):
        assert simhash(FEATURES, bits) == oracle(FEATURES, bits)

    @pytest.mark.parametrize("hash_seed", ["0", "20260101"])
    def test_other_processes_get_the_same_in_silence(self, hash_seed):
        code = (
            "import json; from tests.test_fingerprint import golden;"
            "print(json.dumps([golden('classic'), golden('wide')]))"
        )
        child = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(child.stdout) == [GOLDEN_CLASSIC, GOLDEN_WIDE]
        assert child.stderr == ""


class TestDefinition:
    @given(
        weighted(binary_weights), st.sampled_from([8, 64, 256]), st.sampled_from(["zero", "one"])
    )
    @example({"a": 1.0, "b": 1.0}, 64, "zero")
    @example({"a": 1.0, "b": 1.0}, 64, "one")
    @example({"a": 0.5, "b": 1.5, "c": 2.0}, 256, "one")
    @example({"a": 2.0**44 + 1, "b": 2.0**44}, 64, "zero")
    @example({"\ud800": 1.0, "?\udfff": 2.0}, 64, "zero")
    def test_it_is_the_sign_of_the_weighted_sums(self, features, bits, tie):
        assert simhash(features, bits, tie=tie) == oracle(features, bits, tie)

    @given(weighted(any_weights), st.sampled_from(["zero", "one"]))
    def test_weights_of_any_size_decide_unless_their_sum_is_within_rounding(self, features, tie):
        heaviest = math.frexp(max(features.values()))[1]
        rounding = len(features) * Fraction(2) ** (heaviest - 52 + len(features).bit_length())
        found = simhash(features, 64, tie=tie)
        for bit, total in enumerate(oracle_sums(features, 64)):
            if abs(total) > rounding:
                assert found >> (63 - bit) & 1 == (total > 0)

    @pytest.mark.parametrize("bits", WIDTHS)
    def test_every_width(self, bits):
        features = {word: 1.0 + len(word) / 4 for word in ENGLISH.split()}
        found = simhash(features, bits)
        assert found == oracle(features, bits)
        assert found == simhash(features, 512) >> (512 - bits), "the head of the widest"

    @pytest.mark.parametrize("bits", WIDTHS)
    def test_one_feature_gives_its_own_hash(self, bits):
        digests = b"".join(xxhash.xxh3_128_digest("渡轮".encode(), seed) for seed in range(4))
        expected = int.from_bytes(digests[: bits // 8], "big")
        assert simhash({"渡轮": 0.1}, bits) == expected

    def test_the_tie_rule_decides_exactly_the_bits_of_a_zero_sum(self):
        a, b = (simhash({name: 1.0}, 512) for name in "ab")
        pair = {"a": 0.3, "b": 0.3}
        assert simhash(pair, 512, tie="zero") == a & b
        assert simhash(pair, 512, tie="one") == a | b


class TestInvariance:
    @given(weighted(any_weights), st.randoms(use_true_random=False))
    def test_the_order_of_features_changes_nothing(self, features, chance):
        shuffled = list(features.items())
        chance.shuffle(shuffled)
        assert simhash(dict(shuffled), 128) == simhash(features, 128)

    def test_sums_near_zero_do_not_depend_on_the_order_either(self):
        # As floats they would: 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1.
        chance = random.Random(8)
        tenths = [chance.randint(1, 9) for _ in range(40)]
        assert sum(tenths) % 2 == 0, "else no sum is zero"
        pairs = [(f"feature {number}", weight / 10) for number, weight in enumerate(tenths)]
        found = {simhash(dict(chance.sample(pairs, len(pairs))), 512) for _ in range(50)}
        assert len(found) == 1

    @given(weighted(st.floats(1e-6, 1e6)), st.integers(-900, 900))
    def test_scaling_by_a_power_of_two_changes_nothing(self, features, exponent):
        scaled = {feature: math.ldexp(weight, exponent) for feature, weight in features.items()}
        assert simhash(scaled, 128) == simhash(features, 128)

    @given(weighted(binary_weights), st.lists(texts), st.sampled_from([0, 0.0, -0.0]))
    def test_features_without_weight_are_ignored(self, features, weightless, zero):
        padded = {**dict.fromkeys(weightless, zero), **features}
        assert simhash(padded, 64, tie="one") == simhash(features, 64, tie="one")

    def test_thousands_of_features_in_any_order_follow_the_definition(self):
        chance = random.Random(7)
        pairs = [(f"feature {i}", chance.randint(1, 1 << 20) / 1024) for i in range(9001)]
        expected = oracle(dict(pairs), 64)
        assert simhash(dict(pairs), 64) == expected
        chance.shuffle(pairs)
        assert simhash(dict(pairs), 64) == expected


class TestRefused:
    @pytest.mark.parametrize(
        "weight",
        [-1.0, -5e-324, math.nan, math.inf, -math.inf, 10**400],
        ids=["negative", "least negative", "nan", "inf", "-inf", "beyond a float"],
    )
    def test_weights_that_are_negative_or_not_finite(self, weight):
        with pytest.raises(SchemeError, match="weight"):
            simhash({"a": 1.0, "b": weight, "c": 2.0}, 64)

    @pytest.mark.parametrize("features", [{}, {"a": 0}, {"a": 0.0, "b": -0.0}])
    def test_nothing_to_hash(self, features):
        with pytest.raises(EmptyText):
            simhash(features, 64)


def test_a_million_features_take_bounded_memory():
    features = {f"feature {i}": 1.0 + i % 7 for i in range(1_000_000)}
    tracemalloc.start()
    try:
        found = simhash(features, 64)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 300 * 2**20
    assert found == simhash(dict(reversed(features.items())), 64)


@given(st.integers(0, 2**512 - 1), st.integers(0, 2**512 - 1))
def test_hamming_distance_counts_differing_bits(a, b):
    expected = sum(x != y for x, y in zip(f"{a:0512b}", f"{b:0512b}", strict=True))
    assert hamming_distance(a, b) == hamming_distance(b, a) == expected
    assert hamming_distance(a, a) == 0


@given(st.sampled_from(WIDTHS), st.data())
def test_the_hex_form_is_padded_and_can_be_read_back(bits, data):
    fingerprint = data.draw(st.integers(0, 2**bits - 1))
    text = to_hex(fingerprint, bits)
    assert len(text) == bits // 4
    assert int(text, 16) == fingerprint
    assert text == text.lower()
