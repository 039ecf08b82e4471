"""Selectors and item fields that match nothing cause a warning, early and at the end."""

from types import SimpleNamespace

import pytest

from scrapy_simhash.crawl.crawl_report import UnmatchedNames
from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import page

NAMES = ("mill", "bees", "paper")


def test_names_that_match_nothing_on_the_first_pages_are_said_early():
    warnings = []
    errors = SimpleNamespace(warn_once=lambda _, message, values: warnings.append(message % values))
    names = UnmatchedNames("abc", "%(names)s: %(pages)d", errors)
    for number in range(100):
        assert warnings == []
        names.count(["a", "c"] if number == 7 else ["a", "b", "c"])
    assert warnings == ["'a', 'c': 100"]


ITEMS = {f"/{name}": [{"id": name, "text": page(name), "empty": " "}] for name in NAMES}
OF_ITEMS = "tests.crawl.spiders.ItemsSpider"
SELECTORS = {
    "SIMHASH_CONTENT_SELECT": ["article", ".storry"],
    "SIMHASH_CONTENT_REMOVE": ["//div[@id='adds']", "nav"],
}


@pytest.mark.parametrize(
    ("settings", "more", "said"),
    [
        (SELECTORS, {}, "'.storry', \"//div[@id='adds']\" matched nothing on any of 3 pages"),
        (
            {"SIMHASH_ITEM_FIELDS": ["txt", "text", "empty"]},
            {"spider": OF_ITEMS, "arguments": {"items": ITEMS}},
            "none of 3 items has text in 'txt', 'empty': ",
        ),
    ],
)
def test_what_matched_nothing_is_a_warning_at_the_end(site, tmp_path, settings, more, said):
    urls = [site.put(f"/{name}", page(name)) for name in NAMES]
    result = crawled(tmp_path, urls, settings, **more)
    assert len(result.items) == 3
    [line] = result.lines("WARNING", said)
    assert next(iter(settings)) in line


def test_a_crawl_that_yields_no_items_and_drops_pages_is_warned(site, tmp_path):
    paths = [f"/copy/{number}" for number in range(23)]
    urls = [site.put(path, page("mill")) for path in paths]
    crawls = [
        Crawl(urls, spider=OF_ITEMS, name=name, arguments={"items": dict.fromkeys(paths, items)})
        for name, items in (("without", ()), ("with", [{"id": 1}]))
    ]
    without, with_items = run(tmp_path, *crawls)
    [line] = without.lines("WARNING", "no callback yielded an item")
    assert f"{without.stat('dropped')} pages were dropped" in line
    assert with_items.stat("dropped") == 22
    assert not with_items.lines("WARNING", "no callback")
