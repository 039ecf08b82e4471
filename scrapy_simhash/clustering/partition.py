"""Fingerprints in pieces that fit a processor's cache: those of a piece share leading bits.

Sorting 10 million words at once takes twice as long as sorting them in pieces, and each pass over
a whole array waits for memory. So chunks of the input are ordered by the leading bits of a
prefix, and a piece is put together from the stretches of all chunks that have the same ones.
Orders are stable: within a piece, fingerprints stand as in the input.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.clustering.threads import in_threads
from scrapy_simhash.clustering.words import field
from scrapy_simhash.index.plan import Block

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.words import Columns, Positions

_CHUNK = 1 << 17
# As many as one byte tells apart: numpy orders bytes by counting.
_MOST_LEADING_BITS = 8
_PIECE = 40_000


def leading_blocks(prefix: Sequence[Block], count: int) -> tuple[Block, ...]:
    """The first bits of a prefix, as many as cut so many fingerprints in pieces."""
    wanted = min((count // _PIECE).bit_length(), _MOST_LEADING_BITS)
    return bits_from(prefix, 0, wanted)


def bits_from(prefix: Sequence[Block], start: int, wanted: int) -> tuple[Block, ...]:
    """Up to `wanted` bits of a prefix after the `start` most significant ones."""
    found: list[Block] = []
    for shift, width in prefix:
        skipped = min(start, width)
        start -= skipped
        taken = min(width - skipped, wanted)
        wanted -= taken
        low = shift + width - skipped - taken
        if found and taken and found[-1].shift == low + taken:
            # Blocks that lie together are one: fewer passes take it out.
            found[-1] = Block(low, found[-1].width + taken)
        elif taken:
            found.append(Block(low, taken))
    return tuple(found)


class Partitioner:
    """Cuts the same fingerprints in pieces, by these bits and then by those.

    Its memory is as much as the fingerprints take, and four bytes for each; it is used again.

    :param columns: are not changed, and must not be while pieces are taken.
    :param threads: that cut, and that are to work on the pieces.
    """

    def __init__(self, columns: Columns, threads: int = 1) -> None:
        self.all_columns = columns
        self.threads = threads
        self._ordered = columns
        self._order: NDArray[np.uint32] | NDArray[np.uint64] = np.empty(0, dtype=np.uint32)
        self._bounds = np.empty((0, 0), dtype=np.intp)
        self.leading: tuple[Block, ...] = ()

    def cut(self, leading: tuple[Block, ...]) -> range:
        """Cut by these bits: the numbers of the pieces. With no bits, one piece is all."""
        pieces = range(1 << sum(width for _, width in leading))
        if leading == self.leading:
            return pieces
        self.leading = leading
        count = len(self.all_columns[0])
        if leading and not len(self._order):
            self._ordered = [np.empty(count, dtype=np.uint64) for _ in self.all_columns]
            self._order = np.empty(count, dtype=np.uint32 if count < 1 << 32 else np.uint64)
        chunks = range(0, count, _CHUNK)
        # Where the stretch of each piece begins in each chunk, counted from the chunk's start.
        self._bounds = np.empty((len(chunks), len(pieces) + 1), dtype=np.intp)
        self._bounds[:, 0] = 0
        jobs = [partial(self._cut_chunk, number) for number in range(len(chunks) if leading else 0)]
        for _ in in_threads(jobs, self.threads):
            pass
        return pieces

    def _cut_chunk(self, number: int) -> Iterator[None]:
        start = number * _CHUNK
        chunk = slice(start, start + _CHUNK)
        inputs = [column[chunk] for column in self.all_columns]
        keys = field(inputs, self.leading).astype(np.uint8)
        order = keys.argsort(kind="stable")
        bounds = self._bounds[number]
        np.cumsum(np.bincount(keys, minlength=len(bounds) - 1), out=bounds[1:])
        self._order[chunk] = order
        self._order[chunk] += self._order.dtype.type(start)
        for column, ordered in zip(inputs, self._ordered, strict=True):
            # Nothing is out of range; "clip" writes without a buffer between.
            np.take(column, order, out=ordered[chunk], mode="clip")
        yield None

    def columns(self, piece: int) -> Columns:
        """The fingerprints of a piece, in the order of the input."""
        if not self.leading:
            return self.all_columns
        stretches = self._stretches(piece)
        if not stretches:
            return [column[:0] for column in self._ordered]
        return [np.concatenate([column[part] for part in stretches]) for column in self._ordered]

    def positions(self, piece: int, local: Positions) -> Positions:
        """Where in the input some fingerprints of a piece are."""
        if not self.leading or not len(local):
            return local
        of_piece = np.concatenate([self._order[part] for part in self._stretches(piece)])
        places: Positions = of_piece[local].astype(np.intp)
        return places

    def _stretches(self, piece: int) -> list[slice]:
        """Where a piece is in each chunk that has some of it."""
        begins = self._bounds[:, piece].tolist()
        ends = self._bounds[:, piece + 1].tolist()
        return [
            slice(chunk * _CHUNK + begin, chunk * _CHUNK + end)
            for chunk, (begin, end) in enumerate(zip(begins, ends, strict=True))
            if begin < end
        ]
