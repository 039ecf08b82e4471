"""Remember contents that the spider has refused: it asked for their pages again.

Examples are ban pages and walls. A page with such content is not dropped as a copy, because the
spider will ask for it again, too.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.index.rules import Rules, Text

_REMEMBERED = 1000


class RefusedContents:
    """The last 1,000 contents that the spider of a crawl has refused.

    :param rules: conditions for a page to be a copy.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._texts: deque[Text] = deque(maxlen=_REMEMBERED)
        # Contents that `remove` does not forget.
        self._for_good: deque[Text] = deque(maxlen=_REMEMBERED)

    def add(self, page: Text, *, for_good: bool = False) -> None:
        """Remember the content of a page.

        :param for_good: even if it gives items, because it has given some before.
        """
        texts = self._for_good if for_good else self._texts
        if not self._is_in(texts, page):
            texts.append(page)

    def remove(self, page: Text) -> None:
        """Forget the content of a page: it gave items after all."""
        if self._texts:
            others = [other for other in self._texts if not self.rules.is_copy(page, other)]
            self._texts = deque(others, _REMEMBERED)

    def has(self, page: Text | None) -> bool:
        """Return True if such content was refused."""
        return page is not None and (
            self._is_in(self._texts, page) or self._is_in(self._for_good, page)
        )

    def _is_in(self, texts: Iterable[Text], page: Text) -> bool:
        return any(self.rules.is_copy(page, other) for other in texts)
