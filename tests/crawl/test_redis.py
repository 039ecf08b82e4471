"""Crawls with an index in Redis: settings, faults of the server, and other crawlers."""

import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl.settings import SimhashSettings
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.index.redis import open_redis_index
from scrapy_simhash.index.redis.layout import redis_key
from tests.crawl.harness import ADDONS, Crawl, child_environment, crawled, run
from tests.crawl.pages import page
from tests.crawl.spiders import PagesSpider
from tests.index.redis_servers import RedisServer, free_port, needs_redis

pytestmark = needs_redis


SECRET = "geheim-7"


class ThreadsSpider(PagesSpider):
    """Writes down whether answers of the server are awaited in the event loop's thread.

    From the first request until the crawl is idle; opening and closing an index may wait there.
    """

    async def start(self):
        from redis.connection import AbstractConnection

        self.in_loop, self.connection = [], AbstractConnection
        self.read_response = AbstractConnection.read_response

        def read_response(*args, **kwargs):
            self.in_loop.append(threading.current_thread() is threading.main_thread())
            return self.read_response(*args, **kwargs)

        AbstractConnection.read_response = read_response
        async for request in super().start():
            yield request

    def go_on(self):
        self.connection.read_response = self.read_response

    def closed(self, reason):
        self.events.append({"what": "answers", "path": "", "in_loop": self.in_loop})


# Crawls pages with the given settings.
CRAWLER = """
import json, sys
from scrapy.crawler import AsyncCrawlerProcess
from tests.crawl.spiders import PagesSpider

urls, settings = map(json.loads, sys.argv[1:])
process = AsyncCrawlerProcess(settings)
process.crawl(PagesSpider, requests=urls, at_once=True)
process.start()
"""


def settings(url, name, **changes):
    return {
        "SIMHASH_INDEX": "redis",
        "SIMHASH_REDIS_URL": url,
        "SIMHASH_REDIS_KEY": name,
        "SIMHASH_EXPECTED_PAGES": 1000,  # small indexes are faster to delete
    } | changes


@pytest.fixture
def name(request, tmp_path):
    return f"{request.node.name} {tmp_path.name}"


@pytest.fixture
def own_server(tmp_path):
    server = RedisServer(tmp_path / "redis")
    yield server
    server.stop()


class TestSettings:
    def read(self, **given):
        return SimhashSettings(Settings({"SIMHASH_INDEX": "redis", **given}), "shop")

    def test_the_index_has_the_name_of_the_spider_or_one_for_all(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        read = self.read(SIMHASH_REDIS_URL="redis://h/1")
        addresses = [str(read.index_location(what)) for what in ("page", "item")]
        assert addresses == ["redis://h/1 shop:simhash", "redis://h/1 shop:simhash-items"]
        assert not list(tmp_path.iterdir()), "a directory was made"
        redis = self.read(SIMHASH_REDIS_URL="redis://h", SIMHASH_SHARED=True).redis
        assert redis.name == "shared:simhash"

    @pytest.mark.parametrize(
        ("given", "url"),
        [
            ({"REDIS_URL": "redis://queue:1/2"}, "redis://queue:1/2"),
            ({"REDIS_URL": "redis://queue", "SIMHASH_REDIS_URL": "redis://index"}, "redis://index"),
        ],
    )
    def test_the_server_of_the_queue_serves_if_no_other_is_named(self, given, url):
        parameters = {"socket_timeout": 3, "redis_cls": "x.Y"}
        redis = self.read(REDIS_PARAMS=parameters, **given).redis
        assert redis.url == url
        assert redis.parameters == {"socket_timeout": 3}

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            ({}, "SIMHASH_REDIS_URL"),
            ({"SIMHASH_REDIS_URL": f"http://:{SECRET}@h"}, "SIMHASH_REDIS_URL"),
            ({"SIMHASH_RESET": True}, "SIMHASH_RESET"),
            ({"SIMHASH_KEEP_TEXT": True}, "SIMHASH_KEEP_TEXT"),
        ],
    )
    def test_wrong_settings_are_named(self, wrong, named):
        given = {"SIMHASH_REDIS_URL": "redis://h"} | wrong if wrong else {}
        with pytest.raises(SettingsError, match=named) as raised:
            self.read(**given)
        assert SECRET not in str(raised.value)
        assert SECRET not in repr(self.read(SIMHASH_REDIS_URL=f"redis://:{SECRET}@h"))


