"""A case on its way from bytes to verdict, as in a crawl."""

from __future__ import annotations

import dataclasses
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from scrapy_simhash import Detector, open_index
from scrapy_simhash.scheme import preset
from scrapy_simhash.verdict import VerdictKind

if TYPE_CHECKING:
    from fuzz_lib.cases import Case
    from scrapy_simhash.index import ObservingIndex

KINDS = frozenset(get_args(VerdictKind))
REASONS = frozenset(
    {"no_text", "few_tokens", "unsupported_text", "extraction_error", "not_html", "script_data"}
)
# Scrapy could not decode it: the page passes a crawl without a verdict.
NOT_DECODED = "not decoded"


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    :param kind: of the verdict; `NOT_DECODED`; empty if something escaped.
    :param detail: why it was skipped, or what Scrapy raised.
    :param error: what the extractor said.
    :param escaped: the traceback of an exception that nobody caught.
    :param ms: CPU time, as are the next two: of all, of decoding by Scrapy, and of the index.
    """

    number: int
    kind: str = ""
    detail: str = ""
    way: str = ""
    error: str = ""
    escaped: str = ""
    ms: float = 0.0
    decode_ms: float = 0.0
    index_ms: float = 0.0
    page_bytes: int = 0
    steps: tuple[str, ...] = ()


class Checker:
    """A detector and an index, for many cases."""

    def __init__(self, index_url: str, preset_name: str, extractor: str | None) -> None:
        chosen = preset(preset_name)
        scheme = chosen.scheme
        if extractor:
            scheme = dataclasses.replace(scheme, extractor=extractor)
        self._detector = Detector(scheme)
        self._index: ObservingIndex = open_index(
            index_url, scheme, max_distance=chosen.max_distance
        )

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def check(self, case: Case) -> Outcome:
        """Take a case through; raises nothing."""
        clock = time.process_time
        began = clock()
        outcome = Outcome(case.number, page_bytes=len(case.body), steps=case.steps)
        try:
            html = case.response().text
        except Exception as error:  # noqa: BLE001 - Scrapy's
            return dataclasses.replace(
                outcome, kind=NOT_DECODED, detail=type(error).__name__, ms=(clock() - began) * 1000
            )
        decoded = clock()
        kind = detail = way = extraction_error = escaped = ""
        index_ms = 0.0
        try:
            page = self._detector.fingerprint_page(html)
            way, extraction_error = page.way, page.error or ""
            asked = clock()
            verdict = self._detector.judge(self._index, case.key, page)
            if verdict.observation is not None:
                settle = self._index.confirm if case.confirmed else self._index.discard
                settle(verdict.observation)
            index_ms = (clock() - asked) * 1000
            kind, detail = verdict.kind, verdict.reason or ""
            if kind not in KINDS or (kind == "skipped") != (detail in REASONS):
                raise AssertionError(f"no such verdict: {verdict}")
        except BaseException:  # noqa: BLE001 - SystemExit is a defect, too
            escaped = traceback.format_exc()
        return dataclasses.replace(
            outcome,
            kind="" if escaped else kind,
            detail=detail,
            way=way,
            error=extraction_error,
            escaped=escaped,
            ms=(clock() - began) * 1000,
            decode_ms=(decoded - began) * 1000,
            index_ms=index_ms,
        )
