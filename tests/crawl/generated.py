"""Crawls generated sites with the plugin and without it, and compares them.

``python -m tests.crawl.generated FIRST COUNT [SHAPE…]`` runs COUNT seeds of each shape, and prints a
line of JSON for each pair of crawls: what was lost, how many requests were made, and what was
dropped. ``python -m tests.crawl.generated ways [SHAPE…]`` runs each way of each shape, one page after
the other, so that its numbers are the same each time.
"""

import json
import random
import sys
import tempfile
from collections import Counter
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from tests.crawl import (  # noqa: F401 - they have shapes, too
    generated_failing,
    generated_leading,
    generated_state,
    generated_values,
    generated_versions,
    generated_walls,
)
from tests.crawl.generated_spiders import SHAPES
from tests.crawl.harness import Crawl, index_settings, run

CASES_OF_A_PROCESS = 30
_SETTINGS = {
    "DOWNLOAD_HANDLERS": {"http": "tests.crawl.generated_components.SiteHandler"},
    "LOG_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "SIMHASH_EXTRACTOR": "segments",
    "SIMHASH_WORKERS": 0,
    # A crawl that never ends is found by its requests, or by its end.
    "CLOSESPIDER_PAGECOUNT": 600,
    "CLOSESPIDER_TIMEOUT": 30,
}


class Case(NamedTuple):
    """A pair of crawls.

    :param settings: those that are chosen; the shape's own come before them.
    """

    shape: str
    seed: int
    settings: dict[str, Any]

    def group(self, directory, *, on):
        """Return the crawls that run at once, with the plugin or without it."""
        settings = _SETTINGS | {"SIMHASH_ENABLED": on, "SIMHASH_DIR": str(directory)}
        settings |= index_settings(directory) | self.settings | SHAPES[self.shape].settings_of_shape
        if self.settings.get("CLOSESPIDER_PAGECOUNT"):
            settings["JOBDIR"] = str(directory / "job")
        seeds = (self.seed, self.seed + 1000) if "SIMHASH_SHARED" in settings else (self.seed,)
        spider = f"{SHAPES[self.shape].__module__}.{self.shape}"
        return [Crawl([], settings, spider, arguments={"seed": seed}) for seed in seeds]


def chosen(shape, seed):
    """Return the case with the settings that a seed chooses for a shape."""
    chance = random.Random(f"settings {shape} {seed}")
    settings = {"CONCURRENT_REQUESTS": chance.choice((1, 4, 16))}
    if chance.random() < 0.5:
        settings["SCHEDULER_MEMORY_QUEUE"] = "scrapy.squeues.FifoMemoryQueue"
    if chance.random() < 0.15 and SHAPES[shape].follows:
        settings["SIMHASH_FOLLOW"] = True
    if chance.random() < 0.15:
        settings["SIMHASH_ITEM_TAGS"] = {}
    if chance.random() < 0.3 and SHAPES[shape].pauses:
        settings |= {"CLOSESPIDER_PAGECOUNT": 5, "CONCURRENT_REQUESTS": 1}
    elif chance.random() < 0.3 and SHAPES[shape].pauses:
        settings["SIMHASH_SHARED"] = True
    return Case(shape, seed, settings)


def ways(*shapes):
    """Yield each way of some shapes, or of all, each with a seed that takes the way."""
    for shape in shapes or SHAPES:
        missing = set(SHAPES[shape].ways)
        for seed in count():
            way = SHAPES[shape](seed).way
            if way in missing:
                missing.remove(way)
                yield Case(shape, seed, {"CONCURRENT_REQUESTS": 1})
            if not missing:
                break


def compared(directory, cases):
    """Run cases with the plugin and without it, and yield what each has lost."""
    for case, on, off in _crawled(directory, cases, (True, False)):
        result = _told(case, on)
        contents, expected = result["contents"], _contents(off)
        yield result | {
            "lost": sorted(expected - contents, key=str),
            "of": len(expected),
            "hung": on[-1].finish_reason != off[-1].finish_reason,
            "requests": [_counts(off)["downloader/request_count"], result["requests"]],
            "contents": len(contents),
        }


def with_plugin(directory, cases):
    """Run cases with the plugin, and yield what each has given."""
    for case, on in _crawled(directory, cases, (True,)):
        yield _told(case, on)


def _crawled(directory, cases, modes):
    """Yield each case with its results in each mode."""
    left = iter(cases)
    for part in count():
        some = list(islice(left, CASES_OF_A_PROCESS))
        if not some:
            return
        groups = [
            case.group(directory / f"{part}-{number}-{on}", on=on)
            for number, case in enumerate(some)
            for on in modes
        ]
        ended = iter(_results(directory, groups))
        for case in some:
            yield case, *(next(ended) for _ in modes)


def _results(directory, groups):
    """Run groups of crawls, and those with JOBDIR again until they end; return all results of each."""
    found = [[] for _ in groups]
    unfinished = [*range(len(groups))]
    while unfinished:
        results = iter(run(directory, *(groups[number] for number in unfinished)))
        for number in unfinished:
            found[number] += [next(results) for _ in groups[number]]
        unfinished = [
            number
            for number in unfinished
            if "JOBDIR" in groups[number][0].settings
            and found[number][-1].finish_reason == "closespider_pagecount"
        ]
    return found


def _contents(parts):
    return {item["content"] for one in parts for item in one.items}


def _counts(parts):
    counts = Counter[str]()
    for part in parts:
        counts.update({key: value for key, value in part.stats.items() if type(value) is int})
    return counts


def _told(case, parts):
    counts = _counts(parts)
    ours = {
        key.removeprefix("simhash/"): number
        for key, number in counts.items()
        if key.startswith("simhash/")
    }
    return {
        "shape": case.shape,
        "way": SHAPES[case.shape](case.seed).way,
        "seed": case.seed,
        "contents": _contents(parts),
        "ended": parts[-1].finish_reason,
        "requests": counts["downloader/request_count"],
        "items": counts["item_scraped_count"],
        "simhash": {
            name: value
            for name, value in ours.items()
            if name.startswith(("dropped", "kept", "resch", "disc"))
        },
        "errors": {name: value for name, value in ours.items() if name.startswith("errors")},
        "settings": case.settings,
    }


def main(*arguments):
    """Compare crawls, and print the results."""
    if arguments[0] == "ways":
        cases = ways(*arguments[1:])
    else:
        first, seeds = map(int, arguments[:2])
        numbers, shapes = range(first, first + seeds), arguments[2:] or [*SHAPES]
        cases = (chosen(shape, seed) for seed in numbers for shape in shapes)
    with tempfile.TemporaryDirectory() as directory:
        for result in compared(Path(directory), cases):
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
