"""The database row that names the files of `scrapy_simhash.index.runs` and of its pages."""

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
NAMES = frozenset({FINGERPRINTS, IDS})
# Bits of the hash of a page's key that its id holds.
KEY_HASH_BITS = 32


@dataclass(frozen=True)
class RunFile:
    """The file of a `Run`.

    :param bits: see `Run`, as for `starts` and `pages`.
    :param first: the run holds the pages with ordinals from `first` on and below `stop`.
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
    """Some successive rows, one for each page, of the two files of pages."""

    rows: int
    fingerprints_checksum: str
    ids_checksum: str


@dataclass(frozen=True)
class RunFiles:
    """All files of runs, and the parts of the two files of pages.

    :param stop: all pages with lower ordinals are in runs.
    :param next_name: number in the name of the next run's file.
    """

    runs: list[RunFile]
    pages: list[PagePart]
    stop: int
    next_name: int

    def encoded(self) -> bytes:
        """Return the value of the row."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @staticmethod
    def decoded(value: bytes) -> RunFiles:
        """Return the files from the value of the row. :raises ValueError: it is damaged."""
        try:
            content: dict[str, Any] = json.loads(value)
            runs = [RunFile(**run) for run in content["runs"]]
            pages = [PagePart(int(rows), str(a), str(b)) for rows, a, b in content["pages"]]
            return RunFiles(runs, pages, int(content["stop"]), int(content["next_name"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the row of runs makes no sense ({error})") from error


NO_FILES = RunFiles([], [], 0, 0)


def destroy_runs(database: Path) -> None:
    """Delete the files of runs and of pages in the directory of a database."""
    folder = database / FOLDER
    if folder.is_dir():
        for path in folder.iterdir():
            if path.suffix == ".run" or path.name in NAMES:
                path.unlink()
        with suppress(OSError):  # the folder holds other files
            folder.rmdir()
