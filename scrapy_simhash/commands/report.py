"""``report``: write a report on an index as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command, index_location
from scrapy_simhash.commands._output import show_result, writable
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import argparse


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.report.data import write_report

    where, file = index_location(options), writable(options.file)
    if file.suffix not in (".html", ".htm") and not file.exists():
        raise SimhashError(
            f"{file}: the name of a report ends with .html; --spider NAME chooses a spider"
        )
    data = write_report(file, where)
    counts = {name: data["index"][name] for name in ("representatives", "near_duplicates")}
    result = {"index": str(where), "file": options.file, **counts, "left_out": data["left_out"]}
    show_result(options, result)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="simhash-report.html",
        help="file to write or overwrite (default: %(default)s)",
    )


COMMAND = Command(
    "report",
    "write a report on an index as HTML",
    """\
Writes one self-contained HTML file: counts, URL patterns with most near-duplicates, clusters that
can be searched and sorted, and pages side by side if their texts are stored (SIMHASH_KEEP_TEXT).

  %(prog)s
  %(prog)s --spider news news.html

If SIMHASH_REPORT names a file, each crawl writes its own report, with its counts, when it ends.
""",
    _run,
    _arguments,
    index=True,
)
