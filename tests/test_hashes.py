import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.hashes import FEATURE_HASHES
from scrapy_simhash.scheme import Scheme
from tests import oracles

features = st.lists(st.text(st.characters(), max_size=20), max_size=6)  # lone surrogates, too


def values(name, wanted, bits):
    digests = FEATURE_HASHES[name].digests(wanted, bits)
    width = bits // 8
    assert len(digests) == width * len(wanted)
    return [int.from_bytes(digests[i : i + width], "big") for i in range(0, len(digests), width)]


@pytest.mark.parametrize("name", [name for name in FEATURE_HASHES if name != "mt19937"])
@given(wanted=features, data=st.data())
@example(wanted=["", "a", "渡轮", "\U0001f600", "\ud800", "\xff" * 40], data=None)
@example(wanted=["a\x1fb", "b\x1fa", "\x1f", "a\x1fb\x1fc", "ab"], data=None)
def test_every_width_follows_the_definition(name, wanted, data):
    widths = FEATURE_HASHES[name].widths
    for bits in widths if data is None else [data.draw(st.sampled_from(widths))]:
        assert values(name, wanted, bits) == [oracles.HASHES[name](f, bits) for f in wanted]


def test_mt19937_supports_every_ascii_character():
    every = [chr(code) for code in range(128)]
    assert values("mt19937", every, 32) == oracles.mt19937_outputs()


def test_published_values():
    # hash("a") of a 64-bit Python 2; "渡轮".hashCode() of Java.
    assert values("string-hash", ["a"], 64) == [12416037344]
    assert values("bkdr", ["渡轮"], 32) == [0x6E21 * 31 + 0x8F6E]
    assert values("md5", [""], 128) == [0xD41D8CD98F00B204E9800998ECF8427E]


@pytest.mark.parametrize("name", FEATURE_HASHES)
def test_a_scheme_refuses_widths_that_its_hash_lacks(name):
    widths = FEATURE_HASHES[name].widths
    for bits in range(8, 513, 8):
        if bits in widths:
            assert Scheme(feature_hash=name, bits=bits).bits == bits
        else:
            with pytest.raises(ValueError, match=rf"^bits={bits}: the hash {name}"):
                Scheme(feature_hash=name, bits=bits)
