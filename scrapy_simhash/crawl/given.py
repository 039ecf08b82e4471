"""Remember what the callback of a page gave: items and requests, in one record for each page."""

from __future__ import annotations

from array import array
from base64 import b64decode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from xxhash import xxh3_64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Of a page and its copies: hashes of entries, and items, each of which is compared with others.
_MAX_ENTRIES = 2250
_MAX_ITEMS = 100
MAX_REQUESTS = 2
"""Requests that all pass, such as those for the previous page of a list and for the next one."""


def stable_hash(text: str) -> int:
    """Return 64 bits, the same in any process."""
    return xxh3_64_intdigest(text.encode(errors="backslashreplace"))


def _array(kind: Literal["i", "Q"], stored: str) -> array[int]:
    """Return the numbers that are in a text in base 64."""
    return array(kind, b64decode(stored))


@dataclass
class Said:
    """What the items of a page say, and those of its copies that passed.

    :param count: number of items that were looked at.
    :param entries: hashes of all items as entries of a list, see `entry_of`.
    :param items: hashes of the atoms of each of the first items.
    :param texts: of atoms of the items, each with the number of times that the page has it, 500
        characters at most.
    :param has_foreign: an item has an atom that neither the page nor its request has.
    """

    count: int = 0
    entries: array[int] = field(default_factory=lambda: array("Q"))
    items: list[array[int]] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)
    has_foreign: bool = False

    def add(self, entry: Iterable[int], hashes: array[int]) -> None:
        """Add an item.

        :param entry: its hashes as an entry of a list.
        :param hashes: those of its atoms, or empty.
        """
        self.entries.extend(entry if len(self.entries) < _MAX_ENTRIES else ())
        if hashes and len(self.items) < _MAX_ITEMS:
            self.items.append(hashes)

    def take_back(self, entry: Iterable[int], hashes: array[int]) -> None:
        """Forget an item, see `add`."""
        del hashes[:]  # copies at work have it, too
        for one in {*entry}.intersection(self.entries):
            self.entries.remove(one)

    def has_entry(self, entry: Sequence[int]) -> bool:
        """Return True if an entry has the short texts of one that is here, and half of the runs of
        words in longer ones.
        """
        said, *runs = entry
        return said in self.entries and 2 * len({*runs}.intersection(self.entries)) >= len(runs)

    @classmethod
    def restored(cls, stored: dict[str, Any]) -> Said:
        """Return what `vars` of an object held, from JSON."""
        said = cls(**stored)
        said.entries = _array("Q", stored["entries"])
        said.items = [_array("Q", hashes) for hashes in stored["items"]]
        return said


@dataclass
class Given:
    """What the callback of a page gave.

    :param ended: the callback gives no more; None if it is unknown what it gave.
    :param outputs: number of its requests and items.
    :param requests: number of the requests that do not repeat the page.
    :param own_requests: number of those for the same callback.
    :param pieces: hashes of what the requests consist of. They have 31 bits: 1,000 of them for each
        of 10,000 pages take 40 MB.
    :param handed_on: hashes of requests that hand on what the page says.
    :param items_lead_on: a pipeline or a handler of a signal turned an item into a request.
    """

    ended: bool | None = None
    outputs: int = 0
    requests: int = 0
    own_requests: int = 0
    pieces: set[int] | array[int] = field(default_factory=set)
    handed_on: set[str] = field(default_factory=set)
    items_lead_on: bool = False
    said: Said = field(default_factory=Said)

    @property
    def leads_on(self) -> bool:
        """Return True if the callback has given one or two requests for itself, or requests for
        other callbacks.
        """
        return self.requests > self.own_requests or 0 < self.own_requests <= MAX_REQUESTS

    @classmethod
    def restored(cls, stored: dict[str, Any]) -> Given:
        """Return what `vars` of an object held, from JSON."""
        given = cls(**stored)
        given.pieces = _array("i", stored["pieces"])
        given.handed_on = {*given.handed_on}
        given.said = Said.restored(stored["said"])
        return given


@dataclass
class OfCallback:
    """What the pages of a callback gave.

    :param gives_lists: several items of a page.
    :param leads_on: requests that lead on, see `Given.leads_on`.
    """

    gives_lists: bool = False
    leads_on: bool = False


@dataclass
class Remembered:
    """What pages gave, by their keys, and all pages of callbacks, by the names of these."""

    pages: dict[str, Given] = field(default_factory=dict)
    callbacks: dict[str, OfCallback] = field(default_factory=dict)

    @classmethod
    def restored(cls, stored: dict[str, Any]) -> Remembered:
        """Return what `vars` of an object held, from JSON."""
        return cls(
            {key: Given.restored(one) for key, one in stored["pages"].items()},
            {name: OfCallback(**one) for name, one in stored["callbacks"].items()},
        )
