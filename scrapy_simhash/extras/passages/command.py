"""``passages``: fill an index of passages, and check texts against it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._output import counted, note, progress, show, show_json
from scrapy_simhash.commands._pages import (
    Skips,
    add_field_options,
    existing_paths,
    is_url,
    load_page,
    make_reader,
)
from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.documents.reader import Skipped
from scrapy_simhash.errors import ExtractionError, SimhashError
from scrapy_simhash.reasons import percent

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.extras.passages.index import PassageIndex
    from scrapy_simhash.extras.passages.matching import CheckedPassage, Level, PassageReport

_DESCRIPTION = """\
Finds sentences that appear elsewhere, word for word or nearly so.

  {program} passages add reports/ pages.jsonl
  {program} passages check letter.txt
"""
_ADD = """\
Adds documents to the index, which is created if necessary. A document replaces a stored one with
the same name and another text. After an interruption, run the same command again to go on.

A text file or an HTML page is one document, named by its path. Only the main text of a page counts.
Each line of a JSON lines file is one document, named by its url or id. Files may be compressed by
gzip. Hidden files in folders are ignored.

  {program} add reports/ pages.jsonl.gz
  {program} add --text-field body --name-field link items.jl
"""
_CHECK = """\
Shows which passages of a text appear in the documents of the index, and where.

  {program} check letter.txt
  {program} check https://example.com/ferries
  pdftotext report.pdf - | {program} check --json -

Similarities go from 0 to 1 (equal): 1 - edits / length.
"""
_INDEX = (
    "directory of the index (default: that of the setting SIMHASH_PASSAGES, or simhash-passages; "
    "in .scrapy of the project or, outside a project, of the working directory)"
)


_SHOWN_SOURCES = 10
_LEVELS: dict[Level, str] = {"high": "highly similar", "medium": "similar", "common": "common"}


def _add_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    for action in (
        Command("add", "add documents to the index", _ADD, _add, _add_arguments_of_add),
        Command("check", "check a text against the index", _CHECK, _check, _add_arguments_of_check),
    ):
        action.add_parser(actions)


def _add_arguments_of_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file or folder")
    _add_arguments_of_both(parser)


def _add_arguments_of_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="FILE|URL|-", help="a file, a page, or standard input")
    _add_arguments_of_both(parser)


def _add_arguments_of_both(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", metavar="DIR", help=_INDEX)
    add_field_options(parser)


def _index_directory(options: argparse.Namespace) -> Path:
    if options.index is not None:
        return Path(options.index)
    from scrapy_simhash.commands._settings import settings_reader

    return settings_reader(options.settings).path("SIMHASH_PASSAGES")


def _add(options: argparse.Namespace) -> int:
    """Add all readable documents. Return 1 if documents were found, but none is readable."""
    from scrapy_simhash.extras.passages.index import open_passages

    paths, directory, skips = existing_paths(options.files), _index_directory(options), Skips()
    reader = make_reader(options)
    counts = dict.fromkeys(("new", "replaced", "unchanged", "passages"), 0)
    with open_passages(directory) as index:
        try:
            for document in progress(reader.documents(paths, exclude=directory), "documents"):
                if isinstance(document, Skipped):
                    skips.add(document)
                    continue
                try:
                    text = document.main_text()
                except ExtractionError as error:
                    reason = "no text could be extracted"
                    skips.add(Skipped(document.name, reason, str(error)))
                    continue
                if not text.strip():
                    skips.add(Skipped(document.name, "no text in it"))
                    continue
                before = index.documents
                passages = index.add(document.name, text)
                added = "new" if index.documents > before else "replaced"
                counts["unchanged" if passages is None else added] += 1
                counts["passages"] += passages or 0
        except KeyboardInterrupt:
            note(
                f"{counts['new'] + counts['replaced']:,} documents were added and are kept: run "
                "the same command again to go on"
            )
            raise
        documents, passages = index.documents, index.passages
    if options.json:
        show_json(
            {
                "index": str(directory),
                **counts,
                "skipped": dict(skips.counts),
                "index_documents": documents,
                "index_passages": passages,
            }
        )
    else:
        _show_added(counts, skips.counts)
        show(
            f"the index  {counted(documents, 'document')} with "
            f"{counted(passages, 'passage')}, in {directory}"
        )
    was_read = counts["new"] or counts["replaced"] or counts["unchanged"]
    return 0 if was_read or not skips.counts else 1


def _show_added(counts: dict[str, int], skipped: Counter[str]) -> None:
    count = counts["new"] + counts["replaced"]
    show(f"added      {counted(count, 'document')} with {counted(counts['passages'], 'passage')}")
    if counts["replaced"]:
        show(f"             {counts['replaced']:,} of them replace an earlier text")
    if counts["unchanged"]:
        show(f"unchanged  {counted(counts['unchanged'], 'document')}")
    if skipped:
        show(f"skipped    {skipped.total():,}")
    for reason, count in skipped.most_common():
        show(f"             {count:,} {reason}")


def _check(options: argparse.Namespace) -> None:
    from scrapy_simhash.extras.passages.index import open_passages

    with open_passages(_index_directory(options), create=False) as index:
        document = load_page(options.text, options)
        name, text = document.name, document.main_text()
        if not text.strip():
            raise SimhashError(f"{name}: no text in it")
        excluded = _own_name(index, name)
        if excluded is not None and not options.json:
            note(f"the document {excluded} has the name of this text, so it is no source")
        report = index.check(name, text, exclude=excluded)
    if options.json:
        show_json(report.to_dict() | {"excluded": excluded})
    else:
        _show_report(report)


def _own_name(index: PassageIndex, name: str) -> str | None:
    """Return the name of the text that is in the index, or None.

    A file may be in the index under its relative or its absolute path.
    """
    names = [name]
    if not is_url(name):
        names += [os.path.relpath(name), str(Path(name).resolve())]
    return next((name for name in names if name in index), None)


def _show_report(report: PassageReport) -> None:
    matched = [passage for passage in report.passages if passage.level != "none"]
    show(f"{printable(report.document)}: {_share(report.known_share)} of it appears elsewhere")
    short = sum(passage.short for passage in report.passages)
    counts = Counter(passage.level for passage in matched)
    shown = ", ".join(
        f"{counts[level]:,} {name}" for level, name in _LEVELS.items() if counts[level]
    )
    line = f"  {len(matched):,} of {len(report.passages):,} passages appear elsewhere"
    if matched:
        line += f": {shown}"
    if short:
        line += f"; {short:,} too short to look up"
    show(line)
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
        where = f"{printable(source.document)}, characters {source.start:,} to {source.end:,}"
        show(f"  {percent(source.similarity):>5}  {where}")
        if source.text != passage.text:
            show(f"         | {printable(source.text)}")


def _share(share: float) -> str:
    return "< 0.1 %" if 0 < share < 0.001 else f"{share * 100:.1f} %"  # noqa: PLR2004


COMMAND = Command(
    "passages", "find passages that appear elsewhere", _DESCRIPTION, None, _add_actions, json=False
)
