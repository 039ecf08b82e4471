"""Which records of some buckets may be within k bits: one pass over packed records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOW_32 = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)


def near_ordinals(
    buckets: Iterable[bytes | bytearray], check: int, check_bits: int, max_distance: int
) -> set[int]:
    """Ordinals of the records whose check is within `max_distance` of `check`.

    A record is `check_bits` bits of check and 32 of ordinal, little-endian; `check_bits` is a
    multiple of 32.
    """
    packed = b"".join(buckets)
    if check_bits == 32:  # noqa: PLR2004 - a record is one machine word
        words = np.frombuffer(packed, "<u8")
        differing = words ^ np.uint64(check)
        differing &= _LOW_32
        near = np.bitwise_count(differing) <= max_distance
        return set((words[near] >> _SHIFT_32).tolist()) if near.any() else set()
    checks = check_bits // 32
    records = np.frombuffer(packed, "<u4").reshape(-1, checks + 1)
    query = np.frombuffer(check.to_bytes(check_bits // 8, "little"), "<u4")
    counts = np.bitwise_count(records[:, :checks] ^ query)
    near = counts.sum(axis=1, dtype=np.uint16) <= max_distance
    return set(records[near, checks].tolist()) if near.any() else set()
