"""Exceptions that Scrapy knows how to handle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_simhash.printable import nearness, printable

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simhash.verdict import Verdict


def _said(verdict: Verdict) -> str:
    if verdict.representative is None:
        return f"{verdict.kind} since an earlier crawl"
    representative = printable(verdict.representative)
    return f"{verdict.kind} of {representative} at {nearness(verdict.distance, verdict.similarity)}"


class NearDuplicatePage(IgnoreRequest):
    """The content of a page was seen before, so its callback does not run.

    An errback gets it in its failure's `value`, with the `response` and the `verdict`.
    """

    def __init__(self, response: Response, verdict: Verdict) -> None:
        super().__init__(_said(verdict))
        self.response = response
        self.verdict = verdict


class NearDuplicateItem(DropItem):
    """The content of an item was seen before, so it is dropped."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(
            _said(verdict),
            # One line for each would bury the log; they are counted.
            log_level="DEBUG",
        )
        self.verdict = verdict
