"""Find what a page shows of its state besides its text: prices, and notices such as "Sold out".

They are often in a form or an aside, which are no content. An incremental crawl compares them with
those of an earlier crawl (`scrapy_simhash.content`).
"""

from __future__ import annotations

import re
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.elements import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.extraction.elements import Elements
    from scrapy_simhash.extraction.lines import Line

_SIGN = r"[$£¥฿\u20a0-\u20cf]"
_NUMBER = r"\d(?:[\d.,'\u2019]|[ \u00a0\u202f](?=\d{3}(?!\d))){0,15}"
_HAS_SIGN = re.compile(_SIGN).search
_AMOUNT = re.compile(f"{_SIGN} ?{_NUMBER}|{_NUMBER} ?{_SIGN}")
# Codes of currencies, and the words of those that have no sign.
_WORD = r"(?<![^\W\d])(?:[A-Z]{3}|zł|kr|Kč|Ft|lei|руб|грн|дин|лв|TL|Rs|Fr|[円元원])(?!\w)\.?"  # noqa: RUF001
CURRENCY = f"(?:{_SIGN}|{_WORD})"
"""A pattern of regular expressions: the sign, code or word of a currency."""
_AMOUNT_WITH_WORD = re.compile(
    f"{_WORD} ?{_NUMBER}|{_NUMBER} ?(?:{_WORD}|(?<=[.,])[-\u2013](?!\\w))"
)
_MAX_PRICES = 3
_MAX_LINES_BELOW = 20
_MAX_NOTICES = 100
_MIN_TEXT_WORDS = 8
# A longer line is no notice, and would take the search for amounts long.
_MAX_CHARACTERS = 200
# Chrome says nothing of its links, so these are looked for.
_MAX_LINKS = 500


def amounts_in(text: str) -> list[str]:
    """Return the amounts of money in a short text, with the sign, code or word of a currency."""
    return _AMOUNT.findall(text) + _AMOUNT_WITH_WORD.findall(text)


def prices(lines: Sequence[Line]) -> list[str]:
    """Return the first amounts of money on a page, with the sign of a currency.

    Those in links, in lists, or after a link, are prices of other things.
    """
    found: list[str] = []
    before: tuple[str, ...] = ()
    for line in lines:
        # Most lines have no sign, and the search for amounts is slow.
        if ("$" in line.text or not line.text.isascii()) and _HAS_SIGN(line.text):
            is_own = not (line.row or line.targets or line.link_characters or before)
            found += _AMOUNT.findall(line.text) if is_own else ()
            if len(found) >= _MAX_PRICES:
                break
        before = line.targets
    return found[:_MAX_PRICES]


def notices(lines: Sequence[Line], elements: Elements) -> Iterator[str]:
    """Yield the short lines of a page, such as "Cancelled" in an aside or another column, or "Sold
    out" on the button of a form. Of those with digits, yield amounts of money.

    Between the heading and the first text, all of them count, for extractors leave out some; after
    it those of chrome in the same element as the heading, and elsewhere those that are no part of a
    list of links. Links are none. Also yield the choices that nobody can choose, such as a size.
    """
    headed = islice(dropwhile(lambda line: not line.heading, lines), _MAX_LINES_BELOW)
    heading = next(headed, None)
    below = list(headed)
    first = next((at for at, line in enumerate(below) if line.words >= _MIN_TEXT_WORDS), 0)
    level = heading.level if heading else 0
    found = [
        line
        for at, line in enumerate(below)
        if _is_notice(line)
        and (at < first or (line.chrome and not line.aside and 0 < level <= line.level))
    ]
    has_chrome = any(line.chrome for line in found)
    links = islice(elements.root.iter("a"), _MAX_LINKS) if has_chrome else ()
    linked = set(map(line_of, links))
    own = (line.text for line in found if line.text not in linked)
    for text in dict.fromkeys((*own, *islice(_outside_lists(lines), _MAX_NOTICES))):
        if any(map(str.isdigit, text)):
            yield from _AMOUNT_WITH_WORD.findall(text)
        else:
            yield text
    for choice in elements.tagged("option", "input")[:_MAX_LINKS]:
        if choice.get("disabled") is not None and choice.get("type", "radio") == "radio":
            yield f"disabled {line_of(choice) or choice.get('value', '')}"


def _is_notice(line: Line) -> bool:
    is_short = line.words < _MIN_TEXT_WORDS and len(line.text) <= _MAX_CHARACTERS
    return is_short and not line.is_links


def _outside_lists(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the short lines of the content that follow no link, up to the next text."""
    in_list = False
    for line in lines:
        if line.chrome or line.aside:
            continue
        is_short = line.is_links or line.words < _MIN_TEXT_WORDS
        in_list = is_short and not line.heading and (in_list or bool(line.targets))
        if not (in_list or line.heading) and _is_notice(line):
            yield line.text
