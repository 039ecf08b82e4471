"""Pending pages: what was added and not removed, by sequence, by key and by ordinal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index.base import Entry, Observation
from scrapy_simhash.index.pending import Pending, PendingPages


def pending(sequence, key, fingerprint):
    observation = Observation("new", key, fingerprint, None, None, sequence)
    entry = Entry(sequence, key, fingerprint, sequence, 0, 0, ordinal=fingerprint)
    return Pending(observation, entry, None, None)


ACTIONS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30), st.sampled_from("abc"), st.integers(0, 63)),
    max_size=30,
)


@given(actions=ACTIONS)
def test_they_hold_what_a_list_would(actions):
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
    for ordinal in range(64):
        held = [one for one in expected if one.entry.ordinal == ordinal]
        assert list(pages.of_ordinal(ordinal)) == held
