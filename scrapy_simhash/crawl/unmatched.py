"""Find names in the settings, such as selectors, that match nothing in a whole crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

EARLY = 100


class Unmatched:
    """The names that have matched nothing so far.

    :param names: names as in the settings.
    :param warn: called with the unmatched names and the number of pages (or items) checked, once
        after `early` of them and once at the end.
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
        """Count a page (or item).

        :param missing: the names that matched nothing on it.
        """
        if not self._left:
            return
        self._seen += 1
        self._left = {name: None for name in self._left if name in missing}
        if self._left and self._seen == self._early:
            self._warn(self._left, self._seen)

    def close(self) -> None:
        """Warn about names that matched nothing in the whole crawl."""
        if self._left and self._seen:
            self._warn(self._left, self._seen)
