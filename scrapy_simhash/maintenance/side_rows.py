"""Find damaged rows beside the entries of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from scrapy_simhash.index import records
from scrapy_simhash.index.base import SideKind
from scrapy_simhash.index.history import decode_crawl
from scrapy_simhash.url_rules.rows import decode_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.index.database import Database


def damaged_side_rows(database: Database) -> Iterator[tuple[bytes, str]]:
    """Yield the keys of rows that cannot be decoded, with a message."""
    for kind in get_args(SideKind):
        for row, value in database.rows(*records.side_range(kind)):
            try:
                if kind == "url-rules":
                    decode_rules(value)
                else:
                    decode_crawl(records.decode_key(row[1:]), value)
            except ValueError as error:  # noqa: PERF203 - few rows
                what = "the rules of URLs" if kind == "url-rules" else "the history"
                yield row, f"{what} of {row[1:]!r}: {error}"
