"""Clusters as crawls found them, from entries and the near-duplicate log."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index.base import Entry, NearDuplicate
from scrapy_simhash.maintenance.duplication import duplication, host_of


class Source:
    def __init__(self, entries, lines):
        self._entries, self._lines = entries, lines

    def entries(self):
        return iter(self._entries)

    def near_duplicates(self):
        return iter(self._lines)


def entry(key, met):
    return Entry(met, key, 0, met, 100, 100)


def line(key, representative, sequence, distance=1, *, confirmed=True):
    return NearDuplicate(
        key, representative, distance, 1, sequence, 100, against="" if confirmed else "name"
    )


def shape(found):
    return [
        (cluster.representative, [line.key for line in cluster.near_duplicates])
        for cluster in found.clusters
    ]


def test_a_page_counts_once_with_the_last_that_is_known():
    found = duplication(
        Source(
            [entry("a", 1), entry("b", 2)],
            [line("copy", "a", 3, 5), line("copy", "b", 8, 2), line("copy", "b", 9, 4)],
        )
    )
    assert shape(found) == [("b", ["copy"])]
    assert (found.lines, found.near_duplicates, found.distances) == (3, 1, {4: 1})


@pytest.mark.parametrize(("met", "still"), [(2, True), (4, True), (5, False), (9, False)])
def test_one_that_became_a_representative_is_no_near_duplicate(met, still):
    found = duplication(Source([entry("a", 1), entry("b", met)], [line("b", "a", 5)]))
    assert shape(found) == ([("a", ["b"])] if still else [])


def test_those_of_a_superseded_representative_belong_to_its_successor():
    found = duplication(Source([entry("new", 9)], [line("one", "old", 3), line("old", "new", 10)]))
    assert shape(found) == [("new", ["one", "old"])]


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"))),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 20)),
)
def test_each_page_is_in_one_cluster_at_most(pairs, met):
    lines = [line(key, other, number) for number, (key, other) in enumerate(pairs) if key != other]
    found = duplication(Source([entry(key, number) for key, number in met.items()], lines))
    members = Counter(
        key for representative, keys in shape(found) for key in (representative, *keys)
    )
    assert max(members.values(), default=1) == 1
    assert set(members) <= {one.key for one in lines} | set(met)
    assert {representative for representative, _ in shape(found)} <= set(met)
    assert found.near_duplicates == sum(members.values()) - len(found.clusters)
    assert found.distances.total() == found.near_duplicates


@pytest.mark.parametrize(
    ("key", "host"),
    [
        ("https://user:secret@A.example/x", "a.example"),
        ("https://a.example:8443/", "a.example:8443"),
        ("https://a.example:/", "a.example:"),
        ("https://a.example:port/", "a.example:port"),
        ("http://[::1]:80/", "[::1]:80"),
        ("http://[2001:DB8::1]/", "[2001:db8::1]"),
        ("//a.example/x", "a.example"),
    ],
)
def test_host_of(key, host):
    assert host_of(key) == host


@pytest.mark.parametrize("key", ["http://[::1", "x", "", "https://", "http://[bad]/"])
def test_a_key_that_is_no_url_has_no_host(key):
    assert host_of(key) == ""


def test_similar_pages_are_apart_with_the_last_that_is_known_of_them():
    found = duplication(
        Source(
            [entry("a", 1), entry("like", 4), entry("once", 5)],
            [
                line("like", "a", 2, 9, confirmed=False),
                line("like", "a", 4, 7, confirmed=False),
                line("once", "a", 5, confirmed=False),
                line("once", "a", 6),
            ],
        )
    )
    assert [(one.key, one.distance) for one in found.similar] == [("like", 7)]
    assert shape(found) == [("a", ["once"])]
    assert (found.representatives, found.near_duplicates, found.lines) == (2, 1, 4)
