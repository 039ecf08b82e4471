"""One of several crawlers: ``python -m tests.crawl.redis_crawler OUT URLS NAME=VALUE…``.

Appends the URL of each item to a file, on the disk before the item counts as scraped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess

from tests.crawl.harness import ADDONS
from tests.crawl.spiders import PagesSpider


class WritingPipeline:
    """Writes items line by line."""

    def __init__(self) -> None:
        self._file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def process_item(self, item: Any) -> Any:
        os.write(self._file, f"{item['url']}\n".encode())
        return item


def main() -> None:
    given = dict(argument.split("=", 1) for argument in sys.argv[3:])
    process = AsyncCrawlerProcess(
        {
            "ADDONS": ADDONS,
            "SIMHASH_ENABLED": True,
            "SIMHASH_WORKERS": 0,
            "ITEM_PIPELINES": {WritingPipeline: 900},
            "DOWNLOAD_DELAY": 0.02,
            "CONCURRENT_REQUESTS": 8,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "INFO",
            **given,
        }
    )
    process.crawl(PagesSpider, requests=sys.argv[2].split(","), at_once=True)
    process.start()


if __name__ == "__main__":
    Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
    main()
