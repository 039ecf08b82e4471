"""A pipeline that writes an item to disk before its page is confirmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class FlushingPipeline:
    """Appends each item to FLUSHED_ITEMS as a line of JSON."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - for the whole crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FlushingPipeline:
        return cls(crawler.settings["FLUSHED_ITEMS"])

    def process_item(self, item: Any) -> Any:
        self._file.write(json.dumps(item) + "\n")
        self._file.flush()
        return item

    def close_spider(self) -> None:
        self._file.close()
