"""JOBDIR: a crawl that is paused while a page fails, and its file. `generated` has other pauses."""

import logging
import os
import signal
from array import array
from types import SimpleNamespace

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl.given import Given, OfCallback, Remembered
from scrapy_simhash.crawl.opening import FILE_NAME, CrawlStarts
from tests.crawl.harness import IN_ORDER, Crawl, run
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.retry_spiders import ScriptedSpider, until
from tests.crawl.spiders import FromCrawler

pytestmark = pytest.mark.thorough

ONE_BY_ONE = IN_ORDER | {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue"}
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
        b"[" * 100_000,
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


@pytest.mark.parametrize("gave", [b"null", b'{"pages": 7}', b"[1, 2]"])
def test_the_start_is_known_though_what_pages_gave_cannot_be_read(tmp_path, caplog, gave):
    (tmp_path / FILE_NAME).write_bytes(b'{"began": {"/index": 3}, "gave": %b}' % gave)
    damaged = job(tmp_path)
    assert len(caplog.records) == 1
    assert damaged.get("/index") == 3
    assert damaged.gave is not None


def test_a_crawl_that_is_killed_after_a_pause_knows_what_was_stored(tmp_path):
    gave = Remembered(
        {"/page": Given(ended=True, pieces=array("i"))}, {"parse": OfCallback(gives_lists=True)}
    )
    job(tmp_path).pause(gave)
    resumed = job(tmp_path)
    resumed.record(INDEX)
    again = job(tmp_path)
    assert (again.gave, again.get("/index")) == (resumed.gave, 3)
    assert [*again.gave.pages] == ["/page"]
    assert again.gave.callbacks == gave.callbacks


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
