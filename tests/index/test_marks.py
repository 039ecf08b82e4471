"""Marks: which pages cannot be copies of each other, without their evidence."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.evidence import UNLIKE_ANY, Evidence, same_request
from scrapy_simhash.index.marks import mark_of, without_name
from scrapy_simhash.index.tables.crowds import have_other_requests, may_be_copies
from scrapy_simhash.names import Names, page_names

titles = st.sampled_from(
    ["", "Mill", "Mill 7", "Mill 7 - Register", "Mill 8 - Register", "Register"]
)
sites = st.sampled_from([0, 1, 2, 1 << 20, 2**32 - 1])
requests = st.sampled_from([b"", b"\0" * 8, b"\0" * 7 + b"\1", b"a" * 8, b"b" * 8, UNLIKE_ANY])


@st.composite
def evidences(draw):
    headings = draw(st.lists(titles.filter(bool), max_size=2))
    names = Names(draw(titles), headings, draw(st.booleans()), ("Register",))
    title, heading = page_names(names)
    return Evidence(site=draw(sites), title=title, heading=heading, request=draw(requests))


@given(evidences(), evidences())
def test_pages_whose_marks_tell_them_apart_are_no_copies(one, other):
    marks = np.array([mark_of(other)], np.uint64)
    if not may_be_copies(mark_of(one), marks)[0]:
        assert Confirmation().compare(one, other) == (None, "name")
    if have_other_requests(mark_of(one), marks)[0]:
        assert not same_request(one, other)
    assert may_be_copies(without_name(mark_of(one)), marks)[0]


def test_most_pages_with_names_of_their_own_are_told_apart():
    made = [
        mark_of(Evidence(site=1, title=title, heading=heading))
        for number in range(5000)
        for title, heading in [page_names(Names(f"Mill {number} - Register", (f"Mill {number}",)))]
    ]
    assert np.count_nonzero(may_be_copies(made[7], np.array(made, np.uint64))) == 1
