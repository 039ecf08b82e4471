"""Convert fingerprints to columns of 64-bit words; column 0 has the lowest 64 bits of each."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.fingerprint import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import Block

    Words: TypeAlias = NDArray[np.uint64]
    Columns: TypeAlias = list[Words]
    Positions: TypeAlias = NDArray[np.intp]
    Distances: TypeAlias = NDArray[np.uint16]

WORD_BITS = 64
HASH_BITS = 32
MAX_BITS = 512
# Unrelated fingerprints differ in 32 of 64 bits on average, and rarely in fewer than this.
_UNRELATED_BITS = 20
# An odd number with about as many bits set as not.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Number of fingerprints that are converted at a time.
_CHUNK = 1 << 16


def check_bits(bits: int) -> int:
    """Return the width of fingerprints as an int.

    :raises SchemeError: it is not a multiple of 8 from 8 to 512.
    """
    if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)):
        raise SchemeError(f"bits = {bits!r}: a whole number is needed")
    if not 8 <= bits <= MAX_BITS or bits % 8:  # noqa: PLR2004 - the narrowest fingerprint
        raise SchemeError(f"bits = {bits}: a multiple of 8 from 8 to {MAX_BITS} is needed")
    return int(bits)


def columns_of(fingerprints: Sequence[int] | NDArray[Any], bits: int) -> Columns:
    """Return the columns of fingerprints in any form that `cluster` takes.

    :raises SchemeError: a fingerprint is not an int, is negative or wider than `bits`, or an array
        has a wrong shape or type.
    """
    if isinstance(fingerprints, np.ndarray):
        return _from_array(fingerprints, bits)
    if isinstance(fingerprints, (str, bytes, bytearray, memoryview, AbstractSet, Mapping)):
        kind = type(fingerprints).__name__
        raise SchemeError(f"fingerprints are a sequence of ints or an array, not {kind}")
    return _from_ints(fingerprints, bits)


def split(fingerprints: Any, certainties: Any) -> tuple[Any, Any]:
    """Return the values of `Fingerprint` objects, and their certainties unless others are given."""
    if isinstance(fingerprints, (list, tuple)) and any(
        isinstance(one, Fingerprint) for one in fingerprints
    ):
        if certainties is None and all(isinstance(one, Fingerprint) for one in fingerprints):
            certainties = [one.certainty for one in fingerprints]
        fingerprints = [one.value if isinstance(one, Fingerprint) else one for one in fingerprints]
    return fingerprints, certainties


def certainty_rows(
    certainties: Sequence[bytes] | NDArray[Any] | None, count: int, bits: int
) -> NDArray[np.uint8] | None:
    """Return a row of certainties for each fingerprint; None if some are unknown.

    :raises SchemeError: there is not one row for each fingerprint, or not one byte for each bit.
    """
    if certainties is None:
        return None
    if not isinstance(certainties, np.ndarray):
        if not all(isinstance(one, bytes) and len(one) in (0, bits) for one in certainties):
            raise SchemeError(f"certainties are {bits} bytes for each fingerprint, or none")
        if len(certainties) == count and not all(certainties):
            return None
        certainties = np.frombuffer(b"".join(certainties), np.uint8).reshape(-1, bits)
    if certainties.shape != (count, bits) or certainties.dtype != np.uint8:
        raise SchemeError(
            f"certainties of shape {certainties.shape} and type {certainties.dtype}: for {count} "
            f"fingerprints of {bits} bits, ({count}, {bits}) uint8 is needed"
        )
    return certainties


def take(columns: Columns, positions: Positions) -> Columns:
    """Return the columns of some of the fingerprints."""
    return [column.take(positions) for column in columns]


def distances(ones: Columns, others: Columns, first: Positions, second: Positions) -> Distances:
    """Return the Hamming distances of ones[first] to others[second]."""
    total = np.zeros(len(first), dtype=np.uint16)
    for one, other in zip(ones, others, strict=True):
        total += np.bitwise_count(one[first] ^ other[second])
    return total


def hashed(columns: Columns, blocks: Sequence[Block] | None = None) -> NDArray[np.uint32]:
    """Return a 32-bit hash of some blocks of each fingerprint, or of all its bits."""
    chosen = -1 if blocks is None else sum((1 << width) - 1 << shift for shift, width in blocks)
    by_word = [
        chosen >> WORD_BITS * number & (1 << WORD_BITS) - 1 for number in range(len(columns))
    ]
    hashes = np.empty(len(columns[0]), dtype=np.uint32)
    # A chunk fits the cache of the processor.
    for start in range(0, len(hashes), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        found = np.zeros(len(hashes[chunk]), dtype=np.uint64)
        for column, bits in zip(columns, by_word, strict=True):
            if bits:
                found ^= found >> np.uint64(29)
                found ^= column[chunk] & np.uint64(bits)
                found *= _MULTIPLIER
        hashes[chunk] = found >> np.uint64(WORD_BITS - HASH_BITS)
    return hashes


def telling_words(words: int, max_distance: int) -> int:
    """Return how many words are enough to reject most unrelated pairs."""
    return min(words, max_distance // _UNRELATED_BITS + 1)


def varying(columns: Columns, bits: int) -> tuple[Columns, int]:
    """Return the fingerprints without the bits that all share, and the number of bits left.

    Distances stay the same.
    """
    kept = [
        number * WORD_BITS + bit
        for number, column in enumerate(columns)
        for bit in range(WORD_BITS)
        if int(np.bitwise_or.reduce(column ^ column[0])) >> bit & 1
    ]
    if len(kept) == bits or not kept:
        return columns, bits
    width_bytes = -(-len(kept) // WORD_BITS) * 8
    found = np.zeros((len(columns[0]), width_bytes), dtype=np.uint8)
    for start in range(0, len(found), _CHUNK):
        rows = np.stack([column[start : start + _CHUNK] for column in columns], axis=1)
        unpacked = np.unpackbits(rows.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        packed = np.packbits(unpacked[:, kept], axis=1, bitorder="little")
        found[start : start + _CHUNK, : packed.shape[1]] = packed
    return list(found.view("<u8").T.astype(np.uint64, order="C")), len(kept)


def _from_ints(fingerprints: Sequence[int] | NDArray[Any], bits: int) -> Columns:
    try:
        count = len(fingerprints)
    except TypeError as error:
        kind = type(fingerprints).__name__
        raise SchemeError(f"fingerprints are a sequence of ints or an array, not {kind}") from error
    words = -(-bits // WORD_BITS)
    columns = [np.empty(count, dtype=np.uint64) for _ in range(words)]
    row_bytes = words * 8
    for start in range(0, count, _CHUNK):
        packed = bytearray()
        for position in range(start, min(start + _CHUNK, count)):
            packed += _checked(fingerprints[position], bits, position).to_bytes(row_bytes, "little")
        rows = np.frombuffer(packed, "<u8").reshape(-1, words)
        for number, column in enumerate(columns):
            column[start : start + len(rows)] = rows[:, number]
    return columns


def _checked(value: Any, bits: int, position: int) -> int:
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        fingerprint = operator.index(value)
    except TypeError:
        raise SchemeError(f"fingerprint {position} is {value!r}: an int is needed") from None
    if not 0 <= fingerprint < 1 << bits:
        raise SchemeError(f"fingerprint {position} is {fingerprint}: 0 to 2**{bits} - 1 is needed")
    return fingerprint


def _from_array(array: NDArray[Any], bits: int) -> Columns:
    if array.dtype == object and array.ndim == 1:
        return _from_ints(array, bits)
    if array.ndim == 1 and array.dtype.kind in "ui" and bits <= WORD_BITS:
        return [_one_word(array, bits)]
    width = {np.dtype(np.uint8): 8, np.dtype(np.uint64): WORD_BITS}.get(
        array.dtype.newbyteorder("=")
    )
    if array.size == 0 and array.ndim == 1:
        return [np.empty(0, dtype=np.uint64) for _ in range(-(-bits // WORD_BITS))]
    if array.ndim == 2 and width and array.shape[1] * width == bits:  # noqa: PLR2004
        return _from_rows(array, bits)
    wanted = [f"(n, {bits // 8}) uint8"]
    if bits <= WORD_BITS:
        wanted.append("(n,) uint64")
    if bits % WORD_BITS == 0:
        wanted.append(f"(n, {bits // WORD_BITS}) uint64")
    raise SchemeError(
        f"an array of shape {array.shape} and type {array.dtype}: for {bits} bits, "
        f"{' or '.join(wanted)} is needed"
    )


def _one_word(array: NDArray[Any], bits: int) -> Words:
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        position = int(np.argmin(array))
        raise SchemeError(f"fingerprint {position} is {array[position]}: negative")
    words = np.ascontiguousarray(array, dtype=np.uint64)
    if bits < WORD_BITS and words.size and int(words.max()) >> bits:
        position = int(np.argmax(words))
        raise SchemeError(
            f"fingerprint {position} is {words[position]}: 0 to 2**{bits} - 1 is needed"
        )
    return words


def _from_rows(array: NDArray[Any], bits: int) -> Columns:
    words = -(-bits // WORD_BITS)
    columns = [np.empty(len(array), dtype=np.uint64) for _ in range(words)]
    for start in range(0, len(array), _CHUNK):
        chunk = array[start : start + _CHUNK]
        if array.dtype.itemsize == 1:
            padded = np.zeros((len(chunk), words * 8), dtype=np.uint8)
            padded[:, words * 8 - chunk.shape[1] :] = chunk
            chunk = padded.view(">u8")
        for number, column in enumerate(columns):
            column[start : start + len(chunk)] = chunk[:, words - 1 - number]
    return columns
