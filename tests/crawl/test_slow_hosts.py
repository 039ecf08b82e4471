"""Hosts whose pages cause time-outs: further pages pass unjudged."""

import asyncio
from concurrent.futures import Future

import pytest
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl import fingerprinting
from scrapy_simhash.crawl.fingerprinting import Fingerprinter
from scrapy_simhash.crawl.slow_hosts import PAGES, SlowHosts
from scrapy_simhash.detector import PageFingerprint


def test_judged_pages_end_the_time_outs_of_a_host():
    hosts = SlowHosts()
    for _ in range(10):  # one time-out in a hundred pages
        hosts.add("large", timed_out=True)
        for _ in range(PAGES):
            assert not hosts.passes("large")
            hosts.add("large", timed_out=False)


class Pool:
    """Workers that never answer for some pages."""

    def __init__(self):
        self.got = []

    def submit(self, content):
        future = Future()
        try:
            html = content()
            self.got.append(html)
            future.set_result(PageFingerprint(skipped="timeout" if b"slow" in html else None))
        except fingerprinting._SlowHost as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("bad", [12, 300])
def test_a_crawl_waits_for_few_pages_of_a_slow_host(bad, monkeypatch):
    monkeypatch.setattr(fingerprinting, "is_asyncio_available", lambda: True)
    made = Fingerprinter.__new__(Fingerprinter)
    made._slow_hosts = SlowHosts()
    pool = Pool()

    async def crawl():
        pages = []
        for number in range(bad):
            body = f"<p>slow {number}</p>".encode()
            response = HtmlResponse(f"http://slow.example/{number}", body=body, encoding="utf-8")
            pages.append(await made._fingerprint_in_worker(pool, response))
        good = HtmlResponse("http://good.example/", body=b"<p>good</p>", encoding="utf-8")
        return pages, await made._fingerprint_in_worker(pool, good)

    pages, good = asyncio.run(crawl())
    assert good.skipped is None
    reasons = [page.skipped for page in pages]
    assert reasons[:3] == ["timeout"] * 3
    assert reasons.count("timeout") == 3 + (bad - 3) // (PAGES + 1)
    assert set(reasons) == {"timeout", "slow_host"}
