"""The pages of an index that are neither confirmed nor discarded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Entry, Observation

_Name = TypeVar("_Name", str, int)


@dataclass(eq=False, slots=True)
class Pending:
    """A page that is neither confirmed nor discarded.

    :param entry: the entry that queries find, and that `confirm` stores. Its ordinal is that of its
        row in the tables.
    :param stored: the entry that the store now holds under the same key, or None.
    :param outdated: entries of earlier crawls that `confirm` replaces, as found by `observe`; None
        if `confirm` must search for them, because other users may write in the meantime.
    :param in_scope: returns True for the key of an entry that may be replaced; None allows all.
    :param supersedes: key of the representative that the page replaces, or None.
    :param gave_items: the page gave an item that the pipelines kept; set by `confirm`.
    :param is_settled: the page is stored, or nobody can store it any more.
    """

    observation: Observation
    entry: Entry
    stored: Entry | None
    outdated: Sequence[Entry] | None
    in_scope: Callable[[str], bool] | None = None
    supersedes: str | None = None
    gave_items: bool = False
    is_settled: bool = False


class PendingPages:
    """The pending pages of all users of a store."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[Pending]] = {}
        # By ordinal, which a page shares with the stored entry of its key if nothing differs.
        self._by_ordinal: dict[int, list[Pending]] = {}

    def add(self, pending: Pending) -> None:
        """Add a page."""
        self._by_key.setdefault(pending.entry.key, []).append(pending)
        self._by_ordinal.setdefault(pending.entry.ordinal, []).append(pending)

    def remove(self, pending: Pending) -> None:
        """Remove a page."""
        _remove(self._by_key, pending.entry.key, pending)
        _remove(self._by_ordinal, pending.entry.ordinal, pending)

    def of_key(self, key: str) -> Sequence[Pending]:
        """Return the pages under a key, in the order in which they were added."""
        return self._by_key.get(key, ())

    def of_ordinal(self, ordinal: int) -> Sequence[Pending]:
        """Return the pages that have a row in the tables."""
        return self._by_ordinal.get(ordinal, ())


def _remove(pages: dict[_Name, list[Pending]], name: _Name, pending: Pending) -> None:
    """Remove a page from the pages of a name, and the name with its last page."""
    pages[name].remove(pending)
    if not pages[name]:
        del pages[name]
