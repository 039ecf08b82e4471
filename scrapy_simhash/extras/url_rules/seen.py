"""A table of fixed size that remembers which content was found under which rewritten URL.

A new entry replaces any other entry in its slot. A page that is forgotten in this way is downloaded
once more; none is lost.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

SLOTS = 1 << 19
SLOT_BYTES = 16
_KEY_MASK = (1 << 64) - 1
CONTENT_MASK = (1 << 32) - 1
VARIANT_MASK = (1 << 31) - 1


class Seen(NamedTuple):
    """The page that was found last under a rewritten URL.

    :param content: 32 bits of the hash of the content.
    :param variant: 31 bits of the hash of the parts of its URL that the rule may change.
    :param counted: the page was counted for the rule.
    """

    content: int
    variant: int
    counted: bool


class SeenTable:
    """Pages by the hash of a key, such as a rule with a rewritten URL."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._keys = array("Q", bytes(8 * slots))
        self._values = array("Q", bytes(8 * slots))

    def get(self, key: object) -> Seen | None:
        """Return the page that was put under a key last; None if it was forgotten."""
        number = hash(key) & _KEY_MASK
        slot = number % self._slots
        if self._keys[slot] != number:
            return None
        value = self._values[slot]
        return Seen(value >> 32, value >> 1 & VARIANT_MASK, bool(value & 1))

    def put(self, key: object, seen: Seen) -> None:
        """Put a page under a key."""
        number = hash(key) & _KEY_MASK
        slot = number % self._slots
        self._keys[slot] = number
        self._values[slot] = seen.content << 32 | seen.variant << 1 | seen.counted
