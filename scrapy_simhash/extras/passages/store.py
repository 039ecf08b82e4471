"""Store the fingerprints of passages, their places, and the documents.

The fingerprint index has an entry for each distinct fingerprint. The document database has
everything else. `rows.py` defines its rows, the *ordinal* and *check* of a
passage, and the number of a document. A document is added in one atomic write to the document
database. Its fingerprints are written before; after a crash, fingerprints without a document are
ignored.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from scrapy_simhash.extras.passages import rows
from scrapy_simhash.extras.passages.rows import Document, Passage, Place, State
from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.database import corrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_simhash.extras.passages.cutting import Span
    from scrapy_simhash.extras.passages.manifest import PassagesManifest
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.tables import TableStore

logger = logging.getLogger(__name__)

# The advice in errors about damage: `repair` does not read the document database.
DAMAGE_REMEDY = "restore a backup, or delete the directory and add the documents again"
_CACHED_DOCUMENTS = 4096
_CACHED_TEXT_CHARACTERS = 4_000_000

_Decoded = TypeVar("_Decoded")


class PassageStore:
    """A store of passages and documents, which several `PassageIndex` objects share.

    Callers must hold `lock`, except for `sync`. All methods raise StorageError if a database fails,
    and IndexCorrupt if a row is invalid.

    :param index: the fingerprint index, which this store closes.
    :param database: the document database, which this store closes.
    :param location: directory of the index, for errors.
    """

    def __init__(
        self, index: TableStore, database: Database, location: str, manifest: PassagesManifest
    ) -> None:
        self.index = index
        self._database = database
        self.location = location
        self.manifest = manifest
        self.lock = RLock()
        self.users = 0
        """Number of open `PassageIndex` objects that share this store."""
        state = self._read(rows.STATE_KEY, rows.STATE.unpack)
        self._state = State() if state is None else State(*state)
        if index.next_sequence < self._state.next_sequence:
            # After a power loss, the fingerprint index is older than the document database.
            logger.warning(
                "simhash: the passage index %s has lost fingerprints: some documents cannot be "
                "found until they are added again",
                location,
            )
            self._state = self._state._replace(
                next_sequence=index.next_sequence, suspect_below=self._state.next_number
            )
        # Caches that are emptied when they are full.
        self._documents: dict[int, Document | None] = {}
        self._texts: dict[int, str] = {}
        self._text_characters = 0

    @property
    def documents(self) -> int:
        """Return the count of documents."""
        return self._state.documents

    @property
    def passages(self) -> int:
        """Return the count of distinct fingerprints, including those of removed documents."""
        return len(self.index)

    def number(self, name: str) -> int | None:
        """Return the number of the document with a name; None if there is none."""
        unpacked = self._read(rows.name_key(name), rows.NUMBER.unpack)
        return None if unpacked is None else unpacked[0]

    def document(self, number: int) -> Document | None:
        """Return the document with a number; None if it was replaced, removed or never added."""
        if number not in self._documents:
            if len(self._documents) >= _CACHED_DOCUMENTS:
                self._documents.clear()
            self._documents[number] = self._read(rows.key(b"D", number), rows.decode_document)
        return self._documents[number]

    def text(self, number: int) -> str | None:
        """Return the text of a document; None if it is not stored."""
        if number not in self._texts and self.manifest.keep_text:
            text = self._read(rows.key(b"T", number), rows.decode_text)
            if text is None:
                return None
            self._text_characters += len(text)
            if self._text_characters > _CACHED_TEXT_CHARACTERS:
                self._texts.clear()
                self._text_characters = len(text)
            self._texts[number] = text
        return self._texts.get(number)

    def passage(self, ordinal: int, fingerprint: int) -> Passage:
        """Return the passage of an entry of the fingerprint index.

        If no document has it, it is not stored; its count of documents is then 0.
        """
        check = rows.check(fingerprint)
        passage = self._passage(ordinal)
        return passage if passage is not None and passage.check == check else Passage(check)

    def places(self, entry: Entry) -> Iterator[list[Place]]:
        """Yield a list of the stored places of a passage for each document, by document number."""
        start = rows.key(b"W", entry.ordinal)
        for key, value in self._database.rows(start, start + b"\xff" * 5):
            check, places = self._decoded(partial(rows.decode_places, key), value)
            if check == rows.check(entry.fingerprint):
                yield places

    def has(self, name: str, text: str) -> bool:
        """Return True if a document is stored with this text, and cannot have lost fingerprints."""
        number = self.number(name)
        if number is None or number < self._state.suspect_below:
            return False
        document = self.document(number)
        return document is not None and document.digest == rows.digest(text)

    def is_in_document(self, entry: Entry, number: int) -> bool:
        """Return True if a document contains the passage of an entry of the index."""
        return self._check_at(entry.ordinal, number) == rows.check(entry.fingerprint)

    def put(self, name: str, text: str, passages: Sequence[tuple[Span, int]]) -> bool:
        """Add a document, or replace the document with this name. Return False if `has` is True.

        :param passages: (span, fingerprint) of passages of the text, in text order.
        """
        if self.has(name, text):
            return False
        old_number, number = self.number(name), self._state.next_number
        changed: dict[int, Passage] = {}
        deletes = [] if old_number is None else self._subtract(old_number, changed)
        spans: dict[int, list[Span]] = {}
        for span, fingerprint in passages:
            spans.setdefault(fingerprint, []).append(span)
        ordinals = {fingerprint: self._ordinal(fingerprint) for fingerprint in spans}
        for fingerprint, ordinal in ordinals.items():
            passage = changed.get(ordinal)
            if passage is None or passage.check != rows.check(fingerprint):
                passage = self.passage(ordinal, fingerprint)
            changed[ordinal] = Passage(passage.check, passage.documents + 1)
        in_text_order = tuple(ordinals[fingerprint] for _, fingerprint in passages)
        document = Document(name, rows.digest(text), len(text), in_text_order)
        puts: list[Row] = [
            (rows.name_key(name), rows.NUMBER.pack(number)),
            (rows.key(b"D", number), rows.encode_document(document)),
        ]
        if self.manifest.keep_text:
            puts.append((rows.key(b"T", number), rows.encode_text(text)))
        for fingerprint, places in spans.items():
            value = rows.encode_places(rows.check(fingerprint), places[: rows.KEPT_PLACES])
            puts.append((rows.key(b"W", ordinals[fingerprint], number), value))
        state = self._state._replace(
            next_number=number + 1,
            documents=self._state.documents + (old_number is None),
            next_sequence=self.index.next_sequence,
        )
        self._write(puts, deletes, changed, state)
        return True

    def remove(self, name: str) -> bool:
        """Remove a document. Return False if no document has this name."""
        number = self.number(name)
        if number is None:
            return False
        changed: dict[int, Passage] = {}
        deletes = [*self._subtract(number, changed), rows.name_key(name)]
        state = self._state._replace(documents=self._state.documents - 1)
        self._write([], deletes, changed, state)
        return True

    def sync(self) -> None:
        """Sync all writes to disk."""
        self.index.sync()
        self._database.sync()

    def close(self) -> None:
        """Sync as `sync` does, and close both databases."""
        try:
            self.index.close()
            self._database.sync()
        finally:
            self._database.close()

    def _ordinal(self, fingerprint: int) -> int:
        """Return the ordinal of the entry of a fingerprint; create the entry if necessary."""
        key = to_hex(fingerprint, self.manifest.scheme.scheme.bits)
        entry = self.index.entry(key)
        if entry is None:
            now_s, number = int(time.time()), self.index.next_sequence
            put = Entry(number, key, fingerprint, number, now_s, now_s)
            entry = self.index.write(put, None, (), number + 1)
        return entry.ordinal

    def _subtract(self, number: int, changed: dict[int, Passage]) -> list[bytes]:
        """Put the passages of a document in `changed`, with lower counts. Return keys to delete."""
        deletes = [rows.key(b"D", number), rows.key(b"T", number)]
        document = self.document(number)
        for ordinal in dict.fromkeys(() if document is None else document.passages):
            check = self._check_at(ordinal, number)
            if check is None:
                continue
            deletes.append(rows.key(b"W", ordinal, number))
            passage = self._passage(ordinal)
            if passage is not None and passage.check == check:
                changed[ordinal] = Passage(passage.check, max(passage.documents - 1, 0))
        self._documents.pop(number, None)
        self._text_characters -= len(self._texts.pop(number, ""))
        return deletes

    def _write(
        self, puts: list[Row], deletes: list[bytes], changed: dict[int, Passage], state: State
    ) -> None:
        """Write rows, changed passages and the state, and delete rows, all or none."""
        for ordinal, passage in changed.items():
            key = rows.key(b"P", ordinal)
            if passage.documents:
                puts.append((key, rows.PASSAGE.pack(*passage)))
            else:
                deletes.append(key)
        puts.append((rows.STATE_KEY, rows.STATE.pack(*state)))
        self._database.write(puts, deletes)
        self._state = state

    def _passage(self, ordinal: int) -> Passage | None:
        unpacked = self._read(rows.key(b"P", ordinal), rows.PASSAGE.unpack)
        return None if unpacked is None else Passage(*unpacked)

    def _check_at(self, ordinal: int, number: int) -> int | None:
        """Return the check of a passage in a document; None if the document does not have it."""
        key = rows.key(b"W", ordinal, number)
        decoded = self._read(key, partial(rows.decode_places, key))
        return None if decoded is None else decoded[0]

    def _read(self, key: bytes, decode: Callable[[bytes], _Decoded]) -> _Decoded | None:
        value = self._database.get(key)
        return None if value is None else self._decoded(decode, value)

    def _decoded(self, decode: Callable[[bytes], _Decoded], value: bytes) -> _Decoded:
        try:
            return decode(value)
        except rows.INVALID as error:
            raise corrupt(self.location, error, DAMAGE_REMEDY) from error
