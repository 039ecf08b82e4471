"""Spiders whose downloads are not all for callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from tests.crawl.spiders import PagesSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response


class FilesSpider(PagesSpider):
    """Yields items with files to download."""

    def __init__(self, *args: Any, files: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.files = files

    def parse(self, response: Response) -> Iterator[Any]:
        self.note(response)
        yield {"url": response.url, "file_urls": self.files}


class InlineSpider(PagesSpider):
    """Downloads two more pages in its callback, with the meta of the first."""

    def __init__(self, *args: Any, side: str, no_callback: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.side = [Request(side), Request(no_callback, callback=NO_CALLBACK)]

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        self.note(response)
        for request in self.side:
            request = request.replace(meta=response.meta)  # noqa: PLW2901
            self.note(await self.crawler.engine.download_async(request), "inline")
        yield {"url": response.url}
