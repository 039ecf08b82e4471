"""``explain``: show what an index knows about a page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import index_location
from scrapy_simhash.commands._output import percent, show_result, shown_fingerprint, shown_time
from scrapy_simhash.documents.escaping import printable

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index.base import NearDuplicate

_DESCRIPTION = """\
Shows what an index knows about a page: since when it is a representative; which pages it was a
near-duplicate of, when, at what distance, and what the crawl did with it; and which pages were
near-duplicates of it. Similar pages, which are within k but not copies, are shown, too.

  {program} explain https://example.com/print?article=7

The exit code is 1 if the index knows nothing about the page.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "key", metavar="KEY", help="the page's URL, or the identity that it was given"
    )


def _run(options: argparse.Namespace) -> int:
    """Show what an index knows about a page. Return 1 if that is nothing, else 0."""
    from scrapy_simhash.maintenance.explain import explain

    explanation = explain(index_location(options), options.key)
    entry, lines, copies = explanation.entry, explanation.near_duplicates, explanation.copies
    key, bits = printable(explanation.key), explanation.bits
    shown = [f"{key}, by scheme {explanation.scheme_id}, k = {explanation.max_distance}"]
    stored = None
    if entry is not None:
        stored = {
            "fingerprint": shown_fingerprint(entry.fingerprint, bits),
            "first_seen_s": entry.first_seen_s,
            "last_seen_s": entry.last_seen_s,
        }
        shown.append(
            f"representative since {shown_time(entry.first_seen_s)}, last seen "
            f"{shown_time(entry.last_seen_s)}, {stored['fingerprint']}"
        )
    shown += [
        f"{shown_time(line.seen_at_s)} {'near-duplicate of' if line.confirmed else 'similar to'} "
        f"{printable(line.representative)}{_evidence(line)}, "
        f"{shown_fingerprint(line.fingerprint, bits)}"
        for line in lines
    ]
    shown += [
        f"{shown_time(line.seen_at_s)} {printable(line.key)} was "
        f"{'a near-duplicate of' if line.confirmed else 'similar to'} it{_evidence(line)}"
        for line in copies
    ]
    is_known = len(shown) > 1
    if not is_known:
        shown.append("nothing is known about it")
    result = {
        "key": explanation.key,
        "scheme": explanation.scheme_id,
        "max_distance": explanation.max_distance,
        "entry": stored,
        "near_duplicates": [_as_json(line, bits) for line in lines],
        "copies": [_as_json(line, bits) for line in copies],
    }
    show_result(options, result, *shown)
    return 0 if is_known else 1


def _as_json(line: NearDuplicate, bits: int) -> dict[str, Any]:
    fields = asdict(line) | {"fingerprint": shown_fingerprint(line.fingerprint, bits)}
    del fields["sequence"]  # a number for use inside the index
    return fields


def _evidence(line: NearDuplicate) -> str:
    similarity = "" if line.similarity is None else f", similarity {percent(line.similarity)}"
    action = f", {line.action}" if line.action else ""
    return f" at distance {line.distance}{similarity}{action}"


COMMAND = Command(
    "explain",
    "show what an index knows about a page",
    _DESCRIPTION,
    _run,
    _add_arguments,
    index=True,
)
