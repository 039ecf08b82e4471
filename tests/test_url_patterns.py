"""URL patterns, and counts of pages by pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.url_patterns import MIN_PAGES, PatternCounts, url_pattern

SHOP = "http://shop.example/p/{}"
PATTERN = "shop.example/p/*"


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://a.example/news/2024/ferry.html?sid=7&b=", "a.example/news/*/*.html?b=*&sid=*"),
        ("https://user:secret@a.example:8080/", "a.example:8080/"),
        ("http://a.example", "a.example"),
        ("https://a.example/calendar/2026/12", "a.example/calendar/*/*"),
        ("https://a.example/about", "a.example/*"),
        ("https://a.example/v1.2/x.tar.gz", "a.example/*/*.gz"),
        ("https://a.example/a.b.verylongending", "a.example/*"),
        ("no url", "no url"),
        ("http://[::1", "http://[::1"),
    ],
)
def test_url_patterns(url, pattern):
    assert url_pattern(url) == pattern


@given(st.text())
def test_any_key_has_a_pattern(key):
    assert isinstance(url_pattern(key), str)
    assert isinstance(url_pattern(f"https://a.example/{key}"), str)


def counted(pages, alike, *, dropped=0, to=SHOP):
    counts = PatternCounts()
    for number in range(pages):
        like = to.format(0) if 0 < number <= alike else None
        counts.add(SHOP.format(number), like, dropped=0 < number <= dropped)
    return counts


def test_a_pattern_of_alike_pages_is_a_template():
    [found] = counted(88, 41, dropped=30).templates()
    assert (found.pattern, found.pages, found.alike, found.dropped) == (PATTERN, 88, 41, 30)
    assert url_pattern(found.example) == PATTERN


@pytest.mark.parametrize(
    ("pages", "alike", "is_template"),
    [
        (MIN_PAGES, 7, True),
        (MIN_PAGES - 1, 18, False),
        (MIN_PAGES, 6, False),
        (90, 30, True),
        (90, 29, False),
    ],
)
def test_the_thresholds_are_inclusive(pages, alike, is_template):
    assert bool(counted(pages, alike).templates()) is is_template


def test_copies_of_pages_of_another_pattern_do_not_count():
    assert not counted(60, 50, to="http://shop.example/old/{}").templates()


def test_a_page_near_itself_does_not_count():
    counts = PatternCounts()
    for _ in range(50):
        counts.add(SHOP.format(1), SHOP.format(1))
    assert not counts.templates()


def test_keys_that_are_no_urls_are_ignored():
    counts = PatternCounts()
    for number in range(50):
        counts.add("same", f"other {number}")
    assert not counts.templates()


def test_the_pattern_with_the_most_alike_pages_comes_first():
    counts = PatternCounts()
    for name, pages in (("few", 30), ("many", 60), ("some", 40)):
        for number in range(pages):
            key = f"http://shop.example/{name}/{number}"
            counts.add(key, f"http://shop.example/{name}/0" if number else None)
    names = [found.pattern.split("/")[1] for found in counts.templates()]
    assert names == ["many", "some", "few"]


def test_only_the_largest_patterns_are_kept():
    counts = PatternCounts(max_patterns=10)
    for number in range(1000):
        counts.add(SHOP.format(number), SHOP.format(0))
        counts.add(f"http://host{number}.example/page")
        assert len(counts._counts) <= 20
    [found] = counts.templates()
    assert (found.pages, found.alike) == (1000, 999)
