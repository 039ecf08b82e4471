"""A table of fixed size that remembers which content was found under which rewritten URL.

It forgets: a new entry takes the place of whatever else had its slot. What is forgotten costs a
download, never a page.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

SLOTS = 1 << 19
SLOT_BYTES = 16
_MASK = (1 << 64) - 1
_HALF = (1 << 31) - 1


class Seen(NamedTuple):
    """A page.

    :param content: hash of what identifies its content.
    :param variant: hash of its URL without the rewriting.
    :param counted: it counts for the rule already.
    """

    content: int
    variant: int
    counted: bool


class SeenTable:
    """Pages by the hash of their rewritten URL."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._keys = array("Q", bytes(8 * slots))
        self._values = array("Q", bytes(8 * slots))

    def get(self, key: object) -> Seen | None:
        """Return what was put under a key last, unless it was forgotten."""
        number = hash(key) & _MASK
        slot = number % self._slots
        if self._keys[slot] != number:
            return None
        value = self._values[slot]
        return Seen(value >> 32, value >> 1 & _HALF, bool(value & 1))

    def put(self, key: object, seen: Seen) -> None:
        """Remember a page."""
        number = hash(key) & _MASK
        slot = number % self._slots
        self._keys[slot] = number
        self._values[slot] = seen.content << 32 | seen.variant << 1 | seen.counted


def content_hash(identity: str) -> int:
    """Return the 32 bits that stand for a content."""
    return hash(identity) & 0xFFFFFFFF


def variant_hash(parts: object) -> int:
    """Return the 31 bits that stand for a variant of a URL."""
    return hash(parts) & _HALF
