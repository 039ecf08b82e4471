"""Crawls whose pages are fingerprinted in worker processes, also if pages or workers misbehave."""

import json

import pytest

from tests.crawl.harness import Crawl, crawled, python, run
from tests.crawl.pages import page, put_articles
from tests.crawl.test_callbacks import REACTORS, reactorless_handlers
from tests.crawl.worker_extractors import OBEDIENT, page_with

pytestmark = pytest.mark.thorough

OBEYING = {"SIMHASH_WORKERS": 1, "SIMHASH_EXTRACTOR": OBEDIENT}
AT_ONCE = {"at_once": True}
TIMEOUT_MS = 2000


def skipped(reason):
    return {"kind": "skipped", "reason": reason}


def kinds(result):
    return {event["path"]: event["verdict"]["kind"] for event in result.events}


@pytest.fixture(scope="module")
def with_and_without(site, module_path):
    """Crawl the same pages with 0, 1 and 2 workers, in three crawls at once, and by default."""
    bodies = {
        "/mill": page("mill"),
        "/mill-copy": page("mill", copy=1),
        "/mill-again": page("mill"),
        "/tea": page("茶园").encode(),
        "/tea-copy": page("茶园", copy=1).encode("gb18030"),
        "/undeclared": page("石桥").encode("gb18030"),
        "/surrogates": b"<p>" + b" word\\ud800 ".join(page("ice").encode().split()[9:99]),
        "/nothing": "<html></html>",
        "/few": "<p>Too few words.</p>",
        "/broken": page("bees").encode()[:1100],
    }
    types = {
        "/tea-copy": "text/html; charset=gbk",
        "/undeclared": "text/html",
        "/surrogates": "text/html; charset=unicode-escape",
    }
    urls = [
        site.put(path, body, content_type=types.get(path, "text/html; charset=utf-8"))
        for path, body in bodies.items()
    ]
    crawls = {
        workers: Crawl(
            [{"url": url, "errback": True} for url in urls],
            {} if workers is None else {"SIMHASH_WORKERS": workers},
            name=f"with-{workers}",
        )
        for workers in (0, 1, 2, None)
    }
    return dict(zip(crawls, run(module_path / "same", [*crawls.values()]), strict=True))


@pytest.mark.parametrize("workers", [1, 2, None])
def test_verdicts_do_not_depend_on_workers(with_and_without, workers):
    expected, found = with_and_without[0], with_and_without[workers]
    assert found.finish_reason == "finished"
    assert found.events == expected.events
    assert found.items == expected.items
    assert found.simhash_stats() == expected.simhash_stats()
    assert (found.stat("new"), found.stat("near_duplicate")) == (5, 3)
    assert (found.stat("skipped/no_text"), found.stat("skipped/few_tokens")) == (1, 1)
    assert found.stat("exact_duplicate") == 1
    assert found.stat("time/extraction_ms") > 0


@pytest.fixture(scope="module", params=["asyncio", "select", "none"])
def rough(request, site, tmp_path_factory):
    """Crawl pages that hang, kill or fail, among others, under every reactor and under none."""
    bodies = {f"/{number}": page_with(number=number) for number in range(8)}
    orders = {"/sleep": "sleep", "/kill": "kill", "/leave": "leave now", "/fail": "fail here"}
    bodies |= {path: page_with(order) for path, order in orders.items()}
    paths = ["/0", "/kill", "/1", "/sleep", "/2", "/leave", "/3"]
    paths += ["/4", "/fail", "/5", "/6", "/7"]
    settings = OBEYING | {"SIMHASH_WORKERS": 2, "SIMHASH_TIMEOUT_MS": TIMEOUT_MS}
    if request.param == "none":
        settings["DOWNLOAD_HANDLERS"] = reactorless_handlers()
    crawl = Crawl([site.put(path, bodies[path]) for path in paths], settings, arguments=AT_ONCE)
    [result] = run(tmp_path_factory.mktemp("rough"), crawl, **REACTORS[request.param])
    return result


