"""Rebuild an index with other tables, another k or another kind of database; or compact one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.cost import require_distance
from scrapy_simhash.index.offline import read_manifest
from scrapy_simhash.index.plan import MIN_RECALL
from scrapy_simhash.index.texts import copying_texts
from scrapy_simhash.maintenance.rewriting import RewriteResult, copy_all, rewriting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_simhash.index.plan import TablePlan


def rebuild(
    directory: Path,
    plan: TablePlan | None = None,
    *,
    max_distance: int | None = None,
    database: str | None = None,
    on_progress: Callable[[], object] = lambda: None,
) -> RewriteResult:
    """Rebuild an index with other tables, k or kind of database, and return the counts.

    None keeps the present tables, k or kind of database (``leveldb`` or ``rocksdb``).

    :raises PlanError: the tables or `max_distance` do not fit the fingerprints, or the tables find
        less than 95 % of the pairs at `max_distance`.
    :raises SchemeError: the kind of database is unknown, or its package is missing.
    :raises StorageError: see `rewriting`.
    """
    manifest = read_manifest(directory)
    plan = manifest.plan if plan is None else plan
    max_distance = manifest.max_distance if max_distance is None else max_distance
    database = manifest.database if database is None else database
    bits = manifest.plan.bits
    if plan.bits != bits:
        raise PlanError(f"tables for {plan.bits} bits don't fit fingerprints of {bits} bits")
    require_distance(max_distance, bits)
    if (recall := plan.recall(max_distance)) < MIN_RECALL:
        raise PlanError(
            f"{plan} find {recall:.0%} of the pairs at distance {max_distance}, less than "
            f"{MIN_RECALL:.0%}: lower the distance, or take more tables"
        )
    changes: dict[str, Any] = {
        "plan": plan,
        "max_distance": max_distance,
        "database": database,
    }
    with rewriting(directory, **changes) as (source, store):
        result = copy_all(source, store, on_progress=on_progress)
        # Within the lock. The old texts stay until the manifest is replaced.
        if database != manifest.database:
            with copying_texts(directory, manifest.database, directory, database):
                pass
    return result
