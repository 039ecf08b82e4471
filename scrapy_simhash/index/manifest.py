"""Read and write the manifest of an index: its format, scheme, plan and library versions, as JSON.

In Redis, it is the value of a key. On disk, it is a file: each rewrite of an index creates a new
database, such as ``leveldb-1/``. The manifest names the current one, so replacing the manifest
replaces the index. docs/index-format.md has the details.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.documents.files import replaced, sync_file
from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexForeign,
    IndexMismatch,
    SimhashError,
    StorageError,
)
from scrapy_simhash.index.database import unusable
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT_VERSION = 9
FILE_NAME = "manifest.json"
DATABASES = ("leveldb", "rocksdb")
_FORMAT_NAME = "scrapy-simhash index"
_START_OVER = "start over with SIMHASH_RESET = True, or under another name; nothing was changed"


@dataclass(frozen=True)
class Manifest:
    """The properties that an index was created with.

    :param max_distance: default k; callers of `open_index` may choose another.
    :param database: ``leveldb``, ``rocksdb``, ``redis``, or ``memory`` in a manifest that is never
        written.
    :param generation: number of times the index was rewritten.
    :param confirmation: default confirmation; callers of `open_index` may choose another.
    :param versions: those of `library_versions` when the index was created.
    """

    scheme: Scheme
    plan: TablePlan
    max_distance: int
    database: str
    generation: int = 0
    confirmation: Confirmation = UNCONFIRMED
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)

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
            "scheme": self.scheme.to_dict(),
            "scheme_id": self.scheme.id,
        }
        return json.dumps(content, indent=2)

    @classmethod
    def from_json(cls, location: str, text: str | bytes) -> Manifest:
        """Return the manifest from its text.

        :raises IndexForeign: the text is the manifest of something else.
        :raises IndexMismatch: this release does not support its format version.
        :raises IndexCorrupt: the text cannot be decoded, or has impossible values.
        """
        try:
            content = json.loads(text)
            if content is None:
                raise TypeError("it is empty")
            if not isinstance(content, dict) or content.get("format") != _FORMAT_NAME:
                raise IndexForeign(
                    location,
                    "its manifest is not that of an index: choose another directory or name; "
                    "nothing was changed",
                )
            version = content["format_version"]
            if version != FORMAT_VERSION:
                raise IndexMismatch(
                    location,
                    f"format version {version!r}, this release reads {FORMAT_VERSION}",
                    f"use the release that made it, or {_START_OVER}",
                    "format",
                )
            return cls._from_content(content)
        except (IndexForeign, IndexMismatch):
            raise
        except (
            *(KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError),
            SimhashError,
        ) as error:
            raise IndexCorrupt(
                location,
                f"its manifest cannot be read ({type(error).__name__}: {error})",
                f"restore it from a backup, or {_START_OVER}",
            ) from error

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Manifest:
        scheme, plan = Scheme.from_dict(content["scheme"]), TablePlan(**content["plan"])
        k, generation, database = (
            content[name] for name in ("max_distance", "generation", "database")
        )
        confirmation = Confirmation(**content["confirmation"])
        if any(type(number) is not int for number in (k, generation, *asdict(plan).values())):
            raise TypeError("plan, max_distance or generation is not an integer")
        if plan.bits != scheme.bits or not 0 <= k < scheme.bits or generation < 0:
            raise ValueError("plan, max_distance or generation is impossible")
        if database not in (*DATABASES, "redis"):
            raise ValueError(f"database is {database!r}")
        resemblance, same_name = confirmation.min_resemblance, confirmation.same_name
        if type(resemblance) not in (int, float) or not 0 <= resemblance <= 1:
            raise ValueError(f"min_resemblance is {resemblance!r}")
        if type(same_name) is not bool:
            raise TypeError(f"same_name is {same_name!r}")
        versions = {str(name): str(version) for name, version in content["versions"].items()}
        return cls(scheme, plan, k, database, generation, confirmation, versions)

    @classmethod
    def read(cls, directory: Path) -> Manifest | None:
        """Return the manifest in a directory; for None and other errors see `read_manifest_file`.

        :raises StorageError: it is not accepted, see `from_json`.
        """
        text = read_manifest_file(directory, FILE_NAME)
        return None if text is None else cls.from_json(str(directory), text)


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


def library_versions() -> dict[str, str]:
    """Return the versions of what decides which tokens a page has."""
    from lxml import etree

    packages = ("lxml", "readability-lxml", "jieba")
    return {
        "Unicode": unicodedata.unidata_version,
        "libxml2": ".".join(map(str, etree.LIBXML_VERSION)),
        **{package: metadata.version(package) for package in packages},
    }


def databases(directory: Path) -> list[Path]:
    """Return the paths of the databases of an index, sorted by name: the current one, and leftovers
    of interrupted commands.
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
