"""Recognize error pages: ask each host for URLs that cannot exist, and compare its pages with the
answers (SIMHASH_ERROR_PAGES). A request for such a URL is a *probe*.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simhash import signals
from scrapy_simhash.crawl.extension import Component
from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.extras.error_pages.answers import ErrorAnswers, impossible_url, is_home
from scrapy_simhash.policy import DROP, PASS
from scrapy_simhash.verdict import Verdict

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simhash.crawl.extension import SimhashExtension
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.policy import Action, PolicyAction

MAX_HOSTS = 10_000
# Upper limit for each host. A redirect that is followed counts as another probe.
MAX_PROBES = 2
_MAX_COUNTED_HOSTS = 1_000
_TIMEOUT_S = 30
# Copied from the page's request, because the site may answer differently without them.
_COPIED_META = ("proxy", "cookiejar", "download_slot")
_COPIED_HEADERS = ("Accept", "Accept-Language", "Authorization", "User-Agent")


@dataclass
class _Host:
    """A host, with the answers to its probes.

    :param probes_left: number of probes that may still be made.
    :param waiting: pages that wait for the end of a probe; None if no probe is under way.
    """

    answers: ErrorAnswers
    probes_left: int = MAX_PROBES
    waiting: list[Deferred[None]] | None = None


class ErrorPages(Component):
    """The error pages of one crawl: a downloader middleware that only answers signals."""

    def __init__(self, crawl: SimhashExtension) -> None:
        self._action: PolicyAction = crawl.settings("SIMHASH_ERROR_PAGES")
        self._crawler = crawl.crawler
        self._stats = crawl.stats
        self._errors = crawl.errors
        self._fingerprint = crawl.fingerprinter.fingerprint
        self._max_distance = crawl.settings.preset.max_distance
        self._max_bytes = crawl.settings("SIMHASH_MAX_BYTES")
        self._random = random.SystemRandom()
        self._hosts: LocalCache[str, _Host] = LocalCache(MAX_HOSTS)
        self._counted_hosts: set[str] = set()
        connect = self._crawler.signals.connect
        connect(self.page_fingerprinted, signal=signals.page_fingerprinted)
        connect(self.page_judged, signal=signals.page_judged)

    async def page_fingerprinted(
        self, request: Request, response: Response, page: PageFingerprint
    ) -> tuple[Verdict, Action] | None:
        """Return the verdict on an error page: a page like an answer of its host to a probe. Return
        None for any other page, and if the comparison fails, which is counted.

        The first page of a host that is not its home page causes a probe. So does a text that the
        host returns under five paths. Pages that arrive during a probe wait until it has ended.
        """
        try:
            probed_url = await self._match(request, response, page)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            self._errors.count_error("error_pages", error, response.url)
            return None
        if probed_url is None:
            return None
        verdict = Verdict(kind="error-page", key=response.url, bits=64, reason=probed_url)
        return verdict, DROP if self._action == "drop" else PASS

    def page_judged(self, page: PageState, response: Response) -> None:
        """Count an error page for its host, up to 1,000 hosts, and log the first error page."""
        if page.verdict is None or page.verdict.kind != "error-page":
            return
        host = urlsplit(response.url).netloc
        if host in self._counted_hosts or len(self._counted_hosts) < _MAX_COUNTED_HOSTS:
            self._counted_hosts.add(host)
            self._stats.count(f"error_page/{host}")
        self._errors.warn_once(
            "error page",
            "simhash: %s is an error page with status 200: it is like the answer to %s, a URL that "
            "cannot exist. Further error pages are counted as simhash/error_page "
            "(SIMHASH_ERROR_PAGES = %r)",
            loggable(response.url),
            loggable(page.verdict.reason or ""),
            self._action,
        )

    async def _match(
        self, request: Request, response: Response, page: PageFingerprint
    ) -> str | None:
        """Return the URL of the probe whose answer a page is like, or None."""
        url = response.url
        requested = (request.meta.get("redirect_urls") or [url])[0]
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            return None
        host = self._hosts.get(parts.netloc)
        if host is None:
            host = self._hosts[parts.netloc] = _Host(ErrorAnswers(self._max_distance))
        if host.waiting is not None:
            answered: Deferred[None] = Deferred()
            host.waiting.append(answered)
            await maybe_deferred_to_future(answered)
        elif host.probes_left == MAX_PROBES and not is_home(requested):
            await self._probe(host, request, url, page)
        matched = host.answers.match(url, page, requested)
        if matched is not None or not host.probes_left or host.waiting is not None or is_home(url):
            return matched
        if not host.answers.floods(url, page):
            return None
        await self._probe(host, request, url)
        return host.answers.match(url, page, requested)

    async def _probe(
        self, host: _Host, request: Request, page_url: str, page: PageFingerprint | None = None
    ) -> None:
        """Ask a host for a URL that cannot exist, made from that of a page.

        :param request: the request for the page.
        :param page: discard an answer that is like this page, because the site may ignore the part
            of the URL that differs. None if the page is one of many equal ones, which may be
            error pages.
        """
        url = impossible_url(page_url, self._random)
        host.waiting = []
        try:
            await self._download(host, request, url)
            if page is not None and host.answers.discard_if_like(page_url, page):
                self._stats.count("probes/ambiguous")
        except IgnoreRequest:  # raised for robots.txt, or by another middleware
            self._stats.count("probes/refused")
        except Exception as error:  # noqa: BLE001 - no probe may stop a page
            self._stats.count("probes/failed")
            self._errors.warn_once(
                "probes/failed",
                "simhash: probing %s failed (%s): error pages of this host may not be recognized. "
                "Further failures are counted as simhash/probes/failed.",
                loggable(url),
                loggable(repr(error)),
            )
        finally:
            waiting, host.waiting = host.waiting, None
            for answered in waiting:
                answered.callback(None)

    async def _download(self, host: _Host, request: Request, url: str) -> None:
        """Send a probe. Add its answer to those of the host: a redirect, or an HTML page without an
        error status. A redirect to the same last path segment is followed.
        """
        engine = self._crawler.engine
        known = request.meta
        meta = {name: known[name] for name in _COPIED_META if name in known}
        meta |= {"dont_simhash": True, "dont_retry": True, "dont_redirect": True}
        meta |= {"download_timeout": _TIMEOUT_S}
        headers = {name: sent for name in _COPIED_HEADERS if (sent := request.headers.get(name))}
        next_url, last_segment = url, urlsplit(url).path.rpartition("/")[2]
        while host.probes_left and engine is not None:
            host.probes_left -= 1
            self._stats.count("probes/sent")
            probe = Request(
                next_url, NO_CALLBACK, headers=headers, meta=dict(meta), dont_filter=True
            )
            response = await engine.download_async(probe)
            target = response.headers.get("Location")
            if 300 <= response.status < 400 and target is not None:  # noqa: PLR2004 - redirects
                next_url = urljoin(next_url, target.decode("latin-1"))
                if last_segment in next_url:  # the same page, such as https for http
                    continue
                host.answers.add_redirect(url, next_url)
            elif response.status >= 400:  # noqa: PLR2004 - client and server errors
                self._stats.count("probes/error_status")
            elif isinstance(response, HtmlResponse) and 0 < len(response.body) <= self._max_bytes:
                page, _ = await self._fingerprint(response)
                host.answers.add(url, page)
            return
