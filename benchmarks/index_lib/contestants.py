"""Ways to find near fingerprints: each takes a page, and says whether it has seen a near one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from index_lib.stream import page_key
from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence


class Contestant:
    """Query-then-insert. `grown` says how it gets to its size before the measured part."""

    grown = "by insert alone"
    largest = 10_000_000
    has_planted = True

    def __init__(self, bits: int, max_distance: int) -> None:
        self.bits = bits
        self.max_distance = max_distance
        self.made()

    def made(self) -> None:
        """Make what is needed."""

    def query(self, fingerprint: int) -> bool:
        """Whether something near is here."""
        raise NotImplementedError

    def insert(self, number: int, fingerprint: int) -> None:
        """Take it."""
        raise NotImplementedError

    def page(self, number: int, fingerprint: int, evidence: Evidence | None) -> bool:
        """Query, and insert if nothing near is here."""
        found = self.query(fingerprint)
        if not found:
            self.insert(number, fingerprint)
        return found

    def grow(self, first: int, values: list[int]) -> None:
        """Insert many."""
        for number, fingerprint in enumerate(values, first):
            self.insert(number, fingerprint)

    def close(self) -> dict[str, Any]:
        """End, and say what the disk holds."""
        return {}


class Ours(Contestant):
    """scrapy-simhash: observe and confirm, page by page from the first."""

    grown = "page by page"
    largest = 50_000_000
    kind = "leveldb"
    evidence = False

    def made(self) -> None:
        from scrapy_simhash import Scheme
        from scrapy_simhash.index import open_index

        self.folder = tempfile.TemporaryDirectory(prefix="index-benchmark-")
        self.directory = Path(self.folder.name) / "index"
        self.url = f"{self.kind}:{self.directory}"
        self.index = open_index(
            self.url,
            Scheme(bits=self.bits),
            max_distance=self.max_distance,
            confirmation=Confirmation() if self.evidence else UNCONFIRMED,
        )
        self.observed = 0

    def page(self, number: int, fingerprint: int, evidence: Evidence | None) -> bool:
        key = page_key(self.observed)
        self.observed += 1
        observation = self.index.observe(key, fingerprint, evidence or NO_EVIDENCE)
        if observation.kind == "near-duplicate":
            return True
        self.index.confirm(observation)
        return False

    def insert(self, number: int, fingerprint: int) -> None:
        self.page(number, fingerprint, None)

    def close(self) -> dict[str, Any]:
        import time

        from scrapy_simhash.index import open_index

        begin = time.perf_counter()
        self.index.close()
        closed = time.perf_counter()
        open_index(self.url).close()
        opened = time.perf_counter()
        sizes = self._sizes_bytes()
        self.folder.cleanup()
        return {"close_s": closed - begin, "open_s": opened - closed, **sizes}

    def _sizes_bytes(self) -> dict[str, float]:
        """Return bytes for each entry: of tables, of its row without the key, of keys, of all."""
        from scrapy_simhash.index import opened_database, records
        from scrapy_simhash.index.tables import FOLDER

        with opened_database(self.directory) as (manifest, database):
            rows = list(database.rows(b"E", b"F"))
            width_bytes = manifest.plan.bits // 8
            found = (records.decode_entry(-1, value, width_bytes) for _, value in rows)
            keys = sum(len(records.encode_key(entry.key)) for entry in found)
            entries = sum(len(row) + len(value) for row, value in rows) - keys
            sizes = {path: path.stat().st_size for path in database.path.rglob("*")}
            tables = sum(size for path, size in sizes.items() if path.parent.name == FOLDER)
        return {
            "table_bytes": tables / len(rows),
            "entry_bytes": entries / len(rows),
            "page_key_bytes": keys / len(rows),
            "file_bytes": sum(sizes.values()) / len(rows),
        }


class OursRocksDB(Ours):
    """The same on RocksDB."""

    kind = "rocksdb"


class OursRedis(Ours):
    """scrapy-simhash on a Redis server: the CPU time is that of the client alone."""

    grown = "by insert alone"
    largest = Contestant.largest
    masters = 0

    def made(self) -> None:
        from index_lib.redis_servers import Servers
        from scrapy_simhash import Scheme
        from scrapy_simhash.index.redis import open_redis_index

        self.folder = tempfile.TemporaryDirectory(prefix="index-benchmark-")
        self.servers = Servers(self.folder.name, self.masters).__enter__()
        self.empty_bytes = self.servers.memory_bytes()
        self.index = open_redis_index(
            self.servers.url,
            "benchmark:simhash",
            Scheme(bits=self.bits),
            max_distance=self.max_distance,
            confirmation=UNCONFIRMED,  # pages that are loaded have no sketch
            incremental=True,
            cluster=self.servers.cluster,
        )
        self.observed = 0

    def grow(self, first: int, values: list[int]) -> None:
        from scrapy_simhash.index.base import Entry

        for place, fingerprint in enumerate(values, first + 1):
            key = f"https://example.com/loaded/{place}"
            entry = Entry(place, key, fingerprint, place, 1, 1)
            self.index.store.write(entry, None, ())  # without a search for each

    def close(self) -> dict[str, Any]:
        used = (self.servers.memory_bytes() - self.empty_bytes) / max(len(self.index), 1)
        self.index.close()
        self.servers.__exit__()
        self.folder.cleanup()
        return {"server_bytes": used}


class OursRedisCluster(OursRedis):
    """The same on a cluster of three masters."""

    masters = 3


class SimhashPackage(Contestant):
    """simhash.SimhashIndex."""

    largest = 1_000_000

    def made(self) -> None:
        from simhash import Simhash, SimhashIndex

        self.value = Simhash
        self.index = SimhashIndex([], f=self.bits, k=self.max_distance)

    def query(self, fingerprint: int) -> bool:
        return bool(self.index.get_near_dups(self.value(fingerprint, f=self.bits)))

    def insert(self, number: int, fingerprint: int) -> None:
        self.index.add(str(number), self.value(fingerprint, f=self.bits))


class Faiss(Contestant):
    """faiss, with fingerprints as rows of bytes."""

    def __init__(self, bits: int, max_distance: int) -> None:
        super().__init__(bits, max_distance)
        import faiss

        faiss.omp_set_num_threads(1)

    def rows(self, values: list[int]) -> np.ndarray:
        packed = b"".join(value.to_bytes(self.bits // 8, "big") for value in values)
        return np.frombuffer(packed, np.uint8).reshape(len(values), -1)

    def query(self, fingerprint: int) -> bool:
        # Its radius is exclusive.
        found = self.index.range_search(self.rows([fingerprint]), self.max_distance + 1)
        return bool(found[0][1])

    def insert(self, number: int, fingerprint: int) -> None:
        self.index.add(self.rows([fingerprint]))

    def grow(self, first: int, values: list[int]) -> None:
        self.index.add(self.rows(values))


class FaissMultiHash(Faiss):
    """faiss.IndexBinaryMultiHash with as many tables and prefixes as ours, no flips."""

    def made(self) -> None:
        import faiss

        tables, prefix_bits = (4, 16) if self.bits == 64 else (19, 13)
        self.index = faiss.IndexBinaryMultiHash(self.bits, tables, prefix_bits)


class FaissFlips(Faiss):
    """faiss.IndexBinaryMultiHash with one flip: 2x32; of 256 bits as many tables as ours."""

    def made(self) -> None:
        import faiss

        tables, prefix_bits = (2, 32) if self.bits == 64 else (12, 20)
        self.index = faiss.IndexBinaryMultiHash(self.bits, tables, prefix_bits)
        self.index.nflip = 1


class FaissFlat(Faiss):
    """faiss.IndexBinaryFlat: a linear scan."""

    largest = 1_000_000

    def made(self) -> None:
        import faiss

        self.index = faiss.IndexBinaryFlat(self.bits)


class Gaoya(Contestant):
    """gaoya (Rust), 5 blocks. It takes tokens alone: one, whose hash is the fingerprint."""

    has_planted = False

    def made(self) -> None:
        from gaoya.simhash import SimHashStringIndex

        # Its max_distance is exclusive.
        self.index = SimHashStringIndex(
            hash_size=self.bits, num_blocks=5, hamming_distance=self.max_distance + 1
        ).index

    def query(self, fingerprint: int) -> bool:
        return bool(self.index.query_tokens([f"{fingerprint:x}"]))

    def insert(self, number: int, fingerprint: int) -> None:
        self.index.insert_tokens(number, [f"{fingerprint:x}"])


class AskAllVariants(Contestant):
    """Naive: a set of fingerprints that is asked for all 43,745 variants within 3 bits."""

    largest = 1_000_000

    def made(self) -> None:
        from itertools import combinations

        self.flips = [
            sum(1 << bit for bit in chosen)
            for distance in range(self.max_distance + 1)
            for chosen in combinations(range(self.bits), distance)
        ]
        self.known: set[int] = set()

    def query(self, fingerprint: int) -> bool:
        known = self.known
        return any(fingerprint ^ flip in known for flip in self.flips)

    def insert(self, number: int, fingerprint: int) -> None:
        self.known.add(fingerprint)


class StoreAllVariants(AskAllVariants):
    """Naive: a set that stores all 43,745 variants of each fingerprint, and is asked once."""

    largest = 100

    def query(self, fingerprint: int) -> bool:
        return fingerprint in self.known

    def insert(self, number: int, fingerprint: int) -> None:
        self.known.update(fingerprint ^ flip for flip in self.flips)


CLASSIC = {
    "ours": Ours,
    "ours on RocksDB": OursRocksDB,
    "redis": OursRedis,
    "redis-cluster": OursRedisCluster,
    "simhash SimhashIndex": SimhashPackage,
    "faiss MultiHash 4x16": FaissMultiHash,
    "faiss MultiHash 2x32, 1 flip": FaissFlips,
    "faiss Flat": FaissFlat,
    "gaoya, 5 blocks": Gaoya,
    "naive: ask for all variants": AskAllVariants,
    "naive: store all variants": StoreAllVariants,
}
WIDE = {
    "ours": Ours,
    "ours on RocksDB": OursRocksDB,
    "redis": OursRedis,
    "redis-cluster": OursRedisCluster,
    "faiss MultiHash 19x13": FaissMultiHash,
    "faiss MultiHash 12x21, 1 flip": FaissFlips,
    "faiss Flat": FaissFlat,
}
