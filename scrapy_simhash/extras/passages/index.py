"""Store documents in a passage index, and look up passages of other texts in it.

The directory holds ``passages.json`` (the manifest), ``documents/`` (the document database) and
``index/`` (the fingerprints of passages, in the format of a page index).
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexClosed, IndexLocked, IndexMismatch, StorageError
from scrapy_simhash.extras.passages.manifest import PassagesManifest
from scrapy_simhash.extras.passages.matching import CheckOptions, Matcher
from scrapy_simhash.extras.passages.scheme import PassageScheme
from scrapy_simhash.extras.passages.store import DAMAGE_REMEDY, PassageStore
from scrapy_simhash.index import choose_plan, open_tables
from scrapy_simhash.index.kinds import database_kind, default_kind_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from scrapy_simhash.extras.passages.result import PassageReport


# Open stores by real path. A database can be opened only once, so its users in a process share one.
_stores: dict[str, PassageStore] = {}
_opening = threading.Lock()


class PassageIndex:
    """An open passage index, returned by `open_passages`.

    Methods may be called from several threads; calls that read or write documents wait for each
    other. After `close`, all methods except `close` raise IndexClosed.
    """

    def __init__(self, store: PassageStore, real_path: str) -> None:
        self._store = store
        self._real_path = real_path
        self._closed = False
        self.manifest = store.manifest

    @property
    def documents(self) -> int:
        """Return the number of documents."""
        return self._require_open().documents

    @property
    def passages(self) -> int:
        """Return the number of distinct fingerprints of passages, including removed documents."""
        return self._require_open().passages

    def __contains__(self, name: str) -> bool:
        with self._store.lock:
            return self._require_open().number(name) is not None

    def add(self, name: str, text: str) -> int | None:
        """Add a document, or replace the document with this name.

        :return: number of its passages with a fingerprint; None if the same text is stored already.
        :raises StorageError: the disk fails, or the index is damaged.
        """
        with self._store.lock:
            if self._require_open().has(name, text):
                return None
        scheme = self.manifest.scheme
        pairs = (
            (span, scheme.fingerprint(text[slice(*span)])) for span in scheme.cutting.spans(text)
        )
        passages = [(span, fingerprint) for span, fingerprint in pairs if fingerprint is not None]
        with self._store.lock:
            return len(passages) if self._require_open().put(name, text, passages) else None

    def remove(self, name: str) -> bool:
        """Remove a document. Return False if no document has this name. Errors are as in `add`."""
        with self._store.lock:
            return self._require_open().remove(name)

    def check(
        self,
        name: str,
        text: str,
        options: CheckOptions | None = None,
        *,
        exclude: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> PassageReport:
        """Return a report on the passages of a text that appear in the documents.

        :param name: name of the text, for the report.
        :param exclude: name of a document that is no source, such as the text itself.
        :param on_progress: called with (passages done, passages in all).
        :raises StorageError: the index cannot be read, or is damaged.
        """
        with self._store.lock:
            matcher = Matcher(self._require_open(), options or CheckOptions(), exclude)
            return matcher.check(name, text, on_progress)

    def sync(self) -> None:
        """Sync all writes to disk, as `close` does."""
        self._require_open().sync()

    def close(self) -> None:
        """Close the index. May be called repeatedly."""
        with _opening, self._store.lock:
            if self._closed:
                return
            self._closed = True
            self._store.users -= 1
            if not self._store.users:
                del _stores[self._real_path]
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _require_open(self) -> PassageStore:
        if self._closed:
            raise IndexClosed(self._store.location, "used after close()")
        return self._store


def open_passages(
    directory: str | Path,
    scheme: PassageScheme | None = None,
    *,
    keep_text: bool | None = None,
    create: bool = True,
    kind: str | None = None,
) -> PassageIndex:
    """Open a passage index, or create it. An index that this process has open is shared.

    :param scheme: scheme of the index; None for the scheme of an existing index, or the default.
    :param keep_text: store the texts of documents, to compute similarities from them; None accepts
        the choice of an existing index, and stores texts in a new one.
    :param create: create the index if it is missing.
    :param kind: kind of database of a new index: ``leveldb`` or ``rocksdb``; None for the default.
    :raises IndexMismatch: the index has another scheme, choice of `keep_text` or format version.
    :raises PlanError: no tables support the distance of a new index.
    :raises SchemeError: the kind of database is unknown, or its driver is not installed.
    :raises StorageError: the index is missing, locked, foreign or damaged, or cannot be read or
        written.
    """
    directory = Path(directory).absolute()
    real_path = os.path.realpath(directory)
    with _opening:
        store = _stores.get(real_path)
        if store is None:
            new_manifest = PassagesManifest(
                scheme or PassageScheme(),
                keep_text is not False,
                kind or default_kind_name(),
            )
            store = _open_store(directory, new_manifest if create else None, scheme, keep_text)
            _stores[real_path] = store
        else:
            _require_same(store.location, store.manifest, scheme, keep_text)
        store.users += 1
    return PassageIndex(store, real_path)


def _open_store(
    directory: Path,
    new_manifest: PassagesManifest | None,
    scheme: PassageScheme | None,
    keep_text: bool | None,
) -> PassageStore:
    """Open an index, or create it with the new manifest. Errors are as in `open_passages`.

    :param new_manifest: None if a missing index is an error.
    """
    location = str(directory)
    try:
        existing = PassagesManifest.read(directory)
        manifest = existing or new_manifest
        if manifest is None:
            raise StorageError(location, "there is no passage index: add documents first")
        _require_same(location, manifest, scheme, keep_text)
        opener = database_kind(manifest.database)
        fingerprints, max_distance = manifest.scheme.scheme, manifest.scheme.max_distance
        if existing is None:
            # Raises PlanError before anything is written.
            choose_plan(fingerprints.bits, max_distance, probing=False)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            manifest.write(directory)
        with ExitStack() as opened:
            tables = open_tables(directory / "index", manifest.database, fingerprints, max_distance)
            opened.callback(tables.close)
            database = opener(location, directory / "documents", DAMAGE_REMEDY)
            opened.callback(database.close)
            store = PassageStore(tables, database, location, manifest)
            opened.pop_all()
            return store
    except IndexLocked as error:
        raise IndexLocked(
            location,
            "another process has it open: wait for it, or choose another directory (--index, "
            "SIMHASH_PASSAGES)",
        ) from error
    except OSError as error:
        raise StorageError(
            location,
            f"it cannot be created, read or written ({error}): check the path, its rights and the "
            "disk",
        ) from error


def _require_same(
    location: str, manifest: PassagesManifest, scheme: PassageScheme | None, keep_text: bool | None
) -> None:
    """Raise IndexMismatch if an index has another scheme or `keep_text`; None accepts any."""
    why = None
    if scheme is not None and scheme != manifest.scheme:
        old, new = manifest.scheme.to_dict(), scheme.to_dict()
        old["scheme"], new["scheme"] = manifest.scheme.scheme.id, scheme.scheme.id
        differing = (
            f"{name} {old[name]}, not {new[name]}" for name in old if old[name] != new[name]
        )
        why = f"was made with {'; '.join(differing)}: use the values of the index"
    elif keep_text is not None and keep_text != manifest.keep_text:
        kept = "texts" if manifest.keep_text else "no texts"
        why = f"keeps {kept}, which cannot be changed: use it as it is"
    if why is not None:
        raise IndexMismatch(location, f"it {why}, or choose another directory; nothing was changed")
