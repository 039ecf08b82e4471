"""What `benchmarks/redis_clients.py` compares: shared stores that say whether a page is a copy.

- *ours*: the index in Redis.
- *leveldb*: the same in a directory, for one client; the server is idle.
- *datasketch*: MinHashLSH over Redis, with 128 values a page. A planted page shares as many values
  with its base as two texts do whose fingerprints of 256 bits differ in so many bits.
- *scrapy-redis*: RFPDupeFilter, which knows equal URLs alone; each page has a URL of its own.

A contestant is asked whether it has a page already, and takes the page if not.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from index_lib.stream import fingerprints, mixed
from scrapy_simhash import Scheme
from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.index import open_index
from scrapy_simhash.index.base import Entry, PageToObserve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index_lib.stream import Page

NAME = "benchmark:simhash"
WIDTHS = {"classic": (64, 3), "wide": (256, 52)}
SKETCH_BYTES = 128
_AT_ONCE = 9_000
_VALUES = 128


def page_key(number: int | str) -> str:
    """A key of the usual length."""
    return f"https://example.com/articles/{number}/a-title-of-some-length"


class Ours:
    """scrapy-simhash with Redis."""

    most_clients = most_at_once = sys.maxsize

    def __init__(self, url: str, cluster: bool, scheme: str, size: int, directory: str) -> None:
        self.scheme = scheme
        self.index = self._opened(url, cluster, size, directory)

    def _opened(self, url: str, cluster: bool, size: int, directory: str) -> Any:
        from scrapy_simhash.index.redis import open_redis_index

        bits, max_distance = WIDTHS[self.scheme]
        return open_redis_index(
            url,
            NAME,
            Scheme(bits=bits),
            max_distance=max_distance,
            confirmation=UNCONFIRMED,  # the sketches of the first pages are random
            expected_pages=size,
            incremental=True,
            cluster=cluster,
        )

    def fill(self, count: int, unrelated_bits: float | None) -> None:
        """Take the first new pages of the stream, and close."""
        self.index._store.write_all(self._entries(count, unrelated_bits))  # noqa: SLF001
        self.index.close()

    def prepared(self, page: Page) -> Page:
        """What is asked for, made before the time is taken."""
        return page

    def start(self) -> None:
        """Read what the first page would wait for."""
        self.index.query(0)

    def page(self, number: str, page: Page) -> bool:
        """Whether a page is a copy; it is taken if not."""
        key = page_key(number)
        observed = self.index.observe(key, page.fingerprint, page.evidence or NO_EVIDENCE)
        if observed.kind == "near-duplicate":
            return True
        self.index.confirm(observed)
        return False

    def pages(self, numbers: list[str], pages: list[Page]) -> list[bool]:
        """What `page` returns for each page."""
        observed = self.index.observe_all(
            [
                PageToObserve(page_key(number), page.fingerprint, page.evidence or NO_EVIDENCE)
                for number, page in zip(numbers, pages, strict=True)
            ]
        )
        is_copy = [one.kind == "near-duplicate" for one in observed]
        self.index.confirm_all(one for one, copy in zip(observed, is_copy, strict=True) if not copy)
        return is_copy

    def close(self) -> None:
        """Close what is open."""
        self.index.close()

    def _entries(self, count: int, unrelated_bits: float | None) -> Iterator[Entry]:
        bits = WIDTHS[self.scheme][0]
        random = np.random.default_rng(2)
        for first in range(0, count, _AT_ONCE):
            numbers = np.arange(first, min(first + _AT_ONCE, count)).astype(np.uint64)
            new = fingerprints(numbers, bits, 1, unrelated_bits)
            for number, fingerprint in enumerate(new, first):
                sketch = random.bytes(SKETCH_BYTES) if self.scheme == "wide" else b""
                evidence = Evidence(sketch=sketch) if sketch else NO_EVIDENCE
                place = number + 1
                yield Entry(place, page_key(number), fingerprint, place, 1, 1, -1, evidence)


class InDirectory(Ours):
    """scrapy-simhash with LevelDB, which belongs to one process."""

    most_clients = 1

    def _opened(self, url: str, cluster: bool, size: int, directory: str) -> Any:
        bits, max_distance = WIDTHS[self.scheme]
        return open_index(
            f"leveldb:{Path(directory) / 'index'}",
            Scheme(bits=bits),
            max_distance=max_distance,
            confirmation=UNCONFIRMED,
            expected_pages=size,
            incremental=True,
        )

    def fill(self, count: int, unrelated_bits: float | None) -> None:
        """Take the first new pages of the stream, and close."""
        for entry in self._entries(count, unrelated_bits):
            self.index.confirm(self.index.observe(entry.key, entry.fingerprint, entry.evidence))
        self.index.close()


class DataSketch:
    """datasketch's MinHashLSH, which keeps its tables in Redis."""

    most_clients = sys.maxsize
    most_at_once = 1

    def __init__(self, url: str, cluster: bool, scheme: str, size: int, directory: str) -> None:
        from datasketch import MinHash, MinHashLSH

        host, port = url.removeprefix("redis://").partition("/")[0].split(":")
        storage = {
            "type": "redis",
            "basename": b"benchmark",
            "redis": {"host": host, "port": int(port)},
        }
        self._empty = MinHash(_VALUES)
        bits, max_distance = WIDTHS["wide"]
        threshold = round(resemblance(max_distance, bits), 2)
        self._lsh = MinHashLSH(threshold, num_perm=_VALUES, storage_config=storage)

    def fill(self, count: int, unrelated_bits: float | None) -> None:
        """Take the first pages of the stream."""
        with self._lsh.insertion_session(buffer_size=5_000) as session:
            for number in range(count):
                session.insert(page_key(number), self._of(values(number)), check_duplication=False)

    def start(self) -> None:
        """Nothing: all is in the server."""

    def prepared(self, page: Page) -> Any:
        """The MinHash of a page."""
        own = values(page.number)
        if page.distance is not None:
            random = np.random.default_rng([page.number, page.distance])
            changed = random.random(_VALUES) > resemblance(page.distance, WIDTHS["wide"][0])
            own[changed] = random.integers(0, 1 << 32, int(changed.sum()), dtype=np.uint64)
        return self._of(own)

    def page(self, number: str, page: Any) -> bool:
        """Whether a page is a copy; it is taken if not."""
        if self._lsh.query(page):
            return True
        self._lsh.insert(page_key(number), page)
        return False

    def close(self) -> None:
        """Nothing is to be closed."""

    def _of(self, own: np.ndarray) -> Any:
        made = self._empty.copy()
        made.hashvalues = own.astype(made.hashvalues.dtype)
        return made


