"""Evidence as bytes: literal bytes, round trips, and damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.evidence import (
    NO_EVIDENCE,
    Evidence,
    decode_evidence,
    encode_evidence,
    read_evidence,
)

EVIDENCE = st.builds(
    Evidence,
    *[
        st.binary(max_size=300) if isinstance(value, bytes) else st.integers(0, 2**40)
        for value in NO_EVIDENCE
    ],
)


def test_bytes_are_laid_out_as_the_docs_say():
    assert encode_evidence(NO_EVIDENCE) == encode_evidence(Evidence()) == b"\0"
    evidence = Evidence(bytes(128), 0x0A0B, title=b"\1\2", request=b"12345678", depth=300)
    assert encode_evidence(evidence) == (
        b"\1\x80\1" + bytes(128) + b"\2\2\x0a\x0b" + b"\3\2\1\2" + b"\x09\x0812345678"
        b"\x0a\2\x01\x2c" + b"\0"
    )


@given(EVIDENCE, st.binary(max_size=3), st.binary(max_size=3))
def test_evidence_comes_back_as_it_was(evidence, before, after):
    encoded = encode_evidence(evidence)
    assert decode_evidence(encoded) == evidence
    value = before + encoded + after
    assert read_evidence(value, len(before)) == (evidence, len(before + encoded))


def test_unknown_parts_are_skipped():
    known = encode_evidence(Evidence(site=5))
    assert decode_evidence(b"\x7f\3abc" + known) == Evidence(site=5)


@given(EVIDENCE, st.data())
def test_a_value_that_is_cut_short_is_an_error(evidence, data):
    encoded = encode_evidence(evidence)
    cut = encoded[: data.draw(st.integers(0, len(encoded) - 1))]
    with pytest.raises(ValueError, match="cut short"):
        read_evidence(cut, 0)
