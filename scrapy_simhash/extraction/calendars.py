"""Recognize the grid of a month: a table of the numbers 1 to 31, to choose a day.

The grid is chrome: it says nothing of the page. A table of dates with other text is content.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_DAYS = {form: day for day in range(1, 32) for form in (str(day), f"{day:02}")}
_MIN_DAYS = 28
_LATE_DAYS = tuple(map(str, range(10, _MIN_DAYS + 1)))
# A month has 53 digits at most, some more with days of other months.
_MAX_CHARACTERS = 400
# The cells that are no days name the weekdays, the month and the months before and after it.
_MIN_SHARE_OF_CELLS = 0.7
_MAX_OTHER_WORDS = 24
# This share of the days follows the day before. Week numbers may stand between them.
_MIN_SHARE_IN_ORDER = 0.8


def is_calendar(table: HtmlElement) -> bool:
    """Return True for a table without inner tables whose cells are mostly the days of a month."""
    if next(table.iterdescendants("table"), None) is not None:
        return False
    # Nearly all tables end here: texts of cells may follow one another without a space.
    if sum(1 for _ in islice(table.iter("td", "th"), _MIN_DAYS)) < _MIN_DAYS:
        return False
    text = "".join(table.text_content().split())
    if len(text) > _MAX_CHARACTERS or not all(day in text for day in _LATE_DAYS):
        return False
    cells = ["".join(cell.itertext()).split() for cell in table.iter("td", "th")]
    cells = [words for words in cells if words]
    days = [_DAYS[words[0]] for words in cells if len(words) == 1 and words[0] in _DAYS]
    others = sum(len(words) for words in cells if len(words) > 1 or words[0] not in _DAYS)
    in_order = sum(day + 1 == after for day, after in pairwise(days))
    return (
        len(set(days)) >= _MIN_DAYS
        and len(days) >= _MIN_SHARE_OF_CELLS * len(cells)
        and others <= _MAX_OTHER_WORDS
        and in_order >= _MIN_SHARE_IN_ORDER * len(days)
    )
