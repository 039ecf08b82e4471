"""No crawl loses an item of a content that the crawl without the plugin gives: generated spiders."""

import json

import pytest

from tests.crawl.generated_spiders import SHAPES
from tests.crawl.harness import python
from tests.index.redis_servers import needs_redis

# Of each shape; each seed means two crawls.
THOROUGH_SEEDS = 70


def compared(first, count, *shapes):
    done = python("-m", "tests.crawl.generated", first, count, *shapes)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(results):
    for result in results:
        assert result["of"] > 0, result
        assert not any(result[fault] for fault in ("lost", "hung", "errors")), result
        without, with_plugin = result["requests"]
        # Some pages that were dropped are requested again; no errback asks for ever.
        assert with_plugin <= 2 * without + 10, result


def test_a_few_crawls_of_each_shape():
    results = compared(0, 1)
    check(results)
    assert {result["shape"] for result in results} == set(SHAPES)
    plain = next(result for result in results if result["shape"] == "Plain")
    assert plain["simhash"]["dropped"] > 0


@pytest.mark.thorough
def test_errbacks_that_ask_by_the_engine_under_other_urls_ask_once():
    results = compared(126, 6, "Errback")
    check(results)
    ways = {result["way"].partition(" {")[0] for result in results}
    assert ways >= {"engine later", "engine buster", "engine path", "idle path", "all by engine"}
    drops = ("dropped", "dropped_items")
    assert all(any(result["simhash"].get(name) for name in drops) for result in results)


def test_a_spider_that_waits_in_start_gets_its_pages():
    [result] = results = compared(2, 1, "Waiting")
    check(results)
    assert result["way"].startswith("semaphore")
    assert result["simhash"]["dropped_items"] > 0


def test_a_next_page_that_is_passed_to_the_engine_is_crawled():
    [result] = results = compared(61, 1, "Chained")
    check(results)
    assert result["way"].startswith("engine")
    assert result["simhash"]["dropped_items"] > 0


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES)
def test_many_crawls(shape):
    check(compared(1, THOROUGH_SEEDS, shape))


@pytest.mark.thorough
@needs_redis
def test_crawls_with_an_index_in_redis(redis_server, monkeypatch):
    monkeypatch.setenv("CRAWL_WITH_REDIS", redis_server.url)
    check(compared(1, 3))
