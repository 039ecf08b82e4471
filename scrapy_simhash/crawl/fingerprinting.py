"""Fingerprint pages and items off the event loop: in worker processes, or in a thread.

Fingerprints of pages are cached, so that a page with the same bytes and content type is not
fingerprinted again. Bodies over 1 MiB are not cached, nor is any page if the detector keeps texts.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import xxhash
from scrapy.http import TextResponse
from scrapy.utils.asyncio import (
    call_later,
    create_looping_call,
    is_asyncio_available,
    run_in_thread,
)
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from w3lib.encoding import read_bom

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.detector import Detector, PageFingerprint
from scrapy_simhash.sites import hostname_of
from scrapy_simhash.workers.pages import Texts, page_workers
from scrapy_simhash.workers.pool import STEP_INTERVAL_S

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.workers.pool import WorkerPool

CACHED_PAGES = 10_000
# The event loop computes the checksums, and larger pages are rare.
MAX_CACHED_BODY_BYTES = 1 << 20
# For canonical URL and error message together: each may be as long as the page.
MAX_CACHED_TEXT_CHARACTERS = 4096
MAX_TIMEOUTS = 3
PAGES = 100
"""How many pages of a slow host pass, and how many judged ones end its time-outs."""
# Without asyncio, nobody tells that a worker has answered.
_POLLING_INTERVAL_S = 0.005
# Reasons that depend on the worker, not on the page.
NOT_CACHED = ("timeout", "memory", "worker_died", "slow_host")

Checksum = tuple[bytes, int, int]
_Result = TypeVar("_Result")


class _SlowHost(Exception):
    """Pages of this host pass unjudged now."""


class SlowHosts:
    """The hosts of a crawl with recent time-outs.

    Each time-out keeps a worker for SIMHASH_TIMEOUT_MS, and other pages wait. After the third
    time-out of a host, its next 100 pages pass unjudged, and after each further one 100 more. 100
    judged pages without a time-out end this.
    """

    def __init__(self) -> None:
        self._timeouts: Counter[str] = Counter()
        # Host → number of pages until its time-outs are forgotten. The last 100 are judged.
        self._pages: Counter[str] = Counter()

    def passes(self, host: str) -> bool:
        """Return True if the next page of a host is to pass unjudged, and count that page."""
        is_passing = self._pages[host] > PAGES
        if is_passing:
            self._pages[host] -= 1
        return is_passing

    def add(self, host: str, *, timed_out: bool) -> None:
        """Count a page of a host that a worker got."""
        if timed_out:
            self._timeouts[host] += 1
            self._pages[host] = PAGES * (1 + (self._timeouts[host] >= MAX_TIMEOUTS))
        elif 0 < self._pages[host] <= PAGES:
            self._pages[host] -= 1
            if not self._pages[host]:
                del self._timeouts[host], self._pages[host]


class Fingerprinter:
    """A service that fingerprints the pages and items of one crawl, in SIMHASH_WORKERS processes,
    or in threads if that is 0. In threads there is no time limit.
    """

    def __init__(self, settings: SimhashSettings) -> None:
        with_sketches = settings.preset.confirmation != UNCONFIRMED
        self.detector = Detector(
            settings.preset.scheme,
            min_tokens=settings("SIMHASH_MIN_TOKENS"),
            keep_text=bool(settings("SIMHASH_KEEP_TEXT")) or settings.needs_page_texts,
            sketches=with_sketches,
            distinct=settings.distinct_selectors,
        )
        self.item_detector = Detector(
            settings.item_scheme, min_tokens=settings("SIMHASH_MIN_TOKENS"), sketches=with_sketches
        )
        self._settings = settings
        self._cache: LocalCache[Checksum, PageFingerprint] = LocalCache(CACHED_PAGES)
        self._seed = secrets.randbits(64)
        self._slow_hosts = SlowHosts()
        self.pool: WorkerPool | None = None
        self._detach = ExitStack()

    def start(self) -> None:
        """Start the workers, if there are any, without waiting until they are ready."""
        if self._settings("SIMHASH_WORKERS") != 0:
            # For pages and items: it has field weights, which have no effect on pages.
            detector = replace(self.detector, scheme=self.item_detector.scheme)
            self.pool = page_workers(
                detector, self._settings("SIMHASH_WORKERS"), self._settings("SIMHASH_TIMEOUT_MS")
            )

    def attach(self) -> None:
        """Let the event loop, which must run, read what the workers answer."""
        if self.pool is None:
            return
        steps, interval_s = create_looping_call(self.pool.step), _POLLING_INTERVAL_S
        if is_asyncio_available():
            loop, interval_s = asyncio.get_running_loop(), STEP_INTERVAL_S
            loop.add_reader(self.pool.fileno(), self.pool.step)
            self._detach.callback(loop.remove_reader, self.pool.fileno())
        steps.start(interval_s, now=False)
        self._detach.callback(lambda: steps.running and steps.stop())

    async def fingerprint(self, response: TextResponse) -> tuple[PageFingerprint, bool]:
        """Return the fingerprint of a page, and True if it was cached.

        :raises WorkerError: no worker can be started, a worker failed, or `close` was called.
        :raises Exception: the body cannot be decoded; without workers, also if an extractor raises
            SystemExit.
        """
        checksum = self._checksum(response)
        if checksum is not None and (cached := self._cache.get(checksum)) is not None:
            self._cache.move_to_end(checksum)
            return replace(cached, extraction_ms=0.0, tokenization_ms=0.0, fingerprint_ms=0.0), True
        if self.pool is None:
            page = await run_in_thread(self._fingerprint, response)
        else:
            page = await self._fingerprint_in_worker(self.pool, response)
        is_short = len(page.canonical) + len(page.error or "") <= MAX_CACHED_TEXT_CHARACTERS
        if checksum is not None and is_short and page.skipped not in NOT_CACHED:
            self._cache[checksum] = page
        return page, False

    def _checksum(self, response: TextResponse) -> Checksum | None:
        """Return the checksum of body and content type; None if the page is too large to cache, or
        its fingerprint, because it has the whole text.
        """
        body = response.body
        if self.detector.keep_text or len(body) > MAX_CACHED_BODY_BYTES:
            return None
        # The seed is secret, so that nobody can make a page whose checksum is that of another.
        content_type = response.headers.get("Content-Type") or b""
        return content_type, len(body), xxhash.xxh3_128_intdigest(body, self._seed)

    async def _fingerprint_in_worker(
        self, pool: WorkerPool, response: TextResponse
    ) -> PageFingerprint:
        host = hostname_of(response.url)
        if response._declared_encoding() is None:  # noqa: SLF001 - to guess it takes long
            await run_in_thread(getattr, response, "encoding")

        def content() -> str | bytes:
            if self._slow_hosts.passes(host):  # perhaps since the page waits
                raise _SlowHost
            return page_for_worker(response)

        try:
            page: PageFingerprint = await result_of(pool.submit(content))
        except _SlowHost:
            return PageFingerprint(skipped="slow_host")
        self._slow_hosts.add(host, timed_out=page.skipped in ("timeout", "memory"))
        return page

    async def fingerprint_fields(
        self, fields: Texts, beside: Texts, distinct: Texts
    ) -> PageFingerprint:
        """Return the fingerprint of an item. :raises WorkerError: see `fingerprint`."""
        content = (fields, beside, distinct)
        if self.pool is None:
            return await run_in_thread(self.item_detector.fingerprint_fields, *content)
        page: PageFingerprint = await result_of(self.pool.submit(lambda: content))
        return page

    def close(self) -> None:
        """Kill the workers. Jobs that are not done raise WorkerError."""
        self._detach.close()
        if self.pool is not None:
            self.pool.close()

    def _fingerprint(self, response: TextResponse) -> PageFingerprint:
        try:
            return self.detector.fingerprint_page(response.text)
        except SystemExit as error:
            # A user's extractor raised it. At the await, `except Exception` would not catch it.
            raise RuntimeError(f"SystemExit({error}) in extraction") from error


def page_for_worker(response: TextResponse) -> str | bytes:
    """Return the body if it is UTF-8 that a worker can decode as Scrapy would, else the text."""
    is_plain = (
        type(response).text is TextResponse.text  # not that of a subclass
        and read_bom(response.body)[0] is None
        and response.encoding == "utf-8"
    )
    return response.body if is_plain else response.text


async def result_of(future: Future[_Result]) -> _Result:
    """Return the result of a future that is completed in the event loop, or raise its error."""
    if is_asyncio_available():
        done = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda _: None if done.done() else done.set_result(None))
        await done
    else:
        answered: Deferred[None] = Deferred()
        # A deferred does not wait for the event loop.
        future.add_done_callback(lambda _: call_later(0, answered.callback, None))
        await maybe_deferred_to_future(answered)
    return future.result()
