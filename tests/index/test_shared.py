"""Pending pages: what was added and not removed, by sequence, by key and by distance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index.base import Entry, Observation
from scrapy_simhash.index.shared import Pending, PendingPages


def pending(sequence, key, fingerprint):
    observation = Observation("new", key, fingerprint, None, None, sequence)
    entry = Entry(sequence, key, fingerprint, sequence, 0, 0)
    return Pending(observation, entry, None, None)


ACTIONS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30), st.sampled_from("abc"), st.integers(0, 63)),
    max_size=30,
)


@given(actions=ACTIONS, fingerprint=st.integers(0, 63), distance=st.integers(0, 6))
def test_they_hold_what_a_list_would(actions, fingerprint, distance):
    pages = PendingPages()
    expected = []
    for number, (added, position, key, content) in enumerate(actions):
        if added:
            one = pending(number, key, content)
            pages.add(one)
            expected.append(one)
        else:
            pages.remove(position)
            expected = [one for one in expected if one.observation.sequence != position]
    by_sequence = {one.observation.sequence: one for one in expected}
    for number in range(-1, len(actions) + 1):
        assert pages.get(number) is by_sequence.get(number)
    for key in "abcd":
        assert list(pages.of_key(key)) == [one for one in expected if one.entry.key == key]
    near = [
        ((one.entry.fingerprint ^ fingerprint).bit_count(), one.entry)
        for one in expected
        if (one.entry.fingerprint ^ fingerprint).bit_count() <= distance
    ]
    assert pages.within(fingerprint, distance) == near


def test_pages_found_are_those_that_are_stored_at_confirm():
    pages = PendingPages()
    observed = pending(1, "a", 0b111)
    # Unchanged since an earlier crawl, whose fingerprint it keeps.
    stored = Entry(1, "a", 0b110, 1, 0, 0)
    unchanged = Pending(observed.observation, stored, stored, None)
    pages.add(unchanged)
    assert pages.within(0b110, 0) == [(0, stored)]
    assert pages.within(0b111, 0) == []
    assert pages.get(1).stored == stored
