"""Clusters as crawls found them, from entries and the near-duplicate log."""

from collections import Counter
from dataclasses import replace

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


def test_representatives_with_their_near_duplicates_the_largest_first():
    found = duplication(
        Source(
            [entry("a", 1), entry("b", 2), entry("alone", 3)],
            [line("b1", "b", 4), line("a1", "a", 5), line("b2", "b", 6, 3)],
        )
    )
    assert shape(found) == [("b", ["b1", "b2"]), ("a", ["a1"])]
    assert (found.representatives, found.lines, found.near_duplicates) == (3, 3, 3)
    assert found.distances == {1: 2, 3: 1}
    assert [len(cluster) for cluster in found.clusters] == [3, 2]


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


def test_near_duplicates_of_a_page_that_has_left_the_index_are_left_out():
    lines = [line(f"copy {number}", "expired", 3 + number, number) for number in range(3)]
    found = duplication(Source([entry("other", 1)], [*lines, line("more", "copy 0", 9)]))
    assert (shape(found), found.distances, found.hosts) == ([], {}, {})
    assert (found.representatives, found.near_duplicates, found.lines) == (1, 0, 4)


def test_a_page_is_seen_first_with_its_first_line_or_its_entry():
    entries = [entry("a", 1), Entry(2, "b", 0, 2, 40, 100)]
    lines = [line(key, "a", number) for number, key in enumerate("bcc", 5)]
    found = duplication(
        Source(entries, [replace(one, seen_at_s=10 * one.sequence) for one in lines])
    )
    assert found.first_seen_s == {"b": 40, "c": 60}


def test_an_entry_whose_page_is_a_near_duplicate_now_counts_once():
    found = duplication(Source([entry("a", 1), entry("b", 2)], [line("b", "a", 5)]))
    assert (found.representatives, found.near_duplicates) == (1, 1)


def test_a_ring_without_a_stored_page_is_left_out():
    ring = [line("b", "a", 1), line("c", "b", 2), line("a", "c", 3), line("d", "c", 4)]
    assert shape(duplication(Source([], ring))) == []


def test_a_chain_is_one_cluster():
    lines = [line("b", "a", 1), line("c", "b", 2), line("d", "c", 3)]
    assert shape(duplication(Source([entry("a", 0)], lines))) == [("a", ["b", "c", "d"])]


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
    assert found.hosts.total() == found.distances.total() == found.near_duplicates


def test_hosts():
    found = duplication(
        Source(
            [entry("https://A.example:8080/1", 1), entry("no URL", 2)],
            [
                line("https://a.example/2", "https://A.example:8080/1", 3),
                line("https://b.example/", "https://A.example:8080/1", 4),
                line("another", "no URL", 5),
                line("https://c.example/", "https://gone.example/", 6),
            ],
        )
    )
    assert found.hosts == {"a.example": 1, "b.example": 1, "": 1}
    assert found.host_representatives == {"a.example:8080": 1, "": 1}


@pytest.mark.parametrize(
    ("key", "host"),
    [
        ("https://user:secret@A.example/x", "a.example"),
        ("https://a.example:8443/", "a.example:8443"),
        ("https://a.example:/", "a.example"),
        ("https://a.example:port/", "a.example"),
        ("https://a.example:99999/", "a.example"),
        ("http://[::1]:80/", "[::1]:80"),
        ("http://[2001:DB8::1]/", "[2001:db8::1]"),
        ("http://:80/", ""),
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
