"""Fingerprint pages and items off the event loop: in worker processes, or in a thread.

The last fingerprints are cached by a checksum of the page's bytes.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import xxhash
from scrapy.http import TextResponse
from scrapy.utils.asyncio import is_asyncio_available, run_in_thread
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from w3lib.encoding import read_bom

from scrapy_simhash.workers.pages import PageWorkers

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy_simhash.detector import Detector, PageFingerprint

MEMO_PAGES = 10_000
# Checksums take time in the event loop, and larger pages are rare.
MEMO_BODY_BYTES = 1 << 20
# The canonical URL and error of a cached fingerprint: they may be as long as their page.
MEMO_TEXT_CHARACTERS = 4096
# Reasons that depend on the worker, not on the page.
_NOT_CACHED = ("timeout", "worker_died")

Checksum = tuple[bytes, int, int, int]
_Result = TypeVar("_Result")


class BodyMemo:
    """A cache of fingerprints by checksum of the body. It evicts the least recently used."""

    def __init__(self) -> None:
        self._pages: LocalCache[Checksum, PageFingerprint] = LocalCache(MEMO_PAGES)
        self._seed = secrets.randbits(64)

    def checksum(self, response: TextResponse) -> Checksum | None:
        """Return the checksum of body and content type; None for a body that is too large."""
        body = response.body
        if len(body) > MEMO_BODY_BYTES:
            return None
        # Python's hash has a secret key, so nobody can forge a collision. XXH3 has enough bits to
        # exclude accidental ones. Together they take a quarter of the time of BLAKE2b.
        content_type = response.headers.get("Content-Type") or b""
        return content_type, len(body), hash(body), xxhash.xxh3_128_intdigest(body, self._seed)

    def get(self, checksum: Checksum | None) -> PageFingerprint | None:
        """Return the fingerprint of a body, with times of 0; None if it is not cached."""
        page = None if checksum is None else self._pages.get(checksum)
        if page is None or checksum is None:
            return None
        self._pages.move_to_end(checksum)
        return replace(page, extraction_ms=0.0, tokenization_ms=0.0, fingerprint_ms=0.0)

    def put(self, checksum: Checksum | None, page: PageFingerprint) -> None:
        """Cache a fingerprint."""
        if checksum is None or page.skipped in _NOT_CACHED:
            return
        if len(page.canonical) + len(page.error or "") > MEMO_TEXT_CHARACTERS:
            return
        self._pages[checksum] = page


class Fingerprinter:
    """A service that fingerprints the pages and items of one crawl.

    :param item_detector: its scheme is that of pages, with field weights.
    :param workers: number of worker processes; 0 for threads, without a time-out.
    """

    def __init__(
        self, detector: Detector, item_detector: Detector, *, workers: int, timeout_ms: int
    ) -> None:
        self._detector = detector
        self._item_detector = item_detector
        self._workers = workers
        self._timeout_ms = timeout_ms
        self._memo = BodyMemo()
        self.pool: PageWorkers | None = None

    def start(self) -> None:
        """Start the workers, and do not wait until they are ready."""
        if self._workers:
            self.pool = PageWorkers(
                self._item_detector.scheme,  # for pages, too: they ignore field weights
                min_tokens=self._detector.min_tokens,
                workers=self._workers,
                timeout_ms=self._timeout_ms,
                keep_text=self._detector.keep_text,
                sketches=self._detector.sketches,
            )

    async def fingerprint(self, response: TextResponse) -> tuple[PageFingerprint, bool]:
        """Return the fingerprint of a page, and True if it was cached.

        :raises Exception: a worker failed, the body cannot be decoded, or an extractor exits.
        """
        # A fingerprint with the whole text is too large for the cache.
        checksum = None if self._detector.keep_text else self._memo.checksum(response)
        cached = self._memo.get(checksum)
        if cached is not None:
            return cached, True
        if self.pool is None:
            page = await run_in_thread(self._fingerprint, response)
        else:
            # Called in a thread: detecting an undeclared encoding would block the event loop.
            page = await result_of(self.pool.submit(partial(page_for_worker, response)))
        self._memo.put(checksum, page)
        return page, False

    async def fingerprint_fields(self, fields: dict[str, list[str]]) -> PageFingerprint:
        """Return the fingerprint of an item, see `Detector.fingerprint_fields`.

        :raises Exception: a worker failed.
        """
        if self.pool is None:
            return await run_in_thread(self._item_detector.fingerprint_fields, fields)
        return await result_of(self.pool.submit(lambda: fields))

    def close(self) -> None:
        """Kill the workers."""
        if self.pool is not None:
            self.pool.close()

    def _fingerprint(self, response: TextResponse) -> PageFingerprint:
        try:
            return self._detector.fingerprint_page(response.text)
        except SystemExit as error:
            # A user's extractor raised it. It would end the thread without a message.
            raise RuntimeError(f"SystemExit({error}) in extraction") from error


def page_for_worker(response: TextResponse) -> str | bytes:
    """Return the body of a page if a worker decodes it as Scrapy does (UTF-8 without a byte order
    mark); otherwise the text, which must be encoded again.
    """
    is_plain = type(response).text is TextResponse.text and read_bom(response.body)[0] is None
    return response.body if is_plain and response.encoding == "utf-8" else response.text


async def result_of(future: Future[_Result]) -> _Result:
    """Return the result of a future of another thread, with or without asyncio."""
    if is_asyncio_available():
        return await asyncio.wrap_future(future)
    from twisted.internet import reactor

    done: Deferred[None] = Deferred()
    future.add_done_callback(lambda _: reactor.callFromThread(done.callback, None))
    await maybe_deferred_to_future(done)
    return future.result()
