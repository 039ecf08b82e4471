"""Find the indexes of a project that must be rebuilt before a crawl can use proposed settings."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.commands._options import EXTRACTION, page_indexes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from scrapy.settings import Settings

    from scrapy_simhash.calibration.calibrating import Calibrated
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.scheme import Scheme


class ProjectIndex(NamedTuple):
    """An index of the project's pages, with its manifest."""

    directory: Path
    manifest: Manifest


class Rebuild(NamedTuple):
    """A rebuild of an index.

    :param why: the reason; if no command can rebuild the index, also what to do.
    :param command: the command line; None if only a crawl can make the index again.
    """

    directory: Path
    why: str
    command: str | None


def project_indexes(settings: Settings | None) -> list[ProjectIndex]:
    """Return the indexes of pages in SIMHASH_DIR whose manifests this release can read."""
    from scrapy_simhash.commands._settings import settings_reader
    from scrapy_simhash.errors import StorageError
    from scrapy_simhash.index.manifest import Manifest

    indexes = []
    for directory in page_indexes(settings_reader(settings).path("SIMHASH_DIR")):
        try:
            manifest = Manifest.read(directory)
        except (StorageError, OSError):
            continue  # the next crawl reports the error
        if manifest is not None:
            indexes.append(ProjectIndex(directory, manifest))
    return indexes


def supports(manifest: Manifest, max_distance: int) -> bool:
    """Return True if `open_index` with this k would accept the tables of an index."""
    from scrapy_simhash.index.plan import MIN_RECALL

    if max_distance <= manifest.max_distance:
        return True
    return manifest.plan.recall(max_distance) >= MIN_RECALL


def served_distance(indexes: Sequence[ProjectIndex], scheme: Scheme) -> int | None:
    """Return the largest k that all indexes with this scheme support; None if there are none."""
    distances = []
    for _, manifest in indexes:
        if manifest.scheme == scheme:
            distance = manifest.max_distance
            while distance + 1 < scheme.bits and supports(manifest, distance + 1):
                distance += 1
            distances.append(distance)
    return min(distances, default=None)


def needed_rebuilds(best: Calibrated | None, indexes: Sequence[ProjectIndex]) -> list[Rebuild]:
    """Return the rebuilds that are needed before a crawl can use the proposed settings.

    :param best: the calibration of the proposed preset; None if no k could be chosen.
    """
    if best is None or best.choice is None:
        return []
    preset, max_distance = best.preset, best.choice.max_distance
    rebuilds = []
    for directory, manifest in indexes:
        command = f"scrapy simhash rebuild --index {quote(str(directory))}"
        to_k = f"--max-distance {max_distance}"
        old, new = manifest.scheme, preset.scheme
        if any(getattr(old, name) != getattr(new, name) for name in EXTRACTION):
            why = (
                "it has another extractor or other selectors: no rebuild changes these, so start "
                "over with SIMHASH_RESET = True, or choose another SIMHASH_DIR"
            )
            rebuilds.append(Rebuild(directory, why, None))
        elif old != new:
            why = "it has another scheme; the rebuild needs stored texts (SIMHASH_KEEP_TEXT)"
            command = f"{command} --preset {quote(preset.name)} {to_k}"
            rebuilds.append(Rebuild(directory, why, command))
        elif not supports(manifest, max_distance):
            why = "its tables do not support this k"
            rebuilds.append(Rebuild(directory, why, f"{command} {to_k}"))
    return rebuilds
