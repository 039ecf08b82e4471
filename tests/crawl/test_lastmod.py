"""The lastmod of sitemaps: trusted once verdicts have confirmed it, and no longer than that."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_simhash import open_index
from scrapy_simhash.crawl.lastmod import LastmodTrust
from scrapy_simhash.index import index_url
from scrapy_simhash.index.base import Entry
from scrapy_simhash.url_rules.rows import decode_evidence
from tests.crawl.harness import Crawl, run
from tests.crawl.test_conditional import ON
from tests.crawl.test_url_rules import text_of

PAGES = 30
# Nine pages are enough; before them, none is spared.
NEEDED = 9
PAST = "2015-01-06"
URL = "http://example.com/a"
DAY_S = 86_400
PAST_S = 1_420_502_400


def article(site, number: int, text: int | None = None) -> str:
    text = number if text is None else text
    return site.put(
        f"/news/{number}",
        f"<html><head><title>News {text}</title></head><body><p>{text_of(text)}</p></body></html>",
    )


def sitemap(site, lastmod: str = PAST) -> str:
    entries = "".join(
        f"<url><loc>{site.url(f'/news/{number}')}</loc><lastmod>{lastmod}</lastmod></url>"
        for number in range(PAGES)
    )
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    return site.put("/sitemap.xml", body, content_type="application/xml")


def crawl(site, **settings) -> Crawl:
    return Crawl(
        requests=[sitemap(site)],
        spider="tests.crawl.sitemap_spiders.NewsSpider",
        name="news",
        settings=ON | {"CONCURRENT_REQUESTS": 1, "SIMHASH_URL_EXPLORE": 0, **settings},
    )


@pytest.fixture(scope="module")
def crawls(site, module_path, every_index):
    for number in range(PAGES):
        article(site, number)
    once = run(module_path, crawl(site), crawl(site), crawl(site))
    article(site, 7, text=1007)  # the sitemap does not say so
    return [*once, *run(module_path, crawl(site, SIMHASH_URL_EXPLORE=1), crawl(site))]


@pytest.mark.thorough
def test_requests_are_spared_once_verdicts_have_confirmed_the_sitemap(crawls):
    first, second, third = crawls[:3]
    assert len(first.seen()) == PAGES
    # A page counts when it is handled; others may have been asked for by then.
    assert second.stat("conditional/spared") <= PAGES - NEEDED
    assert third.stat("conditional/spared") == PAGES
    for result in (second, third):
        assert result.stat("unchanged") == result.stat("dropped/unchanged") == PAGES
        assert (result.seen(), result.stat("conditional/lastmod_wrong")) == ([], 0)
    # Robots.txt is not asked for, but the sitemap is.
    assert third.stats["downloader/request_count"] == 1


@pytest.mark.thorough
def test_a_sitemap_that_was_wrong_is_trusted_no_more(crawls):
    explored, after = crawls[3:]
    assert explored.seen() == ["/news/7"]
    assert explored.stat("conditional/lastmod_wrong") == 1
    assert explored.stat("conditional/spared") == after.stat("conditional/spared") == 0
    assert after.stat("unchanged") == PAGES


class Trust:
    """What sitemaps say in a crawl that is played."""

    def __init__(self, index=None, explore: float = 0) -> None:
        self.index = open_index("memory:") if index is None else index
        lane = SimpleNamespace(
            settings=SimpleNamespace(url_explore=explore),
            stats=SimpleNamespace(count=lambda _: None),
            calls=SimpleNamespace(tell=lambda _, ask: ask(self.index)),
        )
        self.lastmod = LastmodTrust(lane)

    def spares(self, url: str, last_seen_s: int, lastmod: object = PAST) -> bool:
        self.lastmod.remember(url, lastmod)
        entry = Entry(1, url, 0, 1, 0, last_seen_s)
        stored = self.lastmod.stored_evidence(self.index, url)
        return self.lastmod.knows(url) and self.lastmod.spares(url, entry, stored)

    def learn(self, pages: int, *, unchanged: bool | None = True) -> None:
        for number in range(pages):
            url = f"{URL}?{number}"
            if not self.spares(url, PAST_S + 3 * DAY_S):
                self.lastmod.arrived(url, unchanged=unchanged)


@pytest.fixture
def trust():
    trust = Trust()
    trust.learn(NEEDED)
    return trust


@pytest.mark.parametrize(
    ("lastmod", "seen_s", "spared"),
    [
        # A day of any time zone must be over.
        (PAST, PAST_S + 36 * 3600, True),
        (PAST, PAST_S + 36 * 3600 - 1, False),
        ("2015-01-06T00:00:00", PAST_S + 36 * 3600 - 1, False),
        ("2015-01-06T00:00:00Z", PAST_S + 3600, True),
        (" 2015-01-06T01:00:00+01:00\n", PAST_S + 3600, True),
        ("2015-01-06T00:00:00Z", PAST_S + 3599, False),
        *((odd, PAST_S + 9 * DAY_S, False) for odd in ("", "Z", "2015", "yesterday", None, 7)),
        *((odd, PAST_S + 9 * DAY_S, False) for odd in ("9999-12-31", "2015-13-01", "\0", b"x")),
    ],
)
def test_when_a_page_is_unmodified(trust, lastmod, seen_s, spared):
    assert trust.spares(URL, seen_s, lastmod) == spared


def test_what_is_no_url_is_ignored(trust):
    for odd in (None, 7, "", "http://[", "x" * 5000):
        trust.lastmod.remember(odd, PAST)
    assert not trust.lastmod.knows(URL)


def test_the_latest_time_counts(trust):
    seen_s = PAST_S + 9 * DAY_S
    assert trust.spares(URL, seen_s)
    assert not trust.spares(URL, seen_s, "2016-01-01")
    assert not trust.spares(URL, seen_s, PAST)


def test_pages_that_fail_say_nothing():
    trust = Trust()
    trust.learn(50, unchanged=None)
    assert not trust.spares(URL, PAST_S + 3 * DAY_S)


def test_each_site_is_trusted_by_itself(trust):
    assert trust.spares(URL, PAST_S + 3 * DAY_S)
    assert not trust.spares("http://other.org/", PAST_S + 3 * DAY_S)


def test_some_pages_are_asked_for_all_the_same():
    trust = Trust(explore=1)
    trust.learn(NEEDED)
    assert not trust.spares(URL, PAST_S + 3 * DAY_S)


def test_crawlers_add_up_what_they_learned(tmp_path):
    url = index_url(tmp_path / "index")
    with open_index(url) as index:
        one, other = Trust(index), Trust(index)
        one.learn(5)
        other.learn(4)
        for trust in (one, other, one):
            trust.lastmod.save()
    with open_index(url) as index:
        [(site, row)] = index.side_rows("sitemaps")
        assert (site, decode_evidence(row).pages) == ("example.com", 9)
        assert Trust(index).spares(URL, PAST_S + 3 * DAY_S)
        # A damaged row counts as none.
        index.change_side_row("sitemaps", "example.com", lambda _: b"[1")
        again = Trust(index)
        again.learn(2)
        again.lastmod.save()
        assert decode_evidence(index.side_row("sitemaps", "example.com")).pages == 2
