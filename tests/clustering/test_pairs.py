"""The search for pairs, beside a linear scan, and the forms of its input."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.clustering import pairs as module
from scrapy_simhash.clustering.pairs import concatenate, find_pairs, words_of
from scrapy_simhash.errors import PlanError, SchemeError
from scrapy_simhash.index import TablePlan

many = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def crowded(draw, widths=(8, 16, 64, 72, 136, 256)):
    """(bits, fingerprints, max_distance): few centres, and what lies around them, some equal."""
    bits = draw(st.sampled_from(widths))
    centres = draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=4))
    flips = st.lists(st.integers(0, bits - 1), max_size=draw(st.sampled_from([1, 4, 12])))
    fingerprints = []
    for centre, flipped in draw(st.lists(st.tuples(st.sampled_from(centres), flips), max_size=40)):
        fingerprint = centre
        for bit in flipped:
            fingerprint ^= 1 << bit
        fingerprints.append(fingerprint)
    return bits, fingerprints, draw(st.integers(0, min(6, bits - 1)))


@st.composite
def plans(draw, bits):
    """Any tables for so many bits, or none."""
    blocks = draw(st.integers(1, min(bits, 8)))
    try:
        return draw(st.none() | st.just(TablePlan(bits, blocks, draw(st.integers(1, blocks)))))
    except PlanError:
        return TablePlan(bits, blocks)


def share_a_prefix(plan, one, other):
    """Of a prefix that is longer than 64 bits, the last 64 count."""
    for table in () if plan is None else plan.tables:
        differing = 0
        for shift, width in table:
            differing = differing << width | (one ^ other) >> shift & (1 << width) - 1
        if not differing & (1 << 64) - 1:
            return True
    return plan is None


def by_scan(fingerprints, max_distance, plan):
    return {
        (i, j, (one ^ other).bit_count())
        for (i, one), (j, other) in combinations(enumerate(fingerprints), 2)
        if (one ^ other).bit_count() <= max_distance and share_a_prefix(plan, one, other)
    }


@pytest.fixture(params=[False, True], ids=["usual", "pieces"])
def _sizes(request, monkeypatch):
    """Few fingerprints take what is meant for millions: pieces, blocks and batches."""
    for name in ("_BATCH", "_PIECE_KEYS", "_BLOCK") if request.param else ():
        monkeypatch.setattr(module, name, 3)


@many
@given(data=st.data(), crowd=crowded())
@pytest.mark.usefixtures("_sizes")
def test_pairs_are_those_of_a_linear_scan_that_share_a_prefix(data, crowd):
    bits, fingerprints, max_distance = crowd
    fingerprints = list(dict.fromkeys(fingerprints))
    plan = data.draw(plans(bits))
    pairs = concatenate(find_pairs(words_of(fingerprints, bits), max_distance, plan))
    found = set(zip(*(column.tolist() for column in pairs), strict=True))
    assert found == by_scan(fingerprints, max_distance, plan)


@given(crowd=crowded())
def test_forms_of_input_give_the_same_words(crowd):
    bits, fingerprints, _ = crowd
    packed = b"".join(one.to_bytes(bits // 8, "big") for one in fingerprints)
    rows = np.frombuffer(packed, np.uint8).reshape(-1, bits // 8)
    forms = [tuple(fingerprints), rows, np.array(fingerprints, dtype=object)]
    if bits <= 64:
        forms.append(np.array(fingerprints, dtype=np.uint64))
    if bits % 64 == 0:
        forms.append(rows.copy().view(">u8").astype(np.uint64))
    expected = words_of(fingerprints, bits)
    assert [
        sum(int(word) << 64 * at for at, word in enumerate(column)) for column in expected.T
    ] == (fingerprints)
    for form in forms:
        assert np.array_equal(words_of(form, bits), expected)


@pytest.mark.parametrize(
    "fingerprints",
    [
        *([3, -1], [2**16], [4.0], [None], ["ff"], "ff", 7, np.array([1.0]), np.array([-1])),
        *(np.zeros((2, 3), np.uint8), np.zeros((2, 2, 2), np.uint8), np.array([2**16], np.uint64)),
        *(np.zeros((1, 2), np.uint64), np.zeros((1, 1))),
    ],
    ids=repr,
)
def test_what_is_no_fingerprint_of_16_bits_is_refused(fingerprints):
    with pytest.raises(SchemeError, match="fingerprint"):
        words_of(fingerprints, 16)
