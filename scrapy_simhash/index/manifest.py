"""Read and write the manifest of an index: its format, scheme, plan and environment, as JSON.

In Redis, it is the value of a key. On disk, it is a file: each rewrite of an index creates a new
database, such as ``leveldb-1/``. The manifest names the current one, so replacing the manifest
replaces the index. docs/index-format.md has the details.
"""

from __future__ import annotations

import json
import os
import platform
import re
import unicodedata
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.documents.files import sync_file
from scrapy_simhash.errors import IndexCorrupt, IndexForeign, IndexMismatch, SimhashError
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FORMAT_VERSION, REDIS_FORMAT_VERSION = 6, 5
FILE_NAME = "manifest.json"
# A marker file that exists while an index is being repaired.
REPAIRING = ".repairing"
DATABASES = ("leveldb", "rocksdb")
_FORMAT_NAME, _REDIS_FORMAT_NAME = "scrapy-simhash index", "scrapy-simhash redis index"
# What reading a damaged manifest may raise.
_UNREADABLE = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
    SimhashError,
)


@dataclass(frozen=True)
class Manifest:
    """The properties that an index was created with.

    :param max_distance: default k; callers of `open_index` may choose another.
    :param environment: library → version, see `environment`; not in Redis.
    :param database: ``leveldb``, ``rocksdb``, ``redis``, or ``memory`` in a manifest that is never
        written.
    :param generation: number of times the index was rewritten; not in Redis.
    :param confirmation: default confirmation; callers of `open_index` may choose another.
    """

    scheme: Scheme
    plan: TablePlan
    max_distance: int
    environment: Mapping[str, str]
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
        with self._temporary_file(directory) as temporary:
            os.link(temporary, directory / FILE_NAME)
        sync_directory(directory)

    def replace(self, directory: Path) -> None:
        """Replace ``manifest.json`` atomically. :raises OSError: it cannot be written."""
        sync_directory(directory)  # The new database must be on disk before the manifest.
        with self._temporary_file(directory) as temporary:
            temporary.replace(directory / FILE_NAME)
        sync_directory(directory)

    @contextmanager
    def _temporary_file(self, directory: Path) -> Iterator[Path]:
        """Yield a temporary file with the manifest, synced to disk; delete it at the end."""
        content = {
            **self._content(_FORMAT_NAME, FORMAT_VERSION),
            "database": self.database,
            "generation": self.generation,
            "scheme_id": self.scheme.id,
            "environment": dict(self.environment),
        }
        temporary = directory / f".{FILE_NAME}.{os.getpid()}"
        try:
            temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            sync_file(temporary)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def to_json(self) -> str:
        """Return the manifest as text, for Redis."""
        return json.dumps(self._content(_REDIS_FORMAT_NAME, REDIS_FORMAT_VERSION), sort_keys=True)

    def _content(self, name: str, version: int) -> dict[str, Any]:
        return {
            "format": name,
            "format_version": version,
            "scheme": self.scheme.to_dict(),
            "plan": asdict(self.plan),
            "max_distance": self.max_distance,
            "confirmation": asdict(self.confirmation),
        }

    @classmethod
    def from_json(cls, location: str, text: str | bytes) -> Manifest:
        """Return the manifest from its text in Redis.

        :raises IndexForeign: the text is not a manifest.
        :raises IndexMismatch: this release does not support its format version.
        :raises IndexCorrupt: it has impossible values.
        """
        try:
            content: Any = json.loads(text)
            if content["format"] != _REDIS_FORMAT_NAME:
                raise ValueError(f"the format is {content['format']!r}")
        except _UNREADABLE as error:
            raise IndexForeign(
                location,
                f"its manifest is not ours ({type(error).__name__}: {error}): choose another name; "
                "nothing was changed",
            ) from error
        try:
            version = content["format_version"]
            if version != REDIS_FORMAT_VERSION:
                raise IndexMismatch(
                    location,
                    f"it has format version {version!r}, this release reads {REDIS_FORMAT_VERSION}",
                    "export it with the release that made it, and import the file into an index "
                    "with another name; nothing was changed",
                    "format",
                )
            scheme, plan, max_distance = _read_parameters(content)
            return cls(
                *(scheme, plan, max_distance, {}, "redis"),
                confirmation=_read_confirmation(content),
            )
        except IndexMismatch:
            raise
        except _UNREADABLE as error:
            raise corrupt(
                location,
                f"its manifest: {type(error).__name__}: {error}",
                "restore a backup of the server, or choose another name",
            ) from error

    @classmethod
    def read(cls, directory: Path) -> Manifest | None:
        """Return the manifest in a directory; None if the directory is missing, empty, or has only
        temporary files.

        :raises IndexForeign: the directory holds other files, or the manifest of something else.
        :raises IndexMismatch: this release does not support its format version.
        :raises IndexCorrupt: the manifest cannot be decoded, or has impossible values.
        :raises OSError: the directory or the file cannot be read.
        """
        path = directory / FILE_NAME
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls._from_content(directory, content)
        except FileNotFoundError:
            has_files = directory.exists() and any(
                not file.name.startswith(f".{FILE_NAME}") for file in directory.iterdir()
            )
            if not has_files:
                return None
            if path.exists():  # Another process has just created it.
                return cls.read(directory)
            raise IndexForeign(
                str(directory),
                f"it has other files, but no {FILE_NAME}: choose another directory, or move those "
                "files away; nothing was changed",
            ) from None
        except (IndexForeign, IndexMismatch):
            raise
        except _UNREADABLE as error:
            raise IndexCorrupt(
                str(directory),
                f"its {FILE_NAME} cannot be read ({type(error).__name__}: {error})",
                "restore it from a backup, or start over with SIMHASH_RESET = True; nothing was "
                "changed",
            ) from error

    @classmethod
    def _from_content(cls, directory: Path, content: Any) -> Manifest:
        if content is None:
            raise TypeError("it is empty")
        if not isinstance(content, dict) or content.get("format") != _FORMAT_NAME:
            raise IndexForeign(
                str(directory),
                f"its {FILE_NAME} is not that of an index: choose another directory; nothing was "
                "changed",
            )
        version = content["format_version"]
        if version != FORMAT_VERSION:
            raise IndexMismatch(
                str(directory),
                f"format version {version!r}, this release reads {FORMAT_VERSION}",
                "use the release that made it, or start over with SIMHASH_RESET = True; nothing "
                "was changed",
                "format",
            )
        generation = content.get("generation", 0)
        scheme, plan, max_distance = _read_parameters(content, generation)
        if generation < 0:
            raise ValueError(f"generation is {generation}")
        if content["database"] not in DATABASES:
            raise ValueError(f"database is {content['database']!r}")
        return cls(
            scheme,
            plan,
            max_distance,
            {str(name): str(installed) for name, installed in content["environment"].items()},
            content["database"],
            generation,
            _read_confirmation(content),
        )


