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
        # (content, True if it was refused although it gave items once)
        self._refused: deque[tuple[Text, bool]] = deque(maxlen=_REMEMBERED_REFUSED)

    def __contains__(self, key: str) -> bool:
        """Return True if a page was handled."""
        return key in self._handled

    def handled(self, page: Observation, *, gave_items: bool) -> None:
        """Record that a page was handled without an error. If it gave items, such content is not
        refused any more, unless it gave items before it was refused, too.
        """
        self._handled[page.key] = page, gave_items
        if gave_items and self._refused:
            others = [
                one for one in self._refused if one[1] or not self.rules.is_copy(page, one[0])
            ]
            self._refused = deque(others, _REMEMBERED_REFUSED)

    def came_again(self, key: str, page: Text | None) -> None:
        """Record that a page arrived, perhaps again. If it has other content now, the earlier
        content was that of a wrong page, and counts as refused.

        :param page: the content; None if it cannot be judged.
        """
        earlier, gave_items = self._handled.get(key, (None, False))
        if earlier is not None and (page is None or not self.rules.same_text(earlier, page)):
            del self._handled[key]
            self.refuse(earlier, gave_items=gave_items)

    def refuse(self, page: Text, *, gave_items: bool = False) -> None:
        """Record that the spider asks for a page again.

        :param gave_items: the page has given items.
        """
        if not any(
            gave >= gave_items and self.rules.is_copy(page, one) for one, gave in self._refused
        ):
            self._refused.append((page, gave_items))

    def is_refused(self, page: Text | None) -> bool:
        """Return True if such content was refused."""
        return page is not None and any(self.rules.is_copy(page, one) for one, _ in self._refused)
