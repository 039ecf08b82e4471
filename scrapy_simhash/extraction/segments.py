"""Find the content of a page: the best contiguous run of lines.

Maximum subsequence segmentation (Pasternack and Roth, "Extracting Article Text from the Web with
Maximum Subsequence Segmentation", WWW 2009): a line of running text scores its words, and any other
line scores below zero. The content is the run of lines with the largest sum, found in one pass.
``docs/decisions/extraction.md`` has the figures behind the constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.extraction.lines import own_heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simhash.extraction.lines import Line

# A line with fewer words is no running text.
_MIN_TEXT_WORDS = 8
# One very long line is no better than several lines.
_MAX_SCORE = 80
_SHORT_SCORE = -6
_LINKS_SCORE = -10
_CHROME_SCORE = -12
_MAX_LINK_SHARE = 0.4
# Fewer words do not represent a page.
MIN_CONTENT_WORDS = 60
# A short run that is a small part of the page is the introduction to a list.
_SHORT_CONTENT_WORDS = 150
_MIN_SHARE = 0.4
_MAX_LINES_BETWEEN = 10


def content_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that are the content of a page, in order, with the page's own heading.

    :param lines: all lines of the page, from `scrapy_simhash.extraction.lines.lines_of`.
    """
    found = _widened(lines)
    heading = own_heading(lines)
    if heading is None or heading in found:
        return found
    between: list[Line] = []
    if found:
        # Lines between the two, such as a price, are content, too.
        start, end = lines.index(heading) + 1, lines.index(found[0])
        if end - start <= _MAX_LINES_BETWEEN:
            between = [line for line in lines[start:end] if _is_content(line)]
    return [heading, *between, *found]


def words_of(lines: Iterable[Line]) -> int:
    """Return the number of words in lines."""
    return sum(line.words for line in lines)


def _widened(lines: Sequence[Line]) -> list[Line]:
    """Return the content of the best run or, if it is too short, of more of the page."""
    found = [line for line in _best_run(lines) if _is_content(line)]
    words = words_of(found)
    if words >= _SHORT_CONTENT_WORDS:
        return found
    outside_chrome = [line for line in lines if not line.chrome]
    if words >= MIN_CONTENT_WORDS:
        return found if words >= _MIN_SHARE * words_of(outside_chrome) else outside_chrome
    found = [line for line in lines if _is_content(line)]
    if words_of(found) < MIN_CONTENT_WORDS:
        found = outside_chrome
    return found


def _best_run(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the run of lines with the largest sum of scores."""
    best = total = start = 0
    run = (0, 0)
    for number, (text, words, link_characters, chrome, row, _) in enumerate(lines):
        if chrome:
            total += _CHROME_SCORE
        elif link_characters > _MAX_LINK_SHARE * len(text):
            total += _LINKS_SCORE
        elif row or words >= _MIN_TEXT_WORDS:
            total += min(words, _MAX_SCORE)
        else:
            total += _SHORT_SCORE
        if total <= 0:
            total, start = 0, number + 1
        elif total > best:
            best, run = total, (start, number + 1)
    return lines[run[0] : run[1]]


def _is_content(line: Line) -> bool:
    return not line.chrome and line.link_characters <= _MAX_LINK_SHARE * len(line.text)
