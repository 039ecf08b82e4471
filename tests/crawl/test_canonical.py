"""Pages that name a canonical URL: their verdicts, and which page is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse

from scrapy_simhash import open_index
from scrapy_simhash.crawl import identity
from scrapy_simhash.crawl.identity import canonical_url, comparable
from scrapy_simhash.verdict import Verdict
from tests.crawl.harness import Crawl, crawled, run_named
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


# Article → (first page, its canonical URL), (second page, its canonical URL), expected verdict.
FAMILIES = {
    "mill": (("/mill", None), ("/mill-copy", "{site}/mill"), "representative"),
    "bees": (("/bees?session=1", "/bees?y=1&x=2"), ("/bees?y=1&x=2", None), "page"),
    "paper": (("/paper", None), ("/deep/down/paper", "../../paper"), "representative"),
    "tram": (("/tram", "/tram"), ("/tram-copy", "/tram-copy"), None),
    "clock": (("/clock", "/clock-copy"), ("/clock-copy", "/clock"), "representative"),
    "茶园": (("/tea?b=2&a=1", None), ("/tea-copy", "/tea?a=1&b=2#top"), "representative"),
}


@pytest.fixture(scope="module")
def tagged(site, module_path):
    requests = []
    for name, (*members, _) in FAMILIES.items():
        for number, (path, href) in enumerate(members):
            head = "" if href is None else link(href.format(site=site.url("")))
            requests.append(site.put(path, page(name, copy=number, head=head)))
    requests.append(
        site.put("/base/1/tram", page("tram", copy=5, head='<base href="/">' + link("tram")))
    )
    settings = {"SIMHASH_ACTION": "tag", "SIMHASH_ITEM_TAGS": {"canonical": "canonical"}}
    return crawled(module_path / "tagged", requests, settings)


@pytest.mark.parametrize("name", FAMILIES)
def test_verdicts_say_who_names_whom(tagged, site, name):
    (first, _), (second, _), canonical = FAMILIES[name]
    assert tagged.event(first)["verdict"]["kind"] == "new"
    assert tagged.event(first)["verdict"]["canonical"] is None
    verdict = tagged.event(second)["verdict"]
    assert (verdict["kind"], verdict["representative"]) == ("near-duplicate", site.url(first))
    assert verdict["canonical"] == canonical
    [item] = [item for item in tagged.items if item["url"] == site.url(second)]
    assert item["canonical"] == canonical


def test_a_base_counts_and_what_pages_name_makes_none_a_duplicate_and_keeps_none(tagged):
    assert tagged.event("/base/1/tram")["verdict"]["canonical"] == "representative"
    assert tagged.stat("near_duplicate") == len(FAMILIES) + 1
    assert tagged.stat("index/size") == len(FAMILIES)
    assert not [name for name in tagged.simhash_stats() if name.startswith(("kept/", "errors/"))]


PREFER = {"SIMHASH_PREFER_CANONICAL": True}
PREFERRING = {
    "drop": (PREFER, ()),
    "tag": (PREFER | {"SIMHASH_ACTION": "tag"}, ()),
    "not set": ({}, ()),
    "failing": (PREFER, ("/mill",)),
}
# In this order; the others name the second as their canonical page.
STORY = ("/mill?s=1", "/mill", "/mill?s=2", "/mill-copy")


@pytest.fixture(scope="module")
def preferring(site, module_path):
    for number, path in enumerate(STORY):
        head = link("/mill") if "?" in path else ""
        # Three links: a page with one or two leads on, and the callbacks of its copies run.
        links = [f"/from{path}", "/none", "/none"]
        site.put(path, page("mill", copy=number + 1, head=head, links=links))
        site.put(f"/from{path}", page(("ice", "kite", "tram", "clock")[number]))
    requests = [{"url": site.url(path), "errback": True} for path in STORY]
    crawls = {
        name: Crawl(requests, settings, arguments={"failing": failing})
        for name, (settings, failing) in PREFERRING.items()
    }
    return run_named(module_path, crawls)


def log_of(module_path, name, site):
    """Return (page, representative) of each line of the near-duplicate log."""
    url = module_path / "simhash" / "spiders" / name
    with open_index(url) as index:
        lines = [(line.key, line.representative) for line in index.near_duplicates()]
        return [tuple(key.removeprefix(site.url("")) for key in line) for line in lines]


def representatives(result, site):
    return [
        (event["verdict"]["representative"] or "").removeprefix(site.url(""))
        for path in STORY
        for event in result.events
        if event["path"] == path
    ]


@pytest.mark.parametrize("name", ["drop", "tag"])
def test_the_canonical_page_passes_and_takes_the_place(preferring, module_path, site, name):
    result = preferring[name]
    first, canonical, *later = STORY
    verdict = result.event(canonical)["verdict"]
    assert (verdict["kind"], verdict["canonical"]) == ("near-duplicate", "page")
    assert representatives(result, site) == ["", first, canonical, canonical]
    assert result.event(canonical)["flags"] == ["near-duplicate"]
    assert site.url(canonical) in {item["url"] for item in result.items}
    assert f"/from{canonical}" in result.seen()
    assert log_of(module_path, name, site) == [
        (canonical, first),
        (first, canonical),
        *((path, canonical) for path in later),
    ]


def test_in_drop_mode_it_is_the_only_copy_that_passes(preferring):
    result = preferring["drop"]
    assert [path for path in result.seen() if path in STORY] == ["/mill?s=1", "/mill"]
    assert (result.stat("kept/canonical"), result.stat("dropped")) == (1, 2)
    # The story, and the targets of the links on both pages.
    assert result.stat("index/size") == 3


def test_unless_it_is_set_verdicts_alone_tell(preferring, module_path, site):
    result = preferring["not set"]
    assert [path for path in result.seen() if path in STORY] == ["/mill?s=1"]
    assert result.event("/mill", "errback")["verdict"]["canonical"] == "page"
    assert representatives(result, site) == ["", *["/mill?s=1"] * 3]
    assert result.stat("kept/canonical") == 0
    assert log_of(module_path, "not set", site) == [(path, "/mill?s=1") for path in STORY[1:]]


def test_a_canonical_page_that_fails_takes_no_place(preferring, module_path, site):
    name = "failing"
    result = preferring[name]
    assert "/mill" in result.seen()
    assert (result.stats["spider_exceptions/count"], result.stat("discarded")) == (1, 1)
    assert representatives(result, site) == ["", *["/mill?s=1"] * 3]
    assert log_of(module_path, name, site) == [(path, "/mill?s=1") for path in STORY[1:]]


def verdict(key, representative=None):
    kind = "new" if representative is None else "near-duplicate"
    return Verdict(kind=kind, key=key, bits=64, representative=representative)


def test_what_a_page_named_before_it_changed_counts_no_more():
    urls, copy, page = (
        identity.CanonicalUrls(),
        verdict("http://a/new", "http://a/old"),
        response(),
    )
    urls.completed(verdict("http://a/old"), "http://a/new", page)
    assert urls.completed(copy, "", page).canonical == "page"
    urls.completed(verdict("http://a/old"), "", page)
    assert urls.completed(copy, "", page).canonical is None
