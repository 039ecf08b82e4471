"""Crawls generated sites with the plugin and without it, many in one process, and compares them.

``python -m tests.crawl.generated FIRST COUNT [SHAPE…]`` runs COUNT seeds of each shape, and prints a
line of JSON for each pair of crawls: what was lost, how many requests were made, and what was
dropped. ``python -m tests.crawl.generated ways [SHAPE…]`` runs each way of each shape, one page after
the other, so that its numbers are the same each time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings

from tests.crawl import generated_failing  # noqa: F401 - has shapes, too
from tests.crawl.generated_spiders import SHAPES
from tests.crawl.harness import index_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TIMEOUT_S = 30
_SETTINGS = {
    "ADDONS": {"scrapy_simhash.Addon": 500},
    "DOWNLOAD_HANDLERS": {"http": "tests.crawl.generated_components.SiteHandler"},
    "DOWNLOAD_DELAY": 0,
    "LOG_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "SIMHASH_EXTRACTOR": "segments",
    "SIMHASH_WORKERS": 0,
    "TELNETCONSOLE_ENABLED": False,
    # A crawl that never ends is found by its requests.
    "CLOSESPIDER_PAGECOUNT": 600,
}


def settings_of(shape: str, seed: int) -> dict[str, Any]:
    """Return the settings that a seed chooses for a shape."""
    chosen = random.Random(f"settings {shape} {seed}")
    settings: dict[str, Any] = {"CONCURRENT_REQUESTS": chosen.choice((1, 4, 16))}
    if chosen.random() < 0.5:
        settings["SCHEDULER_MEMORY_QUEUE"] = "scrapy.squeues.FifoMemoryQueue"
    if chosen.random() < 0.15 and SHAPES[shape].follows:
        settings["SIMHASH_FOLLOW"] = True
    if chosen.random() < 0.15:
        settings["SIMHASH_ITEM_TAGS"] = {}
    if chosen.random() < 0.3 and SHAPES[shape].pauses:
        settings |= {"CLOSESPIDER_PAGECOUNT": 5, "CONCURRENT_REQUESTS": 1}
    elif chosen.random() < 0.3 and SHAPES[shape].pauses:
        settings["SIMHASH_SHARED"] = True
    return settings | SHAPES[shape].settings_of_shape


def ways(*shapes: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield each way of some shapes, or of all: the shape, a seed that takes the way, and settings."""
    for shape in shapes or SHAPES:
        missing = set(SHAPES[shape].ways)
        for seed in count():
            spider = SHAPES[shape](seed)
            if spider.way in missing:
                missing.remove(spider.way)
                yield shape, seed, {"CONCURRENT_REQUESTS": 1} | spider.settings_of_shape
            if not missing:
                break


async def crawl(
    process: Any, shape: str, seed: int, directory: Path, chosen: dict[str, Any], *, on: bool
) -> dict[str, Any]:
    """Run a crawl; return its contents, its stats, and whether it hung."""
    settings = (
        _SETTINGS
        | chosen
        | {"SIMHASH_ENABLED": on, "SIMHASH_DIR": str(directory)}
        | index_settings(directory)
    )
    contents: set[str] = set()
    if "SIMHASH_SHARED" in settings:
        seeds = seed, seed + 1000
        crawls = (crawl_once(process, shape, one, settings, contents) for one in seeds)
        parts = await asyncio.gather(*crawls)
    elif settings["CLOSESPIDER_PAGECOUNT"] == _SETTINGS["CLOSESPIDER_PAGECOUNT"]:
        parts = [await crawl_once(process, shape, seed, settings, contents)]
    else:
        parts = []
        settings["JOBDIR"] = str(directory / "job")
        while not parts or parts[-1]["stats"]["finish_reason"] == "closespider_pagecount":
            parts.append(await crawl_once(process, shape, seed, settings, contents))
    stats: Counter[str] = Counter()
    for part in parts:
        stats.update({key: value for key, value in part["stats"].items() if type(value) is int})
    reason = parts[-1]["stats"].get("finish_reason")
    hung = any(part["hung"] for part in parts)
    return parts[-1] | {"stats": {**stats, "finish_reason": reason}, "hung": hung}


async def crawl_once(
    process: Any, shape: str, seed: int, settings: dict[str, Any], contents: set[str]
) -> dict[str, Any]:
    """Run a crawl, or a part of it until the next pause. Add its contents to `contents`."""
    crawler = Crawler(SHAPES[shape], Settings(settings))

    def note(item: Any) -> None:
        contents.add(item["content"])

    crawler.signals.connect(note, signal=signals.item_scraped)
    task = process.crawl(crawler, seed=seed)
    done, _ = await asyncio.wait([task], timeout=TIMEOUT_S)
    if not done:
        await crawler.stop_async()
        await task
    stats = crawler.stats.get_stats()
    way = getattr(crawler.spider, "way", "")
    return {"contents": contents, "stats": stats, "hung": not done, "way": way}


async def compare(process: Any, shape: str, seed: int, chosen: dict[str, Any]) -> dict[str, Any]:
    """Run a shape without and with the plugin, and return what the second crawl lost."""
    with tempfile.TemporaryDirectory() as directory:
        began_s = time.monotonic()
        off = await crawl(process, shape, seed, Path(directory, "off"), chosen, on=False)
        between_s = time.monotonic()
        on = await crawl(process, shape, seed, Path(directory, "on"), chosen, on=True)
        ended_s = time.monotonic()
    asked = "downloader/request_count"
    return {
        "shape": shape,
        "seed": seed,
        "lost": sorted(off["contents"] - on["contents"]),
        "of": len(off["contents"]),
        "hung": on["hung"] or on["stats"].get("finish_reason") != off["stats"].get("finish_reason"),
        "requests": [off["stats"].get(asked, 0), on["stats"].get(asked, 0)],
        "items": on["stats"].get("item_scraped_count", 0),
        "seconds": [round(between_s - began_s, 2), round(ended_s - between_s, 2)],
        "simhash": {
            name.removeprefix("simhash/"): value
            for name, value in on["stats"].items()
            if name.startswith(("simhash/dropped", "simhash/kept", "simhash/resch", "simhash/disc"))
        },
        "errors": {name: value for name, value in on["stats"].items() if "simhash/errors" in name},
        "way": on["way"],
        "settings": chosen,
    }


def main(crawls: Iterable[tuple[str, int, dict[str, Any]]]) -> None:
    """Compare crawls, and print the results."""
    logging.disable(logging.CRITICAL)
    process = AsyncCrawlerProcess(Settings({"LOG_ENABLED": False}))
    from twisted.internet import reactor

    async def run() -> None:
        try:
            for one in crawls:
                print(json.dumps(await compare(process, *one)), flush=True)
        finally:
            reactor.callLater(0, reactor.stop)

    tasks: list[asyncio.Task[None]] = []
    reactor.callWhenRunning(lambda: tasks.append(asyncio.ensure_future(run())))
    reactor.run()
    tasks[0].result()


if __name__ == "__main__":
    if sys.argv[1] == "ways":
        main(ways(*sys.argv[2:]))
    else:
        first, seeds = map(int, sys.argv[1:3])
        main(
            (shape, seed, settings_of(shape, seed))
            for seed in range(first, first + seeds)
            for shape in sys.argv[3:] or SHAPES
        )
