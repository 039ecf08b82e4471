"""MaybeDont's predictor in a crawl of today's Scrapy, with the defaults of its own middleware."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import maybedont.predict
from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

_FIRST_PAGES = 300
_THRESHOLD = 0.98
_EXPLORATION = 0.05


class _Random(random.Random):
    """Samples sets, as Python did before 3.11."""

    def sample(self, population: object, k: int) -> list[object]:  # type: ignore[override]
        return super().sample(list(population), k)  # type: ignore[call-overload]


maybedont.predict.random = _Random(1)


class MaybeDont:
    """Learns from the first 300 pages on; ignores requests that are copies at 98 %."""

    def __init__(self) -> None:
        self._first: list[tuple[str, str]] = []
        self._predictor: maybedont.predict.DupePredictor | None = None
        self._random = random.Random(1)

    def process_request(self, request: Request) -> None:
        """Ignore a request whose page is probably a copy."""
        if self._predictor is None or self._predictor.get_dupe_prob(request.url) <= _THRESHOLD:
            return
        if self._random.random() >= _EXPLORATION:
            raise IgnoreRequest

    def process_response(self, request: Request, response: Response) -> Response:
        """Learn from a page."""
        text = "\n".join(response.xpath("//body").xpath("string()").getall())
        pages = [(response.url, text)]
        if self._predictor is None:
            self._first += pages
            if len(self._first) < _FIRST_PAGES:
                return response
            pages, self._first = self._first, []
            texts = [text for _, text in pages]
            self._predictor = maybedont.predict.DupePredictor(texts_sample=texts)
        for url, page_text in pages:
            self._predictor.update_model(url, page_text)
        return response
