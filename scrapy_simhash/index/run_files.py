"""The database row `records.RUNS_KEY`, which names the files of `scrapy_simhash.index.runs`."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "runs"
FINGERPRINTS = "fingerprints"
IDS = "ids"
MARKS = "marks"
NAMES = frozenset({FINGERPRINTS, IDS, MARKS})
# Width of the key hash in the id of a page (`scrapy_simhash.index.pages`).
KEY_HASH_BITS = 32


@dataclass(frozen=True)
class RunFile:
    """The file of a `Run`, which describes `bits`, `starts` and `pages`.

    :param first: lower limit of the ordinals of the run's pages; all are below `stop`.
    :param checksum: XXH3-64 of the file, in hex.
    """

    name: str
    bits: int
    starts: list[int]
    pages: int
    first: int
    stop: int
    size_bytes: int
    checksum: str


class PagePart(NamedTuple):
    """The rows that one merge appended to each of the three files of pages: a row for each page."""

    rows: int
    fingerprints_checksum: str
    ids_checksum: str
    marks_checksum: str


@dataclass(frozen=True)
class RunFiles:
    """All files of runs, and the parts of the three files of pages.

    :param stop: all pages with lower ordinals are in the files, but removed ones may be left out.
    :param next_name: number that is the name of the next run's file, without its suffix.
    """

    runs: list[RunFile]
    pages: list[PagePart]
    stop: int
    next_name: int

    def encoded(self) -> bytes:
        """Return the value of the row, as JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @staticmethod
    def decoded(value: bytes) -> RunFiles:
        """Return the files from the value of the row. :raises ValueError: it is damaged."""
        try:
            content: dict[str, Any] = json.loads(value)
            runs = [RunFile(**run) for run in content["runs"]]
            pages = [PagePart(int(rows), *map(str, sums)) for rows, *sums in content["pages"]]
            return RunFiles(runs, pages, int(content["stop"]), int(content["next_name"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the row of runs makes no sense ({error})") from error


def destroy_runs(database: Path) -> None:
    """Delete the files of runs and pages in the directory of a database, and their empty folder."""
    folder = database / FOLDER
    if folder.is_dir():
        for path in folder.iterdir():
            if path.suffix == ".run" or path.name in NAMES:
                path.unlink()
        with suppress(OSError):  # the folder holds other files, and is kept
            folder.rmdir()