def test_a_crawl_and_the_next(site, tmp_path, redis_server, name):
    copies = [site.put(f"/one/{number}", page("story 1")) for number in range(3)]
    other = site.put("/other", page("story 2"))
    how = settings(redis_server.url, name, SIMHASH_REPORT=str(tmp_path / "report.html"))
    first, again, incremental = run(
        tmp_path,
        *(
            Crawl([*copies, other], how | changes)
            for changes in ({}, {}, {"SIMHASH_INCREMENTAL": True})
        ),
    )
    assert [len(crawl.items) for crawl in (first, again, incremental)] == [2, 2, 0]
    assert (first.stat("new"), first.stat("dropped")) == (2, 2)
    assert (again.stat("unchanged"), again.stat("dropped")) == (2, 2)
    assert (incremental.stat("dropped"), incremental.stat("followed/unchanged")) == (2, 2)
    assert first.stat("index/size") == 2
    assert first.lines("INFO", "the report is in")
    assert copies[0] in (tmp_path / "report.html").read_text()
    with open_redis_index(redis_server.url, name) as index:
        assert len(index) == 2
        [representative] = {line.representative for line in index.near_duplicates()}
        assert representative in copies  # answers may overtake each other
        assert {line.action for line in index.near_duplicates()} == {"dropped"}


def test_a_history_that_cannot_be_written_is_an_error_that_is_counted(site, tmp_path, own_server):
    redis = pytest.importorskip("redis")
    with redis.Redis(port=own_server.ports[0]) as client:
        client.set(redis_key("broken", "notes"), "something else")
    crawl = crawled(
        tmp_path,
        [site.put("/kept", page("story 1")), site.put("/kept/copy", page("story 1"))],
        settings(own_server.url, "broken"),
    )
    assert (crawl.finish_reason, len(crawl.items)) == ("finished", 1)
    assert (crawl.stat("errors/history"), crawl.stat("index/size")) == (1, 1)
    assert crawl.lines("WARNING", "history failed for", "another program uses a key")


def test_one_crawl_in_two_processes(site, tmp_path, redis_server, name):
    """What one process has seen counts for the other, if both name the crawl."""
    one, other = (site.put(path, page("story 7")) for path in ("/a", "/b"))
    how = settings(redis_server.url, name, SIMHASH_REDIS_CRAWL="monday")
    first = crawled(tmp_path / "1", [one], how)
    second = crawled(tmp_path / "2", [other], how)
    tuesday = how | {"SIMHASH_REDIS_CRAWL": "tuesday"}
    third = crawled(tmp_path / "3", [other], tuesday)
    assert [len(crawl.items) for crawl in (first, second, third)] == [1, 0, 1]
    differing = tuesday | {"SIMHASH_MIN_RESEMBLANCE": 0.9}
    classic = how | {"SIMHASH_PRESET": "classic", "SIMHASH_INCREMENTAL": True}
    apart, *others = run(
        tmp_path / "4", Crawl([other], differing), *[Crawl([one, other], classic)] * 2
    )
    # A changed setting ends in no empty feed.
    assert (apart.finish_reason, len(apart.items)) == ("finished", 1)
    assert apart.lines("ERROR", "runs without the plugin", "min_resemblance")
    assert [len(crawl.items) for crawl in others] == [1, 0]
    for crawl in others:
        assert crawl.lines("WARNING", "uses the index", f"{name}@simhash64")


def test_a_server_that_cannot_be_reached_at_the_start(site, tmp_path):
    url = site.put("/start", page("story 3"))
    away = f"redis://:{SECRET}@127.0.0.1:{free_port()}/0"
    crawl = crawled(tmp_path, [url, site.put("/start/copy", page("story 3"))], settings(away, "x"))
    assert SECRET not in crawl.log
    assert "cannot be reached" in crawl.log
    assert crawl.finish_reason == "finished"
    assert len(crawl.items) == 2
    assert crawl.lines("WARNING", "ran without the plugin")


def test_a_server_that_goes_away(site, tmp_path, own_server, monkeypatch):
    """Pages pass, are counted, and the log says so; the crawl ends by itself."""
    before = [site.put(f"/before/{number}", page("story 4")) for number in range(2)]
    stopped = threading.Event()
    answer = site.answer

    def stopping(path):
        if path.startswith("/after") and not stopped.is_set():
            own_server.stop()
            stopped.set()
        return answer(path)

    after = [site.put(f"/after/{number}", page("story 5")) for number in range(3)]
    monkeypatch.setattr(site, "answer", stopping)
    how = settings(own_server.url, "away", SIMHASH_REDIS_LEASE_S=2)
    crawl = crawled(tmp_path, [*before, *after], how)
    assert crawl.finish_reason == "finished"
    assert crawl.seen() == ["/before/0", "/after/0", "/after/1", "/after/2"]
    assert len(crawl.items) == 4
    assert crawl.stat("errors/index") >= 3
    assert crawl.lines("WARNING", "Pages pass without a verdict until it answers")


