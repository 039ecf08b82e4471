"""``passages``: fill an index of passages, and check texts against it."""

from __future__ import annotations

import argparse
from typing import Any

from scrapy_simhash.commands import passages_add, passages_check
from scrapy_simhash.commands._options import add_command, share, whole_number
from scrapy_simhash.commands._pages import add_reading_options
from scrapy_simhash.errors import SchemeError
from scrapy_simhash.passages import DEFAULT_COMMON_DOCUMENTS, DEFAULT_MIN_SIMILARITY
from scrapy_simhash.passages.cutting import (
    DEFAULT_RUN_CHARACTERS,
    MAX_RUN_CHARACTERS,
    MIN_RUN_CHARACTERS,
)
from scrapy_simhash.passages.result import DEFAULT_HIGH_SIMILARITY
from scrapy_simhash.passages.scheme import DEFAULT_MAX_DISTANCE, DEFAULT_MIN_CHARACTERS
from scrapy_simhash.scheme import Scheme

_DESCRIPTION = """\
Finds sentences that appear elsewhere, word for word or nearly so.

  {program} passages add reports/ pages.jsonl
  {program} passages check letter.txt
"""
_ADD = """\
Adds documents to the index, which is created if necessary. A document with the name of a stored one
replaces it if its text is different. After an interruption, the same command goes on.

A text file or an HTML page is one document, named by its path. Only the main text of a page counts.
Each line of a JSON lines file is one document, named by its url or id. Files may be compressed by
gzip. Hidden files in folders are ignored.

  {program} add reports/ pages.jsonl.gz
  {program} add --text-field body --name-field link items.jl
  {program} add --keep-text --unit runs --characters 60 reports/
"""
_CHECK = """\
Shows which passages of a text appear in the documents of the index, and where.

  {program} check letter.txt
  {program} check --html letter.html letter.txt
  {program} check https://example.com/ferries
  pdftotext report.pdf - | {program} check --json -

Similarities go from 0 to 1 (equal). They are computed from the texts (1 - edits / length) if the
index keeps texts (add --keep-text), otherwise estimated from the fingerprints.
"""
_INDEX = (
    "directory of the index (default: the setting SIMHASH_PASSAGES_DIR, or simhash-passages; "
    "relative to .scrapy of the project, or of the working directory outside a project)"
)


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``passages`` with its actions."""
    parser = add_command(
        subparsers, "passages", _DESCRIPTION, "find passages that appear elsewhere"
    )
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
    creation = parser.add_argument_group(
        "the index", "These are fixed when the index is created, and need not be given again."
    )
    creation.add_argument(
        "--keep-text",
        action="store_true",
        default=None,
        help="store texts, to compare passages by their texts and to show them",
    )
    creation.add_argument(
        "--unit",
        choices=("sentences", "runs"),
        help="sentences, or runs of about N characters (--characters N; default: sentences)",
    )
    creation.add_argument(
        "--characters",
        metavar="N",
        type=whole_number(MIN_RUN_CHARACTERS, MAX_RUN_CHARACTERS),
        help=f"length of a run (default: {DEFAULT_RUN_CHARACTERS})",
    )
    creation.add_argument(
        "--overlapping",
        action="store_true",
        default=None,
        help="begin each run in the middle of the previous one",
    )
    creation.add_argument(
        "--bits",
        metavar="B",
        type=_bits,
        help="width of fingerprints: a multiple of 8 up to 512 (default: 256)",
    )
    creation.add_argument(
        "--max-distance",
        metavar="K",
        type=whole_number(0, 511),
        help="largest distance of fingerprints in bits (default: "
        f"{DEFAULT_MAX_DISTANCE} for 256 bits, in proportion for others)",
    )
    creation.add_argument(
        "--min-characters",
        metavar="N",
        type=whole_number(1),
        help="passages with fewer letters and digits are not looked up (default: "
        f"{DEFAULT_MIN_CHARACTERS})",
    )
    add_reading_options(parser)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="FILE|URL|-", help="a file, a page, or standard input")
    parser.add_argument("--index", metavar="DIR", help=_INDEX)
    parser.add_argument(
        "--mode",
        choices=("exact", "fast"),
        default="exact",
        help="exact finds the most similar sources; fast stops at the first (default: exact)",
    )
    parser.add_argument(
        "--min-similarity",
        metavar="S",
        type=share,
        default=DEFAULT_MIN_SIMILARITY,
        help="least similarity of a source (default: %(default)s)",
    )
    parser.add_argument(
        "--high-similarity",
        metavar="S",
        type=share,
        default=DEFAULT_HIGH_SIMILARITY,
        help="least similarity of a highly similar passage (default: %(default)s)",
    )
    parser.add_argument(
        "--common-documents",
        metavar="N",
        type=whole_number(0),
        default=DEFAULT_COMMON_DOCUMENTS,
        help="a passage in N documents or more is common; with 0, none is (default: %(default)s)",
    )
    parser.add_argument(
        "--ignore-common", action="store_true", help="leave common passages out of the shares"
    )
    parser.add_argument(
        "--exclude",
        metavar="NAME",
        help="a document to ignore (default: the text itself, if the index has it)",
    )
    # The old name of --exclude.
    parser.add_argument("--but", dest="exclude", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="show the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page for browsers")
    add_reading_options(parser)


def _bits(text: str) -> int:
    try:
        return Scheme(bits=int(text)).bits
    except SchemeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
