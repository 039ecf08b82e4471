"""Near-duplicates as a tutorial shows it: readability, jieba and the package simhash, in line.

Nothing is tuned, and nothing is made slower than it needs to be: jieba's dictionary is loaded
before the first request, and only Chinese texts are segmented.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import jieba
from lxml import html
from readability import Document
from simhash import Simhash, SimhashIndex

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

MAX_DISTANCE = 3
STAT = "today/near_duplicate"
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CHINESE_SHARE = 0.1
_WORD_CHARACTERS = re.compile(r"[\w\u4e00-\u9fcc]+")  # as in the package


def main_text(page: str) -> str:
    """Return the text of readability's article; empty if it fails."""
    try:
        return str(html.fromstring(Document(page).summary()).text_content())
    except Exception:  # noqa: BLE001
        return ""


def fingerprint(text: str) -> Simhash:
    """Return the fingerprint of jieba's words, or of the package's own 4-grams of characters."""
    if len(_CHINESE.findall(text)) > _CHINESE_SHARE * len(text):
        return Simhash(list(jieba.cut(text)))
    try:
        return Simhash(text)
    except OverflowError:
        # With numpy 2, the package fails on a feature that occurs more than 255 times, unless each
        # occurrence is a feature of its own.
        text = "".join(_WORD_CHARACTERS.findall(text.lower()))
        return Simhash([text[start : start + 4] for start in range(max(1, len(text) - 3))])


class TodayPipeline:
    """Asks an index in memory about the text of each item, and adds it if it is new."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._index = SimhashIndex([], k=MAX_DISTANCE)
        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
        # What it logs of each page that it gives up on is not what is measured.
        logging.getLogger("readability").setLevel(logging.CRITICAL)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawl, as Scrapy asks for it."""
        return cls(crawler)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Fingerprint the item, query the index, add the item if it is new."""
        page = fingerprint(item.pop("text"))
        if self._index.get_near_dups(page):
            if self._crawler.stats is not None:
                self._crawler.stats.inc_value(STAT)
        else:
            self._index.add(item["url"], page)
        return item
