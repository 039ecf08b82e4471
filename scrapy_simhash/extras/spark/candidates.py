"""Find near records as an index finds them, but in parts that many machines can search.

An index looks up buckets for a record, see `scrapy_simhash.index.tables.buckets`, and compares the
record with the earlier records in these buckets. Here the first bits of the hash of its prefix
assign each bucket of a table to a *shard*. A record goes to the shards of its own bucket and of
those that it looks up (*asks* for). numpy searches each shard by itself. The buckets are the same
as in an index, so the pairs are, too.

A record with too many near records reports some of them and `MORE`. Otherwise, a hundred thousand
copies of one page would make five billion pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from scrapy_simhash.clustering.pairs import Pairs, concatenate, distances, ranges, words_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.base import Query
from scrapy_simhash.index.tables.buckets import Prefixes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import TablePlan

    Columns: TypeAlias = Mapping[str, NDArray[Any]]

# Besides records that only ask, a shard holds one to two times so many records on average.
SHARD_RECORDS = 1 << 17
MORE = -(1 << 62)
"""Stands for the candidates of a record that are not reported."""
SHARD_SCHEMA = (
    "shard long, record long, bucket long, asked binary, fingerprint binary, stored boolean"
)
"""Records in their shards, a row for each shard of a record: the number of a table, followed by the
first bits of the buckets; the position of the record; its own bucket; the buckets that it looks up
in this shard, 8 bytes each; whether others can find it.
"""
FOUND_SCHEMA = "record long, other long, distance smallint"
"""Pairs of records within the distance; ``other`` is the earlier record, or `MORE`."""
_BATCH_RECORDS = 2048
# A record is compared with so many records of each bucket first. Each further step compares
# `_GROWTH` times as many.
_FIRST_STEP = 32
_GROWTH = 4


@dataclass(frozen=True)
class CandidateSearch:
    """A search with the tables of an index.

    :param records: number of records, by which the number of shards is chosen.
    """

    plan: TablePlan
    max_distance: int
    records: int

    @cached_property
    def shard_bits(self) -> int:
        """Return how many of the first bits of a bucket tell the shard."""
        return max(self.records // SHARD_RECORDS, 1).bit_length() - 1

    @cached_property
    def _prefixes(self) -> Prefixes:
        return Prefixes(self.plan)

    def shard_rows(self, records: Columns) -> Iterator[Columns]:
        """Yield the rows of records as `SHARD_SCHEMA`, in batches of records.

        :param records: ``position`` of each record, earlier ones have lower positions;
            ``fingerprint``; ``certainty``; ``asks``, true if it looks for others; ``stored``.
        :raises SimhashError: a fingerprint has another width; or probing lacks a certainty.
        """
        bits = self.plan.bits
        for start in range(0, len(records["position"]), _BATCH_RECORDS):
            part = slice(start, start + _BATCH_RECORDS)
            batch = {name: column[part] for name, column in records.items()}
            if any(len(fingerprint) * 8 != bits for fingerprint in batch["fingerprint"]):
                raise SimhashError(f"a fingerprint has not {bits} bits: make all with one scheme")
            if self.plan.probes and any(len(certainty) != bits for certainty in batch["certainty"]):
                raise SimhashError(
                    f"a fingerprint comes without the certainties of its {bits} bits: make it with "
                    "`scrapy_simhash.extras.spark.fingerprints`"
                )
            yield self._spread(batch)

    def _spread(self, batch: Columns) -> Columns:
        count, tables = len(batch["position"]), len(self.plan.tables)
        values = [int.from_bytes(packed, "big") for packed in batch["fingerprint"]]
        rows = self._prefixes.packed(values)
        own = self._prefixes.hashes_in_all(rows)
        own_records = np.repeat(np.arange(count), tables)
        own_tables = np.tile(np.arange(tables), count)
        askers = np.flatnonzero(batch["asks"])
        queries = [Query(values[at], batch["certainty"][at]) for at in askers]
        asked = self._prefixes.buckets(queries, rows[askers])
        record = np.concatenate([own_records, askers[asked.owners]])
        table = np.concatenate([own_tables, asked.tables])
        bucket = np.concatenate([own.ravel(), asked.hashes])
        is_asked = np.arange(len(record)) >= own.size
        # In each table, one row for each shard that has the own bucket or one that is asked for.
        shard = table << self.shard_bits | self._shard_of(bucket)
        keys = record * (tables << self.shard_bits) + shard
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        ends = np.append(0, np.cumsum(is_asked[order]))[np.append(starts, len(order))]
        packed = bucket[order][is_asked[order]].tobytes()
        record, shard = record[order[starts]], shard[order[starts]]
        return {
            "shard": shard,
            "record": batch["position"][record],
            "bucket": own[record, shard >> self.shard_bits].view(np.int64),
            "asked": np.array(
                [packed[8 * start : 8 * end] for start, end in pairwise(ends.tolist())], object
            ),
            "fingerprint": batch["fingerprint"][record],
            "stored": batch["stored"][record],
        }

    def _shard_of(self, bucket: NDArray[np.uint64]) -> NDArray[np.int64]:
        # In two parts: a shift by 64 bits is not defined.
        shards: NDArray[np.int64] = bucket >> np.uint64(1) >> np.uint64(63 - self.shard_bits)
        return shards.astype(np.int64)

    def search(self, rows: Columns, max_candidates: int) -> Columns:
        """Return the candidates in one shard as `FOUND_SCHEMA`.

        :param rows: all rows of the shard.
        :param max_candidates: upper limit for a record; if it has more, `MORE` follows.
        """
        records, buckets = rows["record"], rows["bucket"].view(np.uint64)
        # Sort stored rows by bucket, and in a bucket by age. None of the buckets that are asked for
        # here is in another shard.
        places = np.flatnonzero(rows["stored"])
        places = places[np.lexsort((records[places], buckets[places]))]
        asker = np.repeat(np.arange(len(records)), [len(asked) // 8 for asked in rows["asked"]])
        asked = np.frombuffer(b"".join(rows["asked"]), np.uint64)
        begin, end = (np.searchsorted(buckets[places], asked, side) for side in ("left", "right"))
        packed = np.frombuffer(b"".join(rows["fingerprint"]), np.uint8).reshape(len(records), -1)
        words = words_of(packed, self.plan.bits)
        found = self._near(records, words, places, (asker, begin, end), max_candidates)
        record, other, distance = (column[np.lexsort(found[1::-1])] for column in found)
        begins = np.flatnonzero(np.diff(record, prepend=MORE))
        rank = np.arange(len(record)) - np.repeat(begins, np.diff(begins, append=len(record)))
        # Equal in all shards, so that `distinct` leaves one for each record.
        other[rank == max_candidates], distance[rank == max_candidates] = MORE, 0
        return {
            "record": record[rank <= max_candidates],
            "other": other[rank <= max_candidates],
            "distance": distance[rank <= max_candidates].astype(np.int16),
        }

    def _near(
        self,
        records: NDArray[np.int64],
        words: NDArray[np.uint64],
        places: NDArray[np.intp],
        look_ups: tuple[NDArray[np.intp], ...],
        max_candidates: int,
    ) -> Pairs:
        """Return near pairs of records, at least `max_candidates` + 1 of a record that has them.

        :param look_ups: (row that asks, begin and end of a bucket in `places`), as arrays.
        """
        asker, begin, end = look_ups
        found: list[Pairs] = []
        hits = np.zeros(len(records), np.int64)
        step = _FIRST_STEP
        while len(asker):
            for at, position in ranges(begin, np.minimum(end, begin + step)):
                one, other = asker[at], places[position]
                apart = distances(words, one, other)
                is_near = (apart <= self.max_distance) & (records[other] < records[one])
                one, other = one[is_near], other[is_near]
                hits += np.bincount(one, minlength=len(hits))
                found.append(Pairs(records[one], records[other], apart[is_near]))
            begin = begin + step
            # A bucket begins with the earliest records. Those after the one that asks do not count.
            goes_on = (begin < end) & (hits[asker] <= max_candidates)
            following: NDArray[Any] = records[places[begin[goes_on]]]
            goes_on[goes_on] = following < records[asker[goes_on]]
            asker, begin, end = asker[goes_on], begin[goes_on], end[goes_on]
            step *= _GROWTH
        return concatenate(found)
