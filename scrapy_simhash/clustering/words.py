"""Fingerprints as columns of 64-bit words: what all passes over them work on.

Column 0 holds the lowest 64 bits of each fingerprint, column 1 the next ones. A pass that needs a
few bits reads one or two columns, and reads them in order.
"""

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
MAX_BITS = 512
# Ints become words, and rows become columns, so many at a time.
_CHUNK = 1 << 16


def check_bits(bits: int) -> int:
    """The width of fingerprints as an int.

    :raises SchemeError: it is not a multiple of 8 from 8 to 512.
    """
    if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)):
        raise SchemeError(f"bits = {bits!r}: a whole number is needed")
    if not 8 <= bits <= MAX_BITS or bits % 8:  # noqa: PLR2004 - the narrowest fingerprint
        raise SchemeError(f"bits = {bits}: a multiple of 8 from 8 to {MAX_BITS} is needed")
    return int(bits)


def columns_of(fingerprints: Sequence[int] | NDArray[Any], bits: int) -> Columns:
    """The columns of fingerprints in any form that `cluster` takes.

    :raises SchemeError: a fingerprint is not an int, is negative or is wider than `bits`, or an
        array has another shape or type than is taken.
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
    """Return a row of certainties for each fingerprint; None if that of some is not known.

    :raises SchemeError: they are not so many, or not a byte for each bit.
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
    """The columns of some of the fingerprints."""
    return [column.take(positions) for column in columns]


def distances(columns: Columns, first: Positions, second: Positions) -> Distances:
    """Hamming distances of the pairs of fingerprints at these positions."""
    total = np.zeros(len(first), dtype=np.uint16)
    for column in columns:
        total += np.bitwise_count(column[first] ^ column[second])
    return total


def parts_by_word(blocks: Sequence[Block]) -> list[tuple[int, int, int, int]]:
    """(column, shift in its words, width, place in the field) of the parts of a bit field.

    The first block is the most significant part of the field; parts don't cross words.
    """
    place = sum(width for _, width in blocks)
    parts = []
    for shift, width in blocks:
        place -= width
        done = 0
        while done < width:
            column, inside = divmod(shift + done, WORD_BITS)
            taken = min(width - done, WORD_BITS - inside)
            parts.append((column, inside, taken, place + done))
            done += taken
    return parts


def field(columns: Columns, blocks: Sequence[Block], place: int = 0) -> Words:
    """The bits of some blocks of each fingerprint side by side, from bit `place` of a word on."""
    found = None
    for column, shift, width, at in parts_by_word(blocks):
        left = at + place - shift
        words = columns[column]
        moved = words << np.uint64(left) if left >= 0 else words >> np.uint64(-left)
        moved &= np.uint64((1 << width) - 1 << at + place)
        if found is None:
            found = moved
        else:
            found |= moved
    return np.zeros(len(columns[0]), dtype=np.uint64) if found is None else found


def masks(blocks: Sequence[Block], columns: int) -> list[int]:
    """For each column the bits of its words that are in the blocks."""
    found = [0] * columns
    for column, shift, width, _ in parts_by_word(blocks):
        found[column] |= (1 << width) - 1 << shift
    return found


def varying(columns: Columns, bits: int) -> tuple[Columns, int]:
    """The fingerprints without the bits that are the same in all of them, and how many are left.

    Distances stay what they were.
    """
    width = len(columns) * WORD_BITS
    kept = []
    for number, column in enumerate(columns):
        differing = int(np.bitwise_or.reduce(column ^ column[0]))
        kept += [number * WORD_BITS + bit for bit in range(WORD_BITS) if differing >> bit & 1]
    if len(kept) == bits or not kept:
        return columns, bits
    left = -(-len(kept) // WORD_BITS)
    found = [np.empty(len(columns[0]), dtype=np.uint64) for _ in range(left)]
    for start in range(0, len(columns[0]), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        rows = np.stack([column[chunk] for column in columns], axis=1).astype("<u8")
        unpacked = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little", count=width)
        packed = np.packbits(unpacked[:, kept], axis=1, bitorder="little")
        words = np.zeros((len(rows), left * 8), dtype=np.uint8)
        words[:, : packed.shape[1]] = packed
        for number, column in enumerate(found):
            column[chunk] = words.view("<u8")[:, number]
    return found, len(kept)


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
