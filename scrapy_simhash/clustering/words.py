"""Convert fingerprints to 64-bit words: arrays of shape (words, n), with the lowest words first."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.fingerprint import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import Block

    Words: TypeAlias = NDArray[np.uint64]
    Positions: TypeAlias = NDArray[np.intp]
    Distances: TypeAlias = NDArray[np.uint16]

WORD_BITS = 64
HASH_BITS = 32
# Words of unrelated fingerprints differ in 32 of 64 bits on average, rarely in fewer than 20.
_UNRELATED_BITS = 20
# 2**64 divided by the golden ratio: multiplying by it mixes the bits (Knuth's multiplicative hash).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Distinct(NamedTuple):
    """The distinct fingerprints of an input, called *items*, in the order of first occurrence.

    :param first_positions: for each item, the position in the input where it first occurs.
    :param items: for each position in the input, the number of the item there, from 0.
    """

    first_positions: Positions
    items: Positions


def distinct(words: Words) -> Distinct:
    """Return the distinct fingerprints of an input, because equal ones would make useless pairs."""
    positions = np.arange(words.shape[1])
    # In this order, equal fingerprints form a run. The sort is stable: the earliest comes first.
    order = np.lexsort(words)
    is_new = positions == 0
    for word in words:
        is_new[1:] |= word[order[1:]] != word[order[:-1]]
    if is_new.all():
        return Distinct(positions, positions)
    is_first = np.zeros(len(positions), dtype=bool)
    is_first[order[is_new]] = True
    items = np.cumsum(is_first) - 1  # correct at first occurrences
    # All positions of a run have the item of the first one.
    items[order] = items[order[is_new]][np.cumsum(is_new) - 1]
    return Distinct(np.flatnonzero(is_first), items)


def words_of(fingerprints: Sequence[int] | NDArray[Any], bits: int) -> Words:
    """Return the words of fingerprints.

    :raises SchemeError: `fingerprints` is neither a sequence nor an array of a possible shape and
        type, or a fingerprint is not an int from 0 to 2**bits - 1.
    """
    if isinstance(fingerprints, np.ndarray) and (
        fingerprints.dtype != object or fingerprints.ndim != 1
    ):
        return _from_array(fingerprints, bits)
    _require_sequence("fingerprints", "ints", fingerprints)
    width = -(-bits // WORD_BITS)
    packed = bytearray()
    for position, value in enumerate(fingerprints):
        packed += _require_int(value, bits, position).to_bytes(width * 8, "little")
    return _transposed(np.frombuffer(packed, "<u8").reshape(-1, width))


def split(fingerprints: Any, certainties: Any) -> tuple[Any, Any]:
    """Return (fingerprints, certainties). In a list, each `Fingerprint` is replaced by its value.

    If `certainties` is None and all items of the list are `Fingerprint`s, return their certainties.
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
        _require_sequence("certainties", "bytes", certainties)
        if not all(isinstance(row, bytes) and len(row) in (0, bits) for row in certainties):
            raise SchemeError(f'each fingerprint needs {bits} bytes of certainties, or b""')
        if len(certainties) == count and not all(certainties):
            return None
        certainties = np.frombuffer(b"".join(certainties), np.uint8).reshape(-1, bits)
    if certainties.shape != (count, bits) or certainties.dtype != np.uint8:
        raise SchemeError(
            f"certainties of shape {certainties.shape} and type {certainties.dtype}: for {count} "
            f"fingerprints of {bits} bits, ({count}, {bits}) uint8 is needed"
        )
    return certainties


def bit_counts(differing: Iterable[Words]) -> Distances:
    """Return, for each pair, the number of bits that differ.

    :param differing: for each word, an array with the differing bits of each pair.
    """
    total: Distances = sum(map(np.bitwise_count, differing), start=np.uint16(0))
    return total


def distances(ones: Words, others: Words, first: Positions, second: Positions) -> Distances:
    """Return the Hamming distances of ones[:, first] and others[:, second], pair by pair."""
    words = zip(ones, others, strict=True)
    return bit_counts(one.take(first) ^ other.take(second) for one, other in words)


def word_masks(blocks: Sequence[Block], count: int) -> list[np.uint64]:
    """Return, for each of `count` words, a mask of the bits that the blocks cover."""
    mask = sum((1 << width) - 1 << shift for shift, width in blocks)
    return [np.uint64(mask >> WORD_BITS * at & (1 << WORD_BITS) - 1) for at in range(count)]


