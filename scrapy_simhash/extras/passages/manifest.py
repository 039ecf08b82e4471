"""Read and write the manifest of a passage index as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.files import replaced
from scrapy_simhash.errors import IndexCorrupt, IndexForeign, IndexMismatch, SimhashError
from scrapy_simhash.extras.passages.scheme import PassageScheme
from scrapy_simhash.index.manifest import DATABASES
from scrapy_simhash.index.manifest import FILE_NAME as PAGES_FILE_NAME

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "passages.json"
FORMAT_VERSION = 1
_FORMAT_NAME = "scrapy-simhash passages"


@dataclass(frozen=True)
class PassagesManifest:
    """The scheme of a passage index, the choice to store texts, and the kind of its database."""

    scheme: PassageScheme
    keep_text: bool
    database: str

    def write(self, directory: Path) -> None:
        """Write ``passages.json`` atomically. :raises OSError: it cannot be written."""
        content = {
            "format": _FORMAT_NAME,
            "format_version": FORMAT_VERSION,
            "database": self.database,
            "keep_text": self.keep_text,
            **self.scheme.to_dict(),
        }
        with replaced(directory / FILE_NAME) as temporary:
            temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, directory: Path) -> PassagesManifest | None:
        """Return the manifest of a directory; None if the directory is missing or empty.

        :raises IndexForeign: `directory` is a file, an index of pages, or has files of others.
        :raises IndexMismatch: the index has another format version.
        :raises IndexCorrupt: the manifest is invalid.
        :raises OSError: the directory or the manifest cannot be read.
        """
        location = str(directory)
        try:
            content: Any = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
            if not isinstance(content, dict) or content.get("format") != _FORMAT_NAME:
                raise IndexForeign(
                    location, f"its {FILE_NAME} is of another program: choose another directory"
                )
            if content["format_version"] != FORMAT_VERSION:
                raise IndexMismatch(
                    location,
                    f"it has format version {content['format_version']!r}, this release reads "
                    f"{FORMAT_VERSION}: use the release that made it; nothing was changed",
                )
            if type(content["keep_text"]) is not bool:
                raise TypeError(f"keep_text is {content['keep_text']!r}")
            if content["database"] not in DATABASES:
                raise ValueError(f"database is {content['database']!r}")
            return cls(PassageScheme.from_dict(content), content["keep_text"], content["database"])
        except FileNotFoundError:
            _require_empty(directory)
            return None
        except NotADirectoryError:
            raise IndexForeign(location, "it is no directory, but a file: choose another") from None
        except (IndexForeign, IndexMismatch):
            raise
        except (KeyError, TypeError, ValueError, RecursionError, SimhashError) as error:
            raise IndexCorrupt(
                location,
                f"its {FILE_NAME} cannot be read ({type(error).__name__}: {error}): restore it "
                "from a backup, or make another index; nothing was changed",
            ) from error


def _require_empty(directory: Path) -> None:
    """Raise IndexForeign if a directory has files other than our temporary ones."""
    names = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
    if PAGES_FILE_NAME in names:
        raise IndexForeign(
            str(directory), "it is an index of pages, not of passages: choose another directory"
        )
    if any(not name.startswith(".simhash-") for name in names):
        raise IndexForeign(
            str(directory),
            f"it has no {FILE_NAME} but other files: choose another directory; nothing was changed",
        )
