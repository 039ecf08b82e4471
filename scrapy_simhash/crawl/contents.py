"""Remember contents that the spider of a crawl has handled, or has refused: it asked for their
pages again.

Refused contents are, for example, ban pages and walls. A page with such content is not dropped as a
copy, because the spider will ask for it again, too.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Rules, Text

_REMEMBERED_PAGES = 10_000
_REMEMBERED_REFUSED = 1000


class Contents:
    """The contents of the last 10,000 handled pages, and the last 1,000 refused contents.

    :param rules: conditions for a page to be a copy.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        # Key of a page → its content, and True if it gave items.
        self._handled: LocalCache[str, tuple[Text, bool]] = LocalCache(_REMEMBERED_PAGES)
        self._refused: deque[Text] = deque(maxlen=_REMEMBERED_REFUSED)
        # Refused although they gave items once, so a page that gives items does not clear them.
        self._refused_for_good: deque[Text] = deque(maxlen=_REMEMBERED_REFUSED)

    def handled(self, page: Observation, *, gave_items: bool) -> None:
        """Record that a page was handled without an error."""
        self._handled[page.key] = page, gave_items
        if gave_items and self._refused:
            others = [other for other in self._refused if not self.rules.is_copy(page, other)]
            self._refused = deque(others, _REMEMBERED_REFUSED)

    def arrived(self, key: str, page: Text | None) -> None:
        """Record that a page arrived, perhaps again. If it has other content now, the earlier
        content was that of a wrong page, and counts as refused.

        :param page: the content; None if it cannot be judged.
        """
        earlier, gave_items = self._handled.get(key, (None, False))
        if earlier is not None and (page is None or not self.rules.same_text(earlier, page)):
            del self._handled[key]
            self._add(self._refused_for_good if gave_items else self._refused, earlier)

    def refuse(self, page: Text) -> None:
        """Record that the spider asks for a page again while it handles it."""
        self._add(self._refused, page)

    def is_refused(self, page: Text | None) -> bool:
        """Return True if such content was refused."""
        return page is not None and (
            self._is_in(self._refused, page) or self._is_in(self._refused_for_good, page)
        )

    def _add(self, contents: deque[Text], page: Text) -> None:
        if not self._is_in(contents, page):
            contents.append(page)

    def _is_in(self, contents: Iterable[Text], page: Text) -> bool:
        return any(self.rules.is_copy(page, other) for other in contents)
