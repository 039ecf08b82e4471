"""Fingerprinting pages and items off the event loop: in worker processes, or in a thread.

A page whose bytes were seen before is not looked at again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import xxhash
from scrapy.http import TextResponse
from scrapy.utils.asyncio import is_asyncio_available, run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from w3lib.encoding import read_bom

from scrapy_simhash.workers.pool import WorkerPool

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy_simhash.detector import Detector, PageFingerprint

MEMO_PAGES = 10_000
# Checksums are taken in the event loop, and larger pages are few.
MEMO_BODY_BYTES = 1 << 20
# A canonical URL or an error may be as long as its page.
MEMO_TEXT_CHARACTERS = 4096
_NOT_OF_THE_PAGE = ("timeout", "worker_died")

Checksum = tuple[bytes, int, int, int]
_Result = TypeVar("_Result")


class BodyMemo:
    """Fingerprints of the last bodies, by checksum."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Checksum, PageFingerprint] = OrderedDict()
        self._seed = secrets.randbits(64)

    def checksum(self, response: TextResponse) -> Checksum | None:
        """Of the bytes, and what the headers say of them; None for a body that is too large."""
        body = response.body
        if len(body) > MEMO_BODY_BYTES:
            return None
        # Python's own hash (SipHash) has a secret key, so that no page can be made to look like
        # another; the other, with a seed of ours, has the bits that chance needs. Together they
        # take a quarter of the time of BLAKE2b.
        content_type = response.headers.get("Content-Type") or b""
        return content_type, len(body), hash(body), xxhash.xxh3_128_intdigest(body, self._seed)

    def get(self, checksum: Checksum | None) -> PageFingerprint | None:
        """The fingerprint of a body that was seen, without the times that it took."""
        page = None if checksum is None else self._pages.get(checksum)
        if page is None or checksum is None:
            return None
        self._pages.move_to_end(checksum)
        return replace(page, extraction_ms=0.0, tokenization_ms=0.0, fingerprint_ms=0.0)

    def put(self, checksum: Checksum | None, page: PageFingerprint) -> None:
        """Remember a page, and forget the one that was not met for the longest time."""
        if checksum is None or page.skipped in _NOT_OF_THE_PAGE:
            return
        if len(page.canonical) + len(page.error or "") > MEMO_TEXT_CHARACTERS:
            return
        self._pages[checksum] = page
        if len(self._pages) > MEMO_PAGES:
            self._pages.popitem(last=False)


class Fingerprinter:
    """Fingerprints the pages of one crawl.

    :param item_detector: of items; its scheme differs from that of pages by field weights alone.
    :param workers: number of processes; 0 for a thread, in which there is no time-out.
    """

    def __init__(
        self, detector: Detector, item_detector: Detector, *, workers: int, timeout_ms: int
    ) -> None:
        self._detector = detector
        self._item_detector = item_detector
        self._workers = workers
        self._timeout_ms = timeout_ms
        self._memo = BodyMemo()
        self.pool: WorkerPool | None = None

    def start(self) -> None:
        """Start the workers; returns before they are ready."""
        if self._workers:
            self.pool = WorkerPool(
                self._item_detector.scheme,  # pages take no field weights
                min_tokens=self._detector.min_tokens,
                workers=self._workers,
                timeout_ms=self._timeout_ms,
                keep_text=self._detector.keep_text,
                sketches=self._detector.sketches,
            )

    async def fingerprint(self, response: TextResponse) -> tuple[PageFingerprint, bool]:
        """The fingerprint of a page, and whether its bytes were seen before.

        :raises Exception: what an extractor of somebody raised, or the workers.
        """
        # Texts of pages are too large to be remembered.
        checksum = None if self._detector.keep_text else self._memo.checksum(response)
        known = self._memo.get(checksum)
        if known is not None:
            return known, True
        if self.pool is None:
            page = await run_in_thread(self._fingerprint, response)
        else:
            # Finding out an undeclared encoding takes long: not in the event loop.
            page = await result_of(self.pool.fingerprint_page(partial(page_for_worker, response)))
        self._memo.put(checksum, page)
        return page, False

    async def fingerprint_fields(self, fields: dict[str, list[str]]) -> PageFingerprint:
        """The fingerprint of an item, see `Detector.fingerprint_fields`.

        :raises Exception: as `fingerprint` does.
        """
        if self.pool is None:
            return await run_in_thread(self._item_detector.fingerprint_fields, fields)
        return await result_of(self.pool.fingerprint_page(lambda: fields))

    def close(self) -> None:
        """End the workers."""
        if self.pool is not None:
            self.pool.close()

    def _fingerprint(self, response: TextResponse) -> PageFingerprint:
        try:
            return self._detector.fingerprint_page(response.text)
        except SystemExit as error:
            # Of somebody's extractor. It would end the thread, and nobody would hear of it.
            raise RuntimeError(f"SystemExit({error}) in extraction") from error


def page_for_worker(response: TextResponse) -> str | bytes:
    """Return the bytes of a page in UTF-8, which a worker decodes as Scrapy does; else its text,
    which this process has to encode again.
    """
    plain = type(response).text is TextResponse.text and read_bom(response.body)[0] is None
    return response.body if plain and response.encoding == "utf-8" else response.text


async def result_of(future: Future[_Result]) -> _Result:
    """Wait for a future of another thread, whatever the event loop."""
    if is_asyncio_available():
        return await asyncio.wrap_future(future)
    from twisted.internet import reactor

    done: Deferred[None] = Deferred()
    future.add_done_callback(lambda _: reactor.callFromThread(done.callback, None))
    await maybe_deferred_to_future(done)
    return future.result()
