"""Clusters as crawls found them, from entries and the near-duplicate log."""

import pytest

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
