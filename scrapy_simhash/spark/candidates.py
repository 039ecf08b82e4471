"""Find the candidates that an index would compare, by groups of records that share a bucket.

An index compares a record with the earlier ones in the buckets that it asks. Here the buckets of
each table are cut in *shards*, by the last bits of the prefix. A record goes to each shard that
holds one of its buckets, and a shard is searched by itself, in numpy. The probes are those of
`scrapy_simhash.index.probing`, so the pairs are those of the index.

A record with thousands of near ones reports the first of them, and that there are more. So a
hundred thousand copies of one page make no ten thousand million pairs.
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

# Records of a shard, about: some dozens of megabytes in a Python worker.
SHARD_RECORDS = 1 << 17
MORE = -(1 << 62)
"""In place of a candidate: there are more than were reported."""
# Longer prefixes are hashed.
_MOST_PREFIX_BITS = 62
# A directory of buckets has up to so many entries.
_MOST_DIRECTORY_BITS = 22
_AT_ONCE = 2048
# Candidates of each bucket that are compared first, and by how many times more later.
_FIRST_STEP = 32
_GROWTH = 4
_COMPARED_AT_ONCE = 1 << 19


class ShardRows(NamedTuple):
    """Records in their shards, as columns.

    :param shard: a table and the last bits of a prefix.
    :param record: position of the record in the order.
    :param prefix: of the record in this table.
    :param least: numbers of its least certain bits, a byte each.
    :param subsets: bit i is set if the record asks for the prefix with subset i flipped.
    """

    shard: NDArray[np.int32]
    record: NDArray[np.int64]
    prefix: NDArray[np.int64]
    least: list[bytes]
    subsets: NDArray[np.uint64]
    fingerprint: list[bytes]


class Candidates(NamedTuple):
    """Pairs of records within the distance; `other` is the earlier one, or `MORE`."""

    record: NDArray[np.int64]
    other: NDArray[np.int64]
    distance: NDArray[np.int16]

    def where(self, chosen: NDArray[Any]) -> Candidates:
        """Return the chosen pairs."""
        return Candidates(self.record[chosen], self.other[chosen], self.distance[chosen])


@dataclass(frozen=True)
class CandidateSearch:
    """A search with the tables of an index.

    :param records: about how many there are.
    """

    plan: TablePlan
    max_distance: int
    records: int

    @cached_property
    def width(self) -> int:
        """Bits of a prefix, or of its hash."""
        return min(*self.plan.prefix_widths_bits, _MOST_PREFIX_BITS)

    @cached_property
    def shard_bits(self) -> int:
        """Last bits of a prefix that choose the shard."""
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
        """Yield the rows of records, some records at a time.

        :param asks: which of the records ask; others are only found.

        :raises SimhashError: a fingerprint has another width, or its certainty is missing.
        """
        bits = self.plan.bits
        for start in range(0, len(records), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            if any(len(one) * 8 != bits for one in fingerprints[some]):
                raise SimhashError(f"a fingerprint has not {bits} bits: make all with one scheme")
            if self.plan.probes and any(len(one) != bits for one in certainties[some]):
                raise SimhashError(
                    f"a fingerprint comes without the certainties of its {bits} bits: make it with "
                    "`scrapy_simhash.spark.fingerprints`"
                )
            yield self._table_rows(records[some], fingerprints[some], certainties[some], asks[some])

    def _table_rows(
        self,
        records: NDArray[np.int64],
        fingerprints: Sequence[bytes],
        certainties: Sequence[bytes],
        asks: NDArray[np.bool_],
    ) -> ShardRows:
        tables = len(self.plan.tables)
        own = self._prefixes(fingerprints)
        if self.plan.probes:
            size = self.plan.prefix_bits * tables
            known = np.frombuffer(b"".join(one[:size] for one in certainties), np.uint8)
            least, chosen = self._prober.subsets(known.reshape(len(records), tables, -1))
            chosen[~asks, :, 1:] = False
            flips = _flips(least, self.width)
            places = np.flatnonzero(chosen)
            subset = places % chosen.shape[-1]
            place = places // chosen.shape[-1]
            asked = own.ravel()[place] ^ flips.ravel()[places]
        else:
            least = np.empty((len(records), tables, 0), np.uint16)
            place = np.arange(own.size)
            subset = np.zeros(own.size, np.int64)
            asked = own.ravel()
        # One row for each shard of a table that a record asks.
        keys = place << self.shard_bits | asked & self._shard_mask
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        subsets = np.bitwise_or.reduceat(np.uint64(1) << subset[order].astype(np.uint64), starts)
        found = keys[order][starts]
        place = found >> self.shard_bits
        table, record = place % tables, place // tables
        shard = table << self.shard_bits | found & self._shard_mask
        flat = least.astype(np.uint8).reshape(own.size, -1)
        return ShardRows(
            shard.astype(np.int32),
            records[record],
            own.ravel()[place],
            [row.tobytes() for row in flat[place]],
            subsets,
            [fingerprints[at] for at in record.tolist()],
        )

    def _prefixes(self, fingerprints: Sequence[bytes]) -> NDArray[np.int64]:
        prefixes = [self.plan.prefixes(int.from_bytes(one, "big")) for one in fingerprints]
        if max(self.plan.prefix_widths_bits) > _MOST_PREFIX_BITS:
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
        most: int,
    ) -> Candidates:
        """Return the candidates in one shard.

        :param asks: which of the records ask.
        :param stored: which of them can be found.
        :param most: of a record that has more candidates than this in the shard, the others may be
            left out; it is reported once with `MORE`.
        """
        packed = np.frombuffer(b"".join(rows.fingerprint), np.uint8).reshape(len(rows.record), -1)
        words = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
        prefixes = rows.prefix
        here = int(rows.shard[0]) & self._shard_mask
        stored = stored & (prefixes & self._shard_mask == here)
        # By bucket, and in it by age.
        places = np.flatnonzero(stored)
        places = places[np.lexsort((rows.record[places], prefixes[places]))]
        asking = np.flatnonzero(asks)
        if not len(places) or not len(asking):
            return _candidates([])
        least = np.frombuffer(b"".join(rows.least), np.uint8).reshape(len(prefixes), -1)
        asker, asked = _asked(
            asking, prefixes[asking], least[asking], rows.subsets[asking], self.width
        )
        shift = self.shard_bits
        codes, first = _directory(prefixes[places] >> shift, asked >> shift)
        ranges = _Ranges(asker, first[codes], first[codes + 1]).where_not_empty()
        # The earlier ones of a bucket come first.
        rank = np.empty(len(rows.record), np.int64)
        rank[np.argsort(rows.record, kind="stable")] = np.arange(len(rank))
        bucket = np.repeat(np.arange(len(first) - 1), np.diff(first))
        ages = bucket * len(rank) + rank[places]
        own = bucket[ranges.begin] * len(rank) + rank[ranges.asker]
        ranges = ranges._replace(end=np.searchsorted(ages, own)).where_not_empty()
        return self._compared(rows.record, words, places, ranges, most)

    def _compared(
        self,
        records: NDArray[np.int64],
        words: NDArray[np.uint64],
        places: NDArray[np.int64],
        ranges: _Ranges,
        most: int,
    ) -> Candidates:
        found: list[Candidates] = []
        hits = np.zeros(len(records), np.int64)
        step = _FIRST_STEP
        while len(ranges.asker):
            for some in ranges.up_to(step).pieces():
                counts = some.end - some.begin
                asker = np.repeat(some.asker, counts)
                offsets = np.arange(len(asker)) - np.repeat(np.cumsum(counts) - counts, counts)
                other = places[np.repeat(some.begin, counts) + offsets]
                distances = np.bitwise_count(words[asker, 0] ^ words[other, 0]).astype(np.int16)
                for word in range(1, words.shape[1]):
                    distances += np.bitwise_count(words[asker, word] ^ words[other, word])
                near = np.flatnonzero(distances <= self.max_distance)
                asker, other = asker[near], other[near]
                np.add.at(hits, asker, 1)
                found.append(Candidates(records[asker], records[other], distances[near]))
            ranges = ranges._replace(begin=ranges.begin + step).where_not_empty()
            # Those that have one too many need no more.
            ranges = ranges.where(hits[ranges.asker] <= most)
            step *= _GROWTH
        return _first(_candidates(found), most)


def _first(found: Candidates, most: int) -> Candidates:
    """Return of each record the earliest candidates, and `MORE` if there are others."""
    order = np.lexsort((found.other, found.record))
    found = found.where(order)
    begins = np.flatnonzero(np.diff(found.record, prepend=-1))
    counts = np.diff(begins, append=len(order))
    rank = np.arange(len(order)) - np.repeat(begins, counts)
    record = found.record[begins[counts > most]]
    more = np.full(len(record), MORE)
    kept = found.where(rank < most)
    return _candidates([kept, Candidates(record, more, np.zeros(len(record), np.int16))])


class _Ranges(NamedTuple):
    """Which records are compared with which stored ones."""

    asker: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    def where(self, chosen: NDArray[Any]) -> _Ranges:
        return _Ranges(self.asker[chosen], self.begin[chosen], self.end[chosen])

    def where_not_empty(self) -> _Ranges:
        return self.where(self.begin < self.end)

    def up_to(self, step: int) -> _Ranges:
        return self._replace(end=np.minimum(self.end, self.begin + step))

    def pieces(self) -> Iterator[_Ranges]:
        ends = np.cumsum(self.end - self.begin)
        cuts = np.searchsorted(ends, np.arange(_COMPARED_AT_ONCE, ends[-1], _COMPARED_AT_ONCE))
        for piece in np.split(np.arange(len(ends)), np.unique(cuts)):
            if len(piece):
                yield self.where(piece)


def _flips(least: NDArray[np.uint16], width: int) -> NDArray[np.int64]:
    """Return which bits of a prefix each subset of the least certain ones flips."""
    values = np.int64(1) << (width - 1 - least.astype(np.int64))
    count = least.shape[-1]
    subsets = (np.arange(1 << count)[:, None] >> np.arange(count) & 1).astype(np.int64)
    flips: NDArray[np.int64] = values @ subsets.T
    return flips


def _asked(
    asking: NDArray[np.int64],
    prefixes: NDArray[np.int64],
    least: NDArray[np.uint8],
    subsets: NDArray[np.uint64],
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (record, prefix) of all buckets that are asked."""
    askers, asked = [], []
    for start in range(0, len(asking), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        flips = _flips(least[some].astype(np.uint16), width)
        chosen = subsets[some, None] >> np.arange(flips.shape[1], dtype=np.uint64) & np.uint64(1)
        record, subset = np.nonzero(chosen)
        askers.append(asking[some][record])
        asked.append(prefixes[some][record] ^ flips[record, subset])
    return np.concatenate(askers), np.concatenate(asked)


def _directory(
    stored: NDArray[np.int64], asked: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the buckets that are asked, as numbers, and where each bucket begins in `stored`,
    which is sorted.
    """
    low, high = int(stored[0]), int(stored[-1])
    if high - low < 1 << _MOST_DIRECTORY_BITS:
        # The last bucket is an empty one, for what is not there.
        count = high - low + 1
        codes = np.where((asked >= low) & (asked <= high), asked - low, count)
        sizes = np.bincount(stored - low, minlength=count + 1)
    else:
        values, sizes = np.unique(stored, return_counts=True)
        codes = np.searchsorted(values, asked)
        codes[values.take(codes, mode="clip") != asked] = len(values)
        sizes = np.append(sizes, 0)
    return codes, np.concatenate([[0], np.cumsum(sizes)])


def _candidates(found: Sequence[Candidates]) -> Candidates:
    if not found:
        empty = np.empty(0, np.int64)
        return Candidates(empty, empty, empty.astype(np.int16))
    return Candidates(*map(np.concatenate, zip(*found, strict=True)))