class ScrapyRedis:
    """scrapy-redis's filter of requests."""

    most_clients = sys.maxsize
    most_at_once = 1

    def __init__(self, url: str, cluster: bool, scheme: str, size: int, directory: str) -> None:
        import redis
        from scrapy import Request
        from scrapy_redis.dupefilter import RFPDupeFilter

        self._request = Request
        self._filter = RFPDupeFilter(redis.Redis.from_url(url), "benchmark:dupefilter")

    def fill(self, count: int, unrelated_bits: float | None) -> None:
        """Take the first pages of the stream."""
        for number in range(count):
            self._filter.request_seen(self._request(page_key(number)))

    def start(self) -> None:
        """Nothing: all is in the server."""

    def prepared(self, page: Page) -> None:
        """Nothing is known of a page but its URL."""

    def page(self, number: str, page: None) -> bool:
        """Whether its URL was seen."""
        return bool(self._filter.request_seen(self._request(page_key(number))))

    def close(self) -> None:
        """Nothing is to be closed."""


def resemblance(distance: int, bits: int) -> float:
    """The Jaccard coefficient of two sets of one size, of a cosine as of fingerprints that differ
    in so many bits (Charikar, STOC 2002, section 3).
    """
    cosine = math.cos(math.pi * distance / bits)
    return cosine / (2 - cosine)


def values(number: int) -> np.ndarray:
    """The MinHash values of a page."""
    at = np.uint64(number * _VALUES) + np.arange(_VALUES, dtype=np.uint64)
    return mixed(at, 7) >> np.uint64(32)


CONTESTANTS: dict[str, Any] = {
    "ours": Ours,
    "leveldb": InDirectory,
    "datasketch": DataSketch,
    "scrapy-redis": ScrapyRedis,
}
