"""IndexSpec: the index that a caller asks for, and the parameters of a new one."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.errors import IndexMismatch, PlanError, SchemeError
from scrapy_simhash.index.manifest import Manifest, library_versions
from scrapy_simhash.index.offline import default_kind_name
from scrapy_simhash.index.plan import (
    DEFAULT_EXPECTED_PAGES,
    MIN_RECALL,
    TablePlan,
    choose_plan,
    require_distance,
)
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, preset

if TYPE_CHECKING:
    from scrapy_simhash.scheme import Scheme

logger = logging.getLogger(__name__)

_OTHERWISE = "; or use another directory or name; or start over with SIMHASH_RESET = True"
# What to do if an existing index has another value than a caller asks for, by property.
_ADVICE = {
    "database": f"name the kind of database that it was made in{_OTHERWISE}",
    "scheme": "use the same scheme; or `scrapy simhash index rebuild` recomputes the fingerprints "
    f"of an index in a directory if texts were stored (SIMHASH_KEEP_TEXT){_OTHERWISE}",
    "tables": "use the same tables; or `scrapy simhash index rebuild` replaces those of an index "
    f"in a directory{_OTHERWISE}",
}


@dataclass(frozen=True)
class IndexSpec:
    """The index that a caller asks for, by the parameters of `open_index`.

    :param kind: kind of database, or ``redis``; None for that of an existing index. A new one is in
        LevelDB then, or in RocksDB if plyvel is not installed.
    """

    kind: str | None
    scheme: Scheme | None
    max_distance: int | None
    plan: TablePlan | None = None
    expected_pages: int = DEFAULT_EXPECTED_PAGES
    confirmation: Confirmation | None = None

    def to_manifest(self) -> Manifest:
        """Return the manifest of a new index. For errors, see `open_index`."""
        scheme, max_distance = self.scheme, self.max_distance
        if scheme is None:
            scheme = preset(DEFAULT_PRESET).scheme
        if max_distance is None:
            known = (one.max_distance for one in PRESETS.values() if one.scheme == scheme)
            max_distance = next(known, None)
        if max_distance is None:
            raise SchemeError(f"no preset has the scheme {scheme.id}: give its max_distance")
        require_distance(max_distance, scheme.bits)
        plan = self.plan or _chosen_plan(scheme.bits, max_distance, self.expected_pages, self.kind)
        if plan.bits != scheme.bits:
            raise PlanError(f"a plan for {plan.bits} bits does not fit a scheme of {scheme.bits}")
        if self.plan and (recall := plan.recall(max_distance)) < MIN_RECALL:
            logger.warning(
                "simhash: low recall: %s find %.0f %% of the pairs at distance %d",
                plan,
                100 * recall,
                max_distance,
            )
        confirmation = self.confirmation
        return Manifest(
            scheme,
            plan,
            max_distance,
            self.kind or default_kind_name(),
            confirmation=preset_confirmation(scheme) if confirmation is None else confirmation,
            versions=library_versions(),
        )

    def check_existing(self, location: str, manifest: Manifest) -> None:
        """Raise IndexMismatch or PlanError if an existing index does not fit; see `open_index`."""
        for name, actual, requested in (
            ("database", manifest.database, self.kind),
            ("scheme", manifest.scheme.id, self.scheme.id if self.scheme else None),
            ("tables", repr(manifest.plan), repr(self.plan) if self.plan else None),
        ):
            if requested is not None and actual != requested:
                raise IndexMismatch(
                    location,
                    f"it was made with the {name} {actual}, not {requested}",
                    f"{_ADVICE[name]}; nothing was changed",
                    name,
                )
        distance, plan = self.max_distance, manifest.plan
        if distance is None:
            return
        require_distance(distance, plan.bits)
        # For the distance of the manifest, a low recall was accepted when the index was created.
        if distance > manifest.max_distance and (recall := plan.recall(distance)) < MIN_RECALL:
            raise PlanError(
                f"index {location}: its {plan} find {recall:.0%} of the pairs at distance "
                f"{distance}, less than {MIN_RECALL:.0%}: lower the distance; or `scrapy simhash "
                f"index rebuild --max-distance {distance}` replaces the tables of an "
                f"index in a directory, and keeps its entries{_OTHERWISE}"
            )


def _chosen_plan(bits: int, max_distance: int, pages: int, kind: str | None) -> TablePlan:
    try:
        return choose_plan(bits, max_distance, pages)
    except PlanError:
        if kind != "memory":
            raise
        # Tables with so short prefixes find all pairs, but read most rows for each page.
        return TablePlan(bits, max_distance + 1)


def preset_confirmation(scheme: Scheme) -> Confirmation:
    """Return the confirmation of the preset with this scheme, or `UNCONFIRMED` if there is none.
    The extractor and the selectors of the schemes may differ.
    """
    for known in PRESETS.values():
        extractor = known.scheme.extractor
        if known.scheme == replace(scheme, extractor=extractor, select=(), remove=()):
            return known.confirmation
    return UNCONFIRMED
