"""URL patterns, and counts of pages by pattern."""

import pytest

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


def counted(pages, copies, *, dropped=0, to=SHOP):
    counts = PatternCounts()
    for number in range(pages):
        original = to.format(0) if 0 < number <= copies else None
        counts.add(SHOP.format(number), original, dropped=0 < number <= dropped)
    return counts


def test_a_pattern_with_many_copies_is_found():
    [found] = counted(88, 41, dropped=30).with_copies()
    assert (found.pattern, found.original) == (PATTERN, PATTERN)
    assert (found.pages, found.copies, found.dropped) == (88, 41, 30)
    assert url_pattern(found.example) == PATTERN


def test_a_page_that_is_judged_again_counts_once():
    counts = counted(88, 41, dropped=30)
    for number in (1, 2):
        counts.take_back(SHOP.format(number))
    counts.add(SHOP.format(1), SHOP.format(0), dropped=True)
    counts.add(SHOP.format(2))
    counts.take_back("https://elsewhere.test/")
    [found] = counts.with_copies()
    assert (found.pattern, found.pages, found.copies, found.dropped) == (PATTERN, 88, 40, 29)


@pytest.mark.parametrize(
    ("pages", "copies", "is_found"),
    [
        (MIN_PAGES, 7, True),
        (MIN_PAGES - 1, 18, False),
        (MIN_PAGES, 6, False),
        (90, 30, True),
        (90, 29, False),
    ],
)
def test_the_thresholds_are_inclusive(pages, copies, is_found):
    assert bool(counted(pages, copies).with_copies()) is is_found
