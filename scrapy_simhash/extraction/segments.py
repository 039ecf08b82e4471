"""Find the content of a page: the best contiguous run of lines.

Maximum subsequence segmentation (Pasternack and Roth, "Extracting Article Text from the Web with
Maximum Subsequence Segmentation", WWW 2009): a line of running text, or a table row, scores its
words. Other lines score below zero. The content is the run of lines with the largest sum of scores.
``docs/decisions/extraction.md`` has the figures behind the constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.extraction.lines import MAX_LINK_SHARE, own_heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simhash.extraction.lines import Line

# A line with fewer words is no running text.
_MIN_TEXT_WORDS = 8
# Upper limit, so that one very long line does not outweigh several lines.
_MAX_SCORE = 80
_SHORT_SCORE = -6
_LINKS_SCORE = -10
_CHROME_SCORE = -12
# Content with fewer words does not represent a page.
MIN_CONTENT_WORDS = 60
# A run with fewer words than both limits is only the introduction to a list.
_MAX_SHORT_WORDS = 150
_MIN_SHARE_OF_PAGE = 0.4
# Where a list of links has more of the words outside chrome, the page is a listing.
_MIN_SHARE_OF_LISTING = 0.4
# And where list-like lines beside the best run have so many times its words.
_MIN_TIMES_OF_RUN = 1.5
_MAX_LINES_BETWEEN = 10


def content_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the content of a page, in order; the page's own heading comes first if it is missing.

    :param lines: all lines of the page, from `scrapy_simhash.extraction.lines.lines_of`.
    """
    content = _content_without_heading(lines)
    heading = own_heading(lines)
    if heading is None or heading in content:
        return content
    # A few lines between heading and content, such as a price, are content, too.
    between = lines[lines.index(heading) + 1 : lines.index(content[0])]
    if len(between) > _MAX_LINES_BETWEEN:
        between = []
    return [heading, *filter(_is_content, between), *content]


def words_of(lines: Iterable[Line]) -> int:
    """Return the number of words in lines."""
    return sum(line.words for line in lines)


def _content_without_heading(lines: Sequence[Line]) -> list[Line]:
    """Return the content of the best run; if it is too short, more or all lines outside chrome.

    A short run beside many links is the introduction of a listing, whose content is the links.
    """
    content = [line for line in _best_run(lines) if _is_content(line)]
    words = words_of(content)
    outside_chrome = [line for line in lines if not line.chrome]
    if words >= _MAX_SHORT_WORDS:
        short = words_of(filter(_is_short, outside_chrome)) - words_of(filter(_is_short, content))
        return outside_chrome if short > _MIN_TIMES_OF_RUN * words else content
    in_links = words_of(line for line in outside_chrome if line.is_links)
    if in_links > _MIN_SHARE_OF_LISTING * words_of(outside_chrome):
        return outside_chrome
    if words >= MIN_CONTENT_WORDS:
        return content if words >= _MIN_SHARE_OF_PAGE * words_of(outside_chrome) else outside_chrome
    content = [line for line in lines if _is_content(line)]
    return content if words_of(content) >= MIN_CONTENT_WORDS else outside_chrome


def _best_run(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the contiguous lines with the largest sum of scores, found in one pass."""
    best = total = start = 0
    run = (0, 0)
    for number, (text, words, link_characters, chrome, row, _, _) in enumerate(lines):
        if chrome:
            total += _CHROME_SCORE
        elif link_characters > MAX_LINK_SHARE * len(text):
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


def _is_short(line: Line) -> bool:
    """Return True for a line as lists have them, but not of links."""
    return (line.row or line.words < _MIN_TEXT_WORDS) and not line.is_links


def _is_content(line: Line) -> bool:
    """Return True for a line outside of chrome that is not mostly links."""
    return not line.chrome and not line.is_links
