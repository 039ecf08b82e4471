"""Make an index fit other settings.

With the same scheme, it gets other tables or another k, and its entries stay. For another scheme,
its fingerprints are recomputed from the stored texts.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import site_number
from scrapy_simhash.detector import DEFAULT_MIN_TOKENS, Detector
from scrapy_simhash.errors import SchemeError, StorageError
from scrapy_simhash.extraction import Extraction
from scrapy_simhash.index import opened_database, read_manifest
from scrapy_simhash.index.base import Entry, PageToObserve
from scrapy_simhash.index.manifest import IndexSpec
from scrapy_simhash.index.plan import DEFAULT_EXPECTED_PAGES
from scrapy_simhash.index.rules import CrawlRules
from scrapy_simhash.maintenance.rewriting import rewriting
from scrapy_simhash.sites import scope_filter, site_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.store import Store
    from scrapy_simhash.scheme import Scheme
    from scrapy_simhash.sites import Scope


def rebuild(
    directory: Path, plan: TablePlan | None = None, *, max_distance: int | None = None
) -> int:
    """Make the tables of an index again, and return the number of its entries.

    If this is interrupted after the manifest is replaced, the next opening makes the tables.

    :param plan: tables for fingerprints of the same width (`choose_plan`); None keeps the present
        tables.
    :param max_distance: None keeps the present k.
    :raises StorageError: the index is missing, open elsewhere or damaged, or the disk fails.
    """
    from scrapy_simhash.index.store import Store  # loads numpy

    with opened_database(directory) as (manifest, database):
        k = manifest.max_distance if max_distance is None else max_distance
        new = replace(manifest, plan=plan or manifest.plan, max_distance=k)
        try:
            new.replace(directory)
        except OSError as error:
            raise StorageError(str(directory), f"it cannot be rewritten ({error})") from error
        with closing(Store(database, new)) as store:
            return len(store)


@dataclass
class ReindexResult:
    """The numbers of entries and log lines of the new index, and of those that were left out.

    :param near_duplicates: number of near-duplicates in the new log, without similar pages.
    :param without_text: number of old entries, and log lines of copies, without a stored text.
    :param too_short: number of old entries, and log lines of copies, whose text gets no
        fingerprint, mostly because it has fewer tokens than `min_tokens`.
    """

    entries: int = 0
    near_duplicates: int = 0
    without_text: int = 0
    too_short: int = 0


def reindex(
    directory: Path,
    scheme: Scheme,
    max_distance: int,
    *,
    confirmation: Confirmation | None = None,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    min_tokens: int = DEFAULT_MIN_TOKENS,
    drop_without_text: bool = False,
    scope: Scope = "all",
) -> ReindexResult:
    """Rebuild an index for another scheme, and return the counts.

    The new index is what a crawl would leave that sees the same pages, with their stored texts, in
    the same order. Side rows stay.

    :param confirmation: the conditions for a copy; None takes those of the preset with the scheme.
    :param min_tokens: pages whose text has fewer tokens are left out.
    :param drop_without_text: leave out pages whose text is not stored. Else they are an error.
    :param scope: where the representative of a page may be.
    :raises SchemeError: the new scheme extracts other text than the old one.
    :raises PlanError: `max_distance` is out of range, or no tables find 95 % of the pairs.
    :raises StorageError: texts are missing; for other errors, see `rewriting`.
    """
    manifest = read_manifest(directory)
    for name in ("extractor", "select", "remove"):
        old, new = getattr(manifest.scheme, name), getattr(scheme, name)
        if old != new:
            raise SchemeError(
                f"the stored texts were extracted with {name} {old!r}, but the scheme has {new!r}: "
                "crawl the pages again"
            )
    spec = IndexSpec(manifest.database, scheme, max_distance, None, expected_pages, confirmation)
    new = spec.to_manifest()
    changed = ("scheme", "plan", "max_distance", "confirmation")
    changes = {name: getattr(new, name) for name in changed}
    report = ReindexResult()
    with rewriting(directory, **changes) as (source, store):
        if not store.state.text_bytes:
            raise StorageError(
                str(directory),
                "it has no texts (SIMHASH_KEEP_TEXT): crawl the pages again for another scheme",
            )
        detector = Detector(scheme, min_tokens=min_tokens)
        rules = CrawlRules(max_distance, new.confirmation, incremental=True)
        # Those of similar pages are left out, because a similar page has an entry, too.
        copies = (
            Entry(
                one.sequence, one.key, one.fingerprint, one.sequence, one.seen_at_s, one.seen_at_s
            )
            for one in source.near_duplicates()
            if one.confirmed
        )
        # In the order of the crawl.
        for page in merge(source.entries_by_age(), copies, key=lambda page: page.number):
            text = source.texts.get(page.key)
            if text is None:
                report.without_text += 1
                continue
            fingerprinted = detector.fingerprint_extraction(Extraction(text.text, text.title))
            if fingerprinted.fingerprint is None:
                report.too_short += 1
                continue
            # Headings are not stored with texts, so the heading of the old entry is kept.
            site = site_of(page.key)
            evidence = fingerprinted.evidence._replace(
                site=site_number(site) if site else page.evidence.site,
                heading=page.evidence.heading,
                title=page.evidence.title or fingerprinted.evidence.title,
            )
            entry = page._replace(fingerprint=fingerprinted.fingerprint, evidence=evidence)
            _observe(store, entry, rules, in_scope=scope_filter(scope, page.key), report=report)
        if report.without_text and not drop_without_text:
            raise StorageError(
                str(directory),
                f"it has no text for {report.without_text} entries and log lines: leave these out "
                "with --drop-without-text, and their pages count as new when a crawl sees them "
                "again; nothing was changed",
            )
        report.entries = len(store)
    return report


def _observe(
    store: Store,
    page: Entry,
    rules: CrawlRules,
    *,
    in_scope: Callable[[str], bool] | None,
    report: ReindexResult,
) -> None:
    """Write to the store what a crawl would write after it sees a page."""
    stored = store.entry(page.key)
    if stored is not None:  # It has the same text, because one text of a page is stored.
        seen_again = stored._replace(
            last_sequence=max(stored.last_sequence, page.last_sequence),
            last_seen_s=max(stored.last_seen_s, page.last_seen_s),
        )
        store.write(seen_again, stored, ())
        return
    observed = PageToObserve(page.key, page.fingerprint, page.evidence, in_scope)
    found = store.within(rules.query(page), rules.max_distance)
    observation, entry = rules.judge(observed, None, None, found, page.number)
    if (line := observation.line) is not None:
        store.write_lines([replace(line, seen_at_s=page.last_seen_s)])
        report.near_duplicates += line.confirmed
    if entry is not None:
        store.write(page._replace(ordinal=-1, evidence=entry.evidence), None, ())
