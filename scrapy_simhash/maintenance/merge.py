"""Merge the index of a later crawl into the index of an earlier one."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.documents.files import real_path
from scrapy_simhash.errors import IndexMismatch, IndexMissing, StorageError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.base import PageToObserve
from scrapy_simhash.index.history import PREFIX
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.rows import Rows
from scrapy_simhash.index.rules import CrawlRules
from scrapy_simhash.maintenance.rewriting import RewriteResult, rewriting
from scrapy_simhash.maintenance.sources import manifest_of, opened_store
from scrapy_simhash.sites import scope_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.store import RedisStore
    from scrapy_simhash.index.store import Store
    from scrapy_simhash.maintenance.sources import Location
    from scrapy_simhash.sites import Scope


def merge(
    where: Location,
    other: Location,
    *,
    scope: Scope = "all",
) -> RewriteResult:
    """Merge the index `other` into the index `where`, and return the counts of the result. If
    `where` is missing, it is made first, with the properties of `other`.

    The result is what a later crawl with `where` would leave if it saw each entry of `other` once.
    A page of `other` replaces the entries of `where` that it is a copy of. A page whose key is in
    both is unchanged or changed. Pages of `other` are not compared with each other again. The
    history of `where` is deleted. `other` stays as it is. Between directories, texts are copied,
    too.

    In Redis, `where` is changed in place, and no crawl may use it. An interrupted merge can be
    repeated; the near-duplicate log may then have lines of `other` twice.

    :param scope: which pages of `where` a page of `other` may replace.
    :raises IndexMismatch: the indexes have different schemes.
    :raises StorageError: both are the same index; `other` is missing; or one is in use, damaged or
        unreadable.
    """
    if _resolved(where) == _resolved(other):
        raise StorageError(str(other), "an index cannot be merged with itself: give another one")
    other_manifest = manifest_of(other)
    try:
        manifest = manifest_of(where)
    except IndexMissing:
        manifest = _made(where, other_manifest)
    if manifest.scheme != other_manifest.scheme:
        raise IndexMismatch(
            str(other),
            f"its scheme is {other_manifest.scheme.id}, but {where} has {manifest.scheme.id}: "
            "their fingerprints cannot be compared; nothing was changed",
        )
    result = RewriteResult()
    with opened_store(other) as source, _changing(where) as store:
        shift = store.next_sequence - 1
        # To the later crawl, all entries are from earlier ones, so none is a representative.
        rules = CrawlRules(manifest.max_distance, manifest.confirmation, crawl_start=shift + 1)
        # This may fail, and writes in Redis cannot be undone, so it comes first.
        store.skip_to(shift + source.next_sequence)
        for entry in source.entries_by_age():
            later = entry._replace(
                number=shift + entry.number, last_sequence=shift + entry.last_sequence, ordinal=-1
            )
            result.removed_entries += _add(later, store, rules, scope_filter(scope, entry.key))
        for line in source.near_duplicates():
            store.write_lines([replace(line, sequence=shift + line.sequence)])
        for name, note in [*store.notes()]:
            if name.startswith(PREFIX):  # these crawls saw no page of the other index
                store.replace_note(name, note, None)
        result.entries = len(store)
        result.near_duplicates = sum(1 for _ in store.near_duplicates())
        if isinstance(source, Rows) and isinstance(where, Path):
            store.texts.copy(source.texts)
    return result


@contextmanager
def _changing(where: Location) -> Iterator[Store | RedisStore]:
    """Yield a store with all entries of an index: a copy of a directory, the original in Redis."""
    if isinstance(where, RedisAddress):
        with where.opened_store() as original:
            original.require_no_crawl()
            yield original
        return
    with rewriting(where) as (source, store):
        for entry in source.entries():
            store.write(entry._replace(ordinal=-1), None, ())
        for line in source.near_duplicates():
            store.write_lines([line])
        yield store


def _made(where: Location, like: Manifest) -> Manifest:
    """Make an empty index, and return its manifest."""
    options = {"max_distance": like.max_distance, "confirmation": like.confirmation}
    make = where.open if isinstance(where, RedisAddress) else partial(open_index, where)
    with make(scheme=like.scheme, plan=like.plan, create=True, **options) as index:
        return index.store.manifest


def _resolved(where: Location) -> object:
    return real_path(where) if isinstance(where, Path) else where


def _add(
    entry: Entry,
    store: Store | RedisStore,
    rules: CrawlRules,
    in_scope: Callable[[str], bool] | None,
) -> int:
    """Write an entry of the other index, and remove the entries that it replaces. Return how many
    these are.
    """
    stored = store.entry(entry.key)
    # Not near other merged entries, because the other index has compared these already.
    near = [
        found
        for found in store.within(rules.query(entry), rules.max_distance)
        if found[0].last_sequence < rules.crawl_start
    ]
    observed = PageToObserve(entry.key, entry.fingerprint, entry.evidence, in_scope)
    own = rules.last(entry, stored)
    verdict, _ = rules.judge(observed, stored, own, near, entry.number)
    if stored is not None:
        if verdict.kind == "unchanged":
            entry = entry._replace(number=stored.number)
        entry = entry._replace(
            first_seen_s=min(stored.first_seen_s, entry.first_seen_s),
            last_seen_s=max(stored.last_seen_s, entry.last_seen_s),
        )
    store.write(entry, stored, verdict.outdated)
    return len(verdict.outdated)
