"""An index for another scheme, from the texts that were kept."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.detector import DEFAULT_MIN_TOKENS
from scrapy_simhash.errors import EmptyText, SchemeError, StorageError, UnsupportedText
from scrapy_simhash.index.base import Entry, NearDuplicate, nearest_first
from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES, check_bits, choose_plan
from scrapy_simhash.index.manifest import environment
from scrapy_simhash.index.offline import read_manifest
from scrapy_simhash.index.rewriting import rewriting
from scrapy_simhash.index.texts import opened_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy_simhash.index.rewriting import Source
    from scrapy_simhash.index.tables import TableStore
    from scrapy_simhash.scheme import Scheme


@dataclass
class Rescheming:
    """What became of the pages of an index.

    :param without_text: left out, for no text of them is kept.
    :param too_short: left out, for their texts have no fingerprint in the new scheme.
    """

    entries: int = 0
    near_duplicates: int = 0
    without_text: int = 0
    too_short: int = 0


class _Page(NamedTuple):
    sequence: int
    key: str
    first_seen_s: int
    last_seen_s: int
    met: int
    weak: bool


def rescheme(
    directory: Path,
    scheme: Scheme,
    max_distance: int,
    *,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    min_tokens: int = DEFAULT_MIN_TOKENS,
    drop_without_text: bool = False,
    among: Callable[[str], Callable[[str], bool] | None] = lambda _: None,
    moved: Callable[[], object] = lambda: None,
) -> Rescheming:
    """Make an index anew for another scheme: what a crawl of its pages, in the order in which
    they were met, would leave.

    :param among: the scope of a page, see `Index.observe`; None for all.
    :param drop_without_text: leave out pages whose texts are not kept, which else is an error.
    :raises SchemeError: the new scheme takes other text from a page.
    :raises PlanError: no tables find 95 % of the pairs at `max_distance`.
    :raises StorageError: no texts are kept, or not of all pages; or see `rewriting`.
    """
    made = read_manifest(directory)
    for name in ("extractor", "select", "remove"):
        had, wanted = getattr(made.scheme, name), getattr(scheme, name)
        if had != wanted:
            raise SchemeError(
                f"the texts were taken with {name} {had!r}, the scheme has {wanted!r}: pages must "
                "be crawled again for that"
            )
    changes = {
        "scheme": scheme,
        "plan": choose_plan(scheme.bits, max_distance, expected_pages),
        "max_distance": max_distance,
        "check_bits": check_bits(scheme.bits, max_distance),
        "environment": environment(),
    }
    report = Rescheming()
    with (
        rewriting(directory, **changes) as (source, store),
        opened_texts(directory, made.database) as texts,
    ):
        if texts is None:
            raise StorageError(
                str(directory),
                "no texts are kept (SIMHASH_KEEP_TEXT): crawl again for another scheme",
            )
        for page in _pages(source):
            text = texts.get(page.key)
            moved()
            if text is None:
                report.without_text += 1
                continue
            tokens = scheme.tokens(text.text, text.title)
            try:
                fingerprint = scheme.fingerprint_tokens(tokens)
            except (EmptyText, UnsupportedText):
                tokens = []
            if len(tokens) < min_tokens:
                report.too_short += 1
            else:
                _meet(
                    store,
                    page,
                    fingerprint,
                    max_distance,
                    among=among(page.key),
                    report=report,
                )
        if report.without_text and not drop_without_text:
            raise StorageError(
                str(directory),
                f"of {report.without_text} pages no text is kept: they can be left out "
                "(--drop-without-text), and count as new when they are met again; nothing was "
                "changed",
            )
        report.entries = len(store)
    return report


def _pages(source: Source) -> Iterator[_Page]:
    """All pages in the order in which they were met, with each time a near-duplicate was."""
    entries = (
        _Page(entry.number, entry.key, entry.first_seen_s, entry.last_seen_s, entry.met, weak=False)
        for entry in source.entries_by_age()
    )
    lines = (
        _Page(line.sequence, line.key, line.seen_at_s, line.seen_at_s, line.sequence, line.weak)
        for line in source.near_duplicates()
    )
    return merge(entries, lines)


def _meet(
    store: TableStore,
    page: _Page,
    fingerprint: int,
    max_distance: int,
    *,
    among: Callable[[str], bool] | None,
    report: Rescheming,
) -> None:
    """What an index says of a page that comes for the first time, or again."""
    next_sequence = max(store.next_sequence, page.met + 1)
    stored = store.entry(page.key)
    if stored is not None:  # its text is the same
        met_again = stored._replace(
            met=max(stored.met, page.met), last_seen_s=max(stored.last_seen_s, page.last_seen_s)
        )
        store.write(met_again, stored, (), next_sequence)
        return
    near = nearest_first(
        (distance, entry)
        for distance, entry in store.within(fingerprint, max_distance)
        if among is None or among(entry.key)
    )
    if near:
        distance, representative = near[0]
        store.log(
            NearDuplicate(
                page.key,
                representative.key,
                distance,
                fingerprint,
                page.sequence,
                page.last_seen_s,
                page.weak,
            ),
            next_sequence,
        )
        report.near_duplicates += 1
        return
    entry = Entry(
        page.sequence, page.key, fingerprint, page.met, page.first_seen_s, page.last_seen_s
    )
    store.write(entry, None, (), next_sequence)
