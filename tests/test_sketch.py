"""Sketches compared with their definition, and estimates with the true resemblance."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.resemblance import shingles
from scrapy_simhash.sketch import SHINGLE_TOKENS, estimate_resemblance, sketch
from tests import oracles

token_lists = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def sketch_of(tokens):
    return sketch(token_hashes(tokens))


def oracle(tokens):
    """One permutation hashing: a byte from 1 to 255 for the least hash in each of 128 bins."""
    bins = {}
    for shingle in shingles(tokens, SHINGLE_TOKENS):
        hashed = oracles.shingle_hash(list(shingle))
        bins[hashed >> 57] = min(hashed, bins.get(hashed >> 57, 2**64))
    return bytes(1 + bins[number] % 255 if number in bins else 0 for number in range(128))


def sketches(size):
    return st.binary(min_size=size, max_size=size)


class TestSketch:
    @given(token_lists)
    def test_a_sketch_follows_its_definition(self, tokens):
        assert sketch_of(tokens) == (oracle(tokens) if tokens else b"")

    def test_stored_sketches_stay_valid(self):
        tokens = [f"word {number}" for number in range(8)]
        used = {number: byte for number, byte in enumerate(sketch_of(tokens)) if byte}
        assert used == {17: 51, 45: 49, 48: 76, 73: 33, 78: 12}


class TestEstimate:
    @given(
        st.sampled_from([64, 128, 200]).flatmap(
            lambda size: st.tuples(sketches(size), sketches(size))
        )
    )
    def test_an_estimate_follows_its_definition(self, pair):
        one, other = pair
        used = sum(a or b for a, b in zip(map(bool, one), map(bool, other), strict=True))
        equal = sum(a == b != 0 for a, b in zip(one, other, strict=True))
        share = equal / max(used, 1)
        # A bin of 255 values is equal by chance in one of 255.
        assert estimate_resemblance(one, other) == min(max((share * 255 - 1) / 254, 0), 1)

    @pytest.mark.parametrize("resemblance", [0.1, 0.3, 0.5, 0.6, 0.8, 0.95])
    @pytest.mark.parametrize("length", [150, 400, 3000])
    def test_the_estimate_is_near_the_true_resemblance(self, resemblance, length):
        errors = []
        for number in range(60):
            one, other = pair_of_texts(random.Random(number), length, resemblance)
            mine, theirs = (shingles(tokens, SHINGLE_TOKENS) for tokens in (one, other))
            true = len(mine & theirs) / len(mine | theirs)
            errors.append(estimate_resemblance(sketch_of(one), sketch_of(other)) - true)
        # The expected number of used bins: short texts use fewer.
        bins = 128 * (1 - (1 - 1 / 128) ** (length * 2 / (1 + resemblance)))
        deviation = math.sqrt(resemblance * (1 - resemblance) / bins + 1 / (255 * bins))
        assert abs(sum(errors) / len(errors)) < 4 * deviation / math.sqrt(len(errors))
        assert max(map(abs, errors)) < 4.5 * deviation


def pair_of_texts(chance, length, resemblance):
    """Return two texts of `length` words with this resemblance; their ends differ."""
    # With n shared shingles, and m others in each text, the resemblance is n / (n + 2m).
    own = round(length * (1 - resemblance) / (1 + resemblance))
    words = [f"{chance.random()}" for _ in range(length + own)]
    return words[:length], words[own:]
