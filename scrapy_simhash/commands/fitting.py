"""Check whether the existing indexes of a project support proposed settings."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.commands._options import known_indexes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from scrapy.settings import Settings

    from scrapy_simhash.calibration.calibrating import Calibrated
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.scheme import Scheme


class IndexInUse(NamedTuple):
    """An index of the project, with its manifest."""

    directory: Path
    manifest: Manifest


class Rebuild(NamedTuple):
    """A rebuild that an index needs before a crawl can use the proposed settings."""

    directory: Path
    why: str
    command: str


def indexes_in_use(settings: Settings | None) -> list[IndexInUse]:
    """Return the project's indexes of pages that this release can open."""
    from scrapy_simhash.commands._settings import settings_reader
    from scrapy_simhash.errors import StorageError
    from scrapy_simhash.index.manifest import Manifest

    found = []
    base = settings_reader(settings).path("SIMHASH_DIR")
    for directory in known_indexes(base):
        if directory.relative_to(base).parts[0].startswith(("spiders", "shared")):
            try:
                manifest = Manifest.read(directory)
            except (StorageError, OSError):
                continue  # the next crawl reports the error
            if manifest is not None:
                found.append(IndexInUse(directory, manifest))
    return found


def serves(made: Manifest, max_distance: int) -> bool:
    """Return True if a crawl with that k can open the index."""
    from scrapy_simhash.index.plan import MIN_RECALL

    if max_distance <= made.max_distance:
        return True
    return made.plan.recall(max_distance) >= MIN_RECALL


def served_distance(indexes: Sequence[IndexInUse], scheme: Scheme) -> int | None:
    """Return the largest k that all indexes with this scheme support; None without indexes."""
    served = []
    for _, made in indexes:
        if made.scheme == scheme:
            most = made.max_distance
            while most + 1 < scheme.bits and serves(made, most + 1):
                most += 1
            served.append(most)
    return min(served, default=None)


def needed_rebuilds(best: Calibrated | None, indexes: Sequence[IndexInUse]) -> list[Rebuild]:
    """Return the rebuilds that are needed before a crawl can use the proposed settings."""
    if best is None or best.choice is None:
        return []
    preset, max_distance = best.preset, best.choice.max_distance
    found = []
    for directory, made in indexes:
        command = f"scrapy simhash rebuild --index {quote(str(directory))}"
        if made.scheme != preset.scheme:
            why = "it has fingerprints of another scheme, and needs the texts of its pages"
            command += f" --preset {preset.name}"
        elif serves(made, max_distance):
            continue
        else:
            why = "its tables do not serve this k"
        found.append(Rebuild(directory, why, f"{command} --max-distance {max_distance}"))
    return found
