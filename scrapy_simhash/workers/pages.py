"""Fingerprint pages and items in worker processes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.detector import Detector, PageFingerprint
from scrapy_simhash.evidence import evidence_from, plain_evidence
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.workers.pool import WorkerPool
from scrapy_simhash.workers.process import Work

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_TIMEOUT_MS = 10_000
Texts = dict[str, list[str]]
Content = str | bytes | tuple[Texts, Texts, Texts]
"""A page as text or as bytes in UTF-8 without a byte order mark, or an item as the arguments of
`Detector.fingerprint_fields`."""
# The first byte of a message: for a page that was text, a page that was bytes, or an item.
_TEXT, _BODY, _FIELDS = b"T", b"B", b"F"
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


PageWorkers = WorkerPool[Content, PageFingerprint]


def page_workers(detector: Detector, workers: int | None, timeout_ms: int) -> PageWorkers:
    """Start a pool of workers that fingerprint pages and items.

    A page or item whose worker does not answer is skipped: ``timeout``, ``memory`` or
    ``worker_died``.

    :param workers: number of processes, at least 1; None for as many as pages need.
    :param timeout_ms: wall-clock limit for one page or item.
    """
    work = Work(
        server="scrapy_simhash.workers.pages:serve_pages",
        job_spec={
            "detector": asdict(detector),
            "loads_dictionary": timeout_ms < _MIN_DICTIONARY_MS,
        },
        timeout_ms=timeout_ms,
        encode=encode_page,
        decode=_page_from,
        lost_result=lambda reason: PageFingerprint(skipped=reason),
        without_workers="set SIMHASH_WORKERS = 0 to use no workers",
    )
    return WorkerPool(work, workers)


def serve_pages(job_spec: dict[str, Any]) -> Callable[[bytes], bytes]:
    """Return a function that answers the message of a page or an item. Runs in a worker."""
    spec = job_spec["detector"]
    detector = Detector(**spec | {"scheme": Scheme.from_dict(spec["scheme"])})
    # Import all modules now. min_tokens=1: all steps run, however short the text is.
    Detector(detector.scheme, min_tokens=1).fingerprint_page(_WARM_UP)
    if job_spec["loads_dictionary"]:
        detector.fingerprint_text(_HAN)

    def answer(message: bytes) -> bytes:
        if message[:1] == _FIELDS:
            page = detector.fingerprint_fields(*json.loads(message[1:]))
        else:
            page = detector.fingerprint_page(decode_page(message))
        fields = vars(page) | {"evidence": plain_evidence(page.evidence)}
        return json.dumps(fields).encode("ascii")

    return answer


def encode_page(content: Content) -> tuple[bytes, bytes]:
    """Return the parts of the message for a page or an item."""
    if isinstance(content, tuple):
        return _FIELDS, json.dumps(content).encode("ascii")
    if isinstance(content, str):
        return _TEXT, content.encode("utf-8", "surrogatepass")
    return _BODY, content


def decode_page(message: bytes) -> str:
    """Return the text of a page from its message. Invalid UTF-8 is replaced."""
    return message[1:].decode("utf-8", "surrogatepass" if message[:1] == _TEXT else "replace")


def _page_from(answer: bytes) -> PageFingerprint:
    fields = json.loads(answer)
    evidence = evidence_from(fields["evidence"])
    unmatched = tuple(fields["unmatched"])
    return PageFingerprint(**fields | {"evidence": evidence, "unmatched": unmatched})
