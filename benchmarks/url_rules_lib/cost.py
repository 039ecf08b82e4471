"""What rules cost beside a crawl: CPU time a request and a page, and memory and rows a page."""

from __future__ import annotations

import random
import time
import tracemalloc

from scrapy_simhash.extras.url_rules.learner import UrlRules
from scrapy_simhash.extras.url_rules.rows import encode_rules
from scrapy_simhash.extras.url_rules.seen import SLOT_BYTES, SLOTS

_SITES = 20
_PAGES = 500
_SEED = 1


def urls(site: int, params: int) -> list[tuple[str, str]]:
    """Return (URL, URL of the page with its content), three URLs of each page.

    :param params: that don't matter; each URL has two of them, with values of its own.
    """
    chosen = random.Random(site)
    found = []
    for page in range(_PAGES):
        first = ""
        for _ in range(3):
            names = chosen.sample(range(params), min(2, params))
            rest = "".join(f"&s{name}={chosen.randrange(10**6)}" for name in names)
            url = f"https://site{site}.example/topic?t={page}{rest}"
            first = first or url
            found.append((url, first))
    return found


def print_cost() -> None:
    """Print a row for each number of parameters that don't matter."""
    print(f"{'parameters':>10}{'requests':>10}{'pages':>9}{'a request, us':>15}{'a page, us':>12}"
          f"{'slowest page, ms':>18}{'bytes a page':>14}{'rows, bytes a page':>20}")  # fmt: skip
    for params in (1, 10, 40):
        asked = [one for site in range(_SITES) for one in urls(site, params)]
        row = _measured(asked)
        memory, stored = _sizes(asked, row["pages"])
        print(f"{params:10}{len(asked):10,}{row['pages']:9,.0f}{row['request_us']:15.0f}"
              f"{row['page_us']:12.0f}{row['slowest_ms']:18.1f}{memory:14.0f}{stored:20.2f}",
              flush=True)  # fmt: skip


def _measured(asked: list[tuple[str, str]]) -> dict[str, float]:
    rules = UrlRules(random=random.Random(_SEED))
    request_s = page_s = slowest_s = 0.0
    pages = 0
    for url, first in asked:
        before = time.process_time()
        equal = rules.equal(url)
        spared = equal is not None and not (equal.explore or equal.untested)
        if equal is not None and spared:
            rules.spared(equal)
        now = time.process_time()
        request_s += now - before
        if not spared:
            rules.handled(url, first, first)
            took = time.process_time() - now
            page_s += took
            slowest_s = max(slowest_s, took)
            pages += 1
    return {
        "pages": pages,
        "request_us": 1e6 * request_s / len(asked),
        "page_us": 1e6 * page_s / pages,
        "slowest_ms": 1e3 * slowest_s,
    }


def _sizes(asked: list[tuple[str, str]], pages: float) -> tuple[float, float]:
    """Return (bytes of memory without the table of pages, whose size is fixed; bytes of rows), each
    divided by the pages learned from.
    """
    tracemalloc.start()
    rules = UrlRules(random=random.Random(_SEED))
    for url, first in asked:
        equal = rules.equal(url)
        if equal is None or equal.explore or equal.untested:
            rules.handled(url, first, first)
    memory = tracemalloc.get_traced_memory()[0] - SLOTS * SLOT_BYTES
    tracemalloc.stop()
    rows = sum(len(encode_rules(site.rules)) for _, site in rules.sites())
    return memory / pages, rows / pages
