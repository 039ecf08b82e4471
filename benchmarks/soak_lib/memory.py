"""What memory processes take, and what of it is the index's."""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TRACED_LINES = 25
_SMAPS_COLUMNS = 5


def rss_bytes(process: str) -> int:
    """Return the resident set of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def descendants(process: str = "self") -> Iterator[str]:
    """Return the ids of all descendants of this process."""
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = path.read_text("ascii").split()
        except OSError:  # the thread is gone
            continue
        for child in children:
            yield child
            yield from descendants(child)


def index_bytes() -> dict[str, int]:
    """What the indexes of this process hold in memory: their buffers, their databases' caches, and
    what the system keeps of their files, which LevelDB maps; nothing if none is open.
    """
    from scrapy_simhash import index

    buffer_bytes = database_bytes = mapped_bytes = 0
    for shared in list(index._shared_stores.values()):  # noqa: SLF001 - nobody else asks for this
        store: Any = shared.store
        tables = store._buckets  # noqa: SLF001
        if store._plan.prefix_bits:  # noqa: SLF001
            arrays = [tables.pages._waiting, tables.pages._waiting_ids]  # noqa: SLF001
            arrays += [run.words for run in tables._in_memory()]  # noqa: SLF001
            buffer_bytes += sum(array.nbytes for array in arrays)
        else:
            generations = (tables._buffer._young, tables._buffer._old)  # noqa: SLF001
            buffer_bytes += sum(map(_generation_bytes, generations))
        database_bytes += _database_bytes(store._database._db)  # noqa: SLF001
        mapped_bytes += _mapped_bytes(Path(shared.location))
    return {
        "buffer_bytes": buffer_bytes,
        "database_bytes": database_bytes,
        "mapped_bytes": mapped_bytes,
    }


def _generation_bytes(generation: list[Any]) -> int:
    total = 0
    for slots in generation:
        records = list(slots.values() if isinstance(slots, dict) else slots)
        total += sys.getsizeof(slots) + sum(map(sys.getsizeof, filter(None, records)))
    return total


def _database_bytes(database: Any) -> int:
    """LevelDB's cache and write buffers; 0 for a database that does not say."""
    get_property = getattr(database, "get_property", None)
    value = get_property(b"leveldb.approximate-memory-usage") if get_property else None
    return int(value or 0)


def _mapped_bytes(directory: Path) -> int:
    """How much of the files in a directory counts as this process's memory, as it has mapped them.
    The system takes it back when it needs it.
    """
    try:
        lines = Path("/proc/self/smaps").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return 0
    below = f"{directory.resolve()}{os.sep}"
    total, inside = 0, False
    for line in lines:
        name, *values = line.split(None, 5)
        if not name.endswith(":"):  # of a mapping, whose last column is a path
            inside = len(values) == _SMAPS_COLUMNS and values[-1].startswith(below)
        elif inside and name == "Rss:":
            total += int(values[0]) * 1024
    return total


def traced_growth(before: tracemalloc.Snapshot) -> list[str]:
    """Return the lines of code whose allocations grew most."""
    after = tracemalloc.take_snapshot()
    grown = after.compare_to(before, "traceback")[:_TRACED_LINES]
    return [
        f"{found.size_diff / 1e6:+.2f} MB in {found.count_diff:+d}: "
        + " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(found.traceback))
        for found in grown
    ]
