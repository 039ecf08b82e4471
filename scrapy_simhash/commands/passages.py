"""``passages``: an index of the passages of documents. Fill it, and check texts against it."""

from __future__ import annotations

import argparse
import math
from typing import Any

from scrapy_simhash.commands import passages_add, passages_check
from scrapy_simhash.commands.page_source import encoding
from scrapy_simhash.commands.parsers import add_command, whole
from scrapy_simhash.documents.reader import DEFAULT_MAX_BYTES
from scrapy_simhash.errors import SchemeError
from scrapy_simhash.passages.cutting import (
    DEFAULT_RUN_CHARACTERS,
    MAX_RUN_CHARACTERS,
    MIN_RUN_CHARACTERS,
)
from scrapy_simhash.passages.matching import DEFAULT_COMMON_DOCUMENTS, DEFAULT_MIN_SIMILARITY
from scrapy_simhash.passages.result import DEFAULT_HIGH_SIMILARITY
from scrapy_simhash.passages.scheme import DEFAULT_MAX_DISTANCE, DEFAULT_MIN_CHARACTERS
from scrapy_simhash.scheme import Scheme

_DESCRIPTION = """\
Finds sentences that stand elsewhere, word for word or nearly so.

  {program} passages add reports/ pages.jsonl
  {program} passages check letter.txt
"""
_ADD = """\
Adds documents to the index, which is made if there is none. A document that is there already is
replaced if its text has changed. After an interruption, the same command goes on.

Text files and HTML pages are one document each, named by their paths; of a page, its main text
counts. JSON lines are one document each, named by their url or id. Files may be compressed by
gzip. Of folders, all files are taken but hidden ones.

  {program} add reports/ pages.jsonl.gz
  {program} add --text-field body --name-field link items.jl
  {program} add --keep-text --unit runs --characters 60 reports/
"""
_CHECK = """\
Shows which passages of a text stand in the documents of the index, and where.

  {program} check letter.txt
  {program} check --html letter.html letter.txt
  {program} check https://example.com/ferries
  pdftotext report.pdf - | {program} check --json -

Similarities go from 0 to 1, which is equal. They are those of the texts (1 - edits / length) if the
index keeps texts (add --keep-text), else estimated from the fingerprints.
"""
_INDEX = (
    "directory of the index (default: the setting SIMHASH_PASSAGES_DIR, simhash-passages; a "
    "relative setting is in the project's directory .scrapy, or in .scrapy here, outside of one)"
)


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``passages`` with its actions."""
    parser = add_command(subparsers, "passages", _DESCRIPTION, "which passages stand elsewhere")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    _add_add(add_command(actions, "add", _ADD, "add documents to the index"))
    _add_check(add_command(actions, "check", _CHECK, "check a text against the index"))


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    actions = {"add": passages_add.run, "check": passages_check.run}
    return actions[options.action](options)


def _add_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file or folder")
    parser.add_argument("--index", metavar="DIR", help=_INDEX)
    parser.add_argument("--json", action="store_true", help="show the summary as JSON")
    made = parser.add_argument_group(
        "the index", "They stay as they are once it is made, and need not be given again."
    )
    made.add_argument(
        "--keep-text",
        action="store_true",
        default=None,
        help="keep texts: passages are compared themselves, and shown",
    )
    made.add_argument(
        "--unit",
        choices=("sentences", "runs"),
        help="what is a passage: a sentence, or a run of about so many characters (default: "
        "sentences)",
    )
    made.add_argument(
        "--characters",
        metavar="N",
        type=whole(MIN_RUN_CHARACTERS, MAX_RUN_CHARACTERS),
        help=f"of a run (default: {DEFAULT_RUN_CHARACTERS})",
    )
    made.add_argument(
        "--overlapping",
        action="store_true",
        default=None,
        help="each run begins in the middle of the one before",
    )
    made.add_argument(
        "--bits",
        metavar="B",
        type=_bits,
        help="of a fingerprint: a multiple of 8 up to 512 (default: 256)",
    )
    made.add_argument(
        "--max-distance",
        metavar="K",
        type=whole(0, 511),
        help="passages are found whose fingerprints differ in so many bits (default: "
        f"{DEFAULT_MAX_DISTANCE} of 256, and as many in proportion)",
    )
    made.add_argument(
        "--min-characters",
        metavar="N",
        type=whole(1),
        help="letters and digits of a passage; shorter ones are not looked up (default: "
        f"{DEFAULT_MIN_CHARACTERS})",
    )
    _add_reading(parser)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="FILE|URL|-", help="a file, a page, or standard input")
    parser.add_argument("--index", metavar="DIR", help=_INDEX)
    parser.add_argument(
        "--mode",
        choices=("exact", "fast"),
        default="exact",
        help="exact finds the most similar sources; fast takes the first (default: exact)",
    )
    parser.add_argument(
        "--min-similarity",
        metavar="S",
        type=_share,
        default=DEFAULT_MIN_SIMILARITY,
        help="sources below it do not count (default: %(default)s)",
    )
    parser.add_argument(
        "--high-similarity",
        metavar="S",
        type=_share,
        default=DEFAULT_HIGH_SIMILARITY,
        help="from which on a passage is highly similar (default: %(default)s)",
    )
    parser.add_argument(
        "--common-documents",
        metavar="N",
        type=whole(0),
        default=DEFAULT_COMMON_DOCUMENTS,
        help="a passage that so many documents have is common; 0 for none (default: %(default)s)",
    )
    parser.add_argument(
        "--ignore-common", action="store_true", help="common passages count for nothing"
    )
    parser.add_argument(
        "--exclude",
        metavar="NAME",
        help="a document that is no source (default: the text itself, if the index has it)",
    )
    # The name of earlier releases.
    parser.add_argument("--but", dest="exclude", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="show all there is, as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page for browsers")
    _add_reading(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    reading = parser.add_argument_group("reading files")
    reading.add_argument(
        "--text-field",
        metavar="NAME",
        default="text",
        help="of JSON: the text (default: %(default)s)",
    )
    reading.add_argument(
        "--name-field",
        metavar="NAME",
        help="of JSON: the document's name (default: url, else id; without one, FILE:LINE)",
    )
    reading.add_argument(
        "--encoding",
        type=encoding,
        help="of all files (default: what they say, else UTF-8, else a guess)",
    )
    reading.add_argument(
        "--max-bytes",
        metavar="N",
        type=whole(0),
        default=DEFAULT_MAX_BYTES,
        help="longer documents are left out; 0 for none (default: %(default)s)",
    )


def _share(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and 0 <= number <= 1):
        raise argparse.ArgumentTypeError(f"{text}: from 0 to 1")
    return number


def _bits(text: str) -> int:
    try:
        return Scheme(bits=int(text)).bits
    except SchemeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
