"""The pages of an index that are neither confirmed nor discarded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Entry, Observation
    from scrapy_simhash.index.rules import CrawlRules


@dataclass(eq=False, slots=True)
class Pending:
    """A page that is neither confirmed nor discarded.

    :param entry: the entry that queries find, and that `confirm` stores. Its ordinal is that of its
        row in the tables.
    :param stored: the entry that the store now holds under the same key, or None.
    :param outdated: entries of earlier crawls that `confirm` replaces, as found by `observe`.
    :param in_scope: see `Index.observe`.
    :param supersedes: key of the representative that the page replaces, or None.
    :param gave_items: the page gave an item that the pipelines kept; set by `confirm`.
    :param is_settled: the page is stored, or nobody can store it any more.
    """

    observation: Observation
    entry: Entry
    stored: Entry | None
    outdated: Sequence[Entry]
    in_scope: Callable[[str], bool] | None = None
    supersedes: str | None = None
    gave_items: bool = False
    is_settled: bool = False

    def replaced(
        self, entry: Entry, rules: CrawlRules, stored: Callable[[str], Entry | None]
    ) -> list[Entry]:
        """Return the stored entries that are removed when the page is stored as `entry`: those of
        earlier crawls that it is a copy of, or the representative that it supersedes, if it still
        is a copy of that.

        :param stored: returns the stored entry of a key, or None.
        """
        if self.supersedes is not None:
            other = stored(self.supersedes)
            return [] if other is None or not rules.is_copy(entry, other) else [other]
        if rules.incremental:
            return []
        others = [stored(other.key) for other in self.outdated]
        return [other for other in others if other is not None and rules.replaces(entry, other)]


class PendingPages:
    """The pending pages of all users of a store, by key and by ordinal.

    A page shares its ordinal with the stored entry of its key if nothing differs.
    """

    def __init__(self) -> None:
        self._pages: dict[str | int, list[Pending]] = {}

    def add(self, pending: Pending) -> None:
        """Add a page."""
        for name in (pending.entry.key, pending.entry.ordinal):
            self._pages.setdefault(name, []).append(pending)

    def remove(self, pending: Pending) -> None:
        """Remove a page."""
        for name in (pending.entry.key, pending.entry.ordinal):
            pages = self._pages[name]
            pages.remove(pending)
            if not pages:
                del self._pages[name]

    def of(self, name: str | int) -> Sequence[Pending]:
        """Return the pages with a key or an ordinal, in the order in which they were added."""
        return self._pages.get(name, ())
