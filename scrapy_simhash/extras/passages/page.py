"""Render a passage report as one HTML file that needs no other file, network or script.

Names and texts are untrusted. The template escapes them, only http and https URLs become links, and
the Content-Security-Policy of the page allows only its own style.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.extras.passages.result import SHOWN_DIGITS
from scrapy_simhash.report.page import digest, make_environment
from scrapy_simhash.report.visible import round_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jinja2 import Template

    from scrapy_simhash.extras.passages.result import CheckedPassage, Level, PassageReport

MAX_BARS = 500
_SHOWN_SOURCES = 5
# A *hit* is a passage with a source. The notes on the hits of a row are at the top of the row. To
# keep notes near hits, a long paragraph is split into rows, which end when they reach a limit.
_MAX_HITS_IN_ROW = 3
_MAX_CHARACTERS_TO_HIT = 250
_MAX_CHARACTERS_FROM_HIT = 450
_MAX_TICKS = 6

# Characters that are invalid in HTML or UTF-8.
_UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render_page(report: PassageReport, text: str = "") -> str:
    """Return the HTML page. Characters that are invalid in HTML or UTF-8 become U+FFFD.

    :param text: the checked text, for the white space between passages. Without it, a gap of one
        character is shown as a space, and a longer one as an empty line.
    """
    levels = Counter(passage.level for passage in report.passages)
    rendered = _template().render(
        report=report.rounded(SHOWN_DIGITS),
        rows=list(_rows(report.passages, text if len(text) == report.characters else "")),
        bars=bars(report),
        ticks=_ticks(report.characters),
        levels=levels,
        hits=len(report.passages) - levels["none"],
        short=sum(passage.short for passage in report.passages),
        binned=len(report.passages) > MAX_BARS,
        shown_sources=_SHOWN_SOURCES,
    )
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", rendered)


@cache
def _template() -> Template:
    environment = make_environment()
    environment.filters.update(
        name=lambda document: printable(document) or "(no name)", percent=_percent, digest=digest
    )
    source = files("scrapy_simhash.extras.passages").joinpath("page.html.j2")
    return environment.from_string(source.read_text(encoding="utf-8"))


def _percent(similarity: float) -> str:
    """Return a similarity in per cent, rounded down so that only a similarity of 1 has 100 %."""
    return f"{int(similarity * 100 + 1e-9)}\N{NO-BREAK SPACE}%"


class _Piece(NamedTuple):
    """A passage of a row, with the white space before it."""

    space: str
    number: int
    passage: CheckedPassage


class _Row(NamedTuple):
    """A row of text, with notes on its hits; if `joined`, it continues the row before."""

    joined: bool
    pieces: list[_Piece]
    hits: list[_Piece]


def _rows(passages: Sequence[CheckedPassage], text: str) -> Iterator[_Row]:
    """Yield rows of the text by paragraph; one row for each passage if passages overlap."""
    are_overlapping = any(after.start < before.end for before, after in pairwise(passages))
    row = _Row(joined=False, pieces=[], hits=[])
    end = characters = 0  # characters in the row: from its first hit on, if it has one
    for number, passage in enumerate(passages, start=1):
        gap = passage.start - end
        space = text[end : passage.start] if text else "\n\n" if gap > 1 else " " * gap
        ends_paragraph = "\n" in space or "\r" in space or are_overlapping
        is_hit = passage.level != "none"
        if row.hits:
            is_full = len(row.hits) == _MAX_HITS_IN_ROW or characters >= _MAX_CHARACTERS_FROM_HIT
        else:
            is_full = is_hit and characters >= _MAX_CHARACTERS_TO_HIT
        if row.pieces and (ends_paragraph or is_full):
            yield row
            row, characters = _Row(joined=not ends_paragraph, pieces=[], hits=[]), 0
        piece = _Piece(space if row.pieces else "", number, passage)
        row.pieces.append(piece)
        if is_hit:
            characters = characters if row.hits else 0
            row.hits.append(piece)
        characters += len(passage.text)
        end = passage.end
    if row.pieces:
        yield row


class Bar(NamedTuple):
    """A bar of the chart, from `start` to `end` (characters), for the passage `number` (from 1)."""

    start: float
    end: float
    similarity: float
    level: Level
    number: int


def bars(report: PassageReport) -> list[Bar]:
    """Return a bar for each passage with a source, in the order of the text.

    If the text has more than `MAX_BARS` passages, it is divided into `MAX_BARS` equal parts. Each
    part that a hit overlaps has one bar, for its most similar hit.
    """
    hits = [
        Bar(passage.start, passage.end, passage.similarity, passage.level, number)
        for number, passage in enumerate(report.passages, start=1)
        if passage.level != "none"
    ]
    if len(report.passages) <= MAX_BARS:
        return hits
    width = report.characters / MAX_BARS
    highest: dict[int, Bar] = {}
    for bar in hits:
        for part in range(int(bar.start / width), int((bar.end - 1) / width) + 1):
            if part not in highest or bar.similarity > highest[part].similarity:
                highest[part] = bar._replace(start=part * width, end=(part + 1) * width)
    return [highest[part] for part in sorted(highest)]


def _ticks(characters: int) -> list[int]:
    """Return at most seven round positions in the text, the first of them 0."""
    return list(range(0, characters + 1, round_step(characters, _MAX_TICKS)))
