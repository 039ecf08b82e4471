"""``report``: write a report on an index as one HTML page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command, argument, index_location
from scrapy_simhash.commands._output import show_result, writable
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import argparse


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.report.data import report_data, write_report
    from scrapy_simhash.report.page import render

    where = index_location(options)
    if options.file == "-":
        if sys.stdout is not None:
            sys.stdout.buffer.write(render(report_data(where)).encode())
        return
    file = writable(options.file)
    if file.suffix not in (".html", ".htm") and not file.exists():
        raise SimhashError(
            f"{file}: the name of a report ends with .html; --spider NAME chooses a spider"
        )
    data = write_report(file, where)
    counts = {name: data["index"][name] for name in ("representatives", "near_duplicates")}
    result = {"index": str(where), "file": options.file, **counts, "left_out": data["left_out"]}
    show_result(options, result)


COMMAND = Command(
    "report",
    "write a report on an index as HTML",
    """\
Writes one self-contained HTML file: counts, URL patterns with most near-duplicates, clusters that
can be searched and sorted, and pages side by side if their texts are stored (SIMHASH_KEEP_TEXT).

  {program} report
  {program} report --spider news news.html
  {program} report - | gzip > report.html.gz

If SIMHASH_REPORT names a file, each crawl writes its own report, with its counts, when it ends.
""",
    _run,
    (
        argument(
            "file",
            metavar="FILE",
            nargs="?",
            default="simhash-report.html",
            help="file to write or overwrite; - is standard output (default: %(default)s)",
        ),
    ),
    index=True,
)
