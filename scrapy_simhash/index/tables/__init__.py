"""The permuted tables of Manku, Jain and Das Sarma (WWW 2007, section 3), as sorted arrays.

Start with `scrapy_simhash.index.tables.tables.Tables`. Their files are a cache in the folder of the
database: its entries make the tables again if files are missing, damaged or made for another index.
This module needs no numpy.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "tables"
STATE = "state.json"
COLUMNS = ("fingerprints", "ids", "marks")


def is_run(path: Path) -> bool:
    """Return True if a file is a run by its name."""
    return path.suffix == ".run" and path.stem.isdecimal()


def delete_tables(folder: Path) -> None:
    """Delete the files of tables, and the folder if it has no others. :raises OSError: it fails."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if is_run(path) or path.name in (*COLUMNS, STATE) or path.name.startswith(".simhash-"):
            path.unlink()
    with suppress(OSError):  # missing, or it holds other files
        folder.rmdir()
