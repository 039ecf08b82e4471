"""Convert fingerprints to columns: arrays of 64-bit words. Column 0 has the lowest 64 bits."""

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
# Words of unrelated fingerprints differ in 32 of 64 bits on average, rarely in fewer than these.
_UNRELATED_BITS = 20
# 2**64 divided by the golden ratio: multiplying by it mixes the bits (Knuth's multiplicative hash).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def columns_of(fingerprints: Sequence[int] | NDArray[Any], bits: int) -> Columns:
    """Return the columns of fingerprints.

    :raises SchemeError: `fingerprints` is neither a sequence nor an array of a possible shape and
        type, or a fingerprint is not an int from 0 to 2**bits - 1.
    """
    if isinstance(fingerprints, np.ndarray) and (
        fingerprints.dtype != object or fingerprints.ndim != 1
    ):
        return _from_array(fingerprints, bits)
    if not _is_list(fingerprints):
        kind = type(fingerprints).__name__
        raise SchemeError(f"fingerprints are a sequence of ints or an array, not {kind}")
    words = -(-bits // WORD_BITS)
    packed = bytearray()
    for position, value in enumerate(fingerprints):
        packed += _require_int(value, bits, position).to_bytes(words * 8, "little")
    return _columns(np.frombuffer(packed, "<u8").reshape(-1, words))


def split(fingerprints: Any, certainties: Any) -> tuple[Any, Any]:
    """Return (fingerprints, certainties) with each `Fingerprint` of a list replaced by its value.

    If `certainties` is None and all fingerprints are such objects, return their certainties.
    """
    if isinstance(fingerprints, (list, tuple)):
        objects = [item for item in fingerprints if isinstance(item, Fingerprint)]
        if certainties is None and objects and len(objects) == len(fingerprints):
            certainties = [item.certainty for item in objects]
        if objects:
            fingerprints = [i.value if isinstance(i, Fingerprint) else i for i in fingerprints]
    return fingerprints, certainties


def certainty_rows(
    certainties: Sequence[bytes] | NDArray[Any] | None, count: int, bits: int
) -> NDArray[np.uint8] | None:
    """Return an array with a row for each fingerprint; None if some certainties are unknown.

    :raises SchemeError: `certainties` is neither an array nor a sequence of bytes, or there is not
        one row for each fingerprint, or not one byte for each bit.
    """
    if certainties is None:
        return None
    if not isinstance(certainties, np.ndarray):
        if not _is_list(certainties):
            kind = type(certainties).__name__
            raise SchemeError(f"certainties are a sequence of bytes or an array, not {kind}")
        if not all(isinstance(row, bytes) and len(row) in (0, bits) for row in certainties):
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
    """Return the columns of the fingerprints at some positions."""
    return [column.take(positions) for column in columns]


def distances(ones: Columns, others: Columns, first: Positions, second: Positions) -> Distances:
    """Return the Hamming distances of ones[first] and others[second], pair by pair."""
    total = np.zeros(len(first), dtype=np.uint16)
    for one, other in zip(ones, others, strict=True):
        total += np.bitwise_count(one[first] ^ other[second])
    return total


def word_masks(blocks: Sequence[Block], words: int) -> list[np.uint64]:
    """Return, for each of `words` columns, a mask of the bits of some blocks."""
    mask = sum((1 << width) - 1 << shift for shift, width in blocks)
    return [np.uint64(mask >> WORD_BITS * at & (1 << WORD_BITS) - 1) for at in range(words)]


def hashed(columns: Columns, blocks: Sequence[Block]) -> NDArray[np.uint32]:
    """Return, for each fingerprint, a 32-bit hash of its bits in some blocks."""
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, mask in zip(columns, word_masks(blocks, len(columns)), strict=True):
        if mask:
            hashes ^= hashes >> np.uint64(29)
            hashes ^= column & mask
            hashes *= _MULTIPLIER
    hashes >>= np.uint64(WORD_BITS - HASH_BITS)
    return hashes.astype(np.uint32)


def telling_words(words: int, max_distance: int) -> int:
    """Return how many of the words are enough to reject most unrelated pairs."""
    return min(words, max_distance // _UNRELATED_BITS + 1)


def varying(columns: Columns, bits: int) -> tuple[Columns, int]:
    """Return the fingerprints without the bits that are equal in all, and the number of bits left.

    Distances stay the same. If no bit varies, or each does, return the fingerprints unchanged.
    """
    differing = [int(np.bitwise_or.reduce(column ^ column[0])) for column in columns]
    kept = [at for at in range(bits) if differing[at // WORD_BITS] >> at % WORD_BITS & 1]
    if len(kept) == bits or not kept:
        return columns, bits
    rows = np.stack(columns, axis=1).astype("<u8").view(np.uint8)
    packed = np.packbits(np.unpackbits(rows, axis=1, bitorder="little")[:, kept], 1, "little")
    padded = np.zeros((len(rows), -(-len(kept) // WORD_BITS) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return _columns(padded.view("<u8")), len(kept)


def _columns(rows: NDArray[Any]) -> Columns:
    """Return the columns of rows of words; the first word of a row is the lowest."""
    return [np.ascontiguousarray(column, dtype=np.uint64) for column in rows.T]


def _is_list(value: Any) -> bool:
    """Return True for an ordered collection of known length, such as a list, but not for text."""
    not_lists = (str, bytes, bytearray, memoryview, AbstractSet, Mapping)
    return hasattr(value, "__len__") and not isinstance(value, not_lists)


def _require_int(value: Any, bits: int, position: int) -> int:
    """Return the fingerprint at a position of the input as an int, or raise SchemeError."""
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
    words = -(-bits // WORD_BITS)
    if array.ndim == 1 and array.dtype.kind in "ui" and bits <= WORD_BITS:
        return [_one_word(array, bits)]
    if array.size == 0 and array.ndim == 1:
        return [np.empty(0, dtype=np.uint64) for _ in range(words)]
    item_bits = array.dtype.itemsize * 8
    if (
        array.ndim == 2  # noqa: PLR2004
        and array.dtype.kind == "u"
        and item_bits in (8, WORD_BITS)
        and array.shape[1] * item_bits == bits
    ):
        if item_bits != WORD_BITS:
            array = np.pad(array, ((0, 0), (words * 8 - bits // 8, 0))).view(">u8")
        return _columns(array[:, ::-1])
    accepted = [f"(n, {bits // 8}) uint8"]
    if bits <= WORD_BITS:
        accepted.append("(n,) uint64")
    if bits % WORD_BITS == 0:
        accepted.append(f"(n, {bits // WORD_BITS}) uint64")
    raise SchemeError(
        f"an array of shape {array.shape} and type {array.dtype}: for {bits} bits, "
        f"{' or '.join(accepted)} is needed"
    )


def _one_word(array: NDArray[Any], bits: int) -> Words:
    invalid = (array < 0) | (array > (1 << bits) - 1)
    if invalid.any():
        position = int(np.argmax(invalid))
        _require_int(array[position], bits, position)
    return np.ascontiguousarray(array, dtype=np.uint64)
