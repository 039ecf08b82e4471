"""The exception for spared requests, derived from Scrapy's."""

from __future__ import annotations

from typing import Literal

from scrapy.exceptions import IgnoreRequest

from scrapy_simhash.documents.masking import loggable


class SparedRequest(IgnoreRequest):
    """The exception for a request that is not made (SIMHASH_URL_RULES).

    An errback gets it as ``failure.value``, with the attribute `reason`: ``equal`` if rules make
    the URL equal to a handled one, ``trap`` if the request leads into endless pages without new
    content.
    """

    def __init__(self, url: str, reason: Literal["equal", "trap"]) -> None:
        super().__init__(f"{reason}: {loggable(url)}")
        self.reason = reason
