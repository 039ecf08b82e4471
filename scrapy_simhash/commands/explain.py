"""``explain``: show what an index knows about a page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import add_index_command, index_location
from scrapy_simhash.commands._output import percent, show, show_json, shown_time

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index.base import NearDuplicate
    from scrapy_simhash.maintenance.explain import Explanation

_DESCRIPTION = """\
Shows what an index knows about a page: since when it is a representative; which pages it was a
near-duplicate of, when, at what distance, and what the crawl did with it; and which pages were
near-duplicates of it. A similar page is within k, but is not a copy.

  {program} explain https://example.com/print?article=7

The exit code is 1 if the index knows nothing about the page.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``explain``."""
    parser = add_index_command(
        subparsers, "explain", _DESCRIPTION, "show what an index knows about a page"
    )
    parser.add_argument(
        "key", metavar="KEY", help="the page's URL, or the identity that it was given"
    )


def run(options: argparse.Namespace) -> int:
    """Show what is known; return 1 if nothing is."""
    from scrapy_simhash.maintenance.explain import explain

    found = explain(index_location(options), options.key)
    known = found.entry is not None or bool(found.near_duplicates or found.copies)
    if options.json:
        show_json(_as_json(found))
    else:
        _show(found, known=known)
    return 0 if known else 1


def _as_json(found: Explanation) -> dict[str, Any]:
    from scrapy_simhash.fingerprint import to_hex

    def of_line(line: NearDuplicate) -> dict[str, Any]:
        fields = asdict(line) | {"fingerprint": to_hex(line.fingerprint, found.bits)}
        del fields["sequence"]  # a number of the index's own
        return fields

    entry = found.entry
    return {
        "key": found.key,
        "scheme": found.scheme_id,
        "max_distance": found.max_distance,
        "entry": None
        if entry is None
        else {
            "fingerprint": to_hex(entry.fingerprint, found.bits),
            "first_seen_s": entry.first_seen_s,
            "last_seen_s": entry.last_seen_s,
        },
        "near_duplicates": [of_line(line) for line in found.near_duplicates],
        "copies": [of_line(line) for line in found.copies],
    }


def _show(found: Explanation, *, known: bool) -> None:
    from scrapy_simhash.documents.escaping import printable
    from scrapy_simhash.fingerprint import to_hex

    show(f"{printable(found.key)}, by scheme {found.scheme_id}, k = {found.max_distance}")
    if found.entry is not None:
        show(
            f"representative since {shown_time(found.entry.first_seen_s)}, last seen "
            f"{shown_time(found.entry.last_seen_s)}, {to_hex(found.entry.fingerprint, found.bits)}"
        )
    for line in found.near_duplicates:
        show(
            f"{shown_time(line.seen_at_s)} "
            f"{'near-duplicate of' if line.confirmed else 'similar to'} "
            f"{printable(line.representative)}{_evidence(line)}, "
            f"{to_hex(line.fingerprint, found.bits)}"
        )
    for line in found.copies:
        show(
            f"{shown_time(line.seen_at_s)} {printable(line.key)} was "
            f"{'a near-duplicate of' if line.confirmed else 'similar to'} it{_evidence(line)}"
        )
    if not known:
        show("nothing is known about it")


def _evidence(line: NearDuplicate) -> str:
    similarity = "" if line.similarity is None else f", similarity {percent(line.similarity)}"
    action = f", {line.action}" if line.action else ""
    return f" at distance {line.distance}{similarity}{action}"
