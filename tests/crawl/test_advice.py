"""Selectors and item fields that match nothing cause a warning, early and at the end."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from scrapy_simhash.crawl.crawl_report import UnmatchedNames, index_option
from scrapy_simhash.index.redis import RedisAddress
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page


def watch(warnings, *names):
    errors = SimpleNamespace(warn_once=lambda _, message, values: warnings.append(message % values))
    return UnmatchedNames(names, "%(names)s: %(pages)d", errors)


def test_names_that_match_nothing_on_the_first_pages_are_said_early():
    warnings = []
    names = watch(warnings, "a", "b", "c")
    for number in range(100):
        assert warnings == []
        names.count(["a", "c"] if number == 7 else ["a", "b", "c"])
    assert warnings == ["'a', 'c': 100"]


def test_commands_find_an_index_in_redis_by_its_name():
    assert index_option(Path("/my shop")) == "--index '/my shop'"
    assert index_option(RedisAddress("redis://:secret@host", "my shop")) == "--redis-key 'my shop'"


@pytest.fixture(scope="module")
def results(site, module_path):
    names = ("mill", "bees", "paper")
    urls = [site.put(f"/{name}", page(name)) for name in names]
    items = {f"/{name}": [{"id": name, "text": page(name), "empty": " "}] for name in names}
    found = run(
        module_path,
        Crawl(
            urls,
            {
                "SIMHASH_CONTENT_SELECT": ["article", ".storry"],
                "SIMHASH_CONTENT_REMOVE": ["//div[@id='adds']", "nav"],
            },
            name="selectors",
        ),
        Crawl(
            urls,
            {"SIMHASH_ITEM_FIELDS": ["txt", "text", "empty"]},
            spider="tests.crawl.spiders.ItemsSpider",
            arguments={"items": items},
            name="fields",
        ),
    )
    return dict(zip(("selectors", "fields"), found, strict=True))


def test_a_crawl_that_yields_no_items_and_drops_pages_is_warned(site, module_path):
    urls = [site.put(f"/copy/{number}", page("mill")) for number in range(23)]
    items = {f"/copy/{number}": [{"id": 1}] for number in range(23)}
    without, with_items = run(
        module_path,
        *(
            Crawl(urls, spider="tests.crawl.spiders.ItemsSpider", name=name, arguments=arguments)
            for name, arguments in (
                ("without", {"items": dict.fromkeys(items, ())}),
                ("with", {"items": items}),
            )
        ),
    )
    [line] = without.lines("WARNING", "no callback yielded an item")
    assert f"{without.stat('dropped')} pages were dropped" in line
    assert with_items.stat("dropped") == 22
    assert not with_items.lines("WARNING", "no callback")


def test_selectors_that_found_nothing_are_a_warning_at_the_end(results):
    [line] = results["selectors"].lines("WARNING", "matched nothing")
    assert "'.storry', \"//div[@id='adds']\" matched nothing on any of 3 pages" in line
    assert "SIMHASH_CONTENT_SELECT" in line


def test_item_fields_without_a_text_are_a_warning_at_the_end(results):
    [line] = results["fields"].lines("WARNING", "SIMHASH_ITEM_FIELDS")
    assert "none of 3 items has text in 'txt', 'empty': " in line
    assert len(results["fields"].items) == 3
