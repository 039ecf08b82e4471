"""PassageIndex: a directory of documents whose passages can be found again.

It holds ``passages.json``, which says what it was made with, ``index/`` with the fingerprints (an
index as for pages, and `python -m scrapy_simhash.index check` checks it), and ``documents/``.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import (
    IndexClosed,
    IndexCorrupt,
    IndexForeign,
    IndexMismatch,
    SimhashError,
    StorageError,
)
from scrapy_simhash.index import open_tables
from scrapy_simhash.index.kinds import database_kind, default_kind_name
from scrapy_simhash.index.manifest import FILE_NAME as PAGES_FILE_NAME
from scrapy_simhash.passages.matching import Matcher, Question
from scrapy_simhash.passages.scheme import PassageScheme
from scrapy_simhash.passages.store import PassageStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from scrapy_simhash.index.base import SyncPolicy
    from scrapy_simhash.passages.result import PassageReport

FILE_NAME = "passages.json"
FORMAT_VERSION = 1
_FORMAT_NAME = "scrapy-simhash passages"


@dataclass(frozen=True)
class PassagesManifest:
    """What a passage index was made with."""

    scheme: PassageScheme
    keep_text: bool
    database: str

    def write(self, directory: Path) -> None:
        """Write ``passages.json``, whole or not at all. :raises OSError: it cannot be."""
        content = {
            "format": _FORMAT_NAME,
            "format_version": FORMAT_VERSION,
            "database": self.database,
            "keep_text": self.keep_text,
            **self.scheme.to_dict(),
        }
        temporary = directory / f".{FILE_NAME}.{os.getpid()}"
        try:
            temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            temporary.replace(directory / FILE_NAME)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def read(cls, directory: Path) -> PassagesManifest | None:
        """What a directory says; None where it is missing or empty.

        :raises IndexForeign: it holds other things.
        :raises IndexMismatch: another format version.
        :raises IndexCorrupt: it makes no sense.
        :raises OSError: the file system says no.
        """
        location = str(directory)
        try:
            text = (directory / FILE_NAME).read_text(encoding="utf-8")
        except FileNotFoundError:
            if not directory.exists():
                return None
            names = {entry.name for entry in directory.iterdir()}
            if PAGES_FILE_NAME in names:
                raise IndexForeign(
                    location, "it is an index of pages, not of passages: choose another directory"
                ) from None
            if any(not name.startswith(f".{FILE_NAME}") for name in names):
                raise IndexForeign(
                    location,
                    f"it has no {FILE_NAME} but other files: choose another directory; nothing "
                    "was changed",
                ) from None
            return None
        except NotADirectoryError:
            raise IndexForeign(location, "it is no directory: choose another") from None
        except UnicodeDecodeError as error:
            raise _damaged(location, error) from error
        try:
            content: Any = json.loads(text)
            if not isinstance(content, dict) or content.get("format") != _FORMAT_NAME:
                raise IndexForeign(
                    location, f"its {FILE_NAME} is not ours: choose another directory"
                )
            if content["format_version"] != FORMAT_VERSION:
                raise IndexMismatch(
                    location,
                    f"format version {content['format_version']!r}, this release reads "
                    f"{FORMAT_VERSION}: use the release that made it; nothing was changed",
                )
            if type(content["keep_text"]) is not bool:
                raise TypeError(f"keep_text is {content['keep_text']!r}")
            database_kind(content["database"])
            return cls(PassageScheme.from_dict(content), content["keep_text"], content["database"])
        except (IndexForeign, IndexMismatch):
            raise
        except (KeyError, TypeError, ValueError, RecursionError, SimhashError) as error:
            raise _damaged(location, error) from error


class PassageIndex:
    """A passage index that is open. Methods may be called from any thread, one at a time.

    Made by `open_passages`.
    """

    def __init__(
        self,
        store: PassageStore,
        made: PassagesManifest,
        location: str,
        on_close: Callable[[], None],
    ) -> None:
        self._store = store
        self._location = location
        self._on_close = on_close
        self._lock = threading.RLock()
        self._closed = False
        self.made = made

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return self._open().documents

    @property
    def passages(self) -> int:
        """How many distinct passages there are."""
        return self._open().passages

    def add(self, name: str, text: str) -> int | None:
        """Add a document, or put it in the place of the one of its name.

        :return: how many passages of it can be found; None if it was there with this text.
        :raises StorageError: the index fails.
        """
        scheme = self.made.scheme
        found = (
            (span, scheme.fingerprint(text[slice(*span)])) for span in scheme.cutting.spans(text)
        )
        passages = [(span, fingerprint) for span, fingerprint in found if fingerprint is not None]
        with self._lock:
            return len(passages) if self._open().put(name, text, passages) else None

    def remove(self, name: str) -> bool:
        """Take a document away. False if there is none of that name."""
        with self._lock:
            return self._open().remove(name)

    def check(
        self,
        name: str,
        text: str,
        question: Question | None = None,
        *,
        but: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> PassageReport:
        """Where the passages of a text stand.

        :param name: of the text, for the report.
        :param but: name of a document that is no source, as it is the text itself.
        :param progress: called with (passages done, passages in all).
        :raises StorageError: the index fails.
        """
        with self._lock:
            matcher = Matcher(
                self._open(), self.made.scheme, question or Question(), verify=self.made.keep_text
            )
            return matcher.check(name, text, but=but, progress=progress)

    def sync(self) -> None:
        """Bring what was added to the disk."""
        with self._lock:
            self._open().sync()

    def close(self) -> None:
        """Give the index back. Harmless when repeated."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> PassageStore:
        if self._closed:
            raise IndexClosed(self._location, "used after close()")
        return self._store