def _read_parameters(content: Mapping[str, Any], *numbers: Any) -> tuple[Scheme, TablePlan, int]:
    """Return (scheme, plan, k) of the content of a manifest.

    :param numbers: other values that must be integers, too.
    :raises: one of `_UNREADABLE` if a value is missing, of a wrong type or impossible.
    """
    scheme = Scheme.from_dict(content["scheme"])
    plan = TablePlan(**content["plan"])
    max_distance = content["max_distance"]
    if any(type(number) is not int for number in (*numbers, max_distance, *asdict(plan).values())):
        raise TypeError("plan, max_distance or another number is not an integer")
    if plan.bits != scheme.bits or not 0 <= max_distance < scheme.bits:
        raise ValueError("plan or max_distance does not fit the scheme")
    return scheme, plan, max_distance


def _read_confirmation(content: Mapping[str, Any]) -> Confirmation:
    """Return the confirmation of the content of a manifest. For errors see `_read_parameters`."""
    confirmation = Confirmation(**content["confirmation"])
    min_resemblance = confirmation.min_resemblance
    if type(min_resemblance) not in (int, float) or not 0 <= min_resemblance <= 1:
        raise ValueError(f"min_resemblance is {min_resemblance!r}")
    if type(confirmation.same_name) is not bool:
        raise TypeError(f"same_name is {confirmation.same_name!r}")
    return confirmation


def databases(directory: Path) -> list[Path]:
    """Return the paths of the databases of an index, sorted by name: the current one, and leftovers
    of interrupted commands, but not those of texts.
    """
    return sorted(
        path
        for kind in DATABASES
        for path in (directory / kind, *directory.glob(f"{kind}-*"))
        if re.fullmatch(r"[a-z]+(-[0-9]+)?", path.name) and path.is_dir()
    )


def sync_directory(directory: Path) -> None:
    """Sync the names in a directory to disk, if the system supports it."""
    with suppress(OSError):
        sync_file(directory)


def environment() -> dict[str, str]:
    """Return the versions of libraries that affect tokens."""
    from lxml import etree

    versions = {
        "python": platform.python_version(),
        "unicode": unicodedata.unidata_version,
        "libxml2": ".".join(map(str, etree.LIBXML_VERSION)),
    }
    for package in ("lxml", "readability-lxml", "jieba"):
        versions[package] = metadata.version(package)
    return versions


def differences(recorded: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """Return changed versions as ``name: recorded → current``, except that of Python."""
    return [
        f"{name}: {recorded.get(name, 'not recorded')} → {version}"
        for name, version in current.items()
        if name != "python" and recorded.get(name) != version
    ]
