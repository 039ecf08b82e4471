"""Another process that opens the index when a crawl has ended, for the child process."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from scrapy_simhash.crawl import extension

HOLDING = """
import sys
from pathlib import Path
from scrapy_simhash.index.offline import opened_database

with opened_database(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold_the_index() -> None:
    """Open the index between the crawl and its report."""
    write = extension.write_crawl_report

    def held(crawler: Any, settings: Any, directory: Any, reason: str) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", HOLDING, directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout.readline() == b"held\n"
            write(crawler, settings, directory, reason)
            process.stdin.close()

    extension.write_crawl_report = held