def open_passages(
    directory: str | Path,
    scheme: PassageScheme | None = None,
    *,
    keep_text: bool | None = None,
    create: bool = True,
    kind: str | None = None,
    sync: SyncPolicy = "everysec",
) -> PassageIndex:
    """Open a passage index, or make it.

    :param scheme: of a new index; where there is one already, it must be that one's.
    :param keep_text: keep the texts of documents, so that hits are verified on them.
    :param create: whether a new one may be made.
    :param kind: of database, for a new one: ``leveldb`` or ``rocksdb``.
    :param sync: see `SyncPolicy`.
    :raises IndexMismatch: it was made with another scheme, or keeps texts where it should not.
    :raises StorageError: it is missing, locked, foreign, corrupt, or cannot be read or written.
    """
    directory = Path(directory).absolute()
    location = str(directory)
    try:
        made = PassagesManifest.read(directory)
        if made is None:
            if not create:
                raise StorageError(location, "there is no passage index: add documents first")
            made = PassagesManifest(
                scheme or PassageScheme(), bool(keep_text), kind or default_kind_name()
            )
            opener = database_kind(made.database)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            made.write(directory)
        else:
            opener = database_kind(made.database)
            _check_same(location, made, scheme, keep_text=keep_text)
        tables = open_tables(
            directory / "index",
            made.database,
            made.scheme.scheme,
            made.scheme.max_distance,
            sync=sync,
        )
        try:
            database = opener(location, directory / "documents")
        except BaseException:
            tables.close()
            raise
    except OSError as error:
        raise StorageError(
            location,
            f"it cannot be made, read or written ({error}): check the path, its rights and the "
            "disk",
        ) from error
    try:
        bits = made.scheme.scheme.bits
        store = PassageStore(tables, database, location, bits=bits, keep_text=made.keep_text)
    except BaseException:
        tables.close()
        database.close()
        raise
    return PassageIndex(store, made, location, store.close)


def _check_same(
    location: str,
    made: PassagesManifest,
    scheme: PassageScheme | None,
    *,
    keep_text: bool | None,
) -> None:
    if scheme is not None and scheme != made.scheme:
        was, asked = made.scheme.to_dict(), scheme.to_dict()
        differing = [
            f"{name} {was[name]}, not {asked[name]}" for name in was if was[name] != asked[name]
        ]
        raise IndexMismatch(
            location,
            f"it was made with {'; '.join(differing)}: leave that out, or choose another "
            "directory; nothing was changed",
        )
    if keep_text is not None and keep_text != made.keep_text:
        does = "keeps texts" if made.keep_text else "keeps no texts"
        raise IndexMismatch(
            location,
            f"it {does}, as it was made: leave that out, or choose another directory; nothing "
            "was changed",
        )


def _damaged(location: str, error: Exception) -> IndexCorrupt:
    return IndexCorrupt(
        location,
        f"its {FILE_NAME} cannot be read ({type(error).__name__}: {error}): restore it from a "
        "backup, or make another index; nothing was changed",
    )
