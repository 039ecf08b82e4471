"""What an index takes of memory by itself: what a crawl has stored is stored again, in a process
that does nothing else.

Sizes of objects do not add up to it: what is freed in between, and what the allocators keep, is
the index's, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soak_lib.memory import rss_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

# A page: when it came, its key, its fingerprint in hexadecimal digits.
Page = tuple[int, str, str]


def stored(directory: Path) -> list[Page]:
    """Return all pages of an index, in order of arrival."""
    from scrapy_simhash.maintenance.sources import opened_source

    with opened_source(directory) as source:
        pages = [(e.number, e.key, f"{e.fingerprint:x}") for e in source.entries()]
        pages += [(n.sequence, n.key, f"{n.fingerprint:x}") for n in source.near_duplicates()]
    return sorted(pages)


def index_alone(script: Path, pages: Iterable[Page], warm: int, directory: Path) -> dict[str, Any]:
    """Return the resident bytes of the process, with some pages and with all.

    :param script: the one that calls `main`.
    :param directory: where the index goes; it does not exist.
    """
    child = subprocess.Popen(
        [sys.executable, str(script), "--replay", json.dumps([str(directory), warm])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert child.stdin is not None
    for page in pages:
        child.stdin.write(json.dumps(page) + "\n")
    out, _ = child.communicate()
    if child.returncode:
        raise RuntimeError(f"the index alone ended with {child.returncode}")
    found: dict[str, Any] = json.loads(out)
    return found


def main(directory: str, warm: int) -> None:
    """Store the pages of standard input, and print the memory that it took."""
    from scrapy_simhash import open_index
    from scrapy_simhash.index import index_url

    found = {}
    with open_index(index_url(Path(directory))) as index:
        for number, line in enumerate(sys.stdin, 1):
            _, key, fingerprint = json.loads(line)
            observation = index.observe(key, int(fingerprint, 16))
            if observation.kind == "new":
                index.confirm(observation)
            if number == warm:
                found["warm_bytes"] = rss_bytes("self")
        found["end_bytes"] = rss_bytes("self")
    print(json.dumps(found))
