"""Search packed records of buckets for candidates, in passes over whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

# So many have fewer than 256 bits.
_WORDS_OF_A_BYTE = 7


def near_ordinals(
    buckets: Iterable[bytes | bytearray], check: int, check_bits: int, max_distance: int
) -> set[int]:
    """Ordinals of the records whose check is within `max_distance` of `check`.

    A record is `check_bits` bits of check and 32 of ordinal, little-endian; `check_bits` is a
    multiple of 32.
    """
    words = np.frombuffer(b"".join(buckets), "<u4")
    if check_bits == 32:  # noqa: PLR2004 - a check is one word
        near = np.bitwise_count(words[::2] ^ np.uint32(check)) <= np.uint8(min(max_distance, 32))
        return set(words[1::2][near].tolist()) if np.count_nonzero(near) else set()
    checks = check_bits // 32
    width = checks + 1
    query = np.frombuffer(check.to_bytes(check_bits // 8, "little"), "<u4")
    # Word by word: numpy is slow at sums over rows of a few words.
    counts = np.bitwise_count(words[::width] ^ query[0])
    if checks > _WORDS_OF_A_BYTE:
        counts = counts.astype(np.uint16)
    for at in range(1, checks):
        counts += np.bitwise_count(words[at::width] ^ query[at])
    near = counts <= max_distance
    return set(words[checks::width][near].tolist()) if np.count_nonzero(near) else set()


def equal_ordinals(buckets: Iterable[bytes | bytearray], check: bytes) -> list[int]:
    """Ordinals of the records with exactly that check, a whole number of 4-byte words."""
    found = []
    record_bytes = len(check) + 4
    for packed in buckets:
        at = packed.find(check)
        while at >= 0:
            if at % record_bytes == 0:
                end = at + record_bytes
                found.append(int.from_bytes(packed[end - 4 : end], "little"))
            at = packed.find(check, at + 1)
    return found
