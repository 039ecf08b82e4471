"""Fingerprint pages and items in worker processes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash.detector import Detector, PageFingerprint
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.workers.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_TIMEOUT_MS = 10_000
Texts = dict[str, list[str]]
Content = str | bytes | tuple[Texts, Texts, Texts]
"""A page as text or as bytes in UTF-8 without a byte order mark, or an item as the arguments of
`Detector.fingerprint_fields`."""
# Also reads the tables of characters and of public suffixes.
_WARM_UP = (
    "<html><head><link rel=canonical href=https://www.example.com/></head><body>"
    + "<p>The ferry to the islands, a catámarán, leaves at noon.</p>" * 9
    + "</body></html>"
)
# The first text with Han characters loads jieba's dictionary, which takes a second or two. With a
# shorter time limit, all workers load it when they start.
_MIN_DICTIONARY_MS = 5000
_HAN = "山坡上的茶园天还没亮就热闹起来。"


def page_workers(detector: Detector, workers: int | None, timeout_ms: int) -> WorkerPool:
    """Start a pool of workers that fingerprint pages and items.

    A page or item whose worker does not answer is skipped: ``timeout``, ``memory`` or
    ``worker_died``.

    :param workers: number of processes, at least 1; None for as many as pages need.
    :param timeout_ms: wall-clock limit for one page or item.
    """
    return WorkerPool(
        serve_pages,
        (detector, timeout_ms),
        workers,
        result_classes=(PageFingerprint, Evidence),
        timeout_ms=timeout_ms,
        lost_result=lambda reason: PageFingerprint(skipped=reason),
        without_workers="set SIMHASH_WORKERS = 0 to use no workers",
    )


def warm_up(detector: Detector, timeout_ms: int) -> None:
    """Import and load at once what pages need, which their time limit may not suffice for."""
    # min_tokens=1: all steps run, however short the text is.
    replace(detector, min_tokens=1).fingerprint_page(_WARM_UP)
    if timeout_ms < _MIN_DICTIONARY_MS:
        detector.fingerprint_text(_HAN)


def serve_pages(spec: tuple[Detector, int]) -> Callable[[Content], PageFingerprint]:
    """Return a function that fingerprints a page or an item. Runs in a worker.

    :param spec: the detector, and the time limit in milliseconds.
    """
    detector, timeout_ms = spec
    warm_up(detector, timeout_ms)

    def fingerprint(content: Content) -> PageFingerprint:
        if isinstance(content, tuple):
            return detector.fingerprint_fields(*content)
        return detector.fingerprint_page(text_of_page(content))

    return fingerprint


def text_of_page(content: str | bytes) -> str:
    """Return the text of a page. Invalid UTF-8 is replaced."""
    return content if isinstance(content, str) else content.decode("utf-8", "replace")
