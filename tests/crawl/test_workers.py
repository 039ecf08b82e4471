"""Crawls whose pages are fingerprinted in worker processes, also if pages or workers misbehave."""

import pytest

from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.test_callbacks import REACTORS
from tests.crawl.worker_extractors import OBEDIENT, page_with

pytestmark = pytest.mark.thorough

OBEYING = {"SIMHASH_WORKERS": 1, "SIMHASH_EXTRACTOR": OBEDIENT}
TIMEOUT_MS = 2000


def skipped(reason):
    return {"kind": "skipped", "reason": reason}


@pytest.mark.parametrize("reactor", ["asyncio", "select", "none"])
def test_pages_that_hang_or_kill_pass_are_told_in_a_line_each_and_the_crawl_goes_on(
    site, tmp_path, reactor
):
    orders = {"/sleep": "sleep", "/kill": "kill", "/leave": "leave now", "/fail": "fail here"}
    paths = "/0 /kill /1 /sleep /2 /leave /3 /4 /fail /5 /6 /7".split()
    urls = [
        site.put(path, page_with(orders.get(path, ""), number=number))
        for number, path in enumerate(paths)
    ]
    settings = OBEYING | {"SIMHASH_WORKERS": 2, "SIMHASH_TIMEOUT_MS": TIMEOUT_MS}
    crawl = Crawl(urls, settings, arguments={"at_once": True})
    [result] = run(tmp_path, crawl, **REACTORS[reactor])
    assert result.finish_reason == "finished"
    verdicts = {event["path"]: event["verdict"] for event in result.events}
    assert len(result.items) == len(result.events) == len(verdicts) == 12
    assert [verdicts[f"/{number}"]["kind"] for number in range(8)] == ["new"] * 8
    reasons = {"/sleep": "timeout", "/kill": "worker_died", "/fail": "extraction_error"}
    assert {path: verdicts[path] for path in reasons} == {
        path: skipped(reason) for path, reason in reasons.items()
    }
    assert verdicts["/leave"] is None
    counts = ("skipped/timeout", "skipped/worker_died", "errors/fingerprint", "errors/extraction")
    assert [result.stat(name) for name in counts] == [1] * 4
    assert result.stat("workers_replaced") == 3
    assert result.stat("checked") == result.stat("index/size") == 8
    assert len(result.lines("WARNING", "SystemExit: now", "The crawl goes on")) == 1
    assert len(result.lines("WARNING", "LookupError: here")) == 1
    assert not result.lines("Traceback")
    assert not result.lines("ERROR")


def test_what_was_not_the_pages_fault_is_tried_again(site, tmp_path):
    """A page with the bytes of a skipped page is fingerprinted again."""
    body = page_with(f"die 2 {tmp_path}")
    paths = ("/died", "/lived", "/remembered")
    result = crawled(
        tmp_path, [{"url": site.put(path, body), "errback": True} for path in paths], OBEYING
    )
    verdicts = [event["verdict"] for event in result.events]
    assert verdicts[0] == skipped("worker_died")
    assert [verdict["kind"] for verdict in verdicts[1:]] == ["new", "near-duplicate"]
    assert result.stat("exact_duplicate") == 1
    assert result.stat("workers_replaced") == 2
