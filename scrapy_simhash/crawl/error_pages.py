"""Ask each host for URLs that cannot exist, and compare its pages with the answers
(SIMHASH_PROBE_ERRORS).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.error_answers import ErrorAnswers, impossible_url, is_home

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_simhash.crawl.fingerprinting import Fingerprinter
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.detector import PageFingerprint

PROBE_META_KEY = "simhash_probe"
ERROR_FLAG = "error-page"
MAX_HOSTS = 10_000
MAX_PROBES = 2
_COUNTED_HOSTS = 1_000
_TIMEOUT_S = 30
# How the page's own request reaches the site.
_COPIED_META = ("proxy", "cookiejar", "download_slot")
_COPIED_HEADERS = ("Accept", "Accept-Language", "Authorization", "User-Agent")


@dataclass
class _Host:
    """What is known of a host.

    :param left: number of requests for URLs that cannot exist that may still be made.
    :param waiting: pages that wait for an answer; None if none is awaited.
    """

    answers: ErrorAnswers
    left: int = MAX_PROBES
    waiting: list[Deferred[None]] | None = None


class ErrorPages:
    """Recognizes the error pages of one crawl. Off, its methods have no effect."""

    def __init__(
        self,
        crawler: Crawler,
        settings: SimhashSettings,
        fingerprinter: Fingerprinter,
        stats: CrawlStats,
        errors: ErrorLog,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._fingerprinter = fingerprinter
        self._stats = stats
        self._errors = errors
        self._random = random.SystemRandom()
        self._hosts: dict[str, _Host] = {}
        self._counted: set[str] = set()
        self._found: WeakKeyDictionary[Response, str] = WeakKeyDictionary()

    async def check(self, request: Request, response: Response, page: PageFingerprint) -> bool:
        """Compare a page with the answers of its host, and ask for these if need be.

        The pages of a host wait for its answers.

        :return: the page is an error page, which `take` tells once more.
        """
        if not self._settings.probe_errors:
            return False
        try:
            found = await self._match(request, response, page)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            self._errors.failed("error_pages", error, response.url)
            return False
        if found is not None:
            self._found[response] = found
        return found is not None

    async def _match(
        self, request: Request, response: Response, page: PageFingerprint
    ) -> str | None:
        url = response.url
        requested = (request.meta.get("redirect_urls") or [url])[0]
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            return None
        host = self._hosts.get(parts.netloc)
        if host is None:
            if len(self._hosts) >= MAX_HOSTS:
                self._stats.count("probes/too_many_hosts")
                return None
            host = self._hosts[parts.netloc] = _Host(ErrorAnswers(self._settings.max_distance))
        if host.waiting is not None:
            answered: Deferred[None] = Deferred()
            host.waiting.append(answered)
            await maybe_deferred_to_future(answered)
        elif host.left == MAX_PROBES and not is_home(requested):
            await self._ask(host, request, url, itself=page)
        found = host.answers.match(url, page, requested)
        if found is not None or not host.left or host.waiting is not None or is_home(url):
            return found
        if not host.answers.floods(url, page):
            return None
        await self._ask(host, request, url)
        return host.answers.match(url, page, requested)

    def take(self, response: Response) -> str | None:
        """Return the URL whose answer a page has, once; None if it is no error page."""
        return self._found.pop(response, None)

    def count(self, url: str, like: str) -> None:
        """Count an error page by its host, and log the first.

        :param like: the URL that cannot exist, as `take` returned it.
        """
        host = urlsplit(url).netloc
        if host in self._counted or len(self._counted) < _COUNTED_HOSTS:
            self._counted.add(host)
            self._stats.count(f"error_page/{host}")
        self._errors.warn_once(
            "error page",
            "simhash: %s is an error page with status 200: it is like the answer to %s, which "
            "does not exist. Further ones are counted as simhash/error_page "
            "(SIMHASH_ERROR_ACTION = %r)",
            printable(url),
            printable(like),
            self._settings.error_action,
        )

    async def _ask(
        self, host: _Host, request: Request, beside: str, itself: PageFingerprint | None = None
    ) -> None:
        """Ask a host for a URL that cannot exist.

        :param request: for a page of the host.
        :param beside: the page's URL.
        :param itself: the page, if it is none of those that have one text. An answer with its text
            is discarded: the site ignores this part of its URLs.
        """
        url = impossible_url(beside, self._random)
        host.waiting = []
        try:
            await self._download(host, request, url)
            if itself is not None and host.answers.discard_if_like(beside, itself):
                self._stats.count("probes/ambiguous")
        except IgnoreRequest:  # by robots.txt, or another middleware
            self._stats.count("probes/refused")
        except Exception as error:  # noqa: BLE001 - no probe may stop a page
            self._stats.count("probes/failed")
            self._errors.warn_once(
                "probes/failed",
                "simhash: no answer to %s (%s), so error pages of this host are not recognized. "
                "Further ones are counted as simhash/probes/failed.",
                printable(url),
                printable(repr(error)),
            )
        finally:
            waiting, host.waiting = host.waiting, None
            for answered in waiting:
                answered.callback(None)

    async def _download(self, host: _Host, request: Request, url: str) -> None:
        engine = self._crawler.engine
        given = request.meta
        meta = {name: given[name] for name in _COPIED_META if name in given}
        meta |= {
            PROBE_META_KEY: True,
            "dont_retry": True,
            "dont_redirect": True,
            "download_timeout": _TIMEOUT_S,
        }
        headers = {name: sent for name in _COPIED_HEADERS if (sent := request.headers.get(name))}
        asked = url
        while host.left and engine is not None:
            host.left -= 1
            self._stats.count("probes/sent")
            probe = Request(asked, NO_CALLBACK, headers=headers, meta=dict(meta), dont_filter=True)
            response = await engine.download_async(probe)
            target = response.headers.get("Location")
            if 300 <= response.status < 400 and target is not None:  # noqa: PLR2004 - redirects
                asked = urljoin(asked, target.decode("latin-1"))
                if _name_of(url) in asked:  # such as https for http, or a page for all errors
                    continue
                host.answers.add_redirect(url, asked)
            elif response.status >= 400:  # noqa: PLR2004 - errors that say so
                self._stats.count("probes/error_status")
            elif (
                isinstance(response, HtmlResponse)
                and 0 < len(response.body) <= self._settings.max_bytes
            ):
                page, _ = await self._fingerprinter.fingerprint(response)
                host.answers.add(url, page)
            return


def _name_of(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]
