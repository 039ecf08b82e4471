"""The files of tables, in a folder that can be deleted at any time: entries make them again.

``fingerprints``, ``ids`` and ``marks`` have a row for each position, in words of 64 bits; rows are
only ever appended. ``NUMBER.run`` is a run in words of 32 bits. ``state.json`` says what belongs
together: a line of JSON, with the XXH3-64 of each file, and the XXH3-64 of this line in hexadecimal
digits. It is replaced last. All is little-endian.
docs/index-format.md describes them.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from xxhash import xxh3_64, xxh3_64_hexdigest

from scrapy_simhash.documents.files import replaced, sync_file
from scrapy_simhash.index.tables.rows import Columns
from scrapy_simhash.index.tables.runs import Run

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from numpy.typing import NDArray
    from typing_extensions import Self

    Words = NDArray[np.uint64] | NDArray[np.uint32]

STATE = "state.json"
COLUMNS = ("fingerprints", "ids", "marks")
_OUR_NAMES = re.compile(rf"[0-9]+\.run|{'|'.join(COLUMNS)}|{re.escape(STATE)}|\.simhash-.*")
# A file is synced whenever this many bytes are unsynced, so that no page waits long at its end.
_MAX_UNSYNCED_BYTES = 32 << 20


@dataclass
class Stored:
    """The content of the files of tables.

    :param runs: by the name of the file.
    :param sums: the XXH3-64 of each file, by name.
    :param stop: all numbers in the files are lower.
    :param unfit: why files were deleted; or empty.
    """

    columns: Columns
    runs: dict[str, Run] = field(default_factory=dict)
    sums: dict[str, xxh3_64] = field(default_factory=lambda: {name: xxh3_64() for name in COLUMNS})
    stop: int = 0
    unfit: str = ""


def read(folder: Path | None, made_for: str, words: int, max_rows: int) -> Stored:
    """Return the content of a folder, and delete files that do not belong to it: all if they were
    made for something else, have too many rows, are damaged or incomplete.

    :param made_for: the index, its plan, and the version of the format.
    :param words: number of words of a fingerprint.
    :raises OSError: they cannot be read or deleted.
    """
    if folder is None or not (folder / STATE).exists():
        return Stored(Columns.empty(words))
    try:
        stored = _read(folder, made_for, words, max_rows)
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError) as error:
        delete_tables(folder)
        return Stored(Columns.empty(words), unfit=f"they are damaged or do not fit ({error})")
    delete_tables(folder, but=(STATE, *COLUMNS, *stored.runs))
    return stored


def _read(folder: Path, made_for: str, words: int, max_rows: int) -> Stored:
    text, _, checksum = (folder / STATE).read_text("utf-8").partition("\n")
    if xxh3_64_hexdigest(text.encode()) != checksum:
        raise ValueError(f"the checksum of {STATE} is wrong")
    state = json.loads(text)
    if state["made_for"] != made_for:
        raise ValueError("they were made for another index or by another release")
    if state["rows"] > max_rows:
        raise ValueError("more than half of their rows are of removed pages")
    runs = {name: mapped_run(folder / name, *rest) for name, (_, *rest) in state["runs"].items()}
    columns = _mapped_columns(folder, state["rows"], words)
    contents = dict(zip(COLUMNS, columns, strict=True)) | {
        name: run.words for name, run in runs.items()
    }
    sums = {name: xxh3_64(content.data) for name, content in contents.items()}
    for name, content in sums.items():
        if content.intdigest() != state["sums"][name]:
            raise ValueError(f"the checksum of {name} is wrong")
    return Stored(columns, runs, sums, int(state["stop"]))


class File:
    """A context in which words are appended to a file. At its end they are on disk, if no exception
    was raised. :raises OSError: the disk fails.

    :param size: bytes to keep of the file, which is made if it is missing.
    :param content: the XXH3-64 of these bytes.
    """

    def __init__(self, path: Path, size: int = 0, content: xxh3_64 | None = None) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._file = os.fdopen(descriptor, "r+b", buffering=1 << 18)
        self._file.truncate(size)
        self._file.seek(size)
        self.sum = xxh3_64() if content is None else content.copy()
        self._unsynced_bytes = 0

    def write(self, words: Words) -> None:
        """Append words."""
        packed = words.astype(words.dtype.newbyteorder("<"), copy=False).tobytes()
        self.sum.update(packed)
        self._file.write(packed)
        self._unsynced_bytes += len(packed)
        if self._unsynced_bytes > _MAX_UNSYNCED_BYTES:
            self._sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *rest: object) -> None:
        # Closing writes what is left. After an error this may fail, too: the first error counts.
        with suppress(*() if error is None else (OSError,)), self._file:
            if error is None:
                self._sync()

    def _sync(self) -> None:
        self._unsynced_bytes = 0
        self._file.flush()
        os.fsync(self._file.fileno())


def appended(folder: Path, stored: Stored, added: Columns) -> Stored:
    """Append rows to the files of columns, and return the content without runs.

    The rows count only after `commit`. :raises OSError: the disk fails.
    """
    sums = {}
    for name, old, rows in zip(COLUMNS, stored.columns, added, strict=True):
        # The size cuts off the rows of an interrupted merge.
        with File(folder / name, old.nbytes, stored.sums[name]) as file:
            file.write(rows)
        sums[name] = file.sum
    total = len(stored.columns.ids) + len(added.ids)
    return Stored(_mapped_columns(folder, total, added.fingerprints.shape[1]), sums=sums)


def mapped_run(path: Path, bits: int, starts: list[int], rows: int) -> Run:
    """Return the run in a file, which ends with the last directory."""
    words = starts[-1] + (1 << bits) + 1
    return Run(_mapped(path, "<u4", (words,)), bits, starts, rows)


def commit(folder: Path, made_for: str, stored: Stored) -> None:
    """Say in `STATE` what belongs together. :raises OSError: the disk fails."""
    content = {
        "made_for": made_for,
        "stop": stored.stop,
        "rows": len(stored.columns.ids),
        "runs": {name: (len(run.words), *run[1:]) for name, run in stored.runs.items()},
        "sums": {name: hashed.intdigest() for name, hashed in stored.sums.items()},
    }
    text = json.dumps(content)
    sync_file(folder)  # the names of the other files
    with replaced(folder / STATE) as temporary:
        temporary.write_text(f"{text}\n{xxh3_64_hexdigest(text.encode())}", encoding="utf-8")
    sync_file(folder)


def _mapped_columns(folder: Path, rows: int, words: int) -> Columns:
    shapes = ((rows, words), (rows,), (rows,))
    return Columns(
        *(_mapped(folder / name, "<u8", shape) for name, shape in zip(COLUMNS, shapes, strict=True))
    )


def _mapped(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map a file into memory. Return an array, because numpy is slower with a `memmap`.

    :raises ValueError: the file is too short.
    """
    return np.asarray(np.memmap(path, dtype, "r", shape=shape))


def delete_tables(folder: Path, but: Collection[str] = ()) -> None:
    """Delete the files of tables, and the folder if it has no others. :raises OSError: it fails.

    :param but: names of files that stay.
    """
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in but and _OUR_NAMES.fullmatch(path.name):
            path.unlink()
    with suppress(OSError):  # missing, or it holds other files
        folder.rmdir()
