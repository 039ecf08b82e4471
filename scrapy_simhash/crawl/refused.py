"""Remember contents that the spider has refused: it asked for their pages again.

Examples are ban pages and walls. A page with such content is not dropped as a copy, because the
spider will ask for it again, too.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simhash.index.rules import Rules, Text

_REMEMBERED = 1000


class RefusedContents:
    """The last 1,000 contents that the spider of a crawl has refused.

    :param rules: conditions for a page to be a copy.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._texts: deque[Text] = deque(maxlen=_REMEMBERED)

    def add(self, page: Text) -> None:
        """Remember the content of a page."""
        if not self.has(page):
            self._texts.append(page)

    def remove(self, page: Text) -> None:
        """Forget the content of a page: it gave items after all."""
        if self._texts:
            others = [other for other in self._texts if not self.rules.is_copy(page, other)]
            self._texts = deque(others, _REMEMBERED)

    def has(self, page: Text | None) -> bool:
        """Return True if such content was refused."""
        return page is not None and any(self.rules.is_copy(page, other) for other in self._texts)
