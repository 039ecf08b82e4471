"""Unmatched: names from the settings, such as selectors, that find nothing in a whole crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

EARLY = 100


class Unmatched:
    """The names that nothing has matched yet.

    :param names: as they stand in the settings.
    :param warn: called with the names left and the number of pages (or items) that were looked
        at: after `early` of them, and at the end.
    """

    def __init__(
        self,
        names: Iterable[str],
        warn: Callable[[Collection[str], int], None],
        *,
        early: int = EARLY,
    ) -> None:
        self._left = dict.fromkeys(names)
        self._warn = warn
        self._early = early
        self._seen = 0

    def seen(self, missing: Collection[str]) -> None:
        """Count a page (or item) on which only `missing` of the names found nothing."""
        if not self._left:
            return
        self._seen += 1
        self._left = {name: None for name in self._left if name in missing}
        if self._left and self._seen == self._early:
            self._warn(self._left, self._seen)

    def close(self) -> None:
        """Say what matched nothing in the whole crawl."""
        if self._left and self._seen:
            self._warn(self._left, self._seen)
