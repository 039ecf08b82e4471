"""The database row that names and describes the files of `scrapy_simhash.index.runs`."""

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
# Of the hash of a page's key, in its id.
KEY_HASH_BITS = 32


@dataclass(frozen=True)
class RunFile:
    """A run's file.

    :param bits: leading bits of a prefix by which its directories are sorted.
    :param starts: where the directory of each table begins, in words of 32 bits.
    :param pages: how many it holds.
    :param first: the ordinals from here on, up to `stop`, are in it.
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
    """So many pages in the two files of pages, written at once."""

    rows: int
    fingerprints_checksum: str
    ids_checksum: str


@dataclass(frozen=True)
class RunFiles:
    """All files of runs, and the parts of the two files of pages.

    :param stop: lower ordinals are in runs.
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
        """Inverse of `encoded`. :raises ValueError: it makes no sense."""
        try:
            made: dict[str, Any] = json.loads(value)
            runs = [RunFile(**run) for run in made["runs"]]
            pages = [PagePart(int(rows), str(a), str(b)) for rows, a, b in made["pages"]]
            return RunFiles(runs, pages, int(made["stop"]), int(made["next_name"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the row of runs makes no sense ({error})") from error


NO_FILES = RunFiles([], [], 0, 0)


def destroy_runs(database: Path) -> None:
    """Delete the files of runs beside the rows of a database."""
    folder = database / FOLDER
    if folder.is_dir():
        for path in folder.iterdir():
            if path.suffix == ".run" or path.name in NAMES:
                path.unlink()
        with suppress(OSError):  # it holds other things
            folder.rmdir()
