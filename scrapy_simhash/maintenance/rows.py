"""Read and decode the rows of an index in a directory, and say which are damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.index import records
from scrapy_simhash.index.history import decode_crawl

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator, Mapping

    from scrapy_simhash.index.base import Entry, NearDuplicate, SideKind
    from scrapy_simhash.index.database import Database

# By kind of side row: its name in problems, and a function that decodes (name, value) of a row.
_SIDE_ROWS: Mapping[SideKind, tuple[str, Callable[[str, bytes], object]]] = {
    "notes": ("the note", lambda _, value: value),  # slices know what it says
    "history": ("the history", decode_crawl),
}


class Row(NamedTuple):
    """A row of an index.

    :param content: the decoded entry or log line; None for side rows (`SideKind`) and damaged rows.
    :param problem: a sentence that says what is wrong with the row; empty if it is sound.
    """

    key: bytes
    content: Entry | NearDuplicate | None
    problem: str = ""


def read_rows(database: Database, width_bytes: int) -> Iterator[Row]:
    """Yield the rows of entries, log lines and side rows, and rows of no known kind, in this order.

    The state row is left out: `repair` makes it again.

    :param width_bytes: bytes of a fingerprint.
    """
    for key, value in database.rows(b"E", b"F"):
        if len(key) == records.ENTRY_KEY_BYTES:  # other keys are of no known kind
            yield _decode_row(records.decode_entry, key, value, width_bytes)
    for key, value in database.rows(b"N", b"O"):
        if len(key) == records.LOG_KEY_BYTES:
            yield _decode_row(records.decode_near_duplicate, key, value, width_bytes)
    for kind, (name, decode) in _SIDE_ROWS.items():
        for key, value in database.rows(*records.side_range(kind)):
            problem = ""
            try:
                decode(records.decode_key(key[1:]), value)
            except ValueError as error:
                problem = f"{name} of {key[1:]!r}: {error}"
            yield Row(key, None, problem)
    for key in records.rows_of_no_kind(database):
        yield Row(key, None, f"a row of no known kind: {key!r}")


def entries_of_repeated_pages(
    database: Database, ordinals: array[int], hashes: array[int], width_bytes: int
) -> Iterator[Entry]:
    """Yield the entries of pages that have several, and of pages whose hashes are equal by chance.

    :param ordinals: the ordinals of all sound entries.
    :param hashes: for each of them, the hash of the page's key, of type ``q``.
    """
    import numpy as np

    distinct, counts = np.unique(np.array(hashes, np.int64), return_counts=True)
    for position in np.flatnonzero(np.isin(hashes, distinct[counts > 1])):
        ordinal = ordinals[position]
        value = database.get(records.entry_row_key(ordinal)) or b""
        yield records.decode_entry(ordinal, value, width_bytes)


def _decode_row(decode: Any, key: bytes, value: bytes, width_bytes: int) -> Row:
    """Return a row with its content, or with its problem."""
    try:
        return Row(key, decode(int.from_bytes(key[1:], "big"), value, width_bytes))
    except ValueError as error:
        return Row(key, None, str(error))
