"""Measure how many error pages with status 200 SIMHASH_PROBE_ERRORS finds, on generated sites.

    python benchmarks/error_pages.py [--languages tuned|held-back|all] [--json FILE]

Each language has a host for each kind of error page. A host has 40 real pages (articles, products
of one template, pages with few words), and in random order among them 20 URLs without a page; 60
behind a consent wall. Scrapy crawls all hosts at once, but the pages of a host one after the other.
Pages are generated in the process, without a network. *Recall* is the share of the error pages that
are reported, *precision* the share of error pages among the reported pages. *Asked* is the largest
number of additional requests to a host.

Thresholds were chosen without looking at the held-back languages.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from error_pages_lib.sites import KINDS, Site
from error_pages_lib.texts import HELD_BACK, TUNED
from scrapy import Request, Spider
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

SITES: dict[str, Site] = {}
LANGUAGES = {"tuned": TUNED, "held-back": HELD_BACK, "all": TUNED | HELD_BACK}


class GeneratedHandler(BaseDownloadHandler):
    """A download handler that returns responses of the generated sites, without a network."""

    async def download_request(self, request: Request) -> Response:
        """Return the response of a site."""
        answer = SITES[urlsplit(request.url).netloc].answer(request.url)
        response = HtmlResponse(
            request.url,
            status=answer.status,
            body=answer.body.encode(),
            request=request,
            encoding="utf-8",
        )
        response.headers["X-Is-Error"] = str(int(answer.is_error))
        if answer.location:
            response.headers["Location"] = answer.location
        return response


class SitesSpider(Spider):
    """A spider that requests the URLs of each site one after the other, and records verdicts."""

    name = "sites"

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        self._waiting = {host: iter(site.urls) for host, site in SITES.items()}

    async def start(self) -> AsyncIterator[Request]:
        """Request the home page of each site."""
        for host in SITES:
            for request in self._next(host):
                yield request

    def _next(self, host: str) -> Iterator[Request]:
        url = next(self._waiting[host], None)
        if url is not None:
            # dont_filter: several URLs may be redirected to the same page.
            yield Request(url, dont_filter=True, errback=self.failed, cb_kwargs={"host": host})

    def parse(self, response: Response, host: str) -> Iterator[Request]:
        """Record the verdict on a page, and request the next page of the site."""
        is_error = response.headers["X-Is-Error"] == b"1"
        called = response.meta["simhash"]["kind"] == "error-page"
        self.found[host].append((is_error, called))
        yield from self._next(host)

    def failed(self, failure: Any) -> Iterator[Request]:
        """Request the next page of the site after a failed request, such as a status 404."""
        yield from self._next(failure.request.cb_kwargs["host"])


def crawl() -> dict[str, list[tuple[bool, bool]]]:
    """Return, for each host, (is an error page, was reported as one) of each page."""
    with tempfile.TemporaryDirectory(prefix="error-pages-") as directory:
        process = AsyncCrawlerProcess(
            {
                "ADDONS": {"scrapy_simhash.Addon": 500},
                "SIMHASH_ENABLED": True,
                "SIMHASH_ACTION": "tag",
                "SIMHASH_PROBE_ERRORS": True,
                "SIMHASH_DIR": directory,
                "DOWNLOAD_HANDLERS": {"http": GeneratedHandler},
                "CONCURRENT_REQUESTS": 16,
                "DOWNLOAD_DELAY": 0,
                "TELNETCONSOLE_ENABLED": False,
                "LOG_LEVEL": "WARNING",
            }
        )
        crawler = process.create_crawler(SitesSpider)
        process.crawl(crawler)
        process.start()
        return dict(crawler.spider.found)


def figures(pages: list[tuple[bool, bool]]) -> tuple[int, int, int]:
    """Return how many pages are error pages, how many were reported, and how many are both."""
    errors, called = sum(one for one, _ in pages), sum(one for _, one in pages)
    return errors, called, sum(one and other for one, other in pages)


def line(name: str, pages: list[tuple[bool, bool]], asked: int) -> str:
    """Return a row of the table."""
    errors, called, both = figures(pages)
    recall = f"{both / errors:.3f}" if errors else "–"
    precision = f"{both / called:.3f}" if called else "–"
    return f"| {name} | {len(pages)} | {errors} | {recall} | {precision} | {asked} |"


def main() -> None:
    """Crawl the sites, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--languages", choices=LANGUAGES, default="all")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    for name, language in LANGUAGES[arguments.languages].items():
        for number, kind in enumerate(KINDS):
            host = f"{name}{number}.example"
            SITES[host] = Site(host, kind, language)
    found = crawl()
    asked = {
        host: len(set(site.asked) - set(site.urls) - {f"http://{host}/sorry"})
        for host, site in SITES.items()
    }
    print("| kind | pages | errors | recall | precision | asked |\n|---|---|---|---|---|---|")
    for kind in KINDS:
        hosts = [host for host, site in SITES.items() if site.kind == kind]
        print(
            line(
                kind,
                [page for host in hosts for page in found[host]],
                max(asked[host] for host in hosts),
            )
        )
    for title, languages in (("tuned languages", TUNED), ("languages held back", HELD_BACK)):
        hosts = [host for host, site in SITES.items() if site.language in languages.values()]
        if hosts:
            print(
                line(
                    title,
                    [page for host in hosts for page in found[host]],
                    max(asked[host] for host in hosts),
                )
            )
    if arguments.json:
        plain = {host: [SITES[host].kind, *figures(found[host]), asked[host]] for host in SITES}
        arguments.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