@pytest.mark.thorough
def test_a_server_that_comes_back(site, tmp_path, own_server, monkeypatch):
    port = own_server.ports[0]
    urls = [site.put(f"/{number}", page(f"story {number}")) for number in range(3)]
    copies = [site.put(f"/copy/{number}", page(f"story {number}")) for number in range(3)]
    answer = site.answer

    def restarting(path):
        if path == "/1":
            own_server.stop()
        if path == "/copy/0":
            own_server.start_again(port)
            time.sleep(5.2)  # an index that is away is left alone for 5 s
        return answer(path)

    monkeypatch.setattr(site, "answer", restarting)
    requests = [*urls, *copies, site.put("/last", page("story 2"))]
    crawl = crawled(tmp_path, requests, settings(own_server.url, "back"))
    assert crawl.finish_reason == "finished"
    assert crawl.lines("WARNING", "answers again")
    # /last, a copy of /copy/2. The server had forgotten the rest, but for a page that was settled late.
    assert 1 <= crawl.stat("dropped") <= 2
    assert {url.rpartition("/")[2] for url in (item["url"] for item in crawl.items)} >= set("012")


def test_a_page_that_no_callback_gets_stands_in_nobodys_way(site, tmp_path, redis_server, name):
    """The index judges a page before it is known that the spider downloads it by itself."""
    start = site.put("/inline/start", page("story 8"))
    inline, copy = (site.put(path, page("story 9")) for path in ("/inline/a", "/inline/b"))
    crawl = crawled(
        tmp_path,
        [start, copy],
        settings(redis_server.url, name),
        spider="tests.crawl.test_passing.InlineSpider",
        arguments={"side": inline, "no_callback": inline},
    )
    assert crawl.seen() == ["/inline/start", "/inline/b"]
    with open_redis_index(redis_server.url, name) as index:
        assert index.entry(copy) is not None
        assert index.entry(inline) is None


def test_the_event_loop_does_not_wait_for_a_slow_server(site, tmp_path, own_server):
    urls = [site.put(f"/slow/{number}", page(f"story {number}")) for number in range(20)]
    crawl = crawled(
        tmp_path,
        urls,
        settings(own_server.url, "slow"),
        spider=f"{__name__}.ThreadsSpider",
        arguments={"at_once": True},
    )
    assert len(crawl.items) == 20
    [in_loop] = [event["in_loop"] for event in crawl.events if event["what"] == "answers"]
    # At least one to observe pages and one to confirm them.
    assert len(in_loop) >= 2
    assert not any(in_loop), "the loop waited for the server"


@pytest.mark.thorough
def test_crawlers_that_are_killed(site, tmp_path, redis_server, name):
    """Four processes crawl one site, are killed twice and started again: no content is lost."""
    families, copies, processes = 60, 3, 4
    urls = [
        site.put(f"/killed/{family}/{copy}", page(f"story {family}"))
        for copy in range(copies)
        for family in range(families)
    ]
    how = settings(redis_server.url, name, SIMHASH_REDIS_CRAWL="killed", SIMHASH_REDIS_LEASE_S=3)
    how |= {
        "ADDONS": ADDONS,
        "SIMHASH_ENABLED": True,
        "SIMHASH_WORKERS": 0,
        "ITEM_PIPELINES": {"tests.crawl.components.WritingPipeline": 900},
        "DOWNLOAD_DELAY": 0.02,
        "CONCURRENT_REQUESTS": 8,
        "TELNETCONSOLE_ENABLED": False,
    }

    def crawl(number):
        """Return the number of kills, and the URLs of the items that were kept."""
        written = tmp_path / f"items-{number}.txt"
        written.touch()
        given = urls[number::processes], how | {"WRITTEN": str(written)}
        command = [sys.executable, "-c", CRAWLER, *map(json.dumps, given)]
        kills = 0
        for most_items in (0, 5, len(urls)):  # it has begun to crawl, and has not finished
            with subprocess.Popen(
                command, env=child_environment(), stderr=subprocess.DEVNULL
            ) as process:
                while process.poll() is None and written.read_text().count("\n") <= most_items:
                    time.sleep(0.02)
                process.kill()
            assert process.returncode in (0, -signal.SIGKILL)
            kills += process.returncode != 0
        return kills, written.read_text().split()

    with ThreadPoolExecutor(processes) as threads:
        ended = list(threads.map(crawl, range(processes)))
    kept = {url for _, found in ended for url in found}
    assert {url.split("/")[-2] for url in kept} == {str(family) for family in range(families)}
    kills = sum(killed for killed, _ in ended)
    assert kills >= processes
    # Copies that were let through: of pages whose crawler died before the index knew them.
    assert len(kept) <= families + kills * 16
