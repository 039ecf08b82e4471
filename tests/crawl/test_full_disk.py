"""A disk that is full loses no content: pages pass, errors are counted, the crawl ends cleanly."""

from collections import Counter
from itertools import count

import pytest

from scrapy_simhash.commands.main import main
from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import open_index
from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import page

pytest.importorskip("plyvel", reason="the indexes here are in LevelDB")

COPIES = 3
NAMES = ("mill", "bees", "paper", "tram", "ice")
# Full crawls one after the other, so that it is known what was written.
SETTINGS = {"SIMHASH_WORKERS": 0, "SIMHASH_INDEX": "leveldb", "CONCURRENT_REQUESTS": 1}
WRITES_BEFORE = 7


def failing(fails):
    """Return a setup that makes the writes fail whose numbers, from 0, are chosen."""

    def setup():
        from scrapy_simhash.index.leveldb import LevelDB

        write, numbers = LevelDB.write, count()

        def failing(database, *args, **kwargs):
            if fails(next(numbers)):
                raise StorageError("/index", "it cannot be written (no space left on device)")
            write(database, *args, **kwargs)

        LevelDB.write = failing

    return setup


always = failing(lambda number: number >= 1)  # but for the first, of a new index
after_a_while = failing(lambda number: number >= WRITES_BEFORE)
now_and_then = failing(lambda number: number % 3 == 2)


def kept(*results):
    return Counter(item["url"].split("/")[3] for result in results for item in result.items)


def assert_ended_well(result):
    assert (result.error, result.finish_reason) == (None, "finished")
    assert result.stat("errors/index") > 0
    assert len(result.lines("WARNING", "simhash: index failed for")) == 1
    raised = result.stats.get("spider_exceptions/count", 0)
    assert result.stats.get("log_count/ERROR", 0) == raised


@pytest.mark.parametrize(
    "fails", ["always", "now_and_then", pytest.param("after_a_while", marks=pytest.mark.thorough)]
)
def test_no_content_is_lost_while_writes_fail(site, tmp_path, fails):
    urls = [
        site.put(f"/{name}/{copy}", page(name, copy=copy or None))
        for name in NAMES
        for copy in range(COPIES)
    ]
    [result] = run(tmp_path, Crawl(urls, SETTINGS), setup=f"{__name__}.{fails}")
    assert_ended_well(result)
    assert set(kept(result)) == set(NAMES)
    # Pages that could be written have their copies dropped.
    if fails == "always":
        assert kept(result) == dict.fromkeys(NAMES, COPIES)
        assert result.stat("errors/index") == len(urls)
    else:
        assert kept(result).total() < len(urls)
    index = tmp_path / "simhash" / "spiders" / "pages"
    assert main(["index", "check", "--index", str(index)]) == 0
    with open_index(index) as opened:
        size = len(opened)
    assert size == result.stat("index/size")
    assert (size == 0) == (fails == "always")
    # A later crawl drops nothing that was not kept.
    later = crawled(tmp_path, urls, SETTINGS | {"SIMHASH_INCREMENTAL": True})
    assert not later.stat("errors/index")
    assert set(kept(result, later)) == set(NAMES)
    assert later.stat("index/size") >= size


def test_retries_without_an_index(site, tmp_path):
    original, *copies = [
        site.put(f"/lost/{number}", page("clock", copy=number or None)) for number in range(4)
    ]
    crawl = Crawl(
        [original],
        SETTINGS,
        spider="tests.crawl.retry_spiders.ScriptedSpider",
        arguments={"copies": copies, "script": ["raise"] * 2},
    )
    # The copies are dropped; then nothing is written any more, and two pages fail.
    # Each copy takes two writes: the copy, and that it was dropped.
    assert 2 * len(copies) < WRITES_BEFORE
    [result] = run(tmp_path, crawl, setup=f"{__name__}.after_a_while")
    assert_ended_well(result)
    # A copy for each page that failed. The last copy is one of a page that gave its item.
    assert result.stat("rescheduled") == 2
    assert result.stats["spider_exceptions/count"] == 2
    assert len(result.items) >= 1
