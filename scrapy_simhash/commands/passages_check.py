"""``passages check``: find the passages of a text that the index has."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands._output import (
    counted,
    note,
    percent,
    progress,
    show,
    show_json,
    writable,
    write_file,
)
from scrapy_simhash.commands._pages import is_url, load_document
from scrapy_simhash.commands.passages_add import index_directory
from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.passages.result import SHOWN_DIGITS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.passages.index import PassageIndex
    from scrapy_simhash.passages.result import CheckedPassage, Level, PassageReport, Source

_SHOWN_SOURCES = 10
_LEVELS: dict[Level, str] = {"high": "highly similar", "medium": "similar", "common": "common"}


def run(options: argparse.Namespace) -> int:
    """Check a text, show the report, and return the exit code."""
    from scrapy_simhash.passages.index import open_passages
    from scrapy_simhash.passages.matching import CheckOptions

    check_options = CheckOptions(
        mode=options.mode,
        min_similarity=options.min_similarity,
        high_similarity=options.high_similarity,
        common_documents=options.common_documents,
        ignore_common=options.ignore_common,
    )
    page = None if options.html is None else writable(options.html)
    with open_passages(index_directory(options), create=False) as index:
        name, text = load_document(options.text, options)
        excluded = options.exclude
        if excluded is None:
            excluded = _own_name(index, name)
            if excluded is not None and not options.json:
                note(f"{excluded} is in the index itself, and is not counted as a source")
        elif excluded not in index:
            note(f"--exclude {excluded}: the index has no document of that name")
        with progress("passages") as on_progress:
            report = index.check(
                name, text, check_options, exclude=excluded, on_progress=on_progress
            )
    if page is not None:
        from scrapy_simhash.passages.page import render_page

        write_file(page, render_page(report, text))
    if options.json:
        show_json(report.to_dict() | {"excluded": excluded})
    else:
        _show(report)
    return 0


def _own_name(index: PassageIndex, name: str) -> str | None:
    """Return the name of the text in the index, maybe another path of its file; None if absent."""
    names = [name]
    if not is_url(name):
        names += [os.path.relpath(name), str(Path(name).resolve())]
    return next((name for name in names if name in index), None)


def _show(report: PassageReport) -> None:
    report = report.rounded(SHOWN_DIGITS)
    matched = [passage for passage in report.passages if passage.level != "none"]
    show(f"{printable(report.document)}: {_share(report.known_share)} of it appears elsewhere")
    short = sum(passage.short for passage in report.passages)
    counts = Counter(passage.level for passage in matched)
    shown = ", ".join(
        f"{counts[level]:,} {name}" for level, name in _LEVELS.items() if counts[level]
    )
    show(
        f"  {len(matched):,} of {len(report.passages):,} passages appear elsewhere"
        f"{shown and ': '}{shown}{f'; {short:,} too short to look up' if short else ''}"
    )
    if matched:
        basis = "of the texts" if report.verified else "estimated from fingerprints"
        show(f"  similarities are {basis}; mode {report.mode}")
    if report.common_share:
        show(f"  common passages are {_share(report.common_share)} of it")
    if report.sources:
        show()
        show("sources, and the share of the text that appears there")
        for source in report.sources[:_SHOWN_SOURCES]:
            passages = counted(source.passages, "passage")
            show(f"  {_share(source.share):>7}  {passages:<13}  {printable(source.document)}")
        if len(report.sources) > _SHOWN_SOURCES:
            show(f"  and {len(report.sources) - _SHOWN_SOURCES:,} more; --json shows all")
    if matched:
        show()
        show("passages that appear elsewhere")
    for passage in matched:
        _show_passage(passage)


def _show_passage(passage: CheckedPassage) -> None:
    show()
    level = _LEVELS[passage.level]
    if passage.level == "common":
        level += f", in {passage.documents:,} documents"
    show(f"  characters {passage.start:,} to {passage.end:,}, {level}")
    show(f"  | {printable(passage.text)}")
    for source in passage.sources:
        show(f"  {percent(source.similarity):>5}  {_place(source)}")
        if source.text and source.text != passage.text:
            show(f"         | {printable(source.text)}")


def _place(source: Source) -> str:
    return f"{printable(source.document)}, characters {source.start:,} to {source.end:,}"


def _share(share: float) -> str:
    return "< 0.1 %" if 0 < share < 0.001 else f"{share * 100:.1f} %"  # noqa: PLR2004
