"""Find the content of a page: the best contiguous run of lines around its heading.

Maximum subsequence segmentation (Pasternack and Roth, "Extracting Article Text from the Web with
Maximum Subsequence Segmentation", WWW 2009): a line of running text, or a row of a table or list,
scores its words. Other lines score below zero. The content is the run of lines with the largest sum
of scores, from the page's heading on. Only the lines around the heading take part: those of the
smallest element that contains it and enough text. Asides take part only if there is too little
content without them. ``docs/decisions/extraction.md`` has the figures behind the constants.
"""

from __future__ import annotations

from itertools import chain, groupby
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
MAX_SHORT_WORDS = 150
_MIN_SHARE_OF_PAGE = 0.4
# Where a list of links has more of the words outside chrome, the page is a listing.
_MIN_SHARE_OF_LISTING = 0.4
# And where list-like lines beside the best run have so many times its words.
_MIN_TIMES_OF_RUN = 1.5
# So many different list-like lines in a row are a list. Lists beside the content are part of it if
# together they have more than this share of its words.
_MIN_LINES_OF_LIST = 12
_MIN_LIST_TO_CONTENT = 0.3
# An element with this share of the words is large enough to be around the content: of all from the
# heading on, and of the running text before it. A menu there may be longer than the content.
_SHARE_AROUND_CONTENT = 0.5


def content_lines(lines: Sequence[Line], *, is_document: bool = False) -> list[Line]:
    """Return the content of a page, in order; the page's own heading comes first if it is missing.

    :param lines: all lines of the page, from `scrapy_simhash.extraction.lines.lines_of`.
    :param is_document: the page says that it is a text of its own, so that it is no listing.
    """
    main = [line for line in lines if not line.aside]
    content = _content(main, is_document=is_document)
    if len(main) < len(lines) and words_of(content) < MIN_CONTENT_WORDS:
        return _content(lines, is_document=is_document)
    return content


def words_of(lines: Iterable[Line]) -> int:
    """Return the number of words in lines."""
    return sum(line.words for line in lines)


def _content(lines: Sequence[Line], *, is_document: bool) -> list[Line]:
    """Return the content, with all text between the page's heading and the content."""
    around = around_heading(lines)
    content = _content_without_heading(around, is_document=is_document)
    heading = own_heading(around)
    if heading is not None and heading not in content:
        between = around[around.index(heading) + 1 : around.index(content[0])]
        content = [heading, *_texts(between), *content]
    return _with_lists(content, lines)


def _with_lists(content: list[Line], lines: Sequence[Line]) -> list[Line]:
    """Return the content, with the lists before and after it if they are long beside it."""
    words = words_of(content)
    least = _MIN_LIST_TO_CONTENT * words
    if not content or sum(line.words for line in lines if not line.chrome) - words <= least:
        return content
    before = _lists_in(lines[: lines.index(content[0])])
    after = _lists_in(lines[len(lines) - lines[::-1].index(content[-1]) :])
    return [*before, *content, *after] if words_of(before) + words_of(after) > least else content


def _lists_in(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of lists: of many different list-like lines in a row, outside chrome."""
    groups = groupby(lines, key=lambda line: not line.chrome and _is_short(line))
    stretches = [list(group) for is_listed, group in groups if is_listed]
    long = (one for one in stretches if len({line.text for line in one}) >= _MIN_LINES_OF_LIST)
    return list(chain.from_iterable(long))


def around_heading(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines of the smallest element that contains the heading and enough text."""
    heading = own_heading(lines)
    if heading is None:
        return lines
    first = last = lines.index(heading)
    enough = _SHARE_AROUND_CONTENT * sum(
        line.words
        for at, line in enumerate(lines)
        if not (line.chrome or line.aside)
        and (at >= first or (line.words >= _MIN_TEXT_WORDS and not line.is_links))
    )
    words = running_words = 0
    for level in range(heading.level, 0, -1):
        start, end = first, last
        while first and lines[first - 1].level >= level:
            first -= 1
        while last < len(lines) and lines[last].level >= level:
            last += 1
        for line in (*lines[first:start], *lines[end:last]):
            if not (line.chrome or line.aside):
                words += line.words
                if line.row or line.words >= _MIN_TEXT_WORDS:
                    running_words += line.words * (not line.is_links)
        if words >= enough or running_words >= MAX_SHORT_WORDS:
            return lines[first:last]
    return lines


def _content_without_heading(lines: Sequence[Line], *, is_document: bool) -> list[Line]:
    """Return the content of the best run; if it is too short, more or all lines outside chrome.

    A short run beside many links is the introduction of a listing, whose content is the links.
    """
    run = _texts(_best_run(lines))
    words = words_of(run)
    page = [line for line in lines if not line.chrome]
    if words >= MAX_SHORT_WORDS:
        least = _MIN_TIMES_OF_RUN * words
        if words_of(page) - words <= least:  # which holds for most pages
            return run
        short = words_of(filter(_is_short, page)) - words_of(filter(_is_short, run))
        return page if short > least else run
    text = _texts(page)
    least_share = 0.0 if is_document else 1 - _MIN_SHARE_OF_LISTING
    if words_of(text) < max(least_share * words_of(page), MIN_CONTENT_WORDS):
        text = page
    return run if words >= max(_MIN_SHARE_OF_PAGE * words_of(text), MIN_CONTENT_WORDS) else text


def _best_run(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the contiguous lines with the largest sum of scores, found in one pass."""
    best = total = start = 0
    run = (0, 0)
    for number, (text, words, link_characters, chrome, row, _, _, _, _) in enumerate(lines):
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


def _texts(lines: Iterable[Line]) -> list[Line]:
    """Return the lines outside of chrome that are not mostly links."""
    return [line for line in lines if not line.chrome and not line.is_links]
