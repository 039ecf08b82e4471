"""The work of workers in tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash import Scheme
from scrapy_simhash.workers.pages import page_work
from tests.crawl.worker_extractors import OBEDIENT

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.workers.pages import Content
    from scrapy_simhash.workers.process import Work

SCHEME = replace(Scheme.preset("classic"), extractor=OBEDIENT)
LONG_MS = 60_000


def order_for(scheme: Scheme = SCHEME, timeout_ms: int = LONG_MS) -> Work[Content, PageFingerprint]:
    job_spec = {
        "scheme": scheme.to_dict(),
        "min_tokens": 30,
        "keep_text": False,
        "sketches": True,
    }
    return page_work(job_spec, timeout_ms)


def scheme_of(directory: Path, name: str, code: str) -> Scheme:
    """Return a scheme whose extractor is `extract` in a new module."""
    (directory / f"{name}.py").write_text(code, encoding="utf-8")
    return replace(SCHEME, extractor=f"{name}.extract")