def test_pages_that_hang_or_kill_pass_are_told_in_a_line_each_and_the_crawl_goes_on(rough):
    assert rough.finish_reason == "finished"
    verdicts = {event["path"]: event["verdict"] for event in rough.events}
    assert len(rough.items) == len(rough.events) == len(verdicts) == 12
    assert [verdicts[f"/{number}"]["kind"] for number in range(8)] == ["new"] * 8
    reasons = {"/sleep": "timeout", "/kill": "worker_died", "/fail": "extraction_error"}
    assert {path: verdicts[path] for path in reasons} == {
        path: skipped(reason) for path, reason in reasons.items()
    }
    assert verdicts["/leave"] is None
    for name in (
        "skipped/timeout",
        "skipped/worker_died",
        "errors/fingerprint",
        "errors/extraction",
    ):
        assert rough.stat(name) == 1, name
    assert rough.stat("workers_replaced") == 3
    assert rough.stat("checked") == rough.stat("index/size") == 8

    assert len(rough.lines("WARNING", "SystemExit: now", "The crawl goes on")) == 1
    assert len(rough.lines("WARNING", "LookupError: here")) == 1
    assert not rough.lines("Traceback")
    assert not rough.lines("ERROR")


def test_what_was_not_the_pages_fault_is_tried_again(site, tmp_path):
    """A page with the bytes of a skipped page is fingerprinted again."""
    body = page_with(f"die 2 {tmp_path}")
    paths = ("/died", "/lived", "/remembered")
    result = crawled(
        tmp_path, [{"url": site.put(path, body), "errback": True} for path in paths], OBEYING
    )
    assert result.event("/died")["verdict"] == skipped("worker_died")
    assert kinds(result) == {"/died": "skipped", "/lived": "new", "/remembered": "near-duplicate"}
    assert result.stat("exact_duplicate") == 1
    assert result.stat("workers_replaced") == 2


SCRIPT = """
import json, os, sys
from pathlib import Path
from scrapy import Spider
from scrapy.crawler import {process}
from tests.crawl.worker_extractors import obedient
from tests.workers.watching import children_of

with Path("runs").open("a") as file:
    file.write("once more, ")


def text_of(html):
    return obedient(html)


class ScriptSpider(Spider):
    name = "script"
    start_urls = sys.argv[2:]

    def parse(self, response):
        yield {{
            "path": response.url.rpartition("/")[2],
            "kind": (response.meta.get("simhash") or {{}}).get("kind"),
            "children": len(children_of(os.getpid())),
        }}


process = {process}({{
    "ADDONS": {{"scrapy_simhash.Addon": 500}},
    "SIMHASH_ENABLED": True,
    "CONCURRENT_REQUESTS": 1,
    "LOG_FORMAT": "%(levelname)s %(message)s",
    "FEEDS": {{"items.json": {{"format": "json"}}}},
    **json.loads(sys.argv[1]),
}})
process.crawl(ScriptSpider)
process.start()
"""


def run_script(directory, process, urls, settings):
    """A script without a ``__main__`` guard works, too."""
    path = directory / "script.py"
    path.write_text(SCRIPT.format(process=process))
    child = python(path, json.dumps(settings), *urls, cwd=directory)
    assert child.stdout == ""
    assert (directory / "runs").read_text() == "once more, "
    return json.loads((directory / "items.json").read_text()), child.stderr


@pytest.mark.parametrize(
    ("process", "workers"),
    [("CrawlerProcess", 2), ("AsyncCrawlerProcess", 1), ("AsyncCrawlerProcess", 0)],
)
def test_a_script_needs_no_guard(site, tmp_path, process, workers):
    urls = put_articles(site, "/mill mill", "/mill-copy mill 1", "/bees bees")
    items, log = run_script(tmp_path, process, urls, {"SIMHASH_WORKERS": workers})
    assert [(item["path"], item["kind"]) for item in items] == [("mill", "new"), ("bees", "new")]
    assert {item["children"] for item in items} == {workers}
    assert "Traceback" not in log


def test_an_extractor_in_a_script_is_for_a_crawl_without_workers(site, tmp_path):
    urls = [site.put(f"/script-{number}", page_with(number=number)) for number in (1, 2)]
    settings = {"SIMHASH_EXTRACTOR": "__main__.text_of"}
    for workers, kind in ((0, "new"), (1, None)):
        directory = tmp_path / str(workers)
        directory.mkdir()
        settings["SIMHASH_WORKERS"] = workers
        items, log = run_script(directory, "AsyncCrawlerProcess", urls, settings)
        assert [item["kind"] for item in items] == [kind, kind]
        warnings = [line for line in log.splitlines() if "WARNING simhash: fingerprint" in line]
        assert len(warnings) == workers
        assert all("'__main__.text_of'" in line and "WORKERS = 0" in line for line in warnings)
