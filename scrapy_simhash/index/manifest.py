"""Read and write the manifest of an index: its format, scheme, plan and k, as JSON;
make that of a new index, and compare that of an existing one with what a caller asks for.

In Redis, it is the value of a key. On disk, it is a file: each rewrite of an index creates a new
database, such as ``leveldb-1/``. The manifest names the current one, so replacing the manifest
replaces the index. docs/index-format.md has the details.
"""

from __future__ import annotations

import json
import logging
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.documents.files import replaced, sync_file
from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexForeign,
    IndexMismatch,
    PlanError,
    SchemeError,
    SimhashError,
    StorageError,
)
from scrapy_simhash.index.database import unusable
from scrapy_simhash.index.plan import (
    DEFAULT_EXPECTED_PAGES,
    MIN_RECALL,
    TablePlan,
    choose_plan,
    require_distance,
)
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, Scheme, preset_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT_VERSION = 9
FILE_NAME = "manifest.json"
DATABASES = ("leveldb", "rocksdb")
logger = logging.getLogger(__name__)

_FORMAT_NAME = "scrapy-simhash index"
_START_OVER = "start over with SIMHASH_RESET = True, or under another name; nothing was changed"


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
class Manifest:
    """The properties that an index was created with.

    :param max_distance: default k; callers of `open_index` may choose another.
    :param database: ``leveldb``, ``rocksdb``, ``redis``, or ``memory`` in a manifest that is never
        written.
    :param generation: number of times the index was rewritten.
    :param confirmation: default confirmation; callers of `open_index` may choose another.
    """

    scheme: Scheme
    plan: TablePlan
    max_distance: int
    database: str
    generation: int = 0
    confirmation: Confirmation = UNCONFIRMED

    def database_path(self, directory: Path) -> Path:
        """Return the path of the current database in the directory of an index."""
        return directory / (
            f"{self.database}-{self.generation}" if self.generation else self.database
        )

    def write(self, directory: Path) -> None:
        """Create ``manifest.json`` atomically. :raises OSError: it cannot be written.

        :raises FileExistsError: the file exists; another process may have just created it.
        """
        draft = directory / f".{FILE_NAME}.{os.getpid()}"
        try:
            draft.write_text(self.to_json() + "\n", encoding="utf-8")
            sync_file(draft)
            os.link(draft, directory / FILE_NAME)
        finally:
            draft.unlink(missing_ok=True)
        sync_directory(directory)

    def replace(self, directory: Path) -> None:
        """Replace ``manifest.json`` atomically. :raises OSError: it cannot be written."""
        sync_directory(directory)  # The new database must be on disk before the manifest.
        with replaced(directory / FILE_NAME) as temporary:
            temporary.write_text(self.to_json() + "\n", encoding="utf-8")
        sync_directory(directory)

    def to_json(self) -> str:
        """Return the manifest as text."""
        content = {
            "format": _FORMAT_NAME,
            "format_version": FORMAT_VERSION,
            **asdict(self),
            "scheme_id": self.scheme.id,
        }
        return json.dumps(content, indent=2)

    @classmethod
    def from_json(cls, location: str, text: str | bytes) -> Manifest:
        """Return the manifest from its text; for errors see `manifest_content`.

        :raises IndexCorrupt: it has impossible values.
        """
        content = manifest_content(location, text, _FORMAT_NAME, FORMAT_VERSION, _START_OVER)
        with _decoding(location, _START_OVER):
            scheme, plan = Scheme(**content["scheme"]), TablePlan(**content["plan"])
            confirmation = Confirmation(**content["confirmation"])
            k, generation, database = (
                content[name] for name in ("max_distance", "generation", "database")
            )
            is_allowed = {
                "plan": plan.bits == scheme.bits and {*map(type, asdict(plan).values())} == {int},
                "max_distance": type(k) is int and 0 <= k < scheme.bits,
                "generation": type(generation) is int and generation >= 0,
                "database": database in (*DATABASES, "redis"),
                "confirmation": type(confirmation.min_resemblance) in (int, float)
                and 0 <= confirmation.min_resemblance <= 1
                and type(confirmation.same_name) is bool,
            }
            for name, allowed in is_allowed.items():
                if not allowed:
                    raise ValueError(f"{name} is {content[name]!r}")
            return cls(scheme, plan, k, database, generation, confirmation)

    @classmethod
    def read(cls, directory: Path) -> Manifest | None:
        """Return the manifest in a directory; for None and other errors see `read_manifest_file`.

        :raises StorageError: it is not accepted, see `from_json`.
        """
        text = read_manifest_file(directory, FILE_NAME)
        return None if text is None else cls.from_json(str(directory), text)


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
        scheme = self.scheme or PRESETS[DEFAULT_PRESET].scheme
        known, max_distance = preset_with(scheme), self.max_distance
        if max_distance is None:
            if known is None:
                raise SchemeError(f"no preset has the scheme {scheme.id}: give its max_distance")
            max_distance = known.max_distance
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
        return Manifest(
            scheme,
            plan,
            max_distance,
            self.kind or default_kind_name(),
            confirmation=self.confirmation or (known.confirmation if known else UNCONFIRMED),
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


def manifest_content(
    location: str, text: str | bytes, form: str, version: int, start_over: str
) -> dict[str, Any]:
    """Return the content of a manifest, a JSON object.

    :param form: its ``format``.
    :param version: its ``format_version``.
    :param start_over: what to do if it cannot be used, without a backup or another release.
    :raises IndexForeign: the text is the manifest of something else.
    :raises IndexMismatch: this release does not support its format version.
    :raises IndexCorrupt: the text cannot be decoded.
    """
    with _decoding(location, start_over):
        content = json.loads(text)
        if content is None:
            raise TypeError("it is empty")
        if not isinstance(content, dict) or content.get("format") != form:
            raise IndexForeign(
                location,
                f"its manifest does not have the format {form!r}: choose another directory or "
                "name; nothing was changed",
            )
        if (found := content["format_version"]) != version:
            raise IndexMismatch(
                location,
                f"format version {found!r}, this release reads {version}",
                f"use the release that made it, or {start_over}",
                "format",
            )
        return content


@contextmanager
def _decoding(location: str, start_over: str) -> Iterator[None]:
    """Raise IndexCorrupt for a manifest that cannot be decoded, or has impossible values."""
    try:
        yield
    except StorageError:
        raise
    except (
        *(KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError),
        SimhashError,
    ) as error:
        raise IndexCorrupt(
            location,
            f"its manifest cannot be read ({type(error).__name__}: {error})",
            f"restore it from a backup, or {start_over}",
        ) from error


def read_manifest_file(directory: Path, name: str) -> bytes | None:
    """Return the content of the file that says what a directory is; None if the directory is
    missing, empty, or has only temporary files.

    :raises IndexForeign: the directory holds other files.
    :raises StorageError: the directory or the file cannot be read.
    """
    location = str(directory)
    try:
        with suppress(FileNotFoundError):
            return (directory / name).read_bytes()
        names = [file.name for file in directory.iterdir()] if directory.exists() else []
    except NotADirectoryError:
        raise StorageError(
            location, "it is no directory, or below a file: check the path, or choose another"
        ) from None
    except OSError as error:
        raise unusable(location, str(error)) from error
    if name in names:  # Another process has just created it.
        return read_manifest_file(directory, name)
    if all(one.startswith((f".{name}", ".simhash-")) for one in names):
        return None
    raise IndexForeign(
        location,
        f"it has other files, but no {name}: choose another directory, or move those files away; "
        "nothing was changed",
    )


def default_kind_name() -> str:
    """Return ``leveldb``, or ``rocksdb`` if plyvel is not installed."""
    from importlib.util import find_spec

    return "leveldb" if find_spec("plyvel") is not None else "rocksdb"


def databases(directory: Path) -> list[Path]:
    """Return the paths of the databases of an index, sorted by name: the current one, and leftovers
    of interrupted commands.
    """
    names = re.compile(rf"({'|'.join(DATABASES)})(-[0-9]+)?")
    paths = [path for path in directory.glob("*db*") if names.fullmatch(path.name)]
    return sorted(path for path in paths if path.is_dir())


def sync_directory(directory: Path) -> None:
    """Sync the names in a directory to disk, if the system supports it."""
    with suppress(OSError):
        sync_file(directory)
