"""The main texts of pages, which an index keeps for reports and for reindexing.

A row holds the compressed text of a page. A page may have no text, because the total size is
limited, and text and entry are not written in one batch.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.records import TEXTS, decode_key, text_row_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simhash.index.rows import Rows

DEFAULT_MAX_BYTES = 1 << 30
# A longer text is cut off here.
MAX_CHARACTERS = 200_000
_COMPRESSION_LEVEL = 1


class KeptText(NamedTuple):
    """The main text of a page, with its title."""

    title: str
    text: str


class Texts:
    """The texts of an index. :raises StorageError: the database fails.

    :param max_bytes: limit for the total size of all rows: their keys and the compressed texts.
    """

    def __init__(self, rows: Rows, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._rows = rows
        self.max_bytes = max_bytes

    def get(self, key: str) -> KeptText | None:
        """Return the text of a page; None if it is not stored."""
        value = self.compressed(key)
        try:
            return None if value is None else decode_text(value)
        except ValueError as error:
            raise corrupt(self._rows.location, f"the text of {key!r}: {error}") from error

    def compressed(self, key: str) -> bytes | None:
        """Return a stored text as zlib-compressed JSON with title and text; None without one."""
        return self._rows.database.get(text_row_key(key))

    def keys(self) -> Iterator[str]:
        """Yield the keys of the pages with a stored text."""
        return self._rows.decoded(*TEXTS, lambda key, _: decode_key(key))

    def keep(self, key: str, text: KeptText) -> bool:
        """Store a text, in place of an earlier one. Return False if it would exceed `max_bytes`."""
        shortened = text._replace(text=text.text[:MAX_CHARACTERS])
        content = json.dumps(shortened._asdict(), ensure_ascii=False)
        value = zlib.compress(content.encode("utf-8", "surrogatepass"), _COMPRESSION_LEVEL)
        return self.put(key, value, self.max_bytes)

    def put(self, key: str, value: bytes, max_bytes: int = 1 << 62) -> bool:
        """Store a compressed text; see `keep`."""
        rows, row = self._rows, text_row_key(key)
        with rows.lock:
            before = rows.database.get(row)
            added = len(row) + len(value) - _size(row, before)
            if before != value:
                if rows.state.text_bytes + added > max_bytes:
                    return False
                rows.write_rows([(row, value)], added_text_bytes=added)
            return True

    def forget(self, keys: Iterable[str]) -> None:
        """Delete the texts of pages, where they are stored, in one write."""
        with self._rows.lock:
            found = [*map(text_row_key, keys)]
            values = self._rows.database.get_all(found)
            size = sum(map(_size, found, values))
            if size:
                self._rows.write_rows([], found, added_text_bytes=-size)

    def copy(self, texts: Texts) -> None:
        """Store the texts of another index, in place of those of the same pages."""
        for key in texts.keys():  # noqa: SIM118 - a method
            value = texts.compressed(key)
            if value is not None:
                self.put(key, value)


def decode_text(value: bytes) -> KeptText:
    """Return the text of a row. :raises ValueError: the value is damaged."""
    try:
        return KeptText(**json.loads(zlib.decompress(value).decode("utf-8", "surrogatepass")))
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from error


def _size(row: bytes, value: bytes | None) -> int:
    return 0 if value is None else len(row) + len(value)
