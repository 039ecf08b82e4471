"""Records: what a frame holds → its key, and its text or page → its fingerprint.

This runs in worker processes, and touches nothing but its arguments.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urldefrag

from scrapy_simhash.confirmation import NO_EVIDENCE, Evidence, name_of_record
from scrapy_simhash.dedupe.evidence import evidence_from, plain_evidence
from scrapy_simhash.documents.decoding import decoded, without_surrogates
from scrapy_simhash.documents.html import is_html_response
from scrapy_simhash.extraction import Extraction, plain_text
from scrapy_simhash.fingerprint import to_hex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.dedupe.options import Fields, Format
    from scrapy_simhash.detector import Detector, PageFingerprint

_URL = re.compile(r"https?://", re.IGNORECASE)


class Answer(NamedTuple):
    """What there is to know of a record.

    :param fingerprint: in hexadecimal; None if it is skipped.
    :param reason: why it is skipped.
    :param evidence: what confirms that it is a copy.
    """

    key: str
    fingerprint: str | None = None
    reason: str | None = None
    evidence: Evidence = NO_EVIDENCE

    def plain(self) -> list[Any]:
        """Return the answer as a list for JSON."""
        return [self.key, self.fingerprint, self.reason, plain_evidence(self.evidence)]

    @classmethod
    def from_plain(cls, values: Sequence[Any]) -> Answer:
        """Return the answer of which `plain` made a list."""
        key, fingerprint, reason, evidence = values
        return cls(key, fingerprint, reason, evidence_from(evidence))


class Unreadable(Exception):
    """A record that cannot be read."""

    def __init__(self, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.key = key


class Parser:
    """Reads and fingerprints records of one format.

    :param header: names of the columns, of CSV.
    :param delimiter: what stands between them.
    """

    def __init__(
        self,
        form: Format,
        fields: Fields,
        detector: Detector,
        *,
        max_bytes: int,
        encoding: str = "utf-8",
        header: Sequence[str] = (),
        delimiter: str = ",",
    ) -> None:
        self._fields = fields
        self._detector = detector
        self._max_bytes = max_bytes
        self._encoding = encoding
        self._header = header
        self._delimiter = delimiter
        pages: dict[str, Callable[[bytes, str], Answer]] = {"html": self._file, "warc": self._warc}
        self._read = pages.get(form, self._record)
        self._fields_of = (
            self._csv if form == "csv" else lambda content: read_json(content, encoding)
        )

    def answer(self, content: bytes, default_key: str) -> Answer:
        """Of a record. Never raises for its sake.

        :param default_key: where it has none.
        """
        try:
            return self._read(content, default_key)
        except Unreadable as error:
            return Answer(error.key or default_key, reason=error.reason)
        except Exception:  # noqa: BLE001 - no record may stop a run
            return Answer(default_key, reason="error")

    def _csv(self, content: bytes) -> dict[str, Any]:
        values = read_csv(content, self._encoding, self._delimiter)
        return dict(zip(self._header, values, strict=False))

    def _record(self, content: bytes, default_key: str) -> Answer:
        record = self._fields_of(content)
        fields = self._fields
        key = _key(record.get(fields.key) if fields.key else None) or default_key
        if fields.html is not None:
            value = record.get(fields.html)
            if value is None:
                raise Unreadable("no_field", key)
            html = without_surrogates(value if isinstance(value, str) else str(value))
            return self._answered(key, self._detector.fingerprint_page, html)
        texts = {
            name: without_surrogates(plain(record[name]))
            for name in fields.text
            if record.get(name) is not None
        }
        if not texts:
            raise Unreadable("no_field", key)
        text = "\n".join(texts.values())
        title = name_of_record(texts)
        return self._answered(
            key, lambda text: self._detector.fingerprint_extraction(Extraction(text, title)), text
        )

    def _file(self, content: bytes, key: str) -> Answer:
        path = Path(os.fsdecode(content))
        try:
            with path.open("rb") as file:
                body = file.read(self._max_bytes + 1)
        except OSError:
            raise Unreadable("unreadable", key) from None
        return self._page(key, body, None)

    def _warc(self, content: bytes, _default_key: str) -> Answer:
        from warcio.archiveiterator import ArchiveIterator

        try:
            record = next(iter(ArchiveIterator(io.BytesIO(content))))
            url = record.rec_headers.get_header("WARC-Target-URI") or ""
            headers = record.http_headers
        except Exception:  # noqa: BLE001 - of whatever kind
            raise Unreadable("not_warc") from None
        key = urldefrag(without_surrogates(url)).url or None
        status = "" if headers is None else str(headers.get_statuscode())
        if not status.isdecimal() or key is None:
            raise Unreadable("not_warc", key)
        if not status.startswith("2"):
            raise Unreadable("status", key)
        try:
            body = record.content_stream().read(self._max_bytes + 1)
        except Exception:  # noqa: BLE001 - of whatever kind
            raise Unreadable("not_warc", key) from None
        content_type = headers.get_header("Content-Type")
        if body and not is_html_response(
            body, url, content_type, headers.get_header("Content-Disposition")
        ):
            raise Unreadable("not_html", key)
        return self._page(key, body, content_type)

    def _page(self, key: str, body: bytes, content_type: str | None) -> Answer:
        if not body:
            raise Unreadable("empty", key)
        if len(body) > self._max_bytes:
            raise Unreadable("too_large", key)
        return self._answered(key, self._detector.fingerprint_page, decoded(body, content_type))

    def _answered(
        self, key: str, fingerprint: Callable[[str], PageFingerprint], text: str
    ) -> Answer:
        try:
            page = fingerprint(text)
        except Exception:  # noqa: BLE001 - whatever an extractor of somebody raises
            raise Unreadable("error", key) from None
        if page.fingerprint is None:
            return Answer(key, reason=page.skipped)
        fingerprint_hex = to_hex(page.fingerprint, self._detector.scheme.bits)
        return Answer(key, fingerprint_hex, evidence=page.evidence)


def read_json(content: bytes, encoding: str) -> dict[str, Any]:
    """A JSON object. :raises Unreadable: it is none."""
    try:
        record = json.loads(_text(content, encoding))
    except (ValueError, RecursionError):
        raise Unreadable("not_json") from None
    if not isinstance(record, dict):
        raise Unreadable("not_json")
    return record


def read_csv(content: bytes, encoding: str, delimiter: str) -> list[str]:
    """The fields of a record. :raises Unreadable: they cannot be told from each other."""
    csv.field_size_limit(max(csv.field_size_limit(), len(content) + 1))
    text = _text(content, encoding)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        raise Unreadable("not_csv") from None
    if len(rows) != 1:
        raise Unreadable("not_csv")
    return rows[0]


def plain(value: Any) -> str:
    """A field as text, as `SIMHASH_ITEM_FIELDS` has it."""
    if isinstance(value, (list, tuple)):
        return "\n".join(plain(part) for part in value)
    text = value if isinstance(value, str) else str(value)
    return plain_text(text)


def _text(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise Unreadable("not_its_encoding") from None


def _key(value: Any) -> str | None:
    """A field as a key; of a URL without its fragment, as a crawl has it."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    key = without_surrogates(str(value)).strip()
    if not _URL.match(key):
        return key or None
    try:
        return urldefrag(key).url
    except ValueError:
        return key
