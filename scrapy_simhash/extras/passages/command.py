"""``passages``: fill an index of passages, and check texts against it."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._output import note, progress, show_result
from scrapy_simhash.commands._pages import (
    add_field_arguments,
    existing_paths,
    is_url,
    load_page,
    make_reader,
)
from scrapy_simhash.documents.files import file_path
from scrapy_simhash.documents.lines import Unreadable

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.extras.passages.index import PassageIndex


_SHOWN_SOURCES = 10
_SHOWN_SKIPS = 20


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file or folder")
    _add_common_arguments(parser)


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="FILE|URL|-", help="a file, a page, or standard input")
    _add_common_arguments(parser)


def _add_common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--index",
        metavar="DIR",
        help="directory of the index (default: that of the setting SIMHASH_PASSAGES, or "
        "simhash-passages; in .scrapy of the project or, outside a project, of the working "
        "directory)",
    )
    add_field_arguments(parser)


def _index_directory(options: argparse.Namespace) -> Path:
    if options.index is not None:
        return file_path(options.index)
    return Path(options.settings.path("SIMHASH_PASSAGES"))


def _add(options: argparse.Namespace) -> int:
    """Add all readable documents. Return 1 if there is none."""
    from scrapy_simhash.extras.passages.index import open_passages

    paths, directory = existing_paths(options.files), _index_directory(options)
    reader, skipped = make_reader(options), Counter[str]()
    counts = dict.fromkeys(("new", "replaced", "unchanged", "passages"), 0)
    with open_passages(directory) as index:
        for document in progress(reader.documents(paths, exclude=directory), "documents"):
            try:
                if isinstance(document, Unreadable):
                    raise document
                text = document.main_text()
            except Unreadable as error:
                skipped[error.reason] += 1
                if skipped.total() <= _SHOWN_SKIPS:
                    note(f"skipped {error}")
                continue
            added = "replaced" if document.name in index else "new"
            passages = index.add(document.name, text)
            counts["unchanged" if passages is None else added] += 1
            counts["passages"] += passages or 0
        sizes = {"index_documents": index.documents, "index_passages": index.passages}
    if (more := skipped.total() - _SHOWN_SKIPS) > 0:
        note(f"skipped {more:,} more")
    result = {"index": str(directory), **counts, "skipped": dict(skipped.most_common())}
    show_result(options, result | sizes)
    if counts["new"] or counts["replaced"] or counts["unchanged"]:
        return 0
    note(f"error: no document could be read from {', '.join(options.files)}")
    return 1


def _check(options: argparse.Namespace) -> None:
    from scrapy_simhash.extras.passages.index import open_passages

    with open_passages(_index_directory(options), create=False) as index:
        document = load_page(options.text, options)
        name, text = document.name, document.main_text()
        excluded = _own_name(index, name)
        if excluded is not None and not options.json:
            note(f"the document {excluded} has the name of this text, so it is no source")
        report = index.check(name, text, exclude=excluded)
    result = asdict(report) | {"excluded": excluded}
    show_result(options, result if options.json else _known(result))


def _own_name(index: PassageIndex, name: str) -> str | None:
    """Return the name of the text that is in the index, or None.

    A file may be in the index under its relative or its absolute path.
    """
    names = [name]
    if not is_url(name):
        names += [os.path.relpath(name), os.path.realpath(name)]
    return next((name for name in names if name in index), None)


def _known(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without the passages that no other document has, for people."""
    passages, sources = result.pop("passages"), result.pop("sources")
    short = sum(one.pop("short") for one in passages)
    known = [{"text": one.pop("text"), **one} for one in passages if one["sources"]]
    for passage in known:
        for source in passage["sources"]:
            if source["text"] == passage["text"]:
                del source["text"]
    if (more := len(sources) - _SHOWN_SOURCES) > 0:
        note(f"{more:,} more sources: --json shows all")
    return {
        **result,
        "passages": len(passages),
        "known_passages": len(known),
        "short_passages": short,
        "sources": list(sources[:_SHOWN_SOURCES]),
        "known": known,
    }


COMMAND = Command(
    "passages",
    "find passages that appear elsewhere",
    """\
Finds sentences that appear elsewhere, word for word or nearly so.

  %(prog)s add reports/ pages.jsonl
  %(prog)s check letter.txt
""",
    None,
    json=False,
    commands=(
        Command(
            "add",
            "add documents to the index",
            """\
Adds documents to the index, which is created if necessary. A document replaces a stored one with
the same name and another text. After an interruption, run the same command again to go on.

A text file or an HTML page is one document, named by its path. Only the main text of a page counts.
Each line of a JSON lines file is one document, named by its url or id. Files may be compressed by
gzip. Hidden files in folders are ignored.

  %(prog)s reports/ pages.jsonl.gz
  %(prog)s --text-field body --name-field link items.jl
""",
            _add,
            _add_arguments,
        ),
        Command(
            "check",
            "check a text against the index",
            """\
Shows which passages of a text appear in the documents of the index, and where.

  %(prog)s letter.txt
  %(prog)s https://example.com/ferries
  pdftotext report.pdf - | %(prog)s --json -

Similarities go from 0 to 1 (equal): 1 - edits / length.
""",
            _check,
            _check_arguments,
        ),
    ),
)
