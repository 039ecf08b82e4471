"""Sketches compared with their definition, and estimates with the true resemblance."""

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
