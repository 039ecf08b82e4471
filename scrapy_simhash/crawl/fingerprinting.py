"""Fingerprint pages and items off the event loop: in worker processes, or in a thread.

The fingerprints of the last pages are cached by the bytes of the page.
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
# A canonical URL or an error may be as long as its page.
MEMO_TEXT_CHARACTERS = 4096
# These depend on the worker, not on the page.
_NOT_CACHED = ("timeout", "worker_died")

Checksum = tuple[bytes, int, int, int]
_Result = TypeVar("_Result")


class BodyMemo:
    """A cache of fingerprints by checksum of the body. The least recently used go first."""

    def __init__(self) -> None:
        self._pages: LocalCache[Checksum, PageFingerprint] = LocalCache(MEMO_PAGES)
        self._seed = secrets.randbits(64)

    def checksum(self, response: TextResponse) -> Checksum | None:
        """Return the checksum of body and content type; None for a body that is too large."""
        body = response.body
        if len(body) > MEMO_BODY_BYTES:
            return None
        # Python's hash has a secret key, so that nobody can make one page look like another. XXH3,
        # with a random seed, has enough bits against chance. Both take a quarter of BLAKE2b's time.
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
    """Fingerprints the pages of one crawl.

    :param item_detector: differs from that of pages by the field weights of its scheme alone.
    :param workers: number of processes; 0 for a thread, which has no time-out.
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
        """Start the workers; return before they are ready."""
        if self._workers:
            self.pool = PageWorkers(
                self._item_detector.scheme,  # pages take no field weights
                min_tokens=self._detector.min_tokens,
                workers=self._workers,
                timeout_ms=self._timeout_ms,
                keep_text=self._detector.keep_text,
                sketches=self._detector.sketches,
            )

    async def fingerprint(self, response: TextResponse) -> tuple[PageFingerprint, bool]:
        """Return the fingerprint of a page, and True if it was cached.

        :raises Exception: from the workers, or from a user's extractor.
        """
        # Texts of pages are too large for the cache.
        checksum = None if self._detector.keep_text else self._memo.checksum(response)
        known = self._memo.get(checksum)
        if known is not None:
            return known, True
        if self.pool is None:
            page = await run_in_thread(self._fingerprint, response)
        else:
            # Detecting an undeclared encoding would block the event loop.
            page = await result_of(self.pool.submit(partial(page_for_worker, response)))
        self._memo.put(checksum, page)
        return page, False

    async def fingerprint_fields(self, fields: dict[str, list[str]]) -> PageFingerprint:
        """Return the fingerprint of an item, see `Detector.fingerprint_fields`.

        :raises Exception: as `fingerprint` does.
        """
        if self.pool is None:
            return await run_in_thread(self._item_detector.fingerprint_fields, fields)
        return await result_of(self.pool.submit(lambda: fields))

    def close(self) -> None:
        """End the workers."""
        if self.pool is not None:
            self.pool.close()

    def _fingerprint(self, response: TextResponse) -> PageFingerprint:
        try:
            return self._detector.fingerprint_page(response.text)
        except SystemExit as error:
            # From a user's extractor. It would end the thread without a message.
            raise RuntimeError(f"SystemExit({error}) in extraction") from error


def page_for_worker(response: TextResponse) -> str | bytes:
    """Return the bytes of a page in UTF-8, which a worker decodes as Scrapy does; otherwise the
    text, which this process has to encode again.
    """
    plain = type(response).text is TextResponse.text and read_bom(response.body)[0] is None
    return response.body if plain and response.encoding == "utf-8" else response.text


async def result_of(future: Future[_Result]) -> _Result:
    """Wait for a future of another thread, with or without asyncio."""
    if is_asyncio_available():
        return await asyncio.wrap_future(future)
    from twisted.internet import reactor

    done: Deferred[None] = Deferred()
    future.add_done_callback(lambda _: reactor.callFromThread(done.callback, None))
    await maybe_deferred_to_future(done)
    return future.result()
