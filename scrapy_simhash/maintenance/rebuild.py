"""Give an index other tables or another k. Its entries stay: tables are made from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash.errors import PlanError, StorageError
from scrapy_simhash.index.cost import require_distance
from scrapy_simhash.index.offline import opened_database
from scrapy_simhash.index.plan import MIN_RECALL

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_simhash.index.plan import TablePlan


def rebuild(
    directory: Path, plan: TablePlan | None = None, *, max_distance: int | None = None
) -> int:
    """Make the tables of an index again, and return the number of its entries.

    If this is interrupted after the manifest is replaced, the next opening makes the tables.

    :param plan: None keeps the present tables.
    :param max_distance: None keeps the present k.
    :raises PlanError: the tables or `max_distance` do not fit the fingerprints, or the tables find
        less than 95 % of the pairs at `max_distance`.
    :raises StorageError: the index is missing, open elsewhere or damaged, or the disk fails.
    """
    from scrapy_simhash.index.store import Store  # loads numpy

    with opened_database(directory) as (manifest, database):
        plan = manifest.plan if plan is None else plan
        max_distance = manifest.max_distance if max_distance is None else max_distance
        bits = manifest.plan.bits
        if plan.bits != bits:
            raise PlanError(f"tables for {plan.bits} bits don't fit fingerprints of {bits} bits")
        require_distance(max_distance, bits)
        if (recall := plan.recall(max_distance)) < MIN_RECALL:
            raise PlanError(
                f"{plan} find {recall:.0%} of the pairs at distance {max_distance}, less than "
                f"{MIN_RECALL:.0%}: lower the distance, or take more tables"
            )
        try:
            new = replace(manifest, plan=plan, max_distance=max_distance)
            new.replace(directory)
        except OSError as error:
            raise StorageError(str(directory), f"it cannot be rewritten ({error})") from error
        store = Store(database, new)
        entries = len(store)
        store.close()
    return entries
