"""What is taken, and what is refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import SimhashError, cluster, near_pairs
from scrapy_simhash.clustering import words
from scrapy_simhash.errors import PlanError, SchemeError
from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.plan import Block

BAD = {
    "negative": ([3, -1], "fingerprint 1 is -1: 0 to 2"),
    "too wide": ([3, 2**64], "fingerprint 1 is 18446744073709551616: 0 to 2"),
    "a float": ([3, 4.0], "fingerprint 1 is 4.0: an int is needed"),
    "not a number": ([float("nan")], "fingerprint 0 is nan: an int is needed"),
    "None": ([None], "fingerprint 0 is None: an int is needed"),
    "a bool": ([True], "fingerprint 0 is True: an int is needed"),
    "hex": (["ff"], "fingerprint 0 is 'ff': an int is needed"),
    "a text": ("ff", "a sequence of ints or an array, not str"),
    "bytes": (b"\x01" * 8, "a sequence of ints or an array, not bytes"),
    "an iterator": (iter([1, 2]), "a sequence of ints or an array, not list_iterator"),
    "a set": ({1, 2}, "a sequence of ints or an array, not set"),
    "a dict": ({0: 1}, "a sequence of ints or an array, not dict"),
    "one int": (7, "a sequence of ints or an array, not int"),
    "an array of floats": (np.array([1.0, np.nan]), "shape (2,) and type float64"),
    "an array of bools": (np.array([True]), "shape (1,) and type bool"),
    "a negative in an array": (np.array([1, -5]), "fingerprint 1 is -5: 0 to 2"),
    "rows of 7 bytes": (np.zeros((2, 7), np.uint8), "(n, 8) uint8 or (n,) uint64 or (n, 1) uint64"),
    "rows of two words": (np.zeros((2, 2), np.uint64), "shape (2, 2) and type uint64"),
    "rows of halves": (np.zeros((2, 2), np.uint32), "shape (2, 2) and type uint32"),
    "no axis": (np.uint64(3) + np.zeros((), np.uint64), "shape () and type uint64"),
    "three axes": (np.zeros((1, 1, 8), np.uint8), "shape (1, 1, 8)"),
    "objects": (np.array([1, "x"], dtype=object), "fingerprint 1 is 'x'"),
}


@pytest.mark.parametrize(("fingerprints", "why"), BAD.values(), ids=BAD)
def test_what_is_no_fingerprint_is_refused(fingerprints, why):
    if isinstance(fingerprints, np.generic):
        fingerprints = np.array(fingerprints)
    for function in (cluster, near_pairs):
        with pytest.raises(SchemeError) as caught:
            function(fingerprints, bits=64, max_distance=3)
        assert why in str(caught.value)


def test_narrow_fingerprints_must_fit_their_width():
    with pytest.raises(SchemeError, match=r"fingerprint 1 is 256: 0 to 2\*\*8 - 1 is needed"):
        cluster(np.array([255, 256]), bits=8, max_distance=1)
    with pytest.raises(SchemeError, match=r"fingerprint 0 is 65536: 0 to 2\*\*16 - 1 is needed"):
        cluster([65536], bits=16, max_distance=1)
    with pytest.raises(SchemeError, match=r"for 136 bits, \(n, 17\) uint8 is needed"):
        cluster(np.zeros((1, 3), np.uint64), bits=136, max_distance=1)
    with pytest.raises(SchemeError, match=r"\(n, 32\) uint8 or \(n, 4\) uint64 is needed"):
        cluster(np.zeros(3, np.uint64), bits=256, max_distance=1)


@pytest.mark.parametrize("bits", [0, 7, 63, 520, -8, 64.0, "64", None, True])
def test_widths_that_no_scheme_has_are_refused(bits):
    with pytest.raises(SchemeError, match="bits = "):
        cluster([], bits=bits, max_distance=3)


@pytest.mark.parametrize("max_distance", [-1, 64, 1000])
def test_distances_that_cannot_be_are_refused(max_distance):
    with pytest.raises(PlanError, match=f"max_distance is {max_distance}: use 0 to 63 for"):
        near_pairs([1], bits=64, max_distance=max_distance)


def test_a_distance_that_is_no_whole_number_is_refused():
    for max_distance in (1.5, "3", None, True, float("nan")):
        with pytest.raises(PlanError, match="a whole number is needed"):
            near_pairs([1], bits=64, max_distance=max_distance)


@pytest.mark.parametrize("min_recall", [0, -0.5, 1.01, float("nan"), "all", None, [0.9], 1j])
def test_shares_that_cannot_be_are_refused(min_recall):
    with pytest.raises(PlanError, match="min_recall = "):
        cluster([1], bits=64, max_distance=3, min_recall=min_recall)


def test_a_plan_must_be_of_the_same_width_and_a_method_one_of_two():
    with pytest.raises(PlanError, match="a plan for 32 bits does not fit fingerprints of 64"):
        cluster([1], bits=64, max_distance=3, plan=TablePlan(32, 4))
    with pytest.raises(PlanError, match="plan = 'fast': a TablePlan"):
        cluster([1], bits=64, max_distance=3, plan="fast")
    with pytest.raises(SchemeError, match="method = 'average': leader or connected"):
        cluster([1], bits=64, max_distance=3, method="average")
    assert issubclass(SchemeError, SimhashError)


def test_whole_numbers_of_numpy_are_taken():
    found = cluster([np.uint64(1), np.int32(3)], bits=np.int64(64), max_distance=np.int64(1))
    assert found.representative.tolist() == [0, 0]


def test_arrays_of_any_layout_are_taken():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 256, (50, 64), dtype=np.uint8)
    wanted = near_pairs(rows[:, ::2].copy(), bits=256, max_distance=110).arrays().first
    assert len(wanted)
    found = near_pairs(rows[:, ::2], bits=256, max_distance=110).arrays().first
    assert found.tolist() == wanted.tolist()
    swapped = rows[:, ::2].copy().view(">u8")
    found = near_pairs(swapped, bits=256, max_distance=110).arrays().first
    assert found.tolist() == wanted.tolist()


WIDE = st.lists(st.integers(0, 2**136 - 1), min_size=1, max_size=5)


@given(WIDE)
def test_columns_hold_the_lowest_bits_first(fingerprints):
    columns = words.words_of(fingerprints, 136)
    assert [len(column) for column in columns] == [len(fingerprints)] * 3
    for position, fingerprint in enumerate(fingerprints):
        parts = [int(column[position]) << 64 * at for at, column in enumerate(columns)]
        assert sum(parts) == fingerprint


@given(WIDE, st.integers(0, 135), st.integers(1, 60))
def test_a_hash_depends_on_the_bits_of_its_blocks_alone(fingerprints, shift, width):
    blocks = [Block(shift, min(width, 136 - shift)), Block(0, min(4, shift))]
    chosen = sum((1 << width) - 1 << low for low, width in blocks)
    hashes = words.hashed(words.words_of(fingerprints, 136), blocks).tolist()
    assert (
        hashes
        == words.hashed(
            words.words_of([one & chosen for one in fingerprints], 136), blocks
        ).tolist()
    )
    # Different ones collide once in four billion times.
    assert len(set(hashes)) == len({one & chosen for one in fingerprints})


@given(WIDE)
def test_bits_that_never_differ_do_not_count(fingerprints):
    columns = words.words_of(fingerprints, 136)
    shorter, bits = words.varying(columns, 136)
    differing = 0
    for fingerprint in fingerprints:
        differing |= fingerprint ^ fingerprints[0]
    assert bits == (differing.bit_count() or 136)
    first = np.zeros(len(fingerprints), dtype=np.intp)
    every = np.arange(len(fingerprints))
    wanted = [(fingerprint ^ fingerprints[0]).bit_count() for fingerprint in fingerprints]
    assert words.distances(shorter, shorter, first, every).tolist() == wanted
