"""Find damaged rows beside the entries of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from scrapy_simhash.index import records
from scrapy_simhash.index.base import SideKind
from scrapy_simhash.index.history import decode_crawl
from scrapy_simhash.index.validators import decode_validators
from scrapy_simhash.url_rules.rows import decode_evidence, decode_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy_simhash.index.database import Database

_WORDS: Mapping[SideKind, str] = {
    "url-rules": "the rules of URLs",
    "history": "the history",
    "validators": "the validators",
    "sitemaps": "the evidence of the sitemap",
}


def damaged_side_rows(database: Database) -> Iterator[tuple[bytes, str]]:
    """Yield the keys of rows that cannot be decoded, with a message."""
    for kind in get_args(SideKind):
        for row, value in database.rows(*records.side_range(kind)):
            try:
                if kind == "url-rules":
                    decode_rules(value)
                elif kind == "history":
                    decode_crawl(records.decode_key(row[1:]), value)
                elif kind == "validators":
                    decode_validators(value)
                else:
                    decode_evidence(value)
            except ValueError as error:  # noqa: PERF203 - rows of any page
                yield row, f"{_WORDS[kind]} of {row[1:]!r}: {error}"
