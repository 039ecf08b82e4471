"""Pages that name a canonical URL: their verdicts, and which page is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse

from scrapy_simhash import open_index
from scrapy_simhash.crawl.identity import CanonicalUrls, canonical_url, comparable
from scrapy_simhash.verdict import Verdict
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page

PAGE_URL = "http://site/news/story.html"


def link(href):
    return f'<link rel="canonical" href="{href}">'


def response(head="", url=PAGE_URL):
    body = f"<html><head>{head}</head><body>text</body></html>"
    return HtmlResponse(url, body=body.encode(), encoding="utf-8")


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("/story", "http://site/story"),
        ("other.html", "http://site/news/other.html"),
        ("../story", "http://site/story"),
        ("//mirror/story", "http://mirror/story"),
        ("http:///story", "http://site/story"),
        ("https://site/story", "https://site/story"),
        ("HTTP://SITE/Story", "http://site/Story"),
        ("?b=2&a=1", "http://site/news/story.html?a=1&b=2"),
        ("/story#comments", "http://site/story"),
        ("#comments", PAGE_URL),
        ("/#!/story", "http://site/#!/story"),
        ("/a b", "http://site/a%20b"),
        ("/茶", "http://site/%E8%8C%B6"),
        (" /story\n", "http://site/story"),
        ("/" + "x" * 2082, "http://site/" + "x" * 2082),
    ],
)
def test_it_is_made_absolute_and_comparable(href, url):
    assert canonical_url(response(), href) == url == comparable(url)


@pytest.mark.parametrize(
    "href",
    [
        *("", "javascript:void(0)", "mailto:someone@site", "ftp://site/story", "data:text/html,x"),
        *("http://[", "http://[::1", "http://site:port/", "http://site:99999999/", "/\ud800"),
        *("/" + "x" * 2083, "/?" + "a=1&" * 1_000_000),
    ],
    ids=lambda href: ascii(href[:30]),
)
def test_what_makes_no_sense_names_nothing(href):
    assert canonical_url(response(), href) is None


def test_it_is_relative_to_the_base_of_the_page():
    assert canonical_url(response('<base href="/other/">'), "story") == "http://site/other/story"
    assert canonical_url(response('<base href="http://a/b/c">'), "x") == "http://a/b/x"
    assert canonical_url(response('<base href="http://[">'), "/x") is None


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["", "//", "http://"]))
def test_nothing_that_a_page_says_raises(text, start):
    url = canonical_url(response(), start + text)
    assert url is None or url.startswith(("http://", "https://"))
    assert isinstance(comparable(start + text), str)


# (First page, its canonical URL), (second page, its canonical URL), expected verdict.
FAMILIES = [
    (("/mill", ""), ("/copy", "http://site/mill"), "representative"),
    (("/bees?session=1", "/bees?y=1&x=2"), ("/bees?y=1&x=2", ""), "page"),
    (("/paper", ""), ("/deep/down/paper", "../../paper"), "representative"),
    (("/tram", "/tram"), ("/copy", "/copy"), None),
    (("/clock", "/copy"), ("/copy", "/clock"), "representative"),
    (("/tea?b=2&a=1", ""), ("/copy", "/tea?a=1&b=2#top"), "representative"),
]


def verdict(key, representative=None):
    kind = "new" if representative is None else "near-duplicate"
    return Verdict(kind=kind, key=key, bits=64, representative=representative)


@pytest.mark.parametrize(("first", "second", "canonical"), FAMILIES)
def test_verdicts_say_who_names_whom(first, second, canonical):
    urls, (original, copy) = CanonicalUrls(), (f"http://site{path}" for path, _ in (first, second))
    named = urls.completed(verdict(original), first[1], response(url=original))
    assert named.canonical is None
    completed = urls.completed(verdict(copy, original), second[1], response(url=copy))
    assert completed.canonical == canonical


def test_what_a_page_named_before_it_changed_counts_no_more():
    urls, copy, page = CanonicalUrls(), verdict("http://a/new", "http://a/old"), response()
    urls.completed(verdict("http://a/old"), "http://a/new", page)
    assert urls.completed(copy, "", page).canonical == "page"
    urls.completed(verdict("http://a/old"), "", page)
    assert urls.completed(copy, "", page).canonical is None


PREFER = {"SIMHASH_PREFER_CANONICAL": True}
TAG = {"SIMHASH_ACTION": "tag", "SIMHASH_ITEM_TAGS": {"canonical": "canonical"}}
# In this order; the others name the second as their canonical page.
FIRST, CANONICAL, *LATER = STORY = ("/mill?s=1", "/mill", "/mill?s=2", "/mill-copy")
# Crawl → settings, paths whose callbacks fail, the members of the story that callbacks see, their
# representatives, stats, and the (page, representative) lines of the near-duplicate log.
TAKES_THE_PLACE = [(CANONICAL, FIRST), (FIRST, CANONICAL), *((path, CANONICAL) for path in LATER)]
STAYS = [(path, FIRST) for path in STORY[1:]]
PREFERRING = {
    # The index has the story, and the targets of the links on both pages.
    "drop": (
        *(PREFER, (), [FIRST, CANONICAL], [None, FIRST, CANONICAL, CANONICAL]),
        *({"kept/canonical": 1, "dropped": 2, "index/size": 3}, TAKES_THE_PLACE),
    ),
    "tag": (
        *(PREFER | TAG, (), [*STORY]),
        *([None, FIRST, CANONICAL, CANONICAL], {"dropped": 0}, TAKES_THE_PLACE),
    ),
    "not set": ({}, (), [FIRST], [None, *[FIRST] * 3], {"kept/canonical": 0}, STAYS),
    "failing": (
        *(PREFER, (CANONICAL,), [FIRST, CANONICAL], [None, *[FIRST] * 3]),
        *({"discarded": 1}, STAYS),
    ),
}


@pytest.fixture(scope="module")
def preferring(site, module_path):
    for number, path in enumerate(STORY):
        head = link("/mill") if "?" in path else ""
        # Three links: if a page gives one or two requests, the callbacks of its copies run.
        links = [f"/from{path}", "/none", "/none"]
        site.put(path, page("mill", copy=number + 1, head=head, links=links))
        site.put(f"/from{path}", page(("ice", "kite", "tram", "clock")[number]))
    requests = [{"url": site.url(path), "errback": True} for path in STORY]
    crawls = {
        name: Crawl(requests, settings, arguments={"failing": failing})
        for name, (settings, failing, *_) in PREFERRING.items()
    }
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", PREFERRING)
def test_the_canonical_page_passes_and_takes_the_place_if_that_is_asked_for_and_it_goes_well(
    preferring, module_path, site, name
):
    def path_of(url):
        return url and url.removeprefix(site.url(""))

    result, (_, failing, seen, representatives, stats, log) = preferring[name], PREFERRING[name]
    events = [event for path in STORY for event in result.events if event["path"] == path]
    assert [path for path in result.seen() if path in STORY] == seen
    assert [path_of(event["verdict"]["representative"]) for event in events] == representatives
    assert {stat: result.stat(stat) for stat in stats} == stats
    assert result.stats.get("spider_exceptions/count", 0) == len(failing)
    verdict = events[1]["verdict"]
    assert (verdict["kind"], verdict["canonical"]) == ("near-duplicate", "page")
    assert events[1]["flags"] == ["near-duplicate"]
    passes = CANONICAL in seen and not failing
    scraped = {item["url"]: item for item in result.items if "from" not in item}
    assert name != "tag" or scraped[site.url(CANONICAL)]["canonical"] == "page"
    assert (site.url(CANONICAL) in scraped, f"/from{CANONICAL}" in result.seen()) == (passes,) * 2
    with open_index(module_path / "simhash" / "spiders" / name) as index:
        lines = [(path_of(one.key), path_of(one.representative)) for one in index.near_duplicates()]
    assert lines == log
