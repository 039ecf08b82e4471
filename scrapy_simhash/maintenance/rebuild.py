"""Rebuild an index with other tables, another k or another database, or compact its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import preset_confirmation
from scrapy_simhash.index.cost import check_bits
from scrapy_simhash.index.manifest import FORMAT_VERSION
from scrapy_simhash.index.offline import opened_database, read_manifest
from scrapy_simhash.index.plan import MIN_RECALL
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.texts import copy_texts
from scrapy_simhash.maintenance.rewriting import RewriteResult, copy_all, rewriting
from scrapy_simhash.maintenance.sources import Location, file_bytes

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
    """Rebuild an index with other tables, another k or another database, and return the counts.

    What is not given stays. An index of format version 2 becomes one of this version. It keeps its
    fingerprints; its entries have no sketches, which speaks neither for nor against a copy.

    :raises PlanError: the tables find less than 95 % of the pairs at `max_distance`, or don't fit
        the fingerprints.
    :raises StorageError: see `expire`.
    """
    made = read_manifest(directory, older=True)
    plan = made.plan if plan is None else plan
    max_distance = made.max_distance if max_distance is None else max_distance
    if plan.bits != made.plan.bits:
        raise PlanError(f"tables for {plan.bits} bits don't fit fingerprints of {made.plan.bits}")
    if not 0 <= max_distance < plan.bits:
        raise PlanError(
            f"max_distance is {max_distance}: use 0 to {plan.bits - 1} for fingerprints of "
            f"{plan.bits} bits"
        )
    if (recall := plan.recall(max_distance)) < MIN_RECALL:
        raise PlanError(
            f"{plan} find {recall:.0%} of the pairs at distance {max_distance}, less than "
            f"{MIN_RECALL:.0%}: lower the distance, or take more tables"
        )
    changes: dict[str, Any] = {
        "plan": plan,
        "max_distance": max_distance,
        "check_bits": check_bits(plan.bits, max_distance),
        "database": made.database if database is None else database,
    }
    if made.version != FORMAT_VERSION:
        changes["confirmation"] = preset_confirmation(made.scheme)
    with rewriting(directory, older=True, **changes) as (source, store):
        kept = copy_all(source, store, on_progress=on_progress)
        if changes["database"] != made.database:
            copy_texts(directory, made.database, directory, str(changes["database"]))
    return kept


def compact(where: Location) -> tuple[int, int]:
    """Drop what was overwritten or deleted, and return (bytes before, bytes after)."""
    if isinstance(where, RedisAddress):
        with where.open() as index:
            before_bytes = index.memory_bytes()
            index.compact()
            return before_bytes, index.memory_bytes()
    directory = where
    path = read_manifest(directory).database_path(directory)
    before_bytes = file_bytes(path)
    with opened_database(directory) as (_, database):
        database.compact()
    return before_bytes, file_bytes(path)