def hashed(words: Words, blocks: Sequence[Block]) -> NDArray[np.uint32]:
    """Return, for each fingerprint, a 32-bit hash of its bits in some blocks."""
    hashes = np.zeros(words.shape[1], dtype=np.uint64)
    for word, mask in zip(words, word_masks(blocks, len(words)), strict=True):
        if mask:
            hashes ^= hashes >> np.uint64(29)
            hashes ^= word & mask
            hashes *= _MULTIPLIER
    hashes >>= np.uint64(WORD_BITS - HASH_BITS)
    return hashes.astype(np.uint32)


def telling_words(count: int, max_distance: int) -> int:
    """Return how many of `count` words are enough to reject most unrelated pairs."""
    return min(count, max_distance // _UNRELATED_BITS + 1)


def varying(words: Words, bits: int) -> tuple[Words, int]:
    """Return the fingerprints without the bits that are equal in all, and the number of bits left.

    Distances stay the same. If no bit varies, or each does, return the fingerprints unchanged.
    """
    rows = words.T.astype("<u8", order="C").view(np.uint8)
    differing = np.bitwise_or.reduce(rows ^ rows[:1], axis=0)
    kept = np.flatnonzero(np.unpackbits(differing, bitorder="little"))
    if len(kept) in (0, bits):
        return words, bits
    packed = np.packbits(np.unpackbits(rows, axis=1, bitorder="little")[:, kept], 1, "little")
    padded = np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))))
    return _transposed(padded.view("<u8")), len(kept)


def _transposed(rows: NDArray[Any]) -> Words:
    """Return rows of words, the lowest first, as an array of shape (words, n)."""
    return np.ascontiguousarray(rows.T, dtype=np.uint64)


def _require_sequence(name: str, items: str, value: Any) -> None:
    """Raise SchemeError unless a value has a length and is no text, bytes, set or mapping."""
    refused = (str, bytes, bytearray, memoryview, AbstractSet, Mapping)
    if not hasattr(value, "__len__") or isinstance(value, refused):
        kind = type(value).__name__
        raise SchemeError(f"{name} must be a sequence of {items} or an array, not {kind}")


def _require_int(value: Any, bits: int, position: int) -> int:
    """Return a fingerprint as an int, or raise SchemeError with its position in the input."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        fingerprint = operator.index(value)
    except TypeError:
        raise SchemeError(f"fingerprint {position} is {value!r}: an int is needed") from None
    if not 0 <= fingerprint < 1 << bits:
        raise SchemeError(f"fingerprint {position} is {fingerprint}: 0 to 2**{bits} - 1 is needed")
    return fingerprint


def _from_array(array: NDArray[Any], bits: int) -> Words:
    """Return the words of an array of integers, or of rows with the highest byte or word first."""
    if array.ndim == 1 and array.dtype.kind in "ui" and bits <= WORD_BITS:
        invalid = np.flatnonzero((array < 0) | (array > (1 << bits) - 1))
        if len(invalid):
            position = int(invalid[0])
            _require_int(array[position], bits, position)  # raises the error
        return _transposed(array[:, None])
    width = -(-bits // WORD_BITS)
    if array.size == 0 and array.ndim == 1:
        return np.empty((width, 0), dtype=np.uint64)
    item_bits = array.dtype.itemsize * 8
    if (
        array.ndim == 2  # noqa: PLR2004
        and array.dtype.kind == "u"
        and item_bits in (8, WORD_BITS)
        and array.shape[1] * item_bits == bits
    ):
        if item_bits != WORD_BITS:
            array = np.pad(array, ((0, 0), (width * 8 - bits // 8, 0))).view(">u8")
        return _transposed(array[:, ::-1])
    accepted = [f"(n, {bits // 8}) uint8"]
    if bits <= WORD_BITS:
        accepted.append("(n,) uint64")
    if bits % WORD_BITS == 0:
        accepted.append(f"(n, {bits // WORD_BITS}) uint64")
    raise SchemeError(
        f"an array of shape {array.shape} and type {array.dtype}: for {bits} bits, "
        f"{' or '.join(accepted)} is needed"
    )
