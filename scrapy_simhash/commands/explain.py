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
Shows what an index knows about a page: since when the page is a representative; which pages it was
a near-duplicate of, when, at what distance, and what the crawl did with it; and which pages were
near-duplicates of it. Pages that are similar to it, within k but no copies, are shown, too.

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
    """Show what the index knows about a page, and return the exit code: 1 if that is nothing."""
    from scrapy_simhash.maintenance.explain import explain

    explanation = explain(index_location(options), options.key)
    is_known = bool(explanation.entry or explanation.near_duplicates or explanation.copies)
    if options.json:
        show_json(_as_json(explanation))
    else:
        _show(explanation, is_known=is_known)
    return 0 if is_known else 1


def _as_json(explanation: Explanation) -> dict[str, Any]:
    from scrapy_simhash.fingerprint import to_hex

    def line_as_json(line: NearDuplicate) -> dict[str, Any]:
        fields = asdict(line) | {"fingerprint": to_hex(line.fingerprint, explanation.bits)}
        del fields["sequence"]  # a number for use inside the index
        return fields

    entry = explanation.entry
    return {
        "key": explanation.key,
        "scheme": explanation.scheme_id,
        "max_distance": explanation.max_distance,
        "entry": None
        if entry is None
        else {
            "fingerprint": to_hex(entry.fingerprint, explanation.bits),
            "first_seen_s": entry.first_seen_s,
            "last_seen_s": entry.last_seen_s,
        },
        "near_duplicates": [line_as_json(line) for line in explanation.near_duplicates],
        "copies": [line_as_json(line) for line in explanation.copies],
    }


def _show(explanation: Explanation, *, is_known: bool) -> None:
    from scrapy_simhash.documents.escaping import printable
    from scrapy_simhash.fingerprint import to_hex

    key, bits = printable(explanation.key), explanation.bits
    show(f"{key}, by scheme {explanation.scheme_id}, k = {explanation.max_distance}")
    if (entry := explanation.entry) is not None:
        show(
            f"representative since {shown_time(entry.first_seen_s)}, last seen "
            f"{shown_time(entry.last_seen_s)}, {to_hex(entry.fingerprint, bits)}"
        )
    for line in explanation.near_duplicates:
        show(
            f"{shown_time(line.seen_at_s)} "
            f"{'near-duplicate of' if line.confirmed else 'similar to'} "
            f"{printable(line.representative)}{_evidence(line)}, "
            f"{to_hex(line.fingerprint, bits)}"
        )
    for line in explanation.copies:
        show(
            f"{shown_time(line.seen_at_s)} {printable(line.key)} was "
            f"{'a near-duplicate of' if line.confirmed else 'similar to'} it{_evidence(line)}"
        )
    if not is_known:
        show("nothing is known about it")


def _evidence(line: NearDuplicate) -> str:
    similarity = "" if line.similarity is None else f", similarity {percent(line.similarity)}"
    action = f", {line.action}" if line.action else ""
    return f" at distance {line.distance}{similarity}{action}"
