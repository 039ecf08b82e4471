"""Find near records as an index finds them, but in parts that many machines can search.

An index looks up buckets for a record, see `scrapy_simhash.index.probing`, and compares the record
with the earlier records in these buckets. Here the last bits of the prefix assign each bucket of a
table to a *shard*. A record goes to the shards of its own bucket and of those that it looks up
(*asks* for). numpy searches each shard by itself. The buckets are the same as in an index, so the
pairs are, too.

A record with too many near records reports some of them and `MORE`. Otherwise, a hundred thousand
copies of one page would make five billion pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.probing import Prober

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import TablePlan

# Besides records that only ask, a shard holds one to two times so many records on average.
SHARD_RECORDS = 1 << 17
MORE = -(1 << 62)
"""Stands for the candidates of a record that are not reported."""
# If any prefix is longer, all are hashed to at most so many bits.
_MAX_PREFIX_BITS = 62
# A wider range of prefixes is searched by bisection instead of in an array.
_MAX_DIRECTORY_BITS = 22
_BATCH_RECORDS = 2048
# A record is compared with so many records of each bucket first. Each further step compares
# `_GROWTH` times as many.
_FIRST_STEP = 32
_GROWTH = 4
_BATCH_PAIRS = 1 << 19


class ShardRows(NamedTuple):
    """Records in their shards, as columns with a row for each shard of a record.

    :param shard: the number of a table, followed by the last bits of the prefixes to look up.
    :param record: position of the record; earlier records have lower positions.
    :param prefix: prefix of the record in this table.
    :param uncertain: the least certain bits of the prefix, numbered from the left, a byte each.
    :param subsets: bit i is set if the record asks with subset i of these bits flipped. Subset 0 is
        empty.
    """

    shard: NDArray[np.int32]
    record: NDArray[np.int64]
    prefix: NDArray[np.int64]
    uncertain: list[bytes]
    subsets: NDArray[np.uint64]
    fingerprint: list[bytes]


class Candidates(NamedTuple):
    """Pairs of records within the distance; `other` is the earlier record, or `MORE`."""

    record: NDArray[np.int64]
    other: NDArray[np.int64]
    distance: NDArray[np.int16]

    def where(self, selected: NDArray[Any]) -> Candidates:
        """Return the pairs at the selected indices, or where a mask is True."""
        return Candidates(self.record[selected], self.other[selected], self.distance[selected])


@dataclass(frozen=True)
class CandidateSearch:
    """A search with the tables of an index.

    :param records: number of records, by which the number of shards is chosen.
    """

    plan: TablePlan
    max_distance: int
    records: int

    @cached_property
    def width(self) -> int:
        """Return the width in bits of the shortest prefix, but at most 62."""
        return min(*self.plan.prefix_widths_bits, _MAX_PREFIX_BITS)

    @cached_property
    def shard_bits(self) -> int:
        """Return how many of the last bits of a prefix tell the shard."""
        return min(max(self.records // SHARD_RECORDS, 1).bit_length() - 1, self.width)

    @property
    def _shard_mask(self) -> int:
        return (1 << self.shard_bits) - 1

    @cached_property
    def _prober(self) -> Prober:
        return Prober(self.plan)

    def rows(
        self,
        records: NDArray[np.int64],
        fingerprints: Sequence[bytes],
        certainties: Sequence[bytes],
        asks: NDArray[np.bool_],
    ) -> Iterator[ShardRows]:
        """Yield the rows of records, in batches of records.

        :param asks: True for records that look for others; other records can only be found.
        :raises SimhashError: a fingerprint has another width; or probing lacks a certainty.
        """
        bits = self.plan.bits
        for start in range(0, len(records), _BATCH_RECORDS):
            batch = slice(start, start + _BATCH_RECORDS)
            if any(len(fingerprint) * 8 != bits for fingerprint in fingerprints[batch]):
                raise SimhashError(f"a fingerprint has not {bits} bits: make all with one scheme")
            if self.plan.probes and any(len(certainty) != bits for certainty in certainties[batch]):
                raise SimhashError(
                    f"a fingerprint comes without the certainties of its {bits} bits: make it with "
                    "`scrapy_simhash.extras.spark.fingerprints`"
                )
            yield self._spread(records[batch], fingerprints[batch], certainties[batch], asks[batch])

    def _spread(
        self,
        records: NDArray[np.int64],
        fingerprints: Sequence[bytes],
        certainties: Sequence[bytes],
        asks: NDArray[np.bool_],
    ) -> ShardRows:
        tables = len(self.plan.tables)
        prefixes = self._prefixes(fingerprints).ravel()  # by record and table
        if self.plan.probes:
            size = self.plan.prefix_bits * tables
            packed = b"".join(certainty[:size] for certainty in certainties)
            of_prefixes = np.frombuffer(packed, np.uint8).reshape(len(records), tables, -1)
            uncertain, is_probed = self._prober.subsets(of_prefixes)
            is_probed[~asks, :, 1:] = False
            flips = _flips(uncertain, self.width)
            probes = np.flatnonzero(is_probed)
            at, subset = np.divmod(probes, is_probed.shape[-1])
            asked = prefixes[at] ^ flips.ravel()[probes]
        else:
            uncertain = np.empty((len(records), tables, 0), np.uint16)
            at = np.arange(prefixes.size)
            subset = np.zeros(prefixes.size, np.int64)
            asked = prefixes
        # In each table, one row for each shard that has the own bucket or one that is asked for.
        keys = at << self.shard_bits | asked & self._shard_mask
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        subsets = np.bitwise_or.reduceat(np.uint64(1) << subset[order].astype(np.uint64), starts)
        distinct = keys[order][starts]
        at = distinct >> self.shard_bits
        record, table = np.divmod(at, tables)
        shard = table << self.shard_bits | distinct & self._shard_mask
        flat = uncertain.astype(np.uint8).reshape(prefixes.size, -1)
        return ShardRows(
            shard.astype(np.int32),
            records[record],
            prefixes[at],
            [row.tobytes() for row in flat[at]],
            subsets,
            [fingerprints[number] for number in record.tolist()],
        )

    def _prefixes(self, fingerprints: Sequence[bytes]) -> NDArray[np.int64]:
        prefixes = [self.plan.prefixes(int.from_bytes(packed, "big")) for packed in fingerprints]
        if max(self.plan.prefix_widths_bits) > _MAX_PREFIX_BITS:
            prefixes = [
                [
                    xxh3_64_intdigest(prefix.to_bytes(self.plan.bits // 8, "big"))
                    >> 64 - self.width
                    for prefix in row
                ]
                for row in prefixes
            ]
        return np.array(prefixes, np.int64).reshape(len(fingerprints), len(self.plan.tables))

    def search(
        self,
        rows: ShardRows,
        asks: NDArray[np.bool_],
        stored: NDArray[np.bool_],
        max_candidates: int,
    ) -> Candidates:
        """Return the candidates in one shard.

        :param asks: True for rows of records that look for others.
        :param stored: True for rows of records that can be found.
        :param max_candidates: upper limit for a record; if it has more, `MORE` follows.
        """
        packed = np.frombuffer(b"".join(rows.fingerprint), np.uint8).reshape(len(rows.record), -1)
        words = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
        prefixes = rows.prefix
        last_bits = int(rows.shard[0]) & self._shard_mask
        stored = stored & (prefixes & self._shard_mask == last_bits)
        # Sort stored rows by bucket, and in a bucket by age.
        places = np.flatnonzero(stored)
        places = places[np.lexsort((rows.record[places], prefixes[places]))]
        asking = np.flatnonzero(asks)
        if not len(places) or not len(asking):
            return _joined([])
        uncertain = np.frombuffer(b"".join(rows.uncertain), np.uint8).reshape(len(prefixes), -1)
        asker, asked = _asked_buckets(
            asking, prefixes[asking], uncertain[asking], rows.subsets[asking], self.width
        )
        shift = self.shard_bits
        bucket_of, first = _directory(prefixes[places] >> shift, asked >> shift)
        ranges = _Ranges(asker, first[bucket_of], first[bucket_of + 1]).where_not_empty()
        # End each range before the asking record, because a bucket begins with the earliest ones.
        rank = np.empty(len(rows.record), np.int64)
        rank[np.argsort(rows.record, kind="stable")] = np.arange(len(rank))
        bucket = np.repeat(np.arange(len(first) - 1), np.diff(first))
        ages = bucket * len(rank) + rank[places]
        asker_ages = bucket[ranges.begin] * len(rank) + rank[ranges.asker]
        ranges = ranges._replace(end=np.searchsorted(ages, asker_ages)).where_not_empty()
        return self._compare(rows.record, words, places, ranges, max_candidates)

    def _compare(
        self,
        records: NDArray[np.int64],
        words: NDArray[np.uint64],
        places: NDArray[np.int64],
        ranges: _Ranges,
        max_candidates: int,
    ) -> Candidates:
        found: list[Candidates] = []
        hits = np.zeros(len(records), np.int64)
        step = _FIRST_STEP
        while len(ranges.asker):
            for batch in ranges.up_to(step).batches():
                counts = batch.end - batch.begin
                asker = np.repeat(batch.asker, counts)
                offsets = np.arange(len(asker)) - np.repeat(np.cumsum(counts) - counts, counts)
                other = places[np.repeat(batch.begin, counts) + offsets]
                distances = np.bitwise_count(words[asker, 0] ^ words[other, 0]).astype(np.int16)
                for word in range(1, words.shape[1]):
                    distances += np.bitwise_count(words[asker, word] ^ words[other, word])
                near = np.flatnonzero(distances <= self.max_distance)
                asker, other = asker[near], other[near]
                np.add.at(hits, asker, 1)
                found.append(Candidates(records[asker], records[other], distances[near]))
            ranges = ranges._replace(begin=ranges.begin + step).where_not_empty()
            # Records with too many hits get `MORE`, so they need no further comparisons.
            ranges = ranges.where(hits[ranges.asker] <= max_candidates)
            step *= _GROWTH
        return _limited(_joined(found), max_candidates)


def _limited(found: Candidates, max_candidates: int) -> Candidates:
    """Return the earliest found candidates of each record, and `MORE` if others were found."""
    order = np.lexsort((found.other, found.record))
    found = found.where(order)
    begins = np.flatnonzero(np.diff(found.record, prepend=-1))
    counts = np.diff(begins, append=len(order))
    rank = np.arange(len(order)) - np.repeat(begins, counts)
    record = found.record[begins[counts > max_candidates]]
    more = np.full(len(record), MORE)
    kept = found.where(rank < max_candidates)
    return _joined([kept, Candidates(record, more, np.zeros(len(record), np.int16))])


class _Ranges(NamedTuple):
    """Rows to compare: a row that asks, and a range of stored rows of a bucket, earliest first."""

    asker: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    def where(self, selected: NDArray[Any]) -> _Ranges:
        return _Ranges(self.asker[selected], self.begin[selected], self.end[selected])

    def where_not_empty(self) -> _Ranges:
        return self.where(self.begin < self.end)

    def up_to(self, step: int) -> _Ranges:
        return self._replace(end=np.minimum(self.end, self.begin + step))

    def batches(self) -> Iterator[_Ranges]:
        """Yield the ranges in batches of about `_BATCH_PAIRS` pairs."""
        ends = np.cumsum(self.end - self.begin)
        cuts = np.searchsorted(ends, np.arange(_BATCH_PAIRS, ends[-1], _BATCH_PAIRS))
        for batch in np.split(np.arange(len(ends)), np.unique(cuts)):
            if len(batch):
                yield self.where(batch)


def _flips(uncertain: NDArray[np.uint16], width: int) -> NDArray[np.int64]:
    """Return the masks that flip each subset of the uncertain bits of a prefix."""
    values = np.int64(1) << (width - 1 - uncertain.astype(np.int64))
    count = uncertain.shape[-1]
    subsets = (np.arange(1 << count)[:, None] >> np.arange(count) & 1).astype(np.int64)
    flips: NDArray[np.int64] = values @ subsets.T
    return flips


def _asked_buckets(
    asking: NDArray[np.int64],
    prefixes: NDArray[np.int64],
    uncertain: NDArray[np.uint8],
    subsets: NDArray[np.uint64],
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row that asks, prefix that it asks for) of all look-ups."""
    askers, asked = [], []
    for start in range(0, len(asking), _BATCH_RECORDS):
        batch = slice(start, start + _BATCH_RECORDS)
        flips = _flips(uncertain[batch].astype(np.uint16), width)
        is_asked = subsets[batch, None] >> np.arange(flips.shape[1], dtype=np.uint64) & np.uint64(1)
        row, subset = np.nonzero(is_asked)
        askers.append(asking[batch][row])
        asked.append(prefixes[batch][row] ^ flips[row, subset])
    return np.concatenate(askers), np.concatenate(asked)


def _directory(
    stored: NDArray[np.int64], asked: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (bucket number of each asked prefix, position in `stored` where each bucket begins).

    `stored` is sorted. Prefixes that are not in it get an empty bucket.
    """
    low, high = int(stored[0]), int(stored[-1])
    if high - low < 1 << _MAX_DIRECTORY_BITS:
        count = high - low + 1
        numbers = np.where((asked >= low) & (asked <= high), asked - low, count)
        sizes = np.bincount(stored - low, minlength=count + 1)
    else:
        values, sizes = np.unique(stored, return_counts=True)
        numbers = np.searchsorted(values, asked)
        numbers[values.take(numbers, mode="clip") != asked] = len(values)
        sizes = np.append(sizes, 0)
    return numbers, np.concatenate([[0], np.cumsum(sizes)])


def _joined(found: Sequence[Candidates]) -> Candidates:
    if not found:
        empty = np.empty(0, np.int64)
        return Candidates(empty, empty, empty.astype(np.int16))
    return Candidates(*map(np.concatenate, zip(*found, strict=True)))
