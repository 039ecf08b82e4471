"""Selectors and item fields that match nothing cause a warning, early and at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_simhash.crawl.advice import UnmatchedNames, index_option
from scrapy_simhash.index.redis import RedisAddress
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page


@pytest.fixture
def told():
    return []


def watch(told, *names, early=3):
    message = "%(names)s: %(pages)d"
    return UnmatchedNames(names, message, lambda *what: told.append(what[0] % what[1]), early=early)


def test_what_matched_nothing_is_said_early_and_at_the_end(told):
    names = watch(told, "a", "b")
    for missing in (["a", "b"], ["a"], ["a", "b"], ["a"]):
        names.count(missing)
    assert told == ["'a': 3"]
    names.close()
    assert told == ["'a': 3", "'a': 4"]


def test_what_matched_once_is_not_mentioned(told):
    names = watch(told, "a", "b")
    names.count(["b"])
    names.count(["a"])
    for _ in range(5):
        names.count(["a", "b"])
    names.close()
    assert told == []


def test_nothing_is_said_where_nothing_was_looked_at(told):
    watch(told, "a").close()
    names = watch(told)
    names.count([])
    names.close()
    assert told == []


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
            requests=urls,
            settings={
                "SIMHASH_CONTENT_SELECT": ["article", ".storry"],
                "SIMHASH_CONTENT_REMOVE": ["//div[@id='adds']", "nav"],
            },
            name="selectors",
        ),
        Crawl(
            requests=urls,
            spider="tests.crawl.spiders.ItemsSpider",
            settings={"SIMHASH_ITEM_FIELDS": ["txt", "text", "empty"]},
            arguments={"items": items},
            name="fields",
        ),
    )
    return dict(zip(("selectors", "fields"), found, strict=True))


def test_selectors_that_found_nothing_are_a_warning_at_the_end(results):
    [line] = results["selectors"].lines("WARNING", "matched nothing")
    assert "'.storry', \"//div[@id='adds']\" matched nothing on any of 3 pages" in line
    assert "SIMHASH_CONTENT_SELECT" in line


def test_item_fields_without_a_text_are_a_warning_at_the_end(results):
    [line] = results["fields"].lines("WARNING", "SIMHASH_ITEM_FIELDS")
    assert "none of 3 items has text in 'txt', 'empty': " in line
    assert len(results["fields"].items) == 3
