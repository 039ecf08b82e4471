"""No crawl loses an item of a content that the crawl without the plugin gives: generated spiders."""

import json
from pathlib import Path

import pytest
import scrapy

from tests.crawl.generated import SHAPES, Case, chosen, compared, ways, with_plugin
from tests.crawl.harness import IN_ORDER
from tests.index.redis_servers import needs_redis

# Of each shape; each seed means two crawls.
THOROUGH_SEEDS = 70
PARTS = 8
# Shape → way → the contents of items, as many as without the plugin or more; the most items and
# requests that crawls with the plugin had, and the fewest dropped pages. Where rescheduled and
# discarded pages follow, nothing depends on time: all are exact.
# `python -m tests.crawl.generated ways` compares both and prints the counts of now.
WAYS = json.loads(Path(__file__).with_name("generated_ways.json").read_text(encoding="utf-8"))


def check(results):
    for result in results:
        assert result["of"] > 0, result
        assert not any(result[fault] for fault in ("lost", "hung", "errors")), result
        without, with_plugin = result["requests"]
        # Some pages that were dropped are requested again; no errback asks for ever.
        assert with_plugin <= 2 * without + 10, result


@pytest.mark.parametrize("part", range(PARTS))
def test_each_way_of_each_shape_gives_all_contents_and_spares_what_it_has_spared(tmp_path, part):
    """Pages come one after the other, so that the numbers are the same each time."""
    shapes = [*SHAPES][part::PARTS]
    results = [*with_plugin(tmp_path, ways(*shapes))]
    seen = [(result["shape"], result["way"]) for result in results]
    assert sorted(seen) == sorted((shape, way) for shape in shapes for way in WAYS[shape])
    for result in results:
        contents, *counts = WAYS[result["shape"]][result["way"]]
        assert len(result["contents"]) >= contents, result
        assert (result["ended"], result["errors"]) == ("finished", {}), result
        if scrapy.version_info < (2, 19):  # 2.15 waits 0.1 s between a verdict and the callback
            continue
        found = [result["items"], result["requests"]]
        found += [
            result["simhash"].get(name, 0) for name in ("dropped", "rescheduled", "discarded")
        ]
        if len(counts) == len(found):
            assert found == counts, result
        most_items, most_requests, least_dropped = counts[:3]
        assert found[0] <= most_items, result
        assert found[1] <= most_requests, result
        assert found[2] >= least_dropped, result


def test_pauses_lose_nothing(tmp_path):
    paused = {"CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": 5}
    follows = (paused | {"SIMHASH_FOLLOW": follow} for follow in (None, True))
    check(compared(tmp_path, [Case("OneEntry", 1, settings) for settings in follows]))


def test_crawls_in_one_process_that_share_an_index_know_what_the_others_gave(tmp_path):
    settings = IN_ORDER | {"SIMHASH_SHARED": True}
    cases = [Case("Coded", seed, settings) for seed in (910202, 910305)]
    check(compared(tmp_path, cases))


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES)
def test_many_crawls(tmp_path, shape):
    check(compared(tmp_path, (chosen(shape, seed) for seed in range(1, 1 + THOROUGH_SEEDS))))


@pytest.mark.thorough
@needs_redis
def test_crawls_with_an_index_in_redis(redis_server, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAWL_WITH_REDIS", redis_server.url)
    check(compared(tmp_path, (chosen(shape, seed) for seed in (1, 2, 3) for shape in SHAPES)))
