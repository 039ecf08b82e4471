import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.hashes import FEATURE_HASHES
from scrapy_simhash.scheme import Scheme
from tests import oracles

ODD = [
    "",
    "a",
    "渡轮",
    "\U0001f600",
    "\ud800",
    "\xff" * 40,
    "a\x1fb",
    "b\x1fa",
    "\x1f",
    "a\x1fb\x1fc",
]
# SHA-256 of the hashes of all widths, which were those of the algorithms as published.
PUBLISHED = {
    "xxh3": "006595c09ce8a0e5860bf069c5304796",
    "xxh3-mix": "f44d0ee3ed3bc8fc2780ce84eb2799da",
    "md5": "f9724ea53bc500cdc93e300e5ddbf617",
    "bkdr": "39e3e7da45927a31a34a006b1d8b0120",
    "string-hash": "e21655993fb47af6e6218d85c7a6eadc",
    "string-hash-java": "968da0a1d7d106d1b09399ba174fd458",
    "mt19937": "014487968e4bceffff655438dccb0405",
}


def values(name, wanted, bits):
    digests = FEATURE_HASHES[name].digests(wanted, bits)
    width = bits // 8
    assert len(digests) == width * len(wanted)
    return [int.from_bytes(digests[i : i + width], "big") for i in range(0, len(digests), width)]


@pytest.mark.parametrize("name", FEATURE_HASHES)
def test_hashes_of_every_width_never_change(name):
    features = [*ODD, *(f"word {number}" * (number % 5 + 1) for number in range(100))]
    if name == "mt19937":
        features = [chr(code) for code in range(128)]
    hashed, widths = FEATURE_HASHES[name]
    digests = b"".join(hashed(features, bits) for bits in widths)
    assert hashlib.sha256(digests).hexdigest()[:32] == PUBLISHED[name]


@given(st.lists(st.text(st.characters(), max_size=20), max_size=6), st.sampled_from([8, 64, 512]))
@example(ODD, 512)
def test_xxh3_and_its_mix_follow_their_definitions(features, bits):
    for name in ("xxh3", "xxh3-mix"):
        assert values(name, features, bits) == [oracles.HASHES[name](f, bits) for f in features]


@pytest.mark.parametrize("name", FEATURE_HASHES)
def test_a_scheme_refuses_widths_that_its_hash_lacks(name):
    widths = FEATURE_HASHES[name].widths
    for bits in range(8, 513, 8):
        if bits in widths:
            assert Scheme(feature_hash=name, bits=bits).bits == bits
        else:
            with pytest.raises(ValueError, match=rf"^bits={bits}: the hash {name}"):
                Scheme(feature_hash=name, bits=bits)
