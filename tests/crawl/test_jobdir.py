"""JOBDIR: a crawl that is paused and resumed counts as one crawl."""

import logging
import os
import signal
from types import SimpleNamespace

import pytest
from scrapy.settings import Settings

from scrapy_simhash import open_index
from scrapy_simhash.crawl.opening import FILE_NAME, CrawlStarts
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.retry_spiders import ScriptedSpider, until
from tests.crawl.spiders import FromCrawler

pytestmark = pytest.mark.thorough

FAMILY = 3
# In the order in which links are found, wherever the crawl is paused.
BREADTH_FIRST = {
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
}
ONE_BY_ONE = BREADTH_FIRST | {"CONCURRENT_REQUESTS": 1}
AT_ONCE = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
PAUSED, FINISHED = "shutdown", "finished"


# Spiders, for the child process


def pause():
    """Pause the crawl, as Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


class PausedSpider(ScriptedSpider):
    """Is paused while the callback of its original runs; the callback then follows the script.

    :param pauses: false when it goes on after the pause.
    """

    def __init__(self, *args, pauses, **kwargs):
        super().__init__(*args, **kwargs)
        self.pauses = pauses

    async def outcome(self, response, step, item):
        if self.pauses:
            pause()
            engine = self.crawler.engine
            await until(lambda: engine._slot.closing is not None, "the crawl is paused")
        async for output in super().outcome(response, step, item):
            yield output


class PausingPipeline(FromCrawler):
    """Pauses the crawl while it has an item that fails, and whose copy was dropped."""

    async def process_item(self, item):
        if item.get("fails"):
            stats, engine = self.crawler.stats, self.crawler.engine
            await until(lambda: stats.get_value("simhash/item/dropped"), "the copy is dropped")
            pause()
            await until(lambda: engine._slot.closing is not None, "the crawl is paused")
            raise RuntimeError("this pipeline fails")
        return item


# Job


INDEX = SimpleNamespace(location="/index", crawl_start=3)


def job(directory):
    return CrawlStarts(Settings({"JOBDIR": str(directory)}))


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff\xfe",
        b"null",
        b"{}",
        b'{"began": 7}',
        b'{"began": {"/index": "many"}}',
        b'{"began": {"/index": Infinity}}',
        b'{"began": {"/index": -1}}',
    ],
)
def test_a_damaged_file_is_one_warning_and_no_knowledge(tmp_path, caplog, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    damaged = job(tmp_path)
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert str(tmp_path / FILE_NAME) in record.message
    assert damaged.get("/index") is None
    damaged.record(INDEX)
    assert job(tmp_path).get("/index") == 3
    assert len(caplog.records) == 1


def test_a_file_that_cannot_be_written_or_deleted_is_a_warning(tmp_path, caplog):
    (tmp_path / FILE_NAME).mkdir()
    in_the_way = job(tmp_path)
    in_the_way.record(INDEX)
    assert in_the_way.get("/index") == 3
    in_the_way.delete()
    read, written, deleted = (record.message for record in caplog.records)
    assert "cannot be read" in read
    assert "cannot be written" in written
    assert "cannot be deleted" in deleted


# Crawls


@pytest.fixture(scope="module")
def start(site):
    """Put articles in several copies, each with links to the copies of the next article."""
    names = [name for name in ARTICLES if name.isascii()]
    families = [[f"/{name}/{copy}" for copy in range(FAMILY)] for name in names]
    for name, family, following in zip(names, families, [*families[1:], []], strict=True):
        for copy, path in enumerate(family):
            site.put(path, page(name, copy=copy or None, links=following))
    site.put("/start", page("茶园", links=families[0]))
    return site.url("/start")


def crawl_in_parts(directory, start, *pauses, **settings):
    """Pause a crawl after so many responses each time, and resume it to its end.

    Return the articles that it kept, and its near-duplicates with their representatives.
    """
    results = []
    for responses in (*pauses, 0):
        how = {"JOBDIR": str(directory / "job"), "CLOSESPIDER_PAGECOUNT": responses}
        results += run(directory, Crawl([start], {"SIMHASH_WORKERS": 0} | how | settings))
    reasons = [result.finish_reason for result in results]
    assert reasons == ["closespider_pagecount"] * len(pauses) + [FINISHED]
    assert not (directory / "job" / FILE_NAME).exists()
    kept = [item["url"].split("/")[3] for result in results for item in result.items]
    with open_index(directory / "simhash" / "spiders" / "pages") as index:
        log = [(one.key, one.representative, one.distance) for one in index.near_duplicates()]
    return kept, log


@pytest.fixture(scope="module")
def whole(start, module_path):
    """Run a crawl that is not paused: the site has copies to drop and pages to keep."""
    kept, log = crawl_in_parts(module_path, start, **ONE_BY_ONE)
    assert (len({*kept}), len(kept), len(log)) == (8, 8, 7 * (FAMILY - 1))
    return kept, log


@pytest.mark.parametrize("pauses", [(5, 1, 6), (1,), (4,), (11,), (20,)], ids=str)
def test_one_by_one_a_paused_crawl_finds_the_same_in_the_same_order(start, whole, tmp_path, pauses):
    assert crawl_in_parts(tmp_path, start, *pauses, **ONE_BY_ONE) == whole


@pytest.mark.parametrize("pause_after", [7, 2, 12])
def test_at_once_a_paused_crawl_keeps_the_same_content(start, whole, tmp_path, pause_after):
    kept, _ = crawl_in_parts(tmp_path, start, pause_after, SIMHASH_WORKERS=1, **AT_ONCE)
    # Each article once, whichever of its copies came first.
    assert sorted(kept) == sorted(whole[0])


@pytest.mark.parametrize(
    ("script", "resumed"),
    [(["raise"], ["/held/1"]), (["keep"], []), (["raise", "raise"], ["/held/2"])],
    ids=["fails", "kept", "its copy fails too"],
)
def test_copies_that_are_held_when_a_crawl_is_paused(site, tmp_path, script, resumed):
    original, *copies = [
        site.put(f"/held/{number}" if number else "/held", page("ice", copy=number or None))
        for number in range(4)
    ]
    arguments = {"copies": copies, "script": script[:1], "pauses": True}
    paused = Crawl(
        [original],
        ONE_BY_ONE | {"JOBDIR": str(tmp_path / "job"), "SIMHASH_WORKERS": 0},
        spider=f"{__name__}.PausedSpider",
        arguments=arguments,
    )
    [first] = run(tmp_path, paused)
    assert first.finish_reason == PAUSED
    assert (first.stat("near_duplicate"), first.stat("rescheduled")) == (3, 3 * bool(resumed))
    kept = [item["path"] for item in first.items]
    assert kept == [] if resumed else ["/held"]
    paused.arguments.update(copies=[], script=script[1:], pauses=False)
    [second] = run(tmp_path, paused)
    assert second.finish_reason == FINISHED
    assert [item["path"] for item in second.items] == resumed
    assert second.stat("index/size") == 1


@pytest.mark.parametrize("incremental", [False, True])
def test_items_that_were_dropped_when_a_crawl_is_paused(site, tmp_path, incremental):
    texts = [f"{ARTICLES['mill'][1]} {number}" for number in range(2)]
    items = {"/one": [{"text": texts[0], "fails": True}], "/two": [{"text": texts[1]}]}
    paused = Crawl(
        put_articles(site, "/one tram", "/two bees"),
        ONE_BY_ONE
        | {
            "JOBDIR": str(tmp_path / "job"),
            "ITEM_PIPELINES": {f"{__name__}.PausingPipeline": 300},
            "SIMHASH_ITEM_FIELDS": ["text"],
            "SIMHASH_INCREMENTAL": incremental,
            "SIMHASH_WORKERS": 0,
        },
        spider="tests.crawl.spiders.ItemsSpider",
        arguments={"items": items, "at_once": True},
    )
    [first] = run(tmp_path, paused)
    assert first.finish_reason == PAUSED
    assert (first.items, first.stat("rescheduled")) == ([], 1)
    # The page is known by now, and comes for its item all the same.
    [second] = run(tmp_path, paused)
    assert second.finish_reason == FINISHED
    assert [item["text"] for item in second.items] == [texts[1]]
    assert second.stat("unchanged") == 1
