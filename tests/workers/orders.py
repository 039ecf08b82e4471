"""The work of workers in tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash import Detector, Scheme
from scrapy_simhash.workers.pages import PageWorkers, page_workers
from tests.crawl.worker_extractors import OBEDIENT, page_with

if TYPE_CHECKING:
    from pathlib import Path

SCHEME = replace(Scheme.preset("classic"), extractor=OBEDIENT)
LONG_MS = 60_000


def start_workers(
    workers: int | None = 1,
    scheme: Scheme = SCHEME,
    timeout_ms: int = LONG_MS,
    *,
    keep_text: bool = False,
) -> PageWorkers:
    detector = Detector(scheme, min_tokens=30, keep_text=keep_text)
    return page_workers(detector, workers, timeout_ms)


def fingerprint_of(number: int) -> int:
    fingerprint = Detector(SCHEME).fingerprint_page(page_with(number=number)).fingerprint
    assert fingerprint is not None
    return fingerprint


def scheme_of(directory: Path, name: str, code: str) -> Scheme:
    """Return a scheme whose extractor is `extract` in a new module."""
    (directory / f"{name}.py").write_text(code, encoding="utf-8")
    return replace(SCHEME, extractor=f"{name}.extract")
