"""The pages that runs point to: fingerprint, hash of the key and ordinal of each, by position.

The first ones are in two files, which are mapped into memory; the others wait in memory.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64_hexdigest

from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.run import map_file, sync_folder
from scrapy_simhash.index.run_files import FINGERPRINTS, IDS, KEY_HASH_BITS, PagePart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_WORD_BYTES = 8
_ORDINAL = (1 << KEY_HASH_BITS) - 1
_FIRST_ROOM = 8192
# Fingerprints of 256 bits have so many words, and are summed in one product.
_WORDS_OF_A_PRODUCT = 4
_ONE_IN_EACH_BYTE = np.uint32(0x01010101)
_UPPER_BYTE = np.uint32(24)


class Near(NamedTuple):
    """Pages near a fingerprint that asks.

    :param owners: the number of the fingerprint that asks, for each page.
    :param fingerprints: of the pages, in words.
    """

    owners: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    ids: NDArray[np.uint64]


class Pages:
    """Fingerprints, in rows of 64-bit words, and *ids*: the hash of a key above an ordinal.

    :param words: of a fingerprint.
    :param durable: what is written is on the disk before the database names it.
    """

    def __init__(self, folder: Path, location: str, words: int, *, durable: bool) -> None:
        self._folder = folder
        self._location = location
        self._words = words
        self._durable = durable
        self._stored = np.empty((0, words), np.uint64)
        self._stored_ids = np.empty(0, np.uint64)
        self._waiting = np.empty((_FIRST_ROOM, words), np.uint64)
        self._waiting_ids = np.empty(_FIRST_ROOM, np.uint64)
        self.waiting = 0
        """Number of pages in memory."""

    @property
    def stored(self) -> int:
        """Number of pages in files, removed ones among them."""
        return len(self._stored)

    @property
    def page_bytes(self) -> int:
        """Bytes of a page in the files."""
        return _WORD_BYTES * (self._words + 1)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the arrays in memory."""
        return self._waiting.nbytes + self._waiting_ids.nbytes

    def add(self, fingerprint: int, key_hash: int, ordinal: int) -> None:
        """Append a page, in memory."""
        if self.waiting == len(self._waiting):
            room = self.waiting // 2 + _FIRST_ROOM
            self._waiting = np.concatenate(
                [self._waiting, np.empty((room, self._words), np.uint64)]
            )
            self._waiting_ids = np.concatenate([self._waiting_ids, np.empty(room, np.uint64)])
        self._waiting[self.waiting] = self.packed([fingerprint])
        self._waiting_ids[self.waiting] = key_hash << KEY_HASH_BITS | ordinal
        self.waiting += 1

    def packed(self, fingerprints: Sequence[int]) -> NDArray[np.uint64]:
        """Return fingerprints in rows of words."""
        size = _WORD_BYTES * self._words
        packed = b"".join([fingerprint.to_bytes(size, "little") for fingerprint in fingerprints])
        return np.frombuffer(packed, "<u8").reshape(-1, self._words)

    def near(
        self,
        asking: NDArray[np.uint64],
        positions: NDArray[np.uint32],
        owners: NDArray[np.int64],
        max_distance: int,
        *,
        in_files: int,
        newest: int,
    ) -> Near | None:
        """Return the pages within a distance of fingerprints that ask, repeatedly if they are given
        so; None if there are none.

        :param asking: the fingerprints that ask, in words.
        :param positions: of pages to compare.
        :param owners: the number of the fingerprint to compare each of them with.
        :param in_files: so many of them, the first ones, are in files; the others are in memory.
        :param newest: the pages in memory from this number on are compared with all that ask.
        """
        count, young = len(positions), self.waiting - newest
        stored, waiting = positions[:in_files], positions[in_files:] - np.uint32(self.stored)
        differing = np.empty((count + len(asking) * young, self._words), np.uint64)
        # Positions are sound, as files were checked; `mode` spares a copy.
        self._stored.take(stored, axis=0, out=differing[:in_files], mode="clip")
        self._waiting.take(waiting, axis=0, out=differing[in_files:count], mode="clip")
        differing[count:].reshape(len(asking), young, self._words)[:] = self._waiting[
            newest : self.waiting
        ]
        if len(asking) == 1:
            # Row by row, numpy would take three times as long.
            differing.ravel()[:] ^= np.frombuffer(asking.tobytes() * len(differing), np.uint64)
        else:
            owners = np.concatenate([owners, np.arange(len(asking)).repeat(young)])
            differing ^= asking.take(owners, axis=0)
        near = np.flatnonzero(_row_sums(np.bitwise_count(differing)) <= max_distance)
        if not len(near):
            return None
        ids = np.concatenate(
            [
                self._stored_ids.take(stored[near[near < in_files]]),
                self._waiting_ids.take(
                    waiting[near[(near >= in_files) & (near < count)] - in_files]
                ),
                self._waiting_ids.take((near[near >= count] - count) % max(young, 1) + newest),
            ]
        )
        near_owners = np.zeros(len(near), np.int64) if len(asking) == 1 else owners.take(near)
        return Near(near_owners, differing[near] ^ asking.take(near_owners, axis=0), ids)

    def fingerprints(self, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the fingerprints at positions that are all in files, or all in memory."""
        rows, at = self._at(self._stored, self._waiting, positions)
        found: NDArray[np.uint64] = rows.take(at, axis=0)
        return found

    def ids(self, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the ids at positions that are all in files, or all in memory, in rows of one."""
        rows, at = self._at(self._stored_ids, self._waiting_ids, positions)
        return rows.take(at).reshape(-1, 1)

    def id(self, position: int) -> int:
        """Return the id of a page."""
        stored = self.stored
        if position < stored:
            return self._stored_ids.item(position)
        return self._waiting_ids.item(position - stored)

    def page(self, position: int) -> tuple[int, int, int]:
        """Return (fingerprint, hash of the key, ordinal) of a page in files."""
        number = self._stored_ids.item(position)
        fingerprint = int.from_bytes(self._stored[position].tobytes(), "little")
        return fingerprint, number >> KEY_HASH_BITS, ordinal_of(number)

    def newest(self, first: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the fingerprints, and the ids in rows of one, of the pages in memory from `first`
        on.
        """
        ids = self._waiting_ids[first : self.waiting].reshape(-1, 1)
        return self._waiting[first : self.waiting], ids

    def waiting_ids(self) -> list[int]:
        """Return the ids of the pages in memory."""
        found: list[int] = self._waiting_ids[: self.waiting].tolist()
        return found

    def write(self, count: int) -> PagePart:
        """Write the first pages of those in memory behind those in files.

        They stay in memory until `moved` is called.

        :raises OSError: the disk fails.
        """
        checksums = []
        for name, rows in (
            (FINGERPRINTS, self._waiting[:count]),
            (IDS, self._waiting_ids[:count]),
        ):
            packed = rows.astype("<u8").tobytes()
            self._append(name, packed, self.stored * (len(packed) // count) if count else 0)
            checksums.append(xxh3_64_hexdigest(packed))
        if self._durable:
            sync_folder(self._folder)
        return PagePart(count, *checksums)

    def moved(self, count: int, parts: Sequence[PagePart]) -> None:
        """Note that the first pages in memory were written, and that the database says so."""
        self.open(parts)
        self._waiting = self._waiting[count:].copy()
        self._waiting_ids = self._waiting_ids[count:].copy()
        self.waiting -= count

    def open(self, parts: Sequence[PagePart], *, check: bool = False) -> None:
        """Map the files.

        :raises IndexCorrupt: they are too short, or, with `check`, not what was written.
        :raises OSError: they cannot be read.
        """
        count = sum(part.rows for part in parts)
        if not count:
            return
        self._stored = self._mapped(FINGERPRINTS, (count, self._words))
        self._stored_ids = self._mapped(IDS, (count,))
        first = 0
        for part in parts if check else ():
            stop = first + part.rows
            for name, rows, checksum in (
                (FINGERPRINTS, self._stored, part.fingerprints_checksum),
                (IDS, self._stored_ids, part.ids_checksum),
            ):
                if xxh3_64_hexdigest(rows[first:stop].data) != checksum:
                    path = self._folder / name
                    raise corrupt(self._location, f"{path} has not the bytes that were written")
            first = stop

    def _at(
        self, stored: NDArray[Any], waiting: NDArray[Any], positions: NDArray[np.uint32]
    ) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        if len(positions) and positions[0] >= self.stored:
            return waiting, positions - np.uint32(self.stored)
        return stored, positions

    def _append(self, name: str, packed: bytes, at: int) -> None:
        descriptor = os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, at)  # what an interruption left
            view = memoryview(packed)
            while view:
                written = os.pwrite(descriptor, view, at)
                at, view = at + written, view[written:]
            if self._durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _mapped(self, name: str, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        path = self._folder / name
        if path.stat().st_size < _WORD_BYTES * int(np.prod(shape)):
            raise corrupt(self._location, f"{path} is too short")
        return map_file(path, "<u8", shape)


def ordinal_of(number: int) -> int:
    """Return the ordinal in the id of a page."""
    return number & _ORDINAL


def _row_sums(bits: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the sums of rows of bytes, each of 64 at most. Of four such bytes, 256 becomes 0."""
    words = bits.shape[1]
    if words == _WORDS_OF_A_PRODUCT:
        # The upper byte of the product is the sum of all bytes (Warren, Hacker's Delight, 5-1).
        product: NDArray[np.uint32] = bits.view(np.uint32).ravel() * _ONE_IN_EACH_BYTE
        product >>= _UPPER_BYTE
        return product
    sums = bits[:, 0].astype(np.uint16)
    for word in range(1, words):
        sums += bits[:, word]
    return sums
