"""Exceptions for dropped pages and items, derived from Scrapy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_simhash.documents.escaping import nearness
from scrapy_simhash.documents.masking import loggable

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simhash.verdict import Verdict


def _message(verdict: Verdict) -> str:
    if verdict.kind == "error-page":
        return f"error page: it is like the answer to {loggable(verdict.reason or '')}"
    if verdict.representative is None:
        return f"{verdict.kind} since it was last seen"
    representative = loggable(verdict.representative)
    return f"{verdict.kind} of {representative} at {nearness(verdict.distance, verdict.similarity)}"


class NearDuplicatePage(IgnoreRequest):
    """The exception for a page whose callback does not run: a near-duplicate, an error page, or an
    unchanged page.

    An errback gets it as ``failure.value``, with the attributes `response` and `verdict`.
    """

    def __init__(self, response: Response, verdict: Verdict) -> None:
        super().__init__(_message(verdict))
        self.response = response
        self.verdict = verdict


class NearDuplicateItem(DropItem):
    """The exception for an item that is dropped, because its content was seen before."""

    def __init__(self, verdict: Verdict) -> None:
        # Scrapy counts dropped items; a warning for each would bury the log.
        super().__init__(_message(verdict), log_level="DEBUG")
        self.verdict = verdict
